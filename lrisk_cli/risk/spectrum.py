"""Turn "superquantile:0.9" and a number of rows into the weights of the sorted losses.

Letters: n rows, sigma their weights in ascending order of loss, t a level in [0, 1],
S(t) the mass that the spectrum puts on the levels below t.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, expm1, floor, fsum

import numpy as np

from lrisk_cli.names import RISK_ALIASES, RISK_ANSWERS, RISKS
from lrisk_cli.native.kernels import core
from lrisk_cli.parameters import parse_choice, spell
from lrisk_cli.types import Array

_PIECE = 1 << 18


@dataclass(frozen=True, slots=True)
class Family:
    """One kind of spectrum, whose words and parameter are in `names.RISKS`.

    `masses(i, n, parameter)` gives S(i/n) - S((i-1)/n) for numbers i of 1..n in a form that does
    not cancel. rising: whether they are non-decreasing in i, otherwise non-increasing.
    `n_zero(n, parameter)`: of how many of the lightest bins the masses are exactly 0.
    `of_rows(m, a, M, parameter)`: the same for rows of any mass, H(a + m) - H(a) for rows of mass m
    with the mass a of M among rows of denser weight, H(x) the mass on the heaviest x of M.
    """

    masses: Callable[[Array, int, float], Array]
    rising: bool
    of_rows: Callable[[Array, Array, float, float], Array]
    n_zero: Callable[[int, float], int] = lambda *_: 0


@dataclass(frozen=True, slots=True)
class Spectrum:
    """A named spectral risk, spelled `name` or `name:parameter`."""

    name: str
    parameter: float | None = None

    def __str__(self) -> str:
        return spell(self.name, self.parameter)

    @property
    def rising(self) -> bool:
        """Whether larger losses get no less weight, so that the risk of convex losses is convex."""
        return self.flat or FAMILIES[self.name].rising

    @property
    def flat(self) -> bool:
        """Whether this is the mean, under any name."""
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

    def of_rows(self, ordered: Array, heavier: Array, total: float) -> Array:
        """The weights of rows with masses, which sum to 1 up to rounding. All (n,).

        ordered: the masses; heavier: for each the mass of the rows whose weights are denser, that
        of the larger losses if the spectrum rises, else of the smaller ones; total: of all rows.
        """
        if self.flat:
            return ordered / total
        parameter = float(self.parameter or 0.0)
        return FAMILIES[self.name].of_rows(ordered, heavier, total, parameter)

    def weights_of(self, ordered: Array, heavier: Array, total: float) -> Array:
        """Sigma for rows with masses: the same with the sum 1, in ascending order of loss. (n,)."""
        sigma = self.of_rows(ordered, heavier, total)
        sigma /= sigma.sum()
        return sigma

    def kept(self, total: float) -> float | None:
        """The mass that a superquantile or subquantile gives equal weight; None for the others."""
        if self.flat or self.name not in ("superquantile", "subquantile"):
            return None
        level = _level_rows(total, float(self.parameter or 0.0))
        return level if self.name == "subquantile" else total - level

    def pieces(self, n_rows: int) -> Iterator[tuple[int, Array]]:
        """Sigma a piece at a time, each with the index where it begins; never held as a whole.

        Of a falling spectrum the last piece comes first, so that all are monotone together. Pieces
        of zeros are left out.
        """
        if self.flat:
            for start in range(0, n_rows, _PIECE):
                yield start, np.full(min(_PIECE, n_rows - start), 1.0 / n_rows)
            return
        found: Iterable[tuple[int, Array]] = self.masses(n_rows)
        if n_rows <= _PIECE:
            # One piece, which is held anyway: its sum needs no second pass.
            found = tuple(found)
            total = fsum(float(masses.sum()) for _, masses in found)
        else:
            total = _total_mass(self, n_rows)
        for start, masses in found:
            masses /= total
            yield start, np.ascontiguousarray(masses if self.rising else masses[::-1])

    def masses(self, n_rows: int) -> Iterator[tuple[int, Array]]:
        """Masses of the bins in pieces, rising from piece to piece and within; none of zeros."""
        family, parameter = FAMILIES[self.name], float(self.parameter or 0.0)
        n_skipped = family.n_zero(n_rows, parameter) // _PIECE
        starts, most = range(0, n_rows, _PIECE), 0.0
        for start in (starts if family.rising else starts[::-1])[n_skipped:]:
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


@lru_cache(maxsize=64)
def _total_mass(spectrum: Spectrum, n_rows: int) -> float:
    """The sum of the masses, 1 up to rounding; several models are evaluated on the same rows."""
    return fsum(float(masses.sum()) for _, masses in spectrum.masses(n_rows))


def parse_risk(text: str) -> Spectrum:
    """Read `name` or `name:parameter`; a wrong one is refused with a sentence."""
    return Spectrum(*parse_choice(text, "risk", RISKS, RISK_ALIASES, answers=RISK_ANSWERS))


def _superquantile(i: Array, n: int, q: float) -> Array:
    """Mass of (i-1, i] above nq, over n(1-q)."""
    below = _level_rows(n, q)
    return np.clip(i - below, 0.0, 1.0) / (n - below)


def _level_rows(n: float, level: float) -> float:
    """n times a level; the whole number that it is within rounding of."""
    rows = n * level
    whole = round(rows)
    return float(whole) if abs(rows - whole) <= 4e-16 * n else rows


def _extremile(i: Array, n: int, r: float) -> Array:
    """t^r - s^r = -t^r expm1(r log(s/t)), with log(s/t) = log1p(-1/i): nothing cancels."""
    with np.errstate(divide="ignore"):
        return -((i / n) ** r) * np.expm1(r * np.log1p(-1.0 / i))


def _esrm(i: Array, n: int, rho: float) -> Array:
    """S' is exponential, so every mass is exp(rho (i/n - 1)) times the same factor."""
    return np.exp(rho * (i / n - 1.0)) * (expm1(-rho / n) / expm1(-rho))


