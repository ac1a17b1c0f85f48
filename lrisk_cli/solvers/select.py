"""From a solver's name and options to a solution, by what each solver declares."""

from dataclasses import dataclass, fields

import numpy as np

from lrisk_cli.errors import InvalidOption, join_words, opt
from lrisk_cli.losses.base import Loss
from lrisk_cli.names import SolverName
from lrisk_cli.native.threads import one_thread
from lrisk_cli.progress import Report, silent
from lrisk_cli.risk.groups import GroupRisk, Risk
from lrisk_cli.solvers.problem import Problem
from lrisk_cli.solvers.registry import SOLVERS, load_solver
from lrisk_cli.solvers.solution import Limits, Solution, Watch
from lrisk_cli.solvers.spec import Job, Need, SolverOptions
from lrisk_cli.types import Array

__all__ = [
    "Choice",
    "SolverOptions",
    "check_loss",
    "check_options",
    "check_risk",
    "choose",
    "minimises",
    "solve",
    "uses_inlier_weights",
]

# Options that every solver may be given.
SHARED = {"solver", "seed", "track_ranks"}


@dataclass(frozen=True, slots=True)
class Choice:
    """A solver and why it was taken."""

    solver: SolverName
    reason: str


def choose(problem: Problem, options: SolverOptions) -> Choice:
    """The solver that was asked for, or with `auto` the first that suits the problem."""
    if options.solver is not SolverName.AUTO:
        return Choice(options.solver, "asked for")
    lacks = _lacks(rising=not problem.falling, falling=problem.falling)
    if problem.grouped is not None:
        lacks.add(Need.ROW_RISK)
    if problem.loss.kinked:
        lacks.add(Need.SMOOTH_LOSS)
    for name in SOLVERS:
        spec = load_solver(name)
        reason = None if spec.needs & lacks else spec.suits(problem)
        if reason is not None:
            return Choice(name, reason)
    raise AssertionError("no solver suits the problem")


def _lacks(*, rising: bool, falling: bool) -> set[Need]:
    """The needs that a problem of such a risk does not meet."""
    return ({Need.CONVEX_RISK} if not rising else set()) | (
        {Need.FALLING_RISK} if not falling else set()
    )


def solve(
    problem: Problem,
    options: SolverOptions,
    limits: Limits,
    report: Report = silent,
    start: Array | None = None,
    inliers: Array | None = None,
    watch: Watch | None = None,
) -> Solution:
    """Minimise the problem; linear algebra runs on one thread, so that results repeat.

    start: W (d, k) of a neighbouring problem, from which to begin where it is better than zero.
    It saves work; what is proved does not depend on it. srda always begins at zero, and so does
    every fit of a falling risk, where the end would depend on it. inliers: (n,) the probability
    that each row is an inlier; trimmed starts there too. watch: sees every point of the trace.
    """
    solver = load_solver(choose(problem, options).solver)
    if problem.falling:
        start = None
    # Numbers that are not finite are looked for where they matter.
    with one_thread(), np.errstate(all="ignore"):
        return solver.run(Job(problem, options, limits, report, start, inliers, watch))


def uses_inlier_weights(problem: Problem, options: SolverOptions) -> bool:
    """Whether the solver of this problem starts from a fit to the inliers."""
    return not problem.flat and load_solver(choose(problem, options).solver).inliers


def minimises(solver: SolverName, risk: Risk) -> bool:
    """Whether the solver takes problems of such a risk."""
    return solver is SolverName.AUTO or not load_solver(solver).needs & _lacks_of(risk)


def _lacks_of(risk: Risk) -> set[Need]:
    of_groups = {Need.ROW_RISK} if isinstance(risk, GroupRisk) else set()
    return of_groups | _lacks(rising=risk.rising, falling=not risk.rising or risk.flat)


def check_risk(solver: SolverName, risk: Risk) -> None:
    """Refuse a risk that the solver cannot minimise."""
    if minimises(solver, risk):
        return
    lacks = _lacks_of(risk)
    unmet = load_solver(solver).needs & lacks
    able = sorted(name for name in SOLVERS if not load_solver(name).needs & lacks)
    is_so = "rises with the loss" if risk.rising else "falls with the loss"
    if Need.ROW_RISK in unmet:
        is_so = "is one of groups"
    raise InvalidOption(
        "solver",
        f"needs {' and '.join(sorted(unmet))} and {risk} {is_so}; choose among "
        f"{', '.join(able)}, or leave it to auto",
        solver,
    )


def check_loss(solver: SolverName, loss: Loss) -> None:
    """Refuse a loss with kinks where the solver needs one without."""
    if not loss.kinked or solver is SolverName.AUTO:
        return
    if Need.SMOOTH_LOSS not in load_solver(solver).needs:
        return
    able = sorted(name for name in SOLVERS if Need.SMOOTH_LOSS not in load_solver(name).needs)
    raise InvalidOption(
        "solver",
        f"needs {Need.SMOOTH_LOSS} and {loss.name} has one at 0; choose among {', '.join(able)}, "
        "or leave it to auto",
        solver,
    )


def check_options(options: SolverOptions) -> None:
    """Refuse options that the chosen solver does not use, and values that it cannot take."""
    auto, defaults = options.solver is SolverName.AUTO, SolverOptions()
    read = frozenset() if auto else load_solver(options.solver).options
    for field in fields(SolverOptions):
        name = field.name
        if name in SHARED or name in read or getattr(options, name) == getattr(defaults, name):
            continue
        readers = sorted(each for each in SOLVERS if name in load_solver(each).options)
        chosen, rules = opt("solver", options.solver), name in ("decay", "theory")
        raise InvalidOption(
            "step" if rules else name,
            f"is not used by {chosen} (only by {join_words(readers)})",
            name if rules else None,
        )
    _check_steps(options)
    if not auto:
        load_solver(options.solver).check(options)


def _check_steps(options: SolverOptions) -> None:
    """Refuse ways to choose the step that exclude one another."""
    if options.step_grid is not None and (
        options.step is not None or options.decay or options.theory
    ):
        raise InvalidOption("step_grid", f"chooses the step; leave out {opt('step')}")
