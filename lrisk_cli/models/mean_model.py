"""The ordinary fit: features, loss and penalty of another fit, and the mean as the risk."""

from dataclasses import replace
from time import perf_counter

import numpy as np

from lrisk_cli.design.design import Design
from lrisk_cli.features.features import Features
from lrisk_cli.models.fitting import FitOptions, Fitted, state_problem
from lrisk_cli.models.model import Model
from lrisk_cli.solvers.direct import mean_minimiser

# What the ordinary fit may miss of its gain: its figures are shown with six digits.
MEAN_TOL = 1e-6


def fit_mean(
    design: Design, options: FitOptions, near: Fitted, features: Features, seconds: float | None
) -> Model | None:
    """The model that minimises the mean, by an exact solver; None where the seconds do not suffice.

    near: what the options led to on these features; its search may have started from the mean. The
    model is one to score with: its record is that of `near`.
    """
    until = np.inf if seconds is None else perf_counter() + seconds
    problem = state_problem(design, options, features)
    W = mean_minimiser(problem, near.solution.mean_fit, MEAN_TOL, until)
    if W is None:
        return None
    return replace(near.model, risk="mean", robust=None, coefficients=features.coefficients(W))
