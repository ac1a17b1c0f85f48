"""Newton: the certified optimum of any rising risk, by the steps that suit the loss."""

from lrisk_cli.solvers.problem import Problem
from lrisk_cli.solvers.products import MATRIX_SIZE, by_products
from lrisk_cli.solvers.proximal import run_proximal
from lrisk_cli.solvers.solution import Solution
from lrisk_cli.solvers.spec import Job, Need, SolverSpec


def _suits(problem: Problem) -> str | None:
    if problem.smoothing is not None:
        return None
    if problem.loss.kinked:
        return "the loss has kinks"
    if problem.flat:
        return "the mean is one weighted fit"
    n_unknowns = problem.shape[0] * problem.shape[1]
    if problem.outer is not None and problem.loss.n_outputs == 1:
        return f"{problem.n_rows} rows are few enough for it"
    if problem.loss.n_outputs == 1 and problem.grouped is None and by_products(problem):
        return f"rows hold {problem.rows.stored} numbers and codes for {n_unknowns} unknowns"
    return f"{n_unknowns} unknowns are few enough for it" if n_unknowns <= MATRIX_SIZE else None


def _run(job: Job) -> Solution:
    if job.problem.loss.kinked:
        from lrisk_cli.solvers.kinks import KinkedNewton

        return run_proximal(job, KinkedNewton)
    if job.problem.loss.n_outputs == 1:
        from lrisk_cli.solvers.newton_steps import Newton

        return run_proximal(job, Newton)
    from lrisk_cli.solvers.softmax import Softmax

    return run_proximal(job, Softmax)


SPEC = SolverSpec(_run, needs=frozenset({Need.CONVEX_RISK}), suits=_suits)
