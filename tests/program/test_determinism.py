"""The same rows give the same bytes, however they are stored, split, batched or shuffled."""

import csv
import json
import re
import signal
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

from helpers.program import without_places
from lrisk_cli.cli import run
from lrisk_cli.native import threads
from lrisk_cli.tables import csv_files
from lrisk_cli.tables import table as tables

WITH_THREADS = ("fit", "detect-outliers", "quantile-report")
N_ROWS = 230
N_PARTS = 10


def make_rows() -> pa.Table:
    """Numbers, codes, categories and dates, a few of them missing; every third row is twice there,
    so that losses tie."""
    rng = np.random.default_rng(5)
    area = np.round(100.0 + 30.0 * rng.standard_normal(N_ROWS), 3)
    color = rng.choice(["blue", "green", 'dark "red"', "grün, hell"], N_ROWS)
    noise = rng.standard_t(2, N_ROWS)
    columns = {
        "area": area,
        "rooms": rng.integers(1, 9, N_ROWS),
        "color": color,
        "built": np.datetime64("1990-01-01") + rng.integers(0, 9000, N_ROWS),
        "price": 50.0 + 2.0 * area + 10.0 * (color == "blue") + 5.0 * noise,
        "sold": np.where(area + 20.0 * noise > 100.0, "yes", "no"),
        "kind": np.array(["flat", "house", "villa"])[np.digitize(area + 10.0 * noise, [90, 120])],
    }
    twice = np.where(np.arange(N_ROWS) % 3 == 1, np.arange(N_ROWS) - 1, np.arange(N_ROWS))
    made = {name: pa.array(np.asarray(values)[twice]) for name, values in columns.items()}
    for name, step in (("area", 17), ("color", 19), ("built", 43)):
        # In the first part only at its end, in some parts not at all.
        holes = (np.arange(N_ROWS) % step == step - 1) & (np.arange(N_ROWS) > 20)
        made[name] = pc.if_else(pa.array(holes), None, made[name])
    made["house"] = pa.array([f"h{k}" for k in range(N_ROWS)])
    return pa.table(made)


ROWS = make_rows()


def parts(table: pa.Table) -> list[pa.Table]:
    """Consecutive pieces of very different lengths."""
    cuts = np.unique(np.linspace(0.0, 1.0, N_PARTS + 1) ** 1.5 * len(table)).astype(int)
    assert len(cuts) == N_PARTS + 1
    return [table.slice(a, b - a) for a, b in pairwise(cuts.tolist())]


def without_types(table: pa.Table) -> pa.Table:
    """The same, as those write it who make types from values: a column of nulls has none."""
    columns = {name: table[name] for name in table.column_names}
    return pa.table(
        {name: pa.nulls(len(c)) if c.null_count == len(c) else c for name, c in columns.items()}
    )


def store(folder: Path, table: pa.Table, form: str) -> str:
    """Write the rows in the form; what a command line calls them."""
    folder.mkdir(exist_ok=True)
    match form.split():
        case ["csv"]:
            pyarrow.csv.write_csv(table, folder / "rows.csv")
        case ["parquet"]:
            pyarrow.parquet.write_table(table, folder / "rows.parquet")
        case ["parquet", "groups", size]:
            pyarrow.parquet.write_table(table, folder / "rows.parquet", row_group_size=int(size))
        case ["arrow"]:
            pyarrow.feather.write_feather(table, folder / "rows.arrow", chunksize=23)
        case [_, kind]:
            for k, part in enumerate(parts(table)):
                write = pyarrow.csv.write_csv if kind == "csv" else pyarrow.parquet.write_table
                write(
                    without_types(part) if "untyped" in form else part, folder / f"part{k}.{kind}"
                )
    names = sorted(path.name for path in folder.iterdir())
    assert len(names) in (1, N_PARTS)
    return f"{folder.name}/{names[0]}" if len(names) == 1 else f"{folder.name}/part*"


