"""`--target-scale` with the real program: what is fitted, predicted, judged and refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.linear_model import Ridge
from sklearn.metrics import mean_absolute_error, r2_score

from helpers.program import document, lrisk, read_csv, refusal, write_csv

N = 300
FIT = ("fit", "flats.csv", "--target", "price", "--risk", "mean", "-o", "m.json", "--force")
PLAIN = ("--quiet", "--json")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    area, rooms = rng.uniform(20, 200, N).round(1), rng.integers(1, 7, N)
    price = np.exp(8.0 + 0.01 * area + 0.05 * rooms + 0.5 * rng.standard_normal(N)).round(2)
    write_csv(tmp_path / "flats.csv", {"area": area, "rooms": rooms, "price": price})
    return tmp_path


def column(folder: Path, name: str, file: str = "flats.csv") -> np.ndarray:
    return np.array([float(row[name]) for row in read_csv((folder / file).read_text())])


@pytest.mark.parametrize("scale", ["log", "log1p"])
def test_predictions_and_figures_are_those_of_scikit_learn(folder: Path, scale: str) -> None:
    words = ("--target-scale", scale, "--standardize", "none", "--no-intercept", "--l2", "0.1")
    found = document(lrisk(folder, *FIT, *words, *PLAIN))
    X = np.column_stack([column(folder, name) for name in ("area", "rooms")])
    y = column(folder, "price")
    there, back = (np.log, np.exp) if scale == "log" else (np.log1p, np.expm1)
    ridge = Ridge(alpha=0.1 * N, fit_intercept=False)
    other = TransformedTargetRegressor(ridge, func=there, inverse_func=back).fit(X, y)
    run = lrisk(folder, "predict", "m.json", "flats.csv", "-o", "p.csv", "--force")
    assert run.returncode == 0, run.stderr
    expected = other.predict(X)
    np.testing.assert_allclose(column(folder, "prediction", "p.csv"), expected, rtol=1e-6)
    residuals = there(y) - there(expected)
    factor = np.exp(residuals).mean()
    assert found["smearing"] == pytest.approx(factor, rel=1e-6)
    shift = 0.0 if scale == "log" else 1.0
    np.testing.assert_allclose(
        column(folder, "prediction_mean", "p.csv"), factor * (expected + shift) - shift, rtol=1e-6
    )
    figures = document(lrisk(folder, "evaluate", "m.json", "flats.csv", *PLAIN))["metrics"]
    assert figures["mae"] == pytest.approx(mean_absolute_error(y, expected))
    assert figures["rmse"] == pytest.approx(np.sqrt(np.mean((y - expected) ** 2)))
    assert figures["r2"] == pytest.approx(r2_score(y, expected))
    assert figures["bias"] == pytest.approx(np.mean(expected - y))
    assert figures["median_error"] == pytest.approx(np.median(np.abs(expected - y)))
    assert figures["mean"] == pytest.approx(0.5 * np.mean(residuals**2))
    assert figures["log_rmse"] == pytest.approx(np.sqrt(np.mean(residuals**2)))
    assert figures["log_mae"] == pytest.approx(np.mean(np.abs(residuals)))
    assert figures["log_r2"] == pytest.approx(r2_score(there(y), there(expected)))
    assert figures["log_bias"] == pytest.approx(-np.mean(residuals), abs=1e-9)
    kept = json.loads((folder / "m.json").read_text())["target_scale"]
    assert kept == {"transform": scale, "smearing": found["smearing"]}


def test_files_hold_units_of_the_target_and_losses_of_the_logarithm(folder: Path) -> None:
    words = ("--target-scale", "log", "--cv", "3", "--oof", "oof.csv", "--losses", "l.csv")
    run = lrisk(folder, *FIT, *words, "--html", "page.html", "--quiet")
    assert run.returncode == 0, run.stderr
    y = column(folder, "price")
    for file in ("oof.csv", "l.csv"):
        assert column(folder, "target", file).tolist() == y.tolist()
        errors = np.log(y) - np.log(column(folder, "prediction", file))
        np.testing.assert_allclose(column(folder, "loss", file), 0.5 * errors**2, atol=1e-10)
    shown = lrisk(folder, "show", "m.json").stdout
    assert "regression of log(price)" in shown
    assert "Duan's factor" in shown
    assert "log(price)" in (folder / "page.html").read_text()


def test_intervals_are_in_units_of_the_target(folder: Path) -> None:
    words = ("--target-scale", "log", "--holdout", "0.4", "--conformal", "split")
    document(lrisk(folder, *FIT, *words, *PLAIN))
    model = json.loads((folder / "m.json").read_text())["conformal"]
    ask = ("m.json", "flats.csv", "--interval", "0.8")
    found = document(lrisk(folder, "evaluate", *ask, *PLAIN))["metrics"]
    run = lrisk(folder, "predict", *ask, "-o", "p.csv")
    assert run.returncode == 0, run.stderr
    lower, upper, predicted = (
        column(folder, name, "p.csv") for name in ("lower", "upper", "prediction")
    )
    # Scores of n rows by rank: each end leaves floor((n + 1) 0.1) of them outside.
    scores, rank = np.array(model["scores"]), (model["rows"] + 1) // 10
    low = scores[model["ranks"].index(rank)]
    np.testing.assert_allclose(lower, predicted * np.exp(low), rtol=1e-9)
    inside = (lower <= column(folder, "price")) & (column(folder, "price") <= upper)
    assert found["coverage"] == pytest.approx(inside.mean())
    assert found["mean_width"] == pytest.approx((upper - lower).mean())


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (("--target-scale", "log"), 3, "row 3: the target is 0, and --target-scale log needs"),
        (("--target-scale", "log"), 3, "greater than 0; pass --target-scale log1p, or leave"),
        (("--target-scale", "log1p", "--loss", "poisson"), 2, "is not used by poisson losses"),
        (("--target-scale", "log1p", "--loss", "logistic"), 2, "is for numbers"),
        (("--target-scale", "log1p", "--task", "classification"), 2, "is for numbers"),
    ],
)
def test_targets_and_losses_without_a_logarithm_are_refused(
    folder: Path, words: tuple[str, ...], code: int, sentence: str
) -> None:
    price = column(folder, "price")
    price[3] = 0.0
    some = {"area": column(folder, "area"), "price": price}
    write_csv(folder / "flats.csv", some)
    assert sentence in refusal(lrisk(folder, *FIT, *words), code)


def test_new_rows_without_a_logarithm_are_refused_and_predicted(folder: Path) -> None:
    assert lrisk(folder, *FIT, "--target-scale", "log", "--quiet").returncode == 0
    new = {"area": [30.0, 40.0], "rooms": [1, 2], "price": [10.0, -5.0]}
    write_csv(folder / "new.csv", new)
    error = refusal(lrisk(folder, "evaluate", "m.json", "new.csv"), 3)
    assert "new.csv, column 'price', row 1: the target is -5" in error
    assert lrisk(folder, "predict", "m.json", "new.csv").returncode == 0
    write_csv(folder / "far.csv", {"area": [1e6], "rooms": [1]})
    assert "too large for a number" in refusal(lrisk(folder, "predict", "m.json", "far.csv"), 3)


def test_a_quantile_of_the_logarithm_is_one_of_the_target_and_has_no_mean(folder: Path) -> None:
    words = ("--target-scale", "log", "--loss", "quantile:0.8")
    found = document(lrisk(folder, *FIT, *words, *PLAIN))
    assert found["smearing"] is None
    assert found["training"]["below"] == pytest.approx(0.8, abs=0.02)
    run = lrisk(folder, "predict", "m.json", "flats.csv")
    assert run.stdout.splitlines()[0].replace('"', "") == "row,line,prediction"
    q = np.array([float(row["prediction"]) for row in read_csv(run.stdout)])
    assert np.mean(column(folder, "price") <= q) == pytest.approx(0.8, abs=0.02)


def test_notes_suggest_the_logarithm_and_tell_the_unit_of_a_parameter(folder: Path) -> None:
    notes = document(lrisk(folder, *FIT, *PLAIN))["notes"]
    assert any("--target-scale log judges errors by their ratio" in note for note in notes)
    words = ("--target-scale", "log", "--loss", "huber:0.5")
    notes = document(lrisk(folder, *FIT, *words, *PLAIN))["notes"]
    assert any("huber:0.5: its parameter is an error of the logarithm" in note for note in notes)
    assert not any("judges errors by their ratio" in note for note in notes)


def test_outliers_by_ratio_are_found_and_explained_in_units_of_the_target(folder: Path) -> None:
    price = column(folder, "price")
    price[7] /= 1000.0
    area = column(folder, "area")
    area[7] = 199.0
    write_csv(folder / "flats.csv", {"area": area, "price": price})
    words = ("detect-outliers", "flats.csv", "--target", "price", "--target-scale", "log")
    found = document(lrisk(folder, *words, "--top", "1", *PLAIN))
    row = found["outliers"][0]
    assert row["row"] == 7
    assert f"price {price[7]:.4g}"[:7] in row["reason"]
    assert "multiplies the prediction by" in row["reason"]


def test_models_of_different_scales_are_not_compared(folder: Path) -> None:
    for name, words in (("a.json", ()), ("b.json", ("--target-scale", "log"))):
        fitted = lrisk(folder, *FIT[:-3], "-o", name, *words, "--quiet")
        assert fitted.returncode == 0, fitted.stderr
    error = refusal(
        lrisk(folder, "quantile-report", "flats.csv", "--baseline", "a.json", "--model", "b.json"),
        2,
    )
    assert "compare models of the same target scale" in error
