"""From "term:-2" to a fitted rival: which there are, what each takes, which targets it learns."""

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np

from lrisk_cli.baselines import crr, erm, huber, ransac, sever, stir, svm, term, trimmed_ml
from lrisk_cli.baselines.common import RivalFit, Setting
from lrisk_cli.errors import UsageError
from lrisk_cli.losses.losses import Loss
from lrisk_cli.names import RIVALS, Task
from lrisk_cli.native.threads import one_thread
from lrisk_cli.risk.spectrum import Spectrum
from lrisk_cli.rows.rows import Rows
from lrisk_cli.solvers.problem import Problem, make_problem
from lrisk_cli.types import Targets

BOTH = frozenset({Task.REGRESSION, Task.CLASSIFICATION})
NUMBERS = frozenset({Task.REGRESSION})


@dataclass(frozen=True, slots=True)
class Parameter:
    """The number that may follow a rival's name."""

    name: str
    range: str
    accepts: Callable[[float], bool]
    usual: float


@dataclass(frozen=True, slots=True)
class Family:
    """One method: how it fits, which targets it learns, what may follow its name.

    needs_sklearn: for some target it is scikit-learn's.
    """

    fit: Callable[[Problem, Setting], RivalFit]
    tasks: frozenset[Task] = BOTH
    parameter: Parameter | None = None
    needs_sklearn: bool = False


@dataclass(frozen=True, slots=True)
class Rival:
    """A method and its parameter (None: the usual one), spelled `name` or `name:parameter`."""

    name: str
    parameter: float | None = None

    def __str__(self) -> str:
        return self.name if self.parameter is None else f"{self.name}:{self.parameter:g}"


def parse_rival(text: str) -> Rival:
    """Read `name` or `name:parameter`; a wrong one is answered with a sentence."""
    name, _, argument = text.strip().partition(":")
    name = name.strip().lower()
    if name not in RIVALS:
        near = get_close_matches(name, RIVALS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"known rivals: {', '.join(RIVALS)}"
        raise UsageError(f"unknown rival {text!r}; {hint}")
    if not argument:
        return Rival(name)
    parameter = FAMILIES[name].parameter
    if parameter is None:
        raise UsageError(f"{name} takes no parameter; got {text!r}, write {name}")
    try:
        value = float(argument)
    except ValueError:
        raise UsageError(f"{name} {parameter.name} must be a number; got {argument!r}") from None
    if not np.isfinite(value) or not parameter.accepts(value):
        raise UsageError(f"{name} {parameter.name} must be {parameter.range}; got {argument}")
    return Rival(name, value)


def check_rival(rival: Rival, task: Task) -> None:
    """Refuse a rival that cannot learn such a target."""
    if task in FAMILIES[rival.name].tasks:
        return
    able = ", ".join(name for name, family in FAMILIES.items() if task in family.tasks)
    raise UsageError(f"{rival.name} does not learn {task}; leave it out, or choose among {able}")


def fit_rival(
    rival: Rival, rows: Rows, y: Targets, loss: Loss, mu: float, *, eps: float, seed: int = 0
) -> RivalFit:
    """Fit a rival to the rows, the constant among its columns.

    mu: the penalty mu/2 ||W||^2 on top of a mean of losses. eps: the fraction of rows that may be
    bad, for the rivals that must be told. Linear algebra runs on one thread: results repeat.
    """
    if not 0.0 <= eps < 0.5:
        raise UsageError(f"the fraction of bad rows must be at least 0 and below 0.5; got {eps:g}")
    check_rival(rival, Task.REGRESSION if loss.name == "squared" else Task.CLASSIFICATION)
    family = FAMILIES[rival.name]
    usual = 0.0 if family.parameter is None else family.parameter.usual
    setting = Setting(usual if rival.parameter is None else rival.parameter, eps, seed)
    problem = make_problem(rows, y, loss, Spectrum("mean"), mu)
    with one_thread():
        return family.fit(problem, setting)


def _count(x: float) -> bool:
    return x >= 1.0 and x == round(x)


_WHOLE = "a whole number, at least 1"

FAMILIES: dict[str, Family] = {
    "erm": Family(erm.fit),
    "term": Family(term.fit, BOTH, Parameter("tilt", "a number other than 0", bool, -2.0)),
    "sever": Family(sever.fit, BOTH, Parameter("rounds", _WHOLE, _count, 0.0)),
    "ransac": Family(ransac.fit, BOTH, Parameter("trials", _WHOLE, _count, 100.0), True),
    "svm": Family(svm.fit, needs_sklearn=True),
    "huber": Family(
        huber.fit, NUMBERS, Parameter("epsilon", "greater than 1", lambda x: x > 1.0, 1.35)
    ),
    "crr": Family(crr.fit, NUMBERS),
    "stir": Family(stir.fit, NUMBERS, Parameter("eta", "greater than 1", lambda x: x > 1.0, 2.0)),
    "trimmed-ml": Family(
        trimmed_ml.fit, BOTH, Parameter("factor", "greater than 0", lambda x: x > 0.0, 1.0)
    ),
}