FORMS = [
    "csv",
    "ten csv",
    "parquet",
    "parquet groups 1",
    "parquet groups 23",
    "ten parquet",
    "arrow",
]
# Rows that a command sees at a time, and bytes of text that are parsed at a time.
BATCHES = [(1, 90), (7, 700)]
LINEAR = ["--exclude", "house,sold,kind", "--target", "price", "--missing", "impute"]
CLASSES = ["--exclude", "house,price,sold", "--target", "kind", "--missing", "drop"]
NUMBERS = ["--features", "area,rooms,built", "--missing", "drop"]
FIT = ["fit", "{data}", "--id", "house", "-o", "model.json", "--losses", "losses.csv"]
FIT += ["--trace", "trace.csv", "--json", "--max-passes", "40"]
DETECT = ["detect-outliers", "{data}", "--id", "house", "--json", "-o"]
COMMANDS = {
    "superquantile": [*FIT, *LINEAR, "--holdout", "0.2"],
    "mean without a proof": [*FIT, *LINEAR, "--risk", "mean", "--solver", "lbfgs"],
    "lsvrg": [*FIT, *LINEAR, "--solver", "lsvrg", "--risk", "extremile:2"],
    "sgd": [*FIT, *LINEAR, "--solver", "sgd", "--batch-size", "16"],
    "two classes": [*FIT, "--exclude", "house,price,kind", "--target", "sold", "--missing", "drop"],
    "classes": [*FIT, *CLASSES, "--risk", "esrm:1"],
    "landmarks": [*FIT, *LINEAR, "--kernel", "rbf", "--rank", "20"],
    "cosines": [*FIT, *LINEAR, "--kernel", "rbf", "--rank", "20", "--feature-map", "fourier"],
    "subquantile": [*FIT, *LINEAR, "--risk", "subquantile:0.9"],
    "cross-validation": [*FIT, *LINEAR, "--cv", "3", "--l2", "0.001,0.1"],
    "clusters": ["cluster", "{data}", "-k", "3", "--id", "house", "--label", "kind", *NUMBERS,
                 "-o", "model.json", "--assignments", "losses.csv", "--json"],
    "minibatch clusters": ["cluster", "{data}", "-k", "3", *NUMBERS, "--solver", "sgd",
                           "-o", "model.json", "--assignments", "losses.csv", "--json"],
    "evaluation": ["evaluate", "price.json", "{data}", "--id", "house", "--losses", "losses.csv",
                   "--intervals", "--json"],
    "evaluation of classes": ["evaluate", "kind.json", "{data}", "--losses", "losses.parquet",
                              "--json"],
    "prediction": ["predict", "rbf.json", "{data}", "--id", "house"],
    "prediction of clusters": ["predict", "clusters.json", "{data}", "-o", "losses.csv"],
    "outliers": [*DETECT, "outliers.csv", *LINEAR, "--save-model", "model.json"],
    "outliers without a target": [*DETECT, "outliers.csv", *NUMBERS],
    "outliers of a model": [*DETECT, "outliers.parquet", "--model", "price.json"],
    "outliers of classes": [*DETECT, "outliers.csv", "--model", "kind.json"],
    "quantiles": ["quantile-report", "{data}", "--model", "price.json", "--baseline", "mean.json",
                  "--by", "color", "--json", "-o", "table.csv"],
    "quantiles of fits": ["quantile-report", "{data}", *LINEAR, "--repeats", "2", "--json"],
}  # fmt: skip


