"""Options of a page of clusters."""

from typing import TYPE_CHECKING

from lrisk_cli.errors import UsageError

if TYPE_CHECKING:
    from lrisk_cli.api.pages import PageOptions

# A page does not show larger pictures.
MOST_PIXELS = 30_000


def parse_page(html: str | None, image_shape: str | None) -> "PageOptions | None":
    """What --html and --image-shape ask for."""
    from lrisk_cli.api.pages import PageOptions

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
