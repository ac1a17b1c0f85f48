"""Option groups become flags, help panels and values; examples of the help run."""

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import pytest
import typer
from typer.core import TyperCommand

from helpers.program import lrisk
from lrisk_cli.cli import COMMANDS, CommandLoader
from lrisk_cli.commands.configuring import command_function
from lrisk_cli.commands.options.declared import declared_options, only, vary, without
from lrisk_cli.commands.options.flattened import flattened
from lrisk_cli.commands.options.panels import PANELS
from lrisk_cli.commands.options.plain_values import PlainValues
from lrisk_cli.commands.options.spelling import spell_flag
from lrisk_cli.names import Missing
from lrisk_cli.options import argument, option
from lrisk_cli.solvers.registry import SOLVERS, load_solver

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    panel: ClassVar[str] = "Columns"

    files: tuple[str, ...] = argument(metavar="FILE", help="Files.")
    missing: Missing | None = option(help="What `rare_thing` is for.", shown="error")
    names: str | tuple[str, ...] | None = option(help="Names.", metavar="A,B", listed=True)
    several: tuple[str, ...] = option((), help="Several, such as `tab`.")
    id_column: str | None = option(name="id", help="Id.")
    count: int = option(3, help="Count.", minimum=1, short="-c")
    intercept: bool = option(True, help="Fit none.")
    rare_thing: float | None = option(help="Rare.", expert=True, panel="Model")


def run_command(command: object, *arguments: str) -> object:
    """What the command gets from these arguments."""
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(flattened(command))
    return typer.main.get_command(app).main(list(arguments), standalone_mode=False)


def plain(group: Group) -> Group:
    return group


def test_a_group_arrives_with_the_values_of_its_flags():
    assert run_command(plain, "a", "b") == Group(files=("a", "b"))
    flags = ["--missing", "drop", "--names", "x,y", "--several", "1", "--several", "2", "--id", "i"]
    flags += ["--names", "z"]
    flags += ["-c", "5", "--no-intercept", "--rare-thing", "0.5"]
    assert run_command(plain, "a", *flags) == Group(
        files=("a",),
        missing=Missing.DROP,
        names=("x,y", "z"),
        several=("1", "2"),
        id_column="i",
        count=5,
        intercept=False,
        rare_thing=0.5,
    )


def test_a_command_may_have_part_of_a_group_and_vary_the_rest():
    def part(
        group: Annotated[Group, only("files", "count", "names"), vary("count", default=7)],
    ) -> Group:
        return group

    def rest(group: Annotated[Group, without("count"), vary("id_column", required=True)]) -> Group:
        return group

    assert [each.key for each in declared_options(part)] == ["files", "count", "names"]
    assert run_command(part, "a") == Group(files=("a",), count=7)
    assert "count" not in {each.key for each in declared_options(rest)}
    with pytest.raises(Exception, match="Missing parameter: id"):
        run_command(rest, "a")


def test_options_between_backticks_become_flags_in_the_help():
    texts = {each.field: each.option.help for each in declared_options(plain)}
    assert texts["missing"] == "What --rare-thing is for."
    assert texts["several"] == "Several, such as `tab`."


def test_a_group_holds_while_its_command_runs():
    from lrisk_cli.tables.options import Files
    from lrisk_cli.tables.outputs import SPREADSHEET_SAFE

    def writes(files: Files) -> tuple[bool, bool]:
        return files.force, SPREADSHEET_SAFE.get()

    assert run_command(writes, "--spreadsheet-safe") == (False, True)
    assert run_command(writes, "--force") == (True, False)
    assert not SPREADSHEET_SAFE.get()


@pytest.mark.parametrize(
    ("option", "value", "flag"),
    [
        ("max_passes", None, "--max-passes"),
        ("clusters", None, "-k"),
        ("max_passes", 60, "--max-passes 60"),
        ("missing", Missing.DROP, "--missing drop"),
        ("id_column", "house", "--id house"),
        ("intercept", False, "--no-intercept"),
        ("nesterov", True, "--nesterov"),
        ("na_values", "?", "--na-values '?'"),
    ],
)
def test_sentences_spell_options_as_flags(option, value, flag):
    assert spell_flag(option, value) == flag


class Parsed(PlainValues, TyperCommand):
    """A command that takes plain values as they are."""


PARSED = [
    ["a"],
    ["a", "--count", "5"],
    ["a", "--count", " 5"],
    ["a", "--count", "0"],
    ["a", "--count", "1.5"],
    ["a", "--count", "many"],
    ["a", "--rare-thing", "1e-3"],
    ["a", "--rare-thing", "-2."],
    ["a", "--rare-thing", "inf"],
    ["a", "--rare-thing", "x"],
    ["a", "--missing", "drop"],
    ["a", "--missing", "DROP"],
    ["a", "--several", "", "--several", "1"],
    ["a", "--names", ""],
    ["", "b", "--no-intercept"],
    [],
]


