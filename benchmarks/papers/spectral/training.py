"""Figures 2, 10 to 15 and 20 of the spectral-risk paper, and 3: how its solvers get along."""

from collections.abc import Mapping, Sequence

import numpy as np

from benchmarks.common.claims import GENERALLY, OFTEN, Case, Chapter, Claim, judge
from benchmarks.common.pool import run_units
from benchmarks.papers.spectral.drawing import METHODS, course_figure, time_figure
from benchmarks.papers.spectral.runs import (
    CLASSES,
    EPOCH_LENGTHS,
    LSVRG,
    SGD,
    SRDA,
    Effort,
    Setting,
    SolverRun,
    follow,
    minimum_of,
    own,
    read_problem,
    travel,
)
from lrisk_cli.names import SolverName
from lrisk_cli.reports.html import Facts, Pictures
from lrisk_cli.reports.pictures import draw_picture
from lrisk_cli.types import Array

SETTINGS = (LSVRG, SGD, SRDA)
MEDIUM = ("mean", "superquantile:0.5", "extremile:2", "esrm:1")
EASY = ("mean", "superquantile:0.25", "extremile:1.5", "esrm:0.5")
HARD = ("mean", "superquantile:0.75", "extremile:2.5", "esrm:2")
# Below this, what is left is rounding and the width of the proof of the minimum.
FLOOR = 1e-9
# From three quarters of the epochs to all: a linear course that falls tenfold in half of them, and
# 1/t^2. Earlier epochs do not tell: a course that stalls late is steep before.
LINEAR, SUBLINEAR = 10.0**0.5, (4.0 / 3.0) ** 2
TENFOLD = 10.0

Key = tuple[str, str]
Panels = Mapping[Key, Sequence[SolverRun]]


def panel(name: str, risk: str, penalty: float, effort: Effort, ours: bool) -> list[SolverRun]:
    """The three methods on one set and risk, and lrisk's own LSVRG if wanted."""
    problem = read_problem(name, risk, penalty)
    least = minimum_of(problem, proof_tol(name, effort)).objective
    pairs = zip(METHODS, settings_for(name, problem.n_rows), strict=True)
    found = [follow(method, problem, setting, least, effort) for method, setting in pairs]
    return [*found, own(problem, least, effort)] if ours else found


def proof_tol(name: str, effort: Effort) -> float:
    """The gap to which the minimum of a set is proved."""
    return effort.minimum if name not in CLASSES else max(effort.minimum, 1e-7)


def settings_for(name: str, n_rows: int) -> tuple[Setting, ...]:
    """The three methods; LSVRG with the epochs that the paper has for the set."""
    if name not in EPOCH_LENGTHS:
        return SETTINGS
    length = EPOCH_LENGTHS[name] / n_rows
    return Setting(SolverName.LSVRG, length, by_gradients=True), SGD, SRDA


def train(
    what: str,
    names: Sequence[str],
    risks: Sequence[str],
    penalty: float,
    effort: Effort,
    *,
    ours: bool = False,
) -> Panels:
    """Every method on every set and risk, mu = penalty / n."""
    keys = [(name, risk) for name in names for risk in risks]
    units = [(*key, penalty, effort, ours) for key in keys]
    return dict(zip(keys, run_units(what, panel, units), strict=True))


def long_epochs(name: str, risk: str, effort: Effort) -> SolverRun:
    """LSVRG with epochs of n steps where the paper has shorter ones, on the same budget."""
    problem = read_problem(name, risk)
    least = minimum_of(problem, proof_tol(name, effort)).objective
    return follow("lsvrg, N = n", problem, Setting(SolverName.LSVRG, by_gradients=True), least,
                  effort)  # fmt: skip


