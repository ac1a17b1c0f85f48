"""`lrisk fit --kernel`, run for real, and the models it leaves: files, scores, refusals."""

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel

from helpers.house_prices import N_ROWS, add_house_files, house_columns
from helpers.program import document, lrisk, read_csv, refusal, write_csv
from lrisk_cli.errors import ModelError
from lrisk_cli.features.fourier import FourierMap
from lrisk_cli.features.gaussian import GaussianKernel
from lrisk_cli.features.maps import FeatureMap, LandmarkMap
from lrisk_cli.features.polynomial import PolynomialKernel
from lrisk_cli.models.loading import load_model
from lrisk_cli.models.model import Model, encode_model
from lrisk_cli.rows.dense import DenseRows

FEATURES = ("--features", "area,color,rooms")
RBF = ("--kernel", "rbf")
D = 5  # columns of X: area, three colours, rooms


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return add_house_files(tmp_path)


def fit(folder: Path, data: str, target: str, *flags: str) -> tuple[dict, dict]:
    """What `lrisk fit --json` printed, and the model file."""
    command = ("fit", data, "--target", target, *flags, "-o", "model.json", "--force", "--json")
    printed = document(lrisk(folder, *command))
    return printed, json.loads((folder / "model.json").read_text())


def standardised() -> np.ndarray:
    """The columns that enter the kernel."""
    columns = house_columns()
    area, rooms = columns["area"], columns["rooms"]
    colors = [columns["color"] == color for color in np.unique(columns["color"])]
    scaled = [(values - values.mean()) / values.std() for values in (area, rooms)]
    return np.column_stack([scaled[0], *colors, scaled[1]]).astype(float)


# What it finds


@pytest.mark.parametrize(
    ("flags", "oracle"),
    [
        (("--kernel", "rbf", "--gamma", "0.3"), {"kernel": "rbf", "gamma": 0.3}),
        (
            ("--kernel", "poly", "--degree", "2", "--coef0", "0.5"),
            {"kernel": "poly", "gamma": 1.0, "degree": 2, "coef0": 0.5},
        ),
    ],
)
def test_the_mean_is_kernel_ridge_regression_on_the_numbers_of_the_file(folder, flags, oracle):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 3))
    y = np.cos(X[:, 0]) + X[:, 1] * X[:, 2]
    for name, some in (("train.csv", slice(0, 80)), ("new.csv", slice(80, 120))):
        columns = {f"x{j}": X[some, j] for j in range(3)} | {"y": y[some]}
        write_csv(folder / name, columns)
    options = ("--risk", "mean", "--l2", "0.002", "--standardize", "none", "--no-intercept")
    printed, _ = fit(folder, "train.csv", "y", *flags, *options, "--tol", "1e-12")
    ridge = KernelRidge(alpha=0.002 * 80, **oracle).fit(X[:80], y[:80])
    run = lrisk(folder, "predict", "model.json", "new.csv", "--quiet")
    found = [float(row["prediction"]) for row in read_csv(run.stdout)]
    assert found == pytest.approx(ridge.predict(X[80:]), abs=1e-8)
    residual = y[:80] - ridge.predict(X[:80])
    norm = ridge.dual_coef_ @ ridge._get_kernel(X[:80]) @ ridge.dual_coef_
    objective = 0.5 * np.mean(residual**2) + 0.001 * norm
    assert printed["fit"]["objective"] == pytest.approx(objective, rel=1e-9)
    assert printed["fit"]["objective_scale"] == "file"


