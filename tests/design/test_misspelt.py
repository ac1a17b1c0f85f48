"""Misspelt categories are found, and different categories are not called so."""

import numpy as np
import pytest

from lrisk_cli.design.misspelt import find_misspelt, may_be
from lrisk_cli.tables.cells import Texts


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("Brookln", "Brooklyn"), ("Brooklynn", "Brooklyn"), ("Borwn", "Brown"), ("Brawn", "Brown"),
        ("brooklyn ", "Brooklyn"), ("Never married", "Never-married"), ("New Yrok", "New York"),
    ],
)  # fmt: skip
def test_one_letter_or_only_blanks_and_capitals_make_a_misspelling(text: str, right: str) -> None:
    assert may_be(text, right)
    assert may_be(right, text)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("Group1", "Group2"), ("Type A", "Type B"), ("class_a", "class_b"), ("11th", "12th"),
        ("GradeA", "GradeB"), ("<=50K", ">50K"), ("1-2", "12"), ("-", "+"), ("EWR", "EWX"),
        ("northeast", "northwest"), ("Radiology", "Cardiology"), ("Oslo", "Oslo"),
    ],
)  # fmt: skip
def test_digits_single_letters_short_codes_and_other_words_are_different(
    text: str, right: str
) -> None:
    assert not may_be(text, right)


def test_only_rare_categories_are_misspelt_and_the_frequent_one_is_named() -> None:
    values = ["Hamburg", "Hambrug", "Rostock", "Rosstock"]
    codes = np.repeat(np.arange(4, dtype=np.int32), [500, 3, 60, 40])
    assert find_misspelt(Texts(codes, values)) == {1: "Hamburg"}


def test_missing_cells_and_unused_values_are_no_categories() -> None:
    codes = np.array([0] * 50 + [-1] * 50, np.int32)
    assert find_misspelt(Texts(codes, ["Hamburg", "Hambrug"])) == {}
