"""No pickle, eval or shell in the package, and files made in few places: read off its source."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "lrisk_cli"
MODULES = sorted(PACKAGE.rglob("*.py"))
KERNELS = sorted([*PACKAGE.glob("*.pyx"), *PACKAGE.glob("*.pxi"), *PACKAGE.glob("*.h")])

# They run what they read, start programs, or load machine code.
MODULES_THAT_RUN = {
    "_pickle", "cPickle", "cffi", "cloudpickle", "code", "codeop", "commands", "copyreg", "ctypes",
    "dbm", "dill", "imp", "joblib", "marshal", "multiprocessing", "pexpect", "pickle",
    "pickletools", "popen2", "pty", "runpy", "sh", "shelve", "subprocess", "yaml",
}  # fmt: skip
NAMES_THAT_RUN = {"__import__", "breakpoint", "compile", "eval", "exec", "execfile", "input"}
ATTRIBUTES_THAT_RUN = re.compile(
    r"os\.(system|popen|startfile|fork|forkpty|exec\w+|spawn\w+|posix_spawn\w*)"
    r"|builtins\.\w+|.*\.(to_pickle|read_pickle|loads_pickle|create_subprocess_\w+|eval|query)"
    r"|(np|numpy)\.(load|fromregex|lib)|types\.(CodeType|FunctionType)"
)
# `from os import system` and the like.
PARTS_THAT_RUN = {"system", "popen", "fork", "create_subprocess_shell", "create_subprocess_exec"}
KEYWORDS_THAT_RUN = {"shell", "allow_pickle"}


def dangers(source: str) -> Iterator[str]:
    """Each place of the source that could run data, or a shell."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import():
                names = [alias.name for alias in node.names]
            case ast.ImportFrom():
                names = [node.module or "", *(alias.name for alias in node.names)]
            case ast.Name(id=name) if name in NAMES_THAT_RUN:
                yield name
                continue
            case ast.Attribute() if ATTRIBUTES_THAT_RUN.fullmatch(ast.unparse(node)):
                yield ast.unparse(node)
                continue
            case ast.Call():
                yield from (k.arg for k in node.keywords if k.arg in KEYWORDS_THAT_RUN)
                yield from _imported_by_name(node)
                continue
            case _:
                continue
        runs = MODULES_THAT_RUN if isinstance(node, ast.Import) or not node.level else set()
        yield from (name for name in names if name.split(".")[0] in runs | PARTS_THAT_RUN)


def _imported_by_name(call: ast.Call) -> Iterator[str]:
    """import_module of anything but a module of this package."""
    if not ast.unparse(call.func).endswith("import_module"):
        return
    match call.args:
        case [ast.Constant(value=str(name))] | [
            ast.JoinedStr(values=[ast.Constant(value=str(name)), *_])
        ] if name.startswith("lrisk_cli."):
            return
    yield ast.unparse(call)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_nothing_runs_what_it_reads(path):
    assert list(dangers(path.read_text("utf-8"))) == []


@pytest.mark.parametrize(
    "source",
    [
        "import pickle", "import os, marshal", "from joblib import load", "from os import system",
        "def f():\n    import subprocess as s", "import pickle.Unpickler", "import multiprocessing",
        "eval(x)", "map(exec, x)", "compile (x, '', 'exec')", "__import__(x)", "f = eval",
        "os.system(x)", "os.popen(x)", "os.execvp(x, y)", "os.posix_spawn(x, y, z)",
        "run(x, shell=True)", "np.load(x)", "read(x, allow_pickle=flag)", "frame.eval(x)",
        "import_module(name)", "importlib.import_module(f'{name}.lrisk_cli.')", "builtins.exec",
    ],
)  # fmt: skip
def test_a_danger_is_noticed(source):
    assert list(dangers(source))


@pytest.mark.parametrize(
    "source",
    [
        "re.compile(x)", "evaluate(x)", "from . import code", "'pickle'", "json.load(x)",
        "import_module(f'lrisk_cli.commands.{word}')",
        "from lrisk_cli.models.loading import load_model",
    ],
)  # fmt: skip
def test_what_only_sounds_like_a_danger_is_none(source):
    assert list(dangers(source)) == []


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.name)
def test_kernels_start_nothing(path):
    called = re.findall(r"\b(system|popen|exec\w*|fork|dlopen|eval|fopen)\s*\(", path.read_text())
    assert called == []


# Writing

# Where files are made, and by what name: that of an option or a variable, never a cell.
WRITERS = {
    "tables/outputs.py": "the name of an output, and a random name beside it",
    "tables/places.py": "folders of an output that are missing",
    "commands/gate_results.py": "the summary that GitHub names in a variable",
    "reports/figures.py": "a picture in memory",
    "cli.py": "the null device",
    "tables/sources.py": "a spool of standard input that has no name",
    "tables/small_files.py": "nothing: opened for reading only, whatever it is",
    "commands/streams.py": "the null device",
}
CALLS_THAT_WRITE = re.compile(
    r"os\.(open|replace|rename|renames|unlink|remove|mkdir|makedirs|rmdir|link|symlink|truncate)"
    r"|tempfile\.\w+|shutil\.\w+|.*\.(write_text|mkdir|touch|unlink|rename|symlink_to|hardlink_to)"
    r"|.*\.(savefig|tofile|savez?|to_csv|write_feather|ParquetWriter|OSFile|output_stream)"
    r"|(np|numpy)\.(save\w*|memmap)|pq\.write_table"
)


def writes(source: str) -> list[str]:
    """Each call of the source that makes, renames or removes a file."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return [
        ast.unparse(call)
        for call in calls
        if CALLS_THAT_WRITE.fullmatch(ast.unparse(call.func))
        or (ast.unparse(call.func) in ("open", "io.open") and not _reads(call))
    ]


def _reads(call: ast.Call) -> bool:
    """Whether an `open` is for reading, whatever its name."""
    modes = [*call.args[1:2], *(k.value for k in call.keywords if k.arg == "mode")]
    return [ast.unparse(mode) for mode in modes] in (["'rb'"], ["'r'"], [])


def test_files_are_made_in_few_places():
    found = {
        path.relative_to(PACKAGE).as_posix() for path in MODULES if writes(path.read_text("utf-8"))
    }
    assert found == set(WRITERS)


@pytest.mark.parametrize(
    "source",
    ["open(x, 'w')", "open(x, mode=m)", "Path(x).write_text(y)", "os.replace(x, y)",
     "figure.savefig(x)", "shutil.rmtree(x)", "np.save(x, y)", "path.parent.mkdir()"],
)  # fmt: skip
def test_a_file_that_is_made_is_noticed(source):
    assert writes(source)
    assert writes("open(x, 'rb').read(); stream.write(x); os.path.join(x, y)") == []
