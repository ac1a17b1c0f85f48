"""Estimators of scikit-learn: its own checks, its tools, and models shared with the commands."""

import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.csv
import pytest

import lrisk_cli
from lrisk_cli.models.model import encode_model

pytest.importorskip("sklearn", "1.6", reason="scikit-learn 1.6 is not installed")

from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "sample_data"
# As scikit-learn's own k-means: starts are drawn among rows, so repeated rows are others.
RANDOM_STARTS = {
    "check_sample_weight_equivalence_on_dense_data": "starts are drawn among the rows",
}


@pytest.mark.parametrize(
    "estimator",
    [
        lrisk_cli.SpectralRiskRegressor(),
        lrisk_cli.SpectralRiskRegressor("superquantile:0.5"),
        lrisk_cli.RobustRegressor(),
        lrisk_cli.SpectralRiskClassifier(),
        lrisk_cli.SpectralKMeans(3),
        lrisk_cli.OutlierDetector(),
    ],
    ids=repr,
)
def test_the_checks_of_scikit_learn_pass(estimator):
    expected = RANDOM_STARTS if isinstance(estimator, lrisk_cli.SpectralKMeans) else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        done = check_estimator(
            estimator, expected_failed_checks=expected, on_skip=None, on_fail=None
        )
    failed = {each["check_name"]: each["exception"] for each in done if each["status"] == "failed"}
    assert not failed
    assert len(done) > 40


@pytest.fixture(scope="module")
def wine():
    return pd.read_csv(SAMPLES / "wine_quality_red.csv")


@pytest.fixture(scope="module")
def mixed():
    """Numbers, texts, dates and a missing cell."""
    draw = np.random.default_rng(3)
    n = 200
    frame = pd.DataFrame(
        {
            "x": draw.normal(size=n),
            "kind": draw.choice(["red", "white", "rose"], size=n),
            "day": pd.date_range("2024-01-01", periods=n),
        }
    )
    frame.loc[3, "kind"] = None
    y = 2.0 * frame.x + (frame.kind == "red") + draw.normal(size=n) / 3.0
    return frame, y


def test_the_mean_is_ridge_regression_and_logistic_regression(wine):
    X, y = wine.drop(columns="quality").to_numpy(), wine.quality.to_numpy()
    scaled = StandardScaler().fit_transform(X)
    ours = lrisk_cli.SpectralRiskRegressor("mean", l2=0.1).fit(X, y)
    theirs = Ridge(alpha=0.1 * len(y)).fit(scaled, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(scaled), rtol=1e-10)
    high = (y > 5).astype(int)
    classifier = lrisk_cli.SpectralRiskClassifier("mean", l2=1e-9).fit(scaled, high)
    reference = LogisticRegression(C=1e9, tol=1e-12, max_iter=1000).fit(scaled, high)
    np.testing.assert_allclose(
        classifier.predict_proba(scaled), reference.predict_proba(scaled), atol=1e-5
    )


def test_a_certificate_is_kept(wine):
    X, y = wine.drop(columns="quality"), wine.quality
    fitted = lrisk_cli.SpectralRiskRegressor("superquantile:0.9", tol=1e-6).fit(X, y)
    proved = fitted.certificate_
    assert 0.0 <= proved.objective - proved.lower_bound == proved.absolute_gap
    assert proved.gap <= 1e-6
    assert list(fitted.feature_names_in_) == list(X.columns)
    by_hand = X.to_numpy() @ fitted.coef_ + fitted.intercept_
    np.testing.assert_allclose(fitted.predict(X), by_hand, rtol=1e-12)


def test_a_gap_that_was_not_proved_is_a_warning(wine):
    X, y = wine.drop(columns="quality"), wine.quality
    with pytest.warns(ConvergenceWarning, match="stopped"):
        lrisk_cli.SpectralRiskRegressor("superquantile:0.9", max_passes=2.0).fit(X, y)


@pytest.mark.parametrize(
    ("name", "target", "estimator"),
    [
        ("wine_quality_red", "quality", lrisk_cli.SpectralRiskRegressor(tol=1e-6)),
        ("breast_cancer", "diagnosis", lrisk_cli.SpectralRiskClassifier(tol=1e-6)),
        ("concrete", None, lrisk_cli.RobustRegressor()),
    ],
)
def test_a_model_goes_both_ways(name, target, estimator, tmp_path):
    table = read_exactly(SAMPLES / f"{name}.csv")
    target = target or table.columns[-1]
    X = table.drop(columns=target).select_dtypes("number")
    table = X.assign(**{target: table[target]})
    table.to_csv(tmp_path / "table.csv", index=False)
    fitted = estimator.fit(X, table[target])
    fitted.save(tmp_path / "ours.json")
    run("predict", "ours.json", "table.csv", "-o", "ours.csv", folder=tmp_path)
    np.testing.assert_array_equal(
        read_exactly(tmp_path / "ours.csv").prediction,
        fitted.predict(X),
    )
    extra = ["--robust"] if isinstance(estimator, lrisk_cli.RobustRegressor) else []
    options = ["--target", target, "-o", "theirs.json", *extra]
    run("fit", "table.csv", *options, folder=tmp_path)
    loaded = lrisk_cli.load(tmp_path / "theirs.json")
    assert type(loaded) is type(estimator)
    np.testing.assert_array_equal(loaded.model_.coefficients, fitted.model_.coefficients)
    np.testing.assert_array_equal(loaded.predict(X), fitted.predict(X))
    with pytest.warns(UserWarning, match="valid feature names"):
        by_position = loaded.predict(X.to_numpy())
    np.testing.assert_array_equal(by_position, fitted.predict(X))
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "theirs.json").read_bytes()


