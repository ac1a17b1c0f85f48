"""A model scores rows one by one, and survives its file unchanged; a damaged file is refused."""

import json
import re
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from helpers.models import NUMBER, RECORD, classes_of, make_model
from lrisk_cli.design.target import Target
from lrisk_cli.errors import ModelError
from lrisk_cli.models.loading import load_model
from lrisk_cli.models.model import encode_model, original_units, save_model
from lrisk_cli.models.model_file import model_schema
from lrisk_cli.names import Missing, Task
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.tables.cells import Texts
from lrisk_cli.tables.table import Batch

N_ROWS = 257


def make_batch(target: Target = NUMBER, first_row: int = 40) -> Batch:
    """Rows with a number or a class for the target."""
    rng = np.random.default_rng(1)
    columns = {
        "width": 3.0 + rng.standard_normal(N_ROWS),
        "color": Texts(rng.integers(0, 2, N_ROWS).astype(np.int32), ["red", "blue"]),
        "age": rng.standard_normal(N_ROWS),
    }
    if not target.classes:
        columns[target.name] = 100.0 + 20.0 * rng.standard_normal(N_ROWS)
    else:
        codes = rng.integers(0, len(target.classes), N_ROWS).astype(np.int32)
        columns[target.name] = Texts(codes, list(target.classes))
    return Batch(first_row, N_ROWS, columns, "new.csv", first_row)


def encode_by_hand(batch: Batch) -> np.ndarray:
    """Standardised width, blue, red, standardised age, one."""
    red = np.array(batch.columns["color"].values)[batch.columns["color"].codes] == "red"
    width = (batch.columns["width"] - 3.0) / 1.7
    age = (batch.columns["age"] + 0.1) / 0.3
    return np.column_stack([width, ~red, red, age, np.ones(N_ROWS)])


def test_regression_is_scored_in_units_of_the_file():
    model, batch = make_model(), make_batch()
    scored = model.score(batch)
    predictions = 100.0 + 20.0 * (encode_by_hand(batch) @ model.coefficients[:, 0])
    assert scored.predictions == pytest.approx(predictions)
    assert np.array_equal(scored.targets, batch.columns["price"])
    assert scored.losses == pytest.approx(0.5 * (predictions - batch.columns["price"]) ** 2)
    assert scored.probabilities is None
    assert scored.rows.tolist() == list(range(40, 40 + N_ROWS))


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_classes_are_scored_as_by_scikit_learn(n_classes):
    target = classes_of(n_classes)
    batch = make_batch(target)
    X = encode_by_hand(batch)
    codes = batch.columns["kind"].codes
    # Standardised by hand, so scikit-learn needs no intercept of its own.
    oracle = LogisticRegression(fit_intercept=False, C=10.0).fit(X, codes)
    model = make_model(target, coefficients=np.ascontiguousarray(oracle.coef_.T))
    scored = model.score(batch)
    probabilities = oracle.predict_proba(X)
    assert scored.probabilities == pytest.approx(probabilities)
    assert np.array_equal(scored.predictions, oracle.predict(X))
    assert scored.losses == pytest.approx(-np.log(probabilities[np.arange(N_ROWS), codes]))
    assert np.array_equal(scored.targets, codes)


@pytest.mark.parametrize("target", [NUMBER, classes_of(2), classes_of(4)])
def test_a_row_is_scored_as_if_it_were_alone(target):
    n_outputs = len(target.classes) if len(target.classes) > 2 else 1
    model, batch = make_model(target, n_outputs), make_batch(target)
    whole = model.score(batch)
    for start, stop in [(0, 1), (1, 2), (100, 163), (256, 257)]:
        rows = slice(start, stop)
        columns = {name: column[rows] for name, column in batch.columns.items()}
        part = model.score(Batch(40 + start, stop - start, columns, "new.csv", 40 + start))
        assert np.array_equal(part.rows, whole.rows[rows])
        assert np.array_equal(part.predictions, whole.predictions[rows])
        assert np.array_equal(part.losses, whole.losses[rows])
        if target.classes:
            assert np.array_equal(part.probabilities, whole.probabilities[rows])


def test_rows_without_a_target_are_scored_too():
    model, batch = make_model(), make_batch()
    expected = model.score(batch).predictions
    columns = {name: batch.columns[name] for name in ("age", "color", "width")}
    scored = model.score(replace(batch, columns=columns))
    assert np.array_equal(scored.predictions, expected)
    assert scored.targets is None
    assert scored.losses is None


