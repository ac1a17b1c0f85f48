"""The kernel whose features predictions are linear in, as the user says it."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal

from lrisk_cli.errors import InvalidOption
from lrisk_cli.names import MOST_DEGREE, FeatureMapName, GammaRule, KernelName, RowNorm
from lrisk_cli.options import option

if TYPE_CHECKING:
    from lrisk_cli.features.features import FeatureOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelOptions:
    """The kernel and how it is brought to a number of features."""

    panel: ClassVar[str] = "Model"

    kernel: KernelName = option(
        KernelName.LINEAR,
        help="What predictions are linear in: the columns, or with rbf exp(-gamma ||x-z||^2) and "
        "with poly (gamma x.z + coef0)^degree for landmark rows z.",
    )
    gamma: str | float | None = option(
        metavar="scale|median|NUMBER",
        help="scale: 1/(columns x variance of the features); median: 1/median squared distance of "
        "two rows; or a number > 0: larger values give more local fits (rbf, poly).",
        shown="scale; 1 for poly",
        expert=True,
    )
    degree: int | None = option(
        metavar="N",
        minimum=1,
        maximum=MOST_DEGREE,
        help="Degree of the polynomial kernel (poly).",
        shown="3",
        expert=True,
    )
    coef0: float | None = option(
        metavar="NUMBER",
        help="Constant of the polynomial kernel; 0 keeps the highest powers only (poly).",
        shown="1",
        expert=True,
    )
    rank: str | int | None = option(
        metavar="auto|NUMBER",
        help="Number of landmark rows; auto: as many as it takes to span 99.9 % of the kernel, "
        "within limits of memory (rbf, poly).",
        shown="all rows, up to 4096",
        expert=True,
    )
    feature_map: FeatureMapName | None = option(
        help="nystroem: landmarks picked by pivoted Cholesky; fourier: `rank` random cosines "
        "instead (rbf).",
        shown="nystroem",
        expert=True,
    )

    def parse(self) -> "FeatureOptions":
        """The same with gamma and rank read."""
        from lrisk_cli.features.features import FeatureOptions

        gamma, rank = _parse_gamma(self.gamma), _parse_rank(self.rank)
        return FeatureOptions(self.kernel, gamma, self.degree, self.coef0, rank, self.feature_map)


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedding:
    """Rows that are the output of a neural network: unit length, principal components."""

    panel: ClassVar[str] = "Model"

    row_norm: RowNorm | None = option(
        help="unit: divide every row of features, as in the file, by its length; what follows is "
        "standardised.",
        shown=RowNorm.NONE.value,
        expert=True,
    )
    pca: float | None = option(
        metavar="FRACTION",
        help="Project rows on the principal components that explain this fraction of their "
        "variance, and standardise these.",
        fraction=True,
        shown="none",
        expert=True,
    )

    def parse(self, kernel: "FeatureOptions") -> "FeatureOptions":
        """The features of a kernel with these options."""
        return replace(kernel, row_norm=self.row_norm or RowNorm.NONE, pca=self.pca)


def _parse_gamma(text: str | float | None) -> GammaRule | float | None:
    if text is None or text in tuple(GammaRule):
        return None if text is None else GammaRule(str(text))
    try:
        return float(text)
    except ValueError:
        raise InvalidOption(
            "gamma", f"takes scale, median or a number greater than 0; got {text!r}"
        ) from None


def _parse_rank(text: str | int | None) -> int | Literal["auto"] | None:
    if text is None or text == "auto":
        return None if text is None else "auto"
    try:
        rank = int(text)
    except ValueError:
        rank = 0
    if rank < 1:
        raise InvalidOption("rank", f"takes auto or a whole number greater than 0; got {text!r}")
    return rank
