"""Skewed errors -> errors on a scale where their core is symmetric.

Tukey's g: an error is m + a (exp(g u) - 1) / g with u standard normal, so that lognormal errors
become normal, and those of exponential and similar tails nearly so. g is estimated from the
middle of the errors, which wrong rows change little.
"""

import numpy as np

from lrisk_cli.types import Array

# Pairs of quantiles that g is estimated from, with the normal quantile of the upper one. The
# smallest of the estimates counts.
PAIRS = ((0.25, 0.67449), (0.15, 1.03643))
# Below so many standard errors, and below LEAST, errors count as symmetric. MOST: largest g.
SIGNIFICANT, STANDARD_ERROR, LEAST, MOST = 2.5, 2.3, 0.1, 1.5
# The transformation goes on linearly below this value of exp(g u).
LINEAR_BELOW = 0.05


def find_skewness(errors: Array) -> float:
    """g; 0 where the middle of the errors is symmetric, up to chance. errors: (n,)."""
    estimates = []
    middle = float(np.median(errors))
    for share, normal in PAIRS:
        low, high = np.quantile(errors, [share, 1.0 - share])
        if low >= middle or high <= middle:
            return 0.0
        estimates.append(float(np.log((high - middle) / (middle - low))) / normal)
    g = min(estimates, key=abs)
    needed = max(LEAST, SIGNIFICANT * STANDARD_ERROR / float(np.sqrt(len(errors))))
    if abs(g) < needed or min(estimates) * max(estimates) <= 0.0:
        return 0.0
    return float(np.clip(g, -MOST, MOST))


def straighten(errors: Array, core: Array, g: float) -> Array:
    """u of every error. core: the errors that the centre and the unit are taken from. (n,)."""
    if g < 0.0:
        return -straighten(-errors, -core, -g)
    share, normal = PAIRS[0]
    low, middle, high = np.quantile(core, [share, 0.5, 1.0 - share])
    unit = float(high - low) * g / (np.exp(g * normal) - np.exp(-g * normal))
    inner = 1.0 + g * (errors - float(middle)) / unit
    bent = np.log(np.maximum(inner, LINEAR_BELOW))
    found: Array = (bent + np.minimum(inner - LINEAR_BELOW, 0.0) / LINEAR_BELOW) / g
    return found
