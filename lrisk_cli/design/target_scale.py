"""Logarithms of a target: what is fitted in its place, and the way back to its units."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lrisk_cli.errors import opt
from lrisk_cli.names import TargetScale
from lrisk_cli.types import Array

# The logarithm of any number keeps so many of its digits: 200000 comes back without a tail.
DIGITS = 12
# The logarithm is suggested beyond this skewness, if at most this fraction of it is left then; from
# about so many rows, with so many values at least.
SKEWED, LESS_SKEWED = 1.5, 0.5
SKEW_ROWS, FEWEST_VALUES = 50_000, 20


@dataclass(frozen=True, slots=True)
class _Scale:
    """there, back: to the logarithm and from it. above: what targets must be greater than."""

    there: Callable[[Array], Array]
    back: Callable[[Array], Array]
    above: float
    words: str


_SCALES = {
    TargetScale.LOG: _Scale(np.log, np.exp, 0.0, "log({})"),
    TargetScale.LOG1P: _Scale(np.log1p, np.expm1, -1.0, "log(1 + {})"),
}


def to_scale(values: Array, scale: TargetScale) -> Array:
    """The numbers on the scale; those that it does not take are infinite or NaN."""
    if scale is TargetScale.NONE:
        return values
    with np.errstate(divide="ignore", invalid="ignore"):
        return _SCALES[scale].there(values)


def from_scale(values: Array, scale: TargetScale, factor: float = 1.0) -> Array:
    """The way back, to 12 digits. factor: multiplies the exponential, before the 1 of log1p."""
    if scale is TargetScale.NONE:
        return values
    with np.errstate(over="ignore"):
        if factor != 1.0:
            shift = 1.0 if scale is TargetScale.LOG1P else 0.0
            return _rounded(factor * np.exp(values) - shift)
        return _rounded(_SCALES[scale].back(values))


def find_outside(values: Array, scale: TargetScale) -> int | None:
    """The first number that the scale does not take; missing ones do not count."""
    if scale is TargetScale.NONE:
        return None
    outside = values <= _SCALES[scale].above
    return int(np.argmax(outside)) if outside.any() else None


def least(scale: TargetScale) -> float:
    """What targets must be greater than."""
    return _SCALES[scale].above


def describe(name: str, scale: TargetScale) -> str:
    """What is fitted: "log(price)"."""
    return name if scale is TargetScale.NONE else _SCALES[scale].words.format(name)


def smearing_factor(residuals: Array, weights: Array | None = None) -> float | None:
    """Duan's: the mean of exp(residual), by which the exponential is too small for a mean.

    None where it is too large for a number. weights: of the rows, where they have any. (n,).
    """
    with np.errstate(over="ignore"):
        factor = float(np.average(np.exp(residuals), weights=weights))
    return factor if np.isfinite(factor) else None


def _rounded(values: Array) -> Array:
    with np.errstate(all="ignore"):
        scales = 10.0 ** (DIGITS - 1 - np.floor(np.log10(np.abs(values))))
        found = np.rint(values * scales) / scales
    return np.where(np.isfinite(found) & (np.abs(scales) < 1e22), found, values)


def note_skew(name: str, targets: Array) -> tuple[str, ...]:
    """Suggest the logarithm of a positive target with a long upper tail that it has not."""
    some = targets[:: max(1, len(targets) // SKEW_ROWS)]
    if not (targets > 0.0).all() or len(np.unique(some)) < FEWEST_VALUES:
        return ()
    before, after = _skewness(some), _skewness(np.log(some))
    if before <= SKEWED or abs(after) >= LESS_SKEWED * before:
        return ()
    return (
        f"'{name}' is positive and strongly skewed (skewness {before:.1f}, {after:.1f} of its "
        f"logarithm); {opt('target_scale', TargetScale.LOG)} judges errors by their ratio",
    )


def _skewness(values: Array) -> float:
    """Mean cubed deviation over the cubed standard deviation; 0 where there is none."""
    with np.errstate(over="ignore", invalid="ignore"):
        away = values - values.mean()
        scale = float(np.sqrt(np.mean(away**2)))
        found = float(np.mean((away / scale) ** 3)) if scale > 0.0 else 0.0
    return found if np.isfinite(found) else 0.0
