"""Kill commands at random moments, again and again: files must be those of before or of after.

    python tests/torture.py --kills 500 --seed 0

The commands run in forks of a process that has loaded everything, so that most of a run is work.
Every other kill waits for a file in the making, and strikes up to some milliseconds later.
"""

import argparse
import csv
import os
import random
import signal
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.csv

from helpers.forks import load_everything, start

N_ROWS = 4000
FIT = ["fit", "t.csv", "--target", "y", "--quiet", "--force", "--max-passes", "20"]
FIT += ["-o", "model.json", "--losses", "losses.csv", "--trace", "trace.csv"]
EVALUATE = ["evaluate", "kept.json", "t.csv", "--quiet", "--force", "--losses", "evaluated.csv"]
DETECT = ["detect-outliers", "t.csv", "--model", "kept.json", "--quiet", "--force"]
DETECT += ["-o", "outliers.csv", "--contamination"]


@dataclass(frozen=True, slots=True)
class Work:
    """A command in two versions, which write the same files with different contents."""

    before: list[str]
    after: list[str]
    files: tuple[str, ...]


WORKS = (
    Work([*FIT, "--risk", "mean"], [*FIT, "--risk", "superquantile:0.8"],
         ("model.json", "losses.csv", "trace.csv")),
    Work([*EVALUATE, "--id", "a"], [*EVALUATE, "--id", "b"], ("evaluated.csv",)),
    Work([*DETECT, "0.1"], [*DETECT, "0.2"], ("outliers.csv",)),
)  # fmt: skip


def write_table(folder: Path) -> None:
    """Rows with two ids that differ."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_ROWS, 3))
    y = X @ [1.0, -2.0, 0.5] + rng.standard_t(3, N_ROWS)
    columns = {f"x{k}": column for k, column in enumerate(X.T)}
    ids = {"a": np.arange(N_ROWS), "b": np.arange(N_ROWS) + 10_000}
    pyarrow.csv.write_csv(pa.table({**columns, "y": y, **ids}), folder / "t.csv")


def finish(folder: Path, arguments: list[str]) -> float:
    """Run to the end; the seconds it took."""
    began = time.monotonic()
    _, status = os.waitpid(start(folder, arguments, None), 0)
    if status:
        raise SystemExit(f"torture: lrisk {' '.join(arguments)} ended with {status:#x}")
    return time.monotonic() - began


def contents(folder: Path, work: Work) -> dict[str, object]:
    """What the files hold; of a trace, all but the seconds, which no run repeats."""
    return {name: read(folder / name) for name in work.files}


def read(path: Path) -> object:
    data = path.read_bytes()
    if path.name != "trace.csv":
        return data
    rows = list(csv.reader(data.decode().splitlines()))
    return data.endswith(b"\n"), [[cell for k, cell in enumerate(row) if k != 1] for row in rows]


def kill(folder: Path, work: Work, seconds: float, moment: random.Random, *, aim: bool) -> bool:
    """Start the command and kill it; whether it was still alive. aim: while it writes."""
    names = set(os.listdir(folder))
    child, began = start(folder, work.after, None), time.monotonic()
    wait = moment.uniform(0.0, 0.004 if aim else seconds)
    while aim and time.monotonic() - began < 3.0 * seconds:
        if set(os.listdir(folder)) - names:
            break
        time.sleep(0.0005)
    time.sleep(wait)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def clear(folder: Path, expected: set[str]) -> int:
    """Remove what a killed command cannot: hidden temporary files. Anything else is a fault."""
    debris = set(os.listdir(folder)) - expected
    for name in debris:
        if not name.startswith(".lrisk-"):
            raise SystemExit(f"torture: a killed command left {name}")
        os.unlink(folder / name)
    return len(debris)


def torture(folder: Path, work: Work, n_kills: int, moment: random.Random) -> Counter[str]:
    """Kill the command so often; SystemExit at the first file that is neither old nor new."""
    tally: Counter[str] = Counter()
    seconds = finish(folder, work.after)
    after = contents(folder, work)
    finish(folder, work.before)
    before, bytes_before = (
        contents(folder, work),
        {name: (folder / name).read_bytes() for name in work.files},
    )
    if any(before[name] == after[name] for name in work.files):
        raise SystemExit("torture: the two versions of a file do not differ")
    expected = set(os.listdir(folder))
    for k in range(n_kills):
        tally["killed"] += kill(folder, work, seconds, moment, aim=k % 2 == 0)
        tally["in the middle of a write"] += clear(folder, expected)
        for name, found in contents(folder, work).items():
            if found not in (before[name], after[name]):
                raise SystemExit(f"torture: {name} is torn after {k + 1} kills")
            tally["new files"] += found == after[name]
            tally["old files"] += found == before[name]
        for name, data in bytes_before.items():
            (folder / name).write_bytes(data)
    return tally


def main() -> None:
    """Divide the kills among the commands and report."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    load_everything()
    moment, total = random.Random(asked.seed), Counter[str]()
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_table(folder)
        finish(folder, ["fit", "t.csv", "--target", "y", "--exclude", "a,b", "--quiet",
                        "-o", "kept.json"])  # fmt: skip
        for k, work in enumerate(WORKS):
            share = asked.kills // len(WORKS) + (k < asked.kills % len(WORKS))
            total += torture(folder, work, share, moment)
    said = ", ".join(f"{count} {what}" for what, count in total.items())
    print(f"{asked.kills} runs: {said}; no file was torn or lost")


if __name__ == "__main__":
    sys.exit(main())
