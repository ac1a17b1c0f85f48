"""Figure 19 of the spectral-risk paper: LSVRG with and without smoothing."""

import numpy as np

from benchmarks.common.claims import GENERALLY, Case, Chapter, Claim, judge
from benchmarks.common.pool import run_units
from benchmarks.papers.spectral.drawing import course_figure
from benchmarks.papers.spectral.runs import (
    LSVRG,
    REGRESSION,
    Effort,
    Setting,
    SolverRun,
    follow,
    minimum_of,
    read_problem,
)
from benchmarks.papers.spectral.training import FLOOR, MEDIUM, Key, Panels
from lrisk_cli.names import Sampling, SmoothingName, SolverName
from lrisk_cli.risk.row_weights import Smoothing

VARIANTS: dict[str, tuple[Setting, SmoothingName | None]] = {
    "alg. 7": (Setting(SolverName.LSVRG, 1.0, Sampling.WEIGHTS), None),
    "uniform": (LSVRG, None),
    "entropy": (LSVRG, SmoothingName.ENTROPY),
    "l2": (LSVRG, SmoothingName.L2),
    "entropy, N=2n": (Setting(SolverName.LSVRG, 2.0, checkpoints=1.0), SmoothingName.ENTROPY),
    "l2, N=2n": (Setting(SolverName.LSVRG, 2.0, checkpoints=1.0), SmoothingName.L2),
}


def smoothed_panel(name: str, risk: str, effort: Effort) -> list[SolverRun]:
    """All variants of LSVRG on one set and risk, judged by the risk itself."""
    plain = read_problem(name, risk)
    least, n = minimum_of(plain, effort.minimum).objective, plain.n_rows
    nus = {SmoothingName.ENTROPY: 1e-3, SmoothingName.L2: 1e-3 * n}
    found = []
    for label, (setting, smoothing) in VARIANTS.items():
        smooth = None if smoothing is None else Smoothing(smoothing, nus[smoothing])
        problem = read_problem(name, risk, smoothing=smooth)
        found.append(follow(label, problem, setting, least, effort))
    return found


def figure19(effort: Effort) -> Chapter:
    """LSVRG with and without smoothing, with both samplings, and with random checkpoints."""
    keys = [(name, risk) for name in REGRESSION for risk in MEDIUM[1:]]
    runs = run_units("Figure 19", smoothed_panel, [(*key, effort) for key in keys])
    panels: Panels = dict(zip(keys, runs, strict=True))
    figures = [
        course_figure(*key, found, label="smoothed-", by_gradients=True, every=2)
        for key, found in panels.items()
    ]
    close = (
        "agrees if neither median ends above ten times the other, contradicts if above a hundred"
    )

    def pairs(one: int, other: int) -> list[Case]:
        return [_alike_case(key, found[one], found[other]) for key, found in panels.items()]

    claims = [
        Claim("19", "The non-smooth and smooth implementations of LSVRG generally match.", close,
              [*pairs(2, 0), *pairs(3, 0)], GENERALLY),
        Claim("19", "Negative entropy and squared Euclidean smoothing generally give the same.",
              close, pairs(2, 3), GENERALLY),
        Claim("19", "Algorithm 7 is generally on par with or better than Algorithm 5 with N = 2n "
              "and q* = 1/n after the same number of gradient evaluations.",
              "agrees if it ends at no more than twice the other, contradicts if at ten times",
              [_par_case(key, found[0], found[k]) for key, found in panels.items()
               for k in (4, 5)], GENERALLY),
    ]  # fmt: skip
    lead = (
        "Suboptimality of the risk itself against gradient evaluations, in n; nu = 0.001 for "
        "entropy, 0.001 n for l2. alg. 7 draws rows by weight, the others uniformly; N=2n has "
        "checkpoints with probability 1/n after each step. Each variant with its best step."
    )
    return Chapter("Figure 19", "smoothing", lead, figures, claims)


def _alike_case(key: Key, one: SolverRun, other: SolverRun) -> Case:
    low, high = sorted((max(one.last, FLOOR), max(other.last, FLOOR)))
    says = judge(agrees=high <= 10.0 * low, contradicts=high > 100.0 * low)
    words = f"{one.method} {one.last:.1e}, {other.method} {other.last:.1e}"
    return Case(", ".join(key), says, words)


def _par_case(key: Key, one: SolverRun, other: SolverRun) -> Case:
    """At the gradient evaluations that both have spent."""
    spent = min(one.gradients[-1], other.gradients[-1])
    mine, yours = (max(float(np.interp(spent, e.gradients, e.middle)), FLOOR) for e in (one, other))
    says = judge(agrees=mine <= 2.0 * yours, contradicts=mine >= 10.0 * yours)
    return Case(f"{', '.join(key)}, {other.method}", says, f"{mine:.1e} against {yours:.1e}")
