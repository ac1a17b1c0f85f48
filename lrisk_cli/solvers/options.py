"""Options: the method that minimises the risk, and when it stops."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from lrisk_cli.errors import InvalidOption
from lrisk_cli.names import Sampling, SolverName, StartName
from lrisk_cli.options import option
from lrisk_cli.solvers.registry import SOLVERS

if TYPE_CHECKING:
    from lrisk_cli.solvers.select import SolverOptions
    from lrisk_cli.solvers.solution import Limits


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
        metavar="NUMBER|decay",
        help="Step size; decay: 1/(mu t) with averaging (sgd). Halved when a run diverges (lsvrg, "
        "sgd, srda, subgradient).",
        shown="a safe one",
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
    momentum: float | None = option(
        metavar="M",
        help="Momentum coefficient in [0, 1): 0 is plain steps (subgradient).",
        shown="0",
        expert=True,
    )
    nesterov: bool = option(False, help="Use Nesterov momentum (subgradient).", expert=True)
    start: StartName | None = option(
        help="First coefficients: zero, or glorot: random by the seed, uniform up to "
        "sqrt(6/(features + outputs)) (subgradient).",
        shown="zero",
        expert=True,
    )

    def parse(self, seed: int, *, track_ranks: bool = False) -> "SolverOptions":
        """The same with the step read. track_ranks: count changes of rank for the trace."""
        from lrisk_cli.solvers.select import SolverOptions

        step, decay = parse_step(self.step)
        return SolverOptions(
            self.solver,
            step,
            decay,
            self.batch_size,
            self.max_epochs,
            self.epoch_length,
            self.checkpoint_probability,
            self.sampling,
            seed,
            track_ranks=track_ranks,
            norm_bound=self.norm_bound,
            momentum=self.momentum,
            nesterov=self.nesterov,
            start=self.start,
        )


def parse_step(text: str | float | None) -> tuple[float | None, bool]:
    """A step size, or whether steps decay by rule."""
    if text is None or text == "decay":
        return None, text == "decay"
    try:
        step = float(text)
    except ValueError:
        step = 0.0
    if not 0.0 < step < float("inf"):
        raise InvalidOption("step", f"takes a number greater than 0, or decay; got {text!r}")
    return step, False
