"""A design that may hold outliers -> a model of its majority, and where the majority ends."""

from dataclasses import dataclass, replace

import numpy as np

from lrisk_cli.design.design import Design
from lrisk_cli.errors import opt
from lrisk_cli.models.fitting import FitOptions, Fitted, fit_design, judge_rows, score_design
from lrisk_cli.progress import Report
from lrisk_cli.risk.spectrum import Spectrum
from lrisk_cli.robust.scale_mixture import Threshold, find_border
from lrisk_cli.types import Array

# Labels are seldom wrong in more than this share of the rows.
MOST_SWAPPED = 0.2


@dataclass(frozen=True, slots=True, eq=False)
class RobustFit:
    """A model of the majority, the losses of all rows under it, and where the majority ends.

    losses: (n,), in the order of the design.
    """

    fitted: Fitted
    losses: Array
    border: Threshold
    notes: tuple[str, ...] = ()


def fit_robust(
    design: Design, options: FitOptions, contamination: float | None, report: Report
) -> RobustFit:
    """Fit the majority of the rows: the subquantile that leaves out the share of the others.

    contamination: that share, None to estimate it. As many rows lie beyond the border as are
    rather not of the majority, or as the share says.
    """
    majority = judge_rows(design, options)
    share = majority.fraction if contamination is None else contamination
    risk = Spectrum("subquantile", 1.0 - min(share, 0.5)) if share > 0.0 else Spectrum("mean")
    fitted = fit_design(design, replace(options, risk=risk), report, majority=majority)
    model = fitted.model
    losses = score_design(model, design).losses
    n_classes = max(2, len(model.target.classes))
    border = find_border(losses, model.row_loss, contamination, n_classes)
    if contamination is None:
        odd = float(np.mean(majority.weights < 0.5))
        if odd > 0.0:
            border = find_border(losses, model.row_loss, odd, n_classes)
        border = replace(border, fraction=share)
    notes = _doubts(share) if contamination is None and model.target.classes else ()
    return RobustFit(fitted, losses, border, notes)


def _doubts(share: float) -> tuple[str, ...]:
    """What to think of so many labels that look wrong."""
    if share <= MOST_SWAPPED:
        return ()
    return (
        f"{100.0 * share:.2g} % of the labels disagree with the columns: these may not tell the "
        f"classes apart, rather than the labels be wrong; pass {opt('contamination', 'SHARE')} to "
        "flag fewer",
    )
