"""Mixtures of normal clusters and noise: what they find, and what one k gains over another."""

from itertools import product

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture

from helpers.clouds import make_clouds
from lrisk_cli.clusters.mixture import Shapes, fit_mixtures, limit_eigenvalues, sample_rows
from lrisk_cli.clusters.trimming import estimate_trimming, numbers_of_clusters

ANY = Shapes(100.0, relative=True)


def groups(noise: int = 0, seed: int = 0) -> tuple:
    """Three clusters of unlike shapes, and rows anywhere in their box."""
    draws = np.random.default_rng(seed)
    X = np.concatenate([
        draws.standard_normal((150, 3)) @ np.diag([1.0, 0.3, 2.0]),
        draws.standard_normal((100, 3)) @ draws.standard_normal((3, 3)) + [12.0, 0.0, 0.0],
        draws.standard_normal((50, 3)) + np.array([0.0, 12.0, 0.0]),
        draws.uniform(-20.0, 30.0, (noise, 3)),
    ])  # fmt: skip
    return X, np.arange(len(X)) >= 300


def test_without_noise_it_is_the_mixture_of_scikit_learn():
    X, _ = groups()
    found = fit_mixtures(X, [3], ANY).best
    theirs = GaussianMixture(3, random_state=0, n_init=5).fit(X)
    order = np.argsort(-theirs.weights_)
    assert found.noise < 0.01
    assert found.shares == pytest.approx(theirs.weights_[order], abs=0.01)
    assert found.centres == pytest.approx(theirs.means_[order], abs=0.2)


@pytest.mark.parametrize("seed", range(3))
def test_the_number_of_clusters_and_the_noise_are_found(seed):
    X, noise = groups(75, seed)
    mixtures = fit_mixtures(X, range(1, 6), ANY)
    assert mixtures.best.k == 3
    assert mixtures.best.noise == pytest.approx(0.2, abs=0.03)
    assert np.mean(mixtures.noisy(mixtures.best, X) == noise) > 0.98


def test_one_cluster_is_best_for_one():
    X = np.random.default_rng(0).standard_normal((300, 4)) @ np.diag([1.0, 5.0, 0.2, 1.0])
    assert fit_mixtures(X, range(1, 5), ANY).best.k == 1


def test_a_wide_component_around_a_narrow_one_is_no_mode():
    draws = np.random.default_rng(0)
    X = draws.standard_normal((400, 3)) * np.where(np.arange(400) < 280, 1.0, 5.0)[:, None]
    (mixture,) = fit_mixtures(X, [2], ANY).found
    assert mixture.modes.tolist() == [True, False]


def test_units_change_nothing():
    X, _ = groups(75)
    found, moved = (fit_mixtures(rows, [3], ANY).best for rows in (X, X * [1e-3, 1.0, 1e4] + 5.0))
    assert moved.shares == pytest.approx(found.shares, rel=1e-6)
    assert moved.noise == pytest.approx(found.noise, rel=1e-6)


def test_eigenvalues_are_limited_as_the_likelihood_has_it():
    values = np.array([[0.01, 1.0, 9.0], [0.5, 2.0, 100.0]])
    sizes = np.array([30.0, 70.0])
    found = limit_eigenvalues(values, sizes, 10.0)
    assert found.max() / found.min() <= 10.0 * (1.0 + 1e-12)

    def cost(m: float) -> float:
        cut = np.clip(values, m, 10.0 * m)
        return float(np.sum(sizes[:, None] * (np.log(cut) + values / cut)))

    tried = min(cost(m) for m in np.geomspace(1e-3, 1e3, 4001))
    assert cost(float(found.min())) <= tried * (1.0 + 1e-9)
    assert limit_eigenvalues(values, sizes, 1e5) is not None
    assert (limit_eigenvalues(values, sizes, 1e5) == values).all()


def test_more_clusters_than_distinct_rows_are_not_tried():
    X = np.repeat(np.array([[0.0, 1.0], [2.0, 0.0]]), 20, axis=0)
    assert [each.k for each in fit_mixtures(X, range(1, 6), ANY).found] == [1, 2]


def test_a_sample_is_that_of_the_seed():
    X = np.arange(6000.0).reshape(3000, 2)
    assert (sample_rows(X, 100, 1) == sample_rows(X, 100, 1)).all()
    assert len(sample_rows(X, 100, 1)) == 100
    assert sample_rows(X, 5000, 1) is X


# Trimming


@pytest.mark.parametrize("seed", range(3))
def test_the_noise_among_clouds_is_estimated(seed):
    clouds = make_clouds(seed)
    found = estimate_trimming(clouds.X, [3], 0)
    assert found.fraction == pytest.approx(0.25, abs=0.03)
    assert str(found.risk) == f"subquantile:{1.0 - found.fraction:.4g}"


@pytest.mark.parametrize(("shares", "d"), list(product([(1, 1, 1), (8, 3, 1)], [2, 6, 40])))
def test_clean_clusters_lose_no_row(shares, d):
    draws = np.random.default_rng([5, d])
    group = np.repeat(np.arange(3), 40 * np.array(shares))
    X = draws.standard_normal((len(group), d)) + 15.0 * np.eye(3, d)[group]
    found = estimate_trimming(X, [3], 0)
    assert found.fraction <= 0.01
    assert estimate_trimming(X, range(1, 6), 0).k == 3


def test_few_rows_are_tried_with_few_clusters():
    assert numbers_of_clusters(1000) == tuple(range(1, 11))
    assert numbers_of_clusters(35) == (1, 2, 3)
    assert numbers_of_clusters(4) == (1,)
