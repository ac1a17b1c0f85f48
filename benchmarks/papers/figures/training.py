"""Figures 2, 10 to 15, 19 and 20 of the spectral-risk paper, and 3: how its solvers get along."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from benchmarks.papers.figure2 import (
    SEEDS,
    SETS,
    SolverRun,
    best_step,
    courses,
    follow,
    paper_options,
    read_problem,
)
from benchmarks.papers.figures.claims import GENERALLY, OFTEN, Case, Chapter, Claim
from lrisk_cli.names import SmoothingName, SolverName
from lrisk_cli.reports.figures import Plot, Series, draw
from lrisk_cli.reports.html import Figure
from lrisk_cli.risk.row_weights import Smoothing
from lrisk_cli.solvers.problem import Problem
from lrisk_cli.solvers.select import SolverOptions, solve
from lrisk_cli.solvers.solution import Limits

LSVRG, SGD, SRDA, OURS = 0, 1, 2, 3
METHODS = ("lsvrg (paper)", "sgd (paper)", "srda (paper)", "lsvrg (lrisk's choice)")
MEDIUM = ("mean", "superquantile:0.5", "extremile:2", "esrm:1")
EASY = ("mean", "superquantile:0.25", "extremile:1.5", "esrm:0.5")
HARD = ("mean", "superquantile:0.75", "extremile:2.5", "esrm:2")
# Below this, what is left is rounding and the width of the proof of the minimum.
FLOOR = 1e-9
TENFOLD = 10.0

Panels = Mapping[tuple[str, str], Sequence[SolverRun]]


def minimum_of(problem: Problem) -> float:
    """The least objective, proved to a gap of 1e-10 of what is gained."""
    return solve(problem, SolverOptions(), Limits(tol=1e-10)).certificate.objective


def train(risks: Sequence[str], penalty: float) -> Panels:
    """Every method on every set and risk, mu = penalty / n."""
    panels = {}
    for name in SETS:
        for risk in risks:
            problem = read_problem(name, risk, penalty)
            panels[name, risk] = courses(problem, minimum_of(problem))
    return panels


def middle(course: SolverRun) -> tuple[np.ndarray, np.ndarray]:
    """Passes and the median suboptimality of the seeds."""
    shortest = min(len(passes) for passes, _ in course.curves)
    values = np.median([v[:shortest] for _, v in course.curves], axis=0)
    return course.curves[0][0][:shortest], np.maximum(values, 1e-13)


def last(course: SolverRun) -> float:
    """Median suboptimality at the end."""
    return float(middle(course)[1][-1])


def late_fall(course: SolverRun) -> float:
    """By what factor the median falls in the second half of the passes."""
    passes, values = middle(course)
    half = int(np.searchsorted(passes, 0.5 * passes[-1]))
    return float(values[half] / values[-1])


def falls_linearly(course: SolverRun) -> bool:
    """A tenfold fall in the second half; 1/t would give a twofold one, 1/t^2 a fourfold one."""
    return late_fall(course) >= TENFOLD or last(course) <= FLOOR


def figure2(panels: Panels) -> Chapter:
    """The courses, and what the paper reads from them."""
    figures = [course_figure(name, risk, found) for (name, risk), found in panels.items()]
    smooth = {key: found for key, found in panels.items() if "superquantile" not in key[1]}
    kinked = {key: found for key, found in panels.items() if "superquantile" in key[1]}
    linear = "the median suboptimality falls at least tenfold from half of the passes to all of "
    linear += f"them, or ends below {FLOOR:g}"
    claims = [
        Claim("2", "LSVRG exhibits empirical linear convergence for ERM, extremile and ESRM.",
              linear, [fall_case(key, found[LSVRG], wanted=True)
                       for key, found in smooth.items()]),
        Claim("2", "SGD and SRDA exhibit sublinear convergence.",
              "the median falls less than tenfold from half of the passes to all of them",
              [fall_case(key, found[k], wanted=False)
               for key, found in panels.items() for k in (SGD, SRDA)]),
        Claim("2", "LSVRG often vastly outperforms SGD and SRDA (ERM, extremile, ESRM).",
              "LSVRG ends at a tenth or less of the better of the two",
              [_ratio_case(key, found, TENFOLD) for key, found in smooth.items()], OFTEN),
        Claim("2", "On the superquantile, LSVRG exhibits the same sublinear convergence as SGD.",
              "LSVRG falls less than tenfold in the second half, and ends within tenfold of SGD",
              [_same_case(key, found) for key, found in kinked.items()]),
        Claim("2", "Overall, LSVRG is the best or close to the best algorithm across all tasks.",
              "LSVRG ends at no more than twice the better of SGD and SRDA",
              [_ratio_case(key, found, 0.5) for key, found in panels.items()]),
    ]  # fmt: skip
    lead = (
        "Suboptimality (F(w) - F*) / (F(0) - F*) against passes, median of 5 seeds, the step "
        "chosen from the paper's grid by its rule; F* is proved to 1e-10. Figures 10 and 14 show "
        "the same."
    )
    return Chapter("Figure 2, 10 and 14", "training on four sets, mu = 1/n", lead, figures, claims)


def variants(number: str, what: str, panels: Panels, words: str) -> Chapter:
    """Figures 11, 12, 13 and 15: where each method ends."""
    claim = Claim(number, words, "LSVRG ends below both SGD and SRDA",
                  [_ratio_case(key, found, 1.0) for key, found in panels.items()],
                  GENERALLY)  # fmt: skip
    claims = [claim]
    if number == "15":
        hard = [_beaten_case(key, found) for key, found in panels.items() if "super" in key[1]]
        claims.append(
            Claim(number, "For the 0.75-superquantile, LSVRG is outperformed by SGD and SRDA.",
                  "LSVRG ends above both", hard)
        )  # fmt: skip
    figure = _end_figure(f"variant{number}", panels)
    lead = "Median suboptimality after 64 passes, by set and risk."
    return Chapter(f"Figure {number}", what, lead, [figure], claims)


def figure3() -> Chapter:
    """Rows that change rank from epoch to epoch, simulated set."""
    shares = {risk: _rank_changes(risk) for risk in MEDIUM[1:]}
    series = [
        Series(risk, np.arange(1.0, len(values) + 1.0), values, k)
        for k, (risk, values) in enumerate(shares.items(), 1)
    ]
    last_shares = {risk: float(values[-1]) for risk, values in shares.items()}
    told = ", ".join(f"{risk} {100 * value:.3g} %" for risk, value in last_shares.items())
    plot = Plot(
        title=f"At the last epoch, rows that change rank: {told}",
        alternative=f"Share of rows whose rank by loss differs from that an epoch before: {told}.",
        x_label="epoch of n steps",
        y_label="rows that changed rank since the last epoch",
        series=series,
        y_percent=True,
        y_range=(-0.02, 1.05),
        note="Mean of 5 seeds.",
    )
    settled = [
        Case(risk, value <= 0.01, f"{100 * value:.3g} % at epoch {len(shares[risk])}")
        for risk, value in last_shares.items()
    ]
    claims = [
        Claim("3", "There is a clear phase change after which disagreements between the true and "
              "estimated ordering are visually unnoticeable (but for the superquantile).",
              "at most 1 % of the rows change rank at the last of 64 epochs",
              [case for case in settled if "superquantile" not in case.name]),
        Claim("3", "For the superquantile, the sorting does not stabilize within 64 epochs.",
              "more than 1 % of the rows change rank at the last of 64 epochs",
              [replace(case, holds=not case.holds) for case in settled
               if "superquantile" in case.name]),
    ]  # fmt: skip
    lead = (
        "The simulated set, n = 800, LSVRG in the paper's setting with the step of Figure 2. The "
    )
    lead += "mean needs no order."
    return Chapter("Figure 3", "sorting sensitivity", lead, [draw(plot, "ranks")], claims)


def figure19(panels: Panels) -> Chapter:
    """LSVRG with and without smoothing."""
    ends = {}
    for (name, risk), found in panels.items():
        if risk != "mean":
            smoothed = [_smoothed(name, risk, each) for each in _smoothings(name)]
            ends[name, risk] = [found[LSVRG], *smoothed]
    same = "neither ends above ten times the other"
    matches = [
        Case(f"{name}, {risk}, {word}", _close(last(plain), last(other)),
             f"{last(other):.1e} against {last(plain):.1e} without")
        for (name, risk), (plain, *others) in ends.items()
        for word, other in zip(("entropy", "l2"), others, strict=True)
    ]  # fmt: skip
    alike = [
        Case(f"{name}, {risk}", _close(last(entropy), last(squares)),
             f"entropy {last(entropy):.1e}, l2 {last(squares):.1e}")
        for (name, risk), (_, entropy, squares) in ends.items()
    ]  # fmt: skip
    claims = [
        Claim("19", "The non-smooth and smooth implementations of LSVRG generally match.",
              same, matches, GENERALLY),
        Claim("19", "Negative entropy and squared Euclidean smoothing generally give the same.",
              same, alike, GENERALLY),
    ]  # fmt: skip
    labels = ("without smoothing", "entropy, nu = 0.001", "l2, nu = 0.001 n")
    figure = _end_figure("smoothing", ends, labels)
    lead = (
        "Suboptimality of the risk itself after 64 passes, each variant with its best step of the "
        "grid. The mean is left out: smoothing changes nothing there. The paper's further variant "
        "with random checkpoints is not repeated."
    )
    return Chapter("Figure 19", "smoothing", lead, [figure], claims)


def figure20(panels: Panels) -> Chapter:
    """What the precision costs in seconds."""
    figures = [_time_figure(name, panels) for name in SETS]
    gains, speeds = [], []
    for name in SETS:
        own = [found for (of, _), found in panels.items() if of == name]
        gain = max(min(last(f[SGD]), last(f[SRDA])) / last(f[LSVRG]) for f in own)
        speed = float(np.median([f[LSVRG].seconds / f[SGD].seconds for f in own]))
        wanted = {"yacht": 1.0, "concrete": 4.0}
        if name in wanted:
            orders = float(np.log10(gain))
            gains.append(Case(name, orders >= wanted[name] - 0.5, f"{orders:.1f} orders"))
        speeds.append(Case(name, speed >= 10**1.5, f"SGD is {speed:.2g} times as fast"))
    claims = [
        Claim("20", "LSVRG's suboptimality achieves about 1 order of magnitude improvement on "
              "yacht, up to about 4 orders on concrete, over SGD and SRDA.",
              "the largest gain of the four risks is at least that, but for half an order", gains),
        Claim("20", "SGD and SRDA run about 2 orders of magnitude faster across datasets.",
              "a run of SGD takes less than a thirtieth of the time of LSVRG, median of the risks",
              speeds),
    ]  # fmt: skip
    lead = (
        "Where a run of 64 passes ends, and its seconds on one core; one mark for each risk. The "
        "paper's program is in Python, where a step costs about the same however many rows it "
        "takes; here the steps are compiled, and a pass costs about the same in either method."
    )
    return Chapter("Figure 20", "run time", lead, figures, claims)


def fall_case(key: tuple[str, str], course: SolverRun, *, wanted: bool) -> Case:
    words = f"{course.method.split()[0]} falls {late_fall(course):.2g}-fold to {last(course):.1e}"
    return Case(", ".join(key), falls_linearly(course) == wanted, words)


def _ratio_case(key: tuple[str, str], found: Sequence[SolverRun], factor: float) -> Case:
    """Whether the best of the others ends at `factor` times LSVRG or above."""
    best = min(last(found[SGD]), last(found[SRDA]))
    own = last(found[LSVRG])
    return Case(
        ", ".join(key), factor * own <= best or own <= FLOOR, f"{own:.1e} against {best:.1e}"
    )


def _beaten_case(key: tuple[str, str], found: Sequence[SolverRun]) -> Case:
    others = max(last(found[SGD]), last(found[SRDA]))
    own = last(found[LSVRG])
    return Case(", ".join(key), own > others, f"{own:.1e} against {others:.1e}")


def _same_case(key: tuple[str, str], found: Sequence[SolverRun]) -> Case:
    own, other = found[LSVRG], found[SGD]
    close = _close(last(own), last(other))
    words = f"falls {late_fall(own):.2g}-fold to {last(own):.1e}, SGD ends at {last(other):.1e}"
    return Case(", ".join(key), close and not falls_linearly(own), words)


def _close(one: float, other: float) -> bool:
    """Within tenfold; below the floor all are alike."""
    one, other = max(one, FLOOR), max(other, FLOOR)
    return max(one, other) <= TENFOLD * min(one, other)


def _smoothings(name: str) -> tuple[Smoothing, Smoothing]:
    n_rows = read_problem(name, "mean").n_rows
    return Smoothing(SmoothingName.ENTROPY, 1e-3), Smoothing(SmoothingName.L2, 1e-3 * n_rows)


def _smoothed(name: str, risk: str, smoothing: Smoothing) -> SolverRun:
    """LSVRG on the smoothed risk, judged by the risk itself."""
    minimum = minimum_of(read_problem(name, risk))
    problem = read_problem(name, risk, smoothing=smoothing)
    make = paper_options(SolverName.LSVRG, problem.n_rows)
    return follow(str(smoothing.name), problem, make, best_step(problem, make), minimum)


def _rank_changes(risk: str, n_epochs: int = 64) -> np.ndarray:
    """Share of the rows that change rank, epoch by epoch, mean of the seeds."""
    problem = read_problem("simulated", risk)
    make = paper_options(SolverName.LSVRG, problem.n_rows)
    step = best_step(problem, make)
    runs = []
    for seed in SEEDS:
        options = replace(make(step, seed), track_ranks=True)
        found = solve(problem, options, Limits(tol=0.0, max_passes=2.5 * n_epochs))
        changes = [e.rank_changes for e in found.epochs if e.rank_changes is not None]
        runs.append(changes[:n_epochs])
    return np.asarray(np.mean(runs, axis=0) / problem.n_rows)


def course_figure(name: str, risk: str, found: Sequence[SolverRun]) -> Figure:
    series = []
    for k, course in enumerate(found):
        passes, values = middle(course)
        series.append(Series(METHODS[k], passes, values, k + 1))
    ends = ", ".join(f"{METHODS[k]} {last(course):.1e}" for k, course in enumerate(found))
    plot = Plot(
        title=f"{name}, {risk}",
        alternative=f"Suboptimality after 64 passes: {ends}.",
        x_label="passes over the rows",
        y_label="suboptimality",
        series=series,
        y_log=True,
    )
    return draw(plot, f"course-{name}-{risk.replace(':', '-').replace('.', '-')}")


def _end_figure(label: str, ends: Panels, names: Sequence[str] = METHODS) -> Figure:
    """Where each method ends, one line for each set and risk."""
    places = np.arange(len(ends), dtype=np.float64)
    series = [
        Series(name, np.array([last(found[k]) for found in ends.values()]), places, k + 1, "marks")
        for k, name in enumerate(names)
    ]
    lowest = sum(last(found[0]) <= min(map(last, found[1:3])) for found in ends.values())
    plot = Plot(
        title=f"{names[0]} ends lowest of the first three in {lowest} of {len(ends)}",
        alternative=f"Suboptimality after 64 passes of {', '.join(names)} for each set and risk.",
        x_label="suboptimality after 64 passes",
        y_label="set and risk",
        series=series,
        x_log=True,
        rows=[f"{name}, {risk}" for name, risk in ends],
    )
    return draw(plot, label)


def _time_figure(name: str, panels: Panels) -> Figure:
    own = [found for (of, _), found in panels.items() if of == name]
    series = [
        Series(METHODS[k], np.array([f[k].seconds for f in own]),
               np.array([last(f[k]) for f in own]), k + 1, "marks")
        for k in range(len(METHODS))
    ]  # fmt: skip
    slowest = max(float(np.max(each.x)) for each in series)
    plot = Plot(
        title=f"{name}: a run takes at most {1e3 * slowest:.3g} ms",
        alternative=f"Suboptimality against seconds of a run on {name}.",
        x_label="seconds of a run",
        y_label="suboptimality at its end",
        series=series,
        x_log=True,
        y_log=True,
    )
    return draw(plot, f"time-{name}")
