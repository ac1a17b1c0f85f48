"""Options: what is printed, and which pages are written."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

from lrisk_cli.colours import Color, choose
from lrisk_cli.options import option


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page with figures."""

    panel: ClassVar[str] = "Output"

    html: str | None = option(
        metavar="FILE", writes=True, help="Write a page with figures that any browser opens."
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPage(Page):
    """A page of clusters, whose rows may be pictures."""

    image_shape: str | None = option(
        metavar="HEIGHTxWIDTH",
        help="The features are the pixels of pictures, line by line, such as 28x28: the page shows "
        "centres and outliers as pictures.",
        expert=True,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """Results for programs."""

    panel: ClassVar[str] = "Output"

    json: bool = option(False, help="Print one JSON document instead.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Messages:
    """What is printed on standard error. verbose: read where errors are printed."""

    panel: ClassVar[str] = "General"

    quiet: bool = option(False, short="-q", help="Print results and errors only.")
    progress: bool = option(True, help="Show no progress bar.")
    color: Color = option(
        Color.AUTO,
        help="Colour what failed, warnings and the better of two figures: auto colours terminals "
        "where NO_COLOR is not set.",
    )
    verbose: bool = option(False, help="Show the traceback of an error.", expert=True)

    @contextmanager
    def during(self) -> Iterator[None]:
        """Colours follow the option, also those of an error that ends the command."""
        choose(self.color)
        yield
