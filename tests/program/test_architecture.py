"""The rules of docs/architecture.md, checked against the code that must keep them."""

import ast
import re
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
import typer

from lrisk_cli.cli import COMMANDS, app

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "lrisk_cli"
OPEN_TO_ALL = {
    "colours",
    "__init__",
    "errors",
    "names",
    "options",
    "parameters",
    "progress",
    "types",
    "warnings",
}
MODULES = sorted(PACKAGE.rglob("*.py"))
KERNELS = sorted([*PACKAGE.glob("*.pyx"), *PACKAGE.rglob("*.pxi")])


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: packages that share the same permissions."""

    names: frozenset[str]
    may_import: frozenset[str]
    libraries: frozenset[str]


def quoted(cell: str) -> frozenset[str]:
    """The names between backticks."""
    return frozenset(re.findall(r"`([^`]+)`", cell))


def read_table(text: str) -> list[Row]:
    """The packages table of the document; "any" in the third column means every earlier row."""
    lines = iter(text.splitlines())
    header = next(line for line in lines if line.startswith("| package |"))
    assert header.count("|") == 5
    next(lines)
    rows: list[Row] = []
    for line in lines:
        if not line.startswith("|"):
            break
        names, _, imports, libraries = (cell.strip() for cell in line.strip("|").split("|"))
        earlier = frozenset().union(*(row.names for row in rows))
        may_import = earlier if imports == "any" else quoted(imports)
        assert may_import <= earlier, f"{names}: the table lets it import a later package"
        rows.append(Row(quoted(names), may_import, quoted(libraries)))
    return rows


TABLE = read_table((ROOT / "docs/architecture.md").read_text("utf-8"))
PERMISSIONS = {package: row for row in TABLE for package in row.names}


def package_of(path: Path) -> str:
    """The package that a file belongs to: its folder, or its own name."""
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(path.suffix) if first == path.name else first


PACKAGES = {package_of(path) for path in [*MODULES, *PACKAGE.glob("*.pyx")]}


def imported_names(path: Path, source: str) -> Iterator[str]:
    """Dotted names of all that is imported anywhere in the source, relative ones resolved."""
    package = ["lrisk_cli", *path.relative_to(PACKAGE).parts[:-1]]
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import():
                yield from (alias.name for alias in node.names)
            case ast.ImportFrom():
                above = package[: len(package) + 1 - node.level] if node.level else []
                base = ".".join([*above, *filter(None, [node.module])])
                yield from (f"{base}.{alias.name}" for alias in node.names)
            case ast.Call(func=ast.Name(id="import_module"), args=[ast.Constant(value=name)]):
                yield str(name)
            case ast.Call(
                func=ast.Name(id="import_module"),
                args=[ast.JoinedStr(values=[ast.Constant(value=prefix), *_])],
            ):
                yield str(prefix)


def trespasses(path: Path, source: str) -> list[str]:
    """Each import that the package's row does not permit."""
    package = package_of(path)
    found = []
    for name in imported_names(path, source):
        top, _, rest = name.partition(".")
        if top == "lrisk_cli":
            target = rest.split(".")[0]
            # `from lrisk_cli import __version__` names no package.
            target = target if target in PACKAGES else "__init__"
            allowed = {package, *PERMISSIONS[package].may_import}
            if package not in OPEN_TO_ALL:
                allowed |= OPEN_TO_ALL
            if target not in allowed:
                found.append(f"{package} imports the package {target}")
        elif top not in sys.stdlib_module_names and top not in PERMISSIONS[package].libraries:
            found.append(f"{package} imports the library {top}")
    return found


def test_the_table_lists_exactly_the_packages_that_exist():
    assert set(PERMISSIONS) == PACKAGES
    assert sum(len(row.names) for row in TABLE) == len(PERMISSIONS), "a package is listed twice"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_follow_the_table(path):
    assert trespasses(path, path.read_text("utf-8")) == []


