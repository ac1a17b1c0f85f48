"""Kernels of clusters against NumPy, in both builds: exact answers however they are bounded."""

from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.problems import kernel_builds
from lrisk_cli.risk.spectrum import parse_risk

BUILDS = kernel_builds()
each_build = pytest.mark.parametrize("core", BUILDS, ids=lambda core: core.__name__[11:])


def all_distances(X: np.ndarray, C: np.ndarray) -> np.ndarray:
    """Squared distances of rows to centres, by definition. (n, k)."""
    return ((X[:, None] - C[None]) ** 2).sum(axis=2)


def nearest(core: ModuleType, X: np.ndarray, C: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    assignment, losses = np.empty(len(X), np.int32), np.empty(len(X))
    core.nearest_centres(X, C, assignment, losses)
    return assignment, losses


class Bounded:
    """Rows that follow moving centres by `reassign_rows`, as Lloyd's alternation uses it."""

    def __init__(self, core: ModuleType, X: np.ndarray, k: int) -> None:
        self.core, self.X = core, X
        self.panels = np.empty(core.panel_size(k, X.shape[1]))
        self.assignment = np.zeros(len(X), np.int32)
        self.losses = np.empty(len(X))
        self.lower = np.zeros(len(X), np.float32)
        self.last: np.ndarray | None = None

    def follow(self, C: np.ndarray) -> int:
        moved, gaps = np.zeros(len(C)), np.zeros(len(C))
        if self.last is not None:
            moved = np.sqrt(((C - self.last) ** 2).sum(axis=1)) * (1 + 1e-12)
            self.core.centre_gaps(C, gaps)
        self.core.pack_centres(C, self.panels)
        self.last = C
        return self.core.reassign_rows(
            self.X, C, self.panels, moved, 0.5 * np.sqrt(gaps) * (1 - 1e-12), self.assignment,
            self.losses, self.lower,
        )  # fmt: skip


@each_build
@pytest.mark.parametrize(("n", "d", "k"), [(1, 1, 1), (7, 3, 2), (50, 10, 9), (40, 50, 20)])
def test_nearest_centres_are_those_of_the_definition(core, n, d, k):
    rng = np.random.default_rng(n)
    X, C = rng.standard_normal((n, d)), rng.standard_normal((k, d))
    assignment, losses = nearest(core, X, C)
    distances = all_distances(X, C)
    np.testing.assert_array_equal(assignment, distances.argmin(axis=1))
    np.testing.assert_allclose(losses, distances.min(axis=1), rtol=1e-13)


@each_build
def test_a_row_between_equal_centres_belongs_to_the_first(core):
    X, C = np.array([[0.0, 0.0]]), np.array([[2.0, 0.0], [0.0, 1.0], [0.0, -1.0], [0.0, 1.0]])
    assignment, losses = nearest(core, X, C)
    assert (assignment[0], losses[0]) == (1, 1.0)


@each_build
@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_bounds_change_no_answer(core, data):
    """Rows of few values make ties; offsets and centres far away test the rounding of bounds."""
    n, d, k = (data.draw(st.integers(1, most)) for most in (60, 20, 20))
    rng = np.random.default_rng(data.draw(st.integers(0, 999)))
    offset = data.draw(st.sampled_from([0.0, 1e8]))
    X = rng.integers(-2, 3, (n, d)) * data.draw(st.sampled_from([1.0, 0.1, 1e-9])) + offset
    if data.draw(st.booleans()):
        X = X + rng.standard_normal((n, d))
    X[rng.integers(n)] += data.draw(st.sampled_from([0.0, 1e6]))
    X = np.ascontiguousarray(X)
    rows = Bounded(core, X, k)
    C = np.ascontiguousarray(X[rng.integers(0, n, k)])
    before = np.zeros(n, np.int32)
    for step in (0.0, 3.0, 1.0, 0.1, 1e-6, 0.0, 1e-12):
        C = C + step * rng.standard_normal((k, d))
        changes = rows.follow(C)
        assignment, losses = nearest(core, X, C)
        np.testing.assert_array_equal(rows.assignment, assignment)
        np.testing.assert_array_equal(rows.losses, losses)
        assert changes == np.count_nonzero(assignment != before)
        before = assignment
        others = np.sqrt(all_distances(X, C))
        others[np.arange(n), assignment] = np.inf
        assert (rows.lower <= others.min(axis=1, initial=np.inf) * (1 + 1e-15)).all()


@each_build
def test_bounds_spare_comparisons_where_clusters_are_apart(core):
    """A lower bound that was never renewed shows that its row was not compared again."""
    rng = np.random.default_rng(0)
    C = 20.0 * rng.standard_normal((12, 4))
    X = np.repeat(C, 50, axis=0) + rng.standard_normal((600, 4))
    rows = Bounded(core, X, 12)
    rows.follow(C)
    rows.lower[:] = 0.5 * rows.lower
    known = rows.lower.copy()
    rows.follow(C + 1e-3)
    assert np.mean(rows.lower <= known) > 0.95


@each_build
def test_cluster_shifts_are_weighted_sums_of_differences(core):
    rng = np.random.default_rng(1)
    n, d, k = 500, 7, 4
    X, C = 1e6 + rng.standard_normal((n, d)), 1e6 + rng.standard_normal((k, d))
    assignment, lam = rng.integers(0, k, n).astype(np.int32), rng.random(n)
    shifts, masses = np.full((k, d), np.nan), np.full(k, np.nan)
    core.cluster_shifts(X, C, assignment, lam, shifts, masses)
    for j in range(k):
        own = assignment == j
        np.testing.assert_allclose(masses[j], lam[own].sum(), rtol=1e-13)
        np.testing.assert_allclose(shifts[j], lam[own] @ (X[own] - C[j]), rtol=1e-11)


@each_build
def test_centre_gaps_and_closer_losses(core):
    rng = np.random.default_rng(2)
    C, X = rng.standard_normal((6, 3)), rng.standard_normal((30, 3))
    gaps = np.empty(6)
    core.centre_gaps(C, gaps)
    apart = all_distances(C, C) + np.diag(np.full(6, np.inf))
    np.testing.assert_allclose(gaps, apart.min(axis=1), rtol=1e-13)
    core.centre_gaps(C[:1].copy(), gaps[:1])
    assert gaps[0] == np.inf
    losses, out = rng.random(30), np.empty(30)
    core.closer_losses(X, C[0].copy(), losses, out)
    np.testing.assert_allclose(out, np.minimum(losses, all_distances(X, C[:1])[:, 0]), rtol=1e-13)


@each_build
@given(rows=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), min_size=1, max_size=20))
def test_distinct_rows_are_counted(core, rows):
    X = np.array(rows, dtype=float)
    X[X == 0] = -0.0
    for most in (1, 3, 10):
        found = np.empty(most, np.int32)
        count = core.count_distinct(X, found)
        assert count == min(len(set(rows)), most)
        assert len({tuple(X[i]) for i in found[:count]}) == count


