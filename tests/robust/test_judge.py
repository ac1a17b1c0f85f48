"""Which rows are outliers: the share and the flags agree, kinds are named, correct rows stay."""

import numpy as np
import pytest

from lrisk_cli.robust.judge import (
    GROUP,
    LEVERAGE,
    TAIL,
    Judgement,
    judge_errors,
    judge_numbers,
)
from lrisk_cli.robust.judgement import find_outlying
from lrisk_cli.robust.local_scale import local_scales
from lrisk_cli.robust.skewness import find_skewness, straighten
from lrisk_cli.rows.dense import DenseRows

# Brownlee (1965): air flow, water temperature, acid concentration, loss of ammonia.
STACK_LOSS = np.array(
    [
        [80, 27, 89, 42], [80, 27, 88, 37], [75, 25, 90, 37], [62, 24, 87, 28], [62, 22, 87, 18],
        [62, 23, 87, 18], [62, 24, 93, 19], [62, 24, 93, 20], [58, 23, 87, 15], [58, 18, 80, 14],
        [58, 18, 89, 14], [58, 17, 88, 13], [58, 18, 82, 11], [58, 19, 93, 12], [50, 18, 89, 8],
        [50, 18, 86, 7], [50, 19, 72, 8], [50, 19, 79, 8], [50, 20, 80, 9], [56, 20, 82, 15],
        [70, 20, 91, 15],
    ],
    dtype=float,
)  # fmt: skip


def judged(columns: np.ndarray, y: np.ndarray) -> Judgement:
    rows = np.column_stack([columns, np.ones(len(y))])
    return judge_numbers(DenseRows(rows), y, constant=True)


def plane(n: int, seed: int, d: int = 4) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    """Columns, a plane through the origin, and draws for the errors."""
    rng = np.random.default_rng([seed, n])
    columns = rng.standard_normal((n, d))
    return columns, columns @ rng.standard_normal(d), rng


@pytest.mark.parametrize("far", [5.0, 8.0])
@pytest.mark.parametrize("share", [0.1, 0.3, 0.4])
def test_a_shifted_group_is_found_whole_and_its_share_estimated(share: float, far: float) -> None:
    columns, f, rng = plane(500, 1)
    y = f + rng.standard_normal(500)
    y[: round(500 * share)] += far
    found = judged(columns, y)
    planted = found.outliers[: round(500 * share)]
    assert planted.mean() >= 0.95
    assert np.delete(found.outliers, range(len(planted))).mean() <= 0.02
    assert found.fraction == pytest.approx(share, abs=0.05)
    assert found.outliers.mean() == pytest.approx(found.fraction, abs=0.03)
    (group,) = found.groups
    assert group.centre == pytest.approx(far, abs=0.7)
    assert (found.kinds[: len(planted)] == GROUP).mean() > 0.9


@pytest.mark.parametrize("share", [0.02, 0.1, 0.25])
def test_a_leverage_cluster_is_found(share: float) -> None:
    columns, _, rng = plane(500, 2)
    bad = slice(round(500 * share))
    columns[bad] *= 0.3
    columns[bad, 0] += 6.0
    y = columns @ [1.0, -1.0, 0.5, 2.0] + rng.standard_normal(500)
    y[bad] -= 12.0
    found = judged(columns, y)
    assert found.outliers[bad].all()
    assert (found.kinds[bad] == LEVERAGE).mean() > 0.9
    assert found.outliers.mean() == pytest.approx(share, abs=0.02)