@pytest.mark.parametrize(
    ("file", "source", "finding"),
    [
        ("cli.py", "import numpy", "cli imports the library numpy"),
        ("risk/a.py", "def f():\n    from scipy.linalg import solve", "the library scipy"),
        ("tables/table.py", "from lrisk_cli.models.model import Model", "the package models"),
        ("tables/table.py", "from lrisk_cli import models", "tables imports the package models"),
        ("tables/table.py", "from .. import models", "tables imports the package models"),
        ("solvers/lsvrg.py", "from ..commands.fit import fit", "the package commands"),
        ("solvers/lsvrg.py", "import lrisk_cli.cli", "the package cli"),
        ("cli.py", "import_module('lrisk_cli.risk.row_weights')", "cli imports the package risk"),
        ("tables/table.py", "import_module(f'lrisk_cli.commands.{name}')", "the package commands"),
        ("errors.py", "from lrisk_cli.names import Task", "errors imports the package names"),
    ],
)
def test_a_forbidden_import_is_noticed(file, source, finding):
    (trespass,) = trespasses(PACKAGE / file, source)
    assert finding in trespass


def module_name(path: Path) -> str:
    return ".".join(["lrisk_cli", *path.relative_to(PACKAGE).with_suffix("").parts])


def find_cycle(imports: Mapping[str, Collection[str]]) -> list[str]:
    """Some modules that import one another in a circle; empty if there are none."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def imports_within(package: str) -> dict[str, set[str]]:
    """What the modules of a package import from one another, at the top or inside functions."""
    paths = {module_name(path): path for path in MODULES if package_of(path) == package}
    found: dict[str, set[str]] = {}
    for module, path in paths.items():
        names = set(imported_names(path, path.read_text("utf-8")))
        parents = {name.rpartition(".")[0] for name in names}
        found[module] = ((names | parents) & paths.keys()) - {module}
    return found


@pytest.mark.parametrize("package", sorted(PACKAGES))
def test_no_package_imports_in_circles(package):
    assert find_cycle(imports_within(package)) == []


def test_a_circle_is_noticed():
    assert find_cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}})


def test_few_modules_lie_outside_of_packages():
    outside = {path.stem for path in PACKAGE.glob("*.py")}
    assert outside == {
        "__init__", "__main__", "cli", "colours", "errors", "names", "options", "parameters",
        "progress", "types", "warnings",
    }  # fmt: skip


@pytest.mark.parametrize("path", sorted((ROOT / "tests").rglob("*.py")), ids=lambda p: p.name)
def test_tests_import_nothing_from_other_tests(path):
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert not (node.module or "").split(".")[-1].startswith("test_")


def test_a_table_that_turns_back_is_refused():
    lines = ["| package | a | b | c |", "| --- | --- | --- | --- |"]
    lines += ["| `first` | | `second` | |", "| `second` | | | |"]
    with pytest.raises(AssertionError, match="later package"):
        read_table("\n".join(lines))


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.name)
def test_kernels_import_nothing_but_libc(path):
    text = re.sub(r'""".*?"""', "", path.read_text("utf-8"), flags=re.DOTALL)
    imports = re.findall(r"^\s*(?:from\s+(\S+)\s+)?c?import\s+(\S+)", text, flags=re.MULTILINE)
    names = {(source or name).split(".")[0] for source, name in imports}
    assert names <= {"libc", "cython"}


@pytest.mark.parametrize(
    "path", [*MODULES, *KERNELS], ids=lambda path: str(path.relative_to(PACKAGE))
)
def test_modules_stay_within_400_lines(path):
    assert len(path.read_text("utf-8").splitlines()) <= 400


def modules_loaded_by(*arguments: str) -> set[str]:
    """Top-level packages in a fresh interpreter after `lrisk ARGUMENTS`."""
    program = (
        "import sys; from lrisk_cli.cli import main\n"
        f"sys.argv = ['lrisk', *{arguments!r}]\n"
        "try:\n    main()\n"
        "except SystemExit as end:\n    assert not end.code, end.code\n"
        "print('loaded', *sorted({name.split('.')[0] for name in sys.modules}))\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    *_, last = run.stdout.splitlines()
    word, *loaded = last.split()
    assert word == "loaded"
    return set(loaded)


@pytest.mark.parametrize("arguments", [("--help",), ("--version",)])
def test_help_and_version_load_no_numpy(arguments):
    loaded = modules_loaded_by(*arguments)
    assert "lrisk_cli" in loaded
    assert not loaded & {"numpy", "scipy", "pyarrow", "matplotlib", "jinja2"}


def test_a_plain_fit_loads_nothing_that_takes_long():
    table = str(ROOT / "sample_data/simulated.csv")
    loaded = modules_loaded_by("fit", table, "--target", "y", "--quiet", "--seed", "3")
    assert "numpy" in loaded
    assert not loaded & {"scipy", "pandas", "pydantic", "rich", "matplotlib"}


def test_the_help_of_a_command_loads_no_numpy():
    loaded = modules_loaded_by("fit", "--help")
    assert "typer" in loaded
    assert not loaded & {"numpy", "pyarrow", "pydantic", "rich"}


def documentation() -> dict[str, str]:
    """The README and the manual pages, by name."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    return {page.name: page.read_text("utf-8") for page in pages}


