"""Pages of classifiers: curves as scikit-learn has them, confusion, worst rows."""

import csv
import re

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.metrics import confusion_matrix, roc_auc_score, roc_curve

from helpers.house_prices import add_house_files
from helpers.pages import check_page
from helpers.program import lrisk
from lrisk_cli.evaluation.class_errors import CURVE_POINTS, ClassTally, Confusion
from lrisk_cli.models.loading import load_model
from lrisk_cli.reports.class_pages import (
    MOST_PAIRS,
    confusion_table,
    reliability_plot,
    roc_plot,
)

COLUMNS = ["--features", "area,color,rooms"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Models of two and of three classes and their pages."""
    folder = add_house_files(tmp_path_factory.mktemp("classes"))
    for target in ("sold", "kind"):
        for name, arguments in (
            ("fit", ["fit", "houses.csv", "--target", target, *COLUMNS, "--holdout", "0.2",
                     "-o", f"{target}-model.json"]),
            ("evaluate", ["evaluate", f"{target}-model.json", "houses.csv", "--id", "house",
                          "--losses", f"{target}-losses.csv"]),
        ):  # fmt: skip
            run = lrisk(folder, *arguments, "--html", f"{name}-{target}.html", "--force")
            assert run.returncode == 0, run.stderr
    return folder


def read(folder, name):
    return check_page((folder / f"{name}.html").read_text("utf-8"))


def tables(root) -> dict[str, list[list[str]]]:
    """The cells of each table, by its caption."""
    return {
        table.attributes["aria-label"]: [
            [cell.text for cell in row.all("th", "td")] for row in table.all("tr")
        ]
        for table in root.all("table")
    }


@pytest.mark.parametrize("name", ["fit", "evaluate"])
def test_two_classes_have_a_roc_curve_and_three_have_none(folder, name):
    titles = {
        target: [each.text for each in read(folder, f"{name}-{target}").all("figcaption")]
        for target in ("sold", "kind")
    }
    assert any(title.startswith("ROC curve: area 0.") for title in titles["sold"])
    assert not any("ROC" in title for title in titles["kind"])
    for each in titles.values():
        assert any(title.startswith("Probabilities are off by") for title in each)


def scored(n=900):
    """Targets and probabilities of two classes that are badly calibrated."""
    rng = np.random.default_rng(3)
    p = rng.uniform(0.01, 0.99, n)
    targets = (rng.uniform(size=n) < p**2).astype(np.int32)
    tally = ClassTally(2)
    tally.add(targets, (p > 0.5).astype(np.int32), np.column_stack([1.0 - p, p]))
    return targets, p, tally.errors


def test_the_curves_are_those_of_scikit_learn(folder):
    model = load_model(str(folder / "sold-model.json"))
    targets, p, errors = scored()
    plot = roc_plot(model, [("tested", errors)])
    curve = plot.series[0]
    assert len(curve.x) <= CURVE_POINTS + 1
    false, true, _ = roc_curve(targets, p, drop_intermediate=False)
    points = set(zip(false.round(9).tolist(), true.round(9).tolist(), strict=True))
    assert set(zip(curve.x.round(9).tolist(), curve.y.round(9).tolist(), strict=True)) <= points
    assert f"area {roc_auc_score(targets, p):.4g} on tested rows" in plot.title
    curve = reliability_plot(model, [("tested", errors)]).series[0]
    fractions, means = calibration_curve(targets, p, n_bins=10)
    assert curve.x == pytest.approx(means)
    assert curve.y == pytest.approx(fractions)


@pytest.mark.parametrize("target", ["sold", "kind"])
def test_the_confusion_matrix_counts_the_rows_of_the_losses_file(folder, target):
    with (folder / f"{target}-losses.csv").open() as file:
        rows = list(csv.DictReader(file))
    targets, predictions = ([row[name] for row in rows] for name in ("target", "prediction"))
    classes = sorted(set(targets))
    expected = confusion_matrix(targets, predictions, labels=classes).astype(str).tolist()
    (caption,) = [name for name in tables(read(folder, f"evaluate-{target}")) if "Conf" in name]
    heads, *shown = tables(read(folder, f"evaluate-{target}"))[caption]
    assert heads[1:-1] == classes
    assert [row[1:-1] for row in shown] == expected


@pytest.mark.parametrize("target", ["sold", "kind"])
def test_the_worst_rows_are_the_largest_losses(folder, target):
    with (folder / f"{target}-losses.csv").open() as file:
        rows = sorted(csv.DictReader(file), key=lambda row: -float(row["loss"]))
    found = tables(read(folder, f"evaluate-{target}"))
    heads, *shown = found["The 20 largest losses of 300 evaluated rows"]
    assert heads == [
        *("row", "line", "id", "target", "prediction", "probability of the target", "loss")
    ]
    assert [row[2] for row in shown] == [row["id"] for row in rows[:20]]
    assert [row[4] for row in shown] == [row["prediction"] for row in rows[:20]]
    assert float(shown[0][5]) == pytest.approx(np.exp(-float(rows[0]["loss"])), rel=1e-3)
    assert "The 20 largest losses of 60 held out rows" in tables(read(folder, f"fit-{target}"))


def test_of_many_classes_the_most_frequent_confusions_are_shown():
    k = 20
    counts = np.arange(k * k).reshape(k, k)
    table = confusion_table(Confusion([f"c{j}" for j in range(k)], counts), "tested")
    assert len(table.rows) == MOST_PAIRS
    assert table.rows[0][:3] == ["c19", "c18", "398"]
    assert re.search(r"the first 30 of \d+ pairs", table.caption)
