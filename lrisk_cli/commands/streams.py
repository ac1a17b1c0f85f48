"""Standard streams as a program is given them -> streams that it can always write to."""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any, TextIO


class _Outlet(io.FileIO):
    """A descriptor whose reader may leave: what is written from then on goes nowhere.

    essential: what is written are results, so that other failures, a full disk, are errors.
    """

    def __init__(self, number: int, *, essential: bool) -> None:
        super().__init__(number, "w", closefd=False)
        self._essential = essential

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data) or 0
        except OSError as error:
            if self._essential and not isinstance(error, BrokenPipeError):
                raise
        _to_nowhere(self.fileno())
        return memoryview(data).nbytes


class _Lines(io.TextIOWrapper):
    """Text whose lines start no command of a CI runner, whatever names and cells they start with.

    GitHub's takes for a command what starts with two colons, after spaces or at once.
    """

    _begun = False

    def write(self, text: str, /) -> int:
        parts = text.split("\n")
        for at, part in enumerate(parts):
            self._begun = self._begun and at == 0
            start = part.lstrip()
            if not self._begun and start.startswith("::"):
                parts[at] = f"{part[: -len(start)]}\\{start}"
            self._begun = self._begun or bool(start)
        super().write("\n".join(parts))
        return len(text)


def secure_streams() -> None:
    """Let no stream that is closed, full or left by its reader change how a command ends.

    A closed descriptor is opened on nothing: the next file would get its number, and with it the
    messages meant for the stream. Standard input that is closed stays closed for its readers.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
    sys.stdout = _wrapped(sys.stdout, 1, _Lines, essential=True)
    sys.stderr = _wrapped(sys.stderr, 2, io.TextIOWrapper, essential=False)


def _wrapped(
    stream: TextIO | None, number: int, kind: type[io.TextIOWrapper], *, essential: bool
) -> io.TextIOWrapper:
    """The same stream; letters that its encoding lacks are spelled out."""
    outlet = _Outlet(number, essential=essential)
    lines = not essential or outlet.isatty()
    encoding = "utf-8" if stream is None else stream.encoding
    buffer = io.BufferedWriter(outlet)
    return kind(buffer, encoding, "backslashreplace", line_buffering=lines)


@contextmanager
def reports_aside() -> Iterator[None]:
    """What is printed goes to standard error; standard output is left to results.

    Lines there start no command of a CI runner either.
    """
    from lrisk_cli.tables.places import written_to

    sys.stderr.flush()
    aside = _Lines(sys.stderr.buffer, sys.stderr.encoding, "backslashreplace", line_buffering=True)
    try:
        with written_to(sys.stdout.buffer), redirect_stdout(aside):
            yield
    finally:
        aside.flush()
        aside.detach()


def _to_nowhere(number: int) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    os.close(nowhere)
