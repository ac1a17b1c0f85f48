"""Steps that decay, steps chosen from a grid, and the sentences about impossible wishes."""

import numpy as np
import pytest

from helpers.problems import small_problem
from lrisk_cli.errors import UsageError
from lrisk_cli.names import SolverName
from lrisk_cli.solvers.options import PAPER_GRID, Solver, parse_grid
from lrisk_cli.solvers.select import SolverOptions, check_options, solve
from lrisk_cli.solvers.solution import Limits
from lrisk_cli.solvers.spec import StepGrid
from lrisk_cli.solvers.theory import theory_of

LONG = Limits(tol=0.0, max_passes=1e6)


def test_decay_is_proposition_3_and_ends_within_its_bound():
    """Batches of all rows have no bias; the average of w_0 ... w_{T-1}, eta = 1/(mu (t + 1))."""
    problem = small_problem("huber:0.7", "superquantile:0.5", mu=0.3)
    n, T = problem.n_rows, 50
    options = SolverOptions(SolverName.SGD, decay=True, batch_size=n, max_epochs=float(T))
    found = solve(problem, options, LONG)
    w, total, weigher = np.zeros(problem.shape), np.zeros(problem.shape), problem.row_weighter()
    for t in range(T):
        total += w
        point = problem.at(w, weigher)
        w = w - problem.gradient(w, point.margins, point.lam) / (0.3 * (t + 1))
    mean = problem.at(total / T, weigher)
    assert found.halvings == 0
    assert found.epochs[-1].objective == pytest.approx(mean.objective, rel=1e-9)
    least = solve(problem, SolverOptions(), Limits(tol=1e-10)).certificate.lower_bound
    bound = theory_of(problem, found.W, n, 1e-3).batches
    G2 = bound.optimisation * 0.3 / 2.0  # steps = 1
    assert mean.objective - least <= 2.0 * G2 * (1.0 + np.log(T)) / (0.3 * T)


def test_losses_without_a_lipschitz_constant_get_a_safe_delay_unless_told_otherwise():
    problem = small_problem(mu=0.01)
    safe = solve(problem, SolverOptions(SolverName.SGD, decay=True, max_epochs=5.0), LONG)
    assert safe.halvings == 0
    assert safe.objective < 0.7 * safe.epochs[0].objective
    given = SolverOptions(SolverName.SGD, decay=True, step_delay=1e6, max_epochs=5.0)
    slow = solve(problem, given, LONG)
    assert slow.objective > safe.objective


def test_the_step_of_a_grid_is_the_one_with_the_least_mean_end():
    problem = small_problem(mu=0.02)
    steps = (1e-4, 3e-3, 1e6)
    grid = SolverOptions(
        SolverName.LSVRG, step_grid=StepGrid(steps, 3), epoch_length=120, max_epochs=8.0
    )
    found = solve(problem, grid, LONG)
    ends = []
    for step in steps:
        runs = [
            solve(problem, SolverOptions(SolverName.LSVRG, step, epoch_length=120, max_epochs=8.0,
                                         seed=seed), LONG)
            for seed in (1, 2, 3)
        ]  # fmt: skip
        diverged = any(run.halvings for run in runs)
        ends.append(np.inf if diverged else np.mean([r.epochs[-1].objective for r in runs]))
    assert [each.mean for each in found.tried_steps] == ends
    assert found.step == steps[int(np.argmin(ends))]
    assert np.isinf(ends[-1])
    assert "step 0.003 chosen from 3 by 3 seeds, 1 diverged" in found.status


def test_the_papers_grid_has_a_name():
    assert parse_grid(["paper"], None) == StepGrid(PAPER_GRID, 5)
    assert parse_grid(["0.1,0.01", "0.1"], 2) == StepGrid((0.01, 0.1), 2)
    assert parse_grid([], None) is None


@pytest.mark.parametrize(("options", "sentence"), [
    (Solver(solver=SolverName.LSVRG, step_grid=("0.1", "-1")), "step_grid takes paper, or numbers"),
    (Solver(solver=SolverName.LSVRG, step_seeds=3), "step_seeds has no meaning without a grid"),
    (Solver(solver=SolverName.LSVRG, step=0.1, step_grid=("0.1",)), "step_grid chooses the step"),
    (Solver(solver=SolverName.SGD, step_delay=3.0), "step_delay is for steps that decay"),
    (Solver(solver=SolverName.SUBGRADIENT, bound_classes=True), "without a norm bound"),
    (Solver(solver=SolverName.SGD, step="theory"), "is not used by solver='sgd'"),
    (Solver(solver=SolverName.SGD, step="fast"), "greater than 0, decay or theory"),
])  # fmt: skip
def test_impossible_wishes_get_a_sentence(options, sentence):
    with pytest.raises(UsageError, match=sentence):
        check_options(options.parse(0))


def test_theory_is_refused_for_a_loss_without_a_bounded_second_derivative():
    for solver in (SolverName.LSVRG, SolverName.SUBGRADIENT):
        with pytest.raises(UsageError, match="bounded second derivative; poisson has none"):
            solve(small_problem("poisson"), SolverOptions(solver, theory=True), Limits())
