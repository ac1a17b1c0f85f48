"""The losses by name, readable without numpy: "huber:1.5" -> a loss of rows.

A loss is one file of this package, with a function `make`, and its entry here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from math import isfinite
from typing import TYPE_CHECKING

from lrisk_cli.errors import UsageError
from lrisk_cli.names import Task

if TYPE_CHECKING:
    from lrisk_cli.losses.base import Loss

AUTO = "auto"


@dataclass(frozen=True, slots=True)
class Entry:
    """A loss of the registry. words: for the help; natural: what `auto` takes for the task.

    parameter: its name, for losses that have one; a number greater than 0.
    """

    task: Task
    words: str
    natural: bool = False
    parameter: str | None = None


ENTRIES: dict[str, Entry] = {
    "squared": Entry(Task.REGRESSION, "half the squared error", natural=True),
    "logistic": Entry(
        Task.CLASSIFICATION, "minus the log-probability of the true class", natural=True
    ),
    "huber": Entry(
        Task.REGRESSION,
        "the squared one up to an error of DELTA, in units of the target, and linear beyond",
        parameter="DELTA",
    ),
    "poisson": Entry(
        Task.REGRESSION, "half the deviance of counts with a log link; takes --exposure"
    ),
}


@dataclass(frozen=True, slots=True)
class LossChoice:
    """A loss as it was asked for, spelled `name` or `name:parameter`; `auto` follows the task."""

    name: str = AUTO
    parameter: float | None = None

    def __str__(self) -> str:
        return self.name if self.parameter is None else f"{self.name}:{_spell(self.parameter)}"

    @property
    def implied_task(self) -> Task | None:
        """The task that asking for this loss implies; None where the target decides."""
        entry = ENTRIES.get(self.name)
        return None if entry is None or entry.natural else entry.task

    def resolve(self, task: Task) -> "LossChoice":
        """The loss for a task, `auto` replaced; one that does not fit is refused."""
        natural = next(n for n, each in ENTRIES.items() if each.natural and each.task is task)
        if self.name == AUTO:
            return LossChoice(natural)
        if ENTRIES[self.name].task is not task:
            raise UsageError(f"--loss {self} does not fit {task}; use {natural}, or change --task")
        return self

    def make(self, n_classes: int = 0) -> "Loss":
        """The loss itself. n_classes: of the target, where it has classes."""
        module = import_module(f"lrisk_cli.losses.{self.name}")
        build: Callable[[float | None, int], Loss] = module.make
        return build(self.parameter, n_classes)


def parse_loss(text: str) -> LossChoice:
    """Read `name` or `name:parameter`; a wrong one is answered with a sentence."""
    name, _, argument = text.strip().partition(":")
    name = name.lower()
    if name not in (AUTO, *ENTRIES):
        near = get_close_matches(name, [AUTO, *ENTRIES], n=1)
        hint = f"did you mean {near[0]}?" if near else f"known losses: {', '.join(ENTRIES)}"
        raise UsageError(f"unknown loss {text!r}; {hint}")
    entry = ENTRIES.get(name)
    if entry is None or entry.parameter is None:
        if argument:
            raise UsageError(f"the {name} loss takes no parameter; got {text!r}, write {name}")
        return LossChoice(name)
    if not argument:
        raise UsageError(f"the {name} loss needs its {entry.parameter}, for example {name}:1.5")
    try:
        parameter = float(argument)
    except ValueError:
        parameter = 0.0
    if not (isfinite(parameter) and parameter > 0.0):
        raise UsageError(
            f"the {entry.parameter} of the {name} loss must be a number greater than 0; got "
            f"{argument!r}"
        )
    return LossChoice(name, parameter)


def make_loss(text: str, n_classes: int = 0) -> "Loss":
    """The loss of that name; an unknown one is refused. n_classes: of a target with classes."""
    return parse_loss(text).make(n_classes)


def describe_losses() -> str:
    """All of them, for the help: "squared: half the squared error; huber:DELTA: ..."."""
    return "; ".join(
        f"{name if entry.parameter is None else f'{name}:{entry.parameter}'}: {entry.words}"
        for name, entry in ENTRIES.items()
    )


def loss_pattern() -> str:
    """What spells a loss in a model file, as a regular expression."""
    names = (name + (":.+" if entry.parameter else "") for name, entry in ENTRIES.items())
    return f"^({'|'.join(names)})$"


def _spell(parameter: float) -> str:
    """As briefly as reads back to the same number."""
    brief = f"{parameter:g}"
    return brief if float(brief) == parameter else repr(parameter)
