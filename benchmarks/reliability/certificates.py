"""Are certificates true on tables with extreme numbers, and does every fit end in an orderly way?

Bound: no exit code but 0 and 3, no warning, no bound above an objective that a solver in 150
digits attains, no negative gap, no objective outside its stated rounding.

Data: generated.

Each problem is a CSV of at most 20 rows that `lrisk fit` and `lrisk evaluate` read in this process:
every loss, spectrum, solver and kernel, scales from 1e-300 to 1e300, constant and repeated columns,
repeated rows, more columns than rows. A fault is printed with the number of its problem; `--only N`
repeats it and prints its command.
"""

import io
import json
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from pathlib import Path

import numpy as np

from benchmarks.common.exact import CONTEXT, KNOWN, ExactProblem, decimals
from benchmarks.common.record import make_parser, start
from lrisk_cli import cli
from lrisk_cli.models import fitting
from lrisk_cli.solvers.problem import Problem
from lrisk_cli.solvers.rounding import UNIT
from lrisk_cli.solvers.solution import Solution

Rng = np.random.Generator
N_PROBLEMS, N_QUICK = 1000, 40
LOSSES = ("squared", "two classes", "many classes", "huber", "poisson")
RISKS = (
    "mean", "superquantile:0.1", "superquantile:0.5", "superquantile:0.9", "superquantile:0.999",
    "extremile:1.01", "extremile:2", "extremile:50", "esrm:0.01", "esrm:1", "esrm:50",
)  # fmt: skip
FALLING = ("subquantile:0.7", "lower-extremile:2")
STOCHASTIC = ("lsvrg", "sgd", "srda", "subgradient")
SIZES = (2, 3, 4, 5, 6, 10, 15, 20)
# Cells are at most so large; sums of them are then finite.
LARGEST = 1e300
# Objectives below this may lose all digits.
UNDERFLOW = 1e-305


