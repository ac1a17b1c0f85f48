"""Options: how models are validated, compared and checked by gates."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from lrisk_cli.baselines.registry import FAMILIES
from lrisk_cli.errors import InvalidOption, opt
from lrisk_cli.evaluation.registry import TASK_NEEDS, Needs, list_metrics
from lrisk_cli.names import CORRUPTIONS, DEFAULT_RISK, EVALUATED_RISKS, REPORTED_QUANTILES
from lrisk_cli.options import option
from lrisk_cli.tables.options import Names, parse_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from lrisk_cli.evaluation.gates import Gate, StoredFigures

HOLDOUT, REPEATS = 0.25, 5
MAX_WORSENING = "10%"
# The default fraction of bad rows that baselines expect where nothing was planted.
USUAL_EPS = 0.1


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonSplits:
    """Which rows methods are judged by."""

    panel: ClassVar[str] = "Validation"

    cv: int | None = option(
        metavar="FOLDS", help="Number of folds, each judged in turn.", shown="5"
    )
    holdout: float | None = option(
        metavar="FRACTION", help="Judge by this fraction of the rows instead."
    )
    test: str | None = option(metavar="FILE", help="Judge by the rows of this table instead.")
    repeats: int = option(
        1, metavar="N", minimum=1, help="Hold-outs to draw, by seed, seed + 1, ..."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomSplits:
    """How rows are split at random to fit and to test; None for the usual."""

    panel: ClassVar[str] = "Validation"

    holdout: float | None = option(
        metavar="FRACTION", help="Fraction of the rows to test on.", shown=f"{HOLDOUT}"
    )
    repeats: int | None = option(
        metavar="N",
        minimum=1,
        help="Random splits to average over, of seeds SEED, SEED+1 and so on.",
        shown=f"{REPEATS}",
    )
    seed: int | None = option(metavar="N", minimum=0, help="Seed of the first split.", shown="0")


@dataclass(frozen=True, slots=True, kw_only=True)
class Methods:
    """The risks and baselines that are compared, and the outliers planted for them."""

    panel: ClassVar[str] = "Model"

    risk: tuple[str, ...] = option(
        (),
        metavar="RISK",
        help="Risk to fit; repeatable.",
        shown="mean, superquantile:0.5, superquantile:0.9, extremile:2",
    )
    rival: tuple[str, ...] = option(
        (),
        metavar="NAME[:NUMBER]",
        help=f"Method of another paper; repeatable; none for no rivals: {', '.join(FAMILIES)}.",
        shown="all that learn such a target and are installed",
    )
    corrupt: str | None = option(
        metavar="KIND:SHARE",
        help="Plant known outliers in the rows to learn from: "
        + "; ".join(f"{kind}: {words}" for kind, words in CORRUPTIONS.items())
        + ".",
    )
    contamination: float | None = option(
        metavar="FRACTION",
        help="Fraction of bad rows that rivals are given.",
        shown=f"the planted fraction, else {USUAL_EPS}",
    )

    def expected(self, planted: float | None) -> float:
        """The fraction of bad rows that baselines are given. planted: the known one, if any."""
        asked = self.contamination
        if asked is not None and not 0.0 < asked < 0.5:
            raise InvalidOption(
                "contamination", f"must be a share between 0 and 0.5; got {asked:g}"
            )
        return asked or (USUAL_EPS if planted is None else planted)


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
        labels = parse_names(self.inlier_labels)
        if not labels:
            raise InvalidOption("inlier_labels", "names no label; pass some, separated by commas")
        return labels


@dataclass(frozen=True, slots=True, kw_only=True)
class LossesFile:
    """The file of scored rows."""

    panel: ClassVar[str] = "Output"

    losses: str | None = option(
        metavar="FILE",
        help="Write every row's target, prediction, loss, weight and rank, or its cluster, "
        "distance, weight, rank and is_outlier (.csv, .tsv, .parquet).",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedModels:
    """The models of a quantile report: files, or risks to fit."""

    panel: ClassVar[str] = "Model"

    model: tuple[str, ...] = option((), metavar="MODEL", help="Model file to compare; repeatable.")
    baseline: str | None = option(
        metavar="MODEL", help="Model file that the others are compared to."
    )
    risk: tuple[str, ...] = option(
        (),
        metavar="RISK",
        help="Risk to fit and compare with the mean; repeatable.",
        shown=DEFAULT_RISK,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantileOutput:
    """The levels of a quantile report, its groups and its file."""

    panel: ClassVar[str] = "Output"

    quantiles: str = option(
        REPORTED_QUANTILES,
        metavar="P,P",
        help="Levels in (0, 1]: 0.5 is the median loss, 1 the largest.",
        listed=True,
    )
    by: str | None = option(metavar="COLUMN", help="Report each group of rows too, by this column.")
    output: str | None = option(
        short="-o",
        metavar="FILE",
        help="Write the figures here (.csv, .tsv, .parquet, .json).",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Gates:
    """Checks of the figures, and where the verdicts are written."""

    panel: ClassVar[str] = "Gates"

    fail_on: tuple[str, ...] = option(
        (), metavar="CONDITION", help="Exit with 1 if this holds; repeatable."
    )
    warn_on: tuple[str, ...] = option(
        (),
        metavar="CONDITION",
        help="Warn on standard error if this holds; the exit code stays the same; repeatable.",
    )
    baseline_metrics: str | None = option(
        metavar="FILE",
        help="Exit with 1 if a figure is worse than in this file, which an earlier run of the "
        "same command printed with `json`.",
    )
    max_worsening: str | None = option(
        metavar="FRACTION",
        help="By how much a figure may be worse than in `baseline-metrics`, as 10% or 0.1.",
        shown=MAX_WORSENING,
    )
    junit: str | None = option(
        metavar="FILE", help="Write the gates as JUnit XML, which CI systems show."
    )
    github: bool = option(
        False,
        help="Annotate a run of GitHub Actions: failed gates, warnings and, where rows are judged, "
        "the worst of them; and add to the summary of the step.",
    )

    def parse(
        self, command: str, canonical: "Callable[[str], str]"
    ) -> "tuple[tuple[Gate, ...], StoredFigures | None]":
        """The conditions, and the figures of an earlier run of the command, if any.

        canonical: spells a metric of this command, or refuses it.
        """
        from lrisk_cli.evaluation.gates import parse_fraction, parse_gate, read_stored

        if self.baseline_metrics is None and self.max_worsening is not None:
            add = opt("baseline_metrics", "FILE")
            raise InvalidOption("max_worsening", f"is about figures of an earlier run; add {add}")
        if self.junit is not None and not (self.fail_on or self.warn_on or self.baseline_metrics):
            add = opt("fail_on", "CONDITION")
            raise InvalidOption("junit", f"reports gates, and there are none; add {add}")
        gates = [
            *(parse_gate(text, canonical) for text in self.fail_on),
            *(parse_gate(text, canonical, warns=True) for text in self.warn_on),
        ]
        share = parse_fraction(self.max_worsening or MAX_WORSENING)
        path = self.baseline_metrics
        return tuple(gates), None if path is None else read_stored(path, command, share)