def _subquantile(i: Array, n: int, p: float) -> Array:
    """The superquantile of level 1-p, seen from below: mass of (i-1, i] below np, over np."""
    kept = _level_rows(n, p)
    return np.clip(kept - (i - 1.0), 0.0, 1.0) / kept


def _tail_of_rows(m: Array, heavier: Array, kept: float) -> Array:
    """Equal weight for the mass `kept` of the heaviest rows."""
    return np.clip(kept - heavier, 0.0, m) / kept


def _extremile_of_rows(m: Array, heavier: Array, total: float, r: float) -> Array:
    sigma = np.empty(len(m))
    core.extremile_weights(m, heavier, total, r, sigma)
    return sigma


def _esrm_of_rows(m: Array, heavier: Array, total: float, rho: float) -> Array:
    sigma = np.exp((-rho / total) * heavier)
    sigma *= np.expm1((-rho / total) * m)
    sigma /= expm1(-rho)
    return sigma


FAMILIES: dict[str, Family] = {
    "superquantile": Family(
        _superquantile,
        rising=True,
        of_rows=lambda m, a, M, q: _tail_of_rows(m, a, M - _level_rows(M, q)),
        n_zero=lambda n, q: floor(_level_rows(n, q)),
    ),
    "extremile": Family(_extremile, rising=True, of_rows=_extremile_of_rows),
    "esrm": Family(_esrm, rising=True, of_rows=_esrm_of_rows),
    "subquantile": Family(
        _subquantile,
        rising=False,
        of_rows=lambda m, a, M, p: _tail_of_rows(m, a, _level_rows(M, p)),
        n_zero=lambda n, p: n - ceil(_level_rows(n, p)),
    ),
    "lower-extremile": Family(
        lambda i, n, r: _extremile(n + 1.0 - i, n, r), rising=False, of_rows=_extremile_of_rows
    ),
}

_AVERAGES = {
    ("superquantile", 0.0),
    ("extremile", 1.0),
    ("subquantile", 1.0),
    ("lower-extremile", 1.0),
}
