"""Intervals against order statistics by hand, and their guarantee on simulated rows."""

from math import ceil, floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace as changed

from helpers.models import classes_of, make_model
from lrisk_cli.errors import UsageError
from lrisk_cli.models.conformal import (
    Outcomes,
    bounds_of,
    kept_ranks,
    learn_intervals,
    require_intervals,
)
from lrisk_cli.models.model import build_model, encode_model
from lrisk_cli.models.model_file import decode_file

HALVES = np.arange(40) % 2


def numbers(scores) -> Outcomes:
    """Rows that are predicted as 0, so that a target is its score."""
    targets = np.asarray(scores, np.float64)
    return Outcomes(np.zeros(len(targets)), targets)


@given(n=st.integers(19, 3000), percent=st.integers(50, 99))
def test_bounds_are_order_statistics_that_leave_out_no_more_than_asked(n, percent):
    """Scores 1..n are their own ranks: each tail has at most, and nearly, half of the rest."""
    record = learn_intervals("split", "plain", numbers(np.arange(1, n + 1)), np.arange(n) % 2)
    level = percent / 100.0
    wanted = floor((n + 1) * (100 - percent) / 200 + 1e-9)
    if wanted < 1:
        with pytest.raises(UsageError, match="needs at least"):
            bounds_of(record, level, "m.json")
        return
    bounds = bounds_of(record, level, "m.json")
    assert bounds.low <= wanted <= max(bounds.low * 1.01, bounds.low + 1)
    assert bounds.high == n + 1 - bounds.low
    if n <= 200:
        assert bounds.low == wanted


@given(n=st.integers(1, 100_000))
def test_few_ranks_are_kept_and_both_ends_are_among_them(n):
    ranks = kept_ranks(n)
    assert ranks == sorted(set(ranks))
    assert (ranks[0], ranks[-1]) == (1, n)
    assert ranks == [n + 1 - rank for rank in reversed(ranks)]
    assert len(ranks) <= 400 + 2 * 100 * np.log(max(n / 200, 1.0))
    if n <= 200:
        assert ranks == list(range(1, n + 1))


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
def test_intervals_cover_new_rows_as_often_as_promised(level):
    """200 splits with skewed targets: the mean coverage is the level within five errors."""
    rng, n, n_new = np.random.default_rng(8), 99, 200
    covered = []
    for _ in range(200):
        rows = numbers(rng.exponential(size=n) ** 2)
        bounds = bounds_of(
            learn_intervals("split", "plain", rows, np.arange(n) % 2), level, "m.json"
        )
        covered.append(bounds.covers(numbers(rng.exponential(size=n_new) ** 2))[0].mean())
    exact = 1.0 - 2.0 * floor((n + 1) * (1.0 - level) / 2 + 1e-9) / (n + 1)
    error = np.std(covered) / np.sqrt(len(covered))
    assert exact >= level - 1e-9
    assert abs(np.mean(covered) - exact) < 4.0 * error


@pytest.mark.parametrize("level", [0.5, 0.9])
def test_sets_cover_new_rows_as_often_as_promised_or_more(level):
    rng, n = np.random.default_rng(9), 99
    covered, sizes = [], []
    for _ in range(200):
        parts = []
        for n_rows in (n, 200):
            P = rng.dirichlet([0.6, 0.6, 0.6], n_rows)
            targets = (rng.random(n_rows)[:, None] > np.cumsum(P, axis=1)[:, :2]).sum(axis=1)
            parts.append(Outcomes(targets, targets, P))
        record = learn_intervals("split", "probability", parts[0], np.arange(n) % 2)
        inside, size = bounds_of(record, level, "m.json").covers(parts[1])
        covered.append(inside.mean())
        sizes.append(size.mean())
    assert np.mean(covered) >= level - 4.0 * np.std(covered) / np.sqrt(len(covered))
    assert 1.0 <= np.mean(sizes) < 3.0


