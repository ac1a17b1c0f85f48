"""Raw numbers and positions of categories -> rows of X, as numbers beside codes or as one array."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lrisk_cli.design.columns.base import Feature
from lrisk_cli.design.columns.category import CategoryFeature
from lrisk_cli.design.columns.number import NumberFeature
from lrisk_cli.native.kernels import core
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.rows.layout import Layout
from lrisk_cli.rows.mixed import MixedRows
from lrisk_cli.rows.rows import Rows
from lrisk_cli.types import Array, Codes, Flags


class Place(NamedTuple):
    """Where a feature is written: its first column of X and its first code column."""

    column: int
    code: int


class Filler:
    """Writes the rows of an encoding, block after block.

    D: (rows, width) the numbers, or all columns of X where rows are one array. codes: (rows, c) in
    either case, the column of X that is 1 for each code column, or `none`, that after the last.
    """

    def __init__(self, features: Sequence[Feature], layout: Layout, *, intercept: bool) -> None:
        self._layout, self._intercept, self._none = layout, intercept, layout.n_columns
        self.width = len(layout.numbers) if layout.as_codes else layout.n_columns
        self._numbers: list[tuple[NumberFeature, Place]] = []
        self._categories: list[tuple[CategoryFeature, Place]] = []
        column = code = 0
        for feature in features:
            place = Place(column, code)
            if isinstance(feature, NumberFeature):
                self._numbers.append((feature, place))
            elif isinstance(feature, CategoryFeature):
                self._categories.append((feature, place))
            column, code = column + feature.n_columns, code + len(feature.code_spans())
        numbers = [feature for feature, _ in self._numbers]
        self._fills = np.array([feature.fill for feature in numbers], np.float64)
        self._means = np.array([feature.mean for feature in numbers], np.float64)
        self._scales = np.array([feature.scale for feature in numbers], np.float64)
        firsts = np.array([place.column for _, place in self._numbers], np.int64)
        self._columns = np.searchsorted(layout.numbers, firsts) if layout.as_codes else firsts
        self._marked = [at for at, feature in enumerate(numbers) if feature.indicator]

    def empty(self, n_rows: int) -> tuple[Array, Codes]:
        """D and codes of so many rows, not yet written."""
        return np.empty((n_rows, self.width)), self.empty_codes(n_rows)

    def empty_codes(self, n_rows: int) -> Codes:
        """The codes alone."""
        return np.empty((n_rows, len(self._layout.starts)), np.int32)

    def rows(self, D: Array, codes: Codes) -> Rows:
        """The rows that were written, not copied."""
        return MixedRows(D, codes, self._layout) if self._layout.as_codes else DenseRows(D)

    def fill(self, numbers: Array, positions: Sequence[Codes], D: Array, codes: Codes) -> None:
        """Write some rows into memory that lies in one piece.

        numbers: (rows, number features), raw, NaN for missing; overwritten. positions: for each
        category feature the column of each row among its own, that of the indicator for a missing
        cell, -1 for none.
        """
        absent = np.isnan(numbers[:, self._marked])
        if not np.isnan(self._fills).all():
            np.copyto(numbers, self._fills, where=np.isnan(numbers))
        whole = not self._layout.as_codes
        if whole and codes.shape[1]:
            D[:] = 0.0
        core.standardize_rows(numbers, self._means, self._scales, self._columns, D)
        for at, (feature, place) in enumerate(self._numbers):
            if feature.n_values > 1:
                self._fill_extra(feature, place, numbers[:, at], int(self._columns[at]), D, codes)
        for at, number in enumerate(self._marked):
            self._mark(*self._numbers[number], absent[:, at], codes)
        for (category, place), found in zip(self._categories, positions, strict=True):
            self._fill_category(category, place, found, codes)
        D[:, self.width - self._intercept :] = 1.0
        if whole:
            core.mark_codes(codes, D)

    def _fill_extra(
        self, feature: NumberFeature, place: Place, cells: Array, at: int, D: Array, codes: Codes
    ) -> None:
        """The columns after the first, which is column `at` of D."""
        ones, others = feature.extra_codes(cells), feature.extra_numbers(cells)
        n_codes, n_others = ones.shape[1], others.shape[1]
        codes[:, place.code : place.code + n_codes] = self._of_x(ones, place)
        # Beside the first column, or beyond those that the codes stand for.
        first = at + (1 if self._layout.as_codes else feature.n_values - n_others)
        D[:, first : first + n_others] = others

    def _fill_category(
        self, feature: CategoryFeature, place: Place, found: Codes, codes: Codes
    ) -> None:
        """A missing cell with an indicator has the column of what stands in for it besides."""
        if feature.indicator:
            absent = found == feature.n_values
            self._mark(feature, place, absent, codes)
            found = np.where(absent, np.int32(feature.filled_position), found)
        codes[:, place.code] = self._of_x(found, place)

    def _mark(self, feature: Feature, place: Place, absent: Flags, codes: Codes) -> None:
        """The indicator of missing cells, the last column of a feature."""
        at = place.code + len(feature.value_spans())
        codes[:, at] = np.where(absent, place.column + feature.n_values, self._none)

    def _of_x(self, found: Codes, place: Place) -> Codes:
        """Columns of a feature, -1 for none, as columns of X."""
        return np.where(found >= 0, found + np.int32(place.column), np.int32(self._none))
