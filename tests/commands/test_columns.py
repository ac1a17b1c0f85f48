"""`lrisk columns`: what it says of real tables beside DuckDB, and gates on what they hold."""

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from helpers.program import document, lrisk, refusal

ROOT = Path(__file__).parents[2]
TABLES = sorted((ROOT / "sample_data").glob("*.csv"))


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_figures_are_those_of_duckdb(tmp_path, path):
    found = document(lrisk(tmp_path, "columns", str(path), "--json"))
    rows = duckdb.sql(f"SELECT * FROM read_csv('{path}', header=true, all_varchar=true)")
    assert found["rows"] == len(rows)
    assert [each["name"] for each in found["columns"]] == rows.columns
    for each in found["columns"]:
        name = each["name"].replace('"', '""')
        cast = f'TRY_CAST("{name}" AS DOUBLE)' if each["kind"] == "number" else f'trim("{name}")'
        missing, distinct, low, high = duckdb.sql(
            f"SELECT count(*) - count({cast}), count(DISTINCT {cast}), min({cast}), max({cast}) "
            "FROM rows"
        ).fetchall()[0]
        assert each["missing"] + each["invalid"] == missing
        assert each["distinct_exact"]
        assert each["distinct"] == distinct
        if each["kind"] == "number":
            assert (each["min"], each["max"]) == (low, high)
        for value in each["frequent"]:
            text = float(value["value"]) if each["kind"] == "number" else value["value"]
            sql = f"SELECT count(*) FROM rows WHERE {cast} = ?"
            ((n,),) = duckdb.execute(sql, [text]).fetchall()
            assert value["rows"] == n


def write_doubtful(folder: Path) -> None:
    lines = ["price,city,code,date,one,empty"]
    for k in range(300):
        city = "Berlin" if k % 3 else "berlin "
        price = -999 if k % 50 == 0 else 100 + k
        lines.append(f"{price},{city},c{k},2024-01-{k % 28 + 1:02d},1,")
    lines[5] = "x,Paris,c4,2024-01-05,1,"
    (folder / "d.csv").write_text("\n".join(lines) + "\n")


def test_every_doubt_is_said_of_its_column(tmp_path):
    write_doubtful(tmp_path)
    found = document(lrisk(tmp_path, "columns", "d.csv", "--json"))
    columns = {each["name"]: each for each in found["columns"]}
    price = columns["price"]
    assert (price["kind"], price["invalid"], price["missing"]) == ("number", 1, 0)
    assert "the first 'x' in row 4, line 6" in price["doubts"][0]
    assert "-999" in price["doubts"][1]
    assert "'Berlin' (199), 'berlin' (100)" in columns["city"]["doubts"][0]
    assert columns["code"]["doubts"] == ["all texts differ: it may be an identifier, or free text"]
    assert (columns["date"]["kind"], columns["date"]["doubts"]) == ("date", [])
    assert (columns["date"]["min"], columns["date"]["max"]) == ("2024-01-01", "2024-01-28")
    assert columns["one"]["doubts"] == ["one value in every cell: it has no effect"]
    assert columns["empty"]["doubts"] == ["no cell has a value"]


def test_the_same_rows_give_the_same_document_in_any_form(tmp_path):
    rng = np.random.default_rng(0)
    table = pa.table({
        "x": rng.standard_normal(5000).round(4),
        "n": rng.integers(0, 9, 5000),
        "t": rng.choice(["a", "b", "c"], 5000),
        "id": [f"r{k}" for k in range(5000)],
    })  # fmt: skip
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=777)
    pa.csv.write_csv(table, tmp_path / "t.csv")
    pa.csv.write_csv(table.slice(0, 1234), tmp_path / "p1.csv")
    pa.csv.write_csv(table.slice(1234), tmp_path / "p2.csv")
    forms = (["t.csv"], ["t.parquet"], ["p1.csv", "p2.csv"])
    found = [document(lrisk(tmp_path, "columns", *form, "--json")) for form in forms]
    assert found[0]["columns"] == found[1]["columns"] == found[2]["columns"]
    assert [each["distinct_exact"] for each in found[0]["columns"]] == [False, True, True, False]