def test_a_set_has_every_class_as_likely_as_the_bound_and_the_likeliest_always():
    P = np.array([[0.5, 0.3, 0.2], [0.34, 0.33, 0.33], [0.9, 0.06, 0.04]])
    P = np.repeat(P, 20, axis=0)
    rows = Outcomes(np.zeros(60), np.zeros(60, np.int32), P)
    record = learn_intervals("cv", "probability", rows, np.arange(60) % 5)
    bounds = bounds_of(record, 0.5, "m.json")
    scores = np.sort(P[:, 0])
    assert bounds.low == scores[floor(61 * 0.5) - 1] == 0.5
    members = bounds.members(np.array([[0.5, 0.5, 0.0], [0.2, 0.45, 0.35], [0.6, 0.3, 0.1]]))
    assert members.tolist() == [[True, True, False], [False, True, False], [True, False, False]]


def test_intervals_of_counts_are_those_of_roots():
    rng = np.random.default_rng(2)
    means = rng.gamma(2.0, 5.0, 4000)
    rows = Outcomes(means, rng.poisson(means).astype(float))
    bounds = bounds_of(learn_intervals("cv", "root", rows, np.arange(4000) % 5), 0.9, "m.json")
    lower, upper = bounds.interval(np.array([0.01, 100.0]))
    assert lower[0] == 0.0
    assert np.sqrt(upper[1]) - 10.0 == pytest.approx(bounds.high)
    assert upper[1] - lower[1] > 5.0 * (upper[0] - lower[0])
    fresh = Outcomes(means, rng.poisson(means).astype(float))
    assert abs(bounds.covers(fresh)[0].mean() - 0.9) < 0.03


def test_the_coverage_of_a_fit_is_that_of_one_part_by_the_others():
    rng = np.random.default_rng(4)
    scores = rng.normal(size=100)
    part = np.arange(100) % 2
    record = learn_intervals("split", "plain", numbers(scores), part)
    inside = []
    for each in (0, 1):
        others = np.sort(scores[part != each])
        low, high = others[floor(51 * 0.05) - 1], others[ceil(51 * 0.95) - 1]
        mine = scores[part == each]
        inside += ((low <= mine) & (mine <= high)).tolist()
    of_level = {each.level: each for each in record.coverage}
    assert of_level[0.9].coverage == np.mean(inside)
    assert set(of_level) == {0.8, 0.9, 0.95}
    few = learn_intervals("split", "plain", numbers(scores[:60]), part[:60])
    assert [each.level for each in few.coverage] == [0.8, 0.9]
    assert learn_intervals("split", "plain", numbers(scores[:1]), part[:1]).coverage == ()


def test_records_survive_the_file_and_wrong_ones_are_damage():
    record = learn_intervals("cv", "plain", numbers(np.arange(40.0)), HALVES)
    model = make_model(conformal=record)
    data = encode_model(model)
    assert build_model(decode_file(data, "m.json")).conformal == record
    record.check(0, log_link=False)
    with pytest.raises(ValueError, match="do not fit the target"):
        build_model(decode_file(encode_model(make_model(classes_of(2), conformal=record)), "m"))
    for bad in (
        {"scale": "root"}, {"ranks": (1, 2)}, {"scores": record.scores[::-1]},
        {"rows": 41}, {"ranks": record.ranks[::-1]},
    ):  # fmt: skip
        with pytest.raises(ValueError, match="conformity scores"):
            changed(record, **bad).check(0, log_link=False)


def test_a_model_without_scores_and_impossible_levels_are_refused():
    with pytest.raises(UsageError, match=r"m.json has no conformity scores; fit it with"):
        require_intervals("m.json", make_model(classes_of(2)))
    record = learn_intervals("cv", "plain", numbers(np.arange(18.0)), HALVES[:18])
    for level in (0.0, 1.0, 90.0):
        with pytest.raises(UsageError, match="between 0 and 1"):
            bounds_of(record, level, "m.json")
    with pytest.raises(UsageError, match=r"needs at least 19 rows .* has scores of 18"):
        bounds_of(record, 0.9, "m.json")
