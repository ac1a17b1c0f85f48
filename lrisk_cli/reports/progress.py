"""Progress on standard error: a bar on a terminal, one line elsewhere, nothing when quiet."""

import sys
from time import monotonic
from types import TracebackType
from typing import Any, Self

from lrisk_cli.errors import printable
from lrisk_cli.progress import Progress

# Quick work needs no bar, and rich takes a while to load.
_PATIENCE = 0.4


class ProgressDisplay:
    """Takes progress events while a command works; `with` it, and call it with each event.

    An exception that passes through gets a note on the progress made (see `__notes__`).
    """

    def __init__(self, command: str, *, quiet: bool = False, bar: bool = True) -> None:
        self._command = command
        self._quiet = quiet
        self._may_draw = bar and not quiet and sys.stderr.isatty()
        self._started = monotonic()
        self._latest: dict[str, Progress] = {}
        self._closing: str | None = None
        self._bar: Any = None
        self._tasks: dict[str, Any] = {}

    def __call__(self, event: Progress) -> None:
        self._latest.pop(event.stage, None)  # the last entry is the latest event
        self._latest[event.stage] = event
        if self._may_draw and monotonic() - self._started > _PATIENCE:
            self._draw(event)

    def conclude(self, remark: str) -> None:
        """Say this in the end, instead of naming the stages."""
        self._closing = remark

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
        if error is not None:
            error.add_note(self._how_far())
        elif not self._quiet and (self._closing or not self._may_draw):
            stages = ", ".join(describe(event) for event in self._latest.values())
            took = monotonic() - self._started
            remark = self._closing or stages or "done"
            print(f"lrisk {self._command}: {printable(remark)}; {took:.1f} s", file=sys.stderr)

    def _how_far(self) -> str:
        if not self._latest:
            return f"at the start of {self._command}"
        *_, last = self._latest.values()
        return f"at {describe(last)}; files already written are whole"

    def _draw(self, event: Progress) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bars

        if self._bar is None:
            self._bar = Bars(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                TextColumn("{task.fields[figures]}", markup=False),
                TimeElapsedColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._bar.start()
        if event.stage not in self._tasks:
            self._tasks[event.stage] = self._bar.add_task(event.stage, total=None, figures="")
        figures = describe(event).removeprefix(event.stage)
        task = self._tasks[event.stage]
        done, total = event.done, event.total
        if event.fraction is not None:
            done, total = event.fraction, 1.0
        self._bar.update(task, completed=done, total=total, figures=figures.strip())


def describe(event: Progress) -> str:
    """ "read 5 of 10", "solve 12 passes (gap 3e-07, --tol 1e-06)"."""
    total = "" if event.total is None else f" of {_count(event.total)}"
    unit = f" {event.unit}" if event.unit else ""
    note = f" ({event.note})" if event.note else ""
    return f"{event.stage} {_count(event.done)}{total}{unit}{note}"


def _count(done: float) -> str:
    return f"{done:,.1f}".removesuffix(".0")
