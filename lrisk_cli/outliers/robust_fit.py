"""A design that may hold outliers -> a model of its inliers, and the threshold for outliers."""

from dataclasses import dataclass, replace

import numpy as np

from lrisk_cli.design.design import Design
from lrisk_cli.errors import opt
from lrisk_cli.models.fitting import FitOptions, Fitted, fit_design, inlier_weights_of, score_design
from lrisk_cli.progress import Report
from lrisk_cli.risk.spectrum import Spectrum
from lrisk_cli.robust.scale_mixture import Threshold, find_threshold
from lrisk_cli.types import Array

# Labels are seldom wrong in more than this fraction of the rows.
MOST_SWAPPED = 0.2


@dataclass(frozen=True, slots=True, eq=False)
class RobustFit:
    """A model of the inliers, the losses of all rows under it, and the threshold for outliers.

    losses: (n,), in the order of the design.
    """

    fitted: Fitted
    losses: Array
    threshold: Threshold
    notes: tuple[str, ...] = ()


def fit_robust(
    design: Design, options: FitOptions, contamination: float | None, report: Report
) -> RobustFit:
    """Fit the inliers: the subquantile that leaves out the fraction of outliers.

    contamination: that fraction, None to estimate it. As many rows lie beyond the threshold as are
    more likely outliers than not, or as the given fraction requires.
    """
    inliers = inlier_weights_of(design, options)
    fraction = inliers.fraction if contamination is None else contamination
    risk = Spectrum("subquantile", 1.0 - min(fraction, 0.5)) if fraction > 0.0 else Spectrum("mean")
    how = replace(options, risk=risk, inlier_fit=True)
    fitted = fit_design(design, how, report, inliers=inliers)
    model = fitted.model
    losses = score_design(model, design).losses
    n_classes = max(2, len(model.target.classes))
    threshold = find_threshold(losses, model.row_loss, contamination, n_classes)
    if contamination is None:
        odd = float(np.mean(inliers.weights < 0.5))
        if odd > 0.0:
            threshold = find_threshold(losses, model.row_loss, odd, n_classes)
        threshold = replace(threshold, fraction=fraction)
    notes = _doubts(fraction) if contamination is None and model.target.classes else ()
    return RobustFit(fitted, losses, threshold, notes)


def _doubts(fraction: float) -> tuple[str, ...]:
    """What to think of so many labels that look wrong."""
    if fraction <= MOST_SWAPPED:
        return ()
    return (
        f"{100.0 * fraction:.2g} % of the labels disagree with the columns: these may not tell the "
        f"classes apart, rather than the labels be wrong; pass {opt('contamination', 'SHARE')} to "
        "flag fewer",
    )
