"""Which models are compared, and by which rows."""

from dataclasses import dataclass
from typing import ClassVar

from lrisk_cli.baselines.registry import FAMILIES
from lrisk_cli.errors import InvalidOption
from lrisk_cli.names import CORRUPTIONS, DEFAULT_RISK, REPORTED_QUANTILES
from lrisk_cli.options import option
from lrisk_cli.parameters import hint_percent

HOLDOUT, REPEATS = 0.25, 5
# The default fraction of bad rows that baselines expect where nothing was planted.
USUAL_EPS = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonSplits:
    """Which rows methods are evaluated on."""

    panel: ClassVar[str] = "Validation"

    cv: int | None = option(
        metavar="FOLDS", help="Number of folds, each tested on in turn.", shown="5"
    )
    holdout: float | None = option(
        metavar="FRACTION", help="Test on this fraction of the rows instead.", fraction=True
    )
    test: str | None = option(metavar="FILE", help="Test on the rows of this table instead.")
    repeats: int = option(
        1, metavar="N", minimum=1, help="Hold-outs to draw, by seed, seed + 1, ..."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomSplits:
    """How rows are split at random to fit and to test; None for the usual."""

    panel: ClassVar[str] = "Validation"

    holdout: float | None = option(
        metavar="FRACTION",
        help="Fraction of the rows to test on.",
        shown=f"{HOLDOUT}",
        fraction=True,
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
        metavar="KIND:FRACTION",
        help="Plant known outliers in the rows to learn from: "
        + "; ".join(f"{kind}: {words}" for kind, words in CORRUPTIONS.items())
        + ".",
    )
    contamination: float | None = option(
        metavar="FRACTION",
        help="Fraction of bad rows that rivals are given.",
        shown=f"the planted fraction, else {USUAL_EPS}",
        fraction=True,
    )

    def expected(self, planted: float | None) -> float:
        """The fraction of bad rows that baselines are given. planted: the known one, if any."""
        asked = self.contamination
        if asked is not None and not 0.0 < asked < 0.5:
            raise InvalidOption(
                "contamination",
                f"must be a fraction between 0 and 0.5; got {asked:g}{hint_percent(asked)}",
            )
        return asked or (USUAL_EPS if planted is None else planted)


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
    """The levels of a quantile report, and its file."""

    panel: ClassVar[str] = "Output"

    quantiles: str = option(
        REPORTED_QUANTILES,
        metavar="P,P",
        help="Levels in (0, 1]: 0.5 is the median loss, 1 the largest.",
        listed=True,
    )
    output: str | None = option(
        short="-o",
        metavar="FILE",
        writes=True,
        help="Write the figures here (.csv, .tsv, .parquet, .json); - is standard output.",
    )
