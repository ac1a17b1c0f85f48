"""What fraction of hard problems does newton solve, and are its certificates true?

Bound: no certificate contradicts the independent solver, none has a negative gap.

Data: generated; cvxpy with Clarabel checks small problems where it is installed.

Each family of tables is combined with three losses, every rising spectrum and penalties from 1e-4/n
to 10. A failure is printed with its name; `--only NAME` repeats it.
"""

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.common.record import make_parser, start
from lrisk_cli.losses.registry import make_loss
from lrisk_cli.names import SolverName
from lrisk_cli.risk.spectrum import parse_risk
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.solvers.problem import Problem, make_problem
from lrisk_cli.solvers.select import SolverOptions, solve
from lrisk_cli.solvers.solution import Limits

try:
    import cvxpy as cp
except ImportError:
    cp = None

Rng = np.random.Generator
LIMITS = Limits(tol=1e-9, max_passes=1e6, time_limit=60.0)
NEWTON = SolverOptions(SolverName.NEWTON)
RISKS = (
    "mean", "superquantile:0.1", "superquantile:0.5", "superquantile:0.9", "superquantile:0.99",
    "superquantile:0.999", "extremile:1.01", "extremile:2", "extremile:10", "extremile:50",
    "esrm:0.01", "esrm:1", "esrm:10", "esrm:50",
)  # fmt: skip
SIZES = (2, 3, 5, 10, 20, 30, 40, 100, 250, 600, 1200, 2000)
LOSSES = ("squared", "two classes", "multinomial")
EVERY = 7  # --quick takes every seventh problem: 7 and the twelve sizes share no factor
# Problems of at most this many rows and unknowns are checked against the conic solver.
CHECKED_ROWS, CHECKED_UNKNOWNS = 40, 60
RELATIVE = 1e-7


@dataclass(frozen=True, slots=True)
class Family:
    """How a kind of table comes about: rows, columns, noise, and what becomes of them."""

    columns: Callable[[Rng, np.ndarray], np.ndarray] = lambda _, X: X
    noise: Callable[[Rng, tuple[int, ...]], np.ndarray] = lambda rng, shape: rng.normal(size=shape)
    n_columns: Callable[[Rng, int], int] = lambda rng, _: int(rng.integers(2, 16))
    rows: Callable[[int], int] = lambda n: n
    whole: bool = False
    repeated: bool = False


def collinear(rng: Rng, X: np.ndarray) -> np.ndarray:
    """The second half of the columns are sums of the first, one a copy."""
    half = X[:, : (X.shape[1] + 1) // 2]
    mixed = half @ rng.normal(size=(half.shape[1], X.shape[1] - half.shape[1]))
    return np.hstack([half, mixed, half[:, :1]])


def constant(_: Rng, X: np.ndarray) -> np.ndarray:
    """Columns of 1, 0 and 1000 beside the others."""
    return np.hstack([X, np.tile([1.0, 0.0, 1000.0], (len(X), 1))])


def scaled(rng: Rng, X: np.ndarray) -> np.ndarray:
    """Scales of the columns between 1e-s and 1e+s, s from 2 to 5."""
    return X * 10.0 ** (rng.uniform(2, 5) * rng.uniform(-1, 1, X.shape[1]))


def standardised(X: np.ndarray) -> np.ndarray:
    """Mean 0 and deviation 1; constant columns are only centred."""
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)


FAMILIES = {
    "plain": Family(),
    "duplicated rows": Family(repeated=True),
    "integer targets": Family(whole=True),
    "collinear columns": Family(columns=collinear),
    "constant columns": Family(columns=constant),
    "t(2.2) tails": Family(
        columns=lambda rng, X: rng.standard_t(2.2, X.shape),
        noise=lambda rng, shape: rng.standard_t(2.2, shape),
    ),
    "Cauchy tails": Family(
        columns=lambda rng, X: rng.standard_cauchy(X.shape),
        noise=lambda rng, shape: rng.standard_cauchy(shape),
    ),
    "Cauchy standardised": Family(
        columns=lambda rng, X: standardised(rng.standard_cauchy(X.shape)),
        noise=lambda rng, shape: rng.standard_cauchy(shape),
    ),
    "badly scaled columns": Family(columns=scaled),
    # At most 1000 unknowns with five classes: `auto` takes newton for all of them.
    "more columns than rows": Family(
        rows=lambda n: min(n, 150), n_columns=lambda _, n: min(2 * n + 3, n + 50)
    ),
    "one feature": Family(n_columns=lambda *_: 1),
    "no noise": Family(noise=lambda _, shape: np.zeros(shape)),
    "20000 rows": Family(
        noise=lambda rng, shape: rng.standard_t(2.2, shape),
        n_columns=lambda *_: 8,
        rows=lambda _: 20_000,
    ),
}


