"""Huber's and Poisson losses with the real program: fit, predict, evaluate, explain, refuse."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import optimize
from sklearn.linear_model import PoissonRegressor

from helpers.program import document, lrisk, read_csv, refusal, write_csv

N_ROWS = 300
POISSON = ("--target", "claims", "--loss", "poisson", "--exposure", "years")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """claims.csv: counts with an exposure. prices.csv: numbers with a few gross errors."""
    rng = np.random.default_rng(4)
    age, km = rng.uniform(20, 80, N_ROWS), rng.gamma(4.0, 3.0, N_ROWS)
    region = np.array(["land", "city", "coast"])[rng.integers(0, 3, N_ROWS)]
    years = rng.uniform(0.1, 2.0, N_ROWS).round(3)
    rate = np.exp(-1.5 + 0.1 * km - 0.01 * age + 0.5 * (region == "city"))
    names = [f"car-{i}" for i in range(N_ROWS)]
    claims = {"id": names, "age": age, "km": km, "region": region, "years": years}
    write_csv(tmp_path / "claims.csv", claims | {"claims": rng.poisson(years * rate)})
    price = 300.0 + 5.0 * km - 2.0 * age + 10.0 * rng.standard_normal(N_ROWS)
    price[:10] += 1000.0
    write_csv(tmp_path / "prices.csv", {"age": age, "km": km, "price": price})
    return tmp_path


def fit(folder: Path, *words: str, data: str = "claims.csv", risk: str = "mean") -> dict:
    saved = ("-o", "m.json", "--force", "--quiet", "--json", "--risk", risk)
    if data == "claims.csv":
        saved += ("--id", "id")
    return document(lrisk(folder, "fit", data, *words, *saved))


def column(folder: Path, name: str, data: str = "claims.csv") -> np.ndarray:
    return np.array([float(row[name]) for row in read_csv((folder / data).read_text())])


def predictions(folder: Path, *words: str, data: str = "claims.csv") -> np.ndarray:
    run = lrisk(folder, "predict", "m.json", data, *words)
    assert run.returncode == 0, run.stderr
    return np.array([float(row["prediction"]) for row in read_csv(run.stdout)])


def half_deviance(y: np.ndarray, mean: np.ndarray) -> np.ndarray:
    return mean - y + np.where(y > 0, y * np.log(np.maximum(y, 1) / mean), 0.0)


# Poisson


def test_poisson_predicts_the_mean_in_proportion_to_the_exposure(folder: Path) -> None:
    """As scikit-learn does from rates, weighted by the exposure."""
    words = ("--features", "age,km", "--no-intercept", "--standardize", "none", "--l2", "0.01")
    found = fit(folder, *POISSON, *words)
    assert (found["loss"], found["exposure"]) == ("poisson", "years")
    X = np.column_stack([column(folder, name) for name in ("age", "km")])
    y, years = column(folder, "claims"), column(folder, "years")
    other = PoissonRegressor(
        alpha=0.01 * N_ROWS / years.sum(), fit_intercept=False, tol=1e-12, max_iter=10_000
    ).fit(X, y / years, sample_weight=years)
    mean = predictions(folder)
    np.testing.assert_allclose(mean, years * other.predict(X), rtol=1e-5)
    evaluated = document(lrisk(folder, "evaluate", "m.json", "claims.csv", "--quiet", "--json"))
    figures = evaluated["metrics"]
    assert figures["mean"] == pytest.approx(half_deviance(y, mean).mean())
    assert figures["mean_deviance"] == pytest.approx(2.0 * half_deviance(y, mean).mean())
    assert figures["rmse"] == pytest.approx(np.sqrt(np.mean((y - mean) ** 2)))
    assert figures["mae"] == pytest.approx(np.mean(np.abs(y - mean)))
    assert figures["r2"] == pytest.approx(1.0 - np.mean((y - mean) ** 2) / np.var(y))


@pytest.mark.parametrize("risk", ["superquantile:0.9", "extremile:2", "esrm:1"])
def test_poisson_is_proved_for_rising_risks_and_its_target_stays_as_it_is(
    folder: Path, risk: str
) -> None:
    found = fit(folder, *POISSON, risk=risk)
    assert found["fit"]["gap"] <= 1e-6
    model = json.loads((folder / "m.json").read_text())
    encoding = model["encoding"]
    assert (encoding["target_mean"], encoding["target_scale"]) == (0.0, 1.0)
    assert model["loss"] == "poisson"
    assert model["exposure"] == "years"
    assert "years" not in [feature["name"] for feature in encoding["features"]]


def test_a_target_of_two_values_is_a_count_where_the_loss_says_so(folder: Path) -> None:
    some = column(folder, "claims") > 0
    write_csv(folder / "claims.csv", {"id": np.arange(N_ROWS), "km": column(folder, "km"),
                                      "claims": some.astype(int)})  # fmt: skip
    found = fit(folder, "--target", "claims", "--loss", "poisson")
    assert found["task"] == "regression"
    assert "exposure" not in found
    assert "exposure" not in json.loads((folder / "m.json").read_text())


def test_another_column_may_hold_the_exposure_of_new_rows(folder: Path) -> None:
    fit(folder, *POISSON)
    before = predictions(folder)
    text = (folder / "claims.csv").read_text()
    (folder / "new.csv").write_text(text.replace('"years"', '"insured"'))
    np.testing.assert_array_equal(predictions(folder, "--exposure", "insured", data="new.csv"),
                                  before)  # fmt: skip
    evaluated = ("evaluate", "m.json", "new.csv", "--exposure", "insured", "--quiet", "--json")
    assert document(lrisk(folder, *evaluated))


@pytest.mark.parametrize(
    ("cell", "sentence"),
    [("0", "the exposure is 0"), ("-1", "the exposure is -1"), ("", "the cell is missing")],
)
def test_exposures_that_are_missing_or_not_positive_are_refused(
    folder: Path, cell: str, sentence: str
) -> None:
    fit(folder, *POISSON)
    lines = (folder / "claims.csv").read_text().splitlines()
    cells = lines[8].split(",")
    cells[4] = cell
    lines[8] = ",".join(cells)
    (folder / "bad.csv").write_text("\n".join(lines) + "\n")
    for words in (
        ("fit", "bad.csv", *POISSON, "--id", "id", "--missing", "drop"),
        ("fit", "bad.csv", *POISSON, "--id", "id", "--dry-run"),
        ("predict", "m.json", "bad.csv"),
        ("evaluate", "m.json", "bad.csv", "--missing", "drop"),
    ):
        said = refusal(lrisk(folder, *words), 3)
        assert f"column 'years', row 7: {sentence}; an exposure is a number greater than 0" in said


def test_counts_below_zero_are_refused_when_fitted_and_when_judged(folder: Path) -> None:
    fit(folder, *POISSON)
    lines = (folder / "claims.csv").read_text().splitlines()
    lines[5] = lines[5].rpartition(",")[0] + ",-2"
    (folder / "bad.csv").write_text("\n".join(lines) + "\n")
    for words in (("fit", "bad.csv", *POISSON, "--id", "id"), ("evaluate", "m.json", "bad.csv")):
        said = refusal(lrisk(folder, *words), 3)
        assert "column 'claims', row 4: the target is -2" in said
        assert "needs targets of at least 0" in said


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--target", "claims", "--exposure", "years"), "is not used by --loss auto"),
        (("--target", "claims", "--loss", "huber:1", "--exposure", "years"), "by --loss huber:1"),
        (("--target", "claims", "--loss", "poisson", "--exposure", "claims"), "is the target"),
        (("--target", "claims", "--loss", "poisson", "--exposure", "region"), "holds no numbers"),
        ((*POISSON, "--task", "classification"), "--loss poisson does not fit classification"),
        (("--target", "claims", "--loss", "poisso"), "did you mean poisson?"),
        (("--target", "claims", "--loss", "huber"), "huber needs its delta, for example huber:1.5"),
    ],
)  # fmt: skip
def test_options_that_make_no_sense_are_refused(
    folder: Path, words: tuple[str, ...], sentence: str
) -> None:
    assert sentence in refusal(lrisk(folder, "fit", "claims.csv", *words), 2)


def test_an_exposure_is_refused_where_the_model_has_none(folder: Path) -> None:
    fit(folder, "--target", "price", data="prices.csv")
    run = lrisk(folder, "predict", "m.json", "prices.csv", "--exposure", "km")
    assert "was fitted without one" in refusal(run, 2)


# Huber


@pytest.mark.parametrize("standardize", ["both", "features", "none"])
def test_delta_is_in_units_of_the_target_whatever_is_standardised(
    folder: Path, standardize: str
) -> None:
    words = ("--target", "price", "--loss", "huber:25", "--standardize", standardize)
    found = fit(folder, *words, "--l2", "1e-9", data="prices.csv")
    assert found["loss"] == "huber:25"
    price = column(folder, "price", "prices.csv")
    errors = np.abs(price - predictions(folder, data="prices.csv"))
    losses = huber(errors)
    assert found["training"]["mean"] == pytest.approx(losses.mean())
    assert found["training"]["rmse"] == pytest.approx(np.sqrt(np.mean(errors**2)))
    assert found["training"]["mae"] == pytest.approx(errors.mean())
    # Ten prices that are far too high do not move the others by much.
    assert np.median(errors[10:]) < 10.0
    columns = [column(folder, name, "prices.csv") for name in ("age", "km")]
    X = np.column_stack([*columns, np.ones(N_ROWS)])
    start = np.linalg.lstsq(X[10:], price[10:], rcond=None)[0]
    best = optimize.minimize(lambda w: huber(np.abs(price - X @ w)).mean(), start)
    assert losses.mean() == pytest.approx(best.fun, rel=1e-5)


def huber(errors: np.ndarray) -> np.ndarray:
    """With a delta of 25."""
    return np.where(errors <= 25.0, 0.5 * errors**2, 25.0 * errors - 312.5)


def test_a_large_delta_is_the_squared_loss(folder: Path) -> None:
    words = ("--target", "price", "--l2", "0.1")
    fit(folder, *words, data="prices.csv", risk="extremile:2")
    plain = predictions(folder, data="prices.csv")
    fit(folder, *words, "--loss", "huber:1e6", data="prices.csv", risk="extremile:2")
    np.testing.assert_allclose(predictions(folder, data="prices.csv"), plain, rtol=1e-2)


# Both


@pytest.mark.parametrize("kernel", [(), ("--kernel", "rbf", "--rank", "20")])
@pytest.mark.parametrize("loss", ["huber:1", "poisson"])
def test_the_rest_of_the_program_takes_both(
    folder: Path, loss: str, kernel: tuple[str, ...]
) -> None:
    exposure = ("--exposure", "years") if loss == "poisson" else ()
    words = ("--target", "claims", "--loss", loss, *exposure, *kernel)
    assert fit(folder, *words, "--holdout", "0.3")["holdout"]["mae"] > 0.0
    chosen = fit(folder, *words, "--cv", "3", "--l2", "0.01,0.1", "--select-by", "mae")
    assert chosen["cross_validation"]
    assert fit(folder, *words, "--test", "claims.csv")["holdout"]["rmse"] > 0.0
    if not kernel:
        fit(folder, *words, "--html", "fit.html")
    for command in (
        ("show", "m.json"),
        ("evaluate", "m.json", "claims.csv", "--html", "page.html", "--losses", "losses.csv",
         "--fail-on", "mae>100", "--intervals"),
        ("detect-outliers", "claims.csv", "--model", "m.json", "--id", "id", "--html", "odd.html"),
    ):  # fmt: skip
        run = lrisk(folder, *command)
        assert run.returncode == 0, run.stderr


@pytest.mark.parametrize("loss", ["huber:1", "poisson"])
def test_outliers_are_found_and_explained(folder: Path, loss: str) -> None:
    lines = (folder / "claims.csv").read_text().splitlines()
    lines[21] = lines[21].rpartition(",")[0] + ",400"
    (folder / "claims.csv").write_text("\n".join(lines) + "\n")
    exposure = ("--exposure", "years") if loss == "poisson" else ()
    words = ("claims.csv", "--target", "claims", "--id", "id", "--loss", loss, *exposure)
    found = document(lrisk(folder, "detect-outliers", *words, "--quiet", "--json"))
    first = found["outliers"][0]
    assert (first["row"], first["is_outlier"]) == (20, True)
    assert "claims 400 where" in first["reason"]


@pytest.mark.parametrize("loss", ["huber:1", "poisson"])
@pytest.mark.parametrize("risk", ["subquantile:0.9", "lower-extremile:2"])
def test_falling_risks_end_stationary(folder: Path, loss: str, risk: str) -> None:
    found = fit(folder, "--target", "claims", "--loss", loss, risk=risk)
    assert found["fit"]["status"].startswith("stationary")
    assert found["fit"]["gap"] is None


def test_models_of_different_losses_are_not_compared(folder: Path) -> None:
    fit(folder, "--target", "claims")
    (folder / "m.json").rename(folder / "squared.json")
    fit(folder, "--target", "claims", "--loss", "huber:1")
    run = lrisk(
        folder, "quantile-report", "claims.csv", "--baseline", "squared.json", "--model", "m.json"
    )
    assert run.returncode == 2
    assert "compare models of the same loss" in run.stderr


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        ({"loss": "huber:-1"}, "huber delta must be greater than 0"),
        ({"loss": "hubert:1"}, "loss"),
        ({"loss": "logistic"}, "does not fit regression"),
        ({"loss": "squared"}, "takes no exposure"),
        ({"exposure": "claims"}, "a column is named twice"),
    ],
)
def test_model_files_whose_loss_cannot_be_are_damaged(
    folder: Path, change: dict[str, str], finding: str
) -> None:
    fit(folder, *POISSON)
    model = json.loads((folder / "m.json").read_text()) | change
    (folder / "m.json").write_text(json.dumps(model))
    said = refusal(lrisk(folder, "predict", "m.json", "claims.csv"), 4)
    assert "damaged model file" in said
    assert finding in said


# Quantiles


def test_a_quantile_is_fitted_evaluated_and_predicted_in_units_of_the_target(folder: Path) -> None:
    for standardize in ("both", "none"):
        fit(folder, "--target", "price", "--loss", "quantile:90%", "--standardize", standardize,
            "--l2", "1e-6", "--max-passes", "5000", data="prices.csv")  # fmt: skip
        q = predictions(folder, data="prices.csv")
        y = column(folder, "price", "prices.csv")
        run = lrisk(folder, "evaluate", "m.json", "prices.csv", "--quiet", "--json")
        figures = document(run)["metrics"]
        losses = np.maximum(0.9 * (y - q), -0.1 * (y - q))
        assert figures["pinball"] == pytest.approx(losses.mean())
        assert figures["mean"] == pytest.approx(losses.mean())
        assert figures["below"] == pytest.approx(np.mean(y <= q))
        # Three coefficients: at the optimum without penalty as many targets are met exactly.
        assert figures["below"] == pytest.approx(0.9, abs=4 / N_ROWS)
        assert "r2" not in figures


def test_a_tail_risk_of_a_quantile_says_that_it_predicts_none(folder: Path) -> None:
    words = ("--target", "price", "--loss", "quantile:0.9")
    notes = fit(folder, *words, data="prices.csv", risk="extremile:2")["notes"]
    assert any("predictions are not quantiles of the target" in note for note in notes)
    notes = fit(folder, *words, data="prices.csv")["notes"]
    assert not any("quantiles of the target" in note for note in notes)
    run = lrisk(folder, "fit", "prices.csv", *words, "--solver", "lbfgs")
    assert "needs a loss without kinks" in refusal(run, 2)
