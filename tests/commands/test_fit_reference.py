"""The ordinary fit beside a fit: figures of scikit-learn's ridge and logistic regressions."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss, mean_squared_error

from helpers.program import document, lrisk, read_csv, run_here

SAMPLES = Path(__file__).parents[2] / "sample_data"
WINE = [str(SAMPLES / "wine_quality_red.csv"), "--target", "quality"]
CANCER = [str(SAMPLES / "breast_cancer.csv"), "--target", "diagnosis"]


def columns(path: str, target: str) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of all other columns, and the target."""
    rows = read_csv(Path(path).read_text("utf-8"))
    names = [name for name in rows[0] if name != target]
    X = np.array([[float(row[name]) for name in names] for row in rows])
    return X, np.array([row[target] for row in rows])


def same(found: dict, wanted: dict, rel: float = 1e-5) -> bool:
    """Figures that agree; rounding alone decides on a bias of nothing."""
    names = [name for name in wanted if name != "bias"]
    assert list(found) == list(wanted)
    return all(found[name] == pytest.approx(wanted[name], rel=rel) for name in names)


def test_the_reference_of_numbers_is_a_ridge_regression(tmp_path):
    found = document(lrisk(tmp_path, "fit", *WINE, "--l2", "0.01", "--json"))
    X, y = columns(WINE[0], "quality")
    y = y.astype(float)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    # The constant is penalised here too, but the centred target has none.
    ridge = Ridge(alpha=0.01 * len(y)).fit(Z, y)
    half = mean_squared_error(y, ridge.predict(Z)) / 2.0
    assert found["reference"]["training"]["mean"] == pytest.approx(half, rel=1e-6)
    assert found["reference"]["holdout"] is None


def test_the_reference_of_classes_is_a_logistic_regression(tmp_path):
    found = document(lrisk(tmp_path, "fit", *CANCER, "--l2", "0.01", "--json"))
    X, y = columns(CANCER[0], "diagnosis")
    Z = np.column_stack([(X - X.mean(axis=0)) / X.std(axis=0), np.ones(len(X))])
    C = 1.0 / (0.01 * len(y))
    known = LogisticRegression(C=C, fit_intercept=False, tol=1e-10, max_iter=10_000).fit(Z, y)
    wanted = log_loss(y, known.predict_proba(Z))
    assert found["reference"]["training"]["mean"] == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize(
    "options",
    [
        [*WINE, "--risk", "superquantile:0.9", "--holdout", "0.2"],
        [*CANCER, "--risk", "superquantile:0.5", "--holdout", "0.2"],
        [*WINE, "--task", "classification", "--risk", "extremile:2"],
        [*WINE, "--loss", "huber:0.5", "--risk", "extremile:2", "--holdout", "0.2"],
        [*WINE, "--loss", "poisson", "--risk", "esrm:2"],
        [*WINE, "--kernel", "rbf", "--rank", "50", "--risk", "extremile:2", "--holdout", "0.2"],
        [*WINE, "--solver", "lsvrg", "--max-passes", "3", "--risk", "extremile:2"],
        [*WINE, "--smoothing", "l2", "--risk", "extremile:2"],
        [*WINE, "--risk", "subquantile:0.9", "--scaling", "deviation"],
        [*WINE, "--test", WINE[0]],
    ],
    ids=["squared", "logistic", "softmax", "huber", "poisson", "kernel", "lsvrg", "smoothed",
         "falling", "test"],
)  # fmt: skip
def test_the_reference_has_the_figures_of_a_fit_of_the_mean(tmp_path, options):
    found = document(lrisk(tmp_path, "fit", *options, "--json"))
    kept = {"--kernel", "--rank", "--holdout", "--loss", "--task", "--scaling", "--test"}
    pairs = zip(options[3::2], options[4::2], strict=True)
    like = [part for name, value in pairs if name in kept for part in (name, value)]
    mean = document(lrisk(tmp_path, "fit", *options[:3], *like, "--risk", "mean", "--json"))
    assert mean["reference"] is None
    for rows in ("training", "holdout"):
        if mean[rows] is None:
            assert found["reference"][rows] is None
        else:
            assert same(found["reference"][rows], mean[rows])


