"""Numbers beside codes: fits, certificates and awkward tables against the same rows one-hot."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.mixed_rows import interleaved, mixed_rows, one_hot
from lrisk_cli.losses.registry import make_loss
from lrisk_cli.names import Sampling, SolverName
from lrisk_cli.risk.spectrum import parse_risk
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.rows.mixed import MixedRows
from lrisk_cli.solvers.problem import Problem, make_problem
from lrisk_cli.solvers.rounding import evaluate, evaluate_wide
from lrisk_cli.solvers.select import SolverOptions, solve
from lrisk_cli.solvers.solution import Limits

LOSSES = [("squared", 0), ("huber:1", 0), ("logistic", 2), ("logistic", 3), ("logistic", 9)]
STEPPING = [SolverName.LSVRG, SolverName.SGD, SolverName.SRDA, SolverName.SUBGRADIENT]
EXACT = [SolverName.AUTO, SolverName.NEWTON, SolverName.LBFGS]
UNIT = np.finfo(np.float64).eps / 2.0


def both_problems(
    loss_name: str, n_classes: int, risk: str, *, n: int = 150, seed: int = 0
) -> tuple[Problem, Problem]:
    """With rows beside codes, and with the same rows as an array."""
    rows, X = mixed_rows(n, 3, [12, 4, 1, 8], seed=seed)
    rng = np.random.default_rng(seed)
    signal = X @ rng.standard_normal((X.shape[1], max(n_classes, 1))) + rng.standard_t(3, (n, 1))
    loss, mu = make_loss(loss_name, n_classes), 0.02
    y = signal[:, 0] if not n_classes else np.argmax(signal, axis=1).astype(np.int32)
    if n_classes == 2:
        y = (signal[:, 0] > 0.0).astype(np.int32)
    made = [make_problem(each, y, loss, parse_risk(risk), mu) for each in (rows, DenseRows(X))]
    return made[0], made[1]


@pytest.mark.parametrize("solver", STEPPING)
@pytest.mark.parametrize(("loss", "n_classes"), LOSSES)
def test_stochastic_steps_are_those_on_one_hot_rows(solver, loss, n_classes):
    mixed, dense = both_problems(loss, n_classes, "extremile:2")
    few = Limits(tol=1e-9, max_passes=12)
    for options in (SolverOptions(solver), SolverOptions(solver, sampling=Sampling.UNIFORM)):
        if options.sampling is not None and solver is not SolverName.LSVRG:
            continue
        ours, plain = solve(mixed, options, few), solve(dense, options, few)
        assert np.abs(plain.W).max() > 0.01
        np.testing.assert_allclose(ours.W, plain.W, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("solver", EXACT)
@pytest.mark.parametrize("risk", ["mean", "superquantile:0.6", "extremile:2"])
@pytest.mark.parametrize(("loss", "n_classes"), LOSSES)
def test_fits_prove_the_optimum_of_one_hot_rows(solver, risk, loss, n_classes):
    mixed, dense = both_problems(loss, n_classes, risk)
    limits = Limits(tol=1e-8, max_passes=3000)
    ours = solve(mixed, SolverOptions(solver), limits)
    plain = solve(dense, SolverOptions(solver), limits)
    assert ours.converged == plain.converged
    assert ours.certificate.lower_bound <= plain.certificate.objective
    assert plain.certificate.lower_bound <= ours.certificate.objective
    objective = dense.at(ours.W, dense.row_weighter()).objective
    assert objective == pytest.approx(ours.certificate.objective, rel=1e-13)


@pytest.mark.parametrize(("loss", "n_classes"), LOSSES)
def test_errors_of_a_certificate_contain_the_truth(loss, n_classes):
    mixed, dense = both_problems(loss, n_classes, "superquantile:0.6", n=3000)
    rng = np.random.default_rng(1)
    for size in (0.1, 10.0):
        V = size * rng.standard_normal(mixed.shape)
        lam = mixed.at(V, mixed.row_weighter()).lam
        found, truth = evaluate(mixed, lam, V), evaluate_wide(dense, lam, V)
        assert abs(found.value - truth.value) <= found.value_error + truth.value_error
        assert abs(found.norm - truth.norm) <= found.norm_error + truth.norm_error
        # A few roundings, and not as many as there are columns.
        assert found.value_error <= evaluate(dense, lam, V).value_error * (1.0 + 1e-9)


@settings(deadline=None, max_examples=60)
@given(
    n=st.integers(1, 40),
    p=st.integers(0, 3),
    levels=st.lists(st.integers(1, 6), min_size=0, max_size=4),
    usual=st.floats(0.0, 1.0),
    seed=st.integers(0, 10**6),
)
def test_any_table_gives_the_sums_of_its_one_hot_rows(n, p, levels, usual, seed):
    if p + len(levels) == 0:
        return
    rng = np.random.default_rng(seed)
    layout = interleaved(p, levels)
    d, codes = layout.n_columns, np.empty((n, len(levels)), np.int32)
    for j, (start, stop) in enumerate(zip(layout.starts, layout.stops, strict=True)):
        every = np.append(np.arange(start, stop), d)
        most = rng.random(n) < usual
        codes[:, j] = np.where(most, rng.choice(every), rng.choice(every, n))
    D = rng.integers(-3, 4, (n, p)).astype(np.float64)
    rows, X = MixedRows(D, codes, layout), one_hot(D, codes, layout)
    # Sums of whole numbers are exact, whatever their order.
    w = rng.integers(-2, 3, n).astype(np.float64)
    assert np.array_equal(rows.gram(w), X.T @ (w[:, None] * X))
    R, V = rng.integers(-3, 4, (n, 3)).astype(np.float64), rng.integers(-3, 4, (d, 5)) * 1.0
    assert np.array_equal(rows.combine(R), X.T @ R)
    assert np.array_equal(rows.magnitudes(R), np.abs(X).T @ np.abs(R))
    assert np.array_equal(rows.margins(V), X @ V)
    assert np.array_equal(rows.scores(V[:, :1]), X @ V[:, :1])
    assert np.array_equal(rows.dense_rows(slice(None)), X)
    assert np.array_equal(rows.row_products(), X @ X.T)
    taken = rows.take(rng.integers(0, n, 5))
    assert taken.shape == (5, d)


def test_weights_of_one_sign_leave_diagonals_as_they_are():
    """Subtraction may be off by a rounding of the weight of a level, no more."""
    rows, X = mixed_rows(4000, 2, [5, 9], seed=3)
    w = np.random.default_rng(0).random(4000) ** 8
    exact = X.astype(np.longdouble).T @ (w[:, None].astype(np.longdouble) * X)
    off = np.abs(rows.gram(w) - exact)
    assert (off <= 2.0 * 4000 * UNIT * float(w.sum()) * (1.0 + np.abs(X).max() ** 2)).all()


def test_ten_thousand_levels_are_fitted_and_proved_without_an_array():
    rng = np.random.default_rng(0)
    n, p, n_levels = 40_000, 3, 10_000
    layout = interleaved(p, [n_levels, 5])
    d, (first, second) = layout.n_columns, layout.starts
    level = rng.integers(0, n_levels, n)
    codes = np.stack([first + level, second + rng.integers(0, 5, n)], axis=1).astype(np.int32)
    rows = MixedRows(rng.standard_normal((n, p)), codes, layout)
    effects = rng.standard_normal(n_levels)
    y = effects[level] + 0.1 * rng.standard_normal(n)
    for risk in ("mean", "extremile:2"):
        problem = make_problem(rows, y, make_loss("squared", 0), parse_risk(risk), 1e-5)
        found = solve(problem, SolverOptions(), Limits(tol=1e-6))
        assert found.converged
        assert np.corrcoef(found.W[first : first + n_levels, 0], effects)[0, 1] > 0.95
    assert d == p + n_levels + 5
