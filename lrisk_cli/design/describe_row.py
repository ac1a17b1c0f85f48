"""Encoded rows -> words about their cells, in the names and units of the file."""

import numpy as np

from lrisk_cli.design.columns.base import Feature
from lrisk_cli.design.encoding import Encoding
from lrisk_cli.design.number_text import spell_count
from lrisk_cli.types import Array

# A cell this many standard deviations from the usual is mentioned for that alone.
UNUSUAL = 5.0
MOST_UNUSUAL = 2


class RowWords:
    """Describes rows. X: (m, columns); centre, spread: (columns,) of the usual row."""

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

    def beside_centre(self, row: int, j: int, centre: Array, who: str = "the centre has") -> str:
        """ "area 120 where the centre has 95". centre: in units of the file, fractions of texts."""
        feature, first, stop = self._spans[j]
        return feature.describe_beside_centre(self._X[row, first:stop], centre[first:stop], who)

    def cell(self, row: int, j: int) -> str:
        """ "area 120"."""
        feature, first, stop = self._spans[j]
        return f"{feature.name} {feature.describe(self._X[row, first:stop])}"

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
        feature, first, stop = self._spans[j]
        return feature.describe_usual(self._centre[first:stop])


def spans(encoding: Encoding) -> list[tuple[Feature, int, int]]:
    """Each feature with the first of its columns of X and the one after its last."""
    stops = np.cumsum([feature.n_columns for feature in encoding.features]).tolist()
    return [
        (feature, stop - feature.n_columns, stop)
        for feature, stop in zip(encoding.features, stops, strict=True)
    ]