CLEAN = {
    "normal": lambda f, X, rng: f + rng.standard_normal(len(f)),
    "t3": lambda f, X, rng: f + rng.standard_t(3, len(f)),
    "lognormal noise": lambda f, X, rng: f + np.exp(rng.standard_normal(len(f))),
    "exponential noise": lambda f, X, rng: f + 2.0 * rng.exponential(size=len(f)),
    "a square": lambda f, X, rng: X[:, 0] ** 2 + X[:, 1] + 0.3 * rng.standard_normal(len(f)),
    "a sine": lambda f, X, rng: 4 * np.sin(2 * X[:, 0]) + 0.5 * rng.standard_normal(len(f)),
    "a step": lambda f, X, rng: 5.0 * (X[:, 0] > 1.2) + 0.5 * rng.standard_normal(len(f)),
    "growing noise": lambda f, X, rng: f + np.exp(X[:, 0]) * rng.standard_normal(len(f)),
    "many zeros": lambda f, X, rng: np.where(
        rng.random(len(f)) < 0.4, 0.0, np.exp(0.4 * f + 0.3 * rng.standard_normal(len(f)))
    ),
}


@pytest.mark.parametrize("kind", CLEAN, ids=lambda name: name.replace(" ", "-"))
def test_correct_rows_are_left_alone(kind: str) -> None:
    flagged = []
    for seed in range(2):
        columns, f, rng = plane(800, seed)
        flagged.append(judged(columns, CLEAN[kind](f, columns, rng)).outliers.mean())
    assert np.mean(flagged) <= 0.015


def test_errors_are_found_beside_a_step_and_growing_noise() -> None:
    for kind in ("a step", "growing noise"):
        columns, f, rng = plane(1000, 3)
        y = CLEAN[kind](f, columns, rng)
        y[:30] += 80.0
        found = judged(columns, y)
        assert found.outliers[:30].mean() > 0.9
        assert found.outliers[30:].mean() < 0.03


def test_the_four_outliers_of_a_small_classic_table_are_found_and_no_other() -> None:
    found = judged(STACK_LOSS[:, :3], STACK_LOSS[:, 3])
    assert np.flatnonzero(found.outliers).tolist() == [0, 2, 3, 20]


def test_a_lone_leverage_point_of_a_tiny_table_is_found_beside_equal_targets() -> None:
    """The smallest target of 13 rows occurs twice: that makes no zero-inflated target."""
    columns, _, rng = plane(13, 3, d=1)
    y = 2.0 * columns[:, 0] + 0.3 * rng.standard_normal(13)
    columns[3], y[3] = 8.0, -10.0
    y[4] = y[3]
    columns[4] = -5.0
    found = judged(columns, y)
    assert np.flatnonzero(found.outliers).tolist() == [3]
    assert found.kinds[3] == LEVERAGE
    assert not found.alone.any()


def test_a_long_tail_is_named_and_is_no_outlier() -> None:
    columns, f, rng = plane(1000, 4)
    found = judged(columns, f + np.exp(rng.standard_normal(1000)))
    tail = found.kinds == TAIL
    assert 0.02 < tail.mean() < 0.2
    assert not found.outliers.any()
    assert found.fraction == 0.0


def test_a_column_of_two_groups_has_no_wrong_cells() -> None:
    columns, _, rng = plane(600, 6)
    columns[:150, 2] += 15.0
    y = columns @ [1.0, 0.0, 1.0, -1.0] + rng.standard_normal(600)
    assert judged(columns, y).outliers.mean() < 0.005


def test_too_few_rows_are_not_judged_and_few_are_thin_evidence() -> None:
    columns, f, rng = plane(11, 7)
    assert judged(columns, f + rng.standard_normal(11)).fit is None
    columns, f, rng = plane(16, 7)
    assert judged(columns, f + rng.standard_normal(16)).thin
    columns, f, rng = plane(60, 7)
    assert not judged(columns, f + rng.standard_normal(60)).thin


def test_scores_do_not_depend_on_units_or_the_order_of_the_rows() -> None:
    columns, f, rng = plane(400, 8)
    y = f + rng.standard_normal(400)
    y[:60] += 9.0
    plain = judged(columns, y)
    scaled = judged(7.0 + 1e3 * columns, 1e4 * y - 3.0)
    np.testing.assert_array_equal(scaled.kinds, plain.kinds)
    assert scaled.scale == pytest.approx(1e4 * plain.scale, rel=1e-2)
    order = rng.permutation(400)
    shuffled = judged(columns[order], y[order])
    np.testing.assert_array_equal(shuffled.outliers, plain.outliers[order])


