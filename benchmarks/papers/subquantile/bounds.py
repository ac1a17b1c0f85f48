"""Figures 3 and 4 of the subquantile paper: bounds of Lemmas 29 and 30 beside what is measured."""

from collections.abc import Sequence
from math import exp, log, pi, sqrt

import numpy as np

from benchmarks.common.claims import Case, Chapter, Claim, judge
from lrisk_cli.reports.figures import Plot, Series, draw
from lrisk_cli.types import Array

D, TRIALS = 20, 10
SIZES = (25, 50, 100, 200, 400, 800, 1600, 3200)


def noise_bound(n: int, K: float) -> float:
    """Lemma 29: E || sum eta_i x_i || <= K1 K2 e^(1/4) sqrt(8 pi n d) / 2, K1 = K2 = K."""
    return 0.5 * K * K * exp(0.25) * sqrt(8.0 * pi * n * D)


def spectrum_bound(n: int, K: float) -> float:
    """Lemma 30: E sigma_min(sum x x') >= n - sqrt(2 (d K - 1) n log(2 d)) - d K log(2 d) / 3."""
    return n - (sqrt(2.0 * (D * K - 1.0) * n * log(2 * D)) + D * K * log(2 * D) / 3.0)


def printed_rows(K: float) -> float:
    """Assumption 28 (eq. 72): the rows from which on that bound is said to be positive."""
    a, dk = 18.0 - 24.0 * D * K, D * K
    return (sqrt(a * a - 36.0 * dk * dk * log(2 * D)) - a * log(2 * D)) / 18.0


def measure() -> tuple[Array, Array]:
    """Of standard normal rows and errors, means of ten trials for each n: both left sides."""
    rng = np.random.default_rng(0)
    noise, least = [], []
    for n in SIZES:
        X, eta = rng.standard_normal((TRIALS, n, D)), rng.standard_normal((TRIALS, n, 1))
        noise.append(np.mean(np.linalg.norm((eta * X).sum(axis=1), axis=1)))
        products = np.matmul(X.transpose(0, 2, 1), X)
        least.append(np.mean(np.linalg.eigvalsh(products)[:, 0]))
    return np.array(noise), np.array(least)


def chapters() -> list[Chapter]:
    """Figures 3 and 4, with Sigma = I and d = 20."""
    noise, least = measure()
    sizes = np.array(SIZES, np.float64)
    first = np.array([noise_bound(n, 1.0) for n in SIZES])
    second = np.array([spectrum_bound(n, 4.0) for n in SIZES])
    above = [
        Case(f"n = {n}", judge(agrees=a <= b, contradicts=a > b), f"{a:.3g}, bound {b:.3g}")
        for n, a, b in zip(SIZES, noise, first, strict=True)
    ]
    below = [
        Case(f"n = {n}", judge(agrees=a >= b, contradicts=a < b), f"{a:.3g}, bound {b:.3g}")
        for n, a, b in zip(SIZES, least, second, strict=True)
    ]
    needed = next(n for n in range(1, 100_000) if spectrum_bound(n, 1.0) > 0.0)
    stated = printed_rows(1.0)
    words = f"{stated:.0f} rows stated, {needed} needed (d = 20, K = 1)"
    enough = [
        Case("d = 20", judge(agrees=stated >= needed - 1, contradicts=stated < needed - 1), words)
    ]
    lead = f"Standard normal rows and errors, means of {TRIALS} trials."
    return [
        Chapter("Figure 3", "Lemma 29", lead, [_plot("noise", sizes, noise, first)], [
            Claim("3", "The norm of the sum of errors times rows is below the bound.",
                  "agrees if the mean is below it, contradicts if above", above)]),
        Chapter("Figure 4", "Lemma 30", lead, [_plot("spectrum", sizes, least, second)], [
            Claim("4", "The least singular value is above the bound (K = 4).",
                  "agrees if the mean is above it, contradicts if below", below),
            Claim("A.28", "Assumption 28 asks for as many rows as the bound of Lemma 30 needs to "
                  "be positive (our reading; it states no purpose).",
                  "agrees if as many rows do, contradicts if not", enough)]),
    ]  # fmt: skip


def _plot(name: str, sizes: Array, measured: Array, bound: Array) -> object:
    plot = Plot(
        title=f"{name}: {measured[-1]:.3g} at n = {sizes[-1]:.0f}, bound {bound[-1]:.3g}",
        alternative=f"Measured and bound against n, {name}.",
        x_label="rows",
        y_label="measured and bound",
        series=_series(sizes, measured, bound),
        x_log=True,
    )
    return draw(plot, f"bound-{name}")


def _series(sizes: Array, measured: Array, bound: Array) -> Sequence[Series]:
    return [Series("measured", sizes, measured, 1), Series("bound", sizes, bound, 2)]
