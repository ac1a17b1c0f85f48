"""Files of clusters: what they say, that they read back, and how they are refused."""

import json
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

from lrisk_cli.design.columns.category import CategoryFeature
from lrisk_cli.design.columns.number import NumberFeature
from lrisk_cli.design.encoding import Encoding
from lrisk_cli.errors import ModelError
from lrisk_cli.models.cluster_model import (
    ClusterModel,
    encode_clusters,
    save_clusters,
)
from lrisk_cli.models.loading import load_model, load_predictor
from lrisk_cli.models.model_file import (
    ClusterRecord,
    CurvePoint,
    StartRecord,
    model_schema,
)
from lrisk_cli.names import Missing, Unseen
from lrisk_cli.tables.cells import Texts
from lrisk_cli.tables.table import Batch

RECORD = ClusterRecord(
    solver="lloyd",
    status="no iteration lowers the objective any further",
    iterations=7,
    objective=0.1 + 0.2,
    objective_scale="standardised",
    seed=0,
    starts=(StartRecord(objective=0.3, iterations=7, status="done", reseeded=1),),
    curve=(CurvePoint(k=2, objective=0.3, criterion=12.5),),
    rows_read=10,
    rows_used=9,
    rows_dropped=1,
    drop_reasons={"missing width": 1},
    fingerprint="ab" * 16,
)
FEATURES = (
    NumberFeature("width", mean=10.0, scale=4.0),
    CategoryFeature("color", categories=("blue", "red")),
)


def make_clusters() -> ClusterModel:
    return ClusterModel(
        encoding=Encoding(FEATURES, False, None, Missing.ERROR, Unseen.ERROR),
        centres=np.array([[2.0, 1.0, 0.0], [14.0, 0.25, 0.75]]),
        sizes=np.array([5, 4]),
        weights=np.array([0.6, 0.4]),
        risk="subquantile:0.75",
        outlier_distance=1.25,
        fit=RECORD,
    )


def batch_of(widths: list[float], colors: list[str]) -> Batch:
    codes = np.array([["blue", "red"].index(color) for color in colors], np.int32)
    columns = {"width": np.array(widths), "color": Texts(codes, ["blue", "red"])}
    return Batch(100, len(widths), columns, "t.csv", 0)


def test_clusters_read_back_as_they_were_written(tmp_path):
    path = tmp_path / "c.json"
    save_clusters(path, make_clusters())
    again = load_model(path)
    assert encode_clusters(again) == path.read_bytes()
    np.testing.assert_array_equal(again.centres, make_clusters().centres)
    assert isinstance(again, ClusterModel)
    contents = json.loads(path.read_text())
    assert contents["columns"] == ["width", "color=blue", "color=red"]
    assert contents["clusters"][1] == {"rows": 4, "weight": 0.4, "centre": [14.0, 0.25, 0.75]}
    assert contents["fit"]["objective"] == 0.1 + 0.2


def test_rows_are_scored_on_the_standardised_scale_each_by_itself():
    model = make_clusters()
    np.testing.assert_array_equal(model.encoded_centres, [[-2.0, 1.0, 0.0], [1.0, 0.25, 0.75]])
    scored = model.score(batch_of([2.0, 14.0, 30.0], ["blue", "red", "red"]))
    assert scored.predictions.tolist() == [0, 1, 1]
    np.testing.assert_allclose(scored.losses, [0.0, 0.125, 16.125])
    assert scored.outliers.tolist() == [False, False, True]
    assert scored.rows.tolist() == [100, 101, 102]
    alone = model.score(batch_of([14.0], ["red"]))
    assert alone.losses[0] == scored.losses[1]


def test_the_schema_names_every_key_that_a_file_has():
    schema = model_schema()
    contents = json.loads(encode_clusters(make_clusters()))

    def compare(node: dict, value: object) -> None:
        if "$ref" in node:
            node = schema["$defs"][node["$ref"].removeprefix("#/$defs/")]
        if isinstance(value, dict) and "properties" in node:
            # Clusters of Euclidean distances have no scatter, plain cells no way of writing.
            absent = ("scatter", "written")
            assert [key for key in node["properties"] if key not in absent] == list(value)
            # What newer files have, older ones do without.
            newer = {"indicator", "parts", "cells_filled", "criterion", "noise", "weight"}
            assert set(value) - set(node["required"]) <= newer
            for key, child in value.items():
                compare(node["properties"][key], child)
        elif isinstance(value, list) and value:
            compare(node["items"], value[0])

    _, clusters = schema["anyOf"]
    compare(clusters, contents)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_never_written(tmp_path, bad):
    model = make_clusters()
    centres = model.centres.copy()
    centres[0, 0] = bad
    record = msgspec.structs.replace(RECORD, objective=bad)
    for broken in (replace(model, centres=centres), replace(model, fit=record)):
        with pytest.raises(ValueError, match="not finite"):
            save_clusters(tmp_path / "c.json", broken)
    assert list(tmp_path.iterdir()) == []


def damaged_file(path: Path, *keys: object, value: object) -> Path:
    contents = json.loads(encode_clusters(make_clusters()))
    node = contents
    for key in keys[:-1]:
        node = node[key]
    node[keys[-1]] = value
    path.write_text(json.dumps(contents))
    return path


@pytest.mark.parametrize(
    ("keys", "value", "finding"),
    [
        (("clusters", 0, "centre"), [1.0, 2.0], "centres do not fit 3 columns"),
        (("clusters",), [], "length >= 1"),
        (("columns",), ["width", "a", "b"], "columns and the features disagree"),
        (("risk",), "subquantile:7", "must be in"),
        (("encoding", "features", 1, "name"), "width", "named twice"),
        (("encoding", "features", 0, "scale"), 0.0, "> 0.0"),
        (("outlier_distance",), "far", "Expected `float | null`"),
        (("kind",), "cubes", "unknown kind 'cubes'"),
        (("extra",), 1, "unknown field"),
    ],
)
def test_damage_is_answered_with_a_sentence(tmp_path, keys, value, finding):
    path = damaged_file(tmp_path / "c.json", *keys, value=value)
    with pytest.raises(ModelError, match="damaged model file") as refusal:
        load_model(path)
    assert finding in str(refusal.value)


def test_a_kind_of_model_does_not_pass_for_another(tmp_path):
    path = tmp_path / "c.json"
    save_clusters(path, make_clusters())
    with pytest.raises(ModelError, match="holds clusters"):
        load_predictor(path)
    with pytest.raises(ModelError, match="no such model file"):
        load_model(tmp_path / "absent.json")
