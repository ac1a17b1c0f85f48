"""The lam-weighted problem at a point, with errors that are proved: what a lower bound is made of.

Letters: as in problem.py, and s_i = l_i'(z_i) the slopes, u half a unit in the last place of 1.

Let z_i be the margins as computed, whatever their errors. Losses are convex, so for every V'
    lam.l(V') + mu/2 ||V'||^2
        >= sum_i lam_i (l_i(z_i) + s_i (x_i.V' - z_i)) + mu/2 ||V'||^2
        >= [sum_i lam_i l_i(z_i) + mu/2 ||V||^2] + sum_i lam_i s_i (x_i.V - z_i) - ||g||^2 / (2 mu)
with g = sum_i lam_i s_i x_i + mu V. The bracket is a sum of terms that are not negative, each with
a small relative error; the sum after it is at most the error of a dot product times
    reach = sum_i lam_i |s_i| sum_j |x_ij V_j|;
and g is off by at most the roundings of its sums times A = |X|' |lam s|, so that reach = A.|V|.
Errors below count the roundings that a term can meet on its way, one u each; exp and log1p are
taken to be good to a unit in the last place (2 u), as in the C libraries of common systems; those
of the kernels for several outputs are (tests/test_losses.py).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.losses.losses import Loss
from lrisk_cli.native.kernels import core
from lrisk_cli.solvers.problem import Problem
from lrisk_cli.types import Array, Targets

Wide = NDArray[np.longdouble]

UNIT = float(np.finfo(np.float64).eps) / 2.0
# Wider types exist than 80 bits, but none is needed, and not all of them round as they say.
WIDE_UNIT = max(float(np.finfo(np.longdouble).eps) / 2.0, 2.0**-64)
HAS_WIDE = WIDE_UNIT < UNIT / 100.0
# Rows that are summed before a partial sum is closed: about the root of the rows of a large table.
WIDE_CHUNK = 512
# Relative error of a slope, in u: e^-t with t rounded is off by t u, and t < 746 or e^-t is 0; with
# several outputs it is 0 from t = 600 on, which no sum feels.
SLOPE = 760


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
        """What the gradient may have cost."""
        # The last factor is for the roundings of the norms themselves.
        return (self.norm + self.norm_error) ** 2 / (2.0 * mu) * (1.0 + 1e-11)


def evaluate(problem: Problem, lam: Array, V: Array) -> Evaluation:
    """In double precision: one pass over the rows and two over those that have a weight."""
    Z = problem.margins(V)
    losses, coefs = problem.loss.values_and_slopes(Z, problem.y)
    value = float(core.compensated_dot(lam, losses)) + problem.penalty(V)
    coefs *= lam[:, None]
    gradient = problem.combine(coefs) + problem.mu * V
    dot_sum, row_sum = problem.rows.roundings(problem.loss.n_outputs)
    magnitudes = problem.rows.magnitudes(coefs)
    return _with_errors(problem, V, value, gradient, magnitudes, UNIT, (dot_sum, row_sum, 0.0))


def evaluate_wide(problem: Problem, lam: Array, V: Array) -> Evaluation:
    """The same in extended precision, for about a hundred times the time."""
    n, d = problem.rows.shape
    wide_V = V.astype(np.longdouble)
    value = np.longdouble(0.5 * problem.mu) * np.sum(wide_V * wide_V)
    gradient = np.longdouble(problem.mu) * wide_V
    magnitudes = np.zeros(V.shape, dtype=np.longdouble)
    for start in range(0, n, WIDE_CHUNK):
        chunk = slice(start, start + WIDE_CHUNK)
        some = problem.rows.dense_rows(chunk).astype(np.longdouble)
        weights = lam[chunk].astype(np.longdouble)
        losses, slopes = _wide_losses(problem.loss, some @ wide_V, problem.y[chunk])
        value += np.sum(weights * losses)
        coefs = weights[:, None] * slopes
        gradient += some.T @ coefs
        magnitudes += np.abs(some).T @ np.abs(coefs)
    row_sum = WIDE_CHUNK + n / WIDE_CHUNK + V.size
    # Of the value as a double there is one more rounding, and that one is coarse.
    loss_sum = row_sum + UNIT / WIDE_UNIT
    return _with_errors(
        problem, V, float(value), gradient.astype(np.float64), magnitudes.astype(np.float64),
        WIDE_UNIT, (d + 2.0, row_sum, loss_sum),
    )  # fmt: skip


def _with_errors(
    problem: Problem,
    V: Array,
    value: float,
    gradient: Array,
    magnitudes: Array,
    unit: float,
    roundings: tuple[float, float, float],
) -> Evaluation:
    """Count the roundings: of a margin, of a sum over rows, and of the sum of the losses.

    A loss has 5 for one output: exp, log1p, a sum. Several outputs add their sum, and rounded
    arguments of exp, which move a loss by at most sum_c t_c e^-t_c u. Weighing it, the compensated
    sum over rows and the penalty have 3. A slope of several outputs has two sums of them.
    """
    k = problem.loss.n_outputs
    dot_sum, row_sum, loss_sum = roundings
    several = k if k > 1 else 0
    # These sums have roundings too, of terms that are not negative.
    size = 1.001 * float(np.linalg.norm(magnitudes))
    reach = 1.001 * float(np.sum(magnitudes * np.abs(V)))
    penalised = problem.mu * float(np.linalg.norm(V))
    return Evaluation(
        value=value,
        value_error=unit * ((8 + several + loss_sum) * value + several + dot_sum * reach),
        norm=float(np.linalg.norm(gradient)),
        norm_error=unit * ((row_sum + SLOPE + 2 * several + 4) * size + 4 * penalised),
    )


def _wide_losses(loss: Loss, Z: Wide, y: Targets) -> tuple[Wide, Wide]:
    """Losses (n,) and slopes (n, k) of a loss that losses.py knows."""
    if loss.name == "squared":
        residuals = Z - y[:, None]
        return 0.5 * residuals[:, 0] ** 2, residuals
    if loss.n_outputs == 1:
        # The margin of the wrong class: its loss is log(1 + e^z), its slope 1 / (1 + e^-z).
        signs = 1.0 - 2.0 * y[:, None]
        wrong = signs * Z
        small = np.exp(-np.abs(wrong))
        losses = np.log1p(small) + np.maximum(wrong, 0.0)
        return losses[:, 0], signs * np.where(wrong > 0.0, 1.0, small) / (1.0 + small)
    rows = np.arange(len(Z))
    top = np.argmax(Z, axis=1)
    powers = np.exp(Z - Z[rows, top][:, None])
    powers[rows, top] = 0.0
    rest = np.sum(powers, axis=1)
    losses = np.log1p(rest) + (Z[rows, top] - Z[rows, y])
    powers[rows, top] = 1.0
    slopes = powers / (1.0 + rest)[:, None]
    slopes[rows, y] = 0.0
    slopes[rows, y] = -np.sum(slopes, axis=1)
    return losses, slopes
