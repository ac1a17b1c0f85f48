"""How long do whole commands take on four real tables?

Bound: none; gaps are those that the fits proved within the time limit.

Data: adult, diabetes_readmission, acs_employment_ma and nyc_flights_2013 of the real tables.

`as it is`: `--missing impute` where the first error asks for it, nothing else. `careful`: what the
notes and the documentation of the tables ask for: identifiers and columns that reveal the target
excluded, codes as categories, dates in parts. Everything runs on one thread. A fit stops after
--time-limit seconds; a command that takes much longer is stopped and its figures are empty.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.common.data import REAL_DATA, is_missing
from benchmarks.common.record import make_parser, start
from benchmarks.common.timing import ONE_THREAD

PATIENCE = 900.0
IMPUTE = ("--missing", "impute")


@dataclass(frozen=True, slots=True)
class Case:
    """A table and the rows to evaluate on, the options of both ways, and the risk of a careful fit.

    Tail risks of classes are often best served by even odds, as a note says.
    """

    train: str
    test: str
    target: str
    as_is: tuple[str, ...]
    careful: tuple[str, ...]
    risk: str = "extremile:2"


CASES = {
    "adult": Case(
        "adult/train.parquet",
        "adult/test.parquet",
        "income",
        IMPUTE,
        # fnlwgt is a weight of the survey; education_num tells what education tells.
        (*IMPUTE, "--exclude", "fnlwgt,education_num", "--unseen", "other"),
    ),
    "diabetes": Case(
        "diabetes_readmission.parquet",
        "diabetes_readmission.parquet",
        "readmitted",
        IMPUTE,
        (
            *IMPUTE,
            "--exclude", "encounter_id,patient_nbr,weight,examide,citoglipton",
            "--dtype", "admission_type_id,discharge_disposition_id,admission_source_id=category",
        ),
    ),
    "acs": Case(
        "acs_employment_ma.parquet",
        "acs_employment_ma.parquet",
        "employed",
        (),
        (
            "--exclude", "year",
            "--dtype", "schl,mar,relp,esp,cit,mig,mil,anc,drem,rac1p=category",
        ),
    ),
    "flights": Case(
        "nyc_flights_2013.parquet",
        "nyc_flights_2013.parquet",
        "arr_delay",
        IMPUTE,
        (
            "--missing", "drop", "--dates", "parts",
            "--features", "time_hour,carrier,origin,dest,distance",
        ),
        risk="superquantile:0.9",
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Run:
    """How a process ended. document: what it printed, None where it was ended."""

    seconds: float
    cpu_seconds: float
    peak_mb: float
    document: dict[str, Any] | None


def run(arguments: list[str], folder: Path) -> Run:
    """Run `lrisk ARGUMENTS --json --quiet` on one thread."""
    start = time.perf_counter()
    with (folder / "document").open("w+b") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "lrisk_cli", *arguments, "--json", "--quiet"],
            stdout=output,
            cwd=folder,
            env={**os.environ, **ONE_THREAD},
        )
        watch = threading.Timer(PATIENCE, process.send_signal, [signal.SIGTERM])
        watch.start()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        watch.cancel()
        seconds = time.perf_counter() - start
        output.seek(0)
        text = output.read()
    if process.returncode not in (0, -signal.SIGTERM, 128 + signal.SIGTERM):
        raise SystemExit(f"lrisk {' '.join(arguments)} ended with {process.returncode}")
    document = json.loads(text) if process.returncode == 0 else None
    return Run(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000.0, document)


def measure(name: str, case: Case, way: str, limit: float, folder: Path) -> list[dict[str, object]]:
    """The three commands, one after the other, on one table."""
    options = list(case.careful if way == "careful" else case.as_is)
    train, test = str(REAL_DATA / case.train), str(REAL_DATA / case.test)
    target = ["--target", case.target]
    limited = ["--time-limit", f"{limit:g}"]
    limited += ["--risk", case.risk] if way == "careful" else []
    model = ["-o", "model.json", "--force"]
    commands = {
        "fit": ["fit", train, *target, *options, *limited, *model],
        "evaluate": ["evaluate", "model.json", test],
        "detect-outliers": ["detect-outliers", train, *target, *options],
    }
    rows: list[dict[str, object]] = []
    for command, arguments in commands.items():
        done = run(arguments, folder)
        told = done.document or {}
        rows.append(
            {
                "case": f"{name}, {way}, {command}",
                "seconds": done.seconds,
                "cpu s": done.cpu_seconds,
                "peak MB": done.peak_mb,
                "gap": told.get("fit", {}).get("gap") if command == "fit" else None,
                "rows used": told.get("rows", {}).get("used"),
                "outliers": told.get("n_outliers"),
            }
        )
        print(f"{rows[-1]['case']}: {done.seconds:.1f} s", file=sys.stderr)
    return rows


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--only", choices=[*CASES], help="one table; records nothing")
    parser.add_argument("--way", choices=["as it is", "careful"], help="one way; records nothing")
    parser.add_argument("--time-limit", type=float, default=120.0, help="seconds of a fit")
    options = parser.parse_args()
    benchmark = start("speed/real", options, whole=not (options.only or options.way))
    if is_missing():
        return
    ways = [options.way] if options.way else ["as it is", "careful"]
    with tempfile.TemporaryDirectory() as folder:
        rows = [
            row
            for name in ([options.only] if options.only else CASES)
            for way in ways
            for row in measure(name, CASES[name], way, options.time_limit, Path(folder))
        ]
    benchmark.finish(rows)


if __name__ == "__main__":
    main()
