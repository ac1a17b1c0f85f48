"""`lrisk fit` with --theory, with watched traces, with embeddings, with steps from a grid."""

import csv
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from helpers.fork_server import fork_server

SAMPLES = Path(__file__).parents[2] / "sample_data"
PLANTED = [str(SAMPLES / "contaminated.csv"), "--target", "heating_kwh_day", "--exclude", "id"]
TRIMMED = [*PLANTED, "--risk", "subquantile:0.85", "--no-reference", "--quiet"]
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    """Runs commands in forks of one process."""
    with fork_server() as ask:
        yield lambda folder, *arguments: ask(folder, list(arguments))


def read(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file."""
    return list(csv.DictReader(path.read_text().splitlines()))


def fitted(run: Run, folder: Path, *arguments: str) -> dict:
    code, printed, messages = run(folder, "fit", *arguments, "--json")
    assert code == 0, messages
    return json.loads(printed)


def test_a_trace_shows_the_loss_of_held_out_rows_and_counts_marked_rows(run, tmp_path):
    document = fitted(
        run, tmp_path, *TRIMMED, "--solver", "subgradient", "--max-passes", "200",
        "--trace", "t.csv", "--trace-rows", "planted", "--holdout", "0.2",
    )  # fmt: skip
    lines = read(tmp_path / "t.csv")
    marked = [int(line["marked_rows"]) for line in lines]
    assert marked[0] > 5
    assert marked[-1] < marked[0]
    best = min(lines, key=lambda line: float(line["objective"]))
    assert float(best["test_loss"]) == pytest.approx(document["holdout"]["mean"], rel=1e-9)
    assert "planted" not in json.dumps(document.get("coefficients", ""))
    assert document["fit"]["stationarity"] > 0.0


def test_counts_of_a_stochastic_fit_are_in_the_document_the_model_and_the_trace(run, tmp_path):
    document = fitted(
        run, tmp_path, str(SAMPLES / "simulated.csv"), "--target", "y", "--risk", "esrm:1",
        "--solver", "lsvrg", "--epoch-length", "1000", "--max-epochs", "3", "--tol", "0",
        "--trace", "t.csv", "-o", "m.json", "--no-reference", "--quiet",
    )  # fmt: skip
    assert (document["fit"]["epochs"], document["fit"]["gradient_evaluations"]) == (3.0, 9000)
    model = json.loads((tmp_path / "m.json").read_text())
    assert model["fit"]["gradient_evaluations"] == 9000
    lines = read(tmp_path / "t.csv")
    assert [float(line["epochs"]) for line in lines] == [0.0, 1.0, 2.0, 3.0]
    _, printed, _ = run(tmp_path, "show", "m.json")
    assert "3 epochs with 9,000 gradient evaluations" in printed


def test_theory_is_printed_and_in_the_document_and_smoothing_in_the_model(run, tmp_path):
    flags = [
        str(SAMPLES / "simulated.csv"), "--target", "y", "--risk", "superquantile:0.5",
        "--smoothing", "entropy", "--theory", "--no-reference", "--quiet", "--tol", "1e-2",
    ]  # fmt: skip
    document = fitted(run, tmp_path, *flags, "-o", "m.json")
    theory = document["theory"]
    assert theory["smoothing"]["error"] == pytest.approx(1e-3 * np.log(2.0))
    model = json.loads((tmp_path / "m.json").read_text())
    assert model["fit"]["smoothing_error"] == theory["smoothing"]["error"]
    assert theory["lsvrg"]["checkpoint_probability"] == 1e-3
    assert {each["holds"] for each in theory["lsvrg"]["assumes"]} == {True, False}
    _, printed, _ = run(tmp_path, "fit", *flags, "--html", "page.html")
    assert "(Theorem 4)" in printed
    assert "assumes: rows are independent draws from one distribution (not checked)" in printed
    assert "What the theorems say" in (tmp_path / "page.html").read_text()


def test_an_embedding_is_repeated_when_scoring(run, tmp_path):
    """Scaling a row changes nothing, whichever command reads it."""
    table = read(SAMPLES / "breast_cancer.csv")
    names = [name for name in table[0] if name != "diagnosis"]
    for path, factor in (("a.csv", 1.0), ("b.csv", 7.0)):
        with (tmp_path / path).open("w", newline="") as file:
            writer = csv.DictWriter(file, table[0])
            writer.writeheader()
            for row in table:
                scaled = {name: repr(factor * float(row[name])) for name in names}
                writer.writerow({**row, **scaled})
    flags = ["--target", "diagnosis", "--row-norm", "unit", "--pca", "99%", "--no-reference"]
    document = fitted(run, tmp_path, "a.csv", *flags, "-o", "m.json", "--quiet")
    assert document["feature_map"]["row_norm"] == "unit"
    assert document["feature_map"]["explained"] >= 0.99
    predictions = [run(tmp_path, "predict", "m.json", path, "--quiet")[1] for path in
                   ("a.csv", "b.csv")]  # fmt: skip
    first, second = (list(csv.DictReader(text.splitlines())) for text in predictions)
    assert [row["prediction"] for row in first] == [row["prediction"] for row in second]


@pytest.mark.parametrize(("flags", "sentence"), [
    (["--trace-rows", "planted"], "--trace-rows has no meaning without a trace; add --trace"),
    (["--trace", "t.csv", "--trace-rows", "floor_area_m2"], "marks no row with 1, true or yes"),
    (["--pca", "0.9", "--kernel", "rbf"], "--pca is for linear models"),
    (["--pca", "0.9", "--dry-run"], "cannot foresee how many principal components"),
])  # fmt: skip
def test_impossible_wishes_get_a_sentence(run, tmp_path, flags, sentence):
    code, _, messages = run(tmp_path, "fit", *TRIMMED, *flags)
    assert code == 2
    assert sentence in messages
