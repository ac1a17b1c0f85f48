"""L-BFGS and its line search, against minima that are known."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lrisk_cli.solvers.descent import EvaluatedPoint, descend, line_search


def quadratic(H: np.ndarray, centre: np.ndarray) -> Callable[[np.ndarray], EvaluatedPoint[int]]:
    """(x - centre)' H (x - centre) / 2, counting how often it is evaluated."""
    count = [0]

    def evaluate(x: np.ndarray) -> EvaluatedPoint[int]:
        count[0] += 1
        g = (H @ (x - centre).ravel()).reshape(x.shape)
        return EvaluatedPoint(x, 0.5 * float(np.vdot(x - centre, g)), g, count[0])

    return evaluate


def spread(rng: np.random.Generator, size: int, condition: float) -> np.ndarray:
    """A positive matrix of a given condition."""
    Q = np.linalg.qr(rng.standard_normal((size, size)))[0]
    return (Q * np.logspace(0, -np.log10(condition), size)) @ Q.T


@given(seed=st.integers(0, 10**6), condition=st.sampled_from([1.0, 1e2, 1e4]))
@settings(max_examples=20, deadline=None)
def test_quadratics_are_minimised(seed: int, condition: float) -> None:
    rng = np.random.default_rng(seed)
    H, centre = spread(rng, 30, condition), rng.standard_normal((10, 3))
    evaluate = quadratic(H, centre)
    found = descend(
        evaluate,
        evaluate(np.zeros((10, 3))),
        lambda point, _: point.value < 1e-12 or point.kept > 500,
    )
    assert found.value < 1e-12


def test_the_true_curvature_as_preconditioner_takes_one_step() -> None:
    rng = np.random.default_rng(0)
    H, centre = spread(rng, 30, 1e8), rng.standard_normal((10, 3))
    evaluate, inverse = quadratic(H, centre), np.linalg.inv(H)
    found = descend(
        evaluate,
        evaluate(np.zeros((10, 3))),
        lambda point, left: left < 1e-12,
        lambda g: (inverse @ g.ravel()).reshape(g.shape),
    )
    assert found.kept == 2
    np.testing.assert_allclose(found.x, centre, atol=1e-5)


def test_what_is_left_is_told_where_the_curvature_is_known() -> None:
    rng = np.random.default_rng(1)
    H, centre = spread(rng, 20, 10.0), rng.standard_normal((20, 1))
    told = []

    def done(point: EvaluatedPoint[int], left: float) -> bool:
        told.append((point.value, left))
        return point.value < 1e-8

    evaluate = quadratic(H, centre)
    descend(evaluate, evaluate(np.zeros((20, 1))), done)
    assert told[0][1] == np.inf
    # With as many steps behind it as the curvature has directions, the guess is good.
    for value, left in told[8:]:
        assert 0.1 * value < left < 10.0 * value


def test_functions_that_are_steep_or_flat_far_away_are_minimised() -> None:
    def evaluate(x: np.ndarray) -> EvaluatedPoint[None]:
        # Of the first part there is no curvature far out, of the second much.
        value = float(np.sum(np.logaddexp(x, -x) + 1e-3 * x**4))
        return EvaluatedPoint(x, value, np.tanh(x) + 4e-3 * x**3, None)

    start = evaluate(np.full((5, 1), 300.0))
    found = descend(evaluate, start, lambda point, _: float(np.abs(point.gradient).max()) < 1e-9)
    np.testing.assert_allclose(found.x, 0.0, atol=1e-8)


def test_the_minimum_ends_the_descent_even_if_nothing_else_does() -> None:
    rng = np.random.default_rng(2)
    evaluate = quadratic(spread(rng, 12, 1e3), rng.standard_normal((12, 1)))
    found = descend(evaluate, evaluate(np.zeros((12, 1))), lambda *_: False)
    assert found.value < 1e-25


@given(
    curvature=st.floats(1e-6, 1e6),
    kink=st.floats(1e-3, 1e3),
    first=st.floats(1e-3, 1e3),
    flatter=st.sampled_from([0.1, 0.6, 0.9]),
)
@settings(max_examples=100, deadline=None)
def test_lengths_are_found_where_a_function_has_fallen_and_is_flatter(
    curvature: float, kink: float, first: float, flatter: float
) -> None:
    """Slope -1 at 0, that of a parabola, and a hundred times steeper beyond a kink."""

    def there(t: float) -> tuple[float, float, float]:
        beyond = max(t - kink, 0.0)
        value = -t + 0.5 * curvature * t**2 + 50.0 * curvature * beyond**2
        return t, value, -1.0 + curvature * t + 100.0 * curvature * beyond

    t = line_search(there, 0.0, -1.0, first, flatter)
    assert t is not None
    _, value, slope = there(t)
    assert value < 0.0
    assert abs(slope) <= flatter


def test_a_direction_that_leads_nowhere_is_given_up() -> None:
    """The slope promised a fall that never comes."""
    assert line_search(lambda t: (t, 1.0 + t, 1.0), 1.0, -1.0, 1.0, 0.9) is None


@pytest.mark.parametrize("far", [np.inf, np.nan])
def test_values_that_are_no_numbers_shorten_the_step(far: float) -> None:
    def there(t: float) -> tuple[float, float, float]:
        return (t, far, far) if t > 0.1 else (t, -t + 5.0 * t**2, -1.0 + 10.0 * t)

    t = line_search(there, 0.0, -1.0, 1.0, 0.5)
    assert t is not None
    assert 0.0 < t <= 0.1
