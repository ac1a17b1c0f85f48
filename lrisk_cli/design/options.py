"""Options: which columns a design uses, and how they are encoded."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from lrisk_cli.errors import InvalidOption, opt
from lrisk_cli.names import (
    Dates,
    Missing,
    Scaling,
    Standardize,
    TargetScale,
    Task,
    Unseen,
    WeightKind,
)
from lrisk_cli.options import option
from lrisk_cli.tables.named_columns import as_texts
from lrisk_cli.tables.options import Names

if TYPE_CHECKING:
    from lrisk_cli.design.design import DesignOptions

# How much rows count.
WEIGHTS = ("weight", "weight_kind", "class_weight")
# What the option means where a model is given.
WEIGHT = "Column of row weights, of at least 0: how much each row counts in figures and gates."
EXPOSURE = "Column of exposures, where the table names it differently than that of the fit."


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Which columns are read, and what becomes of their cells. missing, unseen: None for error."""

    panel: ClassVar[str] = "Columns"

    target: str | None = option(metavar="COLUMN", help="Column to predict.")
    features: Names = option(metavar="A,B", help="Columns to learn from.", shown="all", listed=True)
    exclude: Names = option(metavar="A,B", help="Columns to leave out.", listed=True)
    id_column: str | None = option(
        name="id", metavar="COLUMN", help="Row-id column, copied to outputs."
    )
    keep: Names = option(
        metavar="A,B",
        help="Columns of the table to copy to tables of rows that are written (losses, scores, "
        "predictions), or `all`.",
        listed=True,
        expert=True,
    )
    exposure: str | None = option(
        metavar="COLUMN",
        help="Column of exposures (time, area, insured years), for the poisson loss: predictions "
        "are in proportion to it.",
    )
    weight: str | None = option(
        metavar="COLUMN",
        help="Column of row weights, of at least 0: how much each row counts in fits and figures; "
        "it is no feature unless named as one.",
    )
    weight_kind: WeightKind | None = option(
        help="A row of weight 3 is the row three times (frequency), or counts three times as much "
        "as one of weight 1 while the sum stays the number of rows (importance).",
        shown=WeightKind.FREQUENCY.value,
    )
    class_weight: str | None = option(
        metavar="balanced|CLASS=WEIGHT,...",
        help="Weights of the classes in the fit, 1 for classes not named; balanced: all classes "
        "have the same total weight.",
    )
    dtype: tuple[str, ...] = option(
        (),
        metavar="A,B=KIND",
        help="Read columns as number, category or string; repeatable.",
    )
    missing: Missing | None = option(
        help="Rows with missing cells: refuse the table, leave them out, or fill in the median or "
        "the most frequent category.",
        shown=Missing.ERROR.value,
    )
    task: Task | None = option(
        help="What the target is; auto says what it chose and why.", shown=Task.AUTO.value
    )
    target_scale: TargetScale = option(
        TargetScale.NONE,
        help="Fit the logarithm of the target, or log(1 + target): losses are errors of the "
        "logarithm, predictions are in units of the target.",
    )
    unseen: Unseen | None = option(
        help="Categories unknown at scoring: refuse the table, or treat them as other.",
        shown=Unseen.ERROR.value,
        expert=True,
    )
    max_categories: int | None = option(
        metavar="N",
        minimum=1,
        help="Categories that get a column of their own; rarer ones share one.",
        shown="100; in linear fits of rising risks to numbers or two classes up to 10000 that 20 "
        "rows have",
        expert=True,
    )
    dates: Dates | None = option(
        help="number: a date is its days since 1970; parts: also its month, weekday and time of "
        "day, a column for each that varies.",
        shown=Dates.NUMBER.value,
        expert=True,
    )
    standardize: Standardize = option(
        Standardize.BOTH,
        help="Centre and scale features and target, features only, or none.",
        expert=True,
    )
    scaling: Scaling | None = option(
        help="Standardise numbers by mean and standard deviation, or by median and MAD, which "
        "outliers do not move.",
        shown="mad if every risk falls with the loss, else deviation",
        expert=True,
    )
    intercept: bool = option(True, help="Fit no constant term.", expert=True)

    def parse(self) -> "DesignOptions":
        """The same, parsed; the scaling is the usual one where none is named."""
        from lrisk_cli.design.design import DesignOptions
        from lrisk_cli.design.weights import parse_weighting

        return DesignOptions(
            target=self.target,
            features=as_texts(self.features),
            exclude=as_texts(self.exclude),
            id_column=self.id_column,
            task=self.task or Task.AUTO,
            missing=self.missing or Missing.ERROR,
            unseen=self.unseen or Unseen.ERROR,
            max_categories=self.max_categories,
            dates=self.dates or Dates.NUMBER,
            standardize=self.standardize,
            scaling=self.scaling or Scaling.DEVIATION,
            intercept=self.intercept,
            exposure=self.exposure,
            on_scale=self.target_scale,
            weighting=parse_weighting(self.weight, self.weight_kind, self.class_weight),
        )

    def parse_keep(self, path: str | None, option: str) -> tuple[str, ...]:
        """The texts that name columns to copy. path: of the table of rows, which `option` names."""
        texts = as_texts(self.keep)
        if texts and path is None:
            raise InvalidOption(
                "keep", f"copies columns to a table of rows; name it by {opt(option, 'FILE')}"
            )
        return texts

    @property
    def dtypes(self) -> dict[str, str]:
        """The kinds that columns are read as, by name."""
        return parse_dtypes(self.dtype)


def parse_dtypes(texts: Sequence[str]) -> dict[str, str]:
    """COLUMN=KIND or A,B=KIND, several times: the kinds by the texts that name the columns."""
    dtypes: dict[str, str] = {}
    for text in texts:
        name, separator, kind = text.rpartition("=")
        if not separator or kind not in ("number", "category", "string"):
            raise InvalidOption(
                "dtype", f"takes COLUMN=number, COLUMN=category or COLUMN=string; got {text!r}"
            )
        if dtypes.setdefault(name, kind) != kind:
            both = f"{dtypes[name]} and as {kind}"
            raise InvalidOption("dtype", f": '{name}' is named as {both}; keep one")
    return dtypes
