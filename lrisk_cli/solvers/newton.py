"""Newton: the certified optimum of any rising risk, by the steps that suit the loss."""

from lrisk_cli.solvers.problem import Problem
from lrisk_cli.solvers.proximal import run_proximal
from lrisk_cli.solvers.solution import Solution
from lrisk_cli.solvers.spec import Job, Need, SolverSpec

# Newton's matrices are (unknowns x unknowns); beyond this many they cost more than they save.
MOST_UNKNOWNS = 2000


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
    return f"{n_unknowns} unknowns are few enough for it" if n_unknowns <= MOST_UNKNOWNS else None


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
