"""A copy of the working tree with an environment of its own, and the tests run in it."""

import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from floors import ROOT, extras, pins, read_project

FOLDER = ROOT / "build" / "matrix"
_SHOWN = ("numpy", "scipy", "pyarrow", "typer")


class BuildError(Exception):
    """A step before the tests failed; the message names it and its log."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Counts of tests, and the names of those that failed."""

    n_passed: int
    n_skipped: int
    failed: tuple[str, ...]
    seconds: float

    def __str__(self) -> str:
        counts = f"{self.n_passed} passed, {len(self.failed)} failed, {self.n_skipped} skipped"
        return f"{counts}, {self.seconds / 60:.1f} min"


@dataclass(frozen=True, slots=True)
class Environment:
    """A folder build/matrix/NAME: the files that git knows or would add, and .venv."""

    name: str

    @property
    def folder(self) -> Path:
        """Where the copy is."""
        return FOLDER / self.name

    @property
    def python(self) -> Path:
        """The interpreter of the environment."""
        return self.folder / ".venv" / "bin" / "python"

    @property
    def log(self) -> Path:
        """What the steps and the tests have printed."""
        return FOLDER / f"{self.name}.log"

    def build(self, interpreter: Path, *, at_floor: bool) -> None:
        """Anew: the copy, the packages at their newest or lowest versions, the kernels."""
        _copy_tree(self.folder)
        self.log.write_text("")
        self._step("venv", [interpreter, "-m", "venv", self.folder / ".venv"])
        install = [self.python, "-m", "pip", "install", "--disable-pip-version-check"]
        project = f".[{','.join(extras(read_project()))}]"
        if at_floor:
            (self.folder / "floors.txt").write_text(pins(read_project()))
            self._step("pip", [*install, "--requirement", "floors.txt"])
            # Isolated, the build would use the newest setuptools and Cython.
            install += ["--no-build-isolation", "--constraint", "floors.txt"]
        self._step("pip", [*install, "--editable", project])
        self._step("pip check", [self.python, "-m", "pip", "check"])

    def versions(self) -> str:
        """The versions of the packages that results depend on most."""
        code = "import sys\nfrom importlib.metadata import version\nfor name in sys.argv[1:]:\n"
        code += "    print(name, version(name), end=', ' if name != sys.argv[-1] else '')"
        command = [self.python, "-c", code, *_SHOWN]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def test(self, arguments: Sequence[str]) -> Outcome:
        """Run pytest with these arguments."""
        report = self.folder / "build" / "report.xml"
        command = [self.python, "-m", "pytest", "-q", f"--junitxml={report}", *arguments]
        with self.log.open("ab") as log:
            done = subprocess.run(command, cwd=self.folder, stdout=log, stderr=log)
        outcome = read_report(report) if report.exists() else None
        # Other codes: no test was found, or pytest itself failed.
        if outcome is None or (done.returncode not in (0, 1) and not outcome.failed):
            raise BuildError(f"pytest ran no tests; see {self.log.relative_to(ROOT)}")
        return outcome

    def _step(self, name: str, command: Sequence[str | Path]) -> None:
        with self.log.open("ab") as log:
            done = subprocess.run(command, cwd=self.folder, stdout=log, stderr=log)
        if done.returncode:
            raise BuildError(f"{name} failed; see {self.log.relative_to(ROOT)}")


def read_report(path: Path) -> Outcome:
    """The outcome that a JUnit report of pytest states; an error in a fixture is a failure."""
    (suite,) = ElementTree.parse(path).getroot().iter("testsuite")
    failed = tuple(
        f"{case.get('classname')}::{case.get('name')}"
        for case in suite.iter("testcase")
        if case.find("failure") is not None or case.find("error") is not None
    )
    n_skipped = int(suite.get("skipped", "0"))
    n_passed = int(suite.get("tests", "0")) - n_skipped - len(failed)
    return Outcome(n_passed, n_skipped, failed, float(suite.get("time", "0")))


def _copy_tree(folder: Path) -> None:
    """Compiled kernels of another environment stay behind: git ignores them."""
    shutil.rmtree(folder, ignore_errors=True)
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, set(listed.split("\0"))):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    # Tests look for the real tables beside the project.
    real, link = ROOT.parent / "shared", FOLDER / "shared"
    if real.is_dir() and not link.is_symlink():
        link.symlink_to(real)