@pytest.mark.parametrize("arguments", PARSED, ids=" ".join)
def test_plain_values_are_those_that_the_parser_would_give(arguments):
    outcomes = []
    for base in (TyperCommand, Parsed):
        app = typer.Typer(add_completion=False)
        app.command(cls=base)(flattened(plain))
        made = typer.main.get_command(app)
        made.declared = {each.word: each for each in declared_options(plain)}
        try:
            outcomes.append(made.main(list(arguments), standalone_mode=False))
        except Exception as error:
            outcomes.append((type(error), str(error)))
    assert outcomes[0] == outcomes[1]


# The commands


def command(name: str) -> object:
    return CommandLoader(name="lrisk").get_command(None, name)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_has_its_panels_in_order_and_fits_a_terminal(tmp_path, name):
    text = lrisk(tmp_path, name, "--help", env={"COLUMNS": "80"}).stdout
    assert max(map(len, text.splitlines())) <= 80
    found = [line[:-1] for line in text.splitlines() if re.fullmatch(r"[A-Z][a-z]+:", line)]
    assert found == [each for each in ("Arguments", *PANELS, "Examples") if each in found]
    assert text.count("  --verbose") == (name not in ("schema", "completion", "man"))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_a_help_text_and_a_panel(name):
    for each in declared_options(command_function(name)):
        assert each.option.help[:1].isupper() or each.option.help.partition(":")[0].islower()
        assert each.panel in PANELS


def test_an_option_is_declared_once_for_all_commands():
    declared = [each for name in COMMANDS for each in declared_options(command_function(name))]
    assert len(declared) > 200
    sources = sorted((ROOT / "lrisk_cli").rglob("*.py"))
    text = "\n".join(path.read_text("utf-8") for path in sources)
    assert "typer.Option(" in text
    assert text.count("typer.Option(") == 3  # the derivation, --config and --version


def test_option_groups_need_neither_typer_nor_numpy():
    modules = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in (ROOT / "lrisk_cli").glob("*/options.py")
    ]
    assert "lrisk_cli.design.options" in modules
    program = (
        f"import sys, importlib\nfor name in {modules!r}: importlib.import_module(name)\n"
        "print(sorted({'typer', 'numpy', 'pyarrow', 'scipy'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (0, "[]\n"), run.stderr


def examples_of(name: str) -> list[str]:
    """The examples in the help of a command, each on one line."""
    return re.sub(r"\\\n\s*", "", "\n".join(command(name).examples)).splitlines()


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """The samples, and the models that examples read."""
    made = tmp_path_factory.mktemp("examples")
    shutil.copytree(ROOT / "sample_data", made / "sample_data")
    wine = ["sample_data/wine_quality_red.csv", "--target", "quality", "--quiet"]
    clouds = ["sample_data/clouds.csv", "-k", "3", "--features", "x,y", "--quiet"]
    for arguments in (
        ["fit", *wine, "-o", "model.json"],
        ["fit", *wine, "--risk", "mean", "-o", "mean.json"],
        ["cluster", *clouds, "-o", "clusters.json"],
    ):
        run = lrisk(made, *arguments)
        assert run.returncode == 0, run.stderr
    return made


@pytest.mark.parametrize("name", COMMANDS)
def test_the_examples_of_a_command_run_on_the_samples(folder, tmp_path, name):
    examples = examples_of(name)
    assert len(examples) >= 2
    shutil.copytree(folder, tmp_path / "run")
    for path in ("model.json", "clusters.json"):
        if any(f"-o {path}" in example for example in examples):
            (tmp_path / "run" / path).unlink()
    program = Path(sys.executable).parent
    for example in examples:
        assert example.startswith(f"lrisk {name}")
        run = subprocess.run(
            ["sh", "-c", f"{program}/{example}"],
            cwd=tmp_path / "run",
            capture_output=True,
            text=True,
        )
        assert run.returncode == 0, f"{example}\n{run.stderr}"


def test_the_help_of_a_solver_option_names_the_solvers_that_use_it():
    texts = {each.field: each.option.help for each in declared_options(command_function("fit"))}
    found: dict[str, list[str]] = {}
    for name in sorted(SOLVERS):
        for field in load_solver(name).options - {"decay", "theory"}:
            found.setdefault(field, []).append(name.value)
    assert {"batch_size", "momentum", "sampling"} <= found.keys()
    for field, names in found.items():
        assert texts[field].removesuffix(".").endswith(f"({', '.join(names)})"), field
