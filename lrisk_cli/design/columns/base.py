"""What a feature is: a column of the table, learned once and encoded as columns of X ever after."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, ClassVar, Literal, NamedTuple

from lrisk_cli.errors import DataError, opt
from lrisk_cli.rows.rows import Rows
from lrisk_cli.tables.cells import Texts
from lrisk_cli.types import Array, Flags

FeatureKind = Literal["number", "category", "date"]

OTHER = "(other)"
ABSENT = "(missing)"
GAUSSIAN = 1.4826  # the standard deviation of a Gaussian, in median distances from its median


# Rows that a category of a column with many of them has, to get a column of X of its own.
COMMON_ROWS = 20


class CategoryLimits(NamedTuple):
    """Which categories of a column get a column of X of their own: `most` at most.

    Those after the first `few`, by frequency, only if so many rows have them.
    """

    few: int
    most: int
    rows: int = COMMON_ROWS

    def kept(self, counts: Sequence[int]) -> list[int]:
        """The positions of those, where the counts are in the order of the frequencies."""
        common = (at for at in range(self.few, len(counts)) if counts[at] >= self.rows)
        return [*range(min(self.few, len(counts))), *islice(common, max(self.most - self.few, 0))]


@dataclass(frozen=True, slots=True)
class LearningRules:
    """How features are learned. impute: fill in missing cells. marked: add an indicator of them.

    scaled: standardise numbers. categories: with a column of X of their own. weights: of the
    rows, where they count for unlike much, (n,).
    """

    impute: bool
    marked: bool
    scaled: bool
    categories: CategoryLimits
    weights: Array | None = None


@dataclass(frozen=True, slots=True)
class NumberCells:
    """A column of numbers with its statistics: of all rows to learn from, NaN for missing.

    fill: the median, where missing cells are to be filled in.
    """

    values: Array
    mean: float
    scale: float
    fill: float | None
    n_missing: int


@dataclass(frozen=True, slots=True)
class Learned:
    """A feature and what is odd about it. constant: its value, as messages show it, if constant."""

    feature: "Feature"
    notes: tuple[str, ...] = ()
    constant: str | None = None


class ColumnSurvey(ABC):
    """Sees the cells of a column once, and counts the columns of X that it will take."""

    @abstractmethod
    def add(self, cells: Any, used: Flags) -> None:
        """Take some more cells, of which those of used rows count."""

    @abstractmethod
    def n_values(self, limits: CategoryLimits) -> int:
        """How many columns of X the values take."""

    def value_spans(self, limits: CategoryLimits) -> tuple[tuple[int, int], ...]:
        """Start and stop of those that a code column can stand for; see `Feature.code_spans`."""
        return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature(ABC):
    """A column of the table as columns of X: those of its values, then an indicator if any.

    fill: stands in for a missing cell, learned only under impute. indicator: one more column, the
    last, that is 1 where the cell was missing. numeric: its cells are numbers, and its first column
    of X holds them standardised.
    """

    kind: ClassVar[FeatureKind]
    numeric: ClassVar[bool]

    name: str = field(kw_only=False)
    fill: float | str | None = None
    indicator: bool = False

    @classmethod
    @abstractmethod
    def learn(
        cls, label: str, name: str, cells: NumberCells | Texts, rules: LearningRules
    ) -> Learned:
        """The feature as the rows to learn from show it. label: names the table in messages."""

    @classmethod
    @abstractmethod
    def survey(cls) -> ColumnSurvey:
        """Counts the columns of X, for a plan."""

    @classmethod
    @abstractmethod
    def from_json(cls, entry: Mapping[str, Any]) -> "Feature":
        """The feature of an entry of a model file; ValueError where its fields disagree."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """The fields of its entry in a model file."""

    @abstractmethod
    def value_names(self) -> tuple[str, ...]:
        """Names of the columns of X that its values take."""

    def value_spans(self) -> tuple[tuple[int, int], ...]:
        """The same of the columns of its values alone."""
        return ()

    @abstractmethod
    def check_cells(self, cells: Any, label: str) -> Array | Texts:
        """The cells of a batch as this feature needs them; DataError where they cannot be."""

    @abstractmethod
    def units(self) -> tuple[list[float], list[float]]:
        """Mean and scale of each of its columns of X: cell = mean + scale * x."""

    @abstractmethod
    def usual(self, rows: Rows, first: int, sums: Array) -> tuple[Array, Array]:
        """The usual cell of some rows, encoded, and the robust spread of each of its columns.

        rows: at least one; its columns start at `first`. sums: of each of them over the rows.
        Spread is 0 for all but numbers.
        """

    @abstractmethod
    def learned_usual(self) -> tuple[Array, Array] | None:
        """The same of the rows that it was learned from; None if it does not remember them."""

    @abstractmethod
    def describe(self, x: Array) -> str:
        """An encoded cell in the words and units of the file. x: (its columns,)."""

    def describe_usual(self, x: Array) -> str:
        """The encoded usual cell, which need not be a cell of the file."""
        return self.describe(x)

    @abstractmethod
    def describe_beside_centre(self, x: Array, centre: Array, who: str) -> str:
        """A cell, its name first, beside the centre of a cluster, or what else `who` says.

        centre: in units of the file.
        """

    @property
    @abstractmethod
    def filled_position(self) -> int:
        """The column, among its own, of what stands in for a missing cell."""

    @property
    @abstractmethod
    def n_values(self) -> int:
        """How many columns of X its values take."""

    @property
    def n_columns(self) -> int:
        """How many columns of X it takes."""
        return self.n_values + self.indicator

    def code_spans(self) -> tuple[tuple[int, int], ...]:
        """Start and stop of those of its columns of which at most one is 1 and the others are 0."""
        n_values = self.n_values
        return (*self.value_spans(), *((n_values, n_values + 1),) * self.indicator)

    @property
    def column_names(self) -> tuple[str, ...]:
        """Names of its columns of X, the indicator's last."""
        return (*self.value_names(), *(f"{self.name}={ABSENT}",) * self.indicator)


def always_missing(label: str, name: str) -> DataError:
    """The sentence for a column that cannot be filled in."""
    return DataError(
        f"{label}, column '{name}': missing in every row to learn from; pass {opt('exclude', name)}"
    )


def entry_fields(feature: Feature) -> dict[str, Any]:
    """The fields of an entry that every feature has, and those of others as they are without."""
    return {
        "name": feature.name,
        "kind": feature.kind,
        "mean": 0.0,
        "scale": 1.0,
        "categories": (),
        "other": False,
        "fill": feature.fill,
        "indicator": feature.indicator,
        "parts": (),
    }
