"""How much faster are two threads than one, and are the results the same?

Bound: none on time; results must be the same to the last bit.

Data: generated.

Whole minimisations, certificate included; runs take turns, medians are compared. Only passes over
the rows use several threads; sorting, projections and matrix factorisations use one.
"""

import numpy as np

from benchmarks.common.record import make_parser, start
from benchmarks.common.timing import compare
from lrisk_cli.losses.registry import make_loss
from lrisk_cli.native.threads import thread_pool
from lrisk_cli.risk.spectrum import parse_risk
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.solvers.problem import Problem, make_problem
from lrisk_cli.solvers.select import SolverOptions, solve
from lrisk_cli.solvers.solution import Limits, Solution

CASES = [
    (1_000_000, 20, 0, "superquantile:0.9"),
    (1_000_000, 20, 2, "extremile:2"),
    (200_000, 200, 0, "superquantile:0.9"),
    (100_000, 200, 3, "extremile:2"),
]


def make(n_rows: int, n_columns: int, n_classes: int, risk: str) -> Problem:
    """Gaussian rows with a linear signal. n_classes: 0 for a number."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_columns))
    Z = X @ rng.standard_normal((n_columns, max(n_classes, 1))) / np.sqrt(n_columns)
    if n_classes == 0:
        y, loss = Z[:, 0] + rng.standard_t(3, n_rows), make_loss("squared")
    else:
        y, loss = np.argmax(Z + rng.gumbel(size=Z.shape), axis=1), make_loss("logistic", n_classes)
    if n_classes == 2:
        y = (rng.random(n_rows) < 1.0 / (1.0 + np.exp(-2.0 * Z[:, 0]))).astype(np.int32)
    return make_problem(DenseRows(X), y, loss, parse_risk(risk), 1.0 / n_rows)


def run(problem: Problem, n_threads: int) -> Solution:
    with thread_pool(n_threads):
        return solve(problem, SolverOptions(), Limits())


def measure(n_rows: int, n_columns: int, n_classes: int, risk: str, repeats: int) -> dict:
    problem = make(n_rows, n_columns, n_classes, risk)
    one, two = run(problem, 1), run(problem, 2)
    seconds = compare({"1": lambda: run(problem, 1), "2": lambda: run(problem, 2)}, repeats)
    kind = "squared" if n_classes == 0 else f"{n_classes} classes"
    return {
        "case": f"{n_rows}x{n_columns} {kind}, {risk}",
        "gap": one.certificate.gap,
        "one thread s": seconds["1"],
        "two threads s": seconds["2"],
        "two / one": seconds["2"] / seconds["1"],
        "same bits": np.array_equal(one.W, two.W) and np.array_equal(one.lam, two.lam),
    }


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    benchmark = start("speed/threads", options)
    benchmark.finish([measure(*case, options.repeats) for case in CASES])


if __name__ == "__main__":
    main()
