"""The lam-weighted problem at a point with proved error bounds, from which lower bounds follow.

Letters: as in problem.py, and s_i = l_i'(z_i) the derivatives, u half a unit in the last place of
1.

Let z_i be the margins as computed, whatever their errors. Losses are convex, so for every V'
    lam.l(V') + mu/2 ||V'||^2
        >= sum_i lam_i (l_i(z_i) + s_i (x_i.V' - z_i)) + mu/2 ||V'||^2
        >= [sum_i lam_i l_i(z_i) + mu/2 ||V||^2] + sum_i lam_i s_i (x_i.V - z_i) - ||g||^2 / (2 mu)
with g = sum_i lam_i s_i x_i + mu V. The bracket is a sum of terms that are not negative, each with
a small relative error; the sum after it is at most the error of a dot product times
    reach = sum_i lam_i |s_i| sum_j |x_ij V_j|;
and g is off by at most the roundings of its sums times A = |X|' |lam s|, so that reach = A.|V|.
A loss may compute l and s at another margin, off by at most e_i u: then z_i is that margin, and
sum_i lam_i |s_i| e_i comes on top of the reach. A loss states its own errors (`roundings`,
`margin_errors`). Errors below count the roundings that a term can meet on its way, one u
each; exp, expm1, log and log1p are taken to be good to a unit in the last place (2 u), as in the C
libraries of common systems; those of the kernels for several outputs are (tests/losses).

Near the ends of the range of doubles errors are larger. What overflows proves nothing. Where a
coefficient lam_i s_i underflows, or a softmax sets it to 0, g is off by what it lost times x_i.
"""

from dataclasses import dataclass

import numpy as np

from lrisk_cli.losses.base import Roundings, Wide
from lrisk_cli.native.kernels import core
from lrisk_cli.solvers.problem import Problem
from lrisk_cli.types import Array

UNIT = float(np.finfo(np.float64).eps) / 2.0
# Wider types exist than 80 bits, but none is needed, and not all of them round as they say.
WIDE_UNIT = max(float(np.finfo(np.longdouble).eps) / 2.0, 2.0**-64)
HAS_WIDE = WIDE_UNIT < UNIT / 100.0
# Rows that are summed before a partial sum is closed: about the root of the rows of a large table.
WIDE_CHUNK = 512
# Weighing a loss, the compensated sum over rows, and the penalty.
WEIGHING = 3
# Squares of numbers between these keep their digits, and so do sums above LEAST_SUM.
SMALLEST, LARGEST, LEAST_SUM = 1e-145, 1e150, 1e-290
# Coefficients below the first number may have lost so much: for one output, and for several.
UNDERFLOWS = ((1e-290, 2e-323), (1e-250, 3e-261))


@dataclass(frozen=True, slots=True)
class Evaluation:
    """value: lam.l(V) + mu/2 ||V||^2; norm: that of its gradient; how far each may be off."""

    value: float
    value_error: float
    norm: float
    norm_error: float

    def lower_bound(self, mu: float) -> float:
        """No V' has a lower value than this."""
        return self.value - self.value_error - self.slack(mu)

    def slack(self, mu: float) -> float:
        """The part of the bound that is lost to a gradient that is not zero."""
        length = self.norm + self.norm_error
        # The last factor is for the roundings of the norms themselves.
        if SMALLEST < length < LARGEST:
            return length**2 / (2.0 * mu) * (1.0 + 1e-11)
        root = length / float(np.sqrt(2.0 * mu))
        return root * root * (1.0 + 1e-11)


def evaluate(problem: Problem, lam: Array, V: Array, margins: Array | None = None) -> Evaluation:
    """In double precision: one pass over all rows and two over the rows with weight.

    margins: those of V, where Problem.margins gave them.
    """
    Z = problem.margins(V) if margins is None else margins
    losses, coefs = problem.loss.minorants(Z, problem.y)
    value = float(core.compensated_dot(lam, losses)) + _penalty(problem, V)
    coefs *= lam[:, None]
    lost = _lost(problem, lam, coefs)
    moved = _moved(coefs, problem.loss.margin_errors(Z, problem.y))
    gradient = problem.combine(coefs) + problem.mu * V
    dot_sum, row_sum = problem.rows.roundings(problem.loss.n_outputs)
    magnitudes = problem.rows.magnitudes(coefs)
    return _with_errors(
        problem, V, value, gradient, magnitudes, moved, lost, UNIT, (dot_sum, row_sum, 0.0)
    )


