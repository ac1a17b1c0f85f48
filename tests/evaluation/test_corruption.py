"""Planted outliers: exactly as many as asked, where the mask says, as the paper draws them."""

import numpy as np
import pytest

from helpers.docs import markdown_table
from helpers.matrix import matrix
from lrisk_cli.errors import DataError, UsageError
from lrisk_cli.evaluation.corruption import Corruption, corrupt, parse_corruption
from lrisk_cli.evaluation.splits import hold_out
from lrisk_cli.names import CORRUPTIONS
from lrisk_cli.rows.dense import DenseRows


def design(n_rows: int = 500, n_columns: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Standard normal features with a constant last column, and a standard normal target."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.standard_normal((n_rows, n_columns)), np.ones(n_rows)])
    return X, rng.standard_normal(n_rows)


def class_codes(n_rows: int, n_classes: int) -> np.ndarray:
    return np.random.default_rng(7).integers(0, n_classes, n_rows).astype(np.int32)


@pytest.mark.parametrize("kind", CORRUPTIONS)
@pytest.mark.parametrize("text", ["{}:0.2", " {}:0.20 ", "{}:2e-1"])
def test_a_spec_is_read_and_spelled(kind, text):
    read = parse_corruption(text.format(kind))
    assert read == Corruption(kind, 0.2)
    assert str(read) == f"{kind}:0.2"


def test_the_manual_lists_exactly_the_corruptions():
    listed = [row[0].strip("`") for row in markdown_table("docs/compare.md", "kind")]
    assert listed == list(CORRUPTIONS)


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("labels:0.2", "did you mean label"),
        ("noise:0.2", "known corruptions: label:FRACTION, feature:FRACTION"),
        ("label", "for example label:0.2"),
        ("label:", "for example label:0.2"),
        ("label:many", "must be a number, for example label:0.2; got 'many'"),
        ("label:0", "between 0 and 0.5"),
        ("label:0.5", "between 0 and 0.5"),
        ("label:-0.1", "between 0 and 0.5"),
        ("flip:nan", "between 0 and 0.5"),
        ("", "known corruptions"),
    ],
)
def test_a_wrong_spec_is_answered_with_a_remedy(text, finding):
    with pytest.raises(UsageError, match=finding):
        parse_corruption(text)


@pytest.mark.parametrize("kind", ["label", "feature", "label+feature"])
@pytest.mark.parametrize(("n_rows", "fraction"), [(500, 0.2), (503, 0.4), (11, 0.33)])
def test_exactly_the_masked_rows_change_and_inputs_do_not(kind, n_rows, fraction):
    X, y = design(n_rows)
    X_before, y_before = X.copy(), y.copy()
    planted = corrupt(DenseRows(X), y, None, Corruption(kind, fraction), seed=3)
    assert np.count_nonzero(planted.mask) == round(fraction * n_rows)
    changed = (matrix(planted) != X).any(axis=1) | (planted.y != y)
    np.testing.assert_array_equal(changed, planted.mask)
    np.testing.assert_array_equal(X, X_before)
    np.testing.assert_array_equal(y, y_before)


def test_labels_are_drawn_from_the_paper_s_normal():
    X, y = design(100_000)
    planted = corrupt(DenseRows(X), y, None, Corruption("label", 0.4), seed=0)
    drawn = planted.y[planted.mask]
    # Standard errors: 5/sqrt(40000) = 0.025 for the mean, about 0.018 for the deviation.
    assert drawn.mean() == pytest.approx(5.0, abs=0.12)
    assert drawn.std() == pytest.approx(5.0, abs=0.09)
    assert abs(np.corrcoef(drawn, y[planted.mask])[0, 1]) < 0.03
    np.testing.assert_array_equal(matrix(planted), X)


def test_label_and_feature_multiply_and_spare_the_constant():
    X, y = design()
    planted = corrupt(DenseRows(X), y, None, Corruption("label+feature", 0.3), seed=1)
    np.testing.assert_array_equal(matrix(planted)[planted.mask, :-1], 100.0 * X[planted.mask, :-1])
    np.testing.assert_array_equal(matrix(planted)[:, -1], 1.0)
    np.testing.assert_array_equal(planted.y[planted.mask], 10000.0 * y[planted.mask])


def test_without_an_intercept_every_column_is_a_feature():
    X, y = design()
    planted = corrupt(DenseRows(X), y, None, Corruption("feature", 0.3), seed=1, intercept=False)
    np.testing.assert_array_equal(matrix(planted)[planted.mask], 100.0 * X[planted.mask])
    np.testing.assert_array_equal(planted.y, y)


@pytest.mark.parametrize("kind", ["flip", "label", "label+feature"])
def test_two_classes_swap(kind):
    X, _ = design()
    y = class_codes(500, 2)
    planted = corrupt(DenseRows(X), y, 2, Corruption(kind, 0.2), seed=0)
    np.testing.assert_array_equal(planted.y[planted.mask], 1 - y[planted.mask])
    np.testing.assert_array_equal(planted.y[~planted.mask], y[~planted.mask])
    assert planted.y.dtype == np.int32
    factor = 100.0 if kind == "label+feature" else 1.0
    np.testing.assert_array_equal(matrix(planted)[planted.mask, :-1], factor * X[planted.mask, :-1])


def test_of_many_classes_every_other_one_is_as_likely():
    X, _ = design(40_000, 1)
    y = class_codes(40_000, 5)
    planted = corrupt(DenseRows(X), y, 5, Corruption("flip", 0.4), seed=0)
    shifts = (planted.y - y)[planted.mask] % 5
    counts = np.bincount(shifts, minlength=5)
    assert counts[0] == 0
    # 4000 each; the standard deviation of a count is 55.
    assert np.abs(counts[1:] - 4000).max() < 280
    assert planted.y.min() == 0
    assert planted.y.max() == 4


def test_features_of_classes_keep_their_labels():
    X, _ = design()
    y = class_codes(500, 3)
    planted = corrupt(DenseRows(X), y, 3, Corruption("feature", 0.2), seed=0)
    np.testing.assert_array_equal(planted.y, y)


def test_the_seed_decides_the_rows_and_not_as_a_hold_out_does():
    X, y = design()
    first, again, other = (
        corrupt(DenseRows(X), y, None, Corruption("label", 0.2), seed) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first.y, again.y)
    assert (first.mask != other.mask).any()
    overlap = np.count_nonzero(first.mask & hold_out(500, 0.2, seed=0))
    # Independent choices share 20 of 100 rows, with a standard deviation of 3.6.
    assert 5 <= overlap <= 35


def test_flipping_a_number_is_refused():
    X, y = design()
    with pytest.raises(UsageError, match="use label or feature"):
        corrupt(DenseRows(X), y, None, Corruption("flip", 0.2), seed=0)


def test_planting_nothing_is_refused():
    X, y = design(20)
    with pytest.raises(DataError, match=r"label:0\.01 of 20 rows is none"):
        corrupt(DenseRows(X), y, None, Corruption("label", 0.01), seed=0)