def test_dropped_rows_keep_the_numbers_of_the_others():
    model, batch = make_model(), make_batch()
    batch.columns["age"][3] = np.nan
    encoding = replace(model.encoding, missing=Missing.DROP)
    scored = replace(model, encoding=encoding).score(batch)
    assert 43 not in scored.rows
    assert len(scored.losses) == len(scored.targets) == len(scored.rows) == N_ROWS - 1


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_original_units_predict_from_the_numbers_in_the_file(intercept, n_classes):
    target = classes_of(n_classes) if n_classes else NUMBER
    model = make_model(target, 3 if n_classes == 3 else 1)
    if not intercept:
        encoding = replace(model.encoding, intercept=False)
        model = replace(model, encoding=encoding, coefficients=model.coefficients[:-1].copy())
    batch = make_batch(target)
    units = original_units(model)
    assert units.columns == ("width", "color=blue", "color=red", "age")
    raw = encode_by_hand(batch)[:, :4]
    raw[:, 0], raw[:, 3] = batch.columns["width"], batch.columns["age"]
    Z = model.margins(DenseRows(encode_by_hand(batch)[:, : model.encoding.n_columns].copy()))
    expected = target.mean + target.scale * Z
    assert raw @ units.coefficients + units.intercepts == pytest.approx(expected)
    assert units.effects == pytest.approx(np.abs(model.coefficients[:4]).max(axis=1))


@pytest.mark.parametrize("target", [NUMBER, classes_of(2), classes_of(3)])
def test_a_model_survives_its_file(tmp_path, target):
    model = make_model(target, 3 if len(target.classes) == 3 else 1)
    path = tmp_path / "model.json"
    save_model(path, model)
    again = load_model(path)
    assert np.array_equal(again.coefficients, model.coefficients)
    assert again.coefficients.flags.c_contiguous
    assert (again.encoding, again.fit) == (model.encoding, model.fit)
    assert (again.loss, again.risk, again.l2) == (model.loss, model.risk, model.l2)
    assert again.task is (Task.CLASSIFICATION if target.classes else Task.REGRESSION)
    assert encode_model(again) == path.read_bytes()


def test_the_keys_of_the_file_are_those_of_the_contract():
    contents = json.loads(encode_model(make_model()))
    assert list(contents) == [
        "format", "format_version", "lrisk_version", "kind", "task", "target", "classes",
        "encoding", "feature_map", "coefficients", "loss", "risk", "l2", "fit",
    ]  # fmt: skip
    assert contents["format"] == "lrisk-model"
    assert contents["coefficients"] == make_model().coefficients[:, 0].tolist()
    assert contents["fit"]["objective"] == 0.1 + 0.2


def test_the_schema_names_every_key_that_a_file_has():
    schema = model_schema()
    contents = json.loads(encode_model(make_model()))

    def compare(node: dict, value: object) -> None:
        """Walk down the schema beside the value."""
        if "$ref" in node:
            node = schema["$defs"][node["$ref"].removeprefix("#/$defs/")]
        if isinstance(value, dict) and "properties" in node:
            # These are left out of the files of models that have none.
            absent = (
                "exposure", "cross_validation", "holdout", "target_scale",
                "calibration", "conformal", "robust", "group_columns", "weight", "written",
            )  # fmt: skip
            known = [key for key in node["properties"] if key not in absent or key in value]
            assert known == list(value)
            # Files of earlier versions lack the keys that have a default.
            known = [key for key, child in node["properties"].items() if "default" not in child]
            assert known == node["required"]
            assert node["additionalProperties"] is False
            for key, child in value.items():
                compare(node["properties"][key], child)
        elif isinstance(value, list) and value:
            compare(node["items"], value[0])

    linear, _ = schema["anyOf"]
    compare(linear, contents)
    assert "lrisk model" in schema["title"]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_never_written(tmp_path, bad):
    model = make_model()
    W = model.coefficients.copy()
    W[2] = bad
    for broken in (
        replace(model, coefficients=W),
        replace(model, fit=msgspec.structs.replace(RECORD, gap=bad)),
        replace(model, l2=bad),
    ):
        with pytest.raises(ValueError, match="not finite"):
            save_model(tmp_path / "model.json", broken)
    assert list(tmp_path.iterdir()) == []


def damage(path: Path, *keys: object, value: object) -> None:
    """Put a value deep into a good model file."""
    contents = json.loads(encode_model(make_model()))
    node = contents
    for key in keys[:-1]:
        node = node[key]
    node[keys[-1]] = value
    path.write_text(json.dumps(contents))


