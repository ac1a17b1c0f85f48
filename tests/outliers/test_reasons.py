"""Reasons: parts of a loss sum to it, name the planted column, and speak in units of the file."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from helpers.house_prices import add_house_files
from helpers.matrix import matrix
from lrisk_cli.clusters.clustering import ClusterOptions, find_clusters, nearest
from lrisk_cli.design.columns.number import NumberFeature
from lrisk_cli.design.describe_row import RowWords
from lrisk_cli.design.design import Design, DesignOptions, build_design
from lrisk_cli.design.encoding import Encoding
from lrisk_cli.design.number_text import percent, spell, spell_cell
from lrisk_cli.features.features import FeatureOptions
from lrisk_cli.models.cluster_model import make_model
from lrisk_cli.models.fitting import FitOptions, fit_design
from lrisk_cli.models.loading import load_model
from lrisk_cli.models.model import Model
from lrisk_cli.names import KernelName, Missing, Standardize, Unseen
from lrisk_cli.outliers.distance_reasons import explain_distances
from lrisk_cli.outliers.reasons import (
    MOST_NAMED,
    explain_rows,
    join_reasons,
    learned_row,
    likeliest_other,
    split_losses,
    usual_row,
)
from lrisk_cli.risk.spectrum import Spectrum
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.tables.table import open_table

FEATURES = ("area", "color", "rooms")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return add_house_files(tmp_path)


def design_of(folder: Path, target: str | None, **options) -> Design:
    settings = {"target": target, "features": FEATURES} | options
    return build_design(open_table([str(folder / "houses.csv")]), DesignOptions(**settings))[0]


def fitted(design: Design, kernel: KernelName = KernelName.LINEAR) -> Model:
    options = FitOptions(Spectrum("mean"), l2=1e-4, features=FeatureOptions(kernel))
    return fit_design(design, options).model


# Parts


@pytest.mark.parametrize("standardize", Standardize)
def test_parts_of_a_squared_loss_sum_to_it(folder, standardize):
    design = design_of(folder, "price", standardize=standardize)
    model, usual = fitted(design), usual_row(design.rows, design.encoding)
    parts = split_losses(model, usual, matrix(design), design.targets)
    losses = model.losses(model.margins(design.rows), design.targets)
    total = parts.target + parts.features.sum(axis=1)
    np.testing.assert_allclose(total, losses, rtol=1e-9, atol=1e-9 * losses.max())


def test_effects_of_features_lead_from_the_usual_prediction_to_that_of_the_row(folder):
    design = design_of(folder, "price")
    model, usual = fitted(design), usual_row(design.rows, design.encoding)
    parts = split_losses(model, usual, matrix(design), design.targets)
    start = model.predict(model.margins(DenseRows(usual.centre[np.newaxis])))
    found = start + parts.effects.sum(axis=1)
    np.testing.assert_allclose(found, model.predict(model.margins(design.rows)), rtol=1e-12)


def test_the_part_of_a_feature_is_the_loss_met_on_the_way_to_it(folder):
    """The integral of the slope from the usual row to the row, taken in small steps."""
    design = design_of(folder, "price")
    model, usual = fitted(design), usual_row(design.rows, design.encoding)
    parts = split_losses(model, usual, matrix(design), design.targets)
    row, steps = 7, (np.arange(1000) + 0.5) / 1000
    path = usual.centre + steps[:, np.newaxis] * (matrix(design)[row] - usual.centre)
    errors = model.predict(model.margins(DenseRows(path))) - design.targets[row]
    np.testing.assert_allclose(np.mean(errors) * parts.effects[row], parts.features[row], rtol=1e-9)


@pytest.mark.parametrize("target", ["sold", "kind"])
def test_parts_of_classes_sum_to_the_log_odds_against_the_given_one(folder, target):
    design = design_of(folder, target)
    model, usual = fitted(design), usual_row(design.rows, design.encoding)
    parts = split_losses(model, usual, matrix(design), design.targets)
    P = model.row_loss.probabilities(model.margins(design.rows))
    rows = np.arange(len(P))
    given = P[rows, design.targets]
    P[rows, design.targets] = 0.0
    expected = np.log(P.max(axis=1) / given)
    total = parts.target + parts.features.sum(axis=1)
    np.testing.assert_allclose(total, expected, atol=1e-9)


def test_the_likeliest_other_class_is_never_the_given_one():
    Z = np.array([[3.0, 1.0, 2.0], [3.0, 1.0, 2.0], [-1.0, -1.0, -5.0]])
    assert likeliest_other(Z, np.array([0, 1, 0], np.int32)).tolist() == [2, 0, 1]
    one = np.array([[2.0], [2.0]])
    assert likeliest_other(one, np.array([0, 1], np.int32)).tolist() == [1, 0]


@pytest.mark.parametrize("target", ["price", "kind"])
def test_parts_of_a_kernel_model_are_what_the_loss_loses_with_the_usual_cell(folder, target):
    design = design_of(folder, target)
    model, usual = fitted(design, KernelName.RBF), usual_row(design.rows, design.encoding)
    parts = split_losses(model, usual, matrix(design), design.targets)
    losses = model.losses(model.margins(design.rows), design.targets)
    for j, columns in enumerate([slice(0, 1), slice(1, 4), slice(4, 5)]):
        X = matrix(design).copy()
        X[:, columns] = usual.centre[columns]
        without = model.losses(model.margins(DenseRows(X)), design.targets)
        np.testing.assert_array_equal(parts.features[:, j], losses - without)


# The usual row


def test_the_usual_row_is_made_of_medians_and_frequent_categories(folder):
    design = design_of(folder, "price", standardize=Standardize.NONE)
    usual = usual_row(design.rows, design.encoding)
    area = matrix(design)[:, 0]
    assert usual.centre[0] == np.median(area)
    assert usual.spread[0] == pytest.approx(1.4826 * np.median(np.abs(area - np.median(area))))
    counts = matrix(design)[:, 1:4].sum(axis=0)
    np.testing.assert_array_equal(usual.centre[1:4], np.arange(3) == counts.argmax())
    assert usual.centre[-1] == 1.0


def test_a_column_that_is_mostly_one_number_is_measured_by_its_deviation(folder):
    design = design_of(folder, "price")
    X = matrix(design).copy()
    X[:, 0] = 0.0
    X[:10, 0] = 6.0
    assert usual_row(DenseRows(X), design.encoding).spread[0] == pytest.approx(X[:, 0].std())


def test_a_model_remembers_its_own_centre_and_not_that_of_new_rows(folder):
    design = design_of(folder, "price", missing=Missing.IMPUTE)
    usual = usual_row(DenseRows(matrix(design) + 3.0), design.encoding)
    learned = learned_row(usual, design.encoding)
    assert (learned.centre[0], learned.spread[0]) == (0.0, 1.0)
    color = design.encoding.features[1]
    np.testing.assert_array_equal(
        learned.centre[1:4], [text == color.fill for text in color.categories]
    )
    raw = design_of(folder, "price", standardize=Standardize.NONE)
    usual = usual_row(raw.rows, raw.encoding)
    np.testing.assert_array_equal(learned_row(usual, raw.encoding).centre, usual.centre)


# Words


def explained(folder: Path, target: str, row: int, **cells) -> tuple[str, list[tuple[str, float]]]:
    """The reason of a row of houses.csv, some of whose cells are replaced after the fit."""
    design = design_of(folder, target)
    model, usual = fitted(design), usual_row(design.rows, design.encoding)
    X, targets = matrix(design)[row : row + 1].copy(), design.targets[row : row + 1].copy()
    for name, value in cells.items():
        if name == target:
            targets[0] = value
        else:
            at = FEATURES.index(name) * 2  # area, then three colours, then rooms
            feature = design.encoding.features[FEATURES.index(name)]
            X[0, at] = (value - feature.mean) / feature.scale
    reasons = explain_rows(model, usual, X, targets)
    return reasons.sentences[0], reasons.of(0)


def test_a_wrong_target_is_named_first_and_compared_with_what_is_expected(folder):
    sentence, named = explained(folder, "price", 3, price=9_999_999.0)
    assert sentence.startswith("price 9,999,999 where ")
    assert " is expected" in sentence
    assert [name for name, _ in named] == ["price"]
    assert named[0][1] == pytest.approx(0.5 * 9_999_999.0**2, rel=1e-3)


def test_a_wrong_feature_is_named_with_its_effect_in_units_of_the_target(folder):
    sentence, named = explained(folder, "price", 3, area=12_000.0)
    assert named[0][0] == "area"
    assert "area 12,000 (usual 9" in sentence
    assert "deviations away) adds 23," in sentence  # two for each of some 11,900


def test_an_odd_cell_without_effect_gets_a_word_but_no_part(folder):
    sentence, named = explained(folder, "price", 3, rooms=90.0, price=100_000.0)
    assert [name for name, _ in named] == ["price"]
    assert "rooms 90 is 29 deviations from the usual 5" in sentence


def test_a_class_is_compared_with_the_likeliest_other(folder):
    sentence, named = explained(folder, "sold", 3, area=300.0, sold=0)
    assert sentence.startswith("sold no where yes is over 99.9 % likely; area 300 (usual ")
    assert "multiplies the odds by" in sentence
    assert named[0][0] == "area"


def test_at_most_three_columns_are_named_largest_first(folder):
    model = load_model(folder / "price.json")
    design = design_of(folder, "price")
    usual = usual_row(design.rows, design.encoding)
    reasons = explain_rows(model, usual, matrix(design), design.targets)
    parts = split_losses(model, usual, matrix(design), design.targets)
    both = np.column_stack([parts.target, parts.features])
    for row in range(design.rows.shape[0]):
        named = reasons.of(row)
        assert len(named) <= MOST_NAMED
        values = [value for _, value in named]
        assert values == sorted(values, reverse=True)
        largest = int(np.argmax(both[row]))
        assert named[0] == (reasons.columns[largest], both[row, largest])


def test_a_reason_does_not_depend_on_the_rows_around_it(folder):
    design = design_of(folder, "kind")
    model, usual = fitted(design), usual_row(design.rows, design.encoding)
    whole = explain_rows(model, usual, matrix(design), design.targets)
    pieces = join_reasons(
        [
            explain_rows(
                model, usual, matrix(design)[start : start + 7], design.targets[start : start + 7]
            )
            for start in range(0, 300, 7)
        ]
    )
    assert pieces.sentences == whole.sentences
    np.testing.assert_array_equal(pieces.parts, whole.parts)
    some = whole.take(np.array([5, 2]))
    assert some.sentences == [whole.sentences[5], whole.sentences[2]]


def test_no_rows_have_no_reasons(folder):
    design = design_of(folder, "price")
    model, usual = fitted(design), usual_row(design.rows, design.encoding)
    assert explain_rows(model, usual, matrix(design)[:0], design.targets[:0]).sentences == []


def test_parts_of_a_distance_sum_to_its_square_and_name_the_cell(folder):
    design = design_of(folder, None, intercept=False)
    options = ClusterOptions(Spectrum("subquantile", 0.75), starts=2)
    found = find_clusters(matrix(design), (2,), options)
    model, _ = make_model(design, found[0], found, options)
    X = matrix(design).copy()
    X[0, 0] = 50.0
    clusters, losses = nearest(X, model.encoded_centres)
    reasons = explain_distances(model, X, clusters)
    area = design.encoding.features[0]
    wrong = spell_cell(area.mean + 50.0 * area.scale)
    assert reasons.of(0)[0][0] == "area"
    assert f"area {wrong} where the centre has " in reasons.sentences[0]
    assert f"(cluster {clusters[0]})" in reasons.sentences[0]
    squares = (X - model.encoded_centres[clusters]) ** 2
    np.testing.assert_allclose(squares.sum(axis=1), losses, rtol=1e-12)
    assert reasons.of(0)[0][1] == squares[0, 0]
    categories = [text for text in reasons.sentences if " of its cluster" in text]
    assert any("color blue, as " in text for text in categories)


def test_an_unknown_category_is_called_so(folder):
    design = design_of(folder, "price")
    model, usual = fitted(design), usual_row(design.rows, design.encoding)
    coefficients = model.coefficients.copy()
    coefficients[1:4] = 50.0
    model = replace(model, coefficients=coefficients)
    X = matrix(design)[:1].copy()
    X[0, 1:4] = 0.0
    goal = model.predict(model.margins(DenseRows(usual.centre[np.newaxis])))
    (sentence,) = explain_rows(model, usual, X, goal).sentences
    assert "color (unknown) (usual " in sentence


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (312_123.4, "312,100"),
        (9_999_999.0, "10,000,000"),
        (2013.0, "2013"),
        (0.00076, "0.00076"),
        (-0.5, "-0.5"),
        (0.0, "0"),
        (-0.0, "0"),
        (1e-9, "1e-09"),
        (3.2e20, "3.2e+20"),
        (9999.96, "10,000"),
    ],
)
def test_computed_numbers_have_four_digits(value, text):
    assert spell(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (9_999_999.0, "9,999,999"),
        (123_456.75, "123,457"),
        (1754.0, "1754"),
        (0.1 + 0.2, "0.3"),
        (99.99999999, "100"),
        (1e15, "1e+15"),
    ],
)
def test_cells_keep_their_whole_digits(value, text):
    assert spell_cell(value) == text


def test_what_is_not_all_is_never_100_percent():
    assert percent(0.99999) == "over 99.9 %"
    assert percent(1.0) == "100 %"
    assert percent(0.034) == "3.4 %"


def test_a_cell_of_zero_survives_the_undoing_of_the_standardisation():
    mean, scale = 45.0, 8.1
    assert mean + scale * (-mean / scale) != 0.0  # rounding leaves a rest
    feature = NumberFeature("x", mean=mean, scale=scale)
    encoding = Encoding((feature,), False, None, Missing.ERROR, Unseen.ERROR)
    X = np.array([[-mean / scale], [1e-6 - mean / scale]])
    words = RowWords(encoding, X, np.zeros(1), np.ones(1))
    assert words.cell(0, 0) == "x 0"
    assert words.cell(1, 0) != "x 0"
