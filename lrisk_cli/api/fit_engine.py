"""What a streamed fit supports: everything else is refused with a sentence that says what works."""

from collections.abc import Sequence

from lrisk_cli.design.choosing import DesignOptions
from lrisk_cli.errors import InvalidOption, opt
from lrisk_cli.models.fitting import FitOptions
from lrisk_cli.names import (
    Dates,
    EngineName,
    KernelName,
    Scaling,
    SmoothingName,
    SolverName,
    TargetScale,
)
from lrisk_cli.risk.spectrum import Spectrum

# Encoded columns times outputs that a matrix is made of.
MOST_UNKNOWNS = 2000


def unsupported(
    fits: Sequence[FitOptions], columns: DesignOptions, asked: Sequence[tuple[str, bool]]
) -> InvalidOption | None:
    """The first option that a streamed fit does not take. asked: others, and whether they are."""
    for fit in fits:
        found = _of_fit(fit)
        if found is not None:
            return found
    values = [
        (columns.dates is Dates.PARTS, "dates", Dates.PARTS),
        (columns.scaling is Scaling.MAD, "scaling", Scaling.MAD),
    ]
    for holds, name, value in values:
        if holds:
            return _refuse(name, "needs all rows in memory", value)
    others = [
        ("target_scale", columns.on_scale is not TargetScale.NONE),
        ("exposure", columns.exposure is not None),
        ("weight", columns.weighting.column is not None),
        ("class_weight", columns.weighting.classes is not None),
        ("by", bool(columns.by)),
        *asked,
    ]
    for name, holds in others:
        if holds:
            return _refuse(name, "needs all rows in memory")
    return None


def _of_fit(fit: FitOptions) -> InvalidOption | None:
    risk = fit.risk
    if fit.robust:
        return _refuse("robust", "needs all rows in memory")
    if not isinstance(risk, Spectrum) or not risk.rising:
        rising = "risks of rows that rise with the loss (mean, superquantile, extremile, esrm)"
        return _refuse("risk", f"cannot be streamed, only {rising} can", risk)
    if fit.smoothing is not SmoothingName.NONE:
        return _refuse("smoothing", "needs all rows in memory", fit.smoothing)
    if fit.solver.solver is not SolverName.AUTO:
        return _refuse("solver", "needs all rows in memory; leave it to auto", fit.solver.solver)
    if fit.features.kernel is not KernelName.LINEAR or fit.features.embeds:
        return _refuse("kernel", "needs all rows in memory, linear features do not")
    if not fit.loss.is_auto and fit.loss.make(2).concordance == float("inf"):
        return _refuse("loss", "cannot be streamed, squared and logistic can", fit.loss)
    return None


def _refuse(name: str, why: str, value: object = None) -> InvalidOption:
    memory = opt("engine", EngineName.MEMORY)
    return InvalidOption(name, f"{why}; leave it out, or pass {memory}", value)
