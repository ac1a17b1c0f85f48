"""The rows of the tables: one entry for each method. A new estimator is one more entry of ROWS."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from benchmarks.papers.subquantile.setups import Setup
from lrisk_cli.baselines.registry import fit_baseline, parse_baseline
from lrisk_cli.features.features import Features, build_features
from lrisk_cli.models.robust_fit import solve_robustly
from lrisk_cli.names import SolverName, StartName
from lrisk_cli.native.threads import one_thread
from lrisk_cli.risk.spectrum import parse_risk
from lrisk_cli.robust.inlier_weights import InlierWeights, find_inlier_weights
from lrisk_cli.solvers.problem import make_problem
from lrisk_cli.solvers.select import SolverOptions, solve
from lrisk_cli.solvers.solution import Limits
from lrisk_cli.types import Array

Found = tuple[Array, Features | None]
ALL, LINEAR_ONLY = frozenset({1, 2, 3}), frozenset({2})


def always(_: Setup) -> bool:
    """On all sets."""
    return True


def few_rows(setup: Setup) -> bool:
    """Not the drug set."""
    return len(setup.planted.y) <= 2000


def few_features(setup: Setup) -> bool:
    """Not the kernel of the drug set, on which one weighted fit takes a second."""
    n, d = setup.features.phi.shape
    return n * d <= 4e6


@dataclass(frozen=True, slots=True)
class Row:
    """A method. fit: coefficients, and the features that they belong to if not the setup's own.

    tables: those of the paper where it can be fitted; in_time: whether it takes no minutes there.
    """

    words: str
    fit: Callable[[Setup], Found]
    tables: frozenset[int] = field(default=ALL)
    in_time: Callable[[Setup], bool] = always


def descend(setup: Setup, **how: object) -> Found:
    """Algorithm 3: the coefficients of the rows start at random, one step of all kept rows each."""
    options = SolverOptions(
        SolverName.SUBGRADIENT, start=StartName.GLOROT_DUAL, seed=setup.seed, **how
    )
    limits = Limits(tol=1e-5, max_passes=float(setup.most_steps))
    return solve(setup.subquantile, options, limits).W, None


def alternate(setup: Setup) -> Found:
    """`fit --risk subquantile:P`: weights and weighted fits in turn, from several starts."""
    problem = setup.subquantile
    weights = _inliers(setup).weights
    found = solve(problem, SolverOptions(seed=setup.seed), Limits(), inliers=weights)
    return found.W, None


def robustly(setup: Setup) -> Found:
    """`fit --robust`, which is not told eps."""
    found = solve_robustly(setup.problem("mean"), _inliers(setup), Limits(), "rows", 1.0)
    return found.solution.W, None


@lru_cache(maxsize=1)
def _inliers(setup: Setup) -> InlierWeights:
    """Two rows need them, and they take long on many columns."""
    planted = setup.planted
    with one_thread():
        return find_inlier_weights(
            planted.rows, planted.y, setup.loss, constant=True, seed=setup.seed
        )


def estimated_fraction(setup: Setup) -> float:
    """The fraction of outliers that `fit --robust` and `detect-outliers` estimate."""
    return _inliers(setup).fraction


def genie(setup: Setup) -> Found:
    """The mean of the losses of the clean rows alone."""
    rows, y = setup.clean
    kept = np.flatnonzero(~setup.planted.mask)
    features = build_features(rows.take(kept), setup.kernel, constant=True, seed=setup.seed)
    problem = make_problem(
        features.phi, np.asarray(y)[kept], setup.loss, parse_risk("mean"), 1.0 / len(kept), None,
        features.outer,
    )  # fmt: skip
    return solve(problem, SolverOptions(), Limits()).W, features


def rival(text: str) -> Callable[[Setup], Found]:
    """A published method of the same features."""

    def fit(setup: Setup) -> Found:
        found = fit_baseline(
            parse_baseline(text), setup.features.phi, setup.planted.y, setup.loss, setup.mu,
            eps=setup.eps, seed=setup.seed,
        )  # fmt: skip
        return found.W, None

    return fit


ALGORITHM_3, GENIE = "algorithm 3", "genie"
ROWS: dict[str, Row] = {
    ALGORITHM_3: Row("as printed: Glorot start in the dual, plain steps", descend),
    "algorithm 3, momentum": Row("momentum 0.9", lambda s: descend(s, momentum=0.9)),
    "algorithm 3, nesterov": Row(
        "Nesterov, 0.9", lambda s: descend(s, momentum=0.9, nesterov=True)
    ),
    "alternating": Row("fit --risk subquantile:P", alternate),
    "robust": Row("fit --robust", robustly),
    "erm": Row("all rows alike (KRR)", rival("erm")),
    "svm": Row("support vectors", rival("svm"), in_time=few_rows),
    "ransac": Row("RANSAC", rival("ransac"), LINEAR_ONLY),
    "crr": Row("consistent robust regression", rival("crr"), frozenset({1, 2}), few_features),
    "stir": Row("truncated reweighting", rival("stir"), frozenset({1, 2}), few_features),
    "sever": Row("SEVER", rival("sever")),
    "term": Row("tilted losses, t = -2", rival("term")),
    "huber": Row("Huber", rival("huber"), frozenset({1, 2}), few_rows),
    "trimmed-ml:2": Row("trimmed maximum likelihood, 1 - 2 eps kept", rival("trimmed-ml:2")),
    GENIE: Row("the mean of the clean rows", genie),
}
