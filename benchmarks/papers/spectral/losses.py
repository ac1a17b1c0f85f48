"""Figures 4, 5 and 16 to 18 of the spectral-risk paper: quantiles of test losses."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from benchmarks.common.claims import GENERALLY, Case, Chapter, Claim, judge
from benchmarks.common.pool import run_units
from benchmarks.papers.spectral.drawing import course_figure
from benchmarks.papers.spectral.runs import REGRESSION, Effort, judge_on, minimum_of, read_problem
from benchmarks.papers.spectral.training import (
    EASY,
    HARD,
    MEDIUM,
    RULE_SUBLINEAR,
    Panels,
    linear_case,
    long_epochs,
)
from lrisk_cli.evaluation.quantiles import Comparison, compare
from lrisk_cli.reports.figures import Guide, Plot, Series, draw
from lrisk_cli.reports.html import Figure
from lrisk_cli.types import Array, Flags

LEVELS = np.arange(1.0, 201.0) / 200.0
TAIL = (LEVELS > 0.9) & (LEVELS < 1.0)
MEDIAN = int(np.flatnonzero(LEVELS == 0.5)[0])
SETTINGS = {"16": EASY, "17": MEDIUM, "18": HARD}

Compared = Mapping[tuple[str, str], Comparison]


def losses_on_test(name: str, risk: str, tol: float) -> Array:
    """Of the proved minimiser of a risk on a set."""
    return judge_on(name)(minimum_of(read_problem(name, risk), tol).W)


def compare_sets(what: str, names: Sequence[str], risks: Sequence[str], tol: float) -> Compared:
    """Test losses of each risk's minimiser beside those of ERM, by set and risk."""
    keys = [(name, risk) for name in names for risk in risks]
    found = dict(
        zip(keys, run_units(what, losses_on_test, [(*key, tol) for key in keys]), strict=True)
    )
    return {
        (name, risk): compare(
            [found[name, "mean"].copy(), losses.copy()], [found[name, "mean"], losses], LEVELS
        )
        for (name, risk), losses in found.items()
        if risk != "mean"
    }


def regression(effort: Effort) -> list[Chapter]:
    """Figures 16, 17 and 18."""
    chapters = []
    for number, risks in SETTINGS.items():
        compared = compare_sets(f"Figure {number}", REGRESSION, risks, max(effort.minimum, 1e-8))
        figures = [_difference_figure(number, name, compared) for name in REGRESSION]
        claims = [_median_claim(number, compared), _tail_claim(number, compared)]
        claims.append(_effect_claim(number, compared))
        if number == "17":
            claims += _superquantile_claims(compared)
        lead = (
            "Quantiles of the test losses of ERM minus those of the risk's minimiser, in mean test "
            "losses of ERM: above 0 the risk's minimiser loses less. Ours are proved to a gap of "
            "1e-8; the paper's are what its solvers had reached."
        )
        chapters.append(Chapter(f"Figure {number}", ", ".join(risks[1:]), lead, figures, claims))
    return chapters


def classes(
    number: str, name: str, panels: Panels, lead: str, said_of: str, effort: Effort
) -> Chapter:
    """Figure 5, or the stand-in for Figure 4: test losses and courses of one set."""
    own = {key: list(found) for key, found in panels.items() if key[0] == name}
    if name != "emotion":
        units = [(*key, effort) for key in own]
        for found, long in zip(own.values(), run_units("Figure 4, N = n", long_epochs, units),
                               strict=True):  # fmt: skip
            found.append(long)
    compared = compare_sets(f"Figure {number}", [name], MEDIUM, 1e-5)
    figures = [_difference_figure(number, name, compared)]
    figures += [
        course_figure(*key, found, label=f"f{number}-", by_gradients=True)
        for key, found in own.items()
    ]
    tails = {risk: _tail_change(each) for (_, risk), each in compared.items()}
    claims = [
        Claim(number, "On the test examples, the ERM minimizer incurs large losses in the upper "
              f"tail{said_of}.",
              "agrees if the mean of the worst tenth of the test losses is smaller than that of "
              "ERM by 1 % or more, contradicts if it is larger",
              [Case(risk, judge(agrees=change <= -0.01, contradicts=change > 0.0),
                    f"{100 * change:+.1f} %") for risk, change in tails.items()]),
        Claim(number, f"SGD and SRDA fail to converge due to bias and variance{said_of}.",
              RULE_SUBLINEAR,
              [linear_case(key, found[k], wanted=False) for key, found in own.items()
               for k in (1, 2)]),
    ]  # fmt: skip
    if name == "emotion":
        claims.append(_alike_claim(tails))
    else:
        claims += [*_camera_claims(compared, said_of), _length_claim(own, said_of)]
    title = name if name == "emotion" else "iWildCam, by a stand-in"
    return Chapter(f"Figure {number}", title, lead, figures, claims)


