"""Turn "superquantile:0.9" and a number of rows into the weights of the sorted losses.

Letters: n rows, sigma their weights in ascending order of loss, t a level in [0, 1],
S(t) the mass that the spectrum puts on the levels below t.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from math import expm1, fsum, log

import numpy as np

from lrisk_cli.errors import UsageError
from lrisk_cli.names import RISK_ALIASES, RISKS
from lrisk_cli.types import Array

_PIECE = 1 << 18


@dataclass(frozen=True, slots=True)
class Family:
    """One kind of spectrum: its parameter's name and range, its bin masses and its divergences.

    `masses(i, n, parameter)` gives S(i/n) - S((i-1)/n) for numbers i of 1..n in a form that does
    not cancel;
    `kl` and `chi2` are the divergences of the spectrum from the uniform one.
    """

    parameter: str
    range: str
    accepts: Callable[[float], bool]
    rising: bool
    masses: Callable[[Array, int, float], Array]
    kl: Callable[[float], float]
    chi2: Callable[[float], float]


@dataclass(frozen=True, slots=True)
class Spectrum:
    """A named spectral risk, spelled `name` or `name:parameter`."""

    name: str
    parameter: float | None = None

    def __str__(self) -> str:
        return self.name if self.parameter is None else f"{self.name}:{self.parameter:g}"

    @property
    def rising(self) -> bool:
        """Whether larger losses get no less weight, so that the risk of convex losses is convex."""
        return self.flat or FAMILIES[self.name].rising

    @property
    def flat(self) -> bool:
        """Whether this is the plain average, under any name."""
        return self.name == "mean" or (self.name, self.parameter) in _AVERAGES

    def weights(self, n_rows: int) -> Array:
        """Sigma: the weight of each loss in ascending order, exactly monotone, sum 1. (n_rows,)."""
        if self.flat:
            return np.full(n_rows, 1.0 / n_rows)
        family = FAMILIES[self.name]
        i = np.arange(1, n_rows + 1, dtype=np.float64)
        masses = np.maximum(family.masses(i, n_rows, float(self.parameter or 0.0)), 0.0)
        rising = masses if family.rising else masses[::-1]
        rising = np.maximum.accumulate(rising)
        rising /= rising.sum()
        return np.ascontiguousarray(rising if family.rising else rising[::-1])

    def pieces(self, n_rows: int) -> Iterator[tuple[int, Array]]:
        """Sigma a piece at a time, each with the place where it begins; never held as a whole.

        Of a falling spectrum the last piece comes first, so that all are monotone together.
        """
        if self.flat:
            for start in range(0, n_rows, _PIECE):
                yield start, np.full(min(_PIECE, n_rows - start), 1.0 / n_rows)
            return
        total = fsum(float(masses.sum()) for _, masses in self._masses(n_rows))
        for start, masses in self._masses(n_rows):
            masses /= total
            yield start, np.ascontiguousarray(masses if self.rising else masses[::-1])

    def _masses(self, n_rows: int) -> Iterator[tuple[int, Array]]:
        """The masses of the bins in pieces, rising from piece to piece and within them."""
        family, parameter = FAMILIES[self.name], float(self.parameter or 0.0)
        starts, most = range(0, n_rows, _PIECE), 0.0
        for start in starts if family.rising else reversed(starts):
            i = np.arange(start + 1, min(start + _PIECE, n_rows) + 1, dtype=np.float64)
            masses = family.masses(i, n_rows, parameter)
            masses = np.maximum(masses if family.rising else masses[::-1], most)
            masses = np.maximum.accumulate(masses)
            most = float(masses[-1])
            yield start, masses

    def cap(self, n_rows: int) -> float | None:
        """The most weight a row can get, for the superquantile: 1/(n (1-q)); None for the others.

        The weights that the superquantile allows are then 0 <= lam <= cap, sum(lam) = 1.
        """
        if self.name != "superquantile" or self.flat:
            return None
        return float(min(1.0, 1.0 / (n_rows * (1.0 - float(self.parameter or 0.0)))))

    @property
    def kl(self) -> float:
        """Kullback-Leibler divergence of the spectrum from the uniform one."""
        return 0.0 if self.flat else FAMILIES[self.name].kl(float(self.parameter or 0.0))

    @property
    def chi2(self) -> float:
        """Chi-square divergence of the spectrum from the uniform one."""
        return 0.0 if self.flat else FAMILIES[self.name].chi2(float(self.parameter or 0.0))


def parse_risk(text: str) -> Spectrum:
    """Read `name` or `name:parameter`; a wrong one is answered with a sentence."""
    name, _, argument = text.strip().partition(":")
    name = RISK_ALIASES.get(name.lower(), name.lower())
    if name not in RISKS:
        near = get_close_matches(name, [*RISKS, *RISK_ALIASES], n=1)
        hint = f"did you mean {near[0]}?" if near else f"known risks: {', '.join(RISKS)}"
        raise UsageError(f"unknown risk {text!r}; {hint}")
    if name == "mean":
        if argument:
            raise UsageError(f"the mean takes no parameter; got {text!r}, write mean")
        return Spectrum("mean")
    family = FAMILIES[name]
    if not argument:
        raise UsageError(f"{name} needs its {family.parameter}, for example {_example(name)}")
    try:
        parameter = float(argument)
    except ValueError:
        raise UsageError(f"{name} {family.parameter} must be a number; got {argument!r}") from None
    if not family.accepts(parameter):
        raise UsageError(f"{name} {family.parameter} must be {family.range}; got {argument}")
    return Spectrum(name, parameter)


def _example(name: str) -> str:
    level = {"superquantile": 0.9, "subquantile": 0.9, "esrm": 1.0}.get(name, 2.0)
    return f"{name}:{level:g}"


def _superquantile(i: Array, n: int, q: float) -> Array:
    """Mass of (i-1, i] above nq, over n(1-q). nq within rounding of a whole number is that."""
    below = n * q
    whole = round(below)
    if abs(below - whole) <= 4e-16 * n:
        below = float(whole)
    return np.clip(i - below, 0.0, 1.0) / (n - below)


def _extremile(i: Array, n: int, r: float) -> Array:
    """t^r - s^r = -t^r expm1(r log(s/t)), with log(s/t) = log1p(-1/i): nothing cancels."""
    with np.errstate(divide="ignore"):
        return -((i / n) ** r) * np.expm1(r * np.log1p(-1.0 / i))


def _esrm(i: Array, n: int, rho: float) -> Array:
    """S' is exponential, so every mass is exp(rho (i/n - 1)) times the same factor."""
    return np.exp(rho * (i / n - 1.0)) * (expm1(-rho / n) / expm1(-rho))


