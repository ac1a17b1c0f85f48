"""Run cases with a program and keep all that it prints and writes, as it is.

A recording is a folder: `case.json`, `1.stdout`, `1.stderr`, `1.exit` ... for the steps, and
`files/` with every file that was written.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from made import write_tables

from cases import REAL_DATA, SAMPLES, Case, Step

# What tells one build from another: the code of the package and the libraries that it computes by.
DESCRIBE = """
import hashlib, importlib.metadata, pathlib, platform, lrisk_cli
digest = hashlib.sha256()
folder = pathlib.Path(lrisk_cli.__file__).parent
for path in sorted(folder.rglob("*")):
    if path.suffix in (".py", ".so", ".html", ".css"):
        digest.update(str(path.relative_to(folder)).encode() + path.read_bytes())
print(digest.hexdigest())
print("python", platform.python_version())
for name in ("numpy", "scipy", "pyarrow", "msgspec", "scikit-learn"):
    try:
        print(name, importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        print(name, "absent")
"""
SECONDS = 300


@dataclass(frozen=True, slots=True)
class Program:
    """An installed lrisk. libraries: name and version of each."""

    path: Path
    code: str
    libraries: tuple[str, ...]

    @property
    def identity(self) -> str:
        """A short hash of the code and the libraries."""
        return hashlib.sha256("\n".join([self.code, *self.libraries]).encode()).hexdigest()[:16]


def describe_program(path: Path) -> Program:
    """The program at this path, which must be in the bin folder of a virtual environment."""
    path = Path(os.path.abspath(path))
    python = path.parent / "python"
    if not path.is_file() or not python.exists():
        sys.exit(f"{path}: no lrisk of a virtual environment; run `make build` there")
    command = [str(python), "-P", "-c", DESCRIBE]
    text = subprocess.run(command, check=True, capture_output=True, text=True, cwd="/").stdout
    code, *libraries = text.splitlines()
    return Program(path, code, tuple(libraries))


def record(
    program: Program, cases: Sequence[Case], folder: Path, *, n_jobs: int, reuse: bool
) -> None:
    """The recordings of the cases, one folder each. reuse: keep those made of the same case."""
    due = [case for case in cases if not (reuse and _is_recorded(folder / case.name, case))]
    if len(due) < len(cases):
        print(f"  {len(cases) - len(due)} of {len(cases)} cases were recorded before")
    with ThreadPoolExecutor(n_jobs) as pool:
        for case in pool.map(lambda case: _record_case(program, case, folder / case.name), due):
            if sys.stdout.isatty():
                print(f"\r  {case.name:60.60}", end="", flush=True)
    if sys.stdout.isatty() and due:
        print("\r" + " " * 62, end="\r")


def _is_recorded(folder: Path, case: Case) -> bool:
    try:
        made: dict[str, str] = json.loads((folder / "case.json").read_text("utf-8"))
    except FileNotFoundError:
        return False
    return made["key"] == case.key()


def _record_case(program: Program, case: Case, folder: Path) -> Case:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    with TemporaryDirectory(prefix="lrisk-same-") as scratch:
        work = Path(scratch) / "work"
        _prepare(work, case)
        for number, step in enumerate(case.steps, 1):
            _run_step(program, step, work, folder / str(number))
        _keep_files(work, folder / "files", {name for name, _ in case.files})
    # Written last: a recording that was interrupted is made again.
    (folder / "case.json").write_text(json.dumps({"key": case.key()}), "utf-8")
    return case


def _prepare(work: Path, case: Case) -> None:
    """Tables under short names that are the same everywhere, and the case's own files."""
    work.mkdir()
    write_tables(work.parent / "made")
    made = Path("../made")
    for name, target in [("samples", SAMPLES), ("real", REAL_DATA), ("made", made)]:
        (work / name).symlink_to(target)
    for name, text in case.files:
        (work / name).write_text(text, "utf-8")


def _run_step(program: Program, step: Step, work: Path, prefix: Path) -> None:
    stdin = (work / step.stdin).read_bytes() if step.stdin else b""
    done = subprocess.run(
        [program.path, *step.arguments],
        input=stdin,
        capture_output=True,
        cwd=work,
        env=_environment(work, step),
        timeout=SECONDS,
    )
    place = os.fsencode(os.path.realpath(work))
    for name, text in [("stdout", done.stdout), ("stderr", done.stderr)]:
        prefix.with_name(f"{prefix.name}.{name}").write_bytes(text.replace(place, b"SCRATCH"))
    prefix.with_name(f"{prefix.name}.exit").write_text(f"{done.returncode}\n")
    if step.stdout:
        (work / step.stdout).write_bytes(done.stdout)


def _environment(work: Path, step: Step) -> dict[str, str]:
    """No settings of the user, plain text of a fixed width, and the settings of the step."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    steady = {"TZ": "UTC", "LC_ALL": "C.UTF-8", "COLUMNS": "100", "NO_COLOR": "1"}
    return {**kept, **steady, "PWD": str(work), **dict(step.environment)}


def _keep_files(work: Path, kept: Path, given: set[str]) -> None:
    for path in sorted(work.rglob("*")):
        name = path.relative_to(work)
        if path.is_file() and name.parts[0] not in {"samples", "real", "made", *given}:
            (kept / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, kept / name)
