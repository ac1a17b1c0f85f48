"""How much longer than scikit-learn's plain fits do fits of falling risks take?

Bound: exact kernel at most 2.5x KernelRidge; 500 landmarks 3x Nystroem and Ridge per round; linear
10x Ridge.

Data: generated.

One thread, CPU time, the same arrays, a fifth of the targets wrong; lrisk does what
`fit --risk subquantile:0.8` does: it judges all rows and searches from several starts.
Friedman's first function for kernels.
"""

from collections.abc import Callable
from time import process_time

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from benchmarks.common.record import make_parser, start
from benchmarks.common.timing import compare
from lrisk_cli.features.features import FeatureOptions, build_features
from lrisk_cli.losses.registry import make_loss
from lrisk_cli.names import KernelName
from lrisk_cli.risk.spectrum import parse_risk
from lrisk_cli.robust.inlier_weights import find_inlier_weights
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.solvers.problem import make_problem
from lrisk_cli.solvers.select import SolverOptions, solve
from lrisk_cli.solvers.solution import Limits, Solution

GAMMA, LOSS = 0.1, make_loss("squared")
Arrays = tuple[np.ndarray, np.ndarray]


def friedman(n: int, d: int = 10) -> Arrays:
    """Standardised columns and a constant, a standardised target of which a fifth is wrong."""
    rng = np.random.default_rng(0)
    U = rng.uniform(size=(n, d))
    y = 10.0 * np.sin(np.pi * U[:, 0] * U[:, 1]) + 20.0 * (U[:, 2] - 0.5) ** 2
    y += 10.0 * U[:, 3] + 5.0 * U[:, 4] + rng.standard_normal(n)
    return np.column_stack([(U - 0.5) * np.sqrt(12.0), np.ones(n)]), spoil(y, rng)


def line(n: int, d: int) -> Arrays:
    """A linear law of standard normal columns and a constant, a fifth of the targets wrong."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal((n, d)), np.ones(n)])
    return X, spoil(X[:, :d] @ rng.standard_normal(d) + rng.standard_normal(n), rng)


def spoil(y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Standardise, and draw a fifth from N(5, 5^2)."""
    y = (y - y.mean()) / y.std()
    wrong = rng.permutation(len(y))[: len(y) // 5]
    y[wrong] = rng.normal(5.0, 5.0, len(wrong))
    return y


def robust_fit(X: np.ndarray, y: np.ndarray, options: FeatureOptions) -> Solution:
    """All that a fit of subquantile:0.8 does to a design."""
    features = build_features(DenseRows(X), options, constant=True)
    inliers = find_inlier_weights(DenseRows(X), y, LOSS, constant=True).weights
    problem = make_problem(
        features.phi, y, LOSS, parse_risk("subquantile:0.8"), 1.0 / len(y), None, features.outer
    )
    return solve(problem, SolverOptions(), Limits(), inliers=inliers)


def row(
    what: str, peer: Callable[[], object], ours: Callable[[], object], bound: float, repeats: int,
    per: int = 1,
) -> dict[str, object]:  # fmt: skip
    times = compare({"peer": peer, "lrisk": ours}, repeats, clock=process_time)
    ratio = times["lrisk"] / times["peer"] / per
    return {
        "what": what, "peer s": times["peer"], "lrisk s": times["lrisk"], "rounds": per,
        "ratio": ratio, "at most": bound, "reached": ratio <= bound,
    }  # fmt: skip


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    benchmark = start("speed/trimmed", options)
    repeats = options.repeats
    rows = []
    with threadpool_limits(1):
        X, y = friedman(2000)
        exact = FeatureOptions(KernelName.RBF, gamma=GAMMA)
        ridge = KernelRidge(alpha=1.0, kernel="rbf", gamma=GAMMA)
        rows.append(row(
            "exact kernel 2000x10 / KernelRidge", lambda: ridge.fit(X[:, :-1], y),
            lambda: robust_fit(X, y, exact), 2.5, repeats,
        ))  # fmt: skip
        X, y = friedman(100_000)
        some = FeatureOptions(KernelName.RBF, gamma=GAMMA, rank=500)
        peer = make_pipeline(Nystroem(gamma=GAMMA, n_components=500, random_state=0), Ridge())
        n_rounds = sum(start.rounds for start in robust_fit(X, y, some).starts) + 1
        rows.append(row(
            "Nystroem 500, 1e5x10 / Nystroem + Ridge, per round", lambda: peer.fit(X[:, :-1], y),
            lambda: robust_fit(X, y, some), 3.0, max(1, repeats // 2), n_rounds,
        ))  # fmt: skip
        X, y = line(1_000_000, 20)
        rows.append(row(
            "linear 1e6x20 / Ridge", lambda: Ridge(fit_intercept=False).fit(X, y),
            lambda: robust_fit(X, y, FeatureOptions()), 10.0, repeats,
        ))  # fmt: skip
    benchmark.finish(rows)


if __name__ == "__main__":
    main()