@pytest.mark.parametrize("target", ["sold", "kind"])
def test_the_mean_of_logistic_losses_is_kernel_logistic_regression(folder, target):
    X, labels = standardised(), house_columns()[target]
    flags = (*FEATURES, *RBF, "--risk", "mean", "--l2", "0.02", "--tol", "1e-10")
    _, model = fit(folder, "houses.csv", target, *flags)
    gamma = 1.0 / (D * X.var())
    assert model["feature_map"]["gamma"] == pytest.approx(gamma)
    # Other features of the same kernel, by eigenvectors, and the constant.
    values, vectors = np.linalg.eigh(rbf_kernel(X, gamma=gamma))
    phi = np.column_stack([vectors * np.sqrt(np.maximum(values, 0.0)), np.ones(N_ROWS)])
    oracle = LogisticRegression(
        C=1.0 / (0.02 * N_ROWS), fit_intercept=False, tol=1e-10, max_iter=10_000
    )
    oracle.fit(phi, labels)
    rows = read_csv(lrisk(folder, "predict", "model.json", "houses.csv", "--quiet").stdout)
    found = [[float(row[f"probability:{label}"]) for label in oracle.classes_] for row in rows]
    assert np.array(found) == pytest.approx(oracle.predict_proba(phi), abs=1e-4)


@pytest.mark.parametrize("risk", ["superquantile:0.9", "extremile:2", "esrm:1"])
@pytest.mark.parametrize("target", ["price", "sold"])
def test_rising_risks_are_proved_with_every_kind_of_features(folder, risk, target):
    ways = {
        "linear": (),
        "exact": RBF,
        "poly": ("--kernel", "poly", "--degree", "2", "--gamma", "scale"),
        "nystroem": (*RBF, "--rank", "40"),
        "fourier": (*RBF, "--feature-map", "fourier", "--rank", "40"),
    }
    found = {}
    for name, flags in ways.items():
        printed, _ = fit(folder, "houses.csv", target, *FEATURES, *flags, "--risk", risk)
        assert printed["fit"]["status"].startswith("converged")
        found[name] = printed["fit"]
    # Landmarks among the rows span a part of what all of them span.
    assert found["exact"]["lower_bound"] <= found["nystroem"]["objective"]


def test_scoring_the_training_rows_again_changes_no_digit(folder):
    for flags in (RBF, (*RBF, "--rank", "20"), (*RBF, "--feature-map", "fourier", "--rank", "9")):
        losses = ("--losses", "losses.csv", "--max-passes", "40")
        printed, _ = fit(folder, "houses.csv", "kind", *FEATURES, *flags, *losses)
        evaluated = document(lrisk(folder, "evaluate", "model.json", "houses.csv", "--json"))
        assert evaluated["metrics"] == printed["training"]
        again = read_csv(lrisk(folder, "predict", "model.json", "houses.csv", "--quiet").stdout)
        fitted = read_csv((folder / "losses.csv").read_text())
        assert [row["prediction"] for row in again] == [row["prediction"] for row in fitted]


def test_scores_reach_what_the_certificate_is_about(folder):
    flags = (*FEATURES, *RBF, "--risk", "extremile:2", "--standardize", "features")
    printed, model = fit(folder, "houses.csv", "price", *flags)
    # On a target as in the file the losses are those of the objective; the rest is the penalty.
    penalty = printed["fit"]["objective"] - printed["training"]["extremile:2"]
    gamma, landmarks = model["feature_map"]["gamma"], np.array(model["feature_map"]["landmarks"])
    *alpha, intercept = model["coefficients"]
    norm = alpha @ rbf_kernel(landmarks, gamma=gamma) @ alpha + intercept**2
    assert penalty == pytest.approx(0.5 * printed["l2"] * norm, rel=1e-6)


# What it writes


