"""Exports give the predictions of the model, row by row: SQL, Python and ONNX."""

import io
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import lrisk_cli
from helpers.postgres import find_programs, server
from lrisk_cli.errors import InvalidOption
from lrisk_cli.exports.onnx_graph import to_onnx
from lrisk_cli.exports.python_code import to_python
from lrisk_cli.exports.sql import to_sql

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "sample_data"
# Relative to the prediction, or to 1 where it is smaller.
EXACT = 1e-9


@dataclass(frozen=True)
class Case:
    """A table, its target and how it is fitted. polynomials lose digits to cancellation."""

    table: str
    target: str
    options: dict[str, Any] = field(default_factory=dict)
    tolerance: float = EXACT


CASES = {
    "wine": Case("wine_quality_red", "quality"),
    "wine, log": Case("wine_quality_red", "quality", {"target_scale": "log", "risk": "mean"}),
    "wine, log1p": Case("wine_quality_red", "quality", {"target_scale": "log1p"}),
    "wine, classes": Case("wine_quality_red", "quality", {"task": "classification"}),
    "cancer": Case("breast_cancer", "diagnosis"),
    "cancer, platt": Case("breast_cancer", "diagnosis", {"calibrate": "platt"}),
    "cancer, isotonic": Case("breast_cancer", "diagnosis", {"calibrate": "isotonic"}),
    "claims": Case("claims", "claims", {"loss": "poisson", "exposure": "years"}),
    "clouds": Case("clouds", "cloud", {"calibrate": "platt", "exclude": "id"}),
    "clouds, isotonic": Case("clouds", "cloud", {"calibrate": "isotonic", "exclude": "id"}),
    "clouds, test": Case("clouds_test", "cloud", {"exclude": "id"}),
    "concrete": Case("concrete", "compressive_strength", {"risk": "superquantile:0.9"}),
    "contaminated": Case("contaminated", "heating_kwh_day", {"robust": True}),
    "simulated": Case("simulated", "y", {"intercept": False, "standardize": "none"}),
    "mixed": Case("mixed", "y", {"missing": "impute", "dates": "parts"}),
    "mixed, other": Case(
        "mixed", "y", {"missing": "impute", "unseen": "other", "max_categories": 3}
    ),
    "mixed, dropped": Case("mixed", "y", {"missing": "drop", "risk": "mean"}),
    "adult": Case("adult", "income", {"missing": "impute", "max_categories": 20}),
}  # fmt: skip
KERNELS = {
    "rbf": Case("wine_quality_red", "quality", {"kernel": "rbf"}),
    "fourier": Case(
        "wine_quality_red", "quality", {"kernel": "rbf", "feature_map": "fourier", "rank": 50}
    ),
    # The sum of large powers of both signs keeps nine digits, in lrisk too.
    "poly": Case("wine_quality_red", "quality", {"kernel": "poly"}, tolerance=1e-8),
    "embedding": Case("wine_quality_red", "quality", {"row_norm": "unit", "pca": 0.9}),
    "rbf, classes": Case("clouds", "cloud", {"kernel": "rbf", "exclude": "id"}),
}  # fmt: skip


def mixed() -> pd.DataFrame:
    """Numbers, texts with marks, dates with times, booleans and missing cells."""
    draw, n = np.random.default_rng(5), 400
    kinds = ["a@b", "it's", 'say "so"', "plain", "rare", " outer"]
    frame = pd.DataFrame(
        {
            "Number": draw.normal(1e3, 50.0, n),
            'odd "name"': draw.choice(kinds, n, p=[0.3, 0.2, 0.2, 0.2, 0.05, 0.05]),
            "moment": pd.Timestamp("2023-01-01")
            + pd.to_timedelta(draw.integers(0, 700 * 1440, n), unit="min"),
            "flag": draw.random(n) < 0.3,
            "code": draw.choice([1.0, 2.0, 30.0], n),
        }
    )
    frame["y"] = frame["Number"] / 50.0 + frame["flag"] + draw.normal(size=n)
    for at, name in enumerate(("Number", 'odd "name"', "moment")):
        frame.loc[draw.choice(n, 9 + at, replace=False), name] = None
    return frame


@cache
def table_of(name: str) -> pd.DataFrame:
    if name == "mixed":
        return mixed()
    if name == "adult":
        path = ROOT.parent / "shared" / "data" / "adult" / "train.parquet"
        if not path.is_file():
            pytest.skip("REAL DATA ABSENT: the adult table is not beside the project")
        return pd.read_parquet(path)
    return pd.read_csv(SAMPLES / f"{name}.csv")