@dataclass(frozen=True, slots=True)
class Case:
    """One problem; everything in it follows from these."""

    seed: int
    index: int

    @property
    def loss(self) -> str:
        return LOSSES[self.index % len(LOSSES)]

    def make(self) -> tuple[str, list[str]]:
        """The text of a table, and the arguments of a fit to it."""
        rng = np.random.default_rng([self.seed, self.index])
        n = 1 if rng.random() < 0.01 else int(rng.choice(SIZES))
        X = rng.normal(size=(n, int(rng.integers(1, 4 if self.loss == "many classes" else 5))))
        for change in rng.permutation(list(CHANGES))[: rng.integers(0, 4)]:
            with np.errstate(over="ignore"):
                X = np.clip(CHANGES[change](rng, X), -LARGEST, LARGEST)
        columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
        columns |= make_target(rng, X, self.loss)
        if rng.random() < 0.15:
            rows = rng.integers(0, 2 + n // 3, n) % n
            columns = {name: cells[rows] for name, cells in columns.items()}
        return write(columns), [*make_arguments(rng, self.loss), *of_loss(rng, self.loss, columns)]


def extreme(rng: Rng, size: int | None = None, most: float = 300.0) -> np.ndarray:
    """Powers of ten: up to 1e8, to numbers whose squares are finite, or to the ends of all."""
    ends = min(most, float(rng.choice([8.0, 8.0, 140.0, 140.0, 300.0])))
    return 10.0 ** rng.uniform(-ends, ends, size)


def one_cell(rng: Rng, X: np.ndarray) -> np.ndarray:
    X = X.copy()
    X[rng.integers(len(X)), rng.integers(X.shape[1])] *= extreme(rng)
    return X


def denormal(rng: Rng, X: np.ndarray) -> np.ndarray:
    X = X.copy()
    X[:, rng.integers(X.shape[1])] = rng.integers(-5, 6, len(X)) * 5e-324
    return X


def constant(rng: Rng, X: np.ndarray) -> np.ndarray:
    return np.hstack([X, np.full((len(X), 1), rng.choice([0.0, 1.0, float(extreme(rng))]))])


def collinear(rng: Rng, X: np.ndarray) -> np.ndarray:
    return np.hstack([X, X @ rng.normal(size=(X.shape[1], 1)), X[:, :1]])


CHANGES: dict[str, Callable[[Rng, np.ndarray], np.ndarray]] = {
    "scaled": lambda rng, X: X * extreme(rng),
    "badly scaled": lambda rng, X: X * extreme(rng, X.shape[1]),
    "every cell": lambda rng, X: X * extreme(rng, X.size).reshape(X.shape),
    "one cell": one_cell,
    "denormal": denormal,
    "constant": constant,
    "collinear": collinear,
    "shifted": lambda rng, X: X + 10.0 ** rng.uniform(0, 16),
    "whole": lambda _, X: np.rint(X),
    "zeros": lambda rng, X: np.where(rng.random(X.shape) < 0.6, 0.0, X),
}


def make_target(rng: Rng, X: np.ndarray, loss: str) -> dict[str, np.ndarray]:
    """The column y, and for some counts their exposure e."""
    n, size = len(X), np.abs(X).max(axis=0)
    signal = (X / np.where(size > 0.0, size, 1.0)) @ rng.normal(size=(X.shape[1], 4))
    signal += rng.choice([0.0, 0.3, 3.0]) * rng.normal(size=signal.shape)
    if "classes" in loss:
        codes = signal[:, 0] > 0.0 if loss == "two classes" else np.argmax(signal[:, :3], axis=1)
        return {"y": np.array(list("abc"))[codes.astype(int)]}
    if loss == "poisson":
        mean = np.exp(signal[:, 0]) * 10.0 ** rng.choice([0.0, 0.0, 1.0, 4.0, 15.0])
        counts = np.rint(mean) if rng.random() < 0.7 else mean
        exposed = rng.random() < 0.5
        return {"y": counts, **({"e": extreme(rng, n, 100.0)} if exposed else {})}
    y = signal[:, 0] * extreme(rng, most=200.0)
    return {"y": np.rint(y) if rng.random() < 0.2 else y}


def make_arguments(rng: Rng, loss: str) -> list[str]:
    """Risk, penalty, solver, kernel, scaling."""
    risk = str(rng.choice(FALLING if rng.random() < 0.1 else RISKS))
    falling = risk in FALLING
    solver = str(rng.choice(["auto", "auto", "newton", "lbfgs", *STOCHASTIC]))
    if falling and solver in ("newton", "lbfgs"):
        solver = "trimmed"
    arguments = ["--risk", risk, "--solver", solver, "--max-passes", "300"]
    if rng.random() < 0.7:
        arguments += ["--l2", repr(float(extreme(rng)))]
    if rng.random() < 0.4:
        arguments += ["--tol", str(rng.choice(["1e-9", "1e-13", "1e-3"]))]
    if rng.random() < 0.2 and solver in ("auto", *STOCHASTIC) and not falling:
        arguments += ["--smoothing", str(rng.choice(["l2", "entropy"]))]
        arguments += ["--nu", repr(float(extreme(rng)))] * bool(rng.random() < 0.5)
    if rng.random() < 0.2:
        arguments += ["--kernel", str(rng.choice(["rbf", "poly"]))]
        arguments += ["--gamma", repr(float(extreme(rng)))] * bool(rng.random() < 0.3)
    plain = "features" if loss == "poisson" else "both"
    arguments += ["--standardize", str(rng.choice(["none", "features", plain]))]
    return arguments + ["--no-intercept"] * bool(rng.random() < 0.3)


def of_loss(rng: Rng, loss: str, columns: dict[str, np.ndarray]) -> list[str]:
    """The arguments that name a loss, in units of its target."""
    if "classes" in loss:
        return []
    if loss == "huber":
        delta = float(np.median(np.abs(columns["y"])) * 10.0 ** rng.uniform(-3, 3))
        return ["--loss", f"huber:{delta if 0.0 < delta < np.inf else 1.5!r}"]
    exposure = ["--exposure", "e"] if "e" in columns else []
    return ["--loss", loss, "--task", "regression", *exposure]


def write(columns: dict[str, np.ndarray]) -> str:
    """As CSV, every digit of it."""
    cells = [[str(c) if c.dtype.kind == "U" else repr(float(c)) for c in each]
             for each in columns.values()]  # fmt: skip
    lines = [",".join(columns), *(",".join(row) for row in zip(*cells, strict=True))]
    return "\n".join(lines) + "\n"


@dataclass(slots=True)
class Outcome:
    """What came of a problem. sentence: of an error; faults: what must not be, in words.

    known: whether the exact optimum is known, to a fraction of 1e-20.
    """

    case: Case
    code: int = 0
    sentence: str = ""
    status: str = ""
    gap: float | None = None
    converged: bool = False
    known: bool = False
    seconds: float = 0.0
    faults: list[str] = field(default_factory=list)


@contextmanager
def seen_fits() -> Iterator[list[tuple[Problem, Solution]]]:
    """The problems that are solved meanwhile, as they are in memory, and their solutions."""
    seen: list[tuple[Problem, Solution]] = []
    solve = fitting.solve

    def watched(problem: Problem, *arguments, **more) -> Solution:
        solution = solve(problem, *arguments, **more)
        seen.append((problem, solution))
        return solution

    fitting.solve = watched
    try:
        yield seen
    finally:
        fitting.solve = solve


def run(case: Case, *, verbose: bool = False) -> Outcome:
    """Fit and evaluate, then check what was claimed."""
    text, arguments = case.make()
    outcome = Outcome(case)
    with tempfile.TemporaryDirectory() as folder:
        table, model = Path(folder) / "data.csv", Path(folder) / "model.json"
        table.write_text(text, "utf-8")
        fit = ["fit", str(table), "--target", "y", "--json", "-o", str(model), *arguments]
        if verbose:
            print(text, "lrisk", *fit, flush=True)
            fit.append("--verbose")
        began = time.perf_counter()
        with seen_fits() as seen:
            outcome.code, printed, outcome.sentence = command(fit, outcome)
        outcome.seconds = time.perf_counter() - began
        if outcome.code == 0:
            code, _, sentence = command(["evaluate", str(model), str(table), "--json"], outcome)
            if code not in (0, 3):
                outcome.faults.append(f"evaluate: {sentence}")
    if outcome.code == 0:
        with localcontext(CONTEXT):
            check(*seen[-1], json.loads(printed), outcome)
    elif outcome.code != 3:
        outcome.faults.append(outcome.sentence)
    return outcome


def command(arguments: list[str], outcome: Outcome) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command; warnings are faults."""
    out, err = io.StringIO(), io.StringIO()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with redirect_stdout(out), redirect_stderr(err):
            code = cli.run([*arguments, "--quiet"])
    warned = Counter(f"{each.filename}:{each.lineno}: {each.message}" for each in caught)
    outcome.faults += [f"{arguments[0]}: {n} x {text}" for text, n in warned.items()]
    return code, out.getvalue(), err.getvalue().strip()


def check(problem: Problem, solution: Solution, printed: dict, outcome: Outcome) -> None:
    """Hold what was printed against exact arithmetic, within CONTEXT."""
    fit = printed["fit"]
    outcome.status, outcome.gap, outcome.converged = fit["status"], fit["gap"], solution.converged
    if not np.isfinite(solution.W).all() or not np.isfinite(fit["objective"]):
        outcome.faults.append(f"not finite: objective {fit['objective']}")
        return
    if problem.falling:
        return
    # Zero coefficients and the bound 0 have a gap of 1e6.
    if not 0.0 <= fit["gap"] <= 1.000001e6 or not fit["absolute_gap"] >= 0.0:
        outcome.faults.append(f"a gap of {fit['gap']}, {fit['absolute_gap']}")
    exact, W = ExactProblem(problem), decimals(solution.W)
    objective, bound = Decimal(fit["objective"]), Decimal(fit["lower_bound"])
    error = abs(exact.objective(W) - objective)
    stated = stated_error(problem, solution.W)
    if not error <= Decimal(stated):
        outcome.faults.append(f"objective off by {error:.3g}, stated {stated:.3g}")
    attained, low = exact.minimise(W)
    outcome.known = bool(attained - low <= KNOWN * attained)
    if bound > attained:
        outcome.faults.append(f"bound {bound:.6g} exceeds {attained:.6g} by {bound - attained:.3g}")
    smoothing = problem.smoothing
    if smoothing is not None and smoothing.name == "l2":
        smoothed = exact.smoothed(W, Decimal(smoothing.nu))
        claimed = Decimal(solution.smoothed.lower_bound)
        if claimed > smoothed:
            outcome.faults.append(f"smoothed bound {claimed:.6g} exceeds {smoothed:.6g}")


def stated_error(problem: Problem, W: np.ndarray) -> float:
    """What the objective may be off: by roundings of the losses, and of the margins to 2nd order.

    Rows as far off as this may change ranks, so that the largest weights meet the largest errors.
    """
    loss, X = problem.loss, problem.rows.dense_rows(slice(None))
    with np.errstate(all="ignore"):
        Z = problem.margins(W)
        roundings, (margin, _) = loss.roundings, problem.rows.roundings(loss.n_outputs)
        off = UNIT * margin * (np.abs(X) @ np.abs(W))
        own = loss.margin_errors(Z, problem.y)
        off += 0.0 if own is None else UNIT * own[:, None]
        curved = loss.curvature(Z, problem.y) if loss.log_link else loss.smoothness
        errors = UNIT * ((roundings.value + 3) * loss.values(Z, problem.y) + roundings.absolute)
        errors += np.sum(np.abs(loss.derivatives(Z, problem.y)) * off, axis=1)
        errors += curved * np.sum(off**2, axis=1)
        total = float(np.sort(errors) @ np.sort(problem.sigma)) + 4 * UNIT * problem.penalty(W)
    return total + UNDERFLOW if np.isfinite(total) else np.inf


def summary(loss: str, outcomes: Sequence[Outcome]) -> dict:
    """One line of the table."""
    fitted = [each for each in outcomes if each.code == 0]
    rising = [each for each in fitted if each.gap is not None]
    return {
        "loss": loss,
        "problems": len(outcomes),
        "refused": sum(each.code == 3 for each in outcomes),
        "falling": len(fitted) - len(rising),
        "to 1e-6": sum(each.gap <= 1e-6 for each in rising),
        "larger gap": sum(each.gap > 1e-6 for each in rising),
        "optimum known": sum(each.known for each in rising),
        "worst s": max(each.seconds for each in outcomes),
        "faults": sum(bool(each.faults) for each in outcomes),
        "within": not any(each.faults for each in outcomes),
    }


def main() -> None:
    parser = make_parser(__doc__, f"the first {N_QUICK} problems")
    parser.add_argument("--seed", type=int, default=1, help="another set of problems")
    parser.add_argument("--only", type=int, metavar="N", help="one problem; nothing is recorded")
    options = parser.parse_args()
    benchmark = start("reliability/certificates", options, whole=options.only is None)
    if options.only is not None:
        print(run(Case(options.seed, options.only), verbose=True))
        return
    outcomes = []
    for index in range(N_QUICK if options.quick else N_PROBLEMS):
        outcome = run(Case(options.seed, index))
        outcomes.append(outcome)
        if outcome.faults:
            print(index, outcome.case.loss, "; ".join(outcome.faults), flush=True)
    groups = {loss: [each for each in outcomes if each.case.loss == loss] for loss in LOSSES}
    benchmark.finish([*(summary(*group) for group in groups.items()), summary("all", outcomes)])


if __name__ == "__main__":
    main()
