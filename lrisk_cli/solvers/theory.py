"""The theorems of the papers on a problem: their constants, what they promise, and on what terms.

S: Mehta et al., Stochastic Optimization for Spectral Risk Measures. K: Rathnashyam and Gittens,
Subquantile Minimization for Kernel Learning. Letters: n rows, d columns, mu the penalty, sigma_n
the largest weight, L the largest smoothness of the loss of a row in W, G the largest length of its
gradient, s the density of the spectrum, u that of the mean.
"""

from dataclasses import dataclass
from math import ceil, isfinite, log, log2, sqrt

import numpy as np

from lrisk_cli.errors import InvalidOption
from lrisk_cli.names import SmoothingName
from lrisk_cli.risk.density import Density, density_of
from lrisk_cli.solvers.batch_bias import expected_batch_risk
from lrisk_cli.solvers.batches import BATCH_SIZE
from lrisk_cli.solvers.problem import Problem
from lrisk_cli.types import Array

# The moments that the consistency bound is tried with; it holds for each of them.
MOMENTS = (2.1, 2.25, 2.5, 3.0, 4.0, 6.0, 10.0, 20.0)


@dataclass(frozen=True, slots=True)
class Assumption:
    """What a statement assumes. holds: None where rows cannot tell."""

    words: str
    holds: bool | None


@dataclass(frozen=True, slots=True)
class Constants:
    """L and G of the rows. lipschitz: G for all W, None where it has no bound.

    lipschitz_in_ball: G where ||W|| <= radius = sqrt(2 F(0) / mu), a ball with the minimiser in it.
    at_zero: F(0); bounds above it say nothing.
    """

    smoothness: float | None
    lipschitz: float | None
    radius: float
    lipschitz_in_ball: float | None
    at_zero: float


@dataclass(frozen=True, slots=True)
class LsvrgRate:
    """S, Theorem 4: smoothed by l2, every N steps halve the expected distance to the optimum.

    smoothing_error: the least smoothing that it allows may change the risk by so much.
    """

    condition_number: float
    epoch_length: int
    step: float
    checkpoint_probability: float
    least_nu: float | None
    smoothing_error: float | None
    halvings: int
    epochs: float
    assumes: tuple[Assumption, ...]


@dataclass(frozen=True, slots=True)
class BatchBias:
    """S, Proposition 3: how far SGD with steps 1/(mu t) may end from the optimum.

    bias, optimisation: its two terms after `steps` steps, None without a Lipschitz constant.
    measured: the risk of a batch expected at the fit, less the risk there; exact.
    """

    batch_size: int
    spectrum_distance: float
    largest_loss: float | None
    bias: float | None
    steps: int
    optimisation: float | None
    measured: float
    assumes: tuple[Assumption, ...]


@dataclass(frozen=True, slots=True)
class Consistency:
    """S, Proposition 1: root mean squared error of the risk of n losses, at the best moment p."""

    largest_density: float
    moment: float
    error: float
    assumes: tuple[Assumption, ...]


@dataclass(frozen=True, slots=True)
class SmoothingError:
    """S, Corollary 18: the smoothed risk is at most `error` below the risk, at most `bound`.

    divergence: of the spectrum from that of the mean. Of softplus it is above, by K's smoothing.
    """

    error: float
    bound: float
    divergence: float | None


@dataclass(frozen=True, slots=True)
class Trimmed:
    """K: gradient descent on a subquantile, and how many wrong rows it can stand.

    clean_rows_needed: by Lemma 30, with sub-Gaussian rows of K = 1; clean_rows_left: n (1 - 2 eps)
    for eps = 1 - p. breakdown: fraction of arbitrary rows from which on nothing bounds W;
    norm_bound: the bound below it.
    """

    smoothness: float
    step: float
    kept_rows: int
    clean_rows_needed: int
    clean_rows_left: int
    breakdown: float
    norm_bound: float
    assumes: tuple[Assumption, ...]


@dataclass(frozen=True, slots=True)
class Theory:
    """All that applies to a fit; None for what does not."""

    constants: Constants
    lsvrg: LsvrgRate | None
    batches: BatchBias | None
    consistency: Consistency
    smoothing: SmoothingError | None
    trimmed: Trimmed | None


