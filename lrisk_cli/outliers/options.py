"""Options: which rows are outliers, and what is written about them."""

from dataclasses import dataclass
from typing import ClassVar

from lrisk_cli.errors import InvalidOption
from lrisk_cli.options import option
from lrisk_cli.parameters import hint_percent, read_fraction

MOST_CLUSTERS = 8
ROWS_PER_CLUSTER, ROWS_PER_COLUMN = 50, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Detection:
    """What the rows are ranked by, and how many of them are outliers."""

    panel: ClassVar[str] = "Model"

    contamination: str | float = option(
        "auto",
        metavar="auto|FRACTION",
        help="Fraction of the rows that are outliers, greater than 0 and less than 0.5; auto "
        "estimates it.",
    )
    model: str | None = option(
        metavar="MODEL",
        help="Rank the rows by this model instead of fitting one; they are not held in memory.",
    )
    clusters: str | None = option(
        short="-k",
        metavar="K|A..B|auto",
        help="Without `target`: number of clusters, each of a shape of its own, or a range to "
        "choose from by the integrated complete likelihood.",
        shown=f"auto: 1..{MOST_CLUSTERS}, fewer below {MOST_CLUSTERS * ROWS_PER_CLUSTER} rows",
    )

    @property
    def fraction(self) -> float | None:
        """The contamination; None for auto."""
        return parse_contamination(self.contamination)


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectionOutput:
    """The files of a ranking, and how much of it is printed."""

    panel: ClassVar[str] = "Output"

    output: str | None = option(
        short="-o",
        metavar="FILE",
        writes=True,
        help="Write every row, the most outlying first: rank, row, id, loss, score, is_outlier, "
        "kind and, for outliers, why (.csv, .tsv, .parquet; - is standard output).",
    )
    save_model: str | None = option(
        metavar="FILE", writes=True, help="Write the robust model (JSON), for `model`."
    )
    top: int = option(10, metavar="N", minimum=1, help="Number of rows to print, with reasons.")


def parse_contamination(text: str | float) -> float | None:
    """A fraction of the rows; None for auto."""
    if isinstance(text, str) and text.strip().lower() == "auto":
        return None
    try:
        fraction = read_fraction(str(text))
    except ValueError:
        fraction = 0.0
    if not 0.0 < fraction < 0.5:
        raise InvalidOption(
            "contamination",
            "takes auto or a fraction greater than 0 and less than 0.5 (more than half of the rows "
            f"cannot be outliers); got {text!r}{hint_percent(fraction)}",
        )
    return fraction


def default_clusters(n_rows: int, n_columns: int) -> int:
    """The largest number of clusters that is tried by default."""
    rows = max(ROWS_PER_CLUSTER, ROWS_PER_COLUMN * n_columns)
    return max(1, min(MOST_CLUSTERS, n_rows // rows))
