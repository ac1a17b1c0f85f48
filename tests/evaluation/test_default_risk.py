"""The default risk never predicts one probability for all rows of a real table with two classes."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from sklearn import datasets

from helpers.program import document, run_here

# As many rows of the large tables, evenly taken.
MOST = 10_000
REAL = {
    "adult/train.parquet": "income",
    "heart_cleveland.csv": "disease",
    "breast_cancer_wdbc.csv": "malignant",
    "acs_employment_ma.parquet": "employed",
    "diabetes_readmission.parquet": "readmitted",
    "prospect_splits/diabetes_train.parquet": "y",
}
# One class of each against the others.
LEARN = {"load_breast_cancer": 1, "load_iris": 3, "load_wine": 3, "load_digits": 10}


def read(path, target):
    """Features and a target of two classes; readmitted soon, or not."""
    if path.suffix == ".csv":
        from pyarrow import csv

        table = csv.read_csv(path)
    else:
        table = pq.read_table(path)
    table = table.take(np.unique(np.linspace(0, len(table) - 1, MOST).astype(int)))
    cells = table[target]
    if len(pc.unique(cells)) > 2:
        cells = pc.equal(cells, "<30").cast(pa.int8())
    left_out = [
        name for name in table.column_names if name in (target, "encounter_id", "patient_nbr")
    ]
    return table.drop(left_out).append_column("the_class", cells)


def spread_of(capsys, folder, table):
    """Largest minus smallest probability, and the codes of warnings."""
    pq.write_table(table, folder / "table.parquet")
    fit = ("fit", "table.parquet", "--target", "the_class", "--task", "classification")
    run = run_here(
        capsys, *fit, "--missing", "impute", "-o", "m.json", "--force", "--json", "--quiet",
        "--no-reference",
    )  # fmt: skip
    found = document(run)
    assert found["risk"] == "extremile:2"
    predict = ("predict", "m.json", "table.parquet", "-o", "p.parquet", "--force", "--quiet")
    assert run_here(capsys, *predict).returncode == 0
    rows = pq.read_table(folder / "p.parquet")
    values = rows[rows.column_names[-1]].to_numpy()
    return float(np.ptp(values)), [each["code"] for each in found["warnings"]]


@pytest.mark.parametrize("name", REAL)
def test_real_tables(name, real_data, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    spread, codes = spread_of(capsys, tmp_path, read(real_data / name, REAL[name]))
    assert "constant_predictions" not in codes
    # There the columns say little (an AUC of 0.62), and the command warns of that.
    assert spread > 0.1 or (name.startswith("prospect") and "no_gain" in codes)


@pytest.mark.parametrize("name", LEARN)
def test_tables_of_scikit_learn(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    X, y = getattr(datasets, name)(return_X_y=True)
    columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
    for chosen in range(LEARN[name]):
        table = pa.table({**columns, "the_class": (y == chosen).astype(np.int8)})
        spread, codes = spread_of(capsys, tmp_path, table)
        assert spread > 0.4, chosen
        assert "constant_predictions" not in codes


def test_the_former_default_did(real_data, tmp_path, monkeypatch, capsys):
    """The tables are able to show it: superquantile:0.9 predicts a coin flip on several."""
    monkeypatch.chdir(tmp_path)
    pq.write_table(read(real_data / "heart_cleveland.csv", "disease"), tmp_path / "table.parquet")
    run = run_here(
        capsys, "fit", "table.parquet", "--target", "the_class", "--missing", "impute", "--json",
        "--quiet", "--risk", "superquantile:0.9",
    )  # fmt: skip
    codes = [each["code"] for each in document(run)["warnings"]]
    assert "constant_predictions" in codes