def theory_of(problem: Problem, W: Array, batch_size: int | None, tol: float) -> Theory:
    """What the theorems say about the problem and the fit W. tol: the gap asked for."""
    losses = np.sort(problem.loss.values(problem.margins(W), problem.y))
    constants, density = constants_of(problem), density_of(problem.spectrum)
    rising = not problem.falling
    return Theory(
        constants,
        lsvrg_rate(problem, constants, density, tol) if rising else None,
        _batch_bias(problem, constants, density, losses, batch_size or BATCH_SIZE),
        _consistency(density, losses),
        smoothing_error(problem),
        _trimmed(problem) if _trims(problem) else None,
    )


def constants_of(problem: Problem) -> Constants:
    """L and G from the lengths of the rows and the loss."""
    lengths = np.sqrt(problem.rows.row_norms())
    curved = problem.loss.row_smoothness(problem.y) if is_smooth(problem) else None
    smoothness = None if curved is None else float((curved * lengths**2).max())
    zero = np.zeros((problem.n_rows, problem.loss.n_outputs))
    at_zero = objective_at_zero(problem)
    radius = sqrt(2.0 * at_zero / problem.mu)
    steepest = problem.loss.lipschitz
    lipschitz = steepest * float(lengths.max()) if isfinite(steepest) else None
    inside = lipschitz
    if inside is None and curved is not None:
        slopes = np.linalg.norm(problem.loss.derivatives(zero, problem.y), axis=1)
        inside = float((lengths * (slopes + curved * lengths * radius)).max())
    return Constants(smoothness, lipschitz, radius, inside, at_zero)


def objective_at_zero(problem: Problem) -> float:
    """F(0), which no useful bound exceeds."""
    return problem.at(np.zeros(problem.shape), problem.row_weighter()).objective


def is_smooth(problem: Problem) -> bool:
    """Whether second derivatives of the loss have a bound."""
    return isfinite(problem.loss.smoothness)


def no_theory(problem: Problem) -> InvalidOption:
    """The sentence where steps by theory are asked for, and there is none for the loss."""
    why = f"needs a loss with a bounded second derivative; {problem.loss.name} has none"
    return InvalidOption("step", why, "theory")


def lsvrg_rate(
    problem: Problem, constants: Constants, density: Density, tol: float
) -> LsvrgRate | None:
    """kappa = n sigma_n L/mu + 1, N = 4 (n + 8 kappa), eta = 2/((n + 8 kappa) mu), q* = 1/n.

    None where the losses are not smooth.
    """
    n, mu, L = problem.n_rows, problem.mu, constants.smoothness
    if L is None:
        return None
    heaviest = float(problem.times_masses(np.ones(n)).max())
    kappa = n * problem.steepest * heaviest * L / mu + 1.0
    span = n + 8.0 * kappa
    G = constants.lipschitz_in_ball
    nu = None if G is None or problem.flat else 4.0 * n * G**2 / mu
    halvings = max(1, ceil(log2(1.0 / max(tol, 1e-16))))
    smoothing = problem.smoothing
    has_nu = smoothing is not None and smoothing.name is SmoothingName.L2
    enough = problem.flat or (
        has_nu and nu is not None and smoothing is not None and smoothing.nu >= nu
    )
    assumes = (
        Assumption("each loss is convex and smooth in W", holds=True),
        _lipschitz(constants),
        Assumption("the risk is smoothed by l2 with nu of at least 4 n G^2/mu", enough),
    )
    return LsvrgRate(
        kappa, ceil(4.0 * span), 2.0 / (span * mu), 1.0 / n, nu,
        None if nu is None else nu * density.chi2 / (2.0 * n),
        halvings, halvings * ceil(4.0 * span) / n, assumes,
    )  # fmt: skip


def _lipschitz(constants: Constants) -> Assumption:
    if constants.lipschitz is not None:
        return Assumption("each loss is G-Lipschitz in W", holds=True)
    return Assumption("each loss is G-Lipschitz in W; here only where ||W|| <= radius", holds=False)


