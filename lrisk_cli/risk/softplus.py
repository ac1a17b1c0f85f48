"""Smooth the cut of the subquantile: rows near it keep a part of their weight.

h_nu(l) = min over 0 <= lam <= cap, sum(lam) = 1 of lam.l + nu Omega(lam), cap = 1/(n p), with
Omega(lam) = cap sum_i [u_i log(2 u_i) + (1 - u_i) log(2 (1 - u_i))], u = lam / cap. The minimum is
at lam_i = cap sigmoid((t - l_i) / nu), t such that they add up to 1, and since Omega lies between 0
and log(2) / p, so does (h_nu - R) / nu.
"""

from math import ceil, floor, log, log1p

import numpy as np

from lrisk_cli.native.kernels import core
from lrisk_cli.types import Array

MAX_STEPS = 200
EPS = float(np.finfo(np.float64).eps)


def softplus_weights(
    losses: Array, cap: float, nu: float, masses: Array | None = None
) -> Array | None:
    """The weights that attain h_nu; None where nu is lost in the rounding of the losses. (n,).

    masses: of the rows, where they have any; cap is then that of a unit of mass.
    """
    kept = 1.0 / cap
    low, high = _bracket(losses, kept, nu) if masses is None else _wide(losses, kept, nu, masses)
    shares, t = np.empty(len(losses)), 0.5 * (low + high)
    for _ in range(MAX_STEPS):
        _sigmoid((t - losses) / nu, shares)
        slopes = shares * (1.0 - shares)
        if masses is not None:
            shares *= masses
            slopes *= masses
        excess = float(shares.sum()) - kept
        if abs(excess) <= 4.0 * EPS * max(len(losses), kept) or not low < t < high:
            break
        low, high = (low, t) if excess > 0.0 else (t, high)
        slope = float(np.sum(slopes)) / nu
        newton = t - excess / slope if slope > 0.0 else np.inf
        t = newton if low < newton < high else 0.5 * (low + high)
    total = float(shares.sum())
    return shares / total if abs(total - kept) <= 1e-9 * kept else None


def softplus_penalty(lam: Array, cap: float, masses: Array | None = None) -> float:
    """Omega(lam), at least 0."""
    if masses is not None:
        return _penalty_of_masses(lam, cap, masses)
    u = np.minimum(lam / cap, 1.0)
    # 0 log 0 = 0.
    some, rest = u[u > 0.0], u[u < 1.0]
    parts = float(np.sum(some * np.log(2.0 * some)))
    return cap * (parts + float(np.sum((1.0 - rest) * (log(2.0) + np.log1p(-rest)))))


def _penalty_of_masses(lam: Array, cap: float, masses: Array) -> float:
    """The same, every term of a row times its mass."""
    u = np.minimum(lam / (cap * masses), 1.0)
    terms = np.zeros(len(u))
    for part in (u, 1.0 - u):
        some = part > 0.0
        terms[some] += part[some] * np.log(2.0 * part[some])
    return cap * float(masses @ terms)


def _wide(losses: Array, kept: float, nu: float, masses: Array) -> tuple[float, float]:
    """The same for masses: with t = l + nu logit(kept / M) each sigmoid of the least loss l is at
    most kept / M, and of the largest at least that."""
    shift = nu * _logit(kept / float(masses.sum()))
    return float(losses.min()) + shift, float(losses.max()) + shift


def _bracket(losses: Array, kept: float, nu: float) -> tuple[float, float]:
    """Two t between which the sigmoids add up to `kept`, which is less than n.

    At most i - 1 losses are below the i-th, so the sigmoids of t = l_(i) + nu logit(x) add up to at
    most i - 1 + (n - i + 1) x; at least m losses are up to the m-th, so to at least m x.
    """
    n = len(losses)
    i, m = max(1, floor(kept)), min(n, ceil(kept) + 1)
    ends = np.partition(losses, [i - 1, m - 1])
    low = float(ends[i - 1]) + nu * _logit((kept - i + 1) / (n - i + 1))
    return low, float(ends[m - 1]) + nu * _logit(kept / m)


def _logit(x: float) -> float:
    return log(x) - log1p(-x)


def _sigmoid(z: Array, out: Array) -> None:
    core.binary_slopes(z, np.zeros(len(z)), out)
