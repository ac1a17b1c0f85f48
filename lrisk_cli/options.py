"""How an option is declared: a field of a plain dataclass, with what any interface shows of it."""

from dataclasses import MISSING, dataclass, field
from typing import Any

OPTION = "option"


@dataclass(frozen=True, slots=True)
class Option:
    """What an interface shows of a field beside its name, type and default.

    name: where it is not the field's own. short: a flag of one letter. shown: the default in
    words, where the value itself does not tell. listed: one text holds several values separated
    by commas. fraction: it may be given in percent. writes: it names a place for results, a file or
    `-` for standard output. expert: listed after the everyday options. panel: where it is not the
    group's own.
    """

    help: str
    name: str | None = None
    short: str | None = None
    metavar: str | None = None
    minimum: float | None = None
    maximum: float | None = None
    shown: str | None = None
    listed: bool = False
    fraction: bool = False
    writes: bool = False
    expert: bool = False
    required: bool = False
    positional: bool = False
    panel: str | None = None


def option(default: Any = None, **of_option: Any) -> Any:
    """A field of an option group. of_option: the fields of `Option`."""
    return field(default=default, metadata={OPTION: Option(**of_option)})


def argument(**of_option: Any) -> Any:
    """A field of an option group that is required and given by its position."""
    declared = Option(required=True, positional=True, **of_option)
    return field(default=MISSING, metadata={OPTION: declared})