def evaluate_wide(problem: Problem, lam: Array, V: Array) -> Evaluation:
    """The same in extended precision, for about a hundred times the time."""
    n, d = problem.rows.shape
    wide_V = V.astype(np.longdouble)
    value = np.longdouble(0.5) * np.longdouble(problem.mu) * np.sum(wide_V * wide_V)
    gradient = np.longdouble(problem.mu) * wide_V
    magnitudes = np.zeros(V.shape, dtype=np.longdouble)
    moved = 0.0
    for start in range(0, n, WIDE_CHUNK):
        chunk = slice(start, start + WIDE_CHUNK)
        some = problem.rows.dense_rows(chunk).astype(np.longdouble)
        weights = lam[chunk].astype(np.longdouble)
        Z, y = some @ wide_V, problem.y[chunk]
        losses, derivatives = problem.loss.wide(Z, y)
        value += np.sum(weights * losses)
        coefs = weights[:, None] * derivatives
        moved += _moved(coefs, problem.loss.margin_errors(Z.astype(np.float64), y))
        gradient += some.T @ coefs
        magnitudes += np.abs(some).T @ np.abs(coefs)
    row_sum = WIDE_CHUNK + n / WIDE_CHUNK + V.size
    # Converting the value to a double adds one more, coarser rounding.
    loss_sum = row_sum + UNIT / WIDE_UNIT
    return _with_errors(
        problem, V, float(value), gradient.astype(np.float64), magnitudes.astype(np.float64),
        moved, 0.0, WIDE_UNIT, (d + 2.0, row_sum, loss_sum),
    )  # fmt: skip


def _with_errors(
    problem: Problem,
    V: Array,
    value: float,
    gradient: Array,
    magnitudes: Array,
    moved: float,
    lost: float,
    unit: float,
    roundings: tuple[float, float, float],
) -> Evaluation:
    """Count the roundings: of a margin, of a sum over rows, and of the sum of the losses.

    moved: what margins that are off may do to the value, in units; lost: by how much the gradient
    may be off for numbers that underflowed. A loss that states no bound on its own roundings proves
    nothing.
    """
    dot_sum, row_sum, loss_sum = roundings
    own = problem.loss.roundings or Roundings(np.inf, np.inf)
    # These sums have roundings too, of terms that are not negative.
    size = 1.001 * _norm(magnitudes)
    reach = 1.001 * float(np.sum(magnitudes * np.abs(V)))
    penalised = problem.mu * _norm(V)
    return Evaluation(
        value=value,
        value_error=unit
        * ((own.value + WEIGHING + loss_sum) * value + own.absolute + (dot_sum * reach + moved)),
        norm=_norm(gradient),
        norm_error=unit * ((row_sum + own.derivative + 4) * size + 4 * penalised) + lost,
    )


def _norm(a: Array) -> float:
    """||a||, also where squares would leave the range of numbers."""
    with np.errstate(over="ignore"):
        norm = float(np.linalg.norm(a))
    if SMALLEST < norm < LARGEST:
        return norm
    largest = np.abs(a).max(initial=0.0)
    return float(largest * np.linalg.norm(a / largest)) if 0.0 < largest < np.inf else norm


def _penalty(problem: Problem, V: Array) -> float:
    """mu/2 ||V||^2; where squares underflow nothing, which is less."""
    penalty = problem.penalty(V)
    return penalty if penalty > LEAST_SUM * problem.mu else 0.0


def _lost(problem: Problem, lam: Array, coefs: Array) -> float:
    """By how much the gradient may be off because coefficients lam_i s_i underflowed."""
    one = coefs.shape[1] == 1
    below, lost = UNDERFLOWS[0 if one else 1]
    sizes = np.abs(coefs[:, 0]) if one else np.abs(coefs).min(axis=1)
    if sizes.min() >= below:
        return 0.0
    small = (sizes < below) & (lam > 0.0)
    if not small.any():
        return 0.0
    sums = problem.rows.magnitudes(small.astype(np.float64)[:, None])
    return float(lost * coefs.shape[1] * (_norm(sums) + len(sums)))


def _moved(coefs: Array | Wide, errors: Array | None) -> float:
    """sum_i lam_i |s_i| e_i, from above. coefs: lam_i s_i (n, k); errors: (n,)."""
    return 0.0 if errors is None else 1.001 * float(np.sum(np.abs(coefs[:, 0]) * errors))