def test_errors_of_another_model_are_judged_alike() -> None:
    columns, f, rng = plane(300, 9)
    y = f + rng.standard_normal(300)
    first = judged(columns, y)
    z = rng.standard_normal(300)
    z[:20] = 12.0
    rows = DenseRows(np.column_stack([columns, np.ones(300)]))
    again = judge_errors(rows, z, f, first)
    assert again.outliers[:20].all()
    assert not again.outliers[20:].any()


def test_one_error_among_a_thousand_is_isolated() -> None:
    z = np.random.default_rng(1).standard_normal(1000)
    z[3] = 12.0
    found = find_outlying(z, 990.0)
    assert np.flatnonzero(found.flags).tolist() == [3]
    assert found.fraction == pytest.approx(0.001)


@pytest.mark.parametrize("share", [0.1, 0.3])
def test_scattered_errors_are_a_second_scale(share: float) -> None:
    rng = np.random.default_rng(2)
    z = rng.standard_normal(3000)
    z[: round(3000 * share)] *= 25.0
    found = find_outlying(z, 2990.0)
    assert found.fraction == pytest.approx(share, rel=0.25)
    assert found.flags[round(3000 * share) :].mean() < 0.01
    assert not found.groups


def test_the_g_transformation_is_that_of_lognormal_errors() -> None:
    rng = np.random.default_rng(3)
    u = rng.standard_normal(20_000)
    errors = (np.exp(0.8 * u) - 1.0) / 0.8
    g = find_skewness(errors)
    assert g == pytest.approx(0.8, abs=0.06)
    # Its unit and centre are quantiles of the sample.
    off = np.abs(straighten(errors, errors, 0.8) - u)
    assert np.median(off) < 0.02
    assert off.max() < 0.2
    np.testing.assert_array_equal(
        straighten(-errors, -errors, -0.8), -straighten(errors, errors, 0.8)
    )
    assert find_skewness(u) == 0.0


def test_large_errors_count_less_only_where_a_whole_region_has_them() -> None:
    rng = np.random.default_rng(4)
    columns = rng.standard_normal((2000, 3))
    sizes = np.abs(rng.standard_normal(2000))
    region = columns[:, 1] > 1.0
    sizes[region] += 20.0
    scattered = ~region & (rng.random(2000) < 0.3)
    sizes[scattered] += 20.0
    found = local_scales(DenseRows(columns), np.zeros(2000), sizes)
    assert np.median(found[region]) > 10.0
    assert np.quantile(found[scattered], 0.95) < 2.5


@pytest.mark.parametrize("value", [9.0, -999.0])
def test_one_value_far_from_the_others_is_an_error_and_no_part_of_its_own(value: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 3))
    y = X @ [1.0, -1.0, 0.5] + 0.1 * rng.standard_normal(90)
    y[:18] = value
    found = judge_numbers(DenseRows(np.column_stack([X, np.ones(90)])), y, constant=True)
    assert found.outliers[:18].all()
    assert np.count_nonzero(found.outliers[18:]) <= 1
    assert found.fraction == pytest.approx(0.2, abs=0.02)


def test_groups_on_both_sides_are_no_tail_of_a_skewed_core() -> None:
    rng = np.random.default_rng(9)
    z = np.concatenate([rng.gumbel(0.0, 0.7, 900), 8.0 + 0.5 * rng.standard_normal(60)])
    found = find_outlying(np.concatenate([z, -6.0 + 0.5 * rng.standard_normal(60)]), 1000.0)
    assert found.flags[900:].mean() > 0.9
    assert found.flags[:900].mean() < 0.02
