"""What a page of clusters is asked for, checked against the columns."""

from dataclasses import dataclass

from lrisk_cli.design.encoding import Encoding
from lrisk_cli.errors import InvalidOption, opt

# A page does not show larger pictures.
MOST_PIXELS = 30_000


@dataclass(frozen=True, slots=True)
class PageOptions:
    """path: where the page goes. shape: height and width of the pictures that rows are, if any."""

    path: str
    shape: tuple[int, int] | None = None


def parse_page(html: str | None, image_shape: str | None) -> PageOptions | None:
    """The page and the pictures on it; None where no page is asked for."""
    if image_shape is None:
        return None if html is None else PageOptions(html)
    if html is None:
        raise InvalidOption("image_shape", f"is for pages; add {opt('html', 'FILE')}")
    height, _, width = image_shape.lower().partition("x")
    if not (height.isascii() and height.isdigit() and width.isascii() and width.isdigit()):
        raise InvalidOption(
            "image_shape", f"takes HEIGHTxWIDTH, such as 28x28; got {image_shape!r}"
        )
    shape = int(height), int(width)
    if not 1 <= shape[0] * shape[1] <= MOST_PIXELS:
        raise InvalidOption(
            "image_shape", f": pictures have between 1 and {MOST_PIXELS:,} pixels", image_shape
        )
    return PageOptions(html, shape)


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
