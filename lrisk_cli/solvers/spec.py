"""What a solver declares about itself: what it needs, the options it reads, and how it runs."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from lrisk_cli.names import Sampling, SolverName, StartName, StepSchedule
from lrisk_cli.progress import Report, silent
from lrisk_cli.solvers.problem import Problem
from lrisk_cli.solvers.solution import Limits, Solution, Watch
from lrisk_cli.types import Array


@dataclass(frozen=True, slots=True)
class StepGrid:
    """Steps to choose from, each tried with the seeds 1 to n_seeds."""

    steps: tuple[float, ...]
    n_seeds: int = 5


@dataclass(frozen=True, slots=True)
class SolverOptions:
    """Options of the method; None leaves the choice to it.

    decay: SGD's steps follow 1/(mu (t + delay)) and its iterates are averaged; step_delay: the
    delay. theory: the step, and what belongs to it, by the theorem about the method. step_grid:
    steps to choose from. track_ranks: the trace counts
    the rows that change rank, which costs a sort where the risk needs none.
    """

    solver: SolverName = SolverName.AUTO
    step: float | None = None
    decay: bool = False
    step_delay: float | None = None
    theory: bool = False
    step_grid: StepGrid | None = None
    batch_size: int | None = None
    max_epochs: float | None = None
    epoch_length: int | None = None
    checkpoint_probability: float | None = None
    sampling: Sampling | None = None
    seed: int = 0
    track_ranks: bool = False
    norm_bound: float | None = None
    bound_classes: bool = False
    momentum: float | None = None
    nesterov: bool = False
    start: StartName | None = None
    step_schedule: StepSchedule | None = None


class Need(StrEnum):
    """A requirement of a solver."""

    CONVEX_RISK = "a convex risk"
    FALLING_RISK = "a falling risk"
    ROWS_IN_MEMORY = "rows in memory"
    ROW_RISK = "a risk of rows"
    SMOOTH_LOSS = "a loss without kinks"


@dataclass(frozen=True, slots=True)
class Job:
    """One minimisation: what to minimise, by which options, until when, and from where.

    start: W (d, k) of a neighbouring problem. inliers: (n,) the probability that each row is an
    inlier. watch: sees every point that the trace lists.
    """

    problem: Problem
    options: SolverOptions
    limits: Limits
    report: Report = silent
    start: Array | None = None
    inliers: Array | None = None
    watch: Watch | None = None


def _nothing_to_check(_: SolverOptions) -> None:
    return


def _never(_: Problem) -> str | None:
    return None


@dataclass(frozen=True, slots=True)
class SolverSpec:
    """The declaration of one solver, called SPEC in its file.

    options: fields of SolverOptions that it reads and that would be ignored by others. check:
    refuses values of these. suits: why `auto` takes it for a problem that has what it needs, None
    where it does not. softplus: whether it can minimise the softplus smoothing of a subquantile.
    inliers: whether it starts from a fit to the inliers.
    """

    run: Callable[[Job], Solution]
    needs: frozenset[Need] = frozenset()
    options: frozenset[str] = frozenset()
    check: Callable[[SolverOptions], None] = _nothing_to_check
    suits: Callable[[Problem], str | None] = _never
    softplus: bool = False
    inliers: bool = False