def linear_case(key: Key, course: SolverRun, *, wanted: bool) -> Case:
    """Whether a course falls linearly, or whether it does not, as wanted."""
    fall, end = course.late_fall, course.last
    linear, sublinear = fall >= LINEAR or end <= FLOOR, fall <= SUBLINEAR and end > FLOOR
    says = judge(
        agrees=linear if wanted else sublinear, contradicts=sublinear if wanted else linear
    )
    words = (
        f"{course.method} falls {fall:.2g}-fold in the last quarter, {course.half_fall:.2g}-fold "
        f"in the last half, to {end:.1e}"
    )
    return Case(", ".join(key), says, words)


def falls_tenfold(course: SolverRun) -> bool:
    """The rule of earlier versions for a linear course, which has no room for an unclear one."""
    return course.half_fall >= TENFOLD or course.last <= FLOOR


def _earlier_rule(panels: Panels) -> Facts:
    """How many courses are linear by that rule."""
    smooth = [found[0] for key, found in panels.items() if "superquantile" not in key[1]]
    others = [course for found in panels.values() for course in found[1:3]]
    n_linear = sum(map(falls_tenfold, smooth))
    n_sublinear = sum(not falls_tenfold(course) for course in others)
    return Facts([
        ("another rule", f"Linear is a course that falls {TENFOLD:g}-fold or more from half of the "
         f"epochs to all, or ends below {FLOOR:g}; sublinear is every other. It takes a course "
         "that stalls late for a linear one."),
        ("LSVRG for ERM, extremile and ESRM", f"linear in {n_linear} of {len(smooth)} cases"),
        ("SGD and SRDA", f"sublinear in {n_sublinear} of {len(others)} cases"),
    ])  # fmt: skip


def lower_case(key: Key, found: Sequence[SolverRun], factor: float = 1.0) -> Case:
    """Whether LSVRG ends at 1/factor of both others or less, seed by seed."""
    own_ends = found[0].ends
    others = np.minimum(found[1].ends, found[2].ends)
    below = (factor * own_ends <= others) & (own_ends < others)
    says = judge(agrees=bool(below.all()), contradicts=not below.any())
    return Case(", ".join(key), says, f"{found[0].last:.1e} against {np.median(others):.1e}")


RULE_LINEAR = (
    f"agrees if the median falls {LINEAR:.2f}-fold or more in the last quarter of the epochs (10-"
    f"fold in half of them at this rate), or ends below {FLOOR:g}; contradicts if it falls "
    f"{SUBLINEAR:.2f}-fold or less, as 1/t^2 does"
)
RULE_SUBLINEAR = (
    f"agrees if the median falls {SUBLINEAR:.2f}-fold or less in the last quarter of the epochs, "
    f"as 1/t and 1/t^2 do; contradicts if {LINEAR:.2f}-fold or more (10-fold in half of the epochs "
    f"at this rate), or if it ends below {FLOOR:g}"
)
RULE_LOWER = "agrees if LSVRG ends below both with every seed, contradicts if with none"


def figure2(panels: Panels) -> Chapter:
    """The courses, and what the paper reads from them."""
    figures = [course_figure(*key, found) for key, found in panels.items()]
    smooth = {key: found for key, found in panels.items() if "superquantile" not in key[1]}
    kinked = {key: found for key, found in panels.items() if "superquantile" in key[1]}
    claims = [
        Claim("2", "LSVRG exhibits empirical linear convergence for ERM, extremile and ESRM.",
              RULE_LINEAR,
              [linear_case(key, found[0], wanted=True) for key, found in smooth.items()]),
        Claim("2", "SGD and SRDA exhibit sublinear convergence.", RULE_SUBLINEAR,
              [linear_case(key, found[k], wanted=False)
               for key, found in panels.items() for k in (1, 2)]),
        Claim("2", "LSVRG often vastly outperforms SGD and SRDA (ERM, extremile, ESRM).",
              "agrees if LSVRG ends at a tenth of both or less with every seed, contradicts if "
              "with none", [lower_case(key, found, 10.0) for key, found in smooth.items()], OFTEN),
        Claim("2", "On the superquantile, LSVRG exhibits the same sublinear convergence as SGD.",
              RULE_SUBLINEAR,
              [linear_case(key, found[0], wanted=False) for key, found in kinked.items()]),
        Claim("2", "Overall, LSVRG is the best or close to the best algorithm across all tasks.",
              "agrees if its median ends at no more than twice the better of both, contradicts if "
              "at ten times or more", [_close_case(key, found) for key, found in panels.items()]),
    ]  # fmt: skip
    lead = (
        "Suboptimality after each of 64 epochs, the median of five seeds as a line, least and most "
        "as a band; the step chosen from the paper's grid by its rule. An epoch draws as many rows "
        "as there are; evaluations and proofs are not counted. Figures 10 and 14 show the same."
    )
    blocks = [*figures, _earlier_rule(panels)]
    return Chapter("Figure 2, 10 and 14", "training on four sets, mu = 1/n", lead, blocks, claims)


