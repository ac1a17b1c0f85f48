"""How fast are kernel features, fits and scores beside scikit-learn's?

Bound: features of exact kernels at most 2x KernelRidge; weighted fits 1.5x KernelRidge, 3x Nystroem
and Ridge; certified fits 20x; scores 1.5x.

Data: generated.

Exact landmarks beside KernelRidge, fewer landmarks beside Nystroem and Ridge, one thread; a fit
includes its certificate. Runs take turns, medians are compared.
"""

from collections.abc import Callable, Iterator

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import rbf_kernel
from threadpoolctl import threadpool_limits

from benchmarks.common.record import make_parser, start
from benchmarks.common.timing import compare
from lrisk_cli.features.features import FeatureOptions, Features, build_features
from lrisk_cli.losses.registry import make_loss
from lrisk_cli.names import KernelName
from lrisk_cli.risk.spectrum import parse_risk
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.solvers.certificate import weighted_minimiser
from lrisk_cli.solvers.problem import Problem, make_problem
from lrisk_cli.solvers.select import SolverOptions, solve
from lrisk_cli.solvers.solution import Limits

GAMMA = 0.1
RISKS = ("superquantile:0.5", "superquantile:0.9", "extremile:2", "esrm:1")
Run = Callable[[], object]


def table(n: int, d: int = 10) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian rows with a constant column, and a target with bends and noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_t(3, n)
    return np.ascontiguousarray(np.column_stack([X, np.ones(n)])), (y - y.mean()) / y.std()


def features(X: np.ndarray, rank: int | None = None) -> Features:
    options = FeatureOptions(KernelName.RBF, gamma=GAMMA, rank=rank)
    return build_features(DenseRows(X), options, constant=True)


def problem_of(found: Features, y: np.ndarray, risk: str) -> Problem:
    loss = make_loss("squared")
    return make_problem(found.phi, y, loss, parse_risk(risk), 1.0 / len(y), None, found.outer)


def row(what: str, beside: str, ours: Run, peer: Run, repeats: int, most: float) -> dict:
    seconds = compare({"ours": ours, "peer": peer}, repeats)
    ratio = seconds["ours"] / seconds["peer"]
    return {
        "what": what,
        "beside": beside,
        "ms": 1e3 * seconds["ours"],
        "peer ms": 1e3 * seconds["peer"],
        "ratio": ratio,
        "at most": most,
        "reached": bool(ratio <= most),
    }


def fit_weighted(problem: Problem, lam: np.ndarray) -> np.ndarray:
    return weighted_minimiser(problem, lam, np.zeros(problem.shape), 1e-9)[0]


def fit_certified(problem: Problem) -> None:
    if not solve(problem, SolverOptions(), Limits()).converged:
        raise SystemExit("a fit did not converge")


def exact_rows(n: int, repeats: int) -> Iterator[dict]:
    X, y = table(n)
    size, beside = f"every row a landmark, {n}x10", "KernelRidge"
    ridge = KernelRidge(alpha=1.0, kernel="rbf", gamma=GAMMA)
    found = features(X)
    peer = lambda: ridge.fit(X[:, :-1], y)  # noqa: E731
    yield row(f"features, {size}", beside, lambda: features(X), peer, repeats, 2.0)
    trimmed = np.zeros(n)
    trimmed[: 4 * n // 5] = 1.25 / n
    kept = X[: 4 * n // 5, :-1]
    problem = problem_of(found, y, "mean")
    yield row(
        f"weighted fit to 80 % of the rows, {size}",
        "KernelRidge of these rows",
        lambda: fit_weighted(problem, trimmed),
        lambda: ridge.fit(kept, y[: len(kept)]),
        repeats,
        1.5,
    )
    for risk in RISKS:
        problem = problem_of(found, y, risk)
        what = f"fit of {risk} to a proved 1e-6, {size}"
        yield row(what, beside, lambda problem=problem: fit_certified(problem), peer, repeats, 20.0)


def landmark_rows(n: int, rank: int, repeats: int) -> Iterator[dict]:
    X, y = table(n)
    size, plain = f"{rank} landmarks, {n}x10", X[:, :-1].copy()
    maker = Nystroem(kernel="rbf", gamma=GAMMA, n_components=rank, random_state=0)
    ridge = Ridge(alpha=1.0, solver="cholesky", fit_intercept=False)
    lam = np.random.default_rng(1).random(n)
    lam /= lam.sum()

    def both() -> None:
        fit_weighted(problem_of(features(X, rank), y, "mean"), lam)

    def peers() -> None:
        ridge.fit(maker.fit_transform(plain), y)

    beside = "Nystroem and Ridge"
    yield row(f"features and a weighted fit, {size}", beside, both, peers, repeats, 3.0)
    found, theirs = features(X, rank), maker.fit_transform(plain)
    problem = problem_of(found, y, "mean")
    yield row(
        f"another weighted fit, {size}",
        "Ridge",
        lambda: fit_weighted(problem, lam),
        lambda: ridge.fit(theirs, y),
        repeats,
        3.0,
    )
    for risk in ("superquantile:0.9", "extremile:2"):
        problem = problem_of(found, y, risk)
        what = f"fit of {risk} to a proved 1e-6, {size}"
        yield row(
            what,
            "Ridge",
            lambda problem=problem: fit_certified(problem),
            lambda: ridge.fit(theirs, y),
            repeats,
            20.0,
        )
    W = found.coefficients(np.ones(problem.shape))
    Z = found.map.landmarks
    yield row(
        f"scores, {size}",
        "rbf_kernel and a product",
        lambda: found.map.margins(DenseRows(X), W),
        lambda: rbf_kernel(plain, Z, gamma=GAMMA) @ W[:-1],
        repeats,
        1.5,
    )


def main() -> None:
    parser = make_parser(__doc__, "fewer rows and repeats")
    options = parser.parse_args()
    benchmark = start("speed/kernels", options)
    quick = options.quick
    with threadpool_limits(limits=1):
        rows = [*exact_rows(1000 if quick else 2000, 3 if quick else 7)]
        rows += landmark_rows(10_000 if quick else 100_000, 100 if quick else 500, 3)
    benchmark.finish(rows)


if __name__ == "__main__":
    main()
