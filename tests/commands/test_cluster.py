"""`lrisk cluster` and what other commands do with clusters, run in scratch folders."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from helpers.clouds import make_clouds
from helpers.problems import plain_risk
from helpers.program import document, lrisk, read_csv, refusal, without_places, write_csv

NAMES = np.array(["left", "middle", "right", "far"])
LABELLED = ["--id", "id", "--label", "cloud", "--inlier-labels", "left,middle,right"]
GIVEN = [*LABELLED, "--risk", "subquantile:0.75"]


def columns_of(X: np.ndarray, labels: np.ndarray) -> dict[str, object]:
    ids = [f"p{i}" for i in range(len(X))]
    return {"id": ids, "x": X[:, 0], "y": X[:, 1], "cloud": NAMES[labels]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """clouds.csv and test.csv; the rows of the first are shuffled."""
    clouds = make_clouds(0)
    order = np.random.default_rng(0).permutation(400)
    write_csv(tmp_path / "clouds.csv", columns_of(clouds.X[order], clouds.labels[order]))
    write_csv(tmp_path / "test.csv", columns_of(clouds.X_test, clouds.test_labels))
    return tmp_path


def clouds_of(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """The points of clouds.csv and their labels."""
    rows = read_csv((folder / "clouds.csv").read_text())
    X = np.array([[float(row["x"]), float(row["y"])] for row in rows])
    return X, np.array([row["cloud"] for row in rows])


def cluster(folder: Path, *arguments: str, code: int = 0) -> dict:
    """What `lrisk cluster clouds.csv ... --json` prints."""
    return document(lrisk(folder, "cluster", "clouds.csv", *arguments, "--json"), code)


# The command


def test_files_and_document_tell_the_same(folder):
    flags = ["-k", "3", *GIVEN, "-o", "c.json", "--assignments", "a.csv"]
    result = cluster(folder, *flags)
    contents = json.loads((folder / "c.json").read_text())
    rows = read_csv((folder / "a.csv").read_text())
    assert (result["command"], result["model"], result["k"]) == ("cluster", "c.json", 3)
    assert result["risk"] == contents["risk"] == "subquantile:0.75"
    assert result["fit"] == contents["fit"]
    assert len(result["fit"]["starts"]) == 10
    names = ["row", "line", "id", "cluster", "distance", "weight", "rank", "is_outlier"]
    assert list(rows[0]) == names
    assert [row["id"] for row in rows] == [f"p{i}" for i in range(400)]
    assert sum(float(row["weight"]) for row in rows) == pytest.approx(1.0)
    assert sorted(int(row["rank"]) for row in rows) == list(range(1, 401))
    assert sum(int(row["is_outlier"]) for row in rows) == result["outliers"]["rows"] == 100
    for j, told in enumerate(result["clusters"]):
        own = [row for row in rows if int(row["cluster"]) == j]
        assert told["rows"] == contents["clusters"][j]["rows"] == len(own)
        assert told["weight"] == pytest.approx(sum(float(row["weight"]) for row in own))
        assert list(told["centre"].values()) == contents["clusters"][j]["centre"]
    assert result["metrics"]["accuracy"] == result["metrics"]["purity"] == 1.0
    assert result["metrics"]["average_precision"] > 0.98
    assert result["labels"]["pairing"] != [None] * 3
    table = {row["label"]: row["rows"] for row in result["labels"]["confusion"]}
    assert sum(table["far"]) == sum(table["left"]) == 100
    assert {"read_s", "design_s", "solve_s", "write_s", "total_s"} <= set(result["timings"])


def test_distances_and_objective_follow_from_the_model_file(folder):
    cluster(folder, "-k", "3", *GIVEN, "-o", "c.json", "--assignments", "a.csv")
    contents = json.loads((folder / "c.json").read_text())
    X, _ = clouds_of(folder)
    np.testing.assert_allclose([f["mean"] for f in contents["encoding"]["features"]], X.mean(0))
    scale = X.std(axis=0)
    np.testing.assert_allclose([f["scale"] for f in contents["encoding"]["features"]], scale)
    centres = np.array([entry["centre"] for entry in contents["clusters"]])
    losses = (((X[:, None] - centres) / scale) ** 2).sum(axis=2).min(axis=1)
    rows = read_csv((folder / "a.csv").read_text())
    np.testing.assert_allclose([float(row["distance"]) for row in rows], np.sqrt(losses))
    objective = plain_risk(losses, "subquantile:0.75")
    assert contents["fit"]["objective"] == pytest.approx(objective, rel=1e-12)
    assert contents["fit"]["objective_scale"] == "standardised"


def test_without_standardisation_the_objective_is_on_the_numbers_of_the_file(folder):
    flags = ["--standardize", "none", "--risk", "lower-extremile:5", "-o", "c.json"]
    result = cluster(folder, "-k", "3", *LABELLED, *flags)
    X, _ = clouds_of(folder)
    centres = np.array([list(c["centre"].values()) for c in result["clusters"]])
    losses = ((X[:, None] - centres) ** 2).sum(axis=2).min(axis=1)
    assert result["fit"]["objective"] == pytest.approx(plain_risk(losses, "lower-extremile:5"))
    assert result["fit"]["objective_scale"] == "file"
    assert result["metrics"]["accuracy"] == 1.0


def test_the_same_rows_and_seed_give_the_same_files_in_any_form(folder):
    rows = read_csv((folder / "clouds.csv").read_text())
    kinds = {"id": str, "x": float, "y": float, "cloud": str}
    table = pa.table({k: pa.array([kind(row[k]) for row in rows]) for k, kind in kinds.items()})
    pyarrow.parquet.write_table(table, folder / "clouds.parquet", row_group_size=37)
    for start in range(0, 400, 150):
        write_csv(folder / f"part{start}.csv", table.slice(start, 150).to_pydict())
    written = []
    forms = ["clouds.csv", "clouds.csv", "clouds.parquet"]
    for k, form in enumerate([*forms, "part*.csv"]):
        outputs = ["-o", f"c{k}.json", "--assignments", f"a{k}.csv"]
        run = lrisk(folder, "cluster", form, "-k", "4", *LABELLED, *outputs)
        assert run.returncode == 0, run.stderr
        assigned = without_places((folder / outputs[3]).read_text())
        written.append([(folder / outputs[1]).read_bytes(), assigned])
    assert all(files == written[0] for files in written[1:])
    assert lrisk(folder, "cluster", "clouds.csv", "-k", "4", *LABELLED, "--seed", "1",
                 "-o", "other.json").returncode == 0  # fmt: skip
    assert (folder / "other.json").read_bytes() != written[0][0]


def test_the_label_is_never_a_feature(folder):
    cluster(folder, "-k", "3", "--id", "id", "--label", "cloud", "-o", "c.json")
    contents = json.loads((folder / "c.json").read_text())
    assert contents["columns"] == ["x", "y"]
    run = lrisk(folder, "cluster", "clouds.csv", "-k", "3", "--label", "cloud",
                "--features", "x,cloud")  # fmt: skip
    assert "'cloud' is the --label column" in refusal(run, 2)
    cluster(folder, "-k", "3", "--label", "cloud", "--exclude", "id,cloud")


def test_text_columns_become_shares(folder):
    flags = ["--exclude", "id", "--risk", "mean", "-o", "c.json"]
    result = cluster(folder, "-k", "2", *flags)
    for told in result["clusters"]:
        shares = [v for name, v in told["centre"].items() if name.startswith("cloud=")]
        assert len(shares) == 4
        assert sum(shares) == pytest.approx(1.0)


def test_a_range_tries_each_and_reports_the_curve(folder):
    result = cluster(folder, "-k", "2..5", *GIVEN)
    curve = result["fit"]["curve"]
    assert [point["k"] for point in curve] == [2, 3, 4, 5]
    best = max(curve, key=lambda point: point["criterion"])
    assert result["k"] == best["k"] == 3
    shown = lrisk(folder, "cluster", "clouds.csv", "-k", "2..5", *GIVEN).stdout
    assert any(line.split()[0] == "3" and "picked" in line for line in shown.splitlines() if line)
    assert cluster(folder, "-k", "3", *LABELLED)["fit"]["curve"] == []


def test_minibatches_find_the_clouds_too_and_take_their_options(folder):
    flags = ["--solver", "sgd", "--batch-size", "32", "--step", "0.5", "--epochs", "30"]
    result = cluster(folder, "-k", "3", *LABELLED, *flags)
    assert result["metrics"]["accuracy"] == 1.0
    assert (result["fit"]["solver"], result["fit"]["iterations"]) == ("sgd", 30)


BAD_SEEDS = """
import sys
import numpy as np
import lrisk_cli.clusters.clustering
def draw_seeds(X, k, spectrum, generator, masses=None):
    return np.concatenate([X[: k - 1], np.full((1, X.shape[1]), 1e6)])