def _close_case(key: Key, found: Sequence[SolverRun]) -> Case:
    mine, best = found[0].last, min(found[1].last, found[2].last)
    says = judge(agrees=mine <= 2.0 * best or mine <= FLOOR, contradicts=mine >= 10.0 * best)
    return Case(", ".join(key), says, f"{mine:.1e} against {best:.1e}")


def variants(number: str, what: str, panels: Panels) -> Chapter:
    """Figures 11, 12, 13 and 15."""
    figures = [
        course_figure(*key, found, label=f"f{number}-", every=2) for key, found in panels.items()
    ]
    words = "The same rankings of algorithms result: LSVRG generally outperforms SGD and SRDA."
    claims = [Claim(number, words, RULE_LOWER,
                    [lower_case(*each) for each in panels.items()], GENERALLY)]  # fmt: skip
    if number == "15":
        hard = [(key, found) for key, found in panels.items() if "super" in key[1]]
        claims.append(
            Claim(number, "For the 0.75-superquantile, LSVRG suffers from slow convergence and is "
                  "outperformed by SGD and SRDA.",
                  "agrees if LSVRG ends above both with every seed, contradicts if with none",
                  [_above_case(*each) for each in hard])
        )  # fmt: skip
    lead = "As Figure 2, with another penalty or other risks; every second epoch is drawn."
    return Chapter(f"Figure {number}", what, lead, figures, claims)


def _above_case(key: Key, found: Sequence[SolverRun]) -> Case:
    above = found[0].ends > np.maximum(found[1].ends, found[2].ends)
    says = judge(agrees=bool(above.all()), contradicts=not above.any())
    others = max(found[1].last, found[2].last)
    return Case(", ".join(key), says, f"{found[0].last:.1e} against {others:.1e}")


def rank_map(risk: str, step: float, seed: int, n_epochs: int) -> Array:
    """How far each place of the order moved since the last epoch, in ranks. (epochs, n)."""
    problem = read_problem("simulated", risk)
    orders: list[Array] = []
    travel(
        problem,
        LSVRG,
        step,
        seed,
        n_epochs,
        lambda losses: orders.append(np.argsort(losses, kind="stable")),
    )
    ranks = np.argsort(orders, axis=1)
    moved = np.abs(np.diff(ranks, axis=0))
    return np.array([row[order] for row, order in zip(moved, orders[1:], strict=True)])


