"""The functions of the library say what the commands say, on tables of every kind."""

import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lrisk_cli
from lrisk_cli.errors import DataError, InvalidOption, NotConvergedError, UsageError
from lrisk_cli.models.model import encode_model

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "sample_data"
WINE, CLAIMS = SAMPLES / "wine_quality_red.csv", SAMPLES / "claims.csv"


def lrisk(*arguments: object) -> None:
    command = [sys.executable, "-m", "lrisk_cli", *map(str, arguments)]
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert run.returncode == 0, run.stderr


@pytest.fixture(scope="module")
def frame():
    return pd.DataFrame(
        {
            "y": np.arange(12) % 5 + 0.5,
            "a": np.linspace(0.0, 1.0, 12),
            "kind": ["red", "white", "red", None] * 3,
            "day": pd.date_range("2024-01-01", periods=12),
            "whole": np.arange(12)[::-1],
        }
    )


@pytest.mark.parametrize(
    "convert",
    [
        pa.Table.from_pandas,
        pl.from_pandas,
        lambda frame: pa.Table.from_pandas(frame).to_batches()[0],
        lambda frame: pa.Table.from_pandas(frame).to_pydict(),
        lambda frame: frame.astype({"kind": "category"}),
        lambda frame: pl.from_pandas(frame).with_columns(pl.col("kind").cast(pl.Categorical)),
    ],
)  # fmt: skip
def test_every_kind_of_table_gives_the_same_model(frame, convert):
    expected = lrisk_cli.fit(frame, "y", missing="impute").model
    found = lrisk_cli.fit(convert(frame), "y", missing="impute").model
    assert encode_model(found) == encode_model(expected)


def test_numbers_are_the_columns_of_an_array(frame):
    X = np.column_stack([frame.a, frame.whole])
    by_name = lrisk_cli.fit(X, "x0", risk="mean").model
    by_array = lrisk_cli.fit(X[:, 1:], X[:, 0], risk="mean").model
    assert by_name.encoding.feature_names == ("x1",)
    assert by_array.encoding.feature_names == ("x0",)
    np.testing.assert_array_equal(by_name.coefficients, by_array.coefficients)


def test_columns_of_numbers_are_not_copied():
    from lrisk_cli.library.frames import as_arrow

    numbers = np.arange(5.0)
    for table in (pd.DataFrame({"a": numbers}, copy=False), pl.DataFrame({"a": numbers})):
        column = as_arrow(table)["a"].chunk(0)
        held = table["a"].to_numpy()
        assert column.buffers()[1].address == held.__array_interface__["data"][0]


@pytest.mark.parametrize("name", ["wine_quality_red", "breast_cancer", "claims"])
def test_a_fit_writes_the_model_of_the_command(name, tmp_path):
    target = {"wine_quality_red": "quality", "breast_cancer": "diagnosis", "claims": "claims"}[name]
    path = SAMPLES / f"{name}.csv"
    lrisk("fit", path, "--target", target, "--risk", "superquantile:0.5", "-o", tmp_path / "a.json")
    lrisk_cli.fit(path, target, risk="superquantile:0.5").save(tmp_path / "b.json")
    lrisk_cli.fit(path, target, risk=["superquantile:0.5"], output=tmp_path / "c.json")
    model = (tmp_path / "a.json").read_bytes()
    assert model == (tmp_path / "b.json").read_bytes() == (tmp_path / "c.json").read_bytes()
    lrisk("predict", tmp_path / "a.json", path, "-o", tmp_path / "p.parquet")
    ours = lrisk_cli.predict(tmp_path / "b.json", pd.read_csv(path))
    # Rows of a file have lines too.
    assert ours.to_arrow().equals(pq.read_table(tmp_path / "p.parquet").drop_columns("line"))
    by_path = lrisk_cli.predict(tmp_path / "b.json", path)
    assert by_path.to_arrow().equals(pq.read_table(tmp_path / "p.parquet"))
    assert list(by_path.values) == list(ours.values)


