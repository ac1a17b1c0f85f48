"""What a page of clusters is asked for, checked against the columns."""

from dataclasses import dataclass

from lrisk_cli.design.encoding import Encoding
from lrisk_cli.errors import UsageError


@dataclass(frozen=True, slots=True)
class PageOptions:
    """path: where the page goes. shape: height and width of the pictures that rows are, if any."""

    path: str
    shape: tuple[int, int] | None = None


def check_shape(page: PageOptions | None, place: str, encoding: Encoding) -> None:
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
