"""Run the tests with several versions of Python, or with the lowest versions of all packages.

    python tests/matrix/matrix.py                      # every Python, the newest packages
    python tests/matrix/matrix.py --floor              # the lowest Python, the lowest packages
    python tests/matrix/matrix.py --floor -- -x tests/tables

Each run has a copy of the tree and an environment in build/matrix, both made anew. Prints a line
for each; exits with 1 if anything failed. Needs nothing but the standard library.
"""

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from environments import BuildError, Environment
from floors import pythons, read_project
from interpreters import find_interpreter, version_of

# Not promised yet; tried where there is one.
UPCOMING = ("3.14",)
WIDTH = 160


def main() -> int:
    """The exit code."""
    options = _parse(sys.argv[1:])
    found = _interpreters(options.pythons, floor=options.floor)
    ran = [
        _run(version, interpreter, floor=options.floor, arguments=options.arguments)
        for version, interpreter in found
        if interpreter is not None
    ]
    for version, interpreter in found:
        if interpreter is None:
            print(f"Python {version}: MISSING, not tested; PYTHONS=/path/to/python names one")
    return 0 if ran and all(ran) else 1


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--floor", action="store_true", help="the lowest versions instead")
    parser.add_argument(
        "--pythons", default="", metavar='"A B"', help="interpreters [those that are found]"
    )
    parser.add_argument("arguments", nargs="*", metavar="-- ARGUMENT", help="passed to pytest")
    return parser.parse_args(arguments)


def _interpreters(named: str, *, floor: bool) -> list[tuple[str, Path | None]]:
    """Versions, with their interpreters where there are any."""
    if named:
        return [_named_interpreter(name) for name in named.split()]
    promised = pythons(read_project())
    wanted = promised[:1] if floor else (*promised, *UPCOMING)
    return [(version, find_interpreter(version)) for version in wanted]


def _named_interpreter(name: str) -> tuple[str, Path]:
    path = Path(shutil.which(name) or name).absolute()
    version = version_of(path)
    if version is None:
        sys.exit(f"{name}: no interpreter of Python that runs; check PYTHONS")
    return version, path


def _run(version: str, interpreter: Path, *, floor: bool, arguments: Sequence[str]) -> bool:
    """Whether every test passed."""
    environment = Environment(f"floor-{version}" if floor else version)
    label = f"Python {version}, {'lowest' if floor else 'newest'} packages"
    try:
        environment.build(interpreter, at_floor=floor)
        outcome = environment.test(arguments)
    except BuildError as failure:
        print(f"{label}: FAILED: {failure}", flush=True)
        return False
    print(f"{label} ({environment.versions()}): {outcome}", flush=True)
    for name in outcome.failed:
        print(f"  failed: {shorten(name)}", flush=True)
    return not outcome.failed


def shorten(name: str) -> str:
    """The name of a test on a line: parameters may be long."""
    return name if len(name) <= WIDTH else f"{name[: WIDTH - 3]}..."


if __name__ == "__main__":
    sys.exit(main())
