"""Are the certificates of risks of groups true, beside an independent solver?

Bound: no lower bound above, and no objective below, the optimum of cvxpy with Clarabel by more than
1e-7 of it.

Data: generated; skipped where cvxpy with Clarabel is not installed.

Each problem has at most 24 rows in up to five groups, numbers or classes, any rising risk, and half
of them rows with masses. The independent solver is given the definition of the risk, by copies of
the rows in place of masses: sums of the largest losses, and a variable above the risk of each
group.
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.common.record import make_parser, start
from lrisk_cli.losses.registry import make_loss
from lrisk_cli.risk.groups import GroupRisk, parse_fit_risk
from lrisk_cli.risk.spectrum import Spectrum
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.solvers.problem import Problem, make_problem
from lrisk_cli.solvers.select import SolverOptions, solve
from lrisk_cli.solvers.solution import Limits

N_PROBLEMS, N_QUICK = 240, 24
RISKS = (
    "worst-group", "worst-group:superquantile:0.5", "worst-group:superquantile:0.9",
    "worst-group:extremile:2", "worst-group:esrm:2", "group-extremile:2", "group-extremile:6.5",
)  # fmt: skip
LOSSES = ("squared", "logistic", "huber:0.7", "quantile:0.8")
TOL = 1e-6
# What the independent solver may be off by, as a fraction of its optimum.
SLACK = 1e-7


@dataclass(frozen=True, slots=True)
class Case:
    """One problem; everything in it follows from these."""

    seed: int
    index: int

    @property
    def risk(self) -> str:
        return RISKS[self.index % len(RISKS)]

    @property
    def loss(self) -> str:
        return LOSSES[self.index // len(RISKS) % len(LOSSES)]

    @property
    def weighted(self) -> bool:
        return self.index % 2 == 1

    def draw(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, float]:
        """Rows, targets, groups, masses and the penalty."""
        rng = np.random.default_rng([self.seed, self.index])
        n, d, n_groups = int(rng.integers(6, 13)), int(rng.integers(1, 4)), int(rng.integers(2, 6))
        X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-1.0, 1.0, d)
        _, groups = np.unique(rng.integers(0, n_groups, n), return_inverse=True)
        signal = X @ rng.standard_normal(d) + rng.standard_normal(n_groups)[groups]
        y = signal + rng.standard_t(2, n)
        masses = rng.integers(1, 4, n).astype(float) if self.weighted else np.ones(n)
        return X, y, groups, masses, float(10.0 ** rng.uniform(-3.0, 0.0))

    def make(self) -> Problem:
        """The problem as lrisk states it."""
        X, y, groups, masses, mu = self.draw()
        loss = make_loss(self.loss, 2)
        targets = (y > 0.0).astype(np.int32) if self.loss == "logistic" else y
        return make_problem(
            DenseRows(X), targets, loss, parse_fit_risk(self.risk), mu, groups=groups,
            masses=masses if self.weighted else None,
        )  # fmt: skip

    def optimum(self) -> float | None:
        """The least objective by cvxpy and Clarabel; None where these call it inaccurate."""
        import cvxpy as cp

        X, y, groups, masses, mu = self.draw()
        w = cp.Variable(X.shape[1])
        losses, risk = losses_of(self.loss, X @ w, y), parse_fit_risk(self.risk)
        assert isinstance(risk, GroupRisk)
        copies = np.repeat(np.arange(len(y)), masses.astype(int))
        parts = [copies[groups[copies] == g] for g in range(groups.max() + 1)]
        above, demands = cp.Variable(len(parts)), []
        for g, rows in enumerate(parts):
            demands.append(risk_of(risk.within, [losses[i] for i in rows]) <= above[g])
        total = cp.max(above)
        if risk.over is not None:
            total = risk_of(risk.over, [above[g] for g, rows in enumerate(parts) for _ in rows])
        problem = cp.Problem(cp.Minimize(total + 0.5 * mu * cp.sum_squares(w)), demands)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            found = problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10)
        return float(found) if problem.status == cp.OPTIMAL else None


def losses_of(name: str, z: Any, y: np.ndarray) -> Any:
    """The losses by their definitions."""
    import cvxpy as cp

    if name == "logistic":
        return cp.logistic(cp.multiply(-np.where(y > 0.0, 1.0, -1.0), z))
    if name == "squared":
        return 0.5 * cp.square(y - z)
    _, _, parameter = name.partition(":")
    if name.startswith("huber"):
        return 0.5 * cp.huber(y - z, float(parameter))
    level = float(parameter)
    return cp.maximum(level * (y - z), (level - 1.0) * (y - z))


def risk_of(spectrum: Spectrum, losses: list[Any]) -> Any:
    """A rising risk as a sum of sums of the largest losses."""
    import cvxpy as cp

    sigma, stacked = spectrum.weights(len(losses)), cp.hstack(losses)
    steps = np.diff(sigma, prepend=0.0)
    terms = [
        step * cp.sum_largest(stacked, len(losses) - k) for k, step in enumerate(steps) if step > 0
    ]
    return cp.sum(cp.hstack(terms))


def check(case: Case) -> dict[str, object]:
    """What a case found."""
    found, optimum = solve(case.make(), SolverOptions(), Limits(tol=TOL)), case.optimum()
    certificate = found.certificate
    assert certificate is not None
    above = below = 0.0
    if optimum is not None:
        above = max(certificate.lower_bound - optimum, 0.0) / abs(optimum)
        below = max(optimum - certificate.objective, 0.0) / abs(optimum)
    return {
        "problem": case.index,
        "risk": case.risk,
        "loss": case.loss,
        "converged": found.converged,
        "compared": optimum is not None,
        "gap": certificate.gap,
        "bound_above": above,
        "below_optimum": below,
        "refuted": max(above, below) > SLACK,
    }


def rows(seed: int, n_problems: int) -> Iterator[dict[str, object]]:
    """A row for each risk: how many problems, how many of them were refuted."""
    found = [check(Case(seed, index)) for index in range(n_problems)]
    for risk in RISKS:
        own = [row for row in found if row["risk"] == risk]
        yield {
            "risk": risk,
            "problems": len(own),
            "compared": sum(row["compared"] for row in own),
            "refuted": sum(row["refuted"] for row in own),
            "not_converged": sum(not row["converged"] for row in own),
            "largest_gap": max(row["gap"] for row in own),
            "bound_above": max(row["bound_above"] for row in own),
            "below_optimum": max(row["below_optimum"] for row in own),
            "within": not any(row["refuted"] for row in own),
        }


def main() -> None:
    parser = make_parser(__doc__, f"{N_QUICK} problems")
    parser.add_argument("--seed", type=int, default=1, help="of the problems [1]")
    options = parser.parse_args()
    try:
        import clarabel  # noqa: F401
        import cvxpy  # noqa: F401
    except ImportError:
        raise SystemExit(
            "cvxpy with Clarabel is not installed: pip install cvxpy clarabel"
        ) from None
    benchmark = start("reliability/groups", options)
    benchmark.finish(list(rows(options.seed, N_QUICK if options.quick else N_PROBLEMS)))


if __name__ == "__main__":
    main()
