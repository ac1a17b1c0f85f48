"""Input and result of every baseline, and the weighted fit that most of them repeat.

Letters: X (n, d) features with the constant among them, W (d, k) weights, l losses, mu penalty.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from lrisk_cli.errors import UsageError
from lrisk_cli.solvers.certificate import weighted_minimiser
from lrisk_cli.solvers.problem import Problem
from lrisk_cli.types import Array, Flags

# Weighted fits without a closed form stop this close to their optimum.
ACCURACY = 1e-10
EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True)
class Setting:
    """Settings of a baseline: its own parameter, the assumed fraction of bad rows, a seed."""

    parameter: float
    eps: float
    seed: int

    @property
    def seed32(self) -> int:
        """The seed in the range that scikit-learn takes."""
        return self.seed % 2**32


@dataclass(frozen=True, slots=True)
class BaselineFit:
    """A fitted baseline: predictions are X W.

    weights: those of the rows in the fit, sum 1, 0 where a row was rejected; None where all
    count alike or the method has no such weights. scores: larger for rows that look more like
    outliers, finite. note: a remark on the fit to print.
    """

    W: Array
    weights: Array | None
    scores: Array
    note: str


def losses_at(problem: Problem, W: Array) -> Array:
    """l(W). (n,)."""
    return problem.loss.values(problem.margins(W), problem.y)


def residuals_at(problem: Problem, W: Array) -> Array:
    """y - X W of a regression. (n,)."""
    return np.asarray(problem.y - problem.margins(W)[:, 0])


def even_weights(rows: Flags) -> Array:
    """1/m on the m rows accepted, 0 on the others."""
    return rows / np.count_nonzero(rows)


def refit(problem: Problem, weights: Array, start: Array | None = None) -> Array:
    """Minimise weights.l(W) + mu/2 ||W||^2 from a guess; ridge is solved directly."""
    start = np.zeros(problem.shape) if start is None else start
    # At W = 0 a logistic loss is log(classes), of order 1.
    return weighted_minimiser(problem, weights, start, ACCURACY)[0]


def metric(problem: Problem, weights: Array) -> Any:
    """Cholesky factor, for cho_solve, of X' diag(c weights) X + mu I, c the smoothness."""
    c = problem.loss.smoothness
    if np.isfinite(c):
        H = c * problem.gram(weights)
    else:
        H = problem.gram(weights * problem.loss.row_smoothness(problem.y))
    diagonal = np.diag_indices(len(H))
    H[diagonal] += problem.mu
    try:
        return linalg.cho_factor(H)
    except linalg.LinAlgError:
        # mu is lost in the rounding of the Gram matrix, so the smallest visible value is used.
        H[diagonal] += len(H) * EPS * float(np.max(H[diagonal]))
        return linalg.cho_factor(H)


def need_sklearn(name: str) -> None:
    """Refuse a baseline that needs scikit-learn where it is not installed."""
    try:
        import sklearn  # noqa: F401
    except ImportError:
        raise UsageError(
            f"{name} is scikit-learn's and scikit-learn is not installed; leave {name} out or "
            "run: pip install 'lrisk-cli[sklearn]'"
        ) from None


def percent(rows: Flags) -> str:
    """The percentage of rows that are True, for a note."""
    return f"{100.0 * np.count_nonzero(rows) / len(rows):.3g} %"
