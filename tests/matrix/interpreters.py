"""Interpreters of the wanted versions of Python, wherever this machine has them."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

_TELL_VERSION = "import sys; print('%d.%d' % sys.version_info[:2])"


def find_interpreter(version: str) -> Path | None:
    """An interpreter of this version ("3.12") that runs: of PATH, else the newest of pyenv."""
    return next((each for each in _candidates(version) if version_of(each) == version), None)


def version_of(interpreter: Path) -> str | None:
    """Its version, "3.12"; None for what does not run, as a shim of pyenv may not."""
    command = [interpreter, "-c", _TELL_VERSION]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _candidates(version: str) -> Iterator[Path]:
    for name in (f"python{version}", "python3", "python"):
        found = shutil.which(name)
        if found:
            yield Path(found)
    versions = Path(os.environ.get("PYENV_ROOT") or "~/.pyenv").expanduser() / "versions"
    releases = [
        path for path in versions.glob(f"{version}.*") if path.name[len(version) + 1 :].isdigit()
    ]
    for path in sorted(releases, key=lambda path: int(path.name.rpartition(".")[2]), reverse=True):
        yield path / "bin" / f"python{version}"
