"""Build a commit of this repository in a folder of its own, once."""

import hashlib
import os
import subprocess
import sys
import tarfile
from io import BytesIO
from pathlib import Path

from cases import ROOT

FOLDER = ROOT / "build" / "same"


def build_commit(commit: str) -> Path:
    """The program of the commit, built if need be with the libraries of the working tree."""
    name = _git("rev-parse", "--short=12", f"{commit}^{{commit}}").decode().strip()
    folder = FOLDER / name
    libraries = _libraries()
    program, built = folder / "venv" / "bin" / "lrisk", folder / "built"
    wanted = hashlib.sha256(libraries.encode()).hexdigest()
    if program.exists() and built.exists() and built.read_text() == wanted:
        return program
    print(f"building {name} in {folder.relative_to(ROOT)}", flush=True)
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=BytesIO(_git("archive", name))) as archive:
        archive.extractall(folder / "source", filter="data")
    (folder / "libraries.txt").write_text(libraries)
    _install(folder)
    built.write_text(wanted)
    return program


def _install(folder: Path) -> None:
    venv = folder / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--clear", venv], check=True)
    pip = [
        str(venv / "bin" / "python"),
        "-m",
        "pip",
        "install",
        "-qq",
        "--disable-pip-version-check",
    ]
    subprocess.run(
        [*pip, f"{folder / 'source'}[sklearn]"],
        check=True,
        env={**os.environ, "PIP_CONSTRAINT": str(folder / "libraries.txt")},
    )


def _libraries() -> str:
    """The versions that the working tree runs with, as constraints for pip."""
    command = [sys.executable, "-m", "pip", "freeze", "--exclude-editable"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return "".join(f"{line}\n" for line in text.splitlines() if "==" in line)


def _git(*arguments: str) -> bytes:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True)
    if done.returncode:
        sys.exit(f"git {arguments[0]}: {done.stderr.decode().strip()}")
    return done.stdout
