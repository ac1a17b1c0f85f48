"""How fast are the sorting and smoothing kernels beside NumPy and SciPy?

Bound: at 1e5 and 1e6 rows argsort takes at most 0.6x numpy.argsort of the default kind, 0.25x from
the last order; PAV for L2 smoothing 0.7x scipy's isotonic_regression.

Data: generated.

Losses are squared Gaussian residuals.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import isotonic_regression

from benchmarks.common.record import make_parser, start
from benchmarks.common.timing import compare
from lrisk_cli.native.kernels import core


@dataclass(frozen=True, slots=True)
class Case:
    """A kernel and its peer on the same data; bound: the ratio allowed, if there is one."""

    what: str
    n_rows: int
    kernel: Callable[[], object]
    peer: str
    run_peer: Callable[[], object]
    bound: float | None = None
    note: str = ""

    def row(self, repeats: int) -> dict[str, object]:
        seconds = compare({"ours": self.kernel, "peer": self.run_peer}, repeats)
        ratio = seconds["ours"] / seconds["peer"]
        return {
            "what": self.what,
            "rows": self.n_rows,
            "ns a row": 1e9 * seconds["ours"] / self.n_rows,
            "peer": self.peer,
            "peer ns": 1e9 * seconds["peer"] / self.n_rows,
            "ratio": ratio,
            "at most": self.bound,
            "reached": None if self.bound is None else ratio <= self.bound,
            "note": self.note,
        }


def scratch(n: int) -> tuple[np.ndarray, np.ndarray]:
    return np.empty(n, dtype=np.uint64), np.empty(n, dtype=np.uint64)


def cold_sort(residuals: np.ndarray) -> Case:
    n, losses = len(residuals), 0.5 * residuals**2
    order, work = np.empty(n, dtype=np.int32), scratch(n)

    def kernel() -> None:
        core.argsort(losses, order, *work)

    return Case("argsort", n, kernel, "argsort", lambda: np.argsort(losses), 0.6)


def warm_sort(residuals: np.ndarray, gap: float, bound: float | None) -> Case:
    """The sort after an epoch in which the suboptimality (eq. 7) falls from gap to gap / 10.

    With standardised columns F - F* is half the squared distance from w*, here sqrt(10) at w = 0;
    such an epoch moves the residuals by 0.7 sqrt(10 gap).
    """
    n, rng = len(residuals), np.random.default_rng(1)
    losses = 0.5 * (residuals + 0.7 * np.sqrt(10.0 * gap) * rng.standard_normal(n)) ** 2
    last, order, work = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32), scratch(n)
    core.argsort(0.5 * residuals**2, last, *work)
    moves = core.sort_rows(losses, last.copy(), *work)
    note = "sorted afresh" if moves < 0 else f"{moves / n:.2f} moves a row"

    def kernel() -> None:
        np.copyto(order, last)
        core.sort_rows(losses, order, *work)

    what = f"argsort from the last order, gap {gap:g}"
    return Case(what, n, kernel, "argsort", lambda: np.argsort(losses), bound, note)


def extremile(n: int) -> np.ndarray:
    """sigma of extremile 2: (i/n)^2 - ((i-1)/n)^2."""
    return (2.0 * np.arange(n) + 1.0) / float(n) ** 2


def l2_smoothing(residuals: np.ndarray, nu: float) -> Case:
    n, losses = len(residuals), np.sort(0.5 * residuals**2)
    sigma, lam, starts = extremile(n), np.empty(n), np.empty(n, dtype=np.int32)
    values = losses / nu - sigma
    n_blocks = core.pav_l2(losses, sigma, nu, lam, starts)

    def kernel() -> None:
        core.pav_l2(losses, sigma, nu, lam, starts)

    def peer() -> None:
        isotonic_regression(values)

    what, note = f"PAV, L2, nu = {nu / n:g} n", f"{n_blocks} blocks"
    return Case(what, n, kernel, "isotonic", peer, 0.7, note)


def entropy_smoothing(residuals: np.ndarray, nu: float) -> Case:
    n, losses = len(residuals), np.sort(0.5 * residuals**2)
    sigma, lam, starts, work = extremile(n), np.empty(n), np.empty(n, dtype=np.int32), np.empty(n)
    values = losses / nu - np.log(sigma)
    n_blocks = core.pav_entropy(losses, sigma, nu, lam, starts, work)

    def kernel() -> None:
        core.pav_entropy(losses, sigma, nu, lam, starts, work)

    def peer() -> None:
        isotonic_regression(values)

    what, note = f"PAV, entropy, nu = {nu:g}", f"{n_blocks} blocks; the peer takes no exponentials"
    return Case(what, n, kernel, "isotonic", peer, None, note)


def capped_weights(residuals: np.ndarray, nu: float) -> Case:
    n, z = len(residuals), 0.5 * residuals**2 / nu
    lam, work = np.empty(n), np.empty(n)

    def kernel() -> None:
        core.capped_simplex(z, 10.0 / n, lam, work)

    what = f"capped simplex, superquantile 0.9, nu = {nu / n:g} n"
    return Case(what, n, kernel, "argsort", lambda: np.argsort(z), None, "needs no sort")


def cases(n: int) -> list[Case]:
    """The warm bound stands where insertion can win, below 0.3 moves a row."""
    residuals = np.random.default_rng(0).standard_normal(n)
    near = 1e-12 if n <= 100_000 else 1e-14
    return [
        cold_sort(residuals),
        warm_sort(residuals, near, 0.25),
        warm_sort(residuals, 100.0 * near, None),
        *(l2_smoothing(residuals, nu) for nu in (1e-3 * n, 1.0 * n)),
        *(entropy_smoothing(residuals, nu) for nu in (1e-3, 1.0)),
        *(capped_weights(residuals, nu) for nu in (1e-3 * n, 1.0 * n)),
    ]


def main() -> None:
    parser = make_parser(__doc__, "fewer repeats")
    options = parser.parse_args()
    benchmark = start("speed/sort", options)
    quick = options.quick
    plan = {100_000: 25, 1_000_000: 9} if quick else {100_000: 101, 1_000_000: 25}
    rows = [case.row(repeats) for n, repeats in plan.items() for case in cases(n)]
    benchmark.finish(rows)


if __name__ == "__main__":
    main()
