"""The lowest versions that pyproject.toml allows, as pins for pip.

    python tests/matrix/floors.py > floors.txt

Every requirement is `name>=version`, so that its lowest version is the one it states; what these
packages require in turn is left to pip.
"""

import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
_REQUIREMENT = re.compile(r"(?P<name>[A-Za-z0-9][\w.-]*)\s*>=\s*(?P<version>\d+(\.\d+)*)")
_CLASSIFIER = re.compile(r"Programming Language :: Python :: (3\.\d+)")


def read_project(root: Path = ROOT) -> dict[str, Any]:
    """The contents of pyproject.toml."""
    return tomllib.loads((root / "pyproject.toml").read_text())


def extras(project: dict[str, Any]) -> tuple[str, ...]:
    """The names of the groups of optional requirements."""
    return tuple(project["project"].get("optional-dependencies", {}))


def requirements(project: dict[str, Any]) -> list[str]:
    """All that is required: to build, to run, by any extra."""
    optional = project["project"].get("optional-dependencies", {})
    return [
        *project["build-system"]["requires"],
        *project["project"]["dependencies"],
        *(each for name in extras(project) for each in optional[name]),
    ]


def floors(required: Iterable[str]) -> dict[str, str]:
    """The lowest version of each package that all its requirements allow.

    ValueError where a requirement is not `name>=version`: its floor would be a guess.
    """
    lowest: dict[str, str] = {}
    for requirement in required:
        found = _REQUIREMENT.fullmatch(requirement)
        if found is None:
            raise ValueError(f"pyproject.toml, {requirement!r}: not of the form name>=version")
        name, version = found["name"].lower(), found["version"]
        if name not in lowest or _order(lowest[name]) < _order(version):
            lowest[name] = version
    return lowest


def pins(project: dict[str, Any]) -> str:
    """Lines `name==version` for pip."""
    lowest = floors(requirements(project))
    return "".join(f"{name}=={version}\n" for name, version in lowest.items())


def pythons(project: dict[str, Any]) -> tuple[str, ...]:
    """The versions of Python that the classifiers promise, lowest first."""
    found = map(_CLASSIFIER.fullmatch, project["project"]["classifiers"])
    return tuple(sorted((each[1] for each in found if each), key=_order))


def _order(version: str) -> tuple[int, ...]:
    """Versions compare as numbers; trailing zeros do not count."""
    return tuple(map(int, re.sub(r"(\.0)+$", "", version).split(".")))


if __name__ == "__main__":
    print(pins(read_project()), end="")
