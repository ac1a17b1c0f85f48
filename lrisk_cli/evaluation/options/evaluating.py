"""What is reported of a model on some rows."""

from dataclasses import dataclass
from typing import ClassVar

from lrisk_cli.errors import InvalidOption, opt
from lrisk_cli.names import EVALUATED_RISKS
from lrisk_cli.options import option
from lrisk_cli.tables.named_columns import split_list
from lrisk_cli.tables.options import Names


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatedRisks:
    """The figures that are reported of a model."""

    panel: ClassVar[str] = "Validation"

    risk: tuple[str, ...] = option(
        (),
        metavar="RISK",
        help="Risk of the losses to report; repeatable. The mean and the largest loss always are.",
        shown=", ".join(EVALUATED_RISKS),
    )
    intervals: bool = option(False, help="Add 95 % bootstrap intervals of the risks.")
    threshold: float | None = option(
        metavar="P",
        help="Of two classes, predict the second where its probability is at least this.",
        shown="the likelier class",
    )
    held_out: bool = option(
        False,
        help="Evaluate only the rows that the fit kept for testing; the table must be the "
        "one that the model was fitted to.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """The true groups of rows, which clusters are compared with."""

    panel: ClassVar[str] = "Columns"

    label: str | None = option(
        metavar="COLUMN",
        help="Column with the true groups: never a feature, only compared with the clusters.",
        expert=True,
    )
    inlier_labels: Names = option(
        metavar="A,B",
        help="Labels to find; rows of other labels are planted outliers.",
        shown="all",
        listed=True,
        expert=True,
    )

    @property
    def inliers(self) -> tuple[str, ...]:
        """The labels to find; they need a column that holds labels."""
        if self.inlier_labels is None:
            return ()
        if self.label is None:
            add = opt("label", "COLUMN")
            raise InvalidOption(
                "inlier_labels", f"has no meaning without {opt('label')}; add {add}"
            )
        labels = split_list(self.inlier_labels)
        if not labels:
            raise InvalidOption("inlier_labels", "names no label; pass some, separated by commas")
        return labels


@dataclass(frozen=True, slots=True, kw_only=True)
class LossesFile:
    """The file of scored rows."""

    panel: ClassVar[str] = "Output"

    losses: str | None = option(
        metavar="FILE",
        writes=True,
        help="Write every row's target, prediction, loss, weight and rank, or its cluster, "
        "distance, weight, rank and is_outlier (.csv, .tsv, .parquet).",
    )
