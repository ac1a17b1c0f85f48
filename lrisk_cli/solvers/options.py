"""Options: the method that minimises the risk, and when it stops."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from lrisk_cli.errors import InvalidOption, opt
from lrisk_cli.names import Sampling, SolverName, StartName, StepSchedule
from lrisk_cli.options import option
from lrisk_cli.solvers.registry import SOLVERS

DECAY, THEORY = "decay", "theory"
# The grid of the spectral-risk paper, App. F.4.
PAPER_GRID = (3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0, 3.0)
SEEDS = 5

if TYPE_CHECKING:
    from lrisk_cli.solvers.select import SolverOptions
    from lrisk_cli.solvers.solution import Limits
    from lrisk_cli.solvers.spec import StepGrid


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopping:
    """When a fit stops, and whether it must have converged."""

    panel: ClassVar[str] = "Solver"

    tol: float = option(
        1e-6,
        metavar="NUMBER",
        minimum=0.0,
        help="Stop when this relative gap is proved; for a risk that falls with the loss, when "
        "no more than this fraction is gained.",
    )
    max_passes: float = option(
        1000.0, metavar="NUMBER", minimum=1.0, help="Stop a fit after so many passes over the rows."
    )
    time_limit: float | None = option(
        metavar="SECONDS", minimum=0.0, help="Stop a fit after so many seconds.", shown="none"
    )
    require_convergence: bool = option(
        False,
        help="Exit with 5 if `tol` was not proved, or the fit of a falling risk is not stationary.",
    )

    def parse(self) -> "Limits":
        """The limits of one fit."""
        from lrisk_cli.solvers.solution import Limits

        return Limits(self.tol, self.max_passes, self.time_limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Solver:
    """The method and its parameters; None leaves a parameter to the method."""

    panel: ClassVar[str] = "Solver"

    solver: SolverName = option(
        SolverName.AUTO,
        help="auto chooses and says why. "
        + "; ".join(f"{name} {words}" for name, words in SOLVERS.items())
        + ".",
    )
    step: str | float | None = option(
        metavar="NUMBER|decay|theory",
        help="Step size; decay: 1/(mu (t + delay)) with averaging (sgd); theory: by the papers' "
        "theorems (lsvrg, subgradient). Halved when a run diverges (lsvrg, sgd, srda, "
        "subgradient).",
        shown="a safe one",
        expert=True,
    )
    step_delay: float | None = option(
        metavar="NUMBER",
        minimum=0.0,
        help="Delay of steps that decay (sgd).",
        shown="0, for losses without a Lipschitz constant what makes the first step safe",
        expert=True,
    )
    step_grid: tuple[str, ...] = option(
        (),
        metavar="paper|STEP[,STEP...]",
        help="Choose the step of these whose runs end with the least mean objective over several "
        "seeds, infinite if one diverges; paper: 3e-4 to 3 (lsvrg, sgd, srda).",
        shown="none",
        expert=True,
    )
    step_seeds: int | None = option(
        metavar="N",
        minimum=1,
        help="Try each step of a grid with the seeds 1 to N (lsvrg, sgd, srda).",
        shown="5",
        expert=True,
    )
    batch_size: int | None = option(
        metavar="N", minimum=1, help="Rows in a batch (sgd, srda).", shown="64", expert=True
    )
    max_epochs: float | None = option(
        metavar="NUMBER",
        help="Stop after so many epochs, each of as many draws as there are rows; evaluations and "
        "proofs do not count (lsvrg, sgd, srda).",
        shown="none",
        expert=True,
    )
    epoch_length: int | None = option(
        metavar="N",
        minimum=1,
        help="Steps between sorts (lsvrg).",
        shown="rows/2, shorter after a stall",
        expert=True,
    )
    checkpoint_probability: float | None = option(
        metavar="P",
        minimum=0.0,
        maximum=1.0,
        help="Probability of an extra checkpoint after a step (lsvrg).",
        fraction=True,
        shown="0",
        expert=True,
    )
    sampling: Sampling | None = option(
        help="Draw rows uniformly or by their weights (lsvrg).", shown="weights", expert=True
    )
    norm_bound: float | None = option(
        metavar="NUMBER",
        help="Largest norm of the coefficients, as standardised (subgradient).",
        shown="none",
        expert=True,
    )
    bound_classes: bool = option(
        False,
        help="Let the norm bound hold for the coefficients of each class, not of all together "
        "(subgradient).",
        expert=True,
    )
    step_schedule: StepSchedule | None = option(
        help="Divide the step by 1, sqrt(t) or t at step t = 1, 2, ... (subgradient).",
        shown="constant",
        expert=True,
    )
    momentum: float | None = option(
        metavar="M",
        help="Momentum coefficient in [0, 1): 0 is plain steps (subgradient).",
        shown="0",
        expert=True,
    )
    nesterov: bool = option(False, help="Use Nesterov momentum (subgradient).", expert=True)
    start: StartName | None = option(
        help="First coefficients: zero, or random by the seed: glorot, uniform up to "
        "sqrt(6/(features + outputs)); gaussian, normal with the same variance; glorot-dual, those "
        "of the rows (of a kernel) uniform up to sqrt(6/rows) (subgradient).",
        shown="zero",
        expert=True,
    )

    def parse(self, seed: int, *, track_ranks: bool = False) -> "SolverOptions":
        """The same with the step read. track_ranks: count changes of rank for the trace."""
        from lrisk_cli.solvers.select import SolverOptions

        step, rule = parse_step(self.step)
        return SolverOptions(
            self.solver,
            step,
            decay=rule == DECAY,
            step_delay=self.step_delay,
            theory=rule == THEORY,
            step_grid=parse_grid(self.step_grid, self.step_seeds),
            batch_size=self.batch_size,
            max_epochs=self.max_epochs,
            epoch_length=self.epoch_length,
            checkpoint_probability=self.checkpoint_probability,
            sampling=self.sampling,
            seed=seed,
            track_ranks=track_ranks,
            norm_bound=self.norm_bound,
            bound_classes=self.bound_classes,
            step_schedule=self.step_schedule,
            momentum=self.momentum,
            nesterov=self.nesterov,
            start=self.start,
        )


def parse_step(text: str | float | None) -> tuple[float | None, str | None]:
    """A step size, or the rule that steps follow."""
    if text is None or text in (DECAY, THEORY):
        return None, None if text is None else str(text)
    step = _positive(text)
    if step is None:
        raise InvalidOption(
            "step", f"takes a number greater than 0, {DECAY} or {THEORY}; got {text!r}"
        )
    return step, None


def parse_grid(texts: Sequence[str], n_seeds: int | None) -> "StepGrid | None":
    """The steps to choose from; None for no grid."""
    from lrisk_cli.solvers.spec import StepGrid

    if not texts:
        if n_seeds is not None:
            add = opt("step_grid", "paper")
            raise InvalidOption("step_seeds", f"has no meaning without a grid; add {add}")
        return None
    parts = [part.strip() for text in texts for part in str(text).split(",")]
    if parts == ["paper"]:
        return StepGrid(PAPER_GRID, n_seeds or SEEDS)
    steps = [_positive(part) for part in parts]
    known = [step for step in steps if step is not None]
    if len(known) < len(parts):
        wrong = parts[steps.index(None)]
        raise InvalidOption(
            "step_grid", f"takes paper, or numbers greater than 0 with commas; got {wrong!r}"
        )
    return StepGrid(tuple(sorted(set(known))), n_seeds or SEEDS)


def _positive(text: str | float) -> float | None:
    """The number, where it is finite and greater than 0."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0.0 < number < float("inf") else None