def test_weights_and_exposures_may_be_arrays():
    table = pd.read_csv(CLAIMS)
    named = lrisk_cli.fit(table, "claims", loss="poisson", exposure="years", risk="mean")
    without = table.drop(columns=["claims", "years"])
    arrays = {"exposure": table.years, "loss": "poisson", "risk": "mean"}
    given = lrisk_cli.fit(without, table["claims"], **arrays)
    assert encode_model(given.model) == encode_model(named.model)
    weighted = lrisk_cli.fit(without, table["claims"], weight=table.years.to_numpy(), risk="mean")
    assert weighted.model.weight is not None


def test_several_risks_are_several_models():
    fits = lrisk_cli.fit(WINE, "quality", risk=["mean", "extremile:2"], holdout=0.3)
    assert [each.model.risk for each in fits] == ["mean", "extremile:2"]
    assert set(fits.to_pandas()["rows"]) == {"training", "held out"}
    assert "extremile:2" in repr(fits)
    with pytest.raises(ValueError, match=r"2 models were fitted; choose one, such as result\[0\]"):
        _ = fits.model
    assert fits[0].certificate.gap <= 1e-6


RESULTS = {
    "fit": lambda: lrisk_cli.fit(WINE, "quality", risk="mean"),
    "predict": lambda: lrisk_cli.fit(WINE, "quality", risk="mean").predict(WINE),
    "evaluate": lambda: lrisk_cli.fit(WINE, "quality", risk="mean").evaluate(WINE, intervals=True),
    "detect_outliers": lambda: lrisk_cli.detect_outliers(
        SAMPLES / "contaminated.csv", target="heating_kwh_day", exclude=["planted", "id"]
    ),
    "cluster": lambda: lrisk_cli.cluster(SAMPLES / "clouds.csv", 3, features=["x", "y"]),
    "evaluate clusters": lambda: lrisk_cli.evaluate(
        lrisk_cli.cluster(SAMPLES / "clouds.csv", 3, features=["x", "y"]),
        SAMPLES / "clouds_test.csv",
    ),
    "compare": lambda: lrisk_cli.compare(
        SAMPLES / "simulated.csv", "y", risk=["mean", "extremile:2"], holdout=0.3
    ),
    "columns": lambda: lrisk_cli.columns(SAMPLES / "contaminated.csv"),
    "quantile_report": lambda: lrisk_cli.quantile_report(
        SAMPLES / "simulated.csv", target="y", repeats=2
    ),
}
ROWS = {
    "fit": 13, "predict": 1599, "evaluate": 13, "detect_outliers": 600, "cluster": 400,
    "evaluate clusters": 4, "compare": 140, "quantile_report": 6, "columns": 9,
}  # fmt: skip


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_a_text_a_table_a_page_part_and_a_figure(name):
    result = RESULTS[name]()
    assert len(result.to_pandas()) == ROWS[name]
    assert len(repr(result).splitlines()) > 5
    html = result._repr_html_()
    assert html.count("<table") >= 2
    assert "<script" not in html
    assert result.document()["command"].replace("-", "_") == name.split()[0]
    assert result.passed
    figure = result.plot()
    assert [len(axes.get_children()) > 5 for axes in figure.axes]
    plt.close("all")


def test_tables_in_memory_are_escaped_in_notebooks():
    table = pd.DataFrame({"y": [1.0, 2.0, 3.0, 5.0], "<b>a</b>": [1.0, 0.0, 2.0, 2.0]})
    html = lrisk_cli.fit(table, "y", risk="mean")._repr_html_()
    assert "&lt;b&gt;a&lt;/b&gt;" in html
    assert "<b>" not in html


def test_models_and_tables_to_test_on_may_be_in_memory():
    table = pd.read_csv(WINE)
    first, second = table[:900], table[900:]
    tested = lrisk_cli.fit(first, "quality", risk="mean", test=second)
    figures = tested.to_pandas().set_index(["rows", "fit", "figure"])["value"]
    model = lrisk_cli.fit(first, "quality", risk="mean")
    assert figures["test", "fitted", "rmse"] == model.evaluate(second).figures["rmse"]
    tail = lrisk_cli.fit(first, "quality", risk="superquantile:0.9")
    report = lrisk_cli.quantile_report(second, model=tail, baseline=model, quantiles="0.5,0.9")
    assert list(report.to_pandas()["quantile"]) == [0.5, 0.9]