@pytest.mark.parametrize("command", ["cluster", "detect-outliers"])
def test_clusters_go_both_ways(command, tmp_path):
    clouds = pd.read_csv(SAMPLES / "clouds.csv")[["x", "y"]]
    clouds.to_csv(tmp_path / "clouds.csv", index=False)
    if command == "cluster":
        fitted = lrisk_cli.SpectralKMeans(3).fit(clouds)
        run("cluster", "clouds.csv", "-k", "3", "-o", "theirs.json", folder=tmp_path)
    else:
        fitted = lrisk_cli.OutlierDetector("auto").fit(clouds)
        run("detect-outliers", "clouds.csv", "--save-model", "theirs.json", folder=tmp_path)
    loaded = lrisk_cli.load(tmp_path / "theirs.json")
    np.testing.assert_allclose(loaded.cluster_centers_, fitted.cluster_centers_, rtol=1e-12)
    np.testing.assert_array_equal(loaded.predict(clouds), fitted.predict(clouds))
    fitted.save(tmp_path / "ours.json")
    run("predict", "ours.json", "clouds.csv", "-o", "ours.csv", folder=tmp_path)
    theirs = pd.read_csv(tmp_path / "ours.csv")
    flags = fitted.outliers_ if command == "cluster" else fitted.predict(clouds) < 0
    np.testing.assert_array_equal(theirs.is_outlier, flags)


def read_exactly(path: Path) -> pd.DataFrame:
    """A table of text; pandas 2 rounds the last digit of numbers."""
    return pyarrow.csv.read_csv(path).to_pandas()


def run(*arguments, folder):
    command = [sys.executable, "-m", "lrisk_cli", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr


def test_columns_of_any_type_are_read_as_on_the_command_line(mixed):
    frame, y = mixed
    estimator = lrisk_cli.SpectralRiskRegressor(tol=1e-6, missing="impute", unseen="other")
    fitted = estimator.fit(frame, y)
    expected = lrisk_cli.fit(frame, y, missing="impute", unseen="other").model
    np.testing.assert_array_equal(fitted.model_.coefficients, expected.coefficients)
    others = frame.assign(kind="unknown")
    assert fitted.predict(others).shape == (200,)
    strict = lrisk_cli.SpectralRiskRegressor(tol=1e-6, missing="impute").fit(frame, y)
    with pytest.raises(ValueError, match="'unknown' was not seen by the fit; pass unseen='other'"):
        strict.predict(others)
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(frame.rename(columns={"x": "z"}))


def test_tools_of_scikit_learn_take_the_estimators(wine, mixed):
    X, y = wine.drop(columns="quality"), wine.quality
    pipeline = make_pipeline(
        make_column_transformer((StandardScaler(), list(X.columns[:4])), remainder="passthrough"),
        lrisk_cli.SpectralRiskRegressor(tol=1e-6),
    )
    scores = cross_val_score(pipeline, X, y, cv=3, scoring=lrisk_cli.superquantile_score(0.9))
    assert scores.shape == (3,)
    assert (scores < 0.0).all()
    grid = {"risk": ["mean", "superquantile:0.5"], "l2": [1e-3, 10.0]}
    search = GridSearchCV(lrisk_cli.SpectralRiskRegressor(tol=1e-6), grid, cv=3).fit(X, y)
    assert search.best_params_["l2"] == 1e-3
    clusters = lrisk_cli.SpectralKMeans(3).set_output(transform="pandas")
    distances = clusters.fit(X).transform(X)
    assert list(distances.columns) == ["spectralkmeans0", "spectralkmeans1", "spectralkmeans2"]
    np.testing.assert_array_equal(distances.to_numpy().argmin(axis=1), clusters.labels_)


def test_classes_keep_their_kind_and_their_weights():
    draw = np.random.default_rng(0)
    X = draw.normal(size=(300, 2))
    labels = np.array(["no", "yes"], dtype=object)[(X[:, 0] > 1.0).astype(int)]
    plain = lrisk_cli.SpectralRiskClassifier("mean", tol=1e-8).fit(X, labels)
    even = lrisk_cli.SpectralRiskClassifier("mean", class_weight="balanced", tol=1e-8)
    even.fit(X, labels)
    assert set(plain.predict(X)) == {"no", "yes"}
    assert even.predict_proba(X)[:, 1].mean() > plain.predict_proba(X)[:, 1].mean()
    sizes = {label: 300.0 / (2.0 * (labels == label).sum()) for label in ("no", "yes")}
    named = lrisk_cli.SpectralRiskClassifier("mean", class_weight=sizes, tol=1e-8)
    np.testing.assert_allclose(
        named.fit(X, labels).predict_proba(X), even.predict_proba(X), atol=1e-6
    )


def test_frequencies_are_repeated_rows_and_importances_are_relative(wine):
    X, y = wine.drop(columns="quality").to_numpy()[:400], wine.quality.to_numpy()[:400]
    often = np.random.default_rng(0).integers(0, 4, size=400)
    repeated = lrisk_cli.SpectralRiskRegressor().fit(np.repeat(X, often, 0), np.repeat(y, often))
    weighted = lrisk_cli.SpectralRiskRegressor().fit(X, y, sample_weight=often)
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-9)
    relative = lrisk_cli.SpectralRiskRegressor(weight_kind="importance")
    first = relative.fit(X, y, sample_weight=often).predict(X)
    np.testing.assert_allclose(relative.fit(X, y, 10.0 * often).predict(X), first, rtol=1e-9)