def test_what_was_written_is_met_and_what_changed_fails(tmp_path):
    write_doubtful(tmp_path)
    words = ["--write-expectations", "e.toml"]
    run = lrisk(tmp_path, "columns", "d.csv", *words, "--dtype", "price=category")
    assert run.returncode == 0, run.stderr
    run = lrisk(tmp_path, "columns", "d.csv", "--expect", "e.toml")
    assert run.returncode == 0, run.stdout
    lines = (tmp_path / "d.csv").read_text().splitlines()
    lines[8] = "108,Rome,c3,2024-03-01,1,"
    (tmp_path / "new.csv").write_text("\n".join(lines[:120]) + "\n")
    words = ["--expect", "e.toml", "--junit", "j.xml", "--github", "--json"]
    run = lrisk(tmp_path, "columns", "new.csv", *words)
    assert run.returncode == 1
    failed = {each["metric"] for each in json.loads(run.stdout)["gates"] if each["failed"]}
    assert failed == {"rows", "city: allowed", "code: unique", "date: range"}
    place = "file=new.csv,line=9,title=lrisk columns%3A rows::row 7, line 9"
    assert f"::notice {place}: city is 'Rome'" in run.stderr
    assert f"::notice {place}: code is 'c3'" in run.stderr
    assert f"::notice {place}: date is 2024-03-01" in run.stderr
    cases = ElementTree.parse(tmp_path / "j.xml").iter("failure")
    messages = [case.get("message") for case in cases]
    assert len(messages) == 4
    assert any("the first: row 7, line 9 ('Rome')" in message for message in messages)


def test_cells_of_another_kind_and_absent_columns_fail(tmp_path):
    write_doubtful(tmp_path)
    (tmp_path / "e.toml").write_text(
        '[columns.price]\nkind = "number"\nnull_share = 0.0\n[columns.gone]\nkind = "date"\n'
    )
    found = document(lrisk(tmp_path, "columns", "d.csv", "--expect", "e.toml", "--json"), 1)
    gates = {each["metric"]: (each["value"], each["failed"]) for each in found["gates"]}
    assert gates["price: kind"] == (1, True)
    assert gates["gone: column"] == (1, True)
    assert gates["price: null_share"][1]


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("", "holds no expectations"),
        ("[columns.price]\nkind = 'integer'", "columns.price.kind: is 'integer'; write one of"),
        ("[columns.price]\nmix = 1", "unknown key 'mix'; known: kind, min, max"),
        ("[columns.price]\nnull_share = 3", "write a fraction in [0, 1]"),
        ("[columns.price]\nmin = 'low'", "write a number or a date"),
        ("[columns.city]\nallowed = 'Berlin'", "is no list of texts"),
        ("[rows]\nmin = -1", "rows.min: is -1; write a number of rows"),
        ("rows = 7", "rows is no table; write [rows]"),
        ("{", "no file of expectations"),
    ],
)
def test_a_file_of_expectations_that_cannot_be_meant_is_refused(tmp_path, text, finding):
    write_doubtful(tmp_path)
    (tmp_path / "e.toml").write_text(text)
    message = refusal(lrisk(tmp_path, "columns", "d.csv", "--expect", "e.toml"), 3)
    assert finding in message


def test_a_page_has_a_histogram_for_each_column(tmp_path):
    write_doubtful(tmp_path)
    run = lrisk(tmp_path, "columns", "d.csv", "--html", "d.html", "--quiet")
    assert run.returncode == 0, run.stderr
    page = (tmp_path / "d.html").read_text()
    assert page.count("<svg") >= 3
    assert "may stand for a missing value" in page
    assert "--junit reports expectations" in refusal(
        lrisk(tmp_path, "columns", "d.csv", "--junit", "j.xml"), 2
    )


def test_a_table_holds_what_was_written_of_its_percentages(tmp_path):
    rows = "\n".join(f'{k % 7}.5%,"{k},250.5","{k % 5},5 %"' for k in range(1, 90))
    (tmp_path / "t.csv").write_text(f"share,price,rate\n{rows}\n")
    lrisk(tmp_path, "columns", "t.csv", "--write-expectations", "e.toml")
    done = lrisk(tmp_path, "columns", "t.csv", "--expect", "e.toml")
    assert done.returncode == 0, done.stdout
    (tmp_path / "u.csv").write_text("share,price,rate\n" + "high,1,2\n" * 80)
    assert lrisk(tmp_path, "columns", "u.csv", "--expect", "e.toml").returncode == 1