@pytest.mark.parametrize(
    ("keys", "value", "finding"),
    [
        (("coefficients", 0), "1", "Expected `float | array`, got `str`"),
        (("coefficients", 0), None, "coefficients"),
        (("coefficients", 0), [1.0], "do not fit 5 columns and 1 outputs"),
        (("coefficients",), [1.0, 2.0], "do not fit 5 columns and 1 outputs"),
        (("coefficients",), [], "do not fit 5 columns"),
        (("kind",), "forest", "kind"),
        (("task",), "classification", "0 classes do not fit the task"),
        (("classes",), ["a", "b"], "2 classes do not fit the task"),
        (("classes",), ["a"], "1 classes do not fit the task"),
        (("loss",), "logistic", "logistic loss does not fit regression"),
        (("risk",), "superquantile:7", "must be in"),
        (("risk",), "worst", "unknown risk"),
        (("l2",), -1.0, ">= 0"),
        (("format_version",), 0, "format_version"),
        (("encoding", "features"), [], "length >= 1"),
        (("encoding", "features", 0, "scale"), 0.0, "> 0"),
        (("encoding", "features", 0, "categories"), ["x"], "'width': its kind"),
        (("encoding", "features", 0, "fill"), "x", "'width': its kind and its fill"),
        (("encoding", "features", 1, "categories"), [], "'color': its kind"),
        (("encoding", "features", 1, "categories"), ["red", "red"], "names a category twice"),
        (("encoding", "features", 1, "name"), "width", "named twice"),
        (("encoding", "features", 1, "name"), "price", "named twice"),
        (("encoding", "features", 0, "indicator"), True, "an indicator and no fill"),
        (("encoding", "features", 1, "fill"), "mauve", "its fill is none of its categories"),
        (("encoding", "missing"), "guess", "guess"),
        (("fit", "passes"), "many", "passes"),
        (("fit", "gap"), "small", "gap"),
        (("fit", "surprise"), 1, "surprise"),
        (("surprise",), 1, "surprise"),
    ],
)
def test_a_damaged_file_is_refused_with_the_finding(tmp_path, keys, value, finding):
    path = tmp_path / "bad.json"
    damage(path, *keys, value=value)
    with pytest.raises(ModelError) as refusal:
        load_model(path)
    assert str(refusal.value).startswith(f"{path}: damaged model file (")
    assert finding in str(refusal.value)


@pytest.mark.parametrize(
    "contents",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b"a,b\n1,2\n",
        b'{"format": "lrisk-model"}',
        b'{"format": "onnx", "format_version": 1}',
        b'{"format": "lrisk-model", "format_version": "1"}',
        b'{"format": "lrisk-model", "format_version": 1',
        b"\xff\xfe\x00",
        b"[" * 100_000,
    ],
)
def test_what_is_no_model_is_refused(tmp_path, contents):
    path = tmp_path / "other.json"
    path.write_bytes(contents)
    with pytest.raises(ModelError, match="not a model file") as refusal:
        load_model(path)
    assert str(refusal.value).startswith(str(path))


@pytest.mark.parametrize("number", [b"NaN", b"Infinity", b"1e999"])
def test_numbers_outside_json_are_refused(tmp_path, number):
    path = tmp_path / "model.json"
    good = encode_model(make_model())
    path.write_bytes(re.sub(rb'(?<="l2": )[0-9.]+', b"0.5", good))
    assert load_model(path).l2 == 0.5
    path.write_bytes(re.sub(rb'(?<="l2": )[0-9.]+', number, good))
    with pytest.raises(ModelError, match=r"model\.json"):
        load_model(path)


def test_a_file_from_before_there_were_indicators_is_the_same_model(tmp_path):
    contents = json.loads(encode_model(make_model()))
    for feature in contents["encoding"]["features"]:
        assert feature.pop("indicator") is False
    assert contents["fit"].pop("cells_filled") == {}
    (tmp_path / "old.json").write_text(json.dumps(contents))
    assert encode_model(load_model(tmp_path / "old.json")) == encode_model(make_model())


def test_a_newer_format_is_refused_by_name(tmp_path):
    path = tmp_path / "model.json"
    damage(path, "format_version", value=2)
    with pytest.raises(ModelError, match=r"format version 2 is newer .*; upgrade lrisk"):
        load_model(path)


def test_a_missing_model_and_a_folder_are_refused(tmp_path):
    with pytest.raises(ModelError, match="no such model file"):
        load_model(tmp_path / "absent.json")
    with pytest.raises(ModelError, match="cannot be read"):
        load_model(tmp_path)
