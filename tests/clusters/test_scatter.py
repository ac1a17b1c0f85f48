"""The minimum covariance determinant against scikit-learn's, and what it must not depend on."""

import numpy as np
import pytest
from scipy.stats import chi2
from sklearn.covariance import MinCovDet

from lrisk_cli.clusters.scatter import (
    Shape,
    common_unit,
    covariance,
    deviates,
    fit_mcd,
    learn_units,
    nearest_shape,
    regular,
)


def table(n: int = 400, d: int = 5, wrong: float = 0.2, seed: int = 0) -> tuple:
    """Correlated normal rows, and a fraction in a tight group off the plane they lie near."""
    draws = np.random.default_rng(seed)
    mixing = draws.standard_normal((d, d))
    X = draws.standard_normal((n, d)) @ mixing
    bad = np.arange(n) < round(wrong * n)
    X[bad] = draws.standard_normal((int(bad.sum()), d)) + 8.0 * np.linalg.inv(mixing)[0]
    return X, bad, mixing.T @ mixing


def mcd(X: np.ndarray) -> Shape:
    units = learn_units(X)
    shape = fit_mcd(units.apply(X), units.coarse)
    scale = units.scale
    return Shape(units.centre + scale * shape.centre, shape.scatter * np.outer(scale, scale))


@pytest.mark.parametrize("seed", range(3))
def test_it_finds_what_scikit_learn_finds(seed):
    X, bad, _ = table(seed=seed)
    ours, theirs = mcd(X), MinCovDet(random_state=seed).fit(X)
    ratio = ours.distances(X) / theirs.mahalanobis(X)
    assert np.quantile(np.abs(np.log(ratio[~bad])), 0.9) < 0.25
    assert ours.distances(X)[bad].min() > ours.distances(X)[~bad].max()


def test_distances_of_normal_rows_are_chi_square():
    X, _, truth = table(n=5000, wrong=0.0)
    shape = mcd(X)
    assert np.mean(shape.distances(X) <= chi2.ppf(0.5, 5)) == pytest.approx(0.5, abs=0.02)
    assert np.linalg.det(shape.scatter) == pytest.approx(np.linalg.det(truth), rel=0.15)


def test_a_large_minority_does_not_bend_it():
    X, bad, _ = table(wrong=0.4)
    clean = covariance(X[~bad], np.zeros(5, np.bool_))
    assert np.median(mcd(X).distances(X)[~bad]) == pytest.approx(
        np.median(clean.distances(X[~bad])), rel=0.25
    )


def test_units_and_shifts_of_columns_change_nothing():
    X, _, _ = table()
    factors, shifts = np.array([1e-6, 1.0, 3.0, 1e3, 1e6]), np.arange(5.0)
    moved = mcd(X * factors + shifts)
    assert moved.distances(X * factors + shifts) == pytest.approx(mcd(X).distances(X), rel=1e-6)


def test_the_order_of_the_rows_does_not_matter():
    X, _, _ = table()
    order = np.random.default_rng(3).permutation(len(X))
    assert mcd(X[order]).distances(X) == pytest.approx(mcd(X).distances(X), rel=1e-9)


def test_a_broken_relation_is_far_and_an_exact_one_has_a_scatter():
    draws = np.random.default_rng(0)
    X = draws.standard_normal((200, 4))
    X[:, 3] = X[:, 0] + X[:, 1]
    X[7, 3] += 0.5
    distances = mcd(X).distances(X)
    assert np.isfinite(distances).all()
    assert distances.argmax() == 7
    assert distances[7] > 10.0 * np.sort(distances)[-2]


@pytest.mark.parametrize(("n", "d"), [(2, 3), (5, 8), (30, 40), (60, 40)])
def test_few_rows_have_a_regular_scatter(n, d):
    X = np.random.default_rng(1).standard_normal((n, d))
    distances = mcd(X).distances(X)
    assert np.isfinite(distances).all()


def test_shrinkage_leaves_many_rows_alone_and_draws_few_to_a_diagonal():
    S = np.array([[1.0, 0.3], [0.3, 2.0]])
    none = np.zeros(2, np.bool_)
    assert regular(S, 100, none) == pytest.approx(S + 1e-4 * np.eye(2))
    assert regular(S, 3, none)[0, 1] < 0.3
    assert np.diag(regular(S, 3, none)) == pytest.approx(np.diag(S) + 1e-4)


def test_columns_of_two_values_or_mostly_one_are_coarse_and_constant_ones_unused():
    draws = np.random.default_rng(2)
    X = np.column_stack([
        draws.standard_normal(100), draws.random(100) < 0.05, np.ones(100),
        np.where(draws.random(100) < 0.3, draws.standard_normal(100), 0.0),
    ])  # fmt: skip
    units = learn_units(X)
    assert units.coarse.tolist() == [False, True, False, True]
    assert units.used.tolist() == [True, True, False, True]
    assert units.scale[1] == 0.5
    assert np.abs(units.apply(X)[:, 1]).max() <= 2.0


def test_a_common_unit_keeps_distances():
    X = np.random.default_rng(0).standard_normal((50, 3)) * [1.0, 5.0, 0.1]
    units = common_unit(X)
    apart = np.linalg.norm(units.apply(X)[0] - units.apply(X)[1])
    assert apart * units.scale[0] == pytest.approx(np.linalg.norm(X[0] - X[1]))


def test_rows_are_placed_by_themselves():
    X, _, truth = table()
    centres, scatters = np.array([np.zeros(5), np.ones(5)]), np.array([truth, 2.0 * truth])
    clusters, losses = nearest_shape(X, centres, scatters)
    for rows in (slice(3), slice(17, 18)):
        again = nearest_shape(np.ascontiguousarray(X[rows]), centres, scatters)
        assert (again[0] == clusters[rows]).all()
        assert (again[1] == losses[rows]).all()
    direct = [np.einsum("ij,jk,ik->i", X - c, np.linalg.inv(S), X - c)
              for c, S in zip(centres, scatters, strict=True)]  # fmt: skip
    assert losses == pytest.approx(np.minimum(*direct))


def test_the_cube_root_of_a_chi_square_number_is_nearly_normal():
    levels = np.array([0.01, 0.5, 0.99, 0.9999])
    for d in (3, 10, 50):
        assert deviates(chi2.ppf(levels, d), d) == pytest.approx([-2.33, 0.0, 2.33, 3.72], abs=0.17)
