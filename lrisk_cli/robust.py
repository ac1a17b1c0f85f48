"""A design that may hold outliers -> a model of its majority, and where the majority ends."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.contamination import Border, find_border, scores
from lrisk_cli.design import Design
from lrisk_cli.fitting import FitOptions, Fitted, fit_design, score_design
from lrisk_cli.progress import Report

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class RobustFit:
    """A model, how surely each row belongs to the majority (n,) in 0..1, and the border."""

    fitted: Fitted
    inlier: Array
    border: Border


def fit_robust(
    design: Design, options: FitOptions, contamination: float | None, report: Report
) -> RobustFit:
    """Fit the majority of the rows."""
    fitted = fit_design(design, options, report)
    losses = score_design(fitted.model, design).losses
    border = find_border(losses, fitted.model.loss, contamination)
    inlier = (scores(losses, fitted.model.loss, border) <= border.threshold).astype(np.float64)
    return RobustFit(fitted, inlier, border)
