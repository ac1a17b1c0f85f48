"""Scales of columns: ordinary cells of any shape are near, codes and far cells are not."""

import numpy as np
import pytest

from lrisk_cli.robust.column_scales import ColumnScale, learn_scale
from lrisk_cli.types import Array


def _learn(cells: Array) -> ColumnScale:
    found = learn_scale(cells)
    assert found is not None
    return found


@pytest.mark.parametrize("shape", ["normal", "uniform", "lognormal", "exponential", "gamma"])
def test_ordinary_cells_of_skewed_and_symmetric_columns_are_near(shape: str) -> None:
    draws = np.random.default_rng(1)
    cells = 5.0 + (
        draws.gamma(2.0, size=3000) if shape == "gamma" else getattr(draws, shape)(size=3000)
    )
    scale = _learn(cells)
    assert (scale.deviations(scale.places(cells)) > 6.0).mean() < 0.001


def test_sizes_of_normal_cells_are_standard_deviations() -> None:
    cells = 3.0 + 2.0 * np.random.default_rng(2).standard_normal(20_000)
    found = _learn(cells)
    at = found.deviations(found.places(np.array([3.0 + 2.0 * 8.0, 3.0 - 2.0 * 8.0])))
    assert at == pytest.approx([8.0, 8.0], rel=0.05)


def test_cells_of_a_lognormal_column_are_judged_by_their_logarithms() -> None:
    cells = np.exp(np.random.default_rng(3).standard_normal(5000))
    found = _learn(cells)
    assert found.lowest > 0.0
    assert found.places(np.array([np.exp(4.0)])) == pytest.approx([4.0], abs=0.2)
    assert found.restore(found.places(np.array([0.5, 20.0]))) == pytest.approx([0.5, 20.0])
    assert found.places(np.array([-1.0])) < -10.0


@pytest.mark.parametrize("code", [-999.0, 9999.0])
def test_a_code_that_a_tenth_of_the_cells_hold_is_found_and_takes_no_part(code: float) -> None:
    cells = 50.0 + 10.0 * np.random.default_rng(4).standard_normal(1000)
    clean = _learn(cells)
    cells[:100] = code
    found = _learn(cells)
    assert found.codes.tolist() == [code]
    assert found.scale == pytest.approx(clean.scale, rel=0.1)


def test_the_cap_of_a_column_is_no_code() -> None:
    cells = np.minimum(np.random.default_rng(5).exponential(size=2000), 3.0)
    assert _learn(cells).codes.size == 0


def test_zeros_of_a_zero_inflated_column_are_a_part_of_their_own() -> None:
    draws = np.random.default_rng(6)
    cells = np.where(draws.random(1000) < 0.8, 0.0, draws.uniform(50.0, 60.0, 1000))
    found = _learn(cells)
    assert found.mass == 0.0
    assert not found.coded(cells).any()
    assert found.centre == pytest.approx(55.0, abs=1.0)
    assert found.share == pytest.approx(0.8, abs=0.05)


def test_a_column_of_few_values_has_no_scale() -> None:
    assert learn_scale(np.arange(1000.0) % 5.0) is None
