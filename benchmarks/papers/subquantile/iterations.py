"""Figures 1 and 2 of the subquantile paper: test errors and corrupted rows, step by step.

Concrete and Boston with a Gaussian kernel and label noise; the synthetic set of its Table 4: 1000
rows, x from N(0, 1), y from N(sum a_i x^i, 0.01) with a_i from N(0, 1) for i = 0..3, noise from
N(0, 5) added to the targets of eps n rows whatever they are (oblivious), a polynomial kernel of
degree 3 with C = 1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.common.claims import Case, Chapter, Claim, judge
from benchmarks.common.pool import run_units
from benchmarks.papers.subquantile.rows import genie
from benchmarks.papers.subquantile.setups import Setup, from_rows, make_setup
from lrisk_cli.evaluation.corruption import Planted
from lrisk_cli.features.features import FeatureOptions
from lrisk_cli.losses.registry import make_loss
from lrisk_cli.names import KernelName, SolverName, StartName
from lrisk_cli.reports.figures import Plot, Series, draw
from lrisk_cli.reports.html import Figure
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.solvers.select import SolverOptions, solve
from lrisk_cli.solvers.solution import Limits, Watched
from lrisk_cli.types import Array

__all__ = ["chapters", "polynomial_setup"]

POLYNOMIAL = "polynomial"
SETS = ("concrete", "boston", POLYNOMIAL)
FRACTIONS = (0.1, 0.2, 0.3, 0.4)
MOMENTA: Mapping[str, dict[str, object]] = {
    "plain": {},
    "momentum 0.9": {"momentum": 0.9},
    "nesterov 0.9": {"momentum": 0.9, "nesterov": True},
}
N_ROWS, N_LEARNED, DEGREE = 1000, 800, 3
NOISE, OBLIVIOUS = 0.1, 5.0
# Points at which the test error is measured; at every step that would take most of the time.
SEEN = 60
# What is left of the gain over the first point when a run has arrived.
ARRIVED = 0.01


@dataclass(frozen=True, slots=True)
class Course:
    """One run. errors, corrupted (fraction of the kept rows): at `steps`, (m,).

    objectives: at every step.
    """

    steps: Array
    errors: Array
    corrupted: Array
    objectives: Array
    genie: float

    def arrival(self, target: float) -> float:
        """The first step whose objective is at most the target; infinite for none."""
        there = np.flatnonzero(self.objectives <= target)
        return float(there[0]) if len(there) else np.inf


def polynomial_setup(eps: float, seed: int) -> Setup:
    """The synthetic set with oblivious noise."""
    rng = np.random.default_rng([seed, 77])
    x = rng.standard_normal(N_ROWS)
    y = np.polynomial.polynomial.polyval(x, rng.standard_normal(DEGREE + 1))
    y = y + NOISE * rng.standard_normal(N_ROWS)
    mask = np.zeros(N_LEARNED, bool)
    mask[rng.permutation(N_LEARNED)[: round(eps * N_LEARNED)]] = True
    rows = DenseRows(np.column_stack([x[:N_LEARNED], np.ones(N_LEARNED)]))
    test = DenseRows(np.column_stack([x[N_LEARNED:], np.ones(N_ROWS - N_LEARNED)]))
    spoilt = y[:N_LEARNED] + mask * rng.normal(0.0, OBLIVIOUS, N_LEARNED)
    options = FeatureOptions(KernelName.POLY, gamma=1.0, degree=DEGREE, coef0=1.0)
    return from_rows(
        (rows, y[:N_LEARNED]), Planted(rows, spoilt, mask), (test, y[N_LEARNED:]),
        make_loss("squared"), options, eps, seed,
    )  # fmt: skip


def follow(name: str, eps: float, momentum: str, seed: int, n_steps: int) -> Course:
    """Algorithm 3 from its random start, looked at now and then."""
    setup = (
        polynomial_setup(eps, seed)
        if name == POLYNOMIAL
        else make_setup(name, f"label:{eps:g}", KernelName.RBF, seed)
    )
    mask, at = setup.planted.mask, set(np.unique(np.geomspace(1, n_steps, SEEN).astype(int)))
    steps, errors, corrupted, count = [], [], [], 0

    def see(W: Array, lam: Array | None) -> Watched:
        nonlocal count
        if lam is not None and (count in at or count == 0):
            steps.append(count)
            errors.append(setup.error(W))
            corrupted.append(float(np.mean(mask[lam > 0.0])))
        count += 1
        return Watched(None, None)

    options = SolverOptions(
        SolverName.SUBGRADIENT, start=StartName.GLOROT_DUAL, seed=seed, **MOMENTA[momentum]
    )
    passes = (2.0 if momentum.startswith("nesterov") else 1.0) * n_steps
    found = solve(setup.subquantile, options, Limits(tol=0.0, max_passes=passes + 2.0), watch=see)
    objectives = np.array([epoch.objective for epoch in found.epochs])
    best = setup.error(*genie(setup))
    return Course(np.array(steps, np.float64), np.array(errors), np.array(corrupted), objectives,
                  best)  # fmt: skip


Courses = Mapping[tuple[str, float, str], Sequence[Course]]


def measure(fractions: Sequence[float], seeds: Sequence[int], n_steps: int) -> Courses:
    """All runs: plain ones by eps for Figure 1, those with momentum at eps = 0.2 for Figure 2."""
    keys = [(name, eps, "plain") for name in SETS for eps in fractions]
    keys += [(name, 0.2, kind) for name in SETS[:2] for kind in MOMENTA if kind != "plain"]
    units = [(*key, seed, n_steps) for key in keys for seed in seeds]
    runs = run_units("Figures 1 and 2", follow, units)
    found: dict[tuple[str, float, str], list[Course]] = {}
    for unit, course in zip(units, runs, strict=True):
        found.setdefault(unit[:3], []).append(course)
    return found


def chapters(fractions: Sequence[float], seeds: Sequence[int], n_steps: int) -> list[Chapter]:
    """Figures 1 and 2."""
    found = measure(fractions, seeds, n_steps)
    return [_figure1(found, fractions, seeds), _figure2(found, seeds)]


def _middle(courses: Sequence[Course], name: str) -> tuple[Array, Array, Array, Array]:
    """Steps, and median, least and most of the seeds."""
    m = min(len(course.steps) for course in courses)
    values = np.array([getattr(course, name)[:m] for course in courses])
    steps = courses[0].steps[:m] + 1.0
    return steps, np.median(values, axis=0), values.min(axis=0), values.max(axis=0)


def _figure1(found: Courses, fractions: Sequence[float], seeds: Sequence[int]) -> Chapter:
    figures = [
        _course_plot(name, found, fractions, what)
        for name in SETS
        for what in ("errors", "corrupted")
    ]
    fewer, near = [], []
    for name in SETS:
        for eps in fractions:
            courses = found[name, eps, "plain"]
            ends = [course.corrupted[-1] for course in courses]
            says = judge(agrees=max(ends) < 0.5 * eps, contradicts=min(ends) >= 0.5 * eps)
            words = f"{100 * min(ends):.2g} to {100 * max(ends):.2g} % of the kept rows"
            fewer.append(Case(f"{name}, eps {eps:g}", says, words))
            if name == POLYNOMIAL:
                ratios = [course.errors[-1] / course.genie for course in courses]
                says = judge(agrees=max(ratios) <= 1.1, contradicts=np.median(ratios) > 1.5)
                words = f"{min(ratios):.3g} to {max(ratios):.3g} times the genie's error"
                near.append(Case(f"eps {eps:g}", says, words))
    greater = [_decrease_case(name, found, fractions) for name in SETS]
    claims = [
        Claim("1", "The final subquantile has significantly less outliers than the original "
              "corruption in the data set.",
              "agrees if with every seed fewer than half of eps of the kept rows are corrupted at "
              "the end, contradicts if with none", fewer),
        Claim("1", "There is a greater decrease in the higher outlier settings.",
              "agrees if the fraction falls by more at the largest eps than at the least with "
              "every seed, contradicts if with none", greater),
        Claim("1", "Subquantile minimization has near optimal performance in the Polynomial "
              "Regression Synthetic Dataset.",
              "agrees if the final error is within 1.1 times that of a fit to the clean rows with "
              "every seed, contradicts if the median is above 1.5 times", near),
    ]  # fmt: skip
    lead = (
        f"Algorithm 3 as printed, {len(seeds)} seeds: test RMSE, and the fraction of corrupted "
        "rows among those kept, against the step; medians, with the least and the most as a band."
    )
    title = "test error and corrupted rows over the iterations"
    return Chapter("Figure 1", title, lead, figures, claims)


def _decrease_case(name: str, found: Courses, fractions: Sequence[float]) -> Case:
    low, high = min(fractions), max(fractions)
    falls = [
        np.array([eps - course.corrupted[-1] for course in found[name, eps, "plain"]])
        for eps in (low, high)
    ]
    more = falls[1] > falls[0]
    says = judge(agrees=bool(more.all()), contradicts=not more.any())
    words = f"{np.median(falls[1]):.2g} at {high:g}, {np.median(falls[0]):.2g} at {low:g}"
    return Case(name, says, words)


def _figure2(found: Courses, seeds: Sequence[int]) -> Chapter:
    figures, cases = [], []
    for name in SETS[:2]:
        figures.append(_momentum_plot(name, found))
        plain = found[name, 0.2, "plain"]
        for kind in list(MOMENTA)[1:]:
            ratios = []
            for base, fast in zip(plain, found[name, 0.2, kind], strict=True):
                least = min(base.objectives.min(), fast.objectives.min())
                target = least + ARRIVED * (base.objectives[0] - least)
                ratios.append(fast.arrival(target) / base.arrival(target))
            middle = float(np.median(ratios))
            says = judge(agrees=max(ratios) <= 0.5, contradicts=middle >= 0.9)
            cases.append(Case(f"{name}, {kind}", says, f"{middle:.2g} of the steps, median"))
    claims = [
        Claim("2", "Using momentum can give significantly faster convergence.",
              "agrees if at most half of the steps of plain descent are needed with every seed to "
              "where 1 % of the gain is left, contradicts if the median is 0.9 or more", cases),
    ]  # fmt: skip
    lead = f"eps = 0.2, Gaussian kernel, {len(seeds)} seeds; the objective against the step."
    return Chapter("Figure 2", "momentum", lead, figures, claims)


def _course_plot(name: str, found: Courses, fractions: Sequence[float], what: str) -> Figure:
    series = []
    for k, eps in enumerate(fractions, 1):
        steps, middle, low, high = _middle(found[name, eps, "plain"], what)
        series.append(Series(f"eps {eps:g}", steps, middle, k, low=low, high=high))
    ends = ", ".join(f"{each.name} {each.y[-1]:.3g}" for each in series)
    label = "test RMSE" if what == "errors" else "corrupted among the kept rows"
    plot = Plot(
        title=f"{name}: {label} at the end: {ends}",
        alternative=f"{label} against the step on {name}; at the end {ends}.",
        x_label="step",
        y_label=label,
        series=series,
        x_log=True,
        y_log=what == "errors",
        y_percent=what == "corrupted",
    )
    return draw(plot, f"{what}-{name}")


def _momentum_plot(name: str, found: Courses) -> Figure:
    series = []
    for k, kind in enumerate(MOMENTA, 1):
        courses = found[name, 0.2, kind]
        m = min(len(course.objectives) for course in courses)
        values = np.array([course.objectives[:m] for course in courses])
        at = np.unique(np.geomspace(1, m, 80).astype(int)) - 1
        series.append(Series(kind, at + 1.0, np.median(values, axis=0)[at], k))
    plot = Plot(
        title=f"{name}: the objective by kind of momentum",
        alternative=f"Objective against the step on {name} with and without momentum.",
        x_label="step",
        y_label="objective",
        series=series,
        x_log=True,
        y_log=True,
    )
    return draw(plot, f"momentum-{name}")
