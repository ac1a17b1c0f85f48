"""How fast are stochastic steps beside a dot product and an axpy of a random row?

Bound: squared steps at most 1.5x at d = 8, 10, 50, 157; multinomial 45x6 1.7x those of length 270;
a whole epoch of n steps with its checkpoint at 20000x50 2.5x n of them.

Data: generated.
"""

import numpy as np

from benchmarks.common.record import make_parser, start
from benchmarks.common.timing import compare
from lrisk_cli.losses.registry import make_loss
from lrisk_cli.names import Sampling
from lrisk_cli.native.kernels import core
from lrisk_cli.risk.spectrum import parse_risk
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.solvers.draws import RowDraws, random_state
from lrisk_cli.solvers.lsvrg import Lsvrg
from lrisk_cli.solvers.problem import Problem, make_problem


def yardstick(X: np.ndarray, n_steps: int):
    """A function that draws rows and makes the least steps there are."""
    n, length = X.shape
    v, draws = np.random.default_rng(0).standard_normal(length), RowDraws(n, random_state(1))
    return lambda: core.yardstick_steps(X, v, 1e-6, draws.draw(n_steps))


def gaussian(n: int, d: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal((n, d))


def squared_problem(n: int, d: int, risk: str) -> Problem:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    y = X @ rng.standard_normal(d) + rng.standard_normal(n)
    return make_problem(DenseRows(X), y, make_loss("squared"), parse_risk(risk), 1.0 / n)


def squared_steps(X: np.ndarray, n_steps: int, sampling: Sampling):
    """A function that draws rows and makes lazy LSVRG steps."""
    n, d = X.shape
    G, V = np.random.default_rng(1).standard_normal(d), np.zeros(d)
    draws, factors = RowDraws(n, random_state(1)), np.full(n, 1e-6)
    if sampling is Sampling.WEIGHTS:
        draws.follow(parse_risk("extremile:2").weights(n))
        factors = factors[:1]
    return lambda: core.lsvrg_squared_steps(
        X, factors, G, V, np.array([1.0, 0.0]), 1e-6, 1.0 / n, draws.draw(n_steps)
    )


def multinomial_steps(n: int, d: int, k: int, n_steps: int):
    """The same for k classes."""
    rng = np.random.default_rng(0)
    X, width = rng.standard_normal((n, d)), -(-k // 8) * 8
    records = np.zeros((n, 2, width))
    records[:, 0, :k], records[:, 0, k:] = rng.standard_normal((n, k)), -1e30
    records[:, 1, :k] = 1.0 / k
    G, V = np.zeros((2, d, width))
    G[:, :k] = rng.standard_normal((d, k))
    factors, draws = np.full(n, 1e-6), RowDraws(n, random_state(1))
    return lambda: core.lsvrg_multinomial_steps(
        X, factors, records, G, V, np.array([1.0, 0.0]), 1e-6, 1.0 / n, draws.draw(n_steps),
        np.empty((2, width)),
    )  # fmt: skip


def whole_epoch(problem: Problem, sampling: Sampling):
    """Evaluation, sort, weights, gradient and n steps: all that an epoch does."""
    method = Lsvrg(problem, 0, problem.n_rows, sampling=sampling)
    step, row_weighter = method.first_step(), problem.row_weighter()
    state = [problem.at(np.zeros(problem.shape), row_weighter)]

    def epoch() -> None:
        W, _ = method.advance(state[0], step)
        state[0] = problem.at(W, row_weighter)

    return epoch


def row(what: str, n: int, bound: float, n_steps: int, ours, least, repeats: int) -> dict:
    seconds = compare({"ours": ours, "yardstick": least}, repeats)
    ratio = seconds["ours"] / seconds["yardstick"]
    return {
        "what": what,
        "rows": n,
        "ns a step": 1e9 * seconds["ours"] / n_steps,
        "yardstick ns": 1e9 * seconds["yardstick"] / n_steps,
        "ratio": ratio,
        "at most": bound,
        "reached": ratio <= bound,
    }


def main() -> None:
    parser = make_parser(__doc__, "fewer repeats")
    options = parser.parse_args()
    benchmark = start("speed/steps", options)
    repeats = 9 if options.quick else 21
    rows = []
    for n, d in ((800, 8), (800, 10), (20_000, 50), (20_000, 157), (1_000_000, 20)):
        X, n_steps = gaussian(n, d), max(n, 200_000)
        for sampling in Sampling:
            ours, least = squared_steps(X, n_steps, sampling), yardstick(X, n_steps)
            what = f"squared step, d = {d}, {sampling} draws"
            rows.append(row(what, n, 1.5, n_steps, ours, least, repeats))
    ours, least = multinomial_steps(8000, 45, 6, 100_000), yardstick(gaussian(8000, 270), 100_000)
    rows.append(row("multinomial step, 45x6", 8000, 1.7, 100_000, ours, least, repeats))
    for risk in ("superquantile:0.5", "extremile:2"):
        for sampling in Sampling:
            problem = squared_problem(20_000, 50, risk)
            ours, least = (
                whole_epoch(problem, sampling),
                yardstick(problem.rows.dense_rows(slice(None)), 20_000),
            )
            what = f"whole epoch 20000x50, {risk}, {sampling}"
            rows.append(row(what, 20_000, 2.5, 20_000, ours, least, repeats))
    benchmark.finish(rows)


if __name__ == "__main__":
    main()