def _alike_claim(tails: Mapping[str, float]) -> Claim:
    """What is said of Figure 5 alone."""
    spread = max(tails.values()) - min(tails.values())
    told = ", ".join(f"{risk} {100 * change:+.1f} %" for risk, change in tails.items())
    words = "The superquantile, extremile and ESRM all exhibit similar, stable behavior."
    rule = "agrees if their changes of the worst tenth lie within 10 points, contradicts if more "
    says = judge(agrees=spread <= 0.1, contradicts=spread > 0.2)
    return Claim("5", words, rule + "than 20 points apart", [Case("all three", says, told)])


def _camera_claims(compared: Compared, said_of: str) -> list[Claim]:
    """What is said of Figure 4 alone, by the fraction of the levels at which a risk loses less."""
    ahead = {risk: _relative(each) > 0.0 for (_, risk), each in compared.items()}
    superquantile = ahead.pop("superquantile:0.5")
    parts = (
        ("above 0.95", superquantile[(LEVELS > 0.95) & (LEVELS < 1.0)], True),
        ("below 0.95", superquantile[LEVELS < 0.95], False),
    )
    return [
        _median_claim("4", compared, said_of),
        Claim("4", "The superquantile controls tail error at very high quantiles (p > 0.95), but "
              f"generally underperforms for the rest of the loss distribution{said_of}.",
              "agrees if it loses less than ERM at three quarters of the levels above 0.95, and at "
              "a quarter or less of those below; contradicts if the other way round",
              [_levels_case(name, levels, less) for name, levels, less in parts]),
        Claim("4", "The extremile and ESRM have generally better performance than ERM throughout "
              f"the loss distribution{said_of}.",
              "agrees if they lose less at three quarters of the levels, contradicts if at a "
              "quarter or fewer",
              [_levels_case(risk, levels[LEVELS < 1.0], True) for risk, levels in ahead.items()]),
    ]  # fmt: skip


def _length_claim(panels: Panels, said_of: str) -> Claim:
    """What is said of the length of epochs: LSVRG with N = 100 first, with N = n last."""
    cases = []
    for (_, risk), found in panels.items():
        short, long = found[0].last, found[-1].last
        says = judge(agrees=2.0 * short <= long, contradicts=2.0 * long <= short)
        cases.append(Case(risk, says, f"{short:.1e} with N = 100, {long:.1e} with N = n"))
    words = (
        "The large n regime exacerbates the bias issues when the epoch length is set to n; a "
        f"smaller one of 100 is used instead{said_of}."
    )
    rule = "agrees if LSVRG with N = 100 ends at half or less of where it ends with N = n, "
    return Claim("4", words, rule + "contradicts if the other way round", cases)


def _levels_case(name: str, ahead: Flags, less: bool) -> Case:
    """Whether a risk loses less than ERM at most of some levels, or more, as said."""
    share = float(np.mean(ahead))
    most, few = share >= 0.75, share <= 0.25
    says = judge(agrees=most if less else few, contradicts=few if less else most)
    return Case(name, says, f"ahead of ERM at {100 * share:.0f} % of the levels")


def _tail_change(comparison: Comparison) -> float:
    """The mean of the worst tenth of the test losses over that of ERM, less 1."""
    return float(comparison.tail and comparison.models[0].tail / comparison.tail - 1.0)


def _relative(comparison: Comparison) -> Array:
    """Differences of the quantiles in mean losses of ERM."""
    return np.asarray(comparison.models[0].difference.values / comparison.mean)


def _cases(compared: Compared, measure: Callable[[Comparison], float]) -> dict[str, float]:
    return {", ".join(key): measure(each) for key, each in compared.items()}


