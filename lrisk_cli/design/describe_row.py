"""Encoded rows -> words about their cells, in the names and units of the file."""

from math import exp, floor, isfinite, log10

import numpy as np

from lrisk_cli.design.dates import WAVES, spell_date
from lrisk_cli.design.encoding import ABSENT, OTHER, Encoding, Feature
from lrisk_cli.types import Array

# So many deviations from the usual are worth a word by themselves.
UNUSUAL = 5.0
MOST_UNUSUAL = 2
# Undoing the standardisation leaves this share of rounding where the cell was 0.
_ROUNDING = 1e-12
_LONGEST = 40


class RowWords:
    """Speaks about rows. X: (m, columns); centre, spread: (columns,) of the usual row."""

    def __init__(self, encoding: Encoding, X: Array, centre: Array, spread: Array) -> None:
        self._spans = spans(encoding)
        self._X = X
        self._centre = centre
        firsts = [first for _, first, _ in self._spans]
        moves = np.abs(X[:, firsts] - centre[firsts])
        # Categories, and columns that never vary, have no spread.
        known = spread[firsts] > 0.0
        self._deviations = np.divide(moves, spread[firsts], out=np.zeros_like(moves), where=known)

    def beside_usual(self, row: int, j: int) -> str:
        """ "area 120 (usual 95)"."""
        far = self._deviations[row, j]
        away = f", {spell_count(far)} deviations away" if far > UNUSUAL else ""
        return f"{self.cell(row, j)} (usual {self._usual(j)}{away})"

    def beside_centre(self, row: int, j: int, centre: Array) -> str:
        """ "area 120 where the centre has 95". centre: in units of the file, shares of texts."""
        feature, first, stop = self._spans[j]
        if feature.numeric:
            return (
                f"{self.cell(row, j)} where the centre has {_spell_centre(feature, centre[first])}"
            )
        share = float(np.sum(self._X[row, first:stop] * centre[first:stop]))
        return f"{self.cell(row, j)}, as {percent(share)} of its cluster"

    def cell(self, row: int, j: int) -> str:
        """ "area 120"."""
        return f"{self._spans[j][0].name} {self._value(self._X[row], j)}"

    def oddities(self, row: int) -> list[tuple[int, str]]:
        """The features farthest from the usual, if far, and "area 120 is 9 deviations from..."."""
        far = self._deviations[row]
        most = np.argsort(-far, kind="stable")[:MOST_UNUSUAL]
        return [
            (
                j,
                f"{self.cell(row, j)} is {spell_count(far[j])} deviations from the usual "
                f"{self._usual(j)}",
            )
            for j in most[far[most] > UNUSUAL].tolist()
        ]

    def _usual(self, j: int) -> str:
        """The cell of feature j in the usual row."""
        feature, first, _ = self._spans[j]
        if feature.kind == "number":
            return spell(_raw(feature, float(self._centre[first])))
        return self._value(self._centre, j)

    def _value(self, x: Array, j: int) -> str:
        """The cell of feature j in an encoded row."""
        feature, first, stop = self._spans[j]
        if feature.indicator and x[stop - 1]:
            return ABSENT
        if feature.kind == "number":
            return spell_cell(_raw(feature, float(x[first])))
        if feature.kind == "date":
            return _spell_day(feature, _raw(feature, float(x[first])))
        hot = x[first : first + feature.n_values]
        if not hot.any():
            return "(unknown)"
        at = int(np.argmax(hot))
        return clipped(feature.categories[at]) if at < len(feature.categories) else OTHER


def spans(encoding: Encoding) -> list[tuple[Feature, int, int]]:
    """Each feature with the first of its columns of X and the one after its last."""
    stops = np.cumsum([feature.n_columns for feature in encoding.features]).tolist()
    return [
        (feature, stop - feature.n_columns, stop)
        for feature, stop in zip(encoding.features, stops, strict=True)
    ]


def _raw(feature: Feature, x: float) -> float:
    """The number in the file; a rest of rounding is 0."""
    moved = feature.scale * x
    value = feature.mean + moved
    return 0.0 if abs(value) <= _ROUNDING * abs(moved) else value


def _spell_centre(feature: Feature, value: float) -> str:
    """A mean of numbers, of which what is tiny beside their scale is rounding."""
    if feature.kind == "date":
        return _spell_day(feature, float(value))
    return spell(0.0 if abs(value) <= 1e-9 * feature.scale else float(value))


def _spell_day(feature: Feature, day: float) -> str:
    """A date, with its time if the fit saw times."""
    return spell_date(day, with_time=any(part in WAVES for part in feature.parts))


def spell(value: float, digits: int = 4) -> str:
    """A number to read: so many digits, thousands set apart from ten thousand on."""
    if value == 0.0 or not isfinite(value):
        return f"{value + 0.0:g}"
    size = floor(log10(abs(value)))
    if not -5 <= size < 15:
        return f"{value:.{digits}g}"
    places = digits - 1 - size
    rounded = round(value, places)
    comma = "," if abs(rounded) >= 10_000.0 else ""
    text = f"{rounded:{comma}.{max(places, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def spell_cell(value: float) -> str:
    """A number of the file: all its whole digits, six digits at least."""
    whole = len(f"{abs(value):.0f}") if abs(value) < 1e15 else 0
    return spell(value, max(6, whole))


def spell_count(value: float) -> str:
    """A number that matters by its size only."""
    return spell(value, 2)


def spell_effect(value: float) -> str:
    """What a feature does to a predicted number."""
    return f"adds {spell(value, 3)}" if value >= 0.0 else f"takes off {spell(-value, 3)}"


def spell_odds(value: float) -> str:
    """What a feature does to odds, of which the logarithm grows by `value`."""
    return f"multiplies the odds by {spell(exp(min(value, 700.0)), 2)}"


def spell_factor(value: float) -> str:
    """What a feature does to a mean, of which the logarithm grows by `value`."""
    return f"multiplies the mean by {spell(exp(min(value, 700.0)), 3)}"


def percent(share: float) -> str:
    """Three digits; never 100 % of what is not all."""
    if 0.9995 <= share < 1.0:
        return "over 99.9 %"
    return f"{100.0 * share:.3g} %"


def clipped(text: str) -> str:
    """A cell of text that leaves room for others."""
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
