"""The library stands without the command line."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "lrisk_cli"
OF_COMMAND_LINE = {"commands", "cli.py", "__main__.py"}


def library_modules() -> list[str]:
    """Dotted names of all modules that are not of the command line."""
    paths = [path.relative_to(ROOT).with_suffix("") for path in PACKAGE.rglob("*.py")]
    return sorted(
        ".".join(path.parts)
        for path in paths
        if path.parts[1] not in {name.removesuffix(".py") for name in OF_COMMAND_LINE}
    )


def loaded_by(statements: str) -> set[str]:
    program = f"import sys\n{statements}\nprint(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return set(run.stdout.split())


def test_no_module_of_the_library_loads_typer_or_a_command():
    modules = library_modules()
    assert "lrisk_cli.api.fit" in modules
    assert "lrisk_cli.reports.html" in modules
    loaded = loaded_by("\n".join(f"import {name}" for name in modules))
    assert loaded >= set(modules)
    assert not {name for name in loaded if name.split(".")[0] in ("typer", "click")}
    assert not {name for name in loaded if name.startswith("lrisk_cli.commands")}
    assert "lrisk_cli.cli" not in loaded


@pytest.mark.parametrize("name", ["fit", "predict", "evaluate"])
def test_a_call_loads_neither_pictures_nor_pages(name):
    loaded = loaded_by(f"import lrisk_cli.api.{name}")
    assert not {each.split(".")[0] for each in loaded} & {"matplotlib", "jinja2", "rich", "pandas"}
