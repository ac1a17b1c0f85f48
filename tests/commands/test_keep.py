"""`--keep`: original columns beside losses, scores and predictions."""

import pyarrow.parquet as pq
import pytest

from helpers.house_prices import add_house_files
from helpers.program import lrisk, read_csv, refusal

COMMANDS = {
    "fit": (["fit", "houses.csv", "--target", "price", "--exclude", "house,kind,sold"], "--losses"),
    "evaluate": (["evaluate", "price.json", "houses.csv"], "--losses"),
    "predict": (["predict", "price.json", "houses.csv"], "-o"),
    "detect-outliers": (["detect-outliers", "houses.csv", "--target", "price"], "-o"),
    "cluster": (["cluster", "houses.csv", "--features", "area,rooms", "-k", "2"], "--assignments"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return add_house_files(tmp_path_factory.mktemp("keep"))


@pytest.mark.parametrize("command", COMMANDS)
def test_original_cells_stand_beside_the_results_of_their_row(folder, command):
    words, flag = COMMANDS[command]
    output = f"{command}.csv"
    run = lrisk(folder, *words, flag, output, "--keep", "color,area", "--keep", "price")
    assert run.returncode == 0, run.stderr
    original = read_csv((folder / "houses.csv").read_text())
    lines = (folder / "houses.csv").read_text().splitlines()
    rows = read_csv((folder / output).read_text())
    assert len(rows) == len(original)
    for row in rows:
        source = original[int(row["row"])]
        assert all(row[name] == source[name] for name in ("color", "area", "price"))
        assert row["price"] in lines[int(row["line"]) - 1]
    assert list(rows[0])[-3:] == ["color", "area", "price"]


def test_all_keeps_every_column_but_the_id(folder):
    words = ["predict", "price.json", "houses.csv", "--id", "house", "--keep", "all"]
    assert lrisk(folder, *words, "-o", "all.parquet").returncode == 0
    names = pq.read_schema(folder / "all.parquet").names
    columns = list(read_csv((folder / "houses.csv").read_text())[0])
    assert names[:4] == ["row", "line", "id", "prediction"]
    assert names[4:] == [name for name in columns if name != "house"]


def test_a_column_with_the_name_of_a_result_is_told_apart(folder):
    (folder / "named.csv").write_text("prediction,area,rooms,color\n7,50,2,red\n8,60,3,blue\n")
    run = lrisk(folder, "predict", "price.json", "named.csv", "--keep", "prediction")
    assert run.returncode == 0, run.stderr
    rows = read_csv(run.stdout)
    assert [row["prediction.input"] for row in rows] == ["7", "8"]
    assert rows[0]["prediction"] != "7"


def test_a_column_that_is_not_there_is_refused_before_the_work(folder):
    run = lrisk(folder, "predict", "price.json", "houses.csv", "--keep", "colour")
    assert "no column 'colour'; did you mean 'color'?" in refusal(run, 3)
    run = lrisk(folder, "evaluate", "price.json", "houses.csv", "--keep", "color")
    assert "--keep copies columns to a table of rows; name it by --losses FILE" in refusal(run, 2)