@pytest.mark.parametrize("flags", [RBF, (*RBF, "--rank", "60"), (*RBF, "--rank", "auto")])
def test_threads_do_not_change_a_byte(folder, flags):
    found = []
    for threads in ("1", "2"):
        settings = {**os.environ, "OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
        command = ("fit", "houses.csv", "--target", "price", *FEATURES, *flags, "--force")
        run = lrisk(folder, *command, "-o", "model.json", env=settings)
        assert run.returncode == 0, run.stderr
        found.append((folder / "model.json").read_bytes())
    assert found[0] == found[1]


def test_the_portable_kernels_find_the_same_model(folder):
    found = []
    for k, setting in enumerate(["", "1"]):
        command = ("fit", "houses.csv", "--target", "price", *FEATURES, *RBF, "--rank", "30")
        run = lrisk(folder, *command, "--tol", "1e-10", "-o", f"model{k}.json",
                    env={**os.environ, "LRISK_PORTABLE": setting})  # fmt: skip
        assert run.returncode == 0, run.stderr
        rows = read_csv(lrisk(folder, "predict", f"model{k}.json", "houses.csv").stdout)
        found.append([float(row["prediction"]) for row in rows])
    assert found[0] == pytest.approx(found[1], rel=1e-5)


def test_a_kernel_model_is_shown_by_its_features(folder):
    flags = (*FEATURES, *RBF, "--gamma", "0.25", "--rank", "12")
    printed, model = fit(folder, "houses.csv", "price", *flags)
    told = printed["feature_map"]
    assert told == {
        "kernel": "rbf", "gamma": 0.25, "landmarks": 12,
        "explained": model["feature_map"]["explained"],
    }  # fmt: skip
    shown = document(lrisk(folder, "show", "model.json", "--json"))
    assert shown["feature_map"] == told
    assert "coefficients" not in shown
    text = lrisk(folder, "show", "model.json").stdout
    share = f"{100.0 * told['explained']:.1f} %"
    assert f"features     Gaussian kernel, gamma 0.25; 12 landmarks span {share} of it" in text
    assert "Coefficients" not in text
    assert document(lrisk(folder, "show", "price.json", "--json"))["feature_map"] == {
        "kernel": "linear"
    }


MAPS = {
    "rbf": LandmarkMap(GaussianKernel(1 / 3), np.random.default_rng(0).random((11, D)), 0.97),
    "poly": LandmarkMap(
        PolynomialKernel(1 / 7, 3, 0.1), np.random.default_rng(1).random((8, D)), 1.0
    ),
    "fourier": FourierMap(
        0.3, np.random.default_rng(2).random((9, D)), np.random.default_rng(3).random(9)
    ),
}
each_map = pytest.mark.parametrize("feature_map", MAPS.values(), ids=MAPS)


def model_with(folder: Path, feature_map: FeatureMap, name: str = "price.json") -> Model:
    """A model of houses with these features and coefficients that no decimal spells shortly."""
    model = load_model(folder / name)
    n_values = feature_map.width(D) + 1
    W = np.random.default_rng(4).standard_normal((n_values, model.coefficients.shape[1])) / 3.0
    return replace(model, feature_map=feature_map, coefficients=W)


@each_map
@pytest.mark.parametrize("name", ["price.json", "kind.json"])
def test_a_kernel_model_survives_its_file(folder, feature_map, name):
    model = model_with(folder, feature_map, name)
    (folder / "model.json").write_bytes(encode_model(model))
    again = load_model(folder / "model.json")
    assert np.array_equal(again.coefficients, model.coefficients)
    assert encode_model(again) == encode_model(model)
    X = np.random.default_rng(5).standard_normal((40, D + 1))
    assert np.array_equal(again.margins(DenseRows(X)), model.margins(DenseRows(X)))


@each_map
@pytest.mark.parametrize("name", ["price.json", "kind.json"])
def test_a_row_is_scored_as_if_it_were_alone(folder, feature_map, name):
    model = model_with(folder, feature_map, name)
    X = np.random.default_rng(5).standard_normal((9000, D + 1))
    together = model.margins(DenseRows(X))
    for start, stop in [(0, 1), (1, 2), (3, 6), (6000, 8001), (8999, 9000)]:
        assert np.array_equal(model.margins(DenseRows(X[start:stop].copy())), together[start:stop])
    assert model.margins(DenseRows(X[:0])).shape == (0, model.coefficients.shape[1])


@each_map
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_never_written(folder, feature_map, bad):
    field = "frequencies" if isinstance(feature_map, FourierMap) else "landmarks"
    rows = getattr(feature_map, field).copy()
    rows[2, 1] = bad
    with pytest.raises(ValueError, match="not finite"):
        encode_model(model_with(folder, replace(feature_map, **{field: rows})))


@pytest.mark.parametrize(
    ("kind", "keys", "value", "finding"),
    [
        ("rbf", ("kernel",), "sigmoid", "sigmoid"),
        ("rbf", ("gamma",), 0.0, "> 0"),
        ("rbf", ("landmarks",), [], "length >= 1"),
        ("rbf", ("landmarks", 0), [1.0], "rows of the feature map differ in length"),
        ("rbf", ("landmarks",), [[1.0]] * 11, "has 1 columns where the encoding has 5"),
        ("rbf", ("landmarks",), [[1.0] * 5] * 10, "coefficients do not fit 11 columns"),
        ("rbf", ("degree",), 2, "degree"),
        ("poly", ("degree",), 0, ">= 1"),
        ("poly", ("coef0",), -1.0, ">= 0"),
        ("fourier", ("phases",), [0.0], "frequencies and phases differ in number"),
    ],
)
def test_a_damaged_feature_map_is_refused_with_the_finding(folder, kind, keys, value, finding):
    contents = json.loads(encode_model(model_with(folder, MAPS[kind])))
    node = contents["feature_map"]
    for key in keys[:-1]:
        node = node[key]
    node[keys[-1]] = value
    (folder / "bad.json").write_text(json.dumps(contents))
    with pytest.raises(ModelError, match=r"damaged model file \(") as refused:
        load_model(folder / "bad.json")
    assert finding in str(refused.value)


def test_the_schema_knows_every_kind_of_features(folder):
    schema = document(lrisk(folder, "schema"))
    definitions = schema["$defs"]
    kinds = {
        definition["properties"]["kernel"]["enum"][0]: definition
        for definition in definitions.values()
        if "kernel" in definition.get("properties", {})
    }
    assert set(kinds) == {"linear", "rbf", "poly", "fourier", "embedding"}
    for kind, feature_map in MAPS.items():
        entry = json.loads(encode_model(model_with(folder, feature_map)))["feature_map"]
        assert set(entry) == set(kinds[kind]["properties"]) == set(kinds[kind]["required"])


# What is refused


@pytest.mark.parametrize(
    ("flags", "finding"),
    [
        (("--gamma", "1"), "--gamma is not used by --kernel linear"),
        ((*RBF, "--gamma", "wide"), "--gamma takes scale, median or a number greater than 0"),
        ((*RBF, "--gamma", "-2"), "--gamma must be greater than 0; got -2"),
        ((*RBF, "--rank", "0"), "--rank takes auto or a whole number greater than 0; got '0'"),
        ((*RBF, "--rank", "many"), "--rank takes auto or a whole number"),
        (
            (*RBF, "--rank", "301"),
            "--rank 301: landmarks are rows to learn from, and there are 300",
        ),
        (("--kernel", "poly", "--degree", "0"), "--degree"),
        (("--kernel", "poly", "--feature-map", "fourier"), "(only by rbf)"),
        (("--kernel", "sigmoid"), "--kernel"),
    ],
)
def test_impossible_features_are_refused_with_a_sentence(folder, flags, finding):
    command = ("fit", "houses.csv", "--target", "price", *FEATURES, *flags)
    assert finding in refusal(lrisk(folder, *command), 2)


def test_features_that_do_not_vary_are_refused(folder):
    y = np.random.default_rng(0).standard_normal(40)
    write_csv(folder / "flat.csv", {"x": np.ones(40), "y": y})
    command = ("fit", "flat.csv", "--target", "y", *RBF)
    assert "--gamma scale: no feature varies" in refusal(lrisk(folder, *command), 3)
    sentence = refusal(lrisk(folder, *command, "--gamma", "median"), 3)
    assert "--gamma median: more than half of all pairs of rows are equal" in sentence
    assert lrisk(folder, *command, "--gamma", "1").returncode == 0


def test_a_table_too_large_for_exact_landmarks_is_told_what_to_pass(folder):
    rng = np.random.default_rng(0)
    write_csv(folder / "large.csv", {"x": rng.standard_normal(5000), "y": rng.random(5000)})
    command = ("fit", "large.csv", "--target", "y", *RBF)
    sentence = refusal(lrisk(folder, *command), 2)
    assert "5000 rows are too many for a landmark each" in sentence
    assert "pass --rank auto, or --rank N" in sentence
    assert lrisk(folder, *command, "--rank", "auto").returncode == 0