def test_several_risks_share_one_reference_which_the_mean_is_where_it_is_fitted(tmp_path):
    risks = ["--risk", "extremile:2", "--risk", "superquantile:0.9"]
    two = document(lrisk(tmp_path, "fit", *WINE, *risks, "--json"))["fits"]
    assert two[0]["reference"] == two[1]["reference"]
    three = document(lrisk(tmp_path, "fit", *WINE, *risks, "--risk", "mean", "--json"))["fits"]
    assert three[2]["reference"] is None
    assert three[0]["reference"]["training"] == three[2]["training"]
    assert same(two[0]["reference"]["training"], three[2]["training"])
    lines = lrisk(tmp_path, "fit", *WINE, *risks).stdout.splitlines()
    assert sum(line.startswith("ordinary fit") for line in lines) == 2


def test_the_chosen_candidate_has_a_reference_with_its_penalty(tmp_path):
    chosen = ["--l2", "0.001,1", "--cv", "3", "--risk", "extremile:2"]
    found = document(lrisk(tmp_path, "fit", *WINE, *chosen, "--json"))
    like = ["--risk", "mean", "--l2", str(found["l2"])]
    mean = document(lrisk(tmp_path, "fit", *WINE, *like, "--json"))
    assert same(found["reference"]["training"], mean["training"])


def test_no_reference_leaves_it_out_and_changes_no_model(tmp_path):
    texts = []
    for name, options in (("with.json", []), ("without.json", ["--no-reference"])):
        done = lrisk(tmp_path, "fit", *WINE, *options, "-o", name)
        assert ("ordinary fit" in done.stdout) == (not options)
        texts.append((tmp_path / name).read_bytes())
    assert texts[0] == texts[1]
    left_out = lrisk(tmp_path, "fit", *WINE, "--no-reference", "--json")
    assert json.loads(left_out.stdout)["reference"] is None


def test_a_fit_that_takes_all_its_time_goes_without_a_reference(tmp_path):
    limit = ["--time-limit", "1e-6"]
    found = document(lrisk(tmp_path, "fit", *CANCER, *limit, "--json"))
    assert found["reference"] is None
    (note,) = [note for note in found["notes"] if note.startswith("reference")]
    assert "--time-limit" in note


def test_the_first_line_says_what_the_tail_gains_in_units_of_the_target(tmp_path):
    options = [*WINE, "--risk", "superquantile:0.9", "--holdout", "0.2"]
    found = document(lrisk(tmp_path, "fit", *options, "--json"))
    first = lrisk(tmp_path, "fit", *options).stdout.splitlines()[0]
    numbers = [
        math.sqrt(2.0 * of[name])
        for of in (found["holdout"], found["reference"]["holdout"])
        for name in ("mean", "superquantile:0.9")
    ]
    a, b, c, d = (f"{value:.3g}" for value in numbers)
    text = f"held out: typical error {a}, worst tenth {b}; ordinary fit {c}, {d}"
    assert first == f"result       {text}"


def test_the_losses_of_classes_are_no_errors_in_units(tmp_path):
    printed = lrisk(tmp_path, "fit", *CANCER).stdout
    assert printed.startswith("result       training: mean loss ")
    assert "off by" not in printed
    assert "risk of the loss" in printed


def test_losses_of_billions_fit_beside_those_of_the_ordinary_fit(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    draws = np.random.default_rng(0)
    X = draws.standard_normal(60)
    y = 2e5 * (X + draws.standard_normal(60))
    table = "x,y\n" + "".join(f"{a},{b}\n" for a, b in zip(X, y, strict=True))
    Path("prices.csv").write_text(table, "utf-8")
    arguments = ["fit", "prices.csv", "--target", "y", "--holdout", "20%", "-o", "m.json"]
    text = run_here(capsys, *arguments).stdout
    head = next(line for line in text.splitlines() if "billions" in line)
    assert head.split()[-5:] == ["fit", "held", "out", "ordinary", "fit"]
    losses, errors = [line.split() for line in text.splitlines() if line.startswith("mean ")]
    assert len(losses) == len(errors) == 5
    off_by = float(errors[1].replace(",", ""))
    assert 1e9 * float(losses[1]) == pytest.approx(off_by**2 / 2.0, rel=1e-4)