def test_every_command_is_documented():
    text = "\n".join(documentation().values())
    offered = typer.main.get_command(app).commands
    assert "fit" in offered
    assert [name for name in offered if f"lrisk {name}" not in text] == []


def test_every_link_in_the_documentation_leads_somewhere():
    pages = [ROOT / "README.md", *ROOT.glob("C*.md"), *(ROOT / "docs").glob("*.md")]
    broken = [
        f"{page.name}: {link}"
        for page in [*pages, ROOT / "sample_data/README.md"]
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8"))
        if not (page.parent / link).exists()
    ]
    assert broken == []


def project_files() -> list[Path]:
    """Tracked files, and new ones that git would not ignore."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if listing.returncode:
        pytest.skip(f"{ROOT} is not a git checkout: {listing.stderr.strip()}")
    return [ROOT / name for name in listing.stdout.split("\0") if name]


# Spelled so that this file does not match itself.
UNFINISHED = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:work|root|home|tmp|Users)" r"/\w")
INDEX = re.compile(r"--(?:extra-)?index" r"-url|trusted" r"-host")


@pytest.mark.parametrize("pattern", [UNFINISHED, MACHINE_PATH, INDEX], ids=lambda p: p.pattern)
def test_project_files_are_finished_and_name_no_machine(pattern):
    found = []
    for path in project_files():
        # Pictures aside; and a removal may not be recorded yet.
        if path.suffix == ".png" or not path.is_file():
            continue
        text = path.read_bytes().decode("utf-8", errors="ignore")
        found += [f"{path.relative_to(ROOT)}: {hit.group()}" for hit in pattern.finditer(text)]
    assert found == []


def flags_spelled_in(source: str) -> list[str]:
    """Texts, docstrings aside, that name an option with its dashes."""
    tree = ast.parse(source)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
    }
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in docstrings
        and re.search(r"(?<![\w-])--[a-z]", node.value)
    ]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_the_command_line_spells_flags(path):
    # What spells options, and the program's own flags: --help, --version, --verbose.
    spelling = {"commands/options/spelling.py", "commands/shell_scripts.py", "cli.py"}
    if str(path.relative_to(PACKAGE)) not in spelling:
        assert flags_spelled_in(path.read_text("utf-8")) == []


# What a command is made of: options, one call, its rendering. Registries hold texts of the help.
OF_COMMANDS = {"api", "commands", "errors", "names", "reports", "tables"}
OF_OPTIONS = {"options", "registry"}
# They read a model file or print options, and have no call of their own.
WITHOUT_CALL = {"show", "schema", "config", "completion", "man"}


def computing_imports(path: Path, source: str) -> list[str]:
    """Modules that a command imports to compute; those for annotations alone aside."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = [ast.Pass()]
    names = [name.split(".") for name in imported_names(path, ast.unparse(tree))]
    return [
        ".".join(parts)
        for parts in names
        if parts[0] == "lrisk_cli" and parts[1] not in OF_COMMANDS and parts[2] not in OF_OPTIONS
    ]


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - WITHOUT_CALL))
def test_a_command_turns_options_into_one_call_and_renders(name):
    path = PACKAGE / "commands" / f"{name.replace('-', '_')}.py"
    source = path.read_text("utf-8")
    assert computing_imports(path, source) == []
    assert "UsageError" not in source


def test_a_command_that_computes_is_noticed():
    source = "def f():\n    from lrisk_cli.models.fitting import check_fit"
    assert computing_imports(PACKAGE / "commands/fit.py", source)
    under = "if TYPE_CHECKING:\n    from lrisk_cli.models.fitting import FitOptions"
    assert not computing_imports(PACKAGE / "commands/fit.py", under)


def test_a_flag_in_a_sentence_is_noticed():
    assert flags_spelled_in("def f(a):\n    '''Of --json.'''\n    return f'pass --force {a}'")
    assert not flags_spelled_in("def f(a):\n    '''Of --json.'''\n    return f'a--b {a}'")
