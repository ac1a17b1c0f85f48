"""Model files of an earlier program load, predict and evaluate as they did when it wrote them.

Numbers are compared to 1e-12, not byte by byte. Their last digits depend on the processor, with
or without fused multiply-add, and on the exp and cos of the C library; both builds of the kernels
run here, of which one wrote the fixtures. `make same` compares bytes on one machine.
"""

import csv
import json
import math
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from helpers.fork_server import fork_server

FIXTURES = Path(__file__).parents[1] / "fixtures" / "models"
MODELS = sorted(path.parent.name for path in FIXTURES.glob("*/model.json"))
RELATIVE = 1e-12
Run = Callable[..., str]


@pytest.fixture(scope="module", params=["", "1"], ids=["suitable", "portable"])
def run(request) -> Iterator[Run]:
    """Runs commands in forks, by the kernels that suit the processor or by the portable ones."""
    with fork_server(LRISK_PORTABLE=request.param) as ask:

        def printed_by(folder: Path, *arguments: str) -> str:
            code, printed, messages = ask(folder, list(arguments))
            assert code == 0, messages
            return printed

        yield printed_by


@pytest.fixture(params=MODELS)
def model(request, tmp_path) -> Path:
    """A scratch folder with a model and its rows; the expected results are in `expected`."""
    for name in ("model.json", "rows.csv"):
        shutil.copy(FIXTURES / request.param / name, tmp_path)
    (tmp_path / "expected").symlink_to(FIXTURES / request.param)
    return tmp_path


def assert_same_table(found: Path, expected: Path) -> None:
    """The same columns, rows and cells; numbers to the tolerance.

    Lines of the text file, which the programs that wrote the fixtures did not name, are those of
    one header and one line a row.
    """
    first, second = (list(csv.reader(path.read_text().splitlines())) for path in (found, expected))
    lines = [(cells.pop(0), cells.pop(0)) for cells in first]
    assert lines == [("row", "line"), *((row, str(int(row) + 2)) for row, _ in lines[1:])]
    first = [[row, *cells] for (row, _), cells in zip(lines, first, strict=True)]
    assert first[0] == second[0]
    assert len(first) == len(second)
    for row, (cells, wanted) in enumerate(zip(first[1:], second[1:], strict=True)):
        assert all(map(same_cell, cells, wanted)), f"row {row}: {cells}, expected {wanted}"


def same_cell(found: str, expected: str) -> bool:
    """Equal texts, or numbers that agree."""
    try:
        return found == expected or close(float(found), float(expected))
    except ValueError:
        return False


def close(found: float, expected: float) -> bool:
    """Whether they differ by no more than rounding."""
    return math.isclose(found, expected, rel_tol=RELATIVE)


def test_there_is_a_model_of_every_kind():
    assert len(MODELS) >= 25
    files = [json.loads((FIXTURES / name / "model.json").read_text()) for name in MODELS]
    assert {file["kind"] for file in files} == {"linear", "clusters"}
    maps = {file["feature_map"]["kernel"] for file in files if "feature_map" in file}
    assert maps == {"linear", "rbf", "poly", "fourier", "embedding"}
    features = [each for file in files for each in file["encoding"]["features"]]
    assert {each["kind"] for each in features} == {"number", "category", "date"}
    assert any(each["indicator"] for each in features)
    assert any(each["other"] for each in features)
    assert any(each["parts"] for each in features)


def test_predictions_are_those_of_the_program_that_wrote_the_model(run, model):
    run(model, "predict", "model.json", "rows.csv", "-o", "predictions.csv", "--quiet")
    assert_same_table(model / "predictions.csv", model / "expected/predictions.csv")


def test_losses_and_figures_are_those_of_the_program_that_wrote_the_model(run, model):
    options = ["--losses", "losses.csv", "--quiet", "--json"]
    found = json.loads(run(model, "evaluate", "model.json", "rows.csv", *options))
    assert_same_table(model / "losses.csv", model / "expected/losses.csv")
    expected = json.loads((model / "expected/evaluation.json").read_text())
    assert found["metrics"].keys() >= expected["metrics"].keys()
    for name, value in expected["metrics"].items():
        assert close(found["metrics"][name], value), name
    for name in ("read", "used", "dropped", "filled"):
        assert found["rows"].get(name) == expected["rows"].get(name)


def test_show_reads_every_model(run, model):
    assert json.loads(run(model, "show", "model.json", "--json"))["command"] == "show"
