"""From a solver's name and options to a solution."""

from dataclasses import dataclass

from threadpoolctl import threadpool_limits

from lrisk_cli.errors import UsageError
from lrisk_cli.names import Sampling, SolverName
from lrisk_cli.problem import Problem
from lrisk_cli.progress import Report, silent
from lrisk_cli.solvers.loop import Method, minimise
from lrisk_cli.solvers.lsvrg import Lsvrg
from lrisk_cli.solvers.outcome import Limits, Solution
from lrisk_cli.solvers.sgd import Sgd
from lrisk_cli.solvers.srda import Srda
from lrisk_cli.solvers.subgradient import Subgradient


@dataclass(frozen=True, slots=True)
class SolverOptions:
    """What the user may say about the method; None leaves the choice to it.

    decay: SGD's steps follow 1/(mu t) and its iterates are averaged.
    """

    solver: SolverName = SolverName.LSVRG
    step: float | None = None
    decay: bool = False
    batch_size: int | None = None
    epoch_length: int | None = None
    checkpoint_probability: float | None = None
    sampling: Sampling | None = None
    seed: int = 0


def solve(
    problem: Problem, options: SolverOptions, limits: Limits, report: Report = silent
) -> Solution:
    """Minimise the problem; linear algebra runs on one thread, so that results repeat."""
    method = _method(problem, options)
    with threadpool_limits(limits=1, user_api="blas"):
        return minimise(problem, method, limits, step=options.step, report=report)


def check_options(options: SolverOptions) -> None:
    """Refuse options that the chosen solver would not read."""
    for flag, given, readers in (
        ("--step decay", options.decay, {SolverName.SGD}),
        ("--batch-size", options.batch_size is not None, {SolverName.SGD, SolverName.SRDA}),
        ("--epoch-length", options.epoch_length is not None, {SolverName.LSVRG}),
        (
            "--checkpoint-probability",
            options.checkpoint_probability is not None,
            {SolverName.LSVRG},
        ),
        ("--sampling", options.sampling is not None, {SolverName.LSVRG}),
    ):
        if given and options.solver not in readers:
            names = " or ".join(sorted(readers))
            raise UsageError(
                f"{flag} has no meaning for --solver {options.solver}; it belongs to {names}"
            )


def _method(problem: Problem, options: SolverOptions) -> Method:
    if options.solver is SolverName.SGD:
        return Sgd(problem, options.seed, options.batch_size or 64, options.decay)
    if options.solver is SolverName.SRDA:
        return Srda(problem, options.seed, options.batch_size or 64)
    if options.solver is SolverName.SUBGRADIENT:
        return Subgradient(problem)
    return Lsvrg(
        problem,
        options.seed,
        options.epoch_length,
        options.checkpoint_probability or 0.0,
        options.sampling or Sampling.WEIGHTS,
    )