@pytest.fixture(autouse=True)
def _signals() -> Iterator[None]:
    """A command handles signals in its own way; pytest wants its handlers back."""
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in kept.items():
        signal.signal(number, handler)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What the scoring commands score with."""
    folder = tmp_path_factory.mktemp("models")
    data = str(folder / store(folder / "rows", ROWS, "csv"))
    fits = {
        "price.json": ["fit", data, *LINEAR],
        "mean.json": ["fit", data, *LINEAR, "--risk", "mean"],
        "kind.json": ["fit", data, *CLASSES],
        "rbf.json": ["fit", data, *LINEAR, "--kernel", "rbf", "--rank", "20"],
        "clusters.json": ["cluster", data, "-k", "3", *NUMBERS],
    }
    for name, arguments in fits.items():
        assert run([*arguments, "-o", str(folder / name), "--quiet"]) == 0
    return {name: (folder / name).read_bytes() for name in fits}


Answer = dict[str, object]
# Where rows stand in text.
PLACED = ("file", "line")


@pytest.fixture
def ask(
    tmp_path: Path,
    models: dict[str, bytes],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Callable[..., Answer]:
    """Runs a command on rows in some form; what it printed and wrote, by name."""
    monkeypatch.chdir(tmp_path)
    for name, contents in models.items():
        Path(name).write_bytes(contents)

    def answer(command: list[str], form: str = "csv", rows: pa.Table = ROWS) -> Answer:
        folder = tmp_path / "rows"
        data = store(folder, rows, form)
        capfd.readouterr()
        code = run([data if word == "{data}" else word for word in command])
        printed = capfd.readouterr()
        assert code == 0, printed.err
        for path in folder.iterdir():
            path.unlink()
        written = {p.name: p for p in tmp_path.iterdir() if p.is_file() and p.name not in models}
        found: Answer = {"": told(printed.out)} | {n: kept(p) for n, p in written.items()}
        for path in written.values():
            path.unlink()
        return found

    return answer


def told(printed: str) -> object:
    """A document without timings, names of files and lines of text, or a table without these."""
    if not printed.startswith("{"):
        return without_places(printed) if printed.startswith("row,") else printed
    document = json.loads(printed)
    for name in ("timings", "data"):
        document.pop(name, None)
    for row in document.get("outliers") or ():
        if isinstance(row, dict):
            row.pop("line", None)
            row.pop("file", None)
    return re.sub(r'"seconds": [^,}]+', "", json.dumps(document))


def kept(path: Path) -> object:
    """The bytes of a file; of a table of rows its cells but where they stand in text."""
    if path.suffix == ".parquet":
        table = pyarrow.parquet.read_table(path)
        return table.drop_columns([name for name in PLACED if name in table.column_names])
    if path.suffix == ".json":
        return path.read_bytes()
    if path.name != "trace.csv":
        return without_places(path.read_text())
    lines = csv.reader(path.read_text().splitlines())
    return [[cell for k, cell in enumerate(line) if k != 1] for line in lines]


@pytest.fixture
def read_in(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, int], None]:
    """Sets the rows that a command sees at a time and the bytes that are parsed at a time."""

    def set_sizes(n_rows: int, n_bytes: int) -> None:
        monkeypatch.setitem(tables.open_table.__kwdefaults__, "batch_rows", n_rows)
        monkeypatch.setattr(csv_files, "BLOCK_BYTES", n_bytes)
        # Columns of Parquet two by two.
        monkeypatch.setattr(tables, "GROUP_NUMBERS", 1)

    return set_sizes


def differences(found: Answer, expected: Answer) -> list[str]:
    """The names of what differs; the bytes themselves would fill a screen."""
    names = sorted(found.keys() | expected.keys())
    return [name or "standard output" for name in names if found.get(name) != expected.get(name)]


@pytest.mark.parametrize("name", COMMANDS)
def test_bytes_do_not_depend_on_the_form_of_the_rows(ask, name):
    expected = ask(COMMANDS[name])
    assert any(expected.values())
    for form in FORMS:
        assert differences(ask(COMMANDS[name], form), expected) == [], form


@pytest.mark.parametrize("name", [n for n, c in COMMANDS.items() if c[0] in WITH_THREADS])
def test_bytes_do_not_depend_on_the_number_of_threads(ask, monkeypatch, name):
    """In shares as small as a few rows, so that there are several of them."""
    monkeypatch.setattr(threads, "CHUNK_NUMBERS", 200)
    monkeypatch.setattr(threads, "CHUNK_STEP", 16)
    expected = ask([*COMMANDS[name], "--threads", "1"])
    for n_threads in ("2", "3"):
        found = ask([*COMMANDS[name], "--threads", n_threads])
        assert differences(found, expected) == [], n_threads


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("sizes", BATCHES, ids=str)
def test_bytes_do_not_depend_on_the_batches_that_are_read(ask, read_in, name, sizes):
    expected = ask(COMMANDS[name])
    read_in(*sizes)
    for form in ("csv", "parquet"):
        assert differences(ask(COMMANDS[name], form), expected) == [], form


SCORING = {
    "evaluate": ["evaluate", "{model}", "{data}", "--id", "house", "--losses", "out.csv"],
    "predict": ["predict", "{model}", "{data}", "--id", "house", "-o", "out.csv"],
    "detect-outliers": ["detect-outliers", "{data}", "--model", "{model}", "--id", "house",
                        "-o", "out.csv"],
}  # fmt: skip
# What tells where the row stands among the others; of a ranking only the loss does not.
PLACES = {"evaluate": {"row", "weight", "rank"}, "predict": {"row"}}
RANKED = {"rank", "row", "score", "is_outlier", "kind", "reason"}
RANKED |= {f"{what}_{k}" for what in ("reason", "contribution") for k in (1, 2, 3)}


def scores(ask: Callable[..., Answer], command: list[str], rows: pa.Table) -> dict[str, object]:
    """What is written about each house, as it is spelled."""
    written = ask([*command, "--quiet"], "csv", rows)["out.csv"]
    places = PLACES.get(command[0], RANKED)
    names, *lines = written
    found = [dict(zip(names, line, strict=True)) for line in lines]
    return {
        line["id"]: {name: cell for name, cell in line.items() if name not in places}
        for line in found
    }


@pytest.mark.parametrize("model", ["price.json", "kind.json", "rbf.json", "clusters.json"])
@pytest.mark.parametrize("command", SCORING)
def test_a_row_has_the_same_figures_in_any_company(ask, command, model):
    words = [model if word == "{model}" else word for word in SCORING[command]]
    expected = scores(ask, words, ROWS)
    assert len(expected) > 200
    assert {"loss", "prediction", "cluster"} & set(expected["h0"])
    order = np.random.default_rng(3).permutation(N_ROWS)
    assert scores(ask, words, ROWS.take(order)) == expected
    apart: dict[str, object] = {}
    for part in parts(ROWS):
        apart |= scores(ask, words, part)
    assert apart == expected
    for row in (0, 1, 100, N_ROWS - 1):
        ((house, figures),) = scores(ask, words, ROWS.slice(row, 1)).items()
        assert figures == expected[house]


def test_whole_numbers_as_ids_are_spelled_alike_and_keep_their_type(ask):
    rows = ROWS.append_column("number", pa.array(1000 + np.arange(N_ROWS)))
    command = ["evaluate", "price.json", "{data}", "--id", "number", "--losses"]
    by_form = [ask([*command, "out.csv"], form, rows)["out.csv"] for form in FORMS]
    assert all(rows == by_form[0] for rows in by_form)
    for form, kind in (("csv", pa.string()), ("parquet", pa.int64())):
        written = ask([*command, "out.parquet"], form, rows)["out.parquet"]
        assert written.schema.field("id").type == kind


LATE = {
    "numbers": (pa.float64(), lambda k: 0.5 * (k % 7)),
    "codes": (pa.string(), lambda k: f"{k % 5:03d}" if k > 200 else f"{100 + k % 5}"),
    "dates": (pa.string(), lambda k: f"20{k % 30 + 10}-03-{k % 28 + 1:02d}"),
    "truths": (pa.bool_(), lambda k: k % 4 == 0),
}


@pytest.mark.parametrize("kind", LATE)
@pytest.mark.parametrize("start", [0, 60, 200])
def test_what_a_column_is_does_not_depend_on_the_first_file(ask, kind, start):
    """Cells are missing up to the start; zeros lead only in the last files."""
    type_, spell = LATE[kind]
    cells = pa.array([spell(k) if k >= start else None for k in range(N_ROWS)], type_)
    rows = ROWS.select(["price", "rooms"]).append_column("late", cells)
    command = ["fit", "{data}", "--target", "price", "--missing", "impute", "-o", "m.json"]
    forms = [*FORMS, "untyped parquet"]
    by_form = {form: ask([*command, "--quiet"], form, rows)["m.json"] for form in forms}
    features = json.loads(by_form["csv"])["encoding"]["features"]
    assert features[1]["name"] == "late"
    assert features[1]["kind"] == ("number" if kind in ("numbers", "dates") else "category")
    assert [form for form in forms if by_form[form] != by_form["csv"]] == []
