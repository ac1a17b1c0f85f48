"""From "term:-2" to a fitted baseline: which there are, what each takes, which losses it fits.

This table needs no numpy; the file of a method is loaded when it is used.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from lrisk_cli.errors import InvalidOption, UsageError
from lrisk_cli.losses.registry import name_learned
from lrisk_cli.parameters import Choice, Parameter, parse_choice, spell, split_specs

if TYPE_CHECKING:
    from lrisk_cli.baselines.common import BaselineFit
    from lrisk_cli.losses.base import Loss
    from lrisk_cli.rows.rows import Rows
    from lrisk_cli.types import Array, Targets


class Scope(StrEnum):
    """Which losses a method fits, by what it needs of them."""

    ANY = "any loss"
    NO_LOG_LINK = "losses without a log link"
    SQUARED = "the squared loss"

    def holds(self, loss: "Loss") -> bool:
        """Whether the loss has what such a method needs.

        ANY: values and derivatives. NO_LOG_LINK: margins on the scale of the target, or the
        likeliest class from their order. SQUARED: residuals, and weighted fits by least squares.
        """
        match self:
            case Scope.SQUARED:
                return loss.quadratic
            case Scope.NO_LOG_LINK:
                return not loss.log_link
        return True


@dataclass(frozen=True, slots=True)
class Family(Choice):
    """One method, and which losses it fits; it is the function `fit` of the file of its name.

    needs_sklearn: for some target it is scikit-learn's. weighs: it takes row weights.
    """

    scope: Scope = Scope.ANY
    needs_sklearn: bool = False
    weighs: bool = False


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


def parse_baselines(texts: Sequence[str]) -> tuple[Baseline, ...] | None:
    """Those named, each once; None where none was, and nothing for `none`."""
    asked = split_specs(texts)
    if not asked:
        return None
    if asked == ["none"]:
        return ()
    rivals = tuple(parse_baseline(text) for text in asked)
    names = [str(each) for each in rivals]
    for name in names:
        if names.count(name) > 1:
            raise InvalidOption("rival", "is named twice; name it once", name)
    return rivals


def check_baseline(rival: Baseline, loss: "Loss", *, weighted: bool = False) -> None:
    """Refuse a baseline that does not fit such a loss, or rows that do not count alike."""
    if weighted and not FAMILIES[rival.name].weighs:
        able = ", ".join(name for name, family in FAMILIES.items() if family.weighs)
        raise UsageError(f"{rival.name} takes no row weights; leave it out, or choose {able}")
    if FAMILIES[rival.name].scope.holds(loss):
        return
    able = ", ".join(name for name, family in FAMILIES.items() if family.scope.holds(loss))
    what = name_learned(loss)
    raise UsageError(f"{rival.name} does not learn {what}; leave it out, or choose among {able}")


def usual_baselines(
    loss: "Loss", *, weighted: bool = False
) -> tuple[tuple[Baseline, ...], tuple[str, ...]]:
    """All that fit the loss and are installed, without the mean; and the others, by name.

    The others: those that do not fit the loss or, where rows do not count alike, weights.
    """
    installed = find_spec("sklearn") is not None
    able = {
        name: family
        for name, family in FAMILIES.items()
        if family.scope.holds(loss) and (family.weighs or not weighted)
    }
    taken = tuple(
        Baseline(name)
        for name, family in able.items()
        if name != MEAN and (installed or not family.needs_sklearn)
    )
    return taken, tuple(name for name in FAMILIES if name not in able)


def fit_baseline(
    rival: Baseline,
    rows: "Rows",
    y: "Targets",
    loss: "Loss",
    mu: float,
    *,
    eps: float,
    seed: int = 0,
    exposure: "Array | None" = None,
    masses: "Array | None" = None,
) -> "BaselineFit":
    """Fit a baseline to the rows, the constant among its columns.

    loss: on the scale of y. mu: the penalty mu/2 ||W||^2 on top of a mean of losses. eps: the
    fraction of rows that may be bad, for the baselines that need it. exposure: (n,), for losses
    that take one. masses: (n,), for those that weigh rows. Linear algebra runs on one thread:
    results repeat.
    """
    from lrisk_cli.baselines.common import BaselineFit, Setting
    from lrisk_cli.native.threads import one_thread
    from lrisk_cli.risk.spectrum import Spectrum
    from lrisk_cli.solvers.problem import make_problem

    if not 0.0 <= eps < 0.5:
        raise UsageError(f"the fraction of bad rows must be at least 0 and below 0.5; got {eps:g}")
    check_baseline(rival, loss, weighted=masses is not None)
    parameter = FAMILIES[rival.name].parameter
    value = rival.parameter
    if value is None:
        value = 0.0 if parameter is None else parameter.default
    setting = Setting(float(value or 0.0), eps, seed)
    problem = make_problem(rows, y, loss, Spectrum("mean"), mu, exposure=exposure, masses=masses)
    method = import_module(f"lrisk_cli.baselines.{rival.name.replace('-', '_')}")
    with one_thread():
        found: BaselineFit = method.fit(problem, setting)
    return found


def _count(x: float) -> bool:
    return x >= 1.0 and x == round(x)


def _above_one(x: float) -> bool:
    return x > 1.0


# lrisk's own mean under another name.
MEAN = "erm"
_WHOLE = "a whole number, at least 1"

FAMILIES: dict[str, Family] = {
    MEAN: Family("the mean of the losses: ridge or logistic regression", weighs=True),
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
        scope=Scope.NO_LOG_LINK,
        needs_sklearn=True,
    ),
    "svm": Family(
        "linear support vectors on the same features",
        scope=Scope.NO_LOG_LINK,
        needs_sklearn=True,
    ),
    "huber": Family(
        "errors count linearly beyond EPSILON times their scale",
        Parameter("EPSILON", "epsilon", "greater than 1", _above_one, 1.35, 1.35),
        scope=Scope.SQUARED,
    ),
    "crr": Family(
        "hard thresholding: the largest residuals are taken for corruptions of the target",
        scope=Scope.SQUARED,
    ),
    "stir": Family(
        "weights 1/|residual|, truncated less and less",
        Parameter("ETA", "eta", "greater than 1", _above_one, 2.0, 2.0),
        scope=Scope.SQUARED,
    ),
    "trimmed-ml": Family(
        "refits to all rows but the least likely FACTOR * fraction",
        Parameter("FACTOR", "factor", "greater than 0", lambda x: x > 0.0, 1.0, 1.0),
    ),
}