def test_gates_do_not_end_the_program():
    result = lrisk_cli.fit(WINE, "quality", risk="mean", fail_on=["rmse>0.1"])
    assert not result.passed
    with pytest.raises(NotConvergedError, match="allow more passes or a larger tol"):
        lrisk_cli.fit(WINE, "quality", max_passes=1.0, tol=1e-12, require_convergence=True)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"missing": "dorp"}, r"missing takes 'error', 'drop' and 'impute'; got 'dorp'; did you"),
        ({"risk": "superquantil:0.5"}, "did you mean superquantile"),
        ({"tol": "small"}, "tol takes a number; got 'small'"),
        ({"tol": -1.0}, "tol takes a number of at least 0; got -1"),
        ({"intercept": "yes"}, "intercept takes True or False; got 'yes'"),
        ({"max_categories": 2.5}, "max_categories takes a whole number; got 2.5"),
        ({"l2": [0.1, 1.0]}, "l2: several penalties need cv to choose one of them; add cv=5"),
        ({"output": "no.json", "weight": [1.0]}, "weight has 1 values, and the table 3 rows"),
    ],
)
def test_wrong_options_are_refused_as_keywords(options, sentence):
    with pytest.raises(UsageError, match=sentence):
        lrisk_cli.fit({"y": [1.0, 2.0, 3.0], "x": [0.0, 1.0, 5.0]}, "y", **options)


def test_errors_name_the_table_and_spell_keywords():
    table = pd.DataFrame({"y": [1.0, 2.0, 3.0], "x": [0.0, None, 5.0]})
    with pytest.raises(DataError, match=r"<data>, column 'x', row 1: .* pass missing='drop' or"):
        lrisk_cli.fit(table, "y")
    with pytest.raises(TypeError, match=r"fit\(\) has no argument 'riks'; did you mean risk\?"):
        lrisk_cli.fit(table, "y", riks="mean")
    with pytest.raises(InvalidOption, match="data takes paths, or a table of pandas, polars"):
        lrisk_cli.fit(3, "y")
    with pytest.raises(InvalidOption, match="model takes a path, a result of fit"):
        lrisk_cli.predict(table, table)
    with pytest.raises(DataError, match="<data>, column 'x': its cells are of several types"):
        lrisk_cli.fit(table.assign(x=[1, "a", b"b"]), "y")
    with pytest.raises(InvalidOption, match="target is an array and the table a file"):
        lrisk_cli.fit(WINE, table.y)
    with pytest.raises(ValueError, match="no column 'z'"):
        lrisk_cli.fit(table, "z")


def test_lists_of_names_hold_names_and_texts_are_divided():
    table = pd.DataFrame({"y": [1.0, 2.0, 4.0], "a,b": [1.0, 0.0, 2.0], "c": [2.0, 0.0, 1.0]})
    assert lrisk_cli.fit(table, "y", features=["a,b"]).model.encoding.feature_names == ("a,b",)
    assert lrisk_cli.fit(table, "y", exclude='"a,b"').model.encoding.feature_names == ("c",)
    typed = lrisk_cli.fit(table, "y", dtype={"c": "category"}).model.encoding
    assert [feature.kind for feature in typed.features] == ["number", "category"]


def test_pages_are_written(tmp_path):
    path = tmp_path / "fit.html"
    lrisk_cli.fit(WINE, "quality", risk="mean", html=path)
    assert "lrisk_cli.fit(...)" in path.read_text()


def test_notebooks_show_figures_without_pyplot():
    figure = lrisk_cli.fit(WINE, "quality", risk="mean").plot()
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_a_streamed_fit_has_figures_and_no_rows_to_plot():
    fitted = lrisk_cli.fit(WINE, "quality", engine="stream")
    held = lrisk_cli.fit(WINE, "quality", engine="memory")
    difference = fitted.model.coefficients - held.model.coefficients
    assert np.max(np.abs(difference)) < 1e-2
    with pytest.raises(InvalidOption, match="keeps no rows to plot"):
        fitted.plot()