@cache
def fitted(name: str) -> tuple[Any, pd.DataFrame, pd.DataFrame]:
    """A model, its table with numbered rows, and the predictions by row number."""
    case = {**CASES, **KERNELS}[name]
    table = table_of(case.table)
    result = lrisk_cli.fit(table, case.target, **case.options)
    predictions = result.predict(table).to_pandas().set_index("row")
    return result.model, table.assign(lrisk_row=np.arange(len(table))), predictions


def compare(found: pd.DataFrame, expected: pd.DataFrame, tolerance: float = EXACT) -> None:
    """Every column of every row that predict gives; others have no prediction."""
    missing = found.index.difference(expected.index)
    assert found.loc[missing, "prediction"].isna().all()
    rows = found.loc[expected.index]
    assert list(rows.columns) == list(expected.columns)
    for name in expected.columns:
        ours, theirs = expected[name], rows[name]
        if pd.api.types.is_numeric_dtype(ours):
            ours, theirs = ours.to_numpy(float), theirs.to_numpy(float)
            error = np.abs(ours - theirs) / np.maximum(1.0, np.abs(ours))
            assert error.max() <= tolerance, f"{name}: {error.max()}"
        else:
            assert (ours.astype(str).to_numpy() == theirs.astype(str).to_numpy()).all()


@pytest.mark.parametrize("name", [name for name in CASES if name != "clouds, isotonic"])
def test_duckdb_predicts_the_same(name):
    model, table, expected = fitted(name)
    with duckdb.connect() as connection:
        connection.register("my.rows", table)
        connection.execute('CREATE SCHEMA my; CREATE TABLE my.rows AS FROM "my.rows"')
        found = connection.execute(
            to_sql("m.json", model, "my.rows", "lrisk_row", dates_of(model))
        ).df()
    compare(found.set_index("lrisk_row").sort_index(), expected)


def dates_of(model: Any) -> list[str]:
    """Dates that the model has as numbers."""
    return [
        each.name
        for each in model.encoding.numbers
        if each.name == "moment" and each.kind == "number"
    ]


TYPES = {"f": "double precision", "i": "bigint", "b": "boolean", "M": "timestamp", "O": "text"}


@pytest.fixture(scope="module")
def postgres():
    if find_programs() is None:
        pytest.skip("NO POSTGRESQL SERVER HERE: apt-get install postgresql")
    with tempfile.TemporaryDirectory(prefix="lrisk-pg-") as folder, server(Path(folder)) as running:
        yield running


@pytest.mark.parametrize("name", [name for name in CASES if name != "clouds, isotonic"])
def test_postgresql_predicts_the_same(name, postgres, tmp_path):
    model, table, expected = fitted(name)
    path = tmp_path / "table.csv"
    table.to_csv(path, index=False)
    columns = ", ".join(
        '"' + column.replace('"', '""') + '" ' + TYPES.get(table[column].dtype.kind, "text")
        for column in table.columns
    )
    load = [
        "DROP TABLE IF EXISTS rows",
        f"CREATE TABLE rows ({columns})",
        f"\\copy rows FROM '{path}' WITH (FORMAT csv, HEADER)",
    ]
    text = postgres.run([*load, to_sql("m.json", model, "rows", "lrisk_row", dates_of(model))])
    kept = ["prediction"] if model.target.classes else []
    found = pd.read_csv(io.StringIO(text), dtype=dict.fromkeys(kept, str))
    compare(found.set_index("lrisk_row").sort_index(), expected)


