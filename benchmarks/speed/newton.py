"""How much longer than scikit-learn's plain fits do certified fits by newton take?

Bound: 3x to 24x by problem, risk and tolerance (40x where it is hardest), as listed in the script.

Data: generated.

Squared losses beside Ridge(solver="cholesky"), multinomial ones beside LogisticRegression (lbfgs,
tol=1e-6), on the same arrays and one thread, both without an intercept and with the same penalty.
The time is that of the whole minimisation, certificate included; runs take turns, medians are
compared.
"""

from collections.abc import Iterator

import numpy as np
from sklearn.linear_model import LogisticRegression, Ridge
from threadpoolctl import threadpool_limits

from benchmarks.common.record import make_parser, start
from benchmarks.common.timing import compare
from lrisk_cli.losses.registry import make_loss
from lrisk_cli.names import SolverName
from lrisk_cli.risk.spectrum import parse_risk
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.solvers.problem import make_problem
from lrisk_cli.solvers.select import SolverOptions, solve
from lrisk_cli.solvers.solution import Limits

RISKS = ("superquantile:0.5", "superquantile:0.9", "extremile:2", "esrm:1")
NEWTON = SolverOptions(SolverName.NEWTON)
# Problem -> tolerance -> the bound of superquantile:0.9 and that of the others.
BOUNDS = {
    "20000x50 isotropic": {1e-6: (6.0, 3.0), 1e-9: (20.0, 12.0)},
    "20000x50 correlated, heavy": {1e-6: (6.0, 6.0), 1e-9: (20.0, 12.0)},
    "20000x50 weak signal, heavier": {1e-6: (12.0, 6.0), 1e-9: (40.0, 24.0)},
    "1000000x20 isotropic": {1e-6: (3.0, 3.0)},
    "1000000x20 correlated, heavy": {1e-6: (12.0, 12.0)},
}
MULTINOMIAL = {
    "extremile:2": 3.0, "esrm:1": 3.0, "superquantile:0.5": 6.0, "superquantile:0.9": 15.0,
}  # fmt: skip


def regression(
    n: int, d: int, *, cond: float = 1.0, signal: float = 1.0, freedom: float | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Standardised Gaussian rows, of a given condition number, and a linear target with noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    if cond > 1.0:
        Q = np.linalg.qr(rng.standard_normal((d, d)))[0]
        X = X @ (Q * np.logspace(0, -np.log10(cond) / 2, d)) @ Q.T
    noise = rng.standard_normal(n) if freedom is None else rng.standard_t(freedom, n)
    y = signal * (X @ rng.standard_normal(d)) + noise
    return np.ascontiguousarray((X - X.mean(0)) / X.std(0)), (y - y.mean()) / y.std()


def squared_rows(name: str, X: np.ndarray, y: np.ndarray, repeats: int) -> Iterator[dict]:
    n = len(X)
    ridge = Ridge(alpha=1.0, solver="cholesky", fit_intercept=False)
    for tol, (hardest, others) in BOUNDS[name].items():
        for risk in RISKS:
            problem = make_problem(DenseRows(X), y, make_loss("squared"), parse_risk(risk), 1.0 / n)
            bound = hardest if risk == "superquantile:0.9" else others
            yield row(name, risk, tol, bound, problem, lambda: ridge.fit(X, y), repeats)


def row(name: str, risk: str, tol: float, bound: float, problem, peer, repeats: int) -> dict:
    limits = Limits(tol=tol, max_passes=1e5, time_limit=60.0)
    found = solve(problem, NEWTON, limits)
    seconds = compare({"ours": lambda: solve(problem, NEWTON, limits), "peer": peer}, repeats)
    ratio = seconds["ours"] / seconds["peer"]
    return {
        "problem": name,
        "risk": risk,
        "tol": f"{tol:g}",
        "gap": found.certificate.gap,
        "passes": found.passes,
        "ms": 1e3 * seconds["ours"],
        "peer ms": 1e3 * seconds["peer"],
        "ratio": ratio,
        "at most": bound,
        "reached": bool(ratio <= bound and found.converged),
    }


def multinomial_rows(name: str, signal: float, ease: float, repeats: int) -> Iterator[dict]:
    """ease: the factor by which the bounds are wider."""
    rng, n, d, k = np.random.default_rng(0), 20_000, 50, 6
    X = rng.standard_normal((n, d))
    y = np.argmax(signal * (X @ rng.standard_normal((d, k))) + rng.gumbel(size=(n, k)), axis=1)
    peer = LogisticRegression(C=1.0, tol=1e-6, fit_intercept=False, max_iter=1000)
    for tol in (1e-6, 1e-9):
        for risk, bound in MULTINOMIAL.items():
            problem = make_problem(
                DenseRows(X), y, make_loss("logistic", k), parse_risk(risk), 1.0 / n
            )
            yield row(name, risk, tol, ease * bound, problem, lambda: peer.fit(X, y), repeats)


def main() -> None:
    parser = make_parser(__doc__, "20000x50 squared problems only")
    options = parser.parse_args()
    benchmark = start("speed/newton", options)
    quick = options.quick
    rows: list[dict] = []
    with threadpool_limits(limits=1):
        tables = {
            "20000x50 isotropic": regression(20_000, 50),
            "20000x50 correlated, heavy": regression(20_000, 50, cond=1e4, signal=3.0, freedom=2.5),
            "20000x50 weak signal, heavier": regression(20_000, 50, signal=0.15, freedom=2.2),
        }
        for name, (X, y) in tables.items():
            rows += squared_rows(name, X, y, 7)
        if not quick:
            rows += squared_rows("1000000x20 isotropic", *regression(1_000_000, 20), 3)
            heavy = regression(1_000_000, 20, cond=1e4, signal=3.0, freedom=2.5)
            rows += squared_rows("1000000x20 correlated, heavy", *heavy, 3)
            rows += multinomial_rows("multinomial 20000x50, 6 classes", 0.5, 1.0, 7)
            rows += multinomial_rows("multinomial, weak signal", 0.15, 2.0, 7)
    benchmark.finish(rows)


if __name__ == "__main__":
    main()