def _subquantile(i: Array, n: int, p: float) -> Array:
    """The superquantile of level 1-p, seen from below: mass of (i-1, i] below np, over np."""
    kept = n * p
    whole = round(kept)
    if abs(kept - whole) <= 4e-16 * n:
        kept = float(whole)
    return np.clip(kept - (i - 1.0), 0.0, 1.0) / kept


def _kl_extremile(r: float) -> float:
    return log(r) + 1.0 / r - 1.0


def _chi2_extremile(r: float) -> float:
    return (r - 1.0) ** 2 / (2.0 * r - 1.0)


def _kl_esrm(rho: float) -> float:
    """log(rho / (1 - e^-rho)) - 1 + rho e^-rho / (1 - e^-rho) + ... in stable terms.

    E[log s] with s = rho e^(rho(t-1)) / (1-e^-rho), and E[t] = 1/(1-e^-rho) - 1/rho.
    """
    if rho < 1e-4:
        return rho**2 / 24.0
    tail = -expm1(-rho)
    return log(rho / tail) - rho + rho / tail - 1.0


def _chi2_esrm(rho: float) -> float:
    """Integral of s^2 minus 1: (rho/2) coth(rho/2) - 1."""
    if rho < 1e-3:
        return rho**2 / 12.0
    return 0.5 * rho * (1.0 + 2.0 / expm1(rho) if rho < 700.0 else 1.0) - 1.0


def _level(x: float) -> bool:
    return 0.0 <= x < 1.0


def _power(x: float) -> bool:
    return 1.0 <= x < float("inf")


FAMILIES: dict[str, Family] = {
    "superquantile": Family(
        "level", "in [0, 1)", _level, True, _superquantile,
        kl=lambda q: -log(1.0 - q), chi2=lambda q: q / (1.0 - q),
    ),
    "extremile": Family(
        "power", "at least 1", _power, True, _extremile, _kl_extremile, _chi2_extremile
    ),
    "esrm": Family(
        "rate", "greater than 0", lambda x: 0.0 < x < float("inf"), True, _esrm,
        _kl_esrm, _chi2_esrm,
    ),
    "subquantile": Family(
        "fraction", "in (0, 1]", lambda x: 0.0 < x <= 1.0, False, _subquantile,
        kl=lambda p: -log(p), chi2=lambda p: 1.0 / p - 1.0,
    ),
    "lower-extremile": Family(
        "power", "at least 1", _power, False, lambda i, n, r: _extremile(n + 1.0 - i, n, r),
        _kl_extremile, _chi2_extremile,
    ),
}  # fmt: skip

_AVERAGES = {
    ("superquantile", 0.0),
    ("extremile", 1.0),
    ("subquantile", 1.0),
    ("lower-extremile", 1.0),
}
