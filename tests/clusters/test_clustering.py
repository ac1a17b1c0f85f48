"""Clusters against k-means of scikit-learn, exhaustive search, and the figures of the paper."""

from itertools import combinations, pairwise, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.metrics import calinski_harabasz_score

from helpers.clouds import make_clouds
from lrisk_cli.clusters.clustering import (
    Clustering,
    ClusterOptions,
    assign_rows,
    check_options,
    check_rows,
    cluster_rows,
    find_clusters,
    find_outliers,
    pick,
    separation,
)
from lrisk_cli.clusters.lloyd import Lloyd
from lrisk_cli.clusters.minibatch import Minibatches
from lrisk_cli.clusters.seeds import draw_seeds
from lrisk_cli.clusters.trimming import estimate_trimming
from lrisk_cli.errors import DataError, UsageError
from lrisk_cli.names import ClusterSolver
from lrisk_cli.risk.row_weights import RowWeighter, rank_rows, row_weights
from lrisk_cli.risk.spectrum import parse_risk
from lrisk_cli.risk.units import rows_of_units
from lrisk_cli.risk.weighted import make_weighter

FALLING = ["subquantile:0.75", "subquantile:0.33", "lower-extremile:2", "lower-extremile:5"]


def blobs(seed: int = 0, n: int = 600, d: int = 4, k: int = 5) -> np.ndarray:
    """Gaussian clusters with a tenth of the rows far away."""
    rng = np.random.default_rng(seed)
    X = 6.0 * rng.standard_normal((k, d))[rng.integers(0, k, n)] + rng.standard_normal((n, d))
    X[: n // 10] += 60.0 * rng.standard_normal((n // 10, d))
    return X


def weigher_of(risk: str, n: int) -> RowWeighter:
    spectrum = parse_risk(risk)
    return RowWeighter(spectrum, spectrum.weights(n))


def options(risk: str, **settings) -> ClusterOptions:
    return ClusterOptions(parse_risk(risk), **settings)


def best_accuracy(found: np.ndarray, labels: np.ndarray, k: int) -> float:
    """Over all relabellings, by trying them."""
    return max(np.mean(np.array(names)[found] == labels) for names in permutations(range(k)))


# Lloyd's alternation


def test_with_the_mean_it_is_k_means():
    X = blobs()
    centres = X[:5].copy()
    ours = Lloyd(X, 5, weigher_of("mean", len(X))).descend(centres, 0.0, 300)
    theirs = KMeans(5, init=centres, n_init=1, tol=0.0, algorithm="lloyd").fit(X)
    assert ours.objective * len(X) == pytest.approx(theirs.inertia_, rel=1e-12)
    np.testing.assert_allclose(ours.centres, theirs.cluster_centers_, atol=1e-12)


@pytest.mark.parametrize("risk", ["mean", *FALLING])
def test_the_objective_never_rises(risk):
    X = blobs(1)
    row_weighter = weigher_of(risk, len(X))
    centres = X[10:16].copy()
    course = [Lloyd(X, 6, row_weighter).descend(centres, 0.0, m).objective for m in range(1, 15)]
    assert all(b <= a for a, b in pairwise(course))
    assert course[-1] < course[0]


@pytest.mark.parametrize("risk", FALLING)
def test_the_end_is_a_fixed_point(risk):
    X = blobs(2)
    ended = Lloyd(X, 5, weigher_of(risk, len(X))).descend(X[:5].copy(), 0.0, 1000)
    placed = assign_rows(X, ended.centres, parse_risk(risk))
    assert placed.objective == pytest.approx(ended.objective, rel=1e-13)
    for j in range(5):
        own = placed.clusters == j
        if placed.weights[own].sum() > 0.0:
            mean = np.average(X[own], axis=0, weights=placed.weights[own])
            np.testing.assert_allclose(ended.centres[j], mean, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_several_starts_find_the_least_trimmed_sum_of_all(seed):
    """Exhaustively: every choice of 6 of 8 rows, every division of them into two clusters."""
    X = np.random.default_rng(seed).standard_normal((8, 2))
    least = np.inf
    for kept in combinations(range(8), 6):
        rows = X[list(kept)]
        for division in product([True, False], repeat=5):
            first = np.array([True, *division])
            parts = [part for part in (rows[first], rows[~first]) if len(part)]
            within = sum(((part - part.mean(axis=0)) ** 2).sum() for part in parts)
            least = min(least, within / 6)
    found, placed = cluster_rows(X, 2, options("subquantile:0.75", starts=40))
    assert found.objective == pytest.approx(least, rel=1e-12)
    assert placed.objective == pytest.approx(least, rel=1e-12)


def test_an_offset_changes_nothing_but_the_centres():
    """Distances are sums of squared differences, so rows far from 0 keep their digits."""
    X = np.round(blobs(3), 3)
    near = Lloyd(X, 5, weigher_of("subquantile:0.8", len(X))).descend(X[:5].copy(), 0.0, 300)
    far = X + 2.0**30
    moved = Lloyd(far, 5, weigher_of("subquantile:0.8", len(X))).descend(far[:5].copy(), 0.0, 300)
    np.testing.assert_allclose(moved.centres - 2.0**30, near.centres, atol=1e-5)


def test_tight_clusters_are_told_apart_beside_an_outlier_at_the_end_of_the_world():
    rng = np.random.default_rng(0)
    X = np.repeat([[0.0], [1.0]], 50, axis=0) + 0.01 * rng.standard_normal((100, 1))
    X[0] = 1e12
    found, placed = cluster_rows(X, 2, options("subquantile:0.9"))
    np.testing.assert_allclose(np.sort(found.centres[:, 0]), [0.0, 1.0], atol=0.01)
    assert placed.outliers[0]


def test_a_cluster_without_weight_starts_again_and_is_counted():
    X = blobs(4, n=200, k=2)
    centres = np.array([X[50], X[60], np.full(4, 1e4)])
    ended = Lloyd(X, 3, weigher_of("subquantile:0.8", 200)).descend(centres, 0.0, 300)
    assert ended.reseeded >= 1
    placed = assign_rows(X, ended.centres, parse_risk("subquantile:0.8"))
    assert (np.bincount(placed.clusters, placed.weights, 3) > 0.0).all()


def test_a_limit_on_iterations_is_said():
    X = blobs(5)
    ended = Lloyd(X, 5, weigher_of("mean", len(X))).descend(X[:5].copy(), 0.0, 1)
    assert (ended.iterations, "still falling" in ended.status) == (1, True)


# Seeds


@given(seed=st.integers(0, 99), k=st.integers(1, 6))
@settings(deadline=None, max_examples=40)
def test_seeds_are_distinct_rows_and_follow_the_generator(seed, k):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (40, 2)).astype(float)
    spectrum = parse_risk("subquantile:0.5")
    first, again = (draw_seeds(X, k, spectrum, np.random.default_rng(seed)) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert len(np.unique(first, axis=0)) == k
    assert {tuple(row) for row in first} <= {tuple(row) for row in X}


def test_seeds_avoid_what_the_risk_does_not_count():
    """k-means++ starts from the far rows; weighed by the risk they are hardly ever drawn."""
    X = blobs(6, n=500, k=3)
    far = {tuple(row) for row in X[:50]}
    rng = np.random.default_rng(0)

    def drawn(risk: str) -> float:
        seeds = [draw_seeds(X, 3, parse_risk(risk), rng) for _ in range(30)]
        return float(np.mean([tuple(row) in far for each in seeds for row in each[1:]]))

    assert drawn("subquantile:0.8") < 0.05
    assert drawn("mean") > 0.5


# Clustering and placing


@pytest.mark.parametrize("solver", ClusterSolver)
@pytest.mark.parametrize("risk", ["subquantile:0.75", "lower-extremile:5"])
@pytest.mark.parametrize("standardised", [False, True])
def test_the_clouds_of_the_paper_are_found_without_a_fault(solver, risk, standardised):
    for seed in range(20):
        clouds = make_clouds(seed, standardised=standardised)
        found, _ = cluster_rows(clouds.X, 3, options(risk, solver=solver))
        placed = assign_rows(clouds.X_test, found.centres, parse_risk("mean"))
        assert best_accuracy(placed.clusters, clouds.test_labels, 3) == 1.0


def test_the_mean_is_dragged_away_by_the_outliers():
    clouds = make_clouds(0)
    found, _ = cluster_rows(clouds.X, 3, options("mean"))
    placed = assign_rows(clouds.X_test, found.centres, parse_risk("mean"))
    assert best_accuracy(placed.clusters, clouds.test_labels, 3) < 0.7


@pytest.mark.parametrize("risk", ["mean", "subquantile:0.75", "lower-extremile:3"])
def test_rows_are_placed_by_definition(risk):
    X = blobs(7)
    centres = X[20:24]
    placed = assign_rows(X, centres, parse_risk(risk))
    losses = ((X[:, None] - centres) ** 2).sum(axis=2)
    np.testing.assert_array_equal(placed.clusters, losses.argmin(axis=1))
    np.testing.assert_allclose(placed.losses, losses.min(axis=1), rtol=1e-13)
    np.testing.assert_array_equal(placed.weights, row_weights(placed.losses, parse_risk(risk)))
    sigma = parse_risk(risk).weights(len(X))
    assert placed.objective == pytest.approx(np.sort(placed.losses) @ sigma, rel=1e-13)
    np.testing.assert_array_equal(placed.distances, np.sqrt(placed.losses))


def test_outliers_are_the_rows_that_the_risk_does_not_count():
    X = blobs(8)
    placed = assign_rows(X, X[100:105], parse_risk("subquantile:0.75"))
    assert placed.outliers.sum() == 150
    np.testing.assert_array_equal(placed.outliers, placed.weights == 0.0)
    np.testing.assert_array_equal(placed.outliers, rank_rows(placed.losses) <= 150)
    every = assign_rows(X, X[100:105], parse_risk("mean"))
    assert every.threshold is None
    assert not every.outliers.any()
    assert not find_outliers(every.losses, None).any()


def test_the_criterion_of_the_mean_is_that_of_calinski_and_harabasz():
    X = blobs(9)
    found, placed = cluster_rows(X, 5, options("mean", tol=0.0))
    expected = calinski_harabasz_score(X, placed.clusters)
    assert found.criterion == pytest.approx(expected, rel=1e-9)
    assert separation(np.zeros((1, 2)), np.ones(1), 1.0, 10.0) is None


def test_of_several_numbers_of_clusters_the_right_one_is_picked():
    clouds = make_clouds(1, standardised=True)
    found = find_clusters(clouds.X, range(1, 7), options("subquantile:0.75"))
    assert len(pick(found).centres) == 3
    assert found[0].criterion is None
    assert pick(found[:1]) is found[0]
    objectives = [each.objective for each in found]
    assert objectives == sorted(objectives, reverse=True)


@pytest.mark.parametrize("solver", ClusterSolver)
def test_the_seed_decides_and_other_numbers_of_clusters_do_not(solver):
    X = blobs(10, n=200)

    def run(ks: tuple[int, ...], seed: int = 3) -> Clustering:
        how = options("subquantile:0.8", solver=solver, starts=2, seed=seed, epochs=5)
        return find_clusters(X, ks, how)[-1]

    np.testing.assert_array_equal(run((4,)).centres, run((4,)).centres)
    np.testing.assert_array_equal(run((4,)).centres, run((2, 3, 4)).centres)
    assert (run((4,), 1).centres != run((4,), 2).centres).any()


def test_centres_come_by_falling_weight_and_the_best_start_is_kept():
    X = blobs(11)
    found, placed = cluster_rows(X, 5, options("subquantile:0.9"))
    masses = np.bincount(placed.clusters, placed.weights, 5)
    assert (np.diff(masses) <= 1e-12).all()
    assert len(found.starts) == 10
    assert found.best.objective == found.objective == min(s.objective for s in found.starts)


# Minibatches


def test_batches_of_all_rows_end_at_the_mean():
    X = blobs(12, n=100)
    state = np.array([1, 2, 3, 4], np.uint64)
    batches = Minibatches(X, 1, weigher_of("mean", 100), 1000, state)
    ended = batches.descend(np.zeros((1, 4)), 0.25, 60)
    np.testing.assert_allclose(ended.centres[0], X.mean(axis=0), atol=1e-9)
    assert ended.objective == pytest.approx(X.var(axis=0).sum())


def test_a_step_that_runs_away_is_answered_with_a_sentence():
    X = blobs(13, n=100)
    how = options("mean", solver=ClusterSolver.SGD, step=1e3, epochs=500)
    with pytest.raises(UsageError, match="step: the centres diverged"):
        cluster_rows(X, 1, how)


# What is refused


def test_too_few_distinct_rows_are_refused():
    X = np.repeat(np.arange(3.0), 10)[:, None] * np.ones((1, 2))
    with pytest.raises(DataError, match="3 distinct rows, fewer than 4 clusters"):
        check_rows("t.csv", X, 4)
    check_rows("t.csv", X, 3)
    found, _ = cluster_rows(X, 3, options("subquantile:0.75"))
    assert found.objective == 0.0
    with pytest.raises(DataError, match="all 5 rows are equal"):
        check_rows("t.csv", np.ones((5, 2)), 1)
    with pytest.raises(DataError, match="too large to square"):
        check_rows("t.csv", np.array([[1e200], [0.0]]), 2)


@pytest.mark.parametrize("risk", ["superquantile:0.5", "extremile:2", "esrm:1"])
def test_rising_risks_are_refused(risk):
    with pytest.raises(UsageError, match="risks that fall"):
        check_options(options(risk))
    check_options(options("superquantile:0"))


# Rows that count for unlike much


def weighted_rows() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, whole weights (some 0), and the rows as often as they count, neighbours together."""
    clouds = make_clouds(0)
    counts = np.random.default_rng(8).integers(0, 4, len(clouds.X))
    some = counts > 0
    return clouds.X[some], counts[some].astype(float), np.repeat(clouds.X, counts, axis=0)


@pytest.mark.parametrize("risk", ["mean", "subquantile:0.75", "lower-extremile:2"])
def test_rows_of_weight_3_are_three_rows_from_the_same_start(risk):
    X, weights, copies = weighted_rows()
    spectrum, start = parse_risk(risk), X[:3].copy()
    ends = []
    for rows, masses in ((X, weights), (copies, None)):
        lloyd = Lloyd(rows, 3, make_weighter(spectrum, len(rows), masses))
        ended = lloyd.descend(start, 1e-9, 300)
        placed = assign_rows(rows, ended.centres, spectrum, masses)
        ends.append((ended, placed))
    (one, placed), (other, repeated) = ends
    assert one.objective == pytest.approx(other.objective, rel=1e-10)
    assert one.centres == pytest.approx(other.centres, rel=1e-8)
    assert placed.objective == pytest.approx(repeated.objective, rel=1e-10)
    assert placed.threshold == pytest.approx(repeated.threshold)
    per_copy = np.repeat(placed.weights / weights, weights.astype(int))
    assert per_copy == pytest.approx(repeated.weights, rel=1e-8, abs=1e-15)


@pytest.mark.parametrize("solver", list(ClusterSolver))
def test_weighted_rows_are_clustered_as_well_as_their_copies(solver):
    X, weights, copies = weighted_rows()
    how = options("subquantile:0.75", solver=solver)
    (one,) = find_clusters(X, (3,), how, masses=weights)
    (other,) = find_clusters(copies, (3,), how)
    assert one.objective == pytest.approx(other.objective, rel=1e-3 if solver == "sgd" else 1e-8)
    assert one.criterion == pytest.approx(other.criterion, rel=2e-3)


def test_noise_is_estimated_from_units_as_from_copies():
    X, weights, copies = weighted_rows()
    one, other = estimate_trimming(X, [3], 0, weights), estimate_trimming(copies, [3], 0)
    assert one.fraction == other.fraction
    rows = rows_of_units(weights)
    assert np.array_equal(X[rows], copies)