def _median_claim(number: str, compared: Compared, said_of: str = "") -> Claim:
    changes = _cases(compared, lambda each: float(_relative(each)[MEDIAN]))
    cases = [
        Case(name, judge(agrees=abs(change) <= 0.1, contradicts=abs(change) > 0.2),
             f"{100 * change:+.1f} %")
        for name, change in changes.items()
    ]  # fmt: skip
    words = "The median test loss is similar between the L-risk minimizers and standard ERM"
    rule = "agrees if the medians differ by no more than 10 % of the mean test loss of ERM, "
    return Claim(number, f"{words}{said_of}.", rule + "contradicts if by more than 20 %", cases)


def _tail_claim(number: str, compared: Compared) -> Claim:
    """Extremile and ESRM only."""
    smooth = {key: each for key, each in compared.items() if "superquantile" not in key[1]}
    shares = _cases(smooth, lambda each: float(np.mean(_relative(each)[TAIL] > 0.0)))
    cases = [
        Case(name, judge(agrees=share == 1.0, contradicts=share < 0.75),
             f"ahead at {100 * share:.0f} % of the levels")
        for name, share in shares.items()
    ]  # fmt: skip
    words = "The extremile and ESRM convincingly dominate ERM in the region (0.9, 1)."
    rule = "agrees if they lose less at all of the levels 0.905, 0.91, ..., 0.995, contradicts if "
    return Claim(number, words, rule + "at fewer than three quarters of them", cases)


def _effect_claim(number: str, compared: Compared) -> Claim:
    extremile, esrm = SETTINGS[number][2:]
    cases = []
    for name in REGRESSION:
        gains = [
            float(np.mean(_relative(compared[name, risk])[TAIL])) for risk in (extremile, esrm)
        ]
        words = f"{100 * gains[0]:+.1f} % against {100 * gains[1]:+.1f} %"
        more = abs(gains[0]) - abs(gains[1])
        cases.append(Case(name, judge(agrees=more > 0.01, contradicts=more < -0.01), words))
    words = "Of the two, the extremile has the more pronounced effect in (0.9, 1)."
    rule = "agrees if its mean difference to ERM there is larger in size by more than a point of "
    return Claim(number, words, rule + "the mean test loss, contradicts if smaller by more", cases)


def _superquantile_claims(compared: Compared) -> list[Claim]:
    changes = {
        name: float(np.mean(_relative(compared[name, "superquantile:0.5"])[TAIL]))
        for name in REGRESSION
    }
    cases = [
        Case(name, judge(agrees=value <= 0.0, contradicts=value > 0.02), f"{100 * value:+.1f} %")
        for name, value in changes.items()
    ]
    energy = changes["energy"]
    return [
        Claim("17", "The superquantile at q = 0.5 generally fails to control test risk.",
              "agrees if its mean difference to ERM in (0.9, 1) is not positive, contradicts if "
              "it gains more than 2 %", cases, GENERALLY),
        Claim("17", "It even substantially underperforms in comparison to ERM in energy.",
              "agrees if its mean difference there is below -10 % of the mean test loss of ERM, "
              "contradicts if above -2 %",
              [Case("energy", judge(agrees=energy < -0.1, contradicts=energy > -0.02),
                    f"{100 * energy:+.1f} %")]),
    ]  # fmt: skip


def _difference_figure(number: str, name: str, compared: Compared) -> Figure:
    """One line for each risk; the largest loss, one row, is left out."""
    series, tails = [], []
    for (of, risk), comparison in compared.items():
        if of == name:
            shown = LEVELS < 1.0
            values = _relative(comparison)[shown]
            series.append(Series(risk, LEVELS[shown], values, 1 + len(series)))
            tails.append(f"{risk} {100 * _tail_change(comparison):+.1f} %")
    plot = Plot(
        title=f"{name}, the worst tenth against ERM: {', '.join(tails)}",
        alternative=f"Differences of the test loss quantiles to ERM on {name}; change of the mean "
        f"loss of the worst tenth: {', '.join(tails)}.",
        x_label="p, the share of test rows with losses no larger",
        y_label="difference to ERM, in its mean losses",
        series=series,
        y_percent=True,
        guides=[Guide("y", 0.0)],
    )
    return draw(plot, f"quantiles-{number}-{name}")
