"""Nothing but `rows` and the kernels indexes or multiplies a matrix of rows."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.rows.mixed import MixedRows
from lrisk_cli.rows.rows import Rows

PACKAGE = Path(__file__).parents[2] / "lrisk_cli"
MODULES = [path for path in sorted(PACKAGE.rglob("*.py")) if path.parent.name != "rows"]

# Where rows are read or written as arrays, by package or module, and why.
EXEMPT = {
    # Arrays that are called X.
    "matrix": {
        "clusters": "distances are computed on dense rows",
        "models/cluster_model.py": "the rows of clusters",
        "evaluation/cluster_evaluation.py": "the rows that a page of clusters shows",
        "reports/cluster_plots.py": "the same",
        "design": "the matrix is written there; words about a few rows",
        "features/maps.py": "kernels of a few rows at a time",
        "features/gaussian.py": "the same",
        "features/polynomial.py": "the same",
        "features/fourier.py": "the same",
        "features/embedding.py": "values of a few rows at a time",
        "features/landmarks.py": "kernels of a sample",
        "library": "tables that users call X, as scikit-learn does",
        "outliers/reasons.py": "the few rows that are explained",
        "outliers/distance_reasons.py": "the same",
    },
    # Kernels that read or write a matrix of rows.
    "kernel": {
        "clusters": "distances are computed on dense rows",
        "design": "the matrix is written there",
        "features/gaussian.py": "kernels of a few rows at a time",
        "features/polynomial.py": "the same",
        "features/fourier.py": "the same",
    },
    # All rows as one array.
    "whole": {
        "clusters/clustering.py": "distances are computed on dense rows",
        "baselines/ransac.py": "scikit-learn takes arrays",
        "baselines/svm.py": "scikit-learn takes arrays",
        "features/nystroem.py": "every row is a landmark; they are few",
        "robust/judge.py": "at most 400 rows, which are compared with curves",
    },
    # Rows that are used as an array.
    "array": {"design/design.py": "`rows` of rows as read are their numbers"},
}
# What holds rows, by the names that variables have; and the name of their field.
HOLDERS = {"problem", "_problem", "design", "train", "test", "encoded", "planted", "features"}
FIELDS = {"rows", "phi"}
WORDS = {
    "matrix": "an array of rows called X",
    "kernel": "the kernel",
    "whole": "all rows as one array",
    "array": "rows used as an array",
}


def row_kernels() -> frozenset[str]:
    """Functions of `_core` with a parameter X."""
    found = set()
    for path in (PACKAGE / "native").glob("*.pxi"):
        for name, parameters in re.findall(r"^def (\w+)\(([^)]*)\)", path.read_text("utf-8"), re.M):
            if re.search(r"\bX\b", parameters):
                found.add(name)
    return frozenset(found)


KERNELS = row_kernels()


def is_exempt(module: str, rule: str) -> bool:
    return any(module == name or module.startswith(f"{name}/") for name in EXEMPT[rule])


def called(call: ast.Call) -> tuple[str, str]:
    """ "core", "scores" of `core.scores(...)`."""
    match call.func:
        case ast.Attribute(value=ast.Name(id=owner), attr=name):
            return owner, name
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return "", name
    return "", ""


def is_whole(call: ast.Call) -> bool:
    """`x.dense_rows(slice(None))`, or another slice without a start."""
    match call:
        case ast.Call(
            func=ast.Attribute(attr="dense_rows"),
            args=[ast.Call(func=ast.Name(id="slice"), args=[_]), *_],
        ):
            return True
    return False


def declared_rows(tree: ast.AST) -> frozenset[str]:
    """Parameters, fields and variables that are declared as rows, or made by an operation."""
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.arg(arg=name, annotation=ast.Name(id="Rows" | "DenseRows" | "MixedRows")):
                found.add(name)
            case ast.AnnAssign(
                target=ast.Name(id=name) | ast.Attribute(attr=name),
                annotation=ast.Name(id="Rows" | "DenseRows" | "MixedRows"),
            ):
                found.add(name)
            case ast.Assign(
                targets=[ast.Name(id=name) | ast.Attribute(attr=name)],
                value=ast.Call(func=ast.Name(id="DenseRows" | "MixedRows")),
            ):
                found.add(name)
    return frozenset(found - FIELDS)


def is_rows(node: ast.AST, parameters: frozenset[str]) -> bool:
    match node:
        case ast.Name(id=name):
            return name in parameters
        case ast.Attribute(value=ast.Name(id=holder) | ast.Attribute(attr=holder), attr=field):
            return holder in HOLDERS and field in FIELDS
        case ast.Call(func=ast.Attribute(attr="take", value=inner)):
            return is_rows(inner, parameters)
        case ast.Call(func=ast.Name(id="DenseRows" | "MixedRows")):
            return True
    return False


def uses_as_array(node: ast.AST) -> Iterator[ast.AST]:
    """What a node indexes, computes with, or hands to NumPy or a kernel."""
    match node:
        case ast.Subscript(value=value):
            yield value
        case ast.BinOp(left=left, right=right):
            yield from (left, right)
        case ast.AugAssign(target=target, value=value):
            yield from (target, value)
        case ast.Attribute(value=value, attr="T" | "dtype" | "_X"):
            yield value
        case ast.Call(args=args) if called(node)[0] in {"np", "core"} or called(node)[1] == "len":
            yield from args


def rows_in(function: ast.AST, outside: frozenset[str]) -> frozenset[str]:
    """Names that mean rows within a function: its own parameters hide those around it."""
    assert isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    every = function.args
    own = [*every.posonlyargs, *every.args, *every.kwonlyargs]
    typed = {each.arg for each in own if isinstance(each.annotation, ast.Name)
             and each.annotation.id in {"Rows", "DenseRows", "MixedRows"}}  # fmt: skip
    return (outside - {each.arg for each in own}) | frozenset(typed)


def walk(node: ast.AST, names: frozenset[str]) -> Iterator[tuple[ast.AST, frozenset[str]]]:
    """Every node with the names that mean rows where it stands."""
    yield node, names
    for child in ast.iter_child_nodes(node):
        inner = names
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            inner = rows_in(child, names)
        yield from walk(child, inner)


def trespasses(module: str, source: str) -> list[str]:
    """Uses of a matrix of rows that belong into `rows`, each with its line."""
    found = []
    tree = ast.parse(source)
    for node, names in walk(tree, declared_rows(tree) - parameters_of(tree)):
        line = getattr(node, "lineno", 0)
        match node:
            case ast.Attribute(attr="X") | ast.arg(arg="X"):
                found.append(("matrix", line, WORDS["matrix"]))
            case ast.Call() if called(node)[0] == "core" and called(node)[1] in KERNELS:
                found.append(("kernel", line, f"{WORDS['kernel']} {called(node)[1]}"))
            case ast.Call() if is_whole(node):
                found.append(("whole", line, WORDS["whole"]))
        found += [
            ("array", line, WORDS["array"]) for used in uses_as_array(node) if is_rows(used, names)
        ]
    return [f"{module}:{line}: {what}" for rule, line, what in found if not is_exempt(module, rule)]


def parameters_of(tree: ast.AST) -> frozenset[str]:
    """All names of parameters: whether they mean rows is known where their function begins."""
    return frozenset(node.arg for node in ast.walk(tree) if isinstance(node, ast.arg))


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_modules_ask_rows(path):
    assert trespasses(name_of(path), path.read_text("utf-8")) == []


@pytest.mark.parametrize(
    ("module", "source", "finding"),
    [
        ("solvers/a.py", "Z = problem.X @ W", "called X"),
        ("solvers/a.py", "n = len(self.problem.X)", "called X"),
        ("solvers/a.py", "def f(X: Array) -> Array: ...", "called X"),
        ("solvers/a.py", "core.row_norms(anything, norms)", "the kernel row_norms"),
        ("solvers/a.py", "core.sgd_steps(0, anything, y)", "the kernel sgd_steps"),
        ("features/features.py", "core.scores(some, W, Z)", "the kernel scores"),
        ("solvers/a.py", "X = problem.rows.dense_rows(slice(None))", "all rows as one array"),
        ("solvers/a.py", "X = design.rows.dense_rows(slice(n), 3)", "all rows as one array"),
        ("solvers/a.py", "x = problem.rows[0]", "rows used as an array"),
        ("solvers/a.py", "Z = self._problem.rows @ W", "rows used as an array"),
        ("solvers/a.py", "g = features.phi.T @ s", "rows used as an array"),
        ("solvers/a.py", "X = problem.rows._X", "rows used as an array"),
        ("solvers/a.py", "X = np.asarray(encoded.rows)", "rows used as an array"),
        ("solvers/a.py", "core.argsort(design.rows, order)", "rows used as an array"),
        ("solvers/a.py", "n = len(train.rows)", "rows used as an array"),
        ("solvers/a.py", "x = problem.rows.take(few)[0]", "rows used as an array"),
        ("solvers/a.py", "def f(rows: Rows): return rows[0]", "rows used as an array"),
        ("solvers/a.py", "def f(some: Rows): return lambda W: some @ W", "rows used as an array"),
        ("solvers/a.py", "some = DenseRows(x)\nsome[0]", "rows used as an array"),
        ("clusters/a.py", "def f(some: Rows): return some[0]", "rows used as an array"),
    ],
)
def test_an_array_of_rows_is_noticed(module, source, finding):
    found = trespasses(module, source)
    assert found
    assert all(finding in each for each in found)


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("solvers/a.py", "Z = problem.rows.margins(W) @ V"),
        ("solvers/a.py", "x = problem.rows.dense_rows(slice(0, 9))[0] @ W"),
        ("solvers/a.py", "x = tied.rows[0]"),
        ("solvers/a.py", "def f(rows: Index): return rows[0]\ndef g(rows: Rows): ..."),
        ("clusters/a.py", "def f(X: Array): core.nearest_centres(X)"),
    ],
)
def test_other_arrays_are_left_alone(module, source):
    assert trespasses(module, source) == []


def test_exemptions_are_needed():
    for rule, names in EXEMPT.items():
        for name in names:
            inside = [p for p in MODULES if name_of(p) == name or name_of(p).startswith(f"{name}/")]
            found = [
                finding
                for path in inside
                for finding in trespasses(f"elsewhere/{name_of(path)}", path.read_text("utf-8"))
            ]
            assert any(WORDS[rule] in finding for finding in found), f"{rule}: {name}"


def test_the_kernels_are_found():
    assert {"scores", "weighted_rows", "weighted_gram", "sgd_steps", "row_norms"} <= KERNELS
    assert "argsort" not in KERNELS


def test_rows_cannot_be_indexed_or_multiplied():
    array_like = {"__getitem__", "__len__", "__iter__", "__matmul__", "__rmatmul__", "__array__"}
    for kind in (Rows, DenseRows, MixedRows):
        assert not array_like & set(dir(kind))
