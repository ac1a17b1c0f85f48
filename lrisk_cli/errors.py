"""The errors a user can cause, each carrying the exit code that the contract gives it."""

from enum import IntEnum

# Of a cell in a sentence.
_LONGEST_QUOTE = 60


class ExitCode(IntEnum):
    """What the process answers to its caller."""

    DONE = 0
    GATE_FAILED = 1
    USAGE = 2
    DATA = 3
    MODEL = 4
    NOT_CONVERGED = 5
    INTERNAL = 70
    INTERRUPTED = 130
    TERMINATED = 143


class LriskError(Exception):
    """A sentence for the user (place, finding, remedy) and the exit code that goes with it."""

    exit_code = ExitCode.INTERNAL


class UsageError(LriskError):
    """The command line asks for something impossible or unsafe."""

    exit_code = ExitCode.USAGE


class DataError(LriskError):
    """A table cannot be read, or does not hold what the command needs."""

    exit_code = ExitCode.DATA


class ModelError(LriskError):
    """A model file is not a model, is damaged, or comes from a newer version."""

    exit_code = ExitCode.MODEL


class NotConvergedError(LriskError):
    """The requested gap was not proved and the caller insisted on it."""

    exit_code = ExitCode.NOT_CONVERGED


def quote(text: str) -> str:
    """A cell as a sentence shows it: between quotes, and cut where it is long."""
    if len(text) <= _LONGEST_QUOTE:
        return repr(text)
    return f"{text[:_LONGEST_QUOTE]!r}... ({len(text):,} characters)"
