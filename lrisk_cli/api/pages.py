"""What a page of clusters is asked for, checked against the columns."""

from dataclasses import dataclass

from lrisk_cli.design.encoding import Encoding
from lrisk_cli.errors import InvalidOption, opt


@dataclass(frozen=True, slots=True)
class PageOptions:
    """path: where the page goes. shape: height and width of the pictures that rows are, if any."""

    path: str
    shape: tuple[int, int] | None = None


def check_shape(page: PageOptions | None, place: str, encoding: Encoding) -> None:
    """UsageError where the features are not the pixels of the pictures."""
    if page is None or page.shape is None:
        return
    height, width = page.shape
    asked = f"{height}x{width}"
    texts = [feature.name for feature in encoding.features if not feature.numeric]
    if texts:
        raise InvalidOption(
            "image_shape",
            f": {place}, column '{texts[0]}' holds categories, which are no pixels; leave it out "
            f"with {opt('exclude')}",
            asked,
        )
    if encoding.n_columns != height * width:
        raise InvalidOption(
            "image_shape",
            f"has {height * width} pixels, and {place} {encoding.n_columns} feature columns; pass "
            f"another shape, or choose columns with {opt('features')}",
            asked,
        )
