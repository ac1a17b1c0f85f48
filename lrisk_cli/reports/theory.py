"""What the theorems of the papers say about a fit, as facts and as JSON values."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from math import isfinite
from typing import TYPE_CHECKING, Any

from lrisk_cli.reports.facts import Fact

if TYPE_CHECKING:
    from lrisk_cli.solvers.theory import (
        Assumption,
        BatchBias,
        Consistency,
        Constants,
        LsvrgRate,
        SmoothingError,
        Theory,
        Trimmed,
    )

HOLDS = {True: "holds", False: "does not hold", None: "not checked"}


def theory_document(theory: "Theory") -> dict[str, Any]:
    """For programs, with null for what is not finite."""
    document: dict[str, Any] = _finite(asdict(theory))
    return document


def _finite(part: Any) -> Any:
    if isinstance(part, dict):
        return {key: _finite(value) for key, value in part.items()}
    if isinstance(part, list | tuple):
        return [_finite(value) for value in part]
    return None if isinstance(part, float) and not isfinite(part) else part


def theory_facts(theory: "Theory") -> list[Fact]:
    """One part for each theorem that applies, each with what it assumes."""
    facts = [Fact("theory", _constants(theory.constants))]
    for label, lines, assumes in _parts(theory):
        facts += [Fact(label, line, continued=k > 0) for k, line in enumerate(lines)]
        facts += [
            Fact("assumes", f"  assumes: {each.words} ({HOLDS[each.holds]})", continued=True)
            for each in assumes
        ]
    return facts


def _parts(theory: "Theory") -> "Iterator[tuple[str, list[str], Sequence[Assumption]]]":
    """Label, lines and assumptions of each part."""
    if theory.lsvrg is not None:
        yield "lsvrg", _lsvrg(theory.lsvrg, theory.constants.at_zero), theory.lsvrg.assumes
    if theory.batches is not None:
        yield "batches", _batches(theory.batches, theory.constants.at_zero), theory.batches.assumes
    yield "consistency", _consistency(theory.consistency), theory.consistency.assumes
    if theory.smoothing is not None:
        yield "smoothing", [smoothing_words(theory.smoothing)], ()
    if theory.trimmed is not None:
        yield "trimming", _trimmed(theory.trimmed), theory.trimmed.assumes


def _constants(found: "Constants") -> str:
    smooth = "no bound" if found.smoothness is None else f"{found.smoothness:.4g}"
    steep = "none for all W" if found.lipschitz is None else f"{found.lipschitz:.4g}"
    inside = ""
    if found.lipschitz is None and found.lipschitz_in_ball is not None:
        inside = f", {found.lipschitz_in_ball:.4g} where ||W|| <= {found.radius:.4g}"
    return f"smoothness of a row's loss L {smooth}; Lipschitz constant G {steep}{inside}"


def _vacuous(bound: float, at_zero: float) -> str:
    """What to say of a bound that is larger than what zero coefficients prove."""
    return f"; no use here, as F(0) is {at_zero:.4g}" if bound >= at_zero else ""


def _lsvrg(found: "LsvrgRate", at_zero: float) -> list[str]:
    lines = [
        f"condition number {found.condition_number:.4g}: step {found.step:.4g}, a sort every "
        f"{found.epoch_length:,} steps,",
        f"checkpoints with probability {found.checkpoint_probability:.3g} after each step",
        f"{found.epochs:.4g} epochs bring the expected distance to the optimum below "
        f"{0.5**found.halvings:.1e} of the first (Theorem 4)",
    ]
    if found.least_nu is not None and found.smoothing_error is not None:
        lines.append(
            f"nu at least {found.least_nu:.4g}, which may change the risk by "
            f"{found.smoothing_error:.4g}{_vacuous(found.smoothing_error, at_zero)}"
        )
    return lines


def _batches(found: "BatchBias", at_zero: float) -> list[str]:
    m = found.batch_size
    lines = [
        f"batches of {m}: at this fit the risk of a batch is expected to differ by "
        f"{found.measured:+.4g} (exact)"
    ]
    if found.bias is None or found.optimisation is None:
        return [*lines, "no bound on where sgd ends (Proposition 3), as G has none"]
    return [
        *lines,
        f"sgd with steps 1/(mu t) ends within {found.bias:.4g} (bias) + "
        f"{found.optimisation:.4g} (after one epoch) of the optimum (Proposition 3)"
        f"{_vacuous(found.bias, at_zero)}",
    ]


def _consistency(found: "Consistency") -> list[str]:
    return [
        "root mean squared error of the risk of as many losses at most "
        f"{found.error:.4g} (Proposition 1)"
    ]


def smoothing_words(found: "SmoothingError") -> str:
    """ "the smoothed risk is at most 2e-4 below the risk"."""
    if found.divergence is None:
        return f"the smoothed risk is at most {found.error:.4g} above the risk"
    return (
        f"the smoothed risk is at most {found.error:.4g} below the risk "
        f"(for any number of rows {found.bound:.4g})"
    )


def _trimmed(found: "Trimmed") -> list[str]:
    return [
        f"smoothness beta {found.smoothness:.4g}: step 1/beta {found.step:.4g}",
        f"at least {found.clean_rows_needed} right rows needed, {found.clean_rows_left} left if "
        "n (1 - P) rows are wrong",
        f"below {100.0 * found.breakdown:.3g} % of arbitrary rows, coefficients have at most the "
        f"norm {found.norm_bound:.4g}",
    ]
