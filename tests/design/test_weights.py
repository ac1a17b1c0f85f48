"""Weights of rows: which are refused, and that a row of weight 3 is learned from as three rows."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.utils.class_weight import compute_class_weight

from lrisk_cli.design.design import DesignOptions, build_design
from lrisk_cli.design.planning import plan_design
from lrisk_cli.design.weights import ClassWeights, effective_rows, parse_weighting
from lrisk_cli.errors import DataError, InvalidOption
from lrisk_cli.names import Dates, Missing, Scaling, WeightKind
from lrisk_cli.tables.table import Table, open_table

N = 60


def write(folder, name: str, columns: dict, rows: np.ndarray) -> Table:
    path = folder / f"{name}.parquet"
    pq.write_table(
        pa.table({name: pa.array(cells).take(rows) for name, cells in columns.items()}), path
    )
    return open_table([str(path)])


def columns(weights: np.ndarray | None = None, seed: int = 0) -> dict:
    """Numbers, some of them missing, dates and categories, of which some are as frequent."""
    rng = np.random.default_rng(seed)
    known = rng.random(N) > 0.1
    return {
        "a": pa.array(100.0 + rng.standard_normal(N), mask=~known),
        "day": pa.array(rng.integers(0, 500, N).astype("datetime64[D]")),
        "c": pa.array([None if u < 0.1 else "pqrst"[int(5 * u)] for u in rng.random(N)]),
        "y": rng.standard_t(3, N),
        "w": rng.integers(0, 4, N).astype(np.float64) if weights is None else weights,
    }


def options(**changes) -> DesignOptions:
    weighting = parse_weighting("w", changes.pop("kind", None), None)
    return DesignOptions("y", weighting=weighting, **changes)


@pytest.mark.parametrize("scaling", list(Scaling))
def test_a_row_of_weight_three_is_learned_from_as_three_rows(tmp_path, scaling):
    cells = columns()
    copies = np.repeat(np.arange(N), cells["w"].astype(int))
    how = {"missing": Missing.IMPUTE, "scaling": scaling, "dates": Dates.PARTS, "max_categories": 3}
    weighed, _ = build_design(write(tmp_path, "weighed", cells, np.arange(N)), options(**how))
    repeated, _ = build_design(
        write(tmp_path, "repeated", cells, copies), DesignOptions("y", exclude=("w",), **how)
    )
    assert weighed.total == len(copies) == repeated.total
    for mine, theirs in zip(learned(weighed), learned(repeated), strict=True):
        for name, value in mine.items():
            assert theirs[name] == (pytest.approx(value) if isinstance(value, float) else value)
    places = np.searchsorted(weighed.row_numbers, copies)
    X = weighed.rows.dense_rows(slice(N))[places]
    np.testing.assert_allclose(X, repeated.rows.dense_rows(slice(len(copies))), atol=1e-12)


def learned(design) -> list[dict]:
    """What was learned of each feature, and of the target."""
    target = design.encoding.target
    features = [feature.to_json() for feature in design.encoding.features]
    return [*features, {"mean": target.mean, "scale": target.scale}]


def test_rows_of_weight_0_are_left_out_whatever_they_hold(tmp_path):
    cells = columns()
    lacking = np.asarray(cells["a"].is_null()) | np.asarray(cells["c"].is_null())
    cells["w"] = np.where(lacking, 0.0, 2.0)
    table = write(tmp_path, "table", cells, np.arange(N))
    design, _ = build_design(table, options())
    assert design.counts.dropped == {"weight 0": int(lacking.sum())}
    assert design.row_numbers.tolist() == np.flatnonzero(~lacking).tolist()
    planned = plan_design(table, options(), flat=True)
    assert planned.counts.dropped == design.counts.dropped
    assert (planned.counts.used, planned.n_columns) == design.rows.shape


@pytest.mark.parametrize(
    ("wrong", "finding"),
    [
        (-1.0, "row 7: the weight is -1"),
        (np.inf, "row 7: the cell is missing"),
        (np.nan, "row 7: the cell is missing"),
    ],
)
def test_weights_that_mean_nothing_are_refused(tmp_path, wrong, finding):
    weights = np.ones(N)
    weights[7] = wrong
    table = write(tmp_path, "table", columns(weights), np.arange(N))
    with pytest.raises(DataError, match=finding):
        build_design(table, options(missing=Missing.IMPUTE))


def test_weights_that_are_all_0_or_too_large_are_refused(tmp_path):
    for weights, finding in ((np.zeros(N), "every weight is 0"), (np.full(N, 1e308), "multiply")):
        table = write(tmp_path, "table", columns(weights), np.arange(N))
        with pytest.raises(DataError, match=finding):
            build_design(table, options(missing=Missing.IMPUTE))


def test_importances_count_as_many_rows_as_there_are(tmp_path):
    cells = columns(np.random.default_rng(1).exponential(size=N))
    how = {"kind": WeightKind.IMPORTANCE, "missing": Missing.IMPUTE}
    design, _ = build_design(write(tmp_path, "table", cells, np.arange(N)), options(**how))
    cells["w"] = 1e6 * cells["w"]
    scaled, _ = build_design(write(tmp_path, "scaled", cells, np.arange(N)), options(**how))
    assert design.total == pytest.approx(N, rel=1e-14)
    np.testing.assert_allclose(design.masses, scaled.masses, rtol=1e-14)
    assert design.encoding.target.scale == pytest.approx(scaled.encoding.target.scale, rel=1e-13)


def test_weight_columns_are_features_only_where_they_are_named(tmp_path):
    table = write(tmp_path, "table", columns(np.arange(1.0, N + 1.0)), np.arange(N))
    how = {"missing": Missing.IMPUTE}
    assert "w" not in build_design(table, options(**how))[0].encoding.feature_names
    assert "w" not in build_design(table, options(exclude=("w",), **how))[0].encoding.feature_names
    named = build_design(table, options(features=("w", "a"), **how))[0]
    assert named.encoding.feature_names == ("w", "a")
    assert named.masses.sum() == N * (N + 1) / 2
    with pytest.raises(InvalidOption, match="holds no numbers"):
        build_design(table, DesignOptions("y", weighting=parse_weighting("c", None, None)))


def test_balanced_classes_count_as_in_scikit_learn():
    rng = np.random.default_rng(2)
    codes = rng.choice(3, 200, p=[0.6, 0.3, 0.1]).astype(np.int32)
    weights = rng.integers(1, 4, 200).astype(np.float64)
    repeated = np.repeat(codes, weights.astype(int))
    expected = compute_class_weight("balanced", classes=np.arange(3), y=repeated)
    found = ClassWeights().factors(codes, "abc", weights)
    np.testing.assert_allclose(found, expected[codes], rtol=1e-14)
    assert found @ weights == pytest.approx(weights.sum())


def test_class_weights_are_read_as_they_are_written():
    classes = parse_weighting(None, None, 'a=2,"b,c=d=0.5"').classes
    assert classes.factors(np.array([0, 1, 2]), ("a", "b,c=d", "e"), None).tolist() == [2, 0.5, 1]
    assert parse_weighting(None, None, classes.text).classes == classes
    classes.check("t.csv, column 'k'", ("a", "b,c=d", "e"))
    with pytest.raises(InvalidOption, match="'a' is no class of t"):
        classes.check("t.csv, column 'k'", ("e", "f"))
    with pytest.raises(InvalidOption, match="holds numbers"):
        classes.check("t.csv, column 'k'", ())
    for wrong in ("a", "a=0", "a=-1", "a=inf", "a=x", "a=1,a=2"):
        with pytest.raises(InvalidOption, match="CLASS=WEIGHT"):
            parse_weighting(None, None, wrong)
    with pytest.raises(InvalidOption, match="name it"):
        parse_weighting(None, WeightKind.IMPORTANCE, None)


def test_effective_rows_are_those_of_kish():
    assert effective_rows(np.full(7, 3.5)) == pytest.approx(7.0)
    weights = np.array([1.0, 2.0, 3.0])
    assert effective_rows(1e300 * weights) == pytest.approx(36.0 / 14.0)
