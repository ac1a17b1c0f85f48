"""From a solver's name and options to a solution."""

from dataclasses import dataclass, replace

from lrisk_cli.errors import InvalidOption, opt
from lrisk_cli.names import Sampling, SolverName, StartName
from lrisk_cli.native.threads import one_thread
from lrisk_cli.progress import Report, silent
from lrisk_cli.risk.spectrum import Spectrum
from lrisk_cli.solvers.direct import solve_mean
from lrisk_cli.solvers.lbfgs import Lbfgs
from lrisk_cli.solvers.loop import Method, minimise
from lrisk_cli.solvers.lsvrg import Lsvrg
from lrisk_cli.solvers.newton import Newton
from lrisk_cli.solvers.problem import Problem
from lrisk_cli.solvers.proximal import ProximalPoint
from lrisk_cli.solvers.sgd import Sgd
from lrisk_cli.solvers.softmax import Softmax
from lrisk_cli.solvers.solution import Limits, Solution
from lrisk_cli.solvers.srda import Srda
from lrisk_cli.solvers.subgradient import Subgradient, glorot, into_ball
from lrisk_cli.solvers.trimmed import solve_trimmed
from lrisk_cli.types import Array

# Newton's matrices are (unknowns x unknowns); beyond this many they cost more than they save.
NEWTON_UNKNOWNS = 2000
# Those that need a convex objective, and the one that needs a falling risk.
CONVEX = {SolverName.NEWTON, SolverName.LBFGS}
FALLING = {SolverName.TRIMMED}


@dataclass(frozen=True, slots=True)
class SolverOptions:
    """What the user may say about the method; None leaves the choice to it.

    decay: SGD's steps follow 1/(mu t) and its iterates are averaged. track_ranks: the trace tells
    how many rows change rank, which costs a sort where the risk needs none.
    """

    solver: SolverName = SolverName.AUTO
    step: float | None = None
    decay: bool = False
    batch_size: int | None = None
    epoch_length: int | None = None
    checkpoint_probability: float | None = None
    sampling: Sampling | None = None
    seed: int = 0
    track_ranks: bool = False
    norm_bound: float | None = None
    momentum: float | None = None
    nesterov: bool = False
    start: StartName | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """A solver and why it was taken."""

    solver: SolverName
    reason: str


def choose(problem: Problem, options: SolverOptions) -> Choice:
    """The solver that was asked for, or with `auto` the one that suits the problem."""
    if options.solver is not SolverName.AUTO:
        return Choice(options.solver, "asked for")
    if problem.falling:
        return Choice(SolverName.TRIMMED, "the risk falls with the loss and is not convex")
    if problem.smoothing is not None:
        return Choice(SolverName.LSVRG, "smoothing was asked for")
    if problem.flat:
        return Choice(SolverName.NEWTON, "the mean is one weighted fit")
    n_unknowns = problem.shape[0] * problem.shape[1]
    if problem.outer is not None and problem.loss.n_outputs == 1:
        return Choice(SolverName.NEWTON, f"{problem.n_rows} rows are few enough for it")
    if n_unknowns <= NEWTON_UNKNOWNS:
        return Choice(SolverName.NEWTON, f"{n_unknowns} unknowns are few enough for it")
    return Choice(SolverName.LBFGS, f"{n_unknowns} unknowns are too many for newton")


def solve(
    problem: Problem,
    options: SolverOptions,
    limits: Limits,
    report: Report = silent,
    start: Array | None = None,
    majority: Array | None = None,
) -> Solution:
    """Minimise the problem; linear algebra runs on one thread, so that results repeat.

    start: W (d, k) of a neighbouring problem, from which to begin where it is better than zero.
    It spares work; what is proved does not depend on it. srda always begins at zero, and so does
    every fit of a falling risk, where the end would depend on it. majority: (n,) how surely each
    row belongs to those that agree; trimmed begins there too.
    """
    solver, track_ranks = choose(problem, options).solver, options.track_ranks
    if problem.falling:
        start = None
    with one_thread():
        if problem.flat and solver in CONVEX | FALLING:
            return solve_mean(problem, limits, report, start)
        if solver is SolverName.TRIMMED:
            return solve_trimmed(
                problem, limits, majority=majority, track_ranks=track_ranks, report=report
            )
        if solver in CONVEX:
            proximal = _proximal(problem, solver)
            return proximal(
                problem, limits, track_ranks=track_ranks, report=report, start=start
            ).run()
        method = _method(problem, replace(options, solver=solver))
        insist = options.start is StartName.GLOROT
        if insist:
            start = glorot(problem.shape, options.seed)
        if start is not None:
            start = into_ball(start, options.norm_bound)
        return minimise(
            problem,
            method,
            limits,
            step=options.step,
            track_ranks=track_ranks,
            report=report,
            start=None if solver is SolverName.SRDA else start,
            insist=insist,
            norm_bound=options.norm_bound,
        )


