"""Targets: a number or a class, each with its own way from cells to y and back."""

import ast
from pathlib import Path

import numpy as np
import pytest

import lrisk_cli
from lrisk_cli.design.target import ClassTarget, NumberTarget, target_from_file
from lrisk_cli.names import Task
from lrisk_cli.tables.cells import Texts

PACKAGE = Path(lrisk_cli.__file__).parent
PRICE = NumberTarget("price", mean=10.0, scale=4.0)
GRADE = ClassTarget("grade", ("a", "b", "c"))


def test_a_number_is_standardised_and_back_in_its_units():
    cells = np.array([6.0, 10.0, np.nan])
    y = PRICE.encode(cells)
    np.testing.assert_array_equal(y, [-1.0, 0.0, np.nan])
    np.testing.assert_array_equal(PRICE.in_units(y), cells)
    assert PRICE.as_read(cells, np.array([1]), y[1:2]).tolist() == [10.0]
    assert PRICE.unseen(y) is None


def test_a_class_is_its_position_and_a_stranger_has_none():
    cells = Texts(np.array([2, 0, -1, 1], np.int32), ["a", "z", "c"])
    y = GRADE.encode(cells)
    assert y.tolist() == [2, 0, -1, -1]
    assert GRADE.in_units(y) is y
    assert GRADE.as_read(cells, slice(None), y) is y
    assert GRADE.unseen(y).tolist() == [False, False, True, True]


def test_a_target_spells_its_values_and_its_task():
    assert (PRICE.spell(1234567.0), GRADE.spell(2)) == ("1.23457e+06", "c")
    assert (PRICE.summary, GRADE.summary) == ("regression", "classification (3 classes)")
    assert (PRICE.task, GRADE.task) == (Task.REGRESSION, Task.CLASSIFICATION)


@pytest.mark.parametrize("target", [PRICE, GRADE])
def test_a_target_is_read_back_from_what_a_file_holds(target):
    again = target_from_file(
        str(target.task), target.name, target.mean, target.scale, target.classes
    )
    assert again == target


@pytest.mark.parametrize(
    ("task", "mean", "classes", "finding"),
    [
        ("classification", 0.0, ("a", "a"), "a class is named twice"),
        ("classification", 0.0, ("a",), "1 classes do not fit the task"),
        ("regression", 0.0, ("a", "b"), "2 classes do not fit the task"),
        ("classification", 1.0, ("a", "b"), "neither mean nor scale"),
    ],
)
def test_parts_of_a_file_that_disagree_are_refused(task, mean, classes, finding):
    with pytest.raises(ValueError, match=finding):
        target_from_file(task, "y", mean, 1.0, classes)


def asks_for_a_kind(tree: ast.AST) -> list[int]:
    """Lines that read `.kind` of a target, or compare a task with a text."""
    lines = []
    for node in ast.walk(tree):
        owner = ast.unparse(node.value) if isinstance(node, ast.Attribute) else ""
        if isinstance(node, ast.Attribute) and node.attr == "kind":
            lines += [node.lineno] * (owner.rpartition(".")[2] in ("target", "goal"))
        if isinstance(node, ast.Compare):
            parts = [node.left, *node.comparators]
            is_task = any(isinstance(each, ast.Attribute) and each.attr == "task" for each in parts)
            is_text = any(
                isinstance(each, ast.Constant) and isinstance(each.value, str) for each in parts
            )
            lines += [node.lineno] * (is_task and is_text)
    return lines


@pytest.mark.parametrize(
    "path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE))
)
def test_no_code_asks_for_the_kind_of_a_target_by_a_text(path):
    assert asks_for_a_kind(ast.parse(path.read_text("utf-8"))) == []


@pytest.mark.parametrize("line", ["self.target.kind", 'goal.kind == "x"', 'm.task == "regression"'])
def test_the_rule_sees_what_it_forbids(line):
    assert asks_for_a_kind(ast.parse(line))
