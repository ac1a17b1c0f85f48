"""Facts about the densities of spectra that bounds are made of.

Letters: s(t) the density of a spectrum on (0, 1), u(t) = 1 that of the mean.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, expm1, log, log1p, tanh

from lrisk_cli.risk.spectrum import Spectrum

# Below this, the closed forms of the exponential spectrum cancel and a series is exact.
SMALL_RATE = 1e-3


@dataclass(frozen=True, slots=True)
class Density:
    """kl: integral of s log s; chi2: of (s - 1)^2; largest: sup s; distance: sup |s - 1|."""

    kl: float
    chi2: float
    largest: float
    distance: float


def density_of(risk: Spectrum) -> Density:
    """The facts about the density of a risk; those of a falling one are of its mirror image."""
    if risk.flat:
        return Density(0.0, 0.0, 1.0, 0.0)
    return _DENSITIES[risk.name](float(risk.parameter or 0.0))


def _superquantile(q: float) -> Density:
    return Density(-log1p(-q), q / (1.0 - q), 1.0 / (1.0 - q), max(1.0, q / (1.0 - q)))


def _extremile(r: float) -> Density:
    kl = log(r) + 1.0 / r - 1.0
    return Density(kl, (r - 1.0) ** 2 / (2.0 * r - 1.0), r, max(r - 1.0, 1.0))


def _esrm(rho: float) -> Density:
    """s = c exp(rho t), c = rho / (exp(rho) - 1); log s has the mean log c + rho E[t]."""
    least = rho * exp(-rho) / -expm1(-rho)
    largest = rho / -expm1(-rho)
    distance = max(largest - 1.0, 1.0 - least)
    if rho < SMALL_RATE:
        return Density(rho**2 / 24.0, rho**2 / 12.0, largest, distance)
    kl = log(largest) - rho + largest - 1.0
    chi2 = 0.5 * rho / tanh(0.5 * rho) - 1.0
    return Density(kl, chi2, largest, distance)


_DENSITIES: dict[str, Callable[[float], Density]] = {
    "superquantile": _superquantile,
    "extremile": _extremile,
    "esrm": _esrm,
    "subquantile": lambda p: _superquantile(1.0 - p),
    "lower-extremile": _extremile,
}