lrisk_cli.clusters.clustering.draw_seeds = draw_seeds
from lrisk_cli.cli import run
sys.exit(run(sys.argv[1:]))
"""


def test_an_emptied_cluster_is_said(folder):
    """Seeds are too good to lose a cluster, so these are made worse."""
    command = ["cluster", "clouds.csv", "-k", "3", *LABELLED, "--starts", "2", "--json"]
    run = subprocess.run(
        [sys.executable, "-c", BAD_SEEDS, *command], cwd=folder, capture_output=True, text=True
    )
    result = document(run)
    assert [start["reseeded"] for start in result["fit"]["starts"]] == [1, 1]
    assert any(note.startswith("2 clusters were left without weight") for note in result["notes"])


# Evaluate, predict, show


def test_evaluate_judges_new_rows(folder):
    cluster(folder, "-k", "3", *GIVEN, "-o", "c.json")
    result = document(lrisk(folder, "evaluate", "c.json", "test.csv", "--label", "cloud", "--json"))
    assert result["metrics"]["accuracy"] == 1.0
    assert [row["rows"] for row in result["clusters"]] == [100, 100, 100]
    assert {"mean", "subquantile:0.75", "max", "outlier_fraction"} <= set(result["metrics"])
    shown = lrisk(folder, "evaluate", "c.json", "test.csv", "--label", "cloud")
    assert "accuracy" in shown.stdout


def test_evaluate_and_cluster_agree_on_their_rows(folder):
    flags = ["-k", "3", *GIVEN, "-o", "c.json", "--assignments", "a.csv"]
    told = cluster(folder, *flags)
    flags = [*LABELLED, "--losses", "b.csv", "--json"]
    evaluated = document(lrisk(folder, "evaluate", "c.json", "clouds.csv", *flags))
    assert (folder / "a.csv").read_bytes() == (folder / "b.csv").read_bytes()
    for key in ("metrics", "labels", "rows", "outliers"):
        assert evaluated[key] == told[key]


def test_gates_hold_for_clusters(folder):
    cluster(folder, "-k", "3", *GIVEN, "-o", "c.json")
    evaluate = ["evaluate", "c.json", "test.csv", "--label", "cloud", "--json"]
    gates = ["--fail-on", "accuracy<0.9", "--fail-on", "lower-extremile:2>1e9"]
    result = document(lrisk(folder, *evaluate, *gates))
    assert [gate["failed"] for gate in result["gates"]] == [False, False]
    result = document(lrisk(folder, *evaluate, "--fail-on", "outlier_fraction>=0"), 1)
    assert result["gates"][0]["failed"]
    run = lrisk(folder, *evaluate, "--fail-on", "rmse>1")
    assert "rmse is a metric of regression" in refusal(run, 2)


def test_predict_writes_cluster_distance_and_outlier(folder):
    cluster(folder, "-k", "3", *GIVEN, "-o", "c.json", "--assignments", "a.csv")
    assert lrisk(folder, "predict", "c.json", "clouds.csv", "--id", "id", "-o",
                 "p.csv").returncode == 0  # fmt: skip
    predicted = read_csv((folder / "p.csv").read_text())
    assigned = read_csv((folder / "a.csv").read_text())
    assert list(predicted[0]) == ["row", "line", "id", "cluster", "distance", "is_outlier"]
    for ours, theirs in zip(predicted, assigned, strict=True):
        assert all(ours[name] == theirs[name] for name in ours)


def test_show_prints_the_centres(folder):
    cluster(folder, "-k", "3", *GIVEN, "-o", "c.json")
    shown = lrisk(folder, "show", "c.json").stdout
    assert "3 clusters on 2 features; subquantile:0.75 of squared distances" in shown
    told = document(lrisk(folder, "show", "c.json", "--json"))
    contents = json.loads((folder / "c.json").read_text())
    assert [list(c["centre"].values()) for c in told["clusters"]] == [
        c["centre"] for c in contents["clusters"]
    ]


def test_rows_with_holes_are_dropped_and_counted(folder):
    text = (folder / "clouds.csv").read_text().splitlines()
    cells = text[5].split(",")
    text[5] = ",".join([cells[0], "", *cells[2:]])
    (folder / "clouds.csv").write_text("\n".join(text) + "\n")
    run = lrisk(folder, "cluster", "clouds.csv", "-k", "3", *LABELLED)
    assert "clouds.csv, column 'x', row 4: the cell is missing" in refusal(run, 3)
    result = cluster(folder, "-k", "3", *LABELLED, "--missing", "drop", "--assignments", "a.csv")
    assert result["rows"] == {"read": 400, "used": 399, "dropped": 1, "reasons": {"missing x": 1}}
    rows = [int(row["row"]) for row in read_csv((folder / "a.csv").read_text())]
    assert rows == [i for i in range(400) if i != 4]
    assert sum(sum(row["rows"]) for row in result["labels"]["confusion"]) == 399


# What is refused: a sentence, its code, and nothing written


@pytest.mark.parametrize(
    ("name", "columns", "flags", "code", "finding"),
    [
        ("equal", {"a": [1.0] * 5, "b": [2.0] * 5}, [], 3, "all 5 rows are equal"),
        ("few", {"a": [1.0, 2.0, 1.0, 2.0]}, [], 3, "2 distinct rows, fewer than 3 clusters"),
        ("text", {"a": ["u", "v", "w", "x"]}, [], 3, "no feature holds numbers"),
        (
            "hole",
            {"a": [1.0, None, 3.0], "b": [1.0, 2.0, 3.0]},
            [],
            3,
            "row 1: the cell is missing",
        ),
        ("nan", {"a": ["1", "NaN", "3", "4"]}, [], 3, "missing"),
        ("one", {"a": [1.0]}, [], 3, "1 of 1 rows can be used"),
        ("huge", {"a": [1e152, 1.0, 2.0]}, ["--standardize", "none"], 3, "too large to square"),
        ("k", {"a": [1.0, 2.0, 3.0]}, ["-k", "zero"], 2, "-k takes a number of clusters"),
        ("k0", {"a": [1.0, 2.0, 3.0]}, ["-k", "0"], 2, "-k takes"),
        ("range", {"a": [1.0, 2.0, 3.0]}, ["-k", "5..2"], 2, "-k takes"),
        ("risk", {"a": [1.0, 2.0, 3.0]}, ["--risk", "esrm:1"], 2, "risks that fall"),
        (
            "sgd",
            {"a": [1.0, 2.0, 3.0]},
            ["--epochs", "3"],
            2,
            "(only by sgd)",
        ),
        ("step", {"a": [1.0, 2.0]}, ["--solver", "sgd", "--step", "0"], 2, "--step must be"),
        ("label", {"a": [1.0, 2.0, 3.0]}, ["--label", "b"], 3, "no column 'b'"),
        ("in", {"a": [1.0, 2.0]}, ["--inlier-labels", "b"], 2, "without --label"),
    ],
)
def test_bad_input_is_answered_with_a_sentence(tmp_path, name, columns, flags, code, finding):
    write_csv(tmp_path / "t.csv", columns)
    outputs = ["-o", "c.json", "--assignments", "a.csv"]
    k = [] if "-k" in flags else ["-k", "3"]
    run = lrisk(tmp_path, "cluster", "t.csv", *k, *flags, *outputs)
    assert finding in refusal(run, code)
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


def test_options_of_the_other_kind_of_model_are_refused(folder):
    cluster(folder, "-k", "3", *GIVEN, "-o", "c.json")
    run = lrisk(folder, "evaluate", "c.json", "test.csv", "--intervals")
    assert "holds clusters" in refusal(run, 2)
    fit = ["fit", "clouds.csv", "--target", "x", "--features", "y", "-o", "m.json"]
    assert lrisk(folder, *fit).returncode == 0
    run = lrisk(folder, "evaluate", "m.json", "test.csv", "--label", "cloud")
    assert "--label is compared with clusters" in refusal(run, 2)
    run = lrisk(folder, "cluster", "clouds.csv", "-k", "3", *LABELLED, "-o", "c.json")
    assert "c.json: exists" in refusal(run, 2)


# The figures of the paper on real images


@pytest.mark.parametrize(
    ("name", "inliers", "risk", "at_least", "objective"),
    [
        ("mnist", "1,3", "subquantile:0.66", 0.9705, 228.912),
        ("mnist", "1,3", "lower-extremile:2", 0.9747, 264.741),
        ("fashion_mnist", "1,7", "subquantile:0.5", 0.9935, 224.682),
    ],
)
def test_images_are_clustered_in_spite_of_outliers(
    real_data, tmp_path, name, inliers, risk, at_least, objective
):
    train, test = (str(real_data / "clustering" / f"{name}_{p}.parquet") for p in ("train", "test"))
    labels = ["--label", "label", "--inlier-labels", inliers]
    run = lrisk(tmp_path, "cluster", train, "-k", "2", "--risk", risk, *labels, "-o", "c.json",
                "--json", timeout=120)  # fmt: skip
    result = document(run)
    assert result["fit"]["objective"] <= objective
    run = lrisk(tmp_path, "evaluate", "c.json", test, "--label", "label", "--json", timeout=120)
    assert document(run)["metrics"]["accuracy"] >= at_least
