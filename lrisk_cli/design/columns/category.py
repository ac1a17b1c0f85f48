"""Categories: a 0/1 column of X for each of the most frequent texts."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from lrisk_cli.design.columns.base import (
    ABSENT,
    OTHER,
    CategoryLimits,
    ColumnSurvey,
    Feature,
    FeatureKind,
    Learned,
    LearningRules,
    NumberCells,
    always_missing,
    entry_fields,
)
from lrisk_cli.design.number_text import clipped, percent
from lrisk_cli.errors import quote
from lrisk_cli.rows.rows import Rows
from lrisk_cli.tables.cells import Texts, spell_numbers
from lrisk_cli.types import Array, Codes, Flags, Index


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryFeature(Feature):
    """A column of texts, one-hot. other: one more 0/1 column for all other categories."""

    kind: ClassVar[FeatureKind] = "category"
    numeric = False

    categories: tuple[str, ...] = ()
    other: bool = False

    @classmethod
    def learn(
        cls, label: str, name: str, cells: NumberCells | Texts, rules: LearningRules
    ) -> Learned:
        """The most frequent categories, in the order of their text."""
        if isinstance(cells, NumberCells):
            raise TypeError(f"the feature {name!r} was read as numbers")
        known = cells.codes >= 0
        counts = np.bincount(cells.codes[known], minlength=len(cells.values))
        sizes = counts
        if rules.weights is not None:
            sizes = np.bincount(cells.codes[known], rules.weights[known], len(cells.values))
        return cls.learn_counts(
            label, name, cells.values, (counts, sizes), rules, any_missing=bool((~known).any())
        )

    @classmethod
    def learn_counts(
        cls,
        label: str,
        name: str,
        values: Sequence[str],
        found: tuple[Index, Array | Index],
        rules: LearningRules,
        *,
        any_missing: bool,
    ) -> Learned:
        """The same from the cells of each text and their weight. found: both (texts,)."""
        counts, sizes = found
        seen = np.flatnonzero(counts)
        if len(seen) == 0:
            raise always_missing(label, name)
        ranked = sorted(seen.tolist(), key=lambda code: (-sizes[code], values[code]))
        kept = [ranked[at] for at in rules.categories.kept([int(counts[code]) for code in ranked])]
        feature = cls(
            name,
            categories=tuple(sorted(values[code] for code in kept)),
            other=len(kept) < len(ranked),
            fill=values[ranked[0]] if rules.impute else None,
            indicator=rules.impute and rules.marked and any_missing,
        )
        notes: tuple[str, ...] = ()
        if feature.other:
            rest = counts.sum() - counts[kept].sum()
            notes = (
                f"column '{name}' has {len(ranked)} categories; the {len(kept)} most frequent keep "
                f"a column each, the rest ({rest} of {counts.sum()} cells) share one",
            )
        elif len(ranked) == 1:
            finding = f"is constant ({quote(feature.categories[0])})"
            notes = (f"column '{name}' {finding} and has no effect",)
        return Learned(feature, notes)

    @classmethod
    def survey(cls) -> ColumnSurvey:
        """Counts the columns of X."""
        return CategorySurvey()

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> "CategoryFeature":
        """The feature of an entry of a model file; ValueError where its fields disagree."""
        place, categories = f"feature '{entry['name']}'", tuple(entry["categories"])
        if len(set(categories)) < len(categories):
            raise ValueError(f"{place} names a category twice")
        if not categories:
            raise ValueError(f"{place}: its kind and its categories disagree")
        if entry["parts"]:
            raise ValueError(f"{place}: its parts are not those of a date")
        if entry["fill"] not in (None, *categories):
            raise ValueError(f"{place}: its fill is none of its categories")
        return cls(
            entry["name"],
            categories=categories,
            other=entry["other"],
            fill=entry["fill"],
            indicator=entry["indicator"],
        )

    def to_json(self) -> dict[str, Any]:
        """The fields of its entry in a model file."""
        return {**entry_fields(self), "categories": self.categories, "other": self.other}

    @property
    def n_values(self) -> int:
        """How many columns of X its values take."""
        return len(self.categories) + self.other

    def value_names(self) -> tuple[str, ...]:
        """ "color=red" and so on."""
        texts = (*self.categories, *(OTHER,) * self.other)
        return tuple(f"{self.name}={text}" for text in texts)

    def value_spans(self) -> tuple[tuple[int, int], ...]:
        """All of them."""
        return ((0, self.n_values),)

    def positions(self, texts: Sequence[str]) -> Codes:
        """The one-hot column of each text, -1 for none; then that of a missing cell."""
        column = {text: position for position, text in enumerate(self.categories)}
        unseen = len(column) if self.other else -1
        missing = -1 if self.fill is None else self.filled_position
        if self.indicator:
            missing = self.n_values
        return np.array([*(column.get(text, unseen) for text in texts), missing], np.int32)

    def check_cells(self, cells: Any, label: str) -> Array | Texts:
        """The cells as texts."""
        return cells if isinstance(cells, Texts) else spell_numbers(cells)

    def units(self) -> tuple[list[float], list[float]]:
        """0/1 columns are their own units."""
        return [0.0] * self.n_columns, [1.0] * self.n_columns

    def usual(self, rows: Rows, first: int, sums: Array) -> tuple[Array, Array]:
        """The most frequent category; its columns have no spread."""
        centre = np.zeros(len(sums))
        centre[np.argmax(sums[: self.n_values])] = 1.0
        return centre, np.zeros(len(sums))

    def learned_usual(self) -> tuple[Array, Array] | None:
        """The most frequent category, which it remembers if it fills in missing cells."""
        if self.fill is None:
            return None
        centre = np.zeros(self.n_columns)
        centre[self.filled_position] = 1.0
        return centre, np.zeros(self.n_columns)

    def describe(self, x: Array) -> str:
        """The text in the file, cut where it is long."""
        if self.indicator and x[-1]:
            return ABSENT
        hot = x[: self.n_values]
        if not hot.any():
            return "(unknown)"
        at = int(np.argmax(hot))
        return clipped(self.categories[at]) if at < len(self.categories) else OTHER

    def describe_beside_centre(self, x: Array, centre: Array, who: str) -> str:
        """ "color red, as 35 % of its cluster". centre: fractions of the texts."""
        share = float(np.sum(x * centre))
        return f"{self.name} {self.describe(x)}, as {percent(share)} of its cluster"

    @property
    def filled_position(self) -> int:
        """The column, among its own, of what stands in for a missing cell."""
        return self.categories.index(str(self.fill))


class CategorySurvey(ColumnSurvey):
    """Counts the categories that occur."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def add(self, cells: Any, used: Flags) -> None:
        """Take some more texts."""
        if isinstance(cells, Texts):
            counts = np.bincount(cells.codes[(cells.codes >= 0) & used])
            self._seen.update(
                {cells.values[code]: int(counts[code]) for code in np.flatnonzero(counts)}
            )

    def n_values(self, limits: CategoryLimits) -> int:
        """How many columns of X the values take."""
        n_kept = len(limits.kept(sorted(self._seen.values(), reverse=True)))
        return n_kept + (len(self._seen) > n_kept)

    def value_spans(self, limits: CategoryLimits) -> tuple[tuple[int, int], ...]:
        """All of them."""
        return ((0, self.n_values(limits)),)