@dataclass(frozen=True, slots=True)
class Case:
    """One problem of the suite; everything in it follows from these."""

    family: str
    loss: str
    index: int
    seed: int

    @property
    def name(self) -> str:
        return f"{self.family}/{self.loss}/{self.index}"

    def make(self) -> Problem:
        """Draw penalty, risk and table."""
        kinds = list(FAMILIES).index(self.family), LOSSES.index(self.loss)
        rng = np.random.default_rng([self.seed, *kinds, self.index])
        n = FAMILIES[self.family].rows(SIZES[self.index])
        mu = float(rng.choice([1e-4 / n, 1e-2 / n, 1.0 / n, 0.1, 1.0, 10.0]))
        risk = parse_risk(str(rng.choice(RISKS)))
        n_outputs = int(rng.integers(3, 6)) if self.loss == "multinomial" else 1
        X, y = make_table(FAMILIES[self.family], rng, n, n_outputs, self.loss == "squared")
        name = "squared" if self.loss == "squared" else "logistic"
        loss = make_loss(name, max(n_outputs, 2))
        return make_problem(DenseRows(X), y, loss, risk, mu)


def make_table(
    family: Family, rng: Rng, n: int, n_outputs: int, numbers: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Rows and their targets: numbers, or class codes."""
    X = family.columns(rng, rng.normal(size=(n, family.n_columns(rng, n))))
    truth = rng.normal(size=(X.shape[1], n_outputs))
    scores = (X / (1e-9 + np.abs(X).max(axis=0))) @ truth
    scores *= 3.0 / (1e-9 + np.median(np.abs(scores)))
    scores += family.noise(rng, scores.shape)
    if n_outputs > 1:
        y = np.argmax(scores, axis=1)
    else:
        y = scores[:, 0] if numbers else (scores[:, 0] > 0.0).astype(int)
    rows = rng.integers(0, 1 + n // 4, n) if family.repeated else np.arange(n)
    return np.ascontiguousarray(X[rows]), np.rint(y[rows]) if family.whole else y[rows]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a problem. error: exceptions and results that are not finite, in words.

    lie: how a certificate contradicts the independent solver, in words; checked: whether it ran.
    """

    case: Case
    about: str
    gap: float = np.inf
    seconds: float = 0.0
    status: str = ""
    error: str = ""
    n_warnings: int = 0
    checked: bool = False
    lie: str = ""


def run(case: Case) -> Outcome:
    """Solve a problem and check its certificate."""
    problem = case.make()
    n, d = problem.rows.shape
    about = f"{n}x{d}x{problem.loss.n_outputs} {problem.spectrum} mu={problem.mu:g}"
    outcome = Outcome(case, about)
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = solve(problem, NEWTON, LIMITS)
        except Exception as error:
            return replace(outcome, error=f"{type(error).__name__}: {error}")
    certificate, seconds = found.certificate, time.perf_counter() - start
    outcome = replace(
        outcome, gap=certificate.gap, seconds=seconds, status=found.status, n_warnings=len(caught)
    )
    figures = (certificate.objective, certificate.lower_bound, certificate.gap)
    if not (np.isfinite(figures).all() and np.isfinite(found.W).all()):
        return replace(outcome, error=f"not finite: {figures}")
    small = n <= CHECKED_ROWS and found.W.size <= CHECKED_UNKNOWNS
    return contradict(problem, found, outcome) if small and cp is not None else outcome


def objective(problem: Problem, W: np.ndarray) -> float:
    """F(W) by NumPy alone."""
    Z = problem.rows.dense_rows(slice(None)) @ W
    if problem.loss.name == "squared":
        losses = 0.5 * (Z[:, 0] - problem.y) ** 2
    elif problem.loss.n_outputs == 1:
        # The margins relative to the true class, so that nothing cancels where losses are small.
        losses = np.logaddexp(0.0, np.where(problem.y == 1, -Z[:, 0], Z[:, 0]))
    else:
        truth = Z[np.arange(len(Z)), problem.y]
        losses = np.logaddexp.reduce(Z - truth[:, None], axis=1)
    return float(problem.sigma @ np.sort(losses) + 0.5 * problem.mu * np.sum(W**2))


def conic(problem: Problem, scale: float) -> tuple[float, np.ndarray]:
    """The optimum and a minimiser by Clarabel, which sees losses in units of `scale`.

    The risk is sum_k (sigma_k - sigma_(k-1)) times the sum of the n-k+1 largest losses.
    """
    n, W = problem.n_rows, cp.Variable(problem.shape)
    Z = problem.rows.dense_rows(slice(None)) @ W
    if problem.loss.name == "squared":
        values = 0.5 * cp.square((Z[:, 0] - problem.y) / np.sqrt(scale))
    elif problem.loss.n_outputs == 1:
        values = (cp.logistic(Z[:, 0]) - cp.multiply(problem.y, Z[:, 0])) / scale
    else:
        truth = np.eye(problem.loss.n_outputs)[problem.y]
        values = (cp.log_sum_exp(Z, axis=1) - cp.sum(cp.multiply(truth, Z), axis=1)) / scale
    losses = cp.Variable(n)
    rises = np.diff(problem.sigma, prepend=0.0)
    risk = sum(rises[k] * cp.sum_largest(losses, n - k) for k in np.flatnonzero(rises))
    penalty = 0.5 * cp.sum_squares(np.sqrt(problem.mu / scale) * W)
    statement = cp.Problem(cp.Minimize(risk + penalty), [values <= losses])
    try:
        statement.solve(cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    except cp.SolverError:
        return np.nan, np.zeros(problem.shape)
    found = W.value is not None and statement.value is not None
    return (scale * float(statement.value), W.value) if found else (np.nan, np.zeros(problem.shape))


def contradict(problem: Problem, found, outcome: Outcome) -> Outcome:
    """Hold a certificate against the independent solver and an independent evaluation.

    No bound may exceed what Clarabel's W costs, however good that W is. Its optimum counts as a
    reference, and the problem as checked, where it agrees with the cost of its W.
    """
    certificate = found.certificate
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        optimum, W = conic(problem, certificate.objective)
    own, attained = objective(problem, found.W), objective(problem, W)
    lies = []
    if abs(own - certificate.objective) > RELATIVE * own:
        lies.append(f"objective {certificate.objective!r} is {own!r} by NumPy")
    if certificate.lower_bound > (1.0 + RELATIVE) * attained:
        lies.append(f"bound {certificate.lower_bound!r} above {attained!r}, which Clarabel attains")
    checked = abs(attained - optimum) <= RELATIVE * optimum
    # Our objective may lie below Clarabel's: NumPy has just attained it, so Clarabel stopped early.
    return replace(outcome, checked=checked, lie="; ".join(lies))


def cases(seed: int) -> Iterator[Case]:
    """The whole suite."""
    for family in FAMILIES:
        for loss in LOSSES:
            for index in range(4 if family == "20000 rows" else len(SIZES)):
                yield Case(family, loss, index, seed)


def summary(family: str, loss: str, outcomes: Sequence[Outcome]) -> dict:
    """One line of the table."""
    gaps = np.array([outcome.gap for outcome in outcomes])
    seconds = [outcome.seconds for outcome in outcomes]
    finite = gaps[np.isfinite(gaps)]
    return {
        "family": family,
        "loss": loss,
        "problems": len(outcomes),
        "to 1e-6": int(np.sum(gaps <= 1e-6)),
        "to 1e-9": int(np.sum(gaps <= 1e-9)),
        "worst gap": float(finite.max()) if len(finite) else None,
        "median ms": 1e3 * float(np.median(seconds)),
        "worst ms": 1e3 * max(seconds),
        "negative gaps": int(np.sum(gaps < 0.0)),
        "errors": sum(bool(outcome.error) for outcome in outcomes),
        "warnings": sum(outcome.n_warnings for outcome in outcomes),
        "checked": sum(outcome.checked for outcome in outcomes),
        "violated": sum(bool(outcome.lie) for outcome in outcomes),
    }


def complain(outcome: Outcome) -> None:
    """Name a problem that was not solved to 1e-9, or worse."""
    faults = [outcome.error, outcome.lie]
    if not 0.0 <= outcome.gap <= LIMITS.tol and not outcome.error:
        faults.append(f"{outcome.seconds:.2f} s, {outcome.status or 'no status'}")
    if outcome.n_warnings:
        faults.append(f"{outcome.n_warnings} warnings")
    if any(faults):
        print(
            f"{outcome.case.name} ({outcome.about}):", "; ".join(filter(None, faults)), flush=True
        )


def main() -> None:
    parser = make_parser(__doc__, "every seventh problem")
    parser.add_argument("--seed", type=int, default=1, help="another suite of the same kind")
    parser.add_argument("--only", metavar="NAME", help="one problem; nothing is recorded")
    options = parser.parse_args()
    benchmark = start("speed/hard", options, whole=options.only is None)
    if cp is None:
        print("CVXPY IS NOT INSTALLED: NO CERTIFICATE IS CHECKED AGAINST AN INDEPENDENT SOLVER")
    chosen = list(cases(options.seed))[:: EVERY if options.quick else 1]
    outcomes = []
    for case in chosen:
        if options.only in (None, case.name):
            outcomes.append(run(case))
            complain(outcomes[-1])
    if options.only is not None:
        print(*outcomes, sep="\n")
        return
    groups: dict[tuple[str, str], list[Outcome]] = {}
    for outcome in outcomes:
        groups.setdefault((outcome.case.family, outcome.case.loss), []).append(outcome)
    rows = [summary(*group, found) for group, found in groups.items()]
    benchmark.finish([*rows, summary("all", "all", outcomes)])


if __name__ == "__main__":
    main()