def test_a_logarithm_is_fitted_and_undone(wine):
    X, y = wine.drop(columns="quality"), np.exp(wine.quality)
    fitted = lrisk_cli.SpectralRiskRegressor("mean", target_scale="log").fit(X, y)
    direct = lrisk_cli.SpectralRiskRegressor("mean").fit(X, wine.quality)
    np.testing.assert_allclose(np.log(fitted.predict(X)), direct.predict(X), rtol=1e-9)


def test_metrics_are_those_of_the_definition():
    losses = np.arange(1.0, 11.0)
    assert lrisk_cli.superquantile(losses, 0.8) == pytest.approx(9.5)
    assert lrisk_cli.subquantile(losses, 0.2) == pytest.approx(1.5)
    # The expected larger of two values drawn uniformly, with a continuous rank.
    u = (np.arange(10) + 0.5) / 10.0
    assert lrisk_cli.extremile(losses, 2.0) == pytest.approx(np.mean(2.0 * u * losses))
    often = np.array([3, 0, 1, 2, 5, 1, 1, 1, 2, 4])
    repeated = np.repeat(losses, often)
    for name in ("superquantile:0.7", "extremile:3", "esrm:2", "subquantile:0.6", "mean"):
        expected = lrisk_cli.spectral_risk(repeated, name)
        assert lrisk_cli.spectral_risk(losses, name, often) == pytest.approx(expected, rel=1e-12)
    assert lrisk_cli.esrm(losses, 1e-9) == pytest.approx(5.5)


def test_scorers_judge_models_of_others(wine):
    X, y = wine.drop(columns="quality").to_numpy(), wine.quality.to_numpy()
    model = LinearRegression().fit(X, y)
    halves = (y - model.predict(X)) ** 2 / 2.0
    worst = np.sort(halves)[-160:]
    assert lrisk_cli.superquantile_score(0.9)(model, X, y) == pytest.approx(-worst.mean(), rel=1e-2)
    assert lrisk_cli.risk_score("mean")(model, X, y) == pytest.approx(-halves.mean())
    forest = RandomForestClassifier(20, random_state=0).fit(X, y > 5)
    expected = log_loss(y > 5, np.clip(forest.predict_proba(X), 1e-300, None))
    assert lrisk_cli.risk_score("mean")(forest, X, y > 5) == pytest.approx(-expected, rel=1e-9)
    scorers = (lrisk_cli.extremile_score(2), lrisk_cli.esrm_score(1))
    values = [each(model, X, y) for each in (*scorers, lrisk_cli.subquantile_score(0.9))]
    assert values == sorted(values)
    with pytest.raises(ValueError, match="loss takes squared, huber:D or quantile:T"):
        lrisk_cli.risk_score("mean", "logistic")(model, X, y)
    with pytest.raises(ValueError, match="did you mean superquantile"):
        lrisk_cli.risk_score("superquantil:0.5")


def test_few_rows_get_the_ordinary_fit_and_a_warning():
    draw = np.random.default_rng(0)
    X, y = draw.normal(size=(8, 4)), draw.normal(size=8)
    with pytest.warns(UserWarning, match="too few for a robust fit.*ordinary fit stands in"):
        fitted = lrisk_cli.RobustRegressor().fit(X, y)
    assert fitted.scale_ is None


def test_weighted_models_predict_without_weights(wine):
    model = lrisk_cli.fit(wine.assign(w=1.0 + wine.index % 3), "quality", weight="w").model
    assert lrisk_cli.predict(model, wine).to_arrow().num_rows == len(wine)
    assert b'"sum": ' in encode_model(model)


def test_estimators_load_scikit_learn_and_functions_do_not():
    program = "import lrisk_cli, sys; lrisk_cli.fit({}); print('sklearn' in sys.modules)"
    table = '{"y": [1.0, 2.0, 4.0], "x": [0.0, 1.0, 5.0]}, "y", risk="mean"'
    done = subprocess.run(
        [sys.executable, "-c", program.replace("{}", table)], capture_output=True, text=True
    )
    assert done.stdout.strip() == "False", done.stderr