@each_build
@pytest.mark.parametrize("risk", ["mean", "subquantile:0.6", "lower-extremile:3"])
def test_a_step_on_all_rows_follows_the_subgradient(core, risk):
    rng = np.random.default_rng(3)
    n, d, k = 40, 5, 3
    X, C = rng.standard_normal((n, d)), rng.standard_normal((k, d))
    sigma = parse_risk(risk).weights(n)
    expected = C.copy()
    for _ in range(3):
        distances = all_distances(X, expected)
        own, order = distances.argmin(axis=1), distances.min(axis=1).argsort()
        gradient = np.zeros_like(C)
        np.add.at(gradient, own[order], 2 * sigma[:, None] * (expected[own] - X)[order])
        expected = expected - 0.3 * gradient
    core.cluster_steps(
        X, sigma, C, np.empty((k, d)), 0.3, 3, np.array([1, 2, 3, 4], np.uint64),
        np.arange(n, dtype=np.int32), np.empty(n, np.int32), np.empty(n), np.empty(n, np.int32),
    )  # fmt: skip
    np.testing.assert_allclose(C, expected, rtol=1e-10, atol=1e-12)


def test_both_builds_agree_to_rounding():
    rng = np.random.default_rng(4)
    X, C = rng.standard_normal((300, 13)), rng.standard_normal((10, 13))
    answers = [nearest(core, X, C) for core in BUILDS]
    for assignment, losses in answers[1:]:
        np.testing.assert_array_equal(assignment, answers[0][0])
        np.testing.assert_allclose(losses, answers[0][1], rtol=1e-14)
