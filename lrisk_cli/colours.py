"""Which streams are coloured, and text in colour: what failed, what warns, the better of two."""

import os
from contextvars import ContextVar
from enum import StrEnum
from typing import Self, TextIO


class Color(StrEnum):
    """Whether output is coloured; `auto` colours terminals."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


class Style(StrEnum):
    """What text says, as the parameters of the control sequence that colours it."""

    FAILED = "1;31"
    WARNING = "33"
    BETTER = "32"


class Styled(str):
    """A cell of a table that stands out where tables are coloured; elsewhere just its text."""

    style: Style

    def __new__(cls, text: str, style: Style) -> Self:
        """The text, of this style."""
        made = super().__new__(cls, text)
        made.style = style
        return made


# Holds until the process ends: errors are printed after the command has returned.
_CHOSEN: ContextVar[Color] = ContextVar("color", default=Color.AUTO)


def choose(color: Color) -> None:
    """Colour what is printed from now on, or do not."""
    _CHOSEN.set(color)


def is_coloured(stream: TextIO) -> bool:
    """Whether what is printed there is coloured: https://no-color.org unless it was asked for."""
    chosen = _CHOSEN.get()
    if chosen is not Color.AUTO:
        return chosen is Color.ALWAYS
    wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return wanted and stream.isatty()


def paint(text: str, style: Style, stream: TextIO) -> str:
    """The text in colour where the stream is coloured; it takes as many columns."""
    return f"\x1b[{style.value}m{text}\x1b[0m" if text and is_coloured(stream) else text
