"""From "term:-2" to a fitted baseline: which there are, what each takes, which targets it learns.

This table needs no numpy; the file of a method is loaded when it is used.
"""

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from lrisk_cli.errors import UsageError
from lrisk_cli.names import Task
from lrisk_cli.parameters import Choice, Parameter, parse_choice, spell

if TYPE_CHECKING:
    from lrisk_cli.baselines.common import BaselineFit
    from lrisk_cli.losses.base import Loss
    from lrisk_cli.rows.rows import Rows
    from lrisk_cli.types import Targets

BOTH = frozenset({Task.REGRESSION, Task.CLASSIFICATION})
NUMBERS = frozenset({Task.REGRESSION})


@dataclass(frozen=True, slots=True)
class Family(Choice):
    """One method, and which targets it learns; it is the function `fit` of the file of its name.

    needs_sklearn: for some target it is scikit-learn's.
    """

    tasks: frozenset[Task] = BOTH
    needs_sklearn: bool = False


@dataclass(frozen=True, slots=True)
class Baseline:
    """A method and its parameter (None: the default), spelled `name` or `name:parameter`."""

    name: str
    parameter: float | None = None

    def __str__(self) -> str:
        return spell(self.name, self.parameter)


def parse_baseline(text: str) -> Baseline:
    """Read `name` or `name:parameter`; a wrong one is refused with a sentence."""
    return Baseline(*parse_choice(text, "rival", FAMILIES))


def check_baseline(rival: Baseline, task: Task) -> None:
    """Refuse a baseline that cannot learn such a target."""
    if task in FAMILIES[rival.name].tasks:
        return
    able = ", ".join(name for name, family in FAMILIES.items() if task in family.tasks)
    raise UsageError(f"{rival.name} does not learn {task}; leave it out, or choose among {able}")


def fit_baseline(
    rival: Baseline,
    rows: "Rows",
    y: "Targets",
    loss: "Loss",
    mu: float,
    *,
    eps: float,
    seed: int = 0,
) -> "BaselineFit":
    """Fit a baseline to the rows, the constant among its columns.

    mu: the penalty mu/2 ||W||^2 on top of a mean of losses. eps: the fraction of rows that may be
    bad, for the baselines that need it. Linear algebra runs on one thread: results repeat.
    """
    from lrisk_cli.baselines.common import BaselineFit, Setting
    from lrisk_cli.native.threads import one_thread
    from lrisk_cli.risk.spectrum import Spectrum
    from lrisk_cli.solvers.problem import make_problem

    if not 0.0 <= eps < 0.5:
        raise UsageError(f"the fraction of bad rows must be at least 0 and below 0.5; got {eps:g}")
    check_baseline(rival, loss.task)
    parameter = FAMILIES[rival.name].parameter
    value = rival.parameter
    if value is None:
        value = 0.0 if parameter is None else parameter.default
    setting = Setting(float(value or 0.0), eps, seed)
    problem = make_problem(rows, y, loss, Spectrum("mean"), mu)
    method = import_module(f"lrisk_cli.baselines.{rival.name.replace('-', '_')}")
    with one_thread():
        found: BaselineFit = method.fit(problem, setting)
    return found


def _count(x: float) -> bool:
    return x >= 1.0 and x == round(x)


def _above_one(x: float) -> bool:
    return x > 1.0


_WHOLE = "a whole number, at least 1"

FAMILIES: dict[str, Family] = {
    "erm": Family("the mean of the losses: ridge or logistic regression"),
    "term": Family(
        "tilted losses; below 0 large losses count less, above 0 more",
        Parameter("T", "tilt", "a number other than 0", bool, -2.0, -2.0),
    ),
    "sever": Family(
        "drops rows whose gradients stand out together",
        Parameter("ROUNDS", "rounds", _WHOLE, _count, 4.0, 0.0, "4, for classes 2"),
    ),
    "ransac": Family(
        "the fit to few rows that most rows agree with",
        Parameter("TRIALS", "trials", _WHOLE, _count, 100.0, 100.0),
        needs_sklearn=True,
    ),
    "svm": Family("linear support vectors on the same features", needs_sklearn=True),
    "huber": Family(
        "errors count linearly beyond EPSILON times their scale",
        Parameter("EPSILON", "epsilon", "greater than 1", _above_one, 1.35, 1.35),
        tasks=NUMBERS,
    ),
    "crr": Family(
        "hard thresholding: the largest residuals are taken for corruptions of the target",
        tasks=NUMBERS,
    ),
    "stir": Family(
        "weights 1/|residual|, truncated less and less",
        Parameter("ETA", "eta", "greater than 1", _above_one, 2.0, 2.0),
        tasks=NUMBERS,
    ),
    "trimmed-ml": Family(
        "refits to all rows but the least likely FACTOR * fraction",
        Parameter("FACTOR", "factor", "greater than 0", lambda x: x > 0.0, 1.0, 1.0),
    ),
}
