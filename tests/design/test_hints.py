"""Notes ask about identifiers, codes, columns that give the target away, and rows that repeat."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from helpers.program import document, lrisk
from lrisk_cli.design import duplicate_rows as copies
from lrisk_cli.design.design import DesignOptions, build_design, read_design
from lrisk_cli.design.duplicate_rows import count_duplicates
from lrisk_cli.names import Missing, Task
from lrisk_cli.tables.table import open_table

N = 1500
RNG = np.random.default_rng(0)
Y = RNG.normal(size=N)
Z = RNG.normal(size=N)


def notes(folder: Path, target: object = Y, **columns: object) -> list[str]:
    """What is asked about these columns, the reason for the task left out."""
    pq.write_table(pa.table({**columns, "y": target}), folder / "t.parquet")
    options = DesignOptions("y", missing=Missing.IMPUTE)
    raw = read_design(open_table([str(folder / "t.parquet")]), options)
    return list(raw.usable.notes)


# Identifiers

IDENTIFIERS = {
    "row": np.arange(N) + 7,
    "shuffled": RNG.permutation(N) * 3,
    "holed": [None if k % 9 == 0 else k for k in range(N)],
    "name": [f"row {k}" for k in range(N)],
    "patient_nbr": RNG.permutation(N) // 2,
    "userId": RNG.integers(10**8, 10**9, N),
    "Order No": [f"A{k // 2}" for k in range(N)],
}


@pytest.mark.parametrize("name", IDENTIFIERS)
def test_a_column_that_differs_in_nearly_every_row_is_asked_about(tmp_path, name):
    (note,) = notes(tmp_path, **{name: IDENTIFIERS[name]})
    assert f"column '{name}' differs in nearly every row: an identifier?" in note
    assert f"exclude={name!r}" in note


MEASURES = {
    "price": np.round(RNG.lognormal(10, 1, N), 2),
    "salary": RNG.integers(10_000, 10**8, N),  # differ by chance
    "paid": RNG.integers(0, 5000, N) * 100,
    "epoch": RNG.permutation(10**7)[:N] + 1_600_000_000,
    "admission_type_id": RNG.integers(0, 2, N),
    "city": RNG.choice([f"city {k}" for k in range(N // 3)], N),
    "fnlwgt": RNG.integers(10_000, 90_000, N),
    "whole": np.round(RNG.normal(size=N) * 1e6),
}


@pytest.mark.parametrize("name", MEASURES)
def test_measures_are_no_identifiers(tmp_path, name):
    assert notes(tmp_path, **{name: MEASURES[name]}) == []


def test_several_identifiers_share_a_note(tmp_path):
    (note,) = notes(tmp_path, a=np.arange(N), x=Z, b=RNG.permutation(N))
    assert "columns 'a' and 'b' differ in nearly every row" in note
    assert "exclude='a,b', or id_column" in note


def test_digits_that_are_lost_are_told(tmp_path):
    (note,) = notes(tmp_path, hash=2**60 + RNG.integers(0, 500, N))
    assert "column 'hash' holds whole numbers beyond 2^53" in note
    assert "dtype='hash=category'" in note
    assert notes(tmp_path, mass=RNG.lognormal(size=N) * 1e30) == []


# Columns that give the target away


def test_a_column_that_gives_the_target_away_is_asked_about(tmp_path):
    (note,) = notes(tmp_path, leak=-3.0 * Y + 0.5 * Z, x=Z)
    r = abs(np.corrcoef(Y, -3.0 * Y + 0.5 * Z)[0, 1])
    assert f"column 'leak' alone nearly determines 'y' (correlation about {r:.2f})" in note
    remedy = "pass exclude='leak' if it is unknown at prediction time"
    assert f"possible target leakage; {remedy}" in note
    assert notes(tmp_path, good=Y + 0.6 * Z, x=Z) == []  # a correlation of 0.86


@pytest.mark.parametrize("kind", ["texts", "two numbers"])
def test_classes_can_be_given_away_too(tmp_path, kind):
    classes = np.where(Y > 1, "c", np.where(Y > -1, "b", "a"))
    if kind == "texts":
        (note,) = notes(tmp_path, classes, twin=np.char.upper(classes), x=Z)
        assert "column 'twin' alone nearly determines 'y' (about 100 % explained)" in note
    else:
        (note,) = notes(tmp_path, (Y > 0) * 1, twin=(Y > 0) * 5.0 + 0.1 * Z, x=Z)
        assert "column 'twin' alone nearly determines 'y'" in note
    # As many texts as rows would explain anything.
    rare = RNG.choice([f"t{k}" for k in range(N // 3)], N)
    assert notes(tmp_path, classes, rare=rare, x=Z) == []


# Codes


def draw(*shares: float) -> np.ndarray:
    return RNG.choice(len(shares), N, p=np.array(shares) / sum(shares))


CODES = {
    "with a dip": draw(5, 1, 6, 1, 4) + 1,
    "thal": np.array([3, 6, 7])[draw(166, 18, 117)],
}
COUNTS = {
    "children": draw(50, 25, 12, 6, 3, 1),
    "rooms": draw(1, 4, 9, 12, 8, 3, 1) + 1,
    "flag": draw(1, 3),
    "uniform": RNG.integers(1, 13, N),
    "days": np.array([1, 3, 7, 28, 90, 365])[draw(1, 9, 2, 30, 3, 5)],
    "year": RNG.integers(1990, 2020, N),
}


@pytest.mark.parametrize("name", CODES)
def test_whole_numbers_with_a_dip_may_be_codes(tmp_path, name):
    (note,) = notes(tmp_path, **{name: CODES[name]}, x=Z)
    assert f"column '{name}' holds few whole numbers: codes of categories?" in note
    assert f"dtype='{name}=category'" in note


@pytest.mark.parametrize("name", COUNTS)
def test_counts_and_flags_are_no_codes(tmp_path, name):
    assert notes(tmp_path, **{name: COUNTS[name]}, x=Z) == []


def test_a_target_that_follows_the_numbers_in_no_order_tells_codes(tmp_path):
    code = COUNTS["uniform"]
    jumps = np.array([0, 3, -1, 2, 0, -3, 1, 4, -2, 0, 2, -1, 1])[code]
    (note,) = notes(tmp_path, Y + 0.5 * jumps, code=code)
    assert "column 'code' holds few whole numbers" in note
    assert notes(tmp_path, Y + 0.5 * code, code=code) == []


def test_many_codes_share_a_note(tmp_path):
    columns = {f"c{k}": draw(5, 1, 6, 1, 4) for k in range(8)}
    (note,) = notes(tmp_path, **columns)
    assert "columns 'c0', 'c1', 'c2', 'c3', 'c4', 'c5' and 2 more hold few whole numbers" in note
    assert "pass dtype='c0,c1,c2,c3,c4,c5,c6,c7=category'" in note


# Marks of missing cells


def test_texts_that_often_mean_a_missing_cell_are_asked_about(tmp_path):
    texts = {name: RNG.choice(["a", "b", mark], N) for name, mark in (("s", "?"), ("t", "None"))}
    (note,) = notes(tmp_path, **texts, x=Z)
    assert "column 's' holds '?', a category like others: a missing cell?" in note
    assert "pass na_values='?'" in note
    found = notes(
        tmp_path, s=texts["s"], t=RNG.choice([" ?", "b"], N), u=RNG.choice(["NA", "c"], N)
    )
    assert [note.split(",")[0] for note in found] == [
        "columns 's' and 't' hold '?'",
        "column 'u' holds 'NA'",
    ]


# Rows that repeat

ROWS = {
    "x": [1.0, 2.0, 1.0, -0.0, 0.0, None, None, 2.0, 1.0],
    "t": ["a", "b", "a", "c", "c", None, None, "b", "a"],
    "y": [1.0, 2.0, 1.0, 3.0, 3.0, 4.0, 4.0, 9.0, 1.0],
}


def raw_of(folder: Path, columns: dict, **how):
    pq.write_table(pa.table(columns), folder / "t.parquet")
    options = DesignOptions("y", missing=Missing.IMPUTE, task=Task.REGRESSION)
    return read_design(open_table([str(folder / "t.parquet")]), options, **how)


def test_rows_that_repeat_are_counted(tmp_path):
    assert count_duplicates(raw_of(tmp_path, ROWS).usable.rows) == 4
    assert count_duplicates(raw_of(tmp_path, ROWS | {"y": range(9)}).usable.rows) == 0
    swapped = {"x": [1.0, 2.0] * 5, "z": [2.0, 1.0] * 5, "y": np.arange(10) // 2}
    assert count_duplicates(raw_of(tmp_path, swapped).usable.rows) == 0


@pytest.mark.parametrize("whole", [True, False])
def test_repeats_of_a_long_table_are_estimated(tmp_path, monkeypatch, whole):
    columns = {"x": RNG.integers(0, 60, 20_000), "z": RNG.integers(0, 60, 20_000)}
    table = pa.table(columns | {"y": np.zeros(20_000) + RNG.integers(0, 3, 20_000)})
    expected = len(table) - table.group_by(table.column_names).aggregate([]).num_rows
    raw = raw_of(tmp_path, dict(zip(table.column_names, table.columns, strict=True)))
    if whole:
        assert count_duplicates(raw.usable.rows) == expected
    else:
        monkeypatch.setattr(copies, "MOST_ROWS", 1000)
        assert count_duplicates(raw.usable.rows) == pytest.approx(expected, rel=0.2)


def test_repeats_are_told_where_rows_are_held_out(tmp_path):
    columns = {"x": np.arange(50) % 30 * 1.5, "y": np.arange(50) % 30 % 7 * 1.0}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    told = "20 of 50 rows repeat earlier ones"
    command = ("t.parquet", "--target", "y", "--risk", "mean", "--json", "--quiet")
    assert told not in str(document(lrisk(tmp_path, "fit", *command))["notes"])
    for options in (("--holdout", "0.2"), ("--cv", "3"), ("--cv", "3", "--holdout", "0.2")):
        found = document(lrisk(tmp_path, "fit", *command, *options))["notes"]
        assert str(found).count(told) == 1
    found = document(lrisk(tmp_path, "compare", *command, "--rival", "none"))
    assert str(found["notes"]).count(told) == 1
    found = document(lrisk(tmp_path, "quantile-report", "t.parquet", "--target", "y", "--json"))
    assert str(found["notes"]).count(told) == 1


# Real tables


def asked(path: Path, target: str, **how) -> str:
    options = DesignOptions(target, missing=Missing.IMPUTE)
    return "\n".join(read_design(open_table([str(path)]), options, **how).usable.notes)


def test_real_tables_are_asked_what_their_documentation_warns_of(real_data):
    found = asked(real_data / "diabetes_readmission.parquet", "readmitted")
    assert "columns 'encounter_id' and 'patient_nbr' differ in nearly every row" in found
    codes = "columns 'admission_type_id', 'discharge_disposition_id' and 'admission_source_id' hold"
    assert codes in found
    found = asked(real_data / "nyc_flights_2013.parquet", "arr_delay")
    assert "column 'dep_delay' alone nearly determines 'arr_delay'" in found
    found = asked(real_data / "heart_cleveland.csv", "disease")
    assert "columns 'cp', 'restecg', 'slope' and 'thal' hold few whole numbers each" in found
    found = asked(real_data / "acs_employment_ma.parquet", "employed", split=True)
    assert "107480 of 277677 rows repeat earlier ones" in found
    assert "'mar', 'relp'" in found
    found = asked(real_data / "wine_quality_red.csv", "quality", split=True)
    assert "240 of 1599 rows repeat earlier ones" in found
    assert found.count("\n") == 0
    assert asked(real_data / "california_housing.parquet", "median_house_value") == ""


def test_clusters_are_asked_about_too(tmp_path):
    table = pa.table({"id": np.arange(N), "x": Z, "code": CODES["with a dip"]})
    pq.write_table(table, tmp_path / "t.parquet")
    design, _ = build_design(
        open_table([str(tmp_path / "t.parquet")]), DesignOptions(None, intercept=False)
    )
    assert [note.split()[1] for note in design.notes] == ["'id'", "'code'"]