def _proximal(problem: Problem, solver: SolverName) -> type[ProximalPoint]:
    if solver is SolverName.LBFGS:
        return Lbfgs
    return Newton if problem.loss.n_outputs == 1 else Softmax


def check_risk(solver: SolverName, risk: Spectrum) -> None:
    """Refuse a risk that the solver cannot minimise."""
    every = [each for each in SolverName if each is not SolverName.AUTO]
    if not risk.rising and solver in CONVEX:
        able = ", ".join(each for each in every if each not in CONVEX)
        raise InvalidOption(
            "solver",
            f"needs a convex risk and {risk} falls with the loss; choose among {able}, or leave it "
            "to auto",
            solver,
        )
    if risk.rising and not risk.flat and solver in FALLING:
        able = ", ".join(each for each in every if each not in FALLING)
        raise InvalidOption(
            "solver",
            f"is for risks that fall with the loss and {risk} rises; choose among {able}, or leave "
            "it to auto",
            solver,
        )


def check_options(options: SolverOptions) -> None:
    """Refuse options that the chosen solver would not read."""
    for name, given, readers in (
        ("step", options.decay, {SolverName.SGD}),
        ("batch_size", options.batch_size is not None, {SolverName.SGD, SolverName.SRDA}),
        ("epoch_length", options.epoch_length is not None, {SolverName.LSVRG}),
        (
            "checkpoint_probability",
            options.checkpoint_probability is not None,
            {SolverName.LSVRG},
        ),
        ("sampling", options.sampling is not None, {SolverName.LSVRG}),
        ("norm_bound", options.norm_bound is not None, {SolverName.SUBGRADIENT}),
        ("momentum", options.momentum is not None, {SolverName.SUBGRADIENT}),
        ("nesterov", options.nesterov, {SolverName.SUBGRADIENT}),
        ("start", options.start is not None, {SolverName.SUBGRADIENT}),
    ):
        if given and options.solver not in readers:
            chosen, others = opt("solver", options.solver), " or ".join(sorted(readers))
            raise InvalidOption(
                name,
                f"has no meaning for {chosen}; it belongs to {others}",
                "decay" if name == "step" else None,
            )
    bound, momentum = options.norm_bound, options.momentum
    if bound is not None and not 0.0 < bound < float("inf"):
        raise InvalidOption("norm_bound", f"must be greater than 0; got {bound:g}")
    if momentum is not None and not 0.0 <= momentum < 1.0:
        raise InvalidOption("momentum", f"must be in [0, 1), or steps never end; got {momentum:g}")
    if options.nesterov and not momentum:
        add = opt("momentum", 0.9)
        raise InvalidOption("nesterov", f"has no meaning without momentum; add {add}")


def _method(problem: Problem, options: SolverOptions) -> Method:
    if options.solver is SolverName.SGD:
        return Sgd(problem, options.seed, options.batch_size or 64, options.decay)
    if options.solver is SolverName.SRDA:
        return Srda(problem, options.seed, options.batch_size or 64)
    if options.solver is SolverName.SUBGRADIENT:
        return Subgradient(problem, options.momentum or 0.0, options.nesterov, options.norm_bound)
    return Lsvrg(
        problem,
        options.seed,
        options.epoch_length,
        options.checkpoint_probability or 0.0,
        options.sampling or Sampling.WEIGHTS,
    )