def _batch_bias(
    problem: Problem, constants: Constants, density: Density, losses: Array, batch_size: int
) -> BatchBias | None:
    """2 sqrt(2) C_s B_mu sqrt((n - m)/(m (n - 1))) + 2 G^2 (1 + log T)/(mu T), T one epoch.

    B_mu, the largest loss where ||W|| <= G/mu, is at most the largest at zero plus G^2/mu.
    """
    n, mu = problem.n_rows, problem.mu
    m, G = min(batch_size, n), constants.lipschitz
    steps = -(-n // m)
    zero = np.zeros((n, problem.loss.n_outputs))
    largest = bias = optimisation = None
    if G is not None:
        largest = float(problem.loss.values(zero, problem.y).max()) + G**2 / mu
        spread = sqrt((n - m) / (m * max(n - 1, 1)))
        bias = 2.0 * sqrt(2.0) * density.distance * largest * spread
        optimisation = 2.0 * G**2 * (1.0 + log(steps)) / (mu * steps)
    measured = 0.0
    if not problem.flat:
        expected = expected_batch_risk(losses, problem.spectrum.weights(m))
        measured = expected - float(problem.sigma @ losses)
    assumes = (
        _lipschitz(constants),
        Assumption("the risk rises with the loss, and losses are convex", not problem.falling),
    )
    return BatchBias(
        m, density.distance, largest, bias, steps, optimisation, measured, assumes
    )  # fmt: skip


def _consistency(density: Density, losses: Array) -> Consistency:
    """sqrt(2/n) sup s p/(p - 2) E[Z^p]^(1/p) at the best p, the moment being that of the rows."""
    n, top = len(losses), float(losses[-1])
    bounds = {}
    for p in MOMENTS:
        moment = 0.0 if top <= 0.0 else top * float(np.mean((losses / top) ** p)) ** (1.0 / p)
        bounds[p] = sqrt(2.0 / n) * density.largest * p / (p - 2.0) * moment
    best = min(bounds, key=bounds.__getitem__)
    assumes = (
        Assumption("rows are independent draws from one distribution", None),
        Assumption(f"losses have a moment of order {best:g}, estimated from the rows", None),
        Assumption("W does not depend on the rows (it does, on the rows it was fitted to)", False),
    )
    return Consistency(density.largest, best, bounds[best], assumes)


def smoothing_error(problem: Problem) -> SmoothingError | None:
    """nu Omega(sigma), and its bounds nu KL(s||u) and nu chi2(s||u)/(2n); None if not smoothed."""
    smoothing, density = problem.smoothing, density_of(problem.spectrum)
    if smoothing is None:
        return None
    if smoothing.name is SmoothingName.SOFTPLUS:
        bound = smoothing.nu * log(2.0) / float(problem.spectrum.parameter or 1.0)
        return SmoothingError(bound, bound, None)
    fact = density.chi2 / (2.0 * problem.total)
    if smoothing.name is SmoothingName.ENTROPY:
        fact = density.kl
    bound = smoothing.nu * fact
    # The weights of rows with masses depend on their order, and every order meets the bound.
    error = bound if problem.masses is not None else smoothing.penalty(problem.sigma)
    chi2 = density.kl if smoothing.name is SmoothingName.ENTROPY else density.chi2
    return SmoothingError(error, bound, chi2)


def trimmed_smoothness(problem: Problem) -> float:
    """K, Lemma 14 with half squares: beta = sum_i L_i ||x_i||^2 / (n p) over all rows, plus mu."""
    curved = problem.loss.row_smoothness(problem.y) * problem.rows.row_norms()
    return problem.steepest * float(problem.times_masses(curved).sum()) + problem.mu


def _trims(problem: Problem) -> bool:
    """Whether K is about the problem: a subquantile of smooth losses."""
    return problem.falling and problem.spectrum.name == "subquantile" and is_smooth(problem)


def _trimmed(problem: Problem) -> Trimmed:
    """The coefficients are bounded while the kept rows can be right: mu/2 ||W||^2 <= F(0)."""
    n, d = problem.rows.shape
    p = float(problem.spectrum.parameter or 1.0)
    kept = int(np.count_nonzero(problem.sigma))
    needed, left = _clean_rows_needed(d), max(0, round(n * (2.0 * p - 1.0)))
    beta = trimmed_smoothness(problem)
    at_zero = objective_at_zero(problem)
    assumes = (
        Assumption("rows are sub-Gaussian with K = 1, errors of the right rows too", None),
        Assumption("n (1 - 2 eps) right rows are enough, eps = 1 - P", left >= needed),
        Assumption("at most n (1 - P) rows are wrong", None),
    )
    return Trimmed(
        beta, 1.0 / beta, kept, needed, left, (n - kept + 1) / n,
        sqrt(2.0 * at_zero / problem.mu), assumes,
    )  # fmt: skip


def _clean_rows_needed(d: int) -> int:
    """The first n at which the bound of K's Lemma 30 on the least singular value is positive.

    n > sqrt(2 (d K - 1) n log(2 d)) + d K log(2 d) / 3, here with K = 1.
    """
    a, b = sqrt(2.0 * max(d - 1, 0) * log(2 * d)), d * log(2 * d) / 3.0
    return int((0.5 * (a + sqrt(a * a + 4.0 * b))) ** 2) + 1
