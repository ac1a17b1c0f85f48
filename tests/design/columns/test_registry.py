"""Features of every kind: their JSON, their names, and what they say about their cells."""

import numpy as np
import pytest

from lrisk_cli.design.columns.base import CategoryLimits, LearningRules, NumberCells
from lrisk_cli.design.columns.category import CategoryFeature
from lrisk_cli.design.columns.date import DateFeature
from lrisk_cli.design.columns.number import NumberFeature
from lrisk_cli.design.columns.registry import FEATURES, feature_from_json
from lrisk_cli.tables.cells import Texts
from lrisk_cli.tables.column_types.registry import COLUMN_TYPES

RULES = LearningRules(impute=True, marked=True, scaled=True, categories=CategoryLimits(2, 2))
DAYS = np.array([18262.0, 18293.25, np.nan, 18500.5])
LEARNED = {
    "number": NumberFeature.learn("t", "x", NumberCells(DAYS, 5.0, 2.0, 4.0, 1), RULES).feature,
    "date": DateFeature.learn(
        "t", "d", NumberCells(DAYS, 18300.0, 99.0, 18293.25, 1), RULES
    ).feature,
    "category": CategoryFeature.learn(
        "t", "c", Texts(np.array([0, 1, 0, 2, -1], np.int32), ["b", "a", "z"]), RULES
    ).feature,
}


def test_every_kind_that_can_be_read_has_a_feature():
    assert {each.kind for each in COLUMN_TYPES} - {"nested"} == set(FEATURES) == set(LEARNED)


@pytest.mark.parametrize("kind", FEATURES)
def test_a_feature_reads_back_from_its_entry(kind):
    feature = LEARNED[kind]
    entry = feature.to_json()
    assert entry["kind"] == feature.kind == kind
    assert feature_from_json(entry) == feature
    assert len(feature.value_names()) == feature.n_values == feature.n_columns - 1
    assert len(feature.column_names) == feature.n_columns
    means, scales = feature.units()
    assert len(means) == len(scales) == feature.n_columns
    with pytest.raises(ValueError, match="an indicator and no fill"):
        feature_from_json(entry | {"fill": None})


@pytest.mark.parametrize(
    ("kind", "change", "finding"),
    [
        ("number", {"categories": ("a",)}, "its kind and its categories disagree"),
        ("number", {"parts": ("month=Jan",)}, "its parts are not those of a date"),
        ("number", {"fill": "a"}, "its kind and its fill disagree"),
        ("date", {"parts": ("month=Feb", "month=Jan")}, "its parts are not those of a date"),
        ("date", {"fill": "a"}, "its kind and its fill disagree"),
        ("category", {"categories": ()}, "its kind and its categories disagree"),
        ("category", {"categories": ("a", "a")}, "names a category twice"),
        ("category", {"fill": "q"}, "its fill is none of its categories"),
        ("category", {"parts": ("month=Jan",)}, "its parts are not those of a date"),
    ],
)
def test_an_entry_whose_fields_disagree_is_refused(kind, change, finding):
    with pytest.raises(ValueError, match=finding):
        feature_from_json(LEARNED[kind].to_json() | change)


def test_cells_are_described_in_the_words_of_the_file():
    number, date, category = (LEARNED[kind] for kind in ("number", "date", "category"))
    assert number.describe(np.array([1.5, 0.0])) == "8"
    assert number.describe(np.array([-0.5, 1.0])) == "(missing)"
    day = np.zeros(date.n_columns)
    day[0] = (18262.25 - 18300.0) / 99.0
    assert date.describe(day) == "Wed 2020-01-01 06:00"
    assert category.categories == ("a", "b")
    assert category.describe(np.array([0.0, 1.0, 0.0, 0.0])) == "b"
    assert category.describe(np.array([0.0, 0.0, 1.0, 0.0])) == "(other)"
    assert category.describe(np.array([0.0, 0.0, 0.0, 0.0])) == "(unknown)"


@pytest.mark.parametrize("kind", FEATURES)
def test_a_survey_counts_the_columns_that_learning_makes(kind):
    survey, used = FEATURES[kind].survey(), np.array([True, True, True, True, True])
    if kind == "category":
        survey.add(Texts(np.array([0, 1, 0, 2, -1], np.int32), ["b", "a", "z"]), used)
    else:
        survey.add(DAYS, used[:4])
    assert survey.n_values(CategoryLimits(2, 2)) == LEARNED[kind].n_values


@pytest.mark.parametrize("weighted", [False, True])
def test_common_categories_keep_a_column_each_beyond_the_first_few(weighted):
    counts = {"a": 50, "b": 40, "c": 9, "d": 30, "e": 25, "f": 3, "g": 20}
    values = sorted(counts)
    codes = np.repeat(np.arange(len(values)), [counts[v] for v in values]).astype(np.int32)
    weights = np.where(codes == 5, 100.0, 1.0) if weighted else None  # f weighs most
    cells = Texts(codes, values)

    def kept(limits: CategoryLimits) -> tuple[str, ...]:
        rules = LearningRules(
            impute=False, marked=False, scaled=True, categories=limits, weights=weights
        )
        return CategoryFeature.learn("t", "c", cells, rules).feature.categories

    first = ("a", "f") if weighted else ("a", "b")
    assert kept(CategoryLimits(2, 2)) == first
    assert kept(CategoryLimits(2, 100)) == tuple(sorted({*first, "a", "b", "d", "e", "g"}))
    assert len(kept(CategoryLimits(2, 4))) == 4
    assert kept(CategoryLimits(100, 100)) == tuple(values)
    survey = CategoryFeature.survey()
    for part in (slice(None, 60), slice(60, None)):
        survey.add(Texts(codes[part], values), np.ones(len(codes[part]), bool))
    for limits in (CategoryLimits(2, 100), CategoryLimits(2, 4), CategoryLimits(7, 7)):
        if not weighted:
            assert survey.n_values(limits) == len(kept(limits)) + (len(kept(limits)) < 7)
