"""The page of clusters: the rows it shows are gathered while they pass by."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lrisk_cli.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from lrisk_cli.design.encoding import Encoding
    from lrisk_cli.evaluation.gates import Verdict
    from lrisk_cli.models.cluster_model import ClusterModel
    from lrisk_cli.reports.cluster_plots import SeenRows
    from lrisk_cli.reports.clusters import Judged

    Floats = NDArray[np.float64]

# Rows in the plane, and numbers they may have together; rows that are shown one by one.
MOST_POINTS, MOST_NUMBERS = 1500, 4_000_000
MOST_FAR = 24
# A page has no room for more.
MOST_PIXELS = 30_000


@dataclass(frozen=True, slots=True)
class PageOptions:
    """path: where the page goes. shape: height and width of the pictures that rows are, if any."""

    path: str
    shape: tuple[int, int] | None = None


def parse_page(html: str | None, image_shape: str | None) -> PageOptions | None:
    """What --html and --image-shape ask for."""
    if image_shape is None:
        return None if html is None else PageOptions(html)
    if html is None:
        raise UsageError("--image-shape is for pages; add --html FILE")
    height, _, width = image_shape.lower().partition("x")
    if not (height.isascii() and height.isdigit() and width.isascii() and width.isdigit()):
        raise UsageError(f"--image-shape takes HEIGHTxWIDTH, such as 28x28; got {image_shape!r}")
    shape = int(height), int(width)
    if not 1 <= shape[0] * shape[1] <= MOST_PIXELS:
        raise UsageError(
            f"--image-shape {image_shape}: pictures have between 1 and {MOST_PIXELS:,} pixels"
        )
    return PageOptions(html, shape)


def check_shape(page: PageOptions | None, place: str, encoding: "Encoding") -> None:
    """UsageError where the features are not the pixels that --image-shape speaks of."""
    if page is None or page.shape is None:
        return
    height, width = page.shape
    option = f"--image-shape {height}x{width}"
    texts = [feature.name for feature in encoding.features if not feature.numeric]
    if texts:
        raise UsageError(
            f"{option}: {place}, column '{texts[0]}' holds categories, which are no pixels; leave "
            "it out with --exclude"
        )
    if encoding.n_columns != height * width:
        raise UsageError(
            f"{option} has {height * width} pixels, and {place} {encoding.n_columns} feature "
            "columns; pass another shape, or choose columns with --features"
        )


class RowViews:
    """Keeps what a page shows of rows that come in batches: some of all, and the farthest."""

    def __init__(self, n_columns: int) -> None:
        from lrisk_cli.tables.row_sample import RowSample

        self._limit = max(100, min(MOST_POINTS, MOST_NUMBERS // n_columns))
        self._sample = RowSample(self._limit)
        # Numbers, columns, clusters and losses of the farthest rows so far.
        self._far: list[Any] = []

    def add(
        self,
        rows: "NDArray[np.int64]",
        X: "Floats",
        clusters: "NDArray[np.int32]",
        losses: "Floats",
        outliers: "NDArray[np.bool_]",
    ) -> None:
        """Take a batch. X: (n, columns), the others (n,)."""
        import numpy as np

        # Few at a time: of the first rows, the sample copies all.
        for start in range(0, len(rows), self._limit):
            at = slice(start, start + self._limit)
            self._sample.add(rows[at], X[at], clusters[at], outliers[at])
        # Of equal distances, the row that was read first.
        top = np.argsort(-losses, kind="stable")[:MOST_FAR]
        far: list[Any] = [rows[top], X[top], clusters[top], losses[top]]
        if self._far:
            far = [np.concatenate(pair) for pair in zip(self._far, far, strict=True)]
            top = np.argsort(-far[-1], kind="stable")[:MOST_FAR]
            far = [each[top] for each in far]
        self._far = far

    def seen(self, losses: "Floats") -> "SeenRows":
        """For the page. losses: of all rows, any order."""
        import numpy as np

        from lrisk_cli.reports.cluster_plots import SeenRows

        X, clusters, outliers = self._sample.columns
        rows, far, far_clusters, far_losses = self._far
        return SeenRows(
            distances=np.sqrt(np.sort(losses)),
            X=X,
            clusters=clusters.astype(np.intp),
            outliers=outliers > 0.0,
            far=far,
            far_rows=rows,
            far_clusters=far_clusters.astype(np.intp),
            far_distances=np.sqrt(far_losses),
        )


def write_cluster_page(
    page: PageOptions,
    model: "ClusterModel",
    judged: "Judged",
    seen: "SeenRows",
    notes: Sequence[str],
) -> None:
    """The page of `cluster`."""
    from lrisk_cli.commands.options import command_line
    from lrisk_cli.reports.cluster_page import cluster_page
    from lrisk_cli.reports.html import write_page

    write_page(page.path, cluster_page(model, judged, seen, page.shape, notes, command_line()))


def write_evaluation_page(
    page: PageOptions,
    path: str,
    model: "ClusterModel",
    judged: "Judged",
    seen: "SeenRows",
    verdicts: "Sequence[Verdict]",
) -> None:
    """The page of `evaluate` for clusters."""
    from lrisk_cli.commands.options import command_line
    from lrisk_cli.reports.cluster_page import cluster_evaluation_page
    from lrisk_cli.reports.html import write_page

    made = cluster_evaluation_page(path, model, judged, seen, page.shape, verdicts, command_line())
    write_page(page.path, made)
