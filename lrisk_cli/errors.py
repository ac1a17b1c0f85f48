"""The errors a user can cause, each carrying the exit code that the contract gives it."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from enum import IntEnum

# Of a cell in a sentence.
_LONGEST_QUOTE = 60
# Columns that a sentence lists.
MOST_NAMED = 6
# Runners of Azure, GitHub and TeamCity look for ##vso[, ##[ and ##teamcity[ anywhere in a line.
RUNNER_COMMAND = re.compile(r"#(?=#\w*\[)")


class ExitCode(IntEnum):
    """What the process answers to its caller."""

    DONE = 0
    GATE_FAILED = 1
    USAGE = 2
    DATA = 3
    MODEL = 4
    NOT_CONVERGED = 5
    INTERNAL = 70
    HUNG_UP = 129
    INTERRUPTED = 130
    TERMINATED = 143


class LriskError(Exception):
    """A sentence for the user (place, finding, remedy) and the exit code that goes with it."""

    exit_code = ExitCode.INTERNAL

    @property
    def finding(self) -> str:
        """The sentence without its remedy."""
        return str(self).partition(";")[0]


class UsageError(LriskError, ValueError):
    """The command line asks for something impossible or unsafe."""

    exit_code = ExitCode.USAGE


class InvalidOption(UsageError):  # noqa: N818  (what is raised, not how bad it is)
    """An option cannot be meant. option: its name in Python, which each interface spells.

    value: part of the sentence's subject, where it names the option together with its value.
    """

    def __init__(self, option: str, sentence: str, value: object = None) -> None:
        space = "" if sentence.startswith(":") else " "
        super().__init__(f"{opt(option, value)}{space}{sentence}")
        self.option = option


class DataError(LriskError, ValueError):
    """A table cannot be read, or does not hold what the command needs."""

    exit_code = ExitCode.DATA


class ModelError(LriskError, ValueError):
    """A model file is not a model, is damaged, or comes from a newer version."""

    exit_code = ExitCode.MODEL


class NotConvergedError(LriskError):
    """The requested gap was not proved and the caller insisted on it."""

    exit_code = ExitCode.NOT_CONVERGED


def _as_keyword(option: str, value: object) -> str:
    """max_passes, max_passes=60, missing='drop': as Python writes it."""
    if value is None:
        return option
    return f"{option}={value}" if isinstance(value, int | float) else f"{option}={str(value)!r}"


_spell_option: ContextVar[Callable[[str, object], str]] = ContextVar(
    "spell_option", default=_as_keyword
)


def opt(option: str, value: object = None) -> str:
    """An option, with a value or without, as the user of this interface writes it."""
    return _spell_option.get()(option, value)


@contextmanager
def options_spelled(spell: Callable[[str, object], str]) -> Iterator[None]:
    """Sentences made in this context spell options so. spell: of a name in Python and a value."""
    token = _spell_option.set(spell)
    try:
        yield
    finally:
        _spell_option.reset(token)


def join_words(words: Sequence[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last


def is_text(text: str) -> bool:
    """Whether UTF-8 can spell it; file names and arguments may be any bytes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def as_text(text: str) -> str:
    """A file name or an argument, for a result: bytes that are not UTF-8 are spelled out."""
    return text.encode("utf-8", "backslashreplace").decode()


def printable(text: str) -> str:
    """Text from anywhere, on one line that does nothing to a terminal and tells no CI runner.

    Control characters are spelled out, and a backslash parts what a runner would look for.
    """
    if not text.isprintable():
        text = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    return RUNNER_COMMAND.sub(r"#\\", text) if "##" in text else text


def quote(text: str) -> str:
    """A cell as a sentence shows it: between quotes, and cut where it is long."""
    if len(text) <= _LONGEST_QUOTE:
        return repr(text)
    return f"{text[:_LONGEST_QUOTE]!r}... ({len(text):,} characters)"


def list_names(names: Sequence[str]) -> str:
    """ "'a', 'b' and 'c'", the first few of many."""
    shown = [f"'{name}'" for name in names[:MOST_NAMED]]
    if len(names) > MOST_NAMED:
        return f"{', '.join(shown)} and {len(names) - MOST_NAMED} more"
    return f"{', '.join(shown[:-1])} and {shown[-1]}" if len(shown) > 1 else shown[0]
