"""Run a file through the commands that read it, and hold each run to bounds."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from helpers.fork_server import Ending
from outside.readings import Reading

MOST_SECONDS = 10.0  # of CPU
MOST_BYTES = 10**9
LARGE_FILE = 10**7  # the two bounds above hold below this size
ALLOWED = (0, 1, 2, 3, 4)
ESCAPE = re.compile("[\x00-\x08\x0b-\x1f\x7f]")
SAMPLE = Path(__file__).parents[2] / "sample_data/wine_quality_red.csv"
SAMPLE_TARGET = "quality"
COMMANDS = ("fit", "evaluate", "detect-outliers", "cluster")
Measure = Callable[..., Ending]


@dataclass(frozen=True, slots=True)
class Run:
    """One command on one file. broken: the bounds that it broke, in words."""

    command: str
    code: int
    cpu_seconds: float
    peak_bytes: int
    sentence: str
    broken: tuple[str, ...] = field(default=())

    def as_document(self) -> dict[str, Any]:
        """For the JSON report."""
        return {key: value for key, value in asdict(self).items() if value not in ("", ())}


def run_commands(
    measure: Measure, folder: Path, path: Path, reading: Reading | None, options: Mapping[str, Any]
) -> list[Run]:
    """fit, evaluate with the model that it wrote, detect-outliers and cluster of a table.

    reading: what lrisk read, from which a target is chosen. options: of reading, as keywords.
    """
    model = folder / "model.json"
    model.unlink(missing_ok=True)
    target = choose_target(reading)
    table = [str(path), *_flags(options), "--quiet", "--json"]
    lenient = [*table, "--missing", "impute"]
    lines = {
        "fit": ["fit", *lenient, "--target", target, "--max-passes", "30", "-o", str(model)],
        "evaluate": ["evaluate", str(model), *table],
        "detect-outliers": ["detect-outliers", *lenient, "--target", target],
        "cluster": ["cluster", *lenient, "-k", "2", "--starts", "2", "--max-iterations", "20"],
    }
    runs = []
    for command in COMMANDS:
        if command == "evaluate" and not model.exists():
            continue
        runs.append(_run(measure, folder, path, command, lines[command]))
    return runs


def run_document(measure: Measure, folder: Path, path: Path) -> list[Run]:
    """A JSON file as a model, a TOML file as settings, with the wine sample as the table."""
    if path.suffix == ".toml":
        fit = ["fit", str(SAMPLE), "--target", SAMPLE_TARGET, "--dry-run", "--quiet"]
        lines = {"config": ["config"], "fit": fit}
        return [
            _run(measure, folder, path, name, [*line, "--config", str(path)])
            for name, line in lines.items()
        ]
    lines = {"show": ["show", str(path)], "evaluate": ["evaluate", str(path), str(SAMPLE)]}
    return [_run(measure, folder, path, name, line) for name, line in lines.items()]


def choose_target(reading: Reading | None) -> str:
    """The last column of numbers, else the last that is not nested; any name for a refused file."""
    columns = (reading.columns if reading is not None else None) or []
    for kinds in (("number",), ("date", "category")):
        names = [column.name for column in columns if column.kind in kinds]
        if names:
            return names[-1]
    return columns[-1].name if columns else "y"


def _flags(options: Mapping[str, Any]) -> list[str]:
    flags: list[str] = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        flags += [flag] if value is True else [f"{flag}={value}"]
    return flags


def _run(measure: Measure, folder: Path, path: Path, command: str, arguments: Sequence[str]) -> Run:
    ending = measure(folder, list(arguments))
    lines = ending.messages.strip().splitlines()
    sentence = lines[-1] if lines else ""
    return Run(
        command, ending.code, round(ending.cpu_seconds, 3), ending.peak_bytes,
        sentence if ending.code else "", tuple(_broken(ending, path, lines)),
    )  # fmt: skip


def _broken(ending: Ending, path: Path, lines: Sequence[str]) -> list[str]:
    broken = []
    if ending.code not in ALLOWED:
        broken.append(f"exit code {ending.code}")
    if ending.code in (2, 3, 4) and len(lines) != 1:
        broken.append(f"{len(lines)} lines of error instead of one sentence")
    if "Traceback" in ending.messages or "Warning:" in ending.messages:
        broken.append("a traceback or a warning of Python on standard error")
    if ESCAPE.search(ending.messages):
        broken.append("control characters on standard error")
    if path.stat().st_size < LARGE_FILE:
        if ending.cpu_seconds > MOST_SECONDS:
            broken.append(f"{ending.cpu_seconds:.1f} s of CPU")
        if ending.peak_bytes > MOST_BYTES:
            broken.append(f"{ending.peak_bytes / 1e6:.0f} MB of memory")
    return broken
