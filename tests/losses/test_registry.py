"""The registry of losses: names, parameters, tasks; and that nobody else asks for a name."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import lrisk_cli
from helpers.losses import EVERY_LOSS, id_of
from lrisk_cli.errors import UsageError
from lrisk_cli.losses.base import Loss
from lrisk_cli.losses.registry import ENTRIES, LossChoice, make_loss, parse_loss
from lrisk_cli.names import Task

PACKAGE = Path(lrisk_cli.__file__).parent
NAMES = {"LossName", *ENTRIES}


def modules() -> list[Path]:
    """All of the package but that of the losses, and what derives the command line."""
    return [
        path
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.relative_to(PACKAGE).parts[0] != "losses" and path.parent.name != "options"
    ]


def constants(node: ast.AST) -> set[str]:
    """The strings that a comparison compares with."""
    return {
        each.value
        for each in ast.walk(node)
        if isinstance(each, ast.Constant) and isinstance(each.value, str)
    }


def asks_for_a_name(tree: ast.AST) -> Iterator[int]:
    """Lines that compare with the name of a loss, look one up by it, or name the names."""
    for node in ast.walk(tree):
        compares = isinstance(node, ast.Compare | ast.MatchValue) and constants(node) & NAMES
        enumerates = isinstance(node, ast.Attribute | ast.Name) and "LossName" in ast.dump(node)
        looks_up = isinstance(node, ast.Compare | ast.Subscript) and any(
            isinstance(part, ast.Attribute)
            and part.attr == "name"
            and ast.unparse(part.value).rpartition(".")[2] in ("loss", "row_loss")
            for part in ast.walk(node)
        )
        if compares or enumerates or looks_up:
            yield node.lineno


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_code_outside_the_package_asks_for_the_name_of_a_loss(path: Path) -> None:
    lines = list(asks_for_a_name(ast.parse(path.read_text())))
    assert not lines, f"{path}: lines {lines}"


@pytest.mark.parametrize(
    "line",
    [
        'loss.name == "squared"', 'model.loss in ("logistic", "x")', "ROUNDS[problem.loss.name]",
        "LossName.SQUARED", 'kind != "huber"',
    ],
)  # fmt: skip
def test_the_rule_sees_what_it_forbids(line: str) -> None:
    assert list(asks_for_a_name(ast.parse(line)))


@pytest.mark.parametrize("loss", EVERY_LOSS, ids=id_of)
def test_a_loss_is_read_back_from_its_own_name(loss: Loss) -> None:
    again = make_loss(loss.name, max(loss.n_outputs, 2))
    assert again == loss
    assert again.name == loss.name


@pytest.mark.parametrize("name", ENTRIES)
def test_every_entry_has_a_loss_in_the_tests_and_its_task(name: str) -> None:
    found = [loss for loss in EVERY_LOSS if loss.name.partition(":")[0] == name]
    assert found
    assert all(loss.task is ENTRIES[name].task for loss in found)


def test_names_are_read_without_numpy() -> None:
    code = (
        "import sys; from lrisk_cli.losses.registry import describe_losses, parse_loss; "
        "describe_losses(); parse_loss('squared'); sys.exit('numpy' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("mse", "unknown loss 'mse'; squared is half of it"),
        ("mae", "quantile:0.5 is half of it"),
        ("pinball", "quantile:T is the pinball loss"),
        ("quantile", "quantile needs its level, for example quantile:0.9"),
        ("quantile:90", "quantile level must be in (0, 1); got 90; write 90% or 0.9"),
        ("hinge", "logistic is near"),
        ("sqared", "unknown loss 'sqared'; did you mean squared?"),
        (
            "zzz",
            "unknown loss 'zzz'; known losses: auto, squared, logistic, huber:DELTA, quantile:T",
        ),
        ("squared:2", "squared takes no parameter; got 'squared:2', write squared"),
        ("huber", "huber needs its delta, for example huber:1.5"),
        ("huber:0", "huber delta must be greater than 0; got 0"),
        ("huber:x", "huber delta must be a number, for example huber:1.5; got 'x'"),
    ],
)
def test_wrong_names_are_answered_with_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_loss(text)
    assert sentence in str(raised.value)


def test_auto_follows_the_task_and_others_must_fit_it() -> None:
    assert LossChoice().resolve(Task.REGRESSION) == LossChoice("squared")
    assert LossChoice().resolve(Task.CLASSIFICATION) == LossChoice("logistic")
    with pytest.raises(UsageError, match="does not fit regression; use squared, or change task"):
        LossChoice("logistic").resolve(Task.REGRESSION)
