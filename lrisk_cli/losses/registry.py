"""The losses by name, readable without numpy: "huber:1.5" -> a loss of rows.

A loss is one file of this package, with a function `make`, and its entry here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from lrisk_cli.errors import InvalidOption, opt
from lrisk_cli.names import Task
from lrisk_cli.parameters import Answer, Choice, Parameter, parse_choice, spell

if TYPE_CHECKING:
    from lrisk_cli.losses.base import Loss

AUTO = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry(Choice):
    """A loss of the registry. natural: it is what `auto` takes for its task.

    of_mean: what it predicts only where the mean of the losses is minimised. in_units: whether its
    parameter is in units of the target.
    """

    task: Task
    natural: bool = False
    of_mean: str = ""
    in_units: bool = False


_DELTA = Parameter("DELTA", "delta", "greater than 0", lambda delta: delta > 0.0, 1.5)
_LEVEL = Parameter("T", "level", "in (0, 1)", lambda level: 0.0 < level < 1.0, 0.9, fraction=True)
ENTRIES: dict[str, Entry] = {
    "squared": Entry("half the squared error", task=Task.REGRESSION, natural=True),
    "logistic": Entry(
        "minus the log-probability of the true class", task=Task.CLASSIFICATION, natural=True
    ),
    "huber": Entry(
        "squared up to an error of DELTA, in units of the target, and linear beyond",
        _DELTA,
        task=Task.REGRESSION,
        in_units=True,
    ),
    "quantile": Entry(
        "T times the error of targets above the prediction, 1-T times that of others (pinball); "
        "predicts the quantile T",
        _LEVEL,
        task=Task.REGRESSION,
        of_mean="quantiles of the target",
    ),
    "poisson": Entry(
        "half the deviance of counts with a log link; takes `exposure`", task=Task.REGRESSION
    ),
}
_SQUARED = "squared is half of it (the same fit with half the penalty); rmse is always reported"
_ABSOLUTE = (
    "quantile:0.5 is half of it (the same fit with half the penalty); mae is always reported"
)
_LOGISTIC = "logistic is the same: minus the log-probability of the true class"
# Losses that are known elsewhere: what is near, and how it differs.
ANSWERS: dict[str, Answer] = {
    **dict.fromkeys(("mse", "l2", "squared_error", "square", "ols", "rmse"), _SQUARED),
    **dict.fromkeys(("mae", "l1", "absolute", "absolute_error", "lad"), _ABSOLUTE),
    **dict.fromkeys(
        ("log", "logloss", "log_loss", "cross-entropy", "cross_entropy", "softmax", "bce"),
        _LOGISTIC,
    ),
    "pinball": "quantile:T is the pinball loss, for example quantile:0.9",
    "hinge": "the hinge loss gives no probabilities and is not smooth; logistic is near: beyond a "
    "margin of about 3 both are nearly 0, and linear on the wrong side",
    "tweedie": "poisson is near, for counts and sums of counts; its deviance has the power 1",
    "gamma": "poisson is near for positive targets: the same log link, but the variance grows as "
    "the mean, not as its square",
    "logcosh": "huber:1 is near: squared for small errors and linear for large ones",
}
_CHOICES: dict[str, Choice] = {AUTO: Choice("follows the task"), **ENTRIES}


@dataclass(frozen=True, slots=True)
class LossChoice:
    """A loss as it was asked for, spelled `name` or `name:parameter`; `auto` follows the task."""

    name: str = AUTO
    parameter: float | None = None

    def __str__(self) -> str:
        return spell(self.name, self.parameter)

    @property
    def is_auto(self) -> bool:
        """Whether the task decides."""
        return self.name == AUTO

    @property
    def implied_task(self) -> Task | None:
        """The task that asking for this loss implies; None where the target decides."""
        entry = ENTRIES.get(self.name)
        return None if entry is None or entry.natural else entry.task

    @property
    def of_mean(self) -> str:
        """What it predicts only where the mean of the losses is minimised; nothing for most."""
        entry = ENTRIES.get(self.name)
        return "" if entry is None else entry.of_mean

    @property
    def in_units(self) -> bool:
        """Whether its parameter is in units of the target."""
        entry = ENTRIES.get(self.name)
        return entry is not None and entry.in_units

    def resolve(self, task: Task) -> "LossChoice":
        """The loss for a task, `auto` replaced; one that does not fit is refused."""
        natural = next(n for n, each in ENTRIES.items() if each.natural and each.task is task)
        if self.name == AUTO:
            return LossChoice(natural)
        if ENTRIES[self.name].task is not task:
            raise InvalidOption(
                "loss", f"does not fit {task}; use {natural}, or change {opt('task')}", str(self)
            )
        return self

    def make(self, n_classes: int = 0) -> "Loss":
        """The loss itself. n_classes: of the target, where it has classes."""
        module = import_module(f"lrisk_cli.losses.{self.name}")
        build: Callable[[float | None, int], Loss] = module.make
        return build(self.parameter, n_classes)


def parse_loss(text: str) -> LossChoice:
    """Read `name` or `name:parameter`; a wrong one is answered with a sentence."""
    return LossChoice(*parse_choice(text, "loss", _CHOICES, plural="losses", answers=ANSWERS))


def make_loss(text: str, n_classes: int = 0) -> "Loss":
    """The loss of that name; an unknown one is refused. n_classes: of a target with classes."""
    return parse_loss(text).make(n_classes)


def name_learned(loss: "Loss") -> str:
    """What a method with this loss learns: a task by its natural loss, "poisson losses"."""
    natural = parse_loss(loss.name).implied_task is None
    return str(loss.task) if natural else f"{loss.name} losses"


def describe_losses() -> str:
    """All of them, for the help: "squared: half the squared error; huber:DELTA: ..."."""
    return "; ".join(f"{entry.spelling(name)}: {entry.summary}" for name, entry in ENTRIES.items())


def loss_pattern() -> str:
    """What spells a loss in a model file, as a regular expression."""
    names = (name + (":.+" if entry.parameter else "") for name, entry in ENTRIES.items())
    return f"^({'|'.join(names)})$"
