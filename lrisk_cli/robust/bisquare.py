"""Tukey's bisquare, the M-scale, and the scale that corrects for the leverage of the rows.

rho(t) = 1 - (1 - (t/c)^2)^3 up to |t| = c, and 1 beyond; weight(t) = (1 - (t/c)^2)^2, 0 beyond.
"""

from functools import cache

import numpy as np

from lrisk_cli.types import Array

# A breakdown point of one half for scales; 95 % efficiency at the normal for fits.
SCALE_TUNING, FIT_TUNING = 1.54764, 4.685061
BREAKDOWN = 0.5
MAD_TO_DEVIATION = 1.4826
SCALE_ROUNDS, SCALE_ACCURACY = 100, 1e-10
# Nodes of the integrals over two normal variables, and the leverages at which they are taken.
NODES, LEVERAGES = 40, 25


def rho(t: Array, tuning: float) -> Array:
    """1 - (1 - (t/c)^2)^3, at most 1. Of the shape of t."""
    inside = np.minimum(np.square(t / tuning), 1.0)
    found: Array = 1.0 - (1.0 - inside) ** 3
    return found


def weight(t: Array, tuning: float) -> Array:
    """(1 - (t/c)^2)^2, 0 beyond c: the weight of a row in the fit that minimises mean rho."""
    found: Array = np.square(1.0 - np.minimum(np.square(t / tuning), 1.0))
    return found


def m_scale(errors: Array, n_columns: int = 0) -> float:
    """s with sum rho(errors / s) / (n - p) = 1/2, for c = 1.548. errors: (n,).

    0 where half of the n - p errors or more are zero. n_columns: p, those that were fitted.
    """
    n = len(errors)
    share = BREAKDOWN * max(1.0 - n_columns / n, 0.1)
    sizes = np.abs(errors)
    if np.count_nonzero(sizes) <= share * n:
        return 0.0
    scale = float(np.median(sizes)) * MAD_TO_DEVIATION or float(sizes.mean())
    for _ in range(SCALE_ROUNDS):
        ratio = float(rho(sizes / scale, SCALE_TUNING).mean()) / share
        before, scale = scale, scale * float(np.sqrt(ratio))
        if abs(scale - before) <= SCALE_ACCURACY * scale:
            break
    return scale


def design_scale(errors: Array, leverages: Array, trust: Array, scale: float) -> float:
    """The scale of Koller & Stahel (2011) at the errors of an MM fit, from a first scale.

    sum_i tau_i^2 w(t_i) (t_i^2 - kappa) = 0 with t_i = errors_i / (tau_i s): tau, by the leverage
    of the row, makes up for what the fit takes from its error. trust: further weights of the rows,
    (n,). 0 if nothing is left.
    """
    grid, taus, kappa = _tau_table()
    tau = np.interp(leverages, grid, taus)
    sizes, squares = errors / tau, trust * np.square(tau)
    for _ in range(SCALE_ROUNDS):
        t = sizes / scale
        w = squares * weight(t, FIT_TUNING)
        total = float(w.sum())
        if total <= 0.0:
            return 0.0
        before, scale = scale, scale * float(np.sqrt(w @ np.square(t) / (kappa * total)))
        if scale == 0.0 or abs(scale - before) <= SCALE_ACCURACY * scale:
            break
    return scale


@cache
def _tau_table() -> tuple[Array, Array, float]:
    """Leverages, tau at each, and kappa = E w(e) e^2 / E w(e) for normal e.

    The error of a row in an MM fit is about e - h psi(e) / E psi' - v, with v normal of variance
    (h - h^2) E psi^2 / (E psi')^2; tau is the scale that leaves the equation of the scale unbiased.
    """
    nodes, masses = np.polynomial.hermite_e.hermegauss(NODES)
    masses = masses / masses.sum()
    w = weight(nodes, FIT_TUNING)
    psi = nodes * w
    inside = np.minimum(np.square(nodes / FIT_TUNING), 1.0)
    slope = float(masses @ ((1.0 - inside) * (1.0 - 5.0 * inside)))
    kappa = float(masses @ (w * np.square(nodes)) / (masses @ w))
    spread = float(masses @ np.square(psi)) / slope**2
    grid = np.linspace(0.0, 0.98, LEVERAGES)
    joint = np.outer(masses, masses)

    def tau(h: float) -> float:
        u = (nodes - h * psi / slope)[:, None] - np.sqrt(spread * (h - h * h)) * nodes
        low, high = 0.05, 1.5
        for _ in range(50):
            middle = 0.5 * (low + high)
            t = u / middle
            bias = float((joint * weight(t, FIT_TUNING) * (np.square(t) - kappa)).sum())
            low, high = (middle, high) if bias > 0.0 else (low, middle)
        return high

    return grid, np.array([tau(h) for h in grid.tolist()]), kappa
