"""How to choose among fits, and which rows to test on."""

from dataclasses import dataclass
from typing import ClassVar

from lrisk_cli.evaluation.metric import Needs
from lrisk_cli.evaluation.registry import TASK_NEEDS, list_metrics
from lrisk_cli.names import DEFAULT_RISK
from lrisk_cli.options import option


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """How to choose among several fits, and which rows to test on."""

    panel: ClassVar[str] = "Validation"

    holdout: float | None = option(
        metavar="FRACTION", help="Keep this fraction of the rows for testing."
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
