"""Dates: days since 1970 as a number, then the parts of the calendar that vary."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from lrisk_cli.design.columns.base import (
    CategoryLimits,
    ColumnSurvey,
    FeatureKind,
    Learned,
    LearningRules,
    NumberCells,
)
from lrisk_cli.design.columns.number import NumberFeature, learn_number, number_from_json
from lrisk_cli.design.dates import (
    PARTS,
    WAVES,
    Calendar,
    part_codes,
    part_spans,
    part_waves,
    spell_date,
)
from lrisk_cli.native.medians import lower_median
from lrisk_cli.tables.cells import Texts
from lrisk_cli.types import Array, Codes, Flags

BLOCK_DAYS = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class DateFeature(NumberFeature):
    """A column of dates: its days since 1970, standardised, then its `parts` (see `dates`)."""

    kind: ClassVar[FeatureKind] = "date"

    parts: tuple[str, ...] = ()

    @classmethod
    def learn(
        cls, label: str, name: str, cells: NumberCells | Texts, rules: LearningRules
    ) -> Learned:
        """Mean and scale of the days, and the parts of the calendar that vary."""
        calendar = Calendar()
        if isinstance(cells, NumberCells):
            for start in range(0, len(cells.values), BLOCK_DAYS):
                calendar.add(cells.values[start : start + BLOCK_DAYS])
        return learn_number(cls, label, name, cells, rules, parts=calendar.parts)

    @staticmethod
    def median(known: Array, weights: Array | None = None) -> float:
        """A median that occurs: between two dates lies another month or weekday."""
        if weights is not None:
            return lower_median(known, weights)
        middle = (len(known) - 1) // 2
        return float(np.partition(known, middle)[middle])

    @classmethod
    def survey(cls) -> ColumnSurvey:
        """Counts the columns of X."""
        return DateSurvey()

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> "DateFeature":
        """The feature of an entry of a model file; ValueError where its fields disagree."""
        parts = tuple(entry["parts"])
        if parts != tuple(part for part in PARTS if part in parts):
            raise ValueError(f"feature '{entry['name']}': its parts are not those of a date")
        return number_from_json(cls, entry, parts=parts)

    def to_json(self) -> dict[str, Any]:
        """The fields of its entry in a model file."""
        return {**NumberFeature.to_json(self), "parts": self.parts}

    @property
    def n_values(self) -> int:
        """How many columns of X its values take."""
        return 1 + len(self.parts)

    def value_names(self) -> tuple[str, ...]:
        """ "day.days", "day.month=Jan" and so on."""
        return tuple(f"{self.name}.{part}" for part in ("days", *self.parts))

    def value_spans(self) -> tuple[tuple[int, int], ...]:
        """Months and weekdays."""
        return _after_days(self.parts)

    def extra_codes(self, numbers: Array) -> Codes:
        """Month and weekday."""
        found = part_codes(numbers, self.parts)
        found[found >= 0] += 1
        return found

    def extra_numbers(self, numbers: Array) -> Array:
        """The waves."""
        return part_waves(numbers, self.parts)

    def describe_usual(self, x: Array) -> str:
        """The usual date, as any other."""
        return self.describe(x)

    def spell_cell(self, value: float) -> str:
        """A date, with its time if the fit saw times."""
        return spell_date(value, with_time=any(part in WAVES for part in self.parts))

    def spell_mean(self, value: float) -> str:
        """A mean of dates."""
        return self.spell_cell(float(value))


class DateSurvey(ColumnSurvey):
    """Remembers which parts of the calendar occur."""

    def __init__(self) -> None:
        self._calendar = Calendar()

    def add(self, cells: Any, used: Flags) -> None:
        """Take some more days."""
        self._calendar.add(np.asarray(cells)[used])

    def n_values(self, limits: CategoryLimits) -> int:
        """How many columns of X the values take."""
        return 1 + len(self._calendar.parts)

    def value_spans(self, limits: CategoryLimits) -> tuple[tuple[int, int], ...]:
        """Months and weekdays."""
        return _after_days(self._calendar.parts)


def _after_days(parts: tuple[str, ...]) -> tuple[tuple[int, int], ...]:
    """Spans of the parts where these follow the days."""
    return tuple((start + 1, stop + 1) for start, stop in part_spans(parts))
