"""How to choose among fits, and which rows to test on."""

from dataclasses import dataclass
from typing import ClassVar

from lrisk_cli.errors import InvalidOption, opt
from lrisk_cli.evaluation.metric import Needs
from lrisk_cli.evaluation.registry import TASK_NEEDS, list_metrics
from lrisk_cli.names import DEFAULT_RISK
from lrisk_cli.options import option


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """How to choose among several fits, and which rows to test on."""

    panel: ClassVar[str] = "Validation"

    holdout: float | None = option(
        metavar="FRACTION",
        help="Keep this fraction of the rows for testing, as 20% or 0.2.",
        fraction=True,
    )
    test: str | None = option(metavar="FILE", help="Test on the rows of this table.")
    cv: int | None = option(
        metavar="FOLDS",
        minimum=2,
        help="Choose among the risks and penalties by cross-validation with so many folds, and "
        "fit the best to all rows.",
    )
    select_by: str | None = option(
        metavar="METRIC",
        help="What `cv` goes by: any risk of the losses, or one of "
        f"{list_metrics([Needs.LOSSES, *TASK_NEEDS.values()])}.",
        shown=f"the risk, {DEFAULT_RISK} for several",
    )
    one_se: bool = option(
        False,
        help="Choose the simplest candidate within one standard error of the best: the largest "
        "penalty, then the mildest risk.",
    )
    cv_groups: str | None = option(
        metavar="COLUMN",
        help="Rows with the same value of this column stay together, in the folds of `cv` and in "
        "the rows of `holdout`.",
    )
    cv_time: str | None = option(
        metavar="COLUMN",
        help="Dates or numbers: `cv` predicts each fold from earlier rows, and `holdout` keeps the "
        "latest.",
    )
    cv_repeats: int | None = option(
        metavar="N", minimum=1, help="Divide the rows into folds so many times.", shown="1"
    )
    oof: str | None = option(
        metavar="FILE",
        writes=True,
        help="Write every row's fold, target, prediction and loss by the fit of `cv` that did not "
        "learn from it (.csv, .tsv, .parquet).",
        panel="Output",
    )

    @property
    def divider(self) -> tuple[str, str] | None:
        """The column that divides the rows, and the option that names it."""
        if self.cv_groups is not None and self.cv_time is not None:
            raise InvalidOption(
                "cv_groups", f"and {opt('cv_time')} divide the rows differently; pass one of them"
            )
        if self.cv_groups is not None:
            return "cv_groups", self.cv_groups
        return None if self.cv_time is None else ("cv_time", self.cv_time)