@pytest.mark.parametrize("name", CASES)
def test_the_function_predicts_the_same(name):
    model, table, expected = fitted(name)
    namespace: dict[str, Any] = {}
    exec(to_python(model), namespace)
    few = table.iloc[:: max(1, len(table) // 2000)]
    lines = {}
    for row in few.to_dict("records"):
        at = row.pop("lrisk_row")
        cells = {key: None if pd.isna(cell) else cell for key, cell in row.items()}
        try:
            lines[at] = namespace["predict"](cells)
        except ValueError:
            lines[at] = {"prediction": None}
    found = pd.DataFrame.from_dict(lines, orient="index")
    compare(found[list(expected.columns)], expected.loc[expected.index.intersection(few.lrisk_row)])


@pytest.mark.parametrize("name", [*CASES, *KERNELS])
def test_onnxruntime_predicts_the_same(name):
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    model, table, expected = fitted(name)
    refused = {"cancer, isotonic": "isotonic", "clouds, isotonic": "isotonic", "mixed": "months"}
    if name in refused:
        with pytest.raises(InvalidOption, match=refused[name]):
            to_onnx("m.json", model)
        return
    session = runtime.InferenceSession(to_onnx("m.json", model), providers=["CPUExecutionProvider"])
    inputs = {each.name: onnx_cells(table[each.name], each.type) for each in session.get_inputs()}
    names = [each.name for each in session.get_outputs()]
    outputs = dict(zip(names, session.run(None, inputs), strict=True))
    chances = outputs.pop("probabilities", None)
    found = pd.DataFrame({key: np.ravel(value) for key, value in outputs.items()})
    for at, label in enumerate(model.target.classes):
        found[f"probability:{label}"] = chances[:, at]
    compare(found, expected, {**CASES, **KERNELS}[name].tolerance)


def onnx_cells(cells: pd.Series, kind: str) -> np.ndarray:
    """A column as the graph takes it: doubles, dates as days, texts without outer spaces."""
    if "string" in kind:
        texts = [
            "" if pd.isna(cell) else str(cell).strip().lower() if isinstance(cell, bool)
            else str(cell).strip()
            for cell in cells.astype(object)
        ]  # fmt: skip
        return np.array(texts, dtype=object).reshape(-1, 1)
    if cells.dtype.kind == "M":
        cells = (cells - pd.Timestamp(0)) / pd.Timedelta(days=1)
    return cells.to_numpy(np.float64).reshape(-1, 1)


@pytest.mark.parametrize("shapes", [False, True])
def test_clusters_go_to_onnx(shapes):
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    clouds = pd.read_csv(SAMPLES / "clouds.csv")[["x", "y"]]
    if shapes:
        model = lrisk_cli.detect_outliers(clouds).model
    else:
        model = lrisk_cli.cluster(clouds, 3).model
    expected = lrisk_cli.predict(model, clouds).to_pandas().drop(columns="row")
    session = runtime.InferenceSession(to_onnx("m.json", model), providers=["CPUExecutionProvider"])
    found = session.run(None, {name: clouds[[name]].to_numpy() for name in clouds})
    np.testing.assert_array_equal(found[0], expected["cluster"])
    np.testing.assert_allclose(found[1][:, 0], expected["distance"], rtol=1e-9)
    np.testing.assert_array_equal(found[2][:, 0], expected["is_outlier"])


def test_unknown_categories_are_refused_or_others():
    model, table, _ = fitted("mixed")
    other, _, _ = fitted("mixed, other")
    strange = table.iloc[:1].assign(**{'odd "name"': "never seen"})
    with duckdb.connect() as connection:
        connection.register("rows", strange)
        strict = connection.execute(to_sql("m", model, "rows", None)).df()
        assert list(strict.columns)[:-1] == list(model.encoding.feature_names)
        lenient = connection.execute(to_sql("m", other, "rows", None, dates_of(other))).df()
    assert strict.prediction.isna().all()
    expected = lrisk_cli.predict(other, strange).values
    np.testing.assert_allclose(lenient.prediction, expected, rtol=1e-12)
    namespace: dict[str, Any] = {}
    exec(to_python(model), namespace)
    with pytest.raises(ValueError, match="'never seen' was not seen by the fit"):
        namespace["predict"](strange.iloc[0].to_dict())


def test_the_function_needs_nothing_but_python(tmp_path):
    model, table, expected = fitted("wine")
    (tmp_path / "model.py").write_text(to_python(model))
    row = {key: float(value) for key, value in table.iloc[0].items()}
    program = f"import sys; import model; print(model.predict({row})['prediction'], *sys.modules)"
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{program}"
    command = [sys.executable, "-I", "-S", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    value, *modules = done.stdout.split()
    assert float(value) == pytest.approx(expected.prediction[0], rel=1e-12)
    assert not {"numpy", "lrisk_cli"} & set(modules)


def test_what_cannot_be_exported_is_refused(tmp_path):
    def export(name, *options):
        command = [sys.executable, "-m", "lrisk_cli", "export", name, *options]
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)

    fitted("rbf")
    lrisk_cli.fit(table_of("wine_quality_red"), "quality", kernel="rbf").save(tmp_path / "k.json")
    lrisk_cli.cluster(SAMPLES / "clouds.csv", 3, features="x,y").save(tmp_path / "c.json")
    for name, to, sentence in (
        ("k.json", "sql", "--to sql is for linear models, and k.json is one of the Gaussian"),
        ("c.json", "python", "--to python is for models of a target, and c.json holds clusters"),
        ("k.json", "onnx", "--to onnx is no text; name a file with -o"),
    ):
        done = export(name, "--to", to)
        assert done.returncode == 2
        assert sentence in done.stderr
    done = export("k.json", "--to", "onnx", "-o", "k.onnx", "--table", "t")
    assert "--table is used by --to sql only" in done.stderr
    assert export("k.json", "--to", "onnx", "-o", "k.onnx").returncode == 0
    assert (tmp_path / "k.onnx").stat().st_size > 1000
    assert "exists; pass --force" in export("k.json", "--to", "onnx", "-o", "k.onnx").stderr


def written(n: int = 60) -> pd.DataFrame:
    """Texts as people write them: numbers with marks, dates, capitals and spaces that differ."""
    draw = np.random.default_rng(3)
    price, share = draw.uniform(1e3, 9e4, n), draw.uniform(1.0, 99.0, n)
    marks = str.maketrans(",.", ".,")
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(draw.integers(0, 900, n), unit="D")
    return pd.DataFrame(
        {
            "price": [f"{each:,.2f} €".translate(marks) for each in price],
            "share": [f"{each:.1f} %".translate(marks) for each in share],
            "day": days.strftime("%d.%m.%Y"),
            "street": draw.choice(["Große Gasse", "GROSSE  GASSE", " markt", "Markt"], n),
            "y": price / 1e3 + share + draw.normal(size=n),
        }
    )


def test_models_of_written_cells_predict_the_same_from_columns_with_types(tmp_path):
    texts = written()
    texts.to_csv(tmp_path / "t.csv", index=False)
    result = lrisk_cli.fit(tmp_path / "t.csv", "y", merge_case=True)
    expected = result.predict(tmp_path / "t.csv").values
    read = texts.assign(
        price=[float(c[:-2].replace(".", "").replace(",", ".")) for c in texts.price],
        share=[float(c[:-2].replace(",", ".")) / 100.0 for c in texts.share],
        day=pd.to_datetime(texts.day, format="%d.%m.%Y"),
        row=np.arange(len(texts)),
    )
    namespace: dict[str, Any] = {}
    exec(to_python(result.model), namespace)
    rows = read.assign(day=read.day.dt.strftime("%Y-%m-%d")).to_dict("records")
    found = [namespace["predict"](row)["prediction"] for row in rows]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    for name, cell in (("price", "57.689"), ("share", "20.2")):
        with pytest.raises(ValueError, match=f"column '{name}': '{cell}' is a text"):
            namespace["predict"]({**rows[0], name: cell})
    statement = to_sql("m.json", result.model, "rows", "row", ["day"])
    with duckdb.connect() as connection:
        connection.register("rows", read)
        answer = connection.execute(statement).df().sort_values("row")
        np.testing.assert_allclose(answer.prediction, expected, rtol=1e-12)
        # Texts that a cast would take for other numbers or days.
        for name, cell in (("price", "57.689"), ("share", "20.2"), ("day", "2020-02-01")):
            connection.register("rows", read.assign(**{name: cell}))
            with pytest.raises(duckdb.BinderException, match="VARCHAR"):
                connection.execute(statement)


def test_spaces_that_the_fit_kept_are_part_of_categories(tmp_path):
    table = written().assign(street=["a", " a"] * 30)[["street", "y"]]
    table["y"] += table.street.eq("a") * 50.0
    table.to_csv(tmp_path / "t.csv", index=False)
    result = lrisk_cli.fit(tmp_path / "t.csv", "y", keep_spaces=True)
    expected = result.predict(tmp_path / "t.csv").values
    namespace: dict[str, Any] = {}
    exec(to_python(result.model), namespace)
    found = [namespace["predict"](row)["prediction"] for row in table.to_dict("records")]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    with duckdb.connect() as connection:
        connection.register("rows", table.assign(row=np.arange(len(table))))
        answer = connection.execute(to_sql("m", result.model, "rows", "row")).df()
    np.testing.assert_allclose(answer.sort_values("row").prediction, expected, rtol=1e-12)