def figure3(panels: Panels, effort: Effort) -> Chapter:
    """Heat maps of the simulated set: by place in the order, epoch by epoch."""
    risks = [risk for risk in MEDIUM if risk != "mean"]
    steps = {risk: panels["simulated", risk][0].step for risk in risks}
    keys = [(risk, steps[risk], seed, effort.epochs) for risk in risks for seed in effort.seeds]
    maps = dict(zip(keys, run_units("Figure 3", rank_map, keys), strict=True))
    first = [maps[key] for key in keys if key[2] == effort.seeds[0]]
    pictures = [
        draw_picture(_binned(found), 0.0, 1.0, risk, "epochs from left to right")
        for risk, found in zip(risks, first, strict=True)
    ]
    settled, moving = [], []
    for risk in risks:
        tail = max(1, effort.epochs // 8)
        ends = [float(np.mean(maps[key][-tail:] > 0)) for key in keys if key[0] == risk]
        words = f"{100 * min(ends):.3g} to {100 * max(ends):.3g} % of the places"
        if "superquantile" in risk:
            says = judge(agrees=min(ends) > 0.01, contradicts=max(ends) <= 0.01)
            moving.append(Case(risk, says, words))
        else:
            says = judge(agrees=max(ends) <= 0.01, contradicts=min(ends) > 0.01)
            settled.append(Case(risk, says, words))
    rule = "at most 1 % of the places change in each of the last epochs (an eighth), on average"
    claims = [
        Claim("3", "There is a clear phase change after which disagreements between the true and "
              "estimated ordering are visually unnoticeable (but for the superquantile).",
              f"agrees if with every seed {rule}; contradicts if with none", settled),
        Claim("3", "For the superquantile, the sorting does not stabilize within 64 epochs.",
              f"contradicts if with every seed {rule}; agrees if with none", moving),
    ]  # fmt: skip
    lead = (
        "The simulated set, n = 800, LSVRG with the step of Figure 2, seed 1. Each column is an "
        "epoch, each line eight places of the order, least losses on top; ink grows with the "
        "number of ranks that rows moved since the epoch before. The mean needs no order."
    )
    return Chapter(
        "Figure 3",
        "sorting sensitivity",
        lead,
        [Pictures("Changes of rank", pictures, wide=True)],
        claims,
    )


def _binned(moved: Array) -> Array:
    """Means over eight places, on a scale where one rank is visible. (places / 8, epochs)."""
    n_epochs, n = moved.shape
    bins = moved[:, : n // 8 * 8].reshape(n_epochs, n // 8, 8).mean(axis=2).T
    return np.asarray(np.log1p(bins) / np.log1p(max(float(bins.max()), 1.0)))


def figure20(panels: Panels) -> Chapter:
    """What the precision costs in seconds of steps."""
    names = list(dict.fromkeys(name for name, _ in panels))
    figures = [time_figure(name, panels) for name in names]
    gains, speeds = [], []
    for name in names:
        mine = [found for (of, _), found in panels.items() if of == name]
        orders = float(np.log10(max(min(f[1].last, f[2].last) / f[0].last for f in mine)))
        speed = float(np.log10(np.median([f[0].seconds / f[1].seconds for f in mine])))
        wanted = {"yacht": 1.0, "concrete": 4.0}.get(name)
        if wanted is not None:
            says = judge(agrees=abs(orders - wanted) <= 0.5, contradicts=abs(orders - wanted) > 1.0)
            gains.append(Case(name, says, f"{orders:.1f} orders, printed {wanted:g}"))
        says = judge(agrees=abs(speed - 2.0) <= 0.5, contradicts=speed < 1.0)
        speeds.append(Case(name, says, f"SGD is {10**speed:.2g} times as fast"))
    claims = [
        Claim("20", "LSVRG's suboptimality achieves about 1 order of magnitude improvement on "
              "yacht, up to about 4 orders on concrete, over SGD and SRDA.",
              "agrees if the largest gain of the four risks is within half an order of that, "
              "contradicts if more than one order away", gains),
        Claim("20", "SGD and SRDA run about 2 orders of magnitude faster across datasets.",
              "agrees if the steps of SGD take a thirtieth to a three-hundredth of the time of "
              "LSVRG, median of the risks; contradicts if more than a tenth", speeds),
    ]  # fmt: skip
    lead = (
        "Where a run of 64 epochs ends, and the CPU seconds of its steps on one core (of LSVRG "
        "with its sorts); one mark for each risk. The paper's program is in Python, where a step "
        "costs about the same however many rows it takes; here steps are compiled, and an epoch "
        "costs about the same in either method. iWildCam is left out: its training rows are not "
        "public."
    )
    return Chapter("Figure 20", "run time", lead, figures, claims)
