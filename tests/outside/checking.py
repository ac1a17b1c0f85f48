"""Check one file: what lrisk reads beside the other programs, and how its commands end."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from helpers.fork_server import measuring_server
from outside.child import Answer, Child
from outside.commands import (
    LARGE_FILE,
    MOST_BYTES,
    MOST_SECONDS,
    Measure,
    Run,
    run_commands,
    run_document,
)
from outside.comparing import Comparison, compare
from outside.readings import Reading

DOCUMENTS = (".json", ".toml")
MOST_WAIT = 120  # seconds for a command on a busy machine, whatever its CPU time


@dataclass(frozen=True, slots=True)
class Checked:
    """All that was found about a file.

    refusal: the sentence of lrisk, if it did not read the file or a cell of it. accepted: programs
    that read what lrisk refused. broken: bounds that were broken, in words, which fail the run.
    answer: what the reading child said; None for models and settings.
    """

    name: str
    n_rows: int = 0
    n_columns: int = 0
    refusal: str = ""
    accepted: tuple[str, ...] = ()
    comparisons: Mapping[str, Comparison] = field(default_factory=dict)
    runs: tuple[Run, ...] = ()
    broken: tuple[str, ...] = ()
    cpu_seconds: float = 0.0
    peak_bytes: int = 0
    answer: Answer | None = None

    @property
    def verdict(self) -> str:
        """One word about the reading: same, conventions, disagreed, different, alone, refused.

        disagreed: lrisk agrees with one program and differs from another. alone: only lrisk reads
        it. document: settings or a model.
        """
        if self.name.endswith(DOCUMENTS):
            return "document"
        if not self.n_columns:
            return "refused"
        verdicts = {each.verdict for each in self.comparisons.values()} - {"refused"}
        if not verdicts:
            return "alone"
        if "different" in verdicts:
            return "different" if verdicts == {"different"} else "disagreed"
        return "conventions" if "conventions" in verdicts else "same"

    def as_document(self) -> dict[str, Any]:
        """For the JSON report."""
        return {
            "name": self.name,
            "verdict": self.verdict,
            "rows": self.n_rows,
            "columns": self.n_columns,
            "refusal": self.refusal,
            "accepted_by": list(self.accepted),
            "comparisons": {name: each.as_document() for name, each in self.comparisons.items()},
            "runs": [run.as_document() for run in self.runs],
            "broken": list(self.broken),
            "cpu_seconds": round(self.cpu_seconds, 3),
            "peak_bytes": self.peak_bytes,
        }


class Checker:
    """The processes that check files: one reads with lrisk, one with peers, one runs commands."""

    def __init__(self, lrisk: Child, peers: Child, measure: Measure | None, folder: Path) -> None:
        self._lrisk, self._peers, self._measure, self._folder = lrisk, peers, measure, folder

    def read(self, path: Path, options: Mapping[str, Any] | None = None) -> Answer:
        """What lrisk reads; the value is a Reading."""
        return self._lrisk.ask(str(path), dict(options or {}))

    def check(
        self, path: Path, name: str, options: Mapping[str, Any] | None = None, *, run: bool = True
    ) -> Checked:
        """One file, read and compared; and run through the commands, unless they are not wanted."""
        if path.suffix in DOCUMENTS:
            runs = run_document(self._measure, self._folder, path) if run and self._measure else []
            return Checked(name, runs=tuple(runs), broken=_all_broken(runs))
        answer = self.read(path, options)
        reading = answer.value
        broken = _reading_bounds(answer, path)
        # Other programs are told the delimiter, and no other option of reading.
        alike = not set(options or {}) - {"delimiter"}
        comparisons, accepted = self._compare(path, reading) if alike else ({}, ())
        runs = []
        if run and self._measure:
            runs = run_commands(self._measure, self._folder, path, reading, options or {})
        read = reading is not None and reading.columns is not None
        return Checked(
            name,
            reading.n_rows if read else 0,
            len(reading.columns) if read else 0,
            answer.failure.strip().splitlines()[-1] if answer.failure else reading.refusal,
            accepted, comparisons, tuple(runs), (*broken, *_all_broken(runs)),
            answer.cpu_seconds, answer.peak_bytes, answer,
        )  # fmt: skip

    def _compare(
        self, path: Path, reading: Reading | None
    ) -> tuple[dict[str, Comparison], tuple[str, ...]]:
        """Comparisons of a file that lrisk read, or who reads one that it refused."""
        theirs: dict[str, Reading] = (
            self._peers.ask(str(path), reading.delimiter if reading else None).value or {}
        )
        if reading is not None and reading.columns is not None:
            return {name: compare(reading, other) for name, other in theirs.items()}, ()
        return {}, tuple(name for name, other in theirs.items() if other.columns is not None)


@contextmanager
def checker(*, commands: bool = True) -> Iterator[Checker]:
    """The processes, which end with the block. commands: whether any are to be run."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Child("lrisk") as lrisk,
        Child("peers") as peers,
    ):
        if not commands:
            yield Checker(lrisk, peers, None, Path(folder))
            return
        with measuring_server(MOST_WAIT) as measure:
            yield Checker(lrisk, peers, measure, Path(folder))


def _reading_bounds(answer: Answer, path: Path) -> tuple[str, ...]:
    """What reading broke: it may fail by sentences only, and within bounds."""
    if answer.failure:
        last = answer.failure.strip().splitlines()[-1]
        return (f"reading: {last}"[:300],)
    broken = []
    if path.stat().st_size < LARGE_FILE:
        if answer.cpu_seconds > MOST_SECONDS:
            broken.append(f"reading: {answer.cpu_seconds:.1f} s of CPU")
        if answer.peak_bytes > MOST_BYTES:
            broken.append(f"reading: {answer.peak_bytes / 1e6:.0f} MB of memory")
    return tuple(broken)


def _all_broken(runs: list[Run]) -> tuple[str, ...]:
    return tuple(f"{run.command}: {each}" for run in runs for each in run.broken)
