"""Are the certificates of fits with row weights true, beside an independent solver?

Bound: no lower bound above, and no objective below, the optimum of cvxpy with Clarabel by more than
1e-7 of it.

Data: generated; skipped where cvxpy with Clarabel is not installed.

Each problem has at most 24 rows, numbers or classes. Half of them have whole weights and any rising
risk, which the independent solver is given by copies of the rows, as sums of the largest losses;
the others have weights of any size and the mean or a superquantile, as the minimum over t of
t + sum m_i max(l_i - t, 0) / (M (1 - q)).
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.common.record import make_parser, start
from benchmarks.reliability.groups import LOSSES, SLACK, TOL, losses_of, risk_of
from lrisk_cli.losses.registry import make_loss
from lrisk_cli.risk.spectrum import parse_risk
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.solvers.problem import Problem, make_problem
from lrisk_cli.solvers.select import SolverOptions, solve
from lrisk_cli.solvers.solution import Limits

N_PROBLEMS, N_QUICK = 240, 24
OF_COPIES = ("mean", "superquantile:0.5", "superquantile:0.9", "extremile:2.5", "esrm:3")
OF_ANY = ("mean", "superquantile:0.3", "superquantile:0.7", "superquantile:0.95")


@dataclass(frozen=True, slots=True)
class Case:
    """One problem; everything in it follows from these."""

    seed: int
    index: int

    @property
    def whole(self) -> bool:
        return self.index % 2 == 0

    @property
    def risk(self) -> str:
        risks = OF_COPIES if self.whole else OF_ANY
        return risks[self.index // 2 % len(risks)]

    @property
    def loss(self) -> str:
        return LOSSES[self.index // 10 % len(LOSSES)]

    def draw(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """Rows, targets, weights and the penalty."""
        rng = np.random.default_rng([self.seed, self.index])
        n, d = int(rng.integers(6, 25)), int(rng.integers(1, 5))
        X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-1.0, 1.0, d)
        y = X @ rng.standard_normal(d) + rng.standard_t(2, n)
        masses = rng.integers(1, 4, n).astype(np.float64)
        if not self.whole:
            masses = 10.0 ** rng.uniform(-2.0, 2.0, n)
        return X, y, masses, float(10.0 ** rng.uniform(-3.0, 0.0))

    def make(self) -> Problem:
        """The problem as lrisk states it."""
        X, y, masses, mu = self.draw()
        targets = (y > 0.0).astype(np.int32) if self.loss == "logistic" else y
        return make_problem(
            DenseRows(X), targets, make_loss(self.loss, 2), parse_risk(self.risk), mu, masses=masses
        )

    def optimum(self) -> float | None:
        """The least objective by cvxpy and Clarabel; None where these call it inaccurate."""
        import cvxpy as cp

        X, y, masses, mu = self.draw()
        w, spectrum = cp.Variable(X.shape[1]), parse_risk(self.risk)
        losses = losses_of(self.loss, X @ w, y)
        if self.whole:
            copies = np.repeat(np.arange(len(y)), masses.astype(int))
            total = risk_of(spectrum, [losses[i] for i in copies])
        elif spectrum.flat:
            total = (masses / masses.sum()) @ losses
        else:
            t, kept = cp.Variable(), masses.sum() * (1.0 - float(spectrum.parameter or 0.0))
            total = t + (masses / kept) @ cp.pos(losses - t)
        problem = cp.Problem(cp.Minimize(total + 0.5 * mu * cp.sum_squares(w)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            found = problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10)
        return float(found) if problem.status == cp.OPTIMAL else None


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
        "weights": "whole" if case.whole else "any",
        "risk": case.risk,
        "converged": found.converged,
        "compared": optimum is not None,
        "gap": certificate.gap,
        "bound_above": above,
        "below_optimum": below,
        "refuted": max(above, below) > SLACK,
    }


def rows(seed: int, n_problems: int) -> Iterator[dict[str, object]]:
    """A row for each kind of weights and risk: how many problems, how many of them were refuted."""
    found = [check(Case(seed, index)) for index in range(n_problems)]
    for kind, risk in dict.fromkeys((row["weights"], row["risk"]) for row in found):
        own = [row for row in found if (row["weights"], row["risk"]) == (kind, risk)]
        yield {
            "weights": kind,
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
    """All problems."""
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
    benchmark = start("reliability/weighted", options)
    benchmark.finish(list(rows(options.seed, N_QUICK if options.quick else N_PROBLEMS)))


if __name__ == "__main__":
    main()
