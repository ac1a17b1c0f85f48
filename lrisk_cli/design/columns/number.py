"""Numbers: one standardised column of X."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np

from lrisk_cli.design.columns.base import (
    ABSENT,
    GAUSSIAN,
    CategoryLimits,
    ColumnSurvey,
    Feature,
    FeatureKind,
    Learned,
    LearningRules,
    NumberCells,
    entry_fields,
)
from lrisk_cli.design.number_text import spell, spell_cell
from lrisk_cli.errors import DataError, opt
from lrisk_cli.native.medians import weighted_median
from lrisk_cli.rows.rows import Rows
from lrisk_cli.tables.cells import Texts
from lrisk_cli.types import Array, Codes, Flags

# Undoing the standardisation leaves this fraction of rounding where the cell was 0.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberFeature(Feature):
    """A column of numbers: x = (number - mean) / scale."""

    kind: ClassVar[FeatureKind] = "number"
    numeric = True

    mean: float = 0.0
    scale: float = 1.0

    @classmethod
    def learn(
        cls, label: str, name: str, cells: NumberCells | Texts, rules: LearningRules
    ) -> Learned:
        """Mean and scale of the numbers; a constant column has scale 1."""
        return learn_number(cls, label, name, cells, rules)

    @staticmethod
    def median(known: Array, weights: Array | None = None) -> float:
        """What stands in for a missing cell, also where the two middle numbers have no finite sum.

        known: the other cells. weights: of their rows.
        """
        with np.errstate(over="ignore"):
            found = weighted_median(known, weights)
        return found if np.isfinite(found) else 2.0 * weighted_median(0.5 * known, weights)

    @classmethod
    def survey(cls) -> ColumnSurvey:
        """Counts the columns of X."""
        return NumberSurvey()

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> "NumberFeature":
        """The feature of an entry of a model file; ValueError where its fields disagree."""
        if entry["parts"]:
            raise ValueError(f"feature '{entry['name']}': its parts are not those of a date")
        return number_from_json(cls, entry)

    def to_json(self) -> dict[str, Any]:
        """The fields of its entry in a model file."""
        return {**entry_fields(self), "mean": self.mean, "scale": self.scale}

    @property
    def n_values(self) -> int:
        """How many columns of X its values take."""
        return 1

    def value_names(self) -> tuple[str, ...]:
        """Names of the columns of X that its values take."""
        return (self.name,)

    def extra_codes(self, numbers: Array) -> Codes:
        """Which of its columns is 1, for each of `value_spans`; -1 for none. (n, spans)."""
        return np.empty((len(numbers), 0), np.int32)

    def extra_numbers(self, numbers: Array) -> Array:
        """Its other columns after the first, the last of its values. (n, such columns)."""
        return np.empty((len(numbers), 0))

    def check_cells(self, cells: Any, label: str) -> Array | Texts:
        """The cells as numbers; DataError where they are text."""
        if isinstance(cells, Texts):
            raise DataError(
                f"{label}, column '{self.name}': holds text where the fit had numbers; "
                f"pass {opt('dtype', f'{self.name}=number')}"
            )
        return np.asarray(cells)

    def units(self) -> tuple[list[float], list[float]]:
        """Mean and scale of each of its columns of X."""
        rest = self.n_columns - 1
        return [self.mean, *[0.0] * rest], [self.scale, *[1.0] * rest]

    def usual(self, rows: Rows, first: int, sums: Array) -> tuple[Array, Array]:
        """Median and 1.4826 MAD; where most cells are equal, the standard deviation."""
        values = rows.column(first)
        centre, spread = np.zeros(len(sums)), np.zeros(len(sums))
        centre[0] = np.median(values)
        self._set_extra(centre)
        typical = GAUSSIAN * float(np.median(np.abs(values - centre[0])))
        spread[0] = typical or np.std(values)
        return centre, spread

    def learned_usual(self) -> tuple[Array, Array] | None:
        """Mean and scale, unless the numbers were left as they are."""
        if (self.mean, self.scale) == (0.0, 1.0):
            return None
        centre, spread = np.zeros(self.n_columns), np.zeros(self.n_columns)
        spread[0] = 1.0
        self._set_extra(centre)
        return centre, spread

    def _set_extra(self, x: Array) -> None:
        """Let the columns after the first say what the first does. x: (its columns,)."""
        cell = self.mean + self.scale * x[:1]
        ones, others = self.extra_codes(cell)[0], self.extra_numbers(cell)[0]
        x[ones[ones >= 0]] = 1.0
        x[self.n_values - len(others) : self.n_values] = others

    def describe(self, x: Array) -> str:
        """The number in the file."""
        return ABSENT if self.indicator and x[-1] else self.spell_cell(self.raw(float(x[0])))

    def describe_usual(self, x: Array) -> str:
        """The usual number, to four digits."""
        return spell(self.raw(float(x[0])))

    def describe_beside_centre(self, x: Array, centre: Array, who: str) -> str:
        """ "area 120 where the centre has 95"; who: "the centre has"."""
        return f"{self.name} {self.describe(x)} where {who} {self.spell_mean(centre[0])}"

    def spell_cell(self, value: float) -> str:
        """A number of the file, to read."""
        return spell_cell(value)

    def spell_mean(self, value: float) -> str:
        """A mean of numbers, of which what is tiny beside their scale is rounding."""
        return spell(0.0 if abs(value) <= 1e-9 * self.scale else float(value))

    def raw(self, x: float) -> float:
        """The number in the file; what rounding left of 0 is 0."""
        moved = self.scale * x
        value = self.mean + moved
        return 0.0 if abs(value) <= _ROUNDING * abs(moved) else value

    @property
    def filled_position(self) -> int:
        """The column, among its own, of what stands in for a missing cell."""
        return 0


Number = TypeVar("Number", bound=NumberFeature)


def learn_number(
    feature: type[Number],
    label: str,
    name: str,
    cells: NumberCells | Texts,
    rules: LearningRules,
    **extra: Any,
) -> Learned:
    """A feature of numbers. extra: fields that the class has besides mean and scale."""
    if isinstance(cells, Texts):
        raise TypeError(f"the feature {name!r} was read as text")
    refuse_overflow(f"{label}, column '{name}'", cells.mean, cells.scale)
    constant = f"{cells.mean:g}" if cells.scale == 0.0 else None
    mean, scale = (cells.mean, cells.scale or 1.0) if rules.scaled else (0.0, 1.0)
    absent = rules.impute and rules.marked and cells.n_missing > 0
    learned = feature(name, mean=mean, scale=scale, fill=cells.fill, indicator=absent, **extra)
    return Learned(learned, constant=constant)


def number_from_json(feature: type[Number], entry: Mapping[str, Any], **extra: Any) -> Number:
    """The feature of an entry of a model file; ValueError where its fields disagree."""
    name, fill = entry["name"], entry["fill"]
    if entry["categories"] or entry["other"]:
        raise ValueError(f"feature '{name}': its kind and its categories disagree")
    if isinstance(fill, str):
        raise ValueError(f"feature '{name}': its kind and its fill disagree")
    mean, scale, indicator = entry["mean"], entry["scale"], entry["indicator"]
    return feature(name, mean=mean, scale=scale, fill=fill, indicator=indicator, **extra)


class NumberSurvey(ColumnSurvey):
    """Numbers take one column of X, whatever they are."""

    def add(self, cells: Any, used: Flags) -> None:
        """Nothing depends on the cells."""

    def n_values(self, limits: CategoryLimits) -> int:
        """How many columns of X the values take."""
        return 1


def refuse_overflow(place: str, mean: float, scale: float) -> None:
    """DataError where mean or scale is not finite."""
    if not np.isfinite(mean) or not np.isfinite(scale):
        raise DataError(f"{place}: numbers too large to add up; rescale the column")
