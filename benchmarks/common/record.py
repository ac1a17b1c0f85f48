"""Start a benchmark, and record its results with the machine and the commit they belong to.

A recorded result names its commit, so nothing is recorded from a tree with uncommitted changes:
`start` refuses before anything is measured.
"""

import argparse
import datetime
import json
import os
import platform
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"
# Written by the benchmarks themselves: one recorded after another must not refuse.
OUTPUTS = "benchmarks/results"
MOST_NAMED = 5
# Keys of a row that say whether a bound holds.
VERDICTS = ("reached", "within")

Row = Mapping[str, object]


def make_parser(description: str | None, quick: str | None = None) -> argparse.ArgumentParser:
    """The options of every benchmark. quick: the help of --quick, if it exists."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--no-record", action="store_true", help="print the results only")
    if quick is not None:
        parser.add_argument("--quick", action="store_true", help=f"{quick}; records nothing")
    return parser


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A benchmark under way. name: group/script; commit: None if nothing will be recorded."""

    name: str
    commit: str | None
    began: float = field(default_factory=time.perf_counter)

    @property
    def recorded(self) -> bool:
        """Whether the results will be recorded."""
        return self.commit is not None

    @property
    def parts(self) -> Path | None:
        """Where parts are kept until the whole is done, by commit; None if nothing is recorded."""
        return None if self.commit is None else ROOT / "build" / "parts" / self.commit / self.name

    def finish(self, rows: Sequence[Row], earlier: float = 0.0) -> None:
        """Print the results and the bounds that do not hold; record if the tree is still clean.

        earlier: seconds that parts took which an earlier run had done.
        """
        print_table(rows)
        missed = sum(row.get(key) is False for row in rows for key in VERDICTS)
        asked = sum(row.get(key) is not None for row in rows for key in VERDICTS)
        if asked:
            print(f"{asked - missed} of {asked} bounds hold")
        if self.recorded:
            if clean_commit() != self.commit:
                raise SystemExit("another commit is checked out now; nothing is recorded")
            self._write(rows, earlier)

    def _write(self, rows: Sequence[Row], earlier: float) -> None:
        document = {
            "benchmark": self.name,
            "command": f"python -m benchmarks.{self.name.replace('/', '.')}",
            "date": datetime.date.today().isoformat(),
            "commit": self.commit,
            "seconds": round(time.perf_counter() - self.began + earlier),
            "machine": {
                "processor": cpu_model(),
                "cores": os.cpu_count(),
                "python": platform.python_version(),
                "numpy": np.__version__,
            },
            "rows": list(rows),
        }
        path = results_path(self.name, "json")
        path.write_text(json.dumps(document, indent=2, default=_plain) + "\n", "utf-8")
        print(f"recorded in {path.relative_to(ROOT)}")


def start(name: str, options: argparse.Namespace, *, whole: bool = True) -> Benchmark:
    """Begin a benchmark; end with a sentence if its results could not be recorded.

    whole: False if only a part is measured, which is never recorded.
    """
    recorded = whole and not options.no_record and not getattr(options, "quick", False)
    return Benchmark(name, clean_commit() if recorded else None)


def results_path(name: str, suffix: str) -> Path:
    """Where the results of a benchmark are kept; its folder is made."""
    path = RESULTS / f"{name}.{suffix}"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def clean_commit() -> str:
    """The commit of a tree without uncommitted changes; ends with a sentence otherwise."""
    commit = git("rev-parse", "--short", "HEAD").strip()
    changed = git("status", "--porcelain", "--", ".", f":(exclude){OUTPUTS}").splitlines()
    if not changed:
        return commit
    names = ", ".join(line[3:] for line in changed[:MOST_NAMED])
    more = f" and {len(changed) - MOST_NAMED} more" if len(changed) > MOST_NAMED else ""
    raise SystemExit(
        f"uncommitted changes in {names}{more}: a result must name the commit it was measured at; "
        "commit first, or pass --no-record to print the results only"
    )


def git(*arguments: str) -> str:
    """What a git command prints in this repository; ends with a sentence if it fails."""
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    except OSError as error:
        raise SystemExit(f"git does not run ({error}); pass --no-record") from None
    if done.returncode:
        raise SystemExit(f"no commit to record: {done.stderr.strip()}; pass --no-record")
    return done.stdout


def cpu_model() -> str:
    """The name of the processor, where the system has one."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def print_table(rows: Sequence[Row]) -> None:
    """Rows of the same keys, one line each: text to the left, figures to the right."""
    names = list(rows[0])
    cells = [names, *([_cell(row[name]) for name in names] for row in rows)]
    widths = [max(len(line[k]) for line in cells) for k in range(len(names))]
    left = [isinstance(rows[0][name], str) for name in names]
    for line in cells:
        padded = (
            cell.ljust(width) if is_text else cell.rjust(width)
            for cell, width, is_text in zip(line, widths, left, strict=True)
        )
        print("  ".join(padded).rstrip())


def _cell(value: object) -> str:
    """Figures to three digits, yes and NO for truth values, nothing for None."""
    if value is None:
        return ""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "NO"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _plain(value: object) -> object:
    """A NumPy scalar as JSON knows it."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} cannot be recorded")
