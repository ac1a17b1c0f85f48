"""Risks of groups of rows: the risk of the worst group, or the extremile of the group means.

Letters: l (n,) losses, R_g the risk of the losses of group g, a (G,) weights of the groups, q (n,)
weights of the rows within their groups, each group's with the sum 1, lam = a q the weights of the
rows, p (G,) the fractions of the rows in the groups, by mass where rows have masses.

    R = max over a in A of sum_g a_g R_g,   A all weights with the sum 1 for worst-group,
                                            those that the extremile allows masses p otherwise.
"""

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.errors import UsageError, opt
from lrisk_cli.names import GROUP_RISKS, RISK_ALIASES, RISK_ANSWERS, RISKS
from lrisk_cli.native.kernels import core
from lrisk_cli.parameters import parse_parameter
from lrisk_cli.risk.density import density_of
from lrisk_cli.risk.row_weights import RowWeighter, Weighed, Weigher
from lrisk_cli.risk.spectrum import Spectrum, parse_risk
from lrisk_cli.risk.weighted import Masses, WeightedRowWeighter, make_masses, repair_masses
from lrisk_cli.types import Array

WORST, EXTREMILE = "worst-group", "group-extremile"
EPS = float(np.finfo(np.float64).eps)
# Groups of less weight than this are taken to have none: what divides by it keeps its digits.
LEAST = 1e-200


@dataclass(frozen=True, slots=True)
class GroupRisk:
    """A risk of groups, spelled `worst-group`, `worst-group:RISK` or `group-extremile:R`.

    within: the risk of the rows of a group. over: what weighs the groups by the order of their
    risks, None where the worst one counts alone.
    """

    within: Spectrum
    over: Spectrum | None = None

    def __str__(self) -> str:
        if self.over is not None:
            return str(self.over).replace(self.over.name, EXTREMILE, 1)
        return WORST if self.within.name == "mean" else f"{WORST}:{self.within}"

    @property
    def name(self) -> str:
        """The name without its parameter."""
        return WORST if self.over is None else EXTREMILE

    @property
    def parameter(self) -> float | None:
        """That of the risk over groups, or within them."""
        return self.within.parameter if self.over is None else self.over.parameter

    @property
    def rising(self) -> bool:
        """Falling risks are refused when a risk of groups is read."""
        return True

    @property
    def flat(self) -> bool:
        """Whether this is the mean of all rows, under any name."""
        return self.over is not None and self.over.flat


Risk = Spectrum | GroupRisk


def parse_fit_risk(text: str) -> Risk:
    """A risk of rows or of groups; a wrong one is refused with a sentence."""
    name, _, argument = text.strip().partition(":")
    name = name.strip().lower()
    if name not in GROUP_RISKS:
        near = get_close_matches(name, GROUP_RISKS, n=1)
        if near and name not in {*RISKS, *RISK_ALIASES, *RISK_ANSWERS}:
            raise UsageError(f"unknown risk {text!r}; did you mean {near[0]}?")
        return parse_risk(text)
    if name == EXTREMILE:
        choice = GROUP_RISKS[EXTREMILE]
        power = parse_parameter(text, EXTREMILE, argument, choice.parameter)
        return GroupRisk(Spectrum("mean"), Spectrum("extremile", power))
    if not argument:
        return GroupRisk(Spectrum("mean"))
    if argument.partition(":")[0].strip().lower() in GROUP_RISKS:
        raise UsageError(
            f"{name}:{argument}: groups have no groups of their own; write a risk of rows, for "
            f"example {opt('risk', f'{WORST}:superquantile:0.9')}"
        )
    within = parse_risk(argument)
    if not within.rising:
        raise UsageError(
            f"{name}:{argument}: {within} falls with the loss, so the worst group by it has no "
            f"proof; choose a rising risk, for example {opt('risk', f'{WORST}:superquantile:0.9')}"
        )
    return GroupRisk(within)


class Groups:
    """The rows by group. codes: (n,) from 0 to G - 1, each of which occurs.

    order: the rows group after group; bounds: (G + 1,) where each begins in it, and the end; parts:
    the rows of each group.
    """

    def __init__(self, codes: NDArray[np.intp], masses: Masses | None = None) -> None:
        self.codes = codes
        sizes = np.bincount(codes)
        self.n_groups = len(sizes)
        self.order = np.argsort(codes, kind="stable")
        self.bounds = np.concatenate(([0], np.cumsum(sizes)))
        self.parts = [
            self.order[start:end]
            for start, end in zip(self.bounds[:-1], self.bounds[1:], strict=True)
        ]
        self.within: tuple[Masses | None, ...] = tuple(
            None if masses is None else masses.take(rows) for rows in self.parts
        )
        heavy = sizes if masses is None else [each.total for each in self.within if each]
        self.masses = make_masses(np.array(heavy, dtype=np.float64))
        self.even = np.empty(len(codes))
        for rows, each in zip(self.parts, self.within, strict=True):
            self.even[rows] = 1.0 / len(rows) if each is None else each.even

    @property
    def fractions(self) -> Array:
        """p. (G,)."""
        return self.masses.even

    def sums(self, weights: Array, values: Array) -> Array:
        """sum of weights times values over the rows of each group. (G,)."""
        w, v = weights[self.order], values[self.order]
        return np.array([
            core.compensated_dot(w[start:end], v[start:end])
            for start, end in zip(self.bounds[:-1], self.bounds[1:], strict=True)
        ])  # fmt: skip

    def totals(self, weights: Array) -> Array:
        """The sum of the weights of each group. (G,)."""
        return self.sums(weights, np.ones(len(weights)))

    def spread(self, of_groups: Array) -> Array:
        """The value of its group for each row. (n,)."""
        values: Array = of_groups[self.codes]
        return values


@dataclass(frozen=True, slots=True)
class GroupedRisk:
    """A risk of groups for known rows."""

    risk: GroupRisk
    groups: Groups

    @property
    def steepest(self) -> float:
        """A bound on the weight of a unit of mass wherever it is."""
        lightest = float(self.groups.masses.values.min())
        within = density_of(self.risk.within).largest
        if self.risk.over is None:
            return within / lightest
        return density_of(self.risk.over).largest / self.groups.masses.total

    def weigher(self) -> "GroupWeigher":
        """Computes the risk and the row weights of losses."""
        return GroupWeigher(self)


class GroupWeigher:
    """Risk and row weights of the losses of the same rows; equal group risks share their weight."""

    def __init__(self, of: GroupedRisk) -> None:
        self._of = of
        groups, within = of.groups, of.risk.within
        self._weighers: list[Weigher] = []
        if not within.flat:
            for rows, masses in zip(groups.parts, groups.within, strict=True):
                self._weighers.append(
                    RowWeighter(within, within.weights(len(rows)))
                    if masses is None
                    else WeightedRowWeighter(within, masses)
                )
        over = of.risk.over
        self._over = None if over is None else WeightedRowWeighter(over, groups.masses)

    def weigh(self, losses: Array) -> Weighed:
        """The risk, and the weights that attain it."""
        groups = self._of.groups
        q = groups.even
        if self._weighers:
            q = np.empty(len(losses))
            for rows, weigher in zip(groups.parts, self._weighers, strict=True):
                q[rows] = weigher.weigh(losses[rows]).lam
        risks = groups.sums(q, losses)
        a = self.group_weights(risks)
        value = float(core.compensated_dot(a, risks))
        return Weighed(value, value, groups.spread(a) * q, None)

    def group_weights(self, risks: Array) -> Array:
        """a for these group risks. (G,)."""
        if self._over is not None:
            return self._over.weigh(risks).lam
        worst = risks == risks.max()
        return np.asarray(worst / worst.sum(), dtype=np.float64)


def repair_groups(
    lam: Array, of: GroupedRisk, repair_rows: Callable[[Array, Array], tuple[Array, float]]
) -> tuple[Array, float]:
    """Weights near lam that are allowed up to rounding, and by which fraction they may exceed it.

    a are the sums of lam over the groups and q what is left; both are repaired, q group by group,
    by `repair_rows` with the weights of the spectrum where rows have no masses. With excesses e_a
    and e_g, lam.l <= sum_g a_g (1 + e_g) R_g <= (1 + max e_g) (1 + e_a) R for losses l >= 0; the
    product of a and q is rounded once.
    """
    groups, within, over = of.groups, of.risk.within, of.risk.over
    lam = np.maximum(lam, 0.0)
    a, most = groups.totals(lam), 0.0
    a[a < LEAST] = 0.0
    q = groups.even.copy()
    for g, (rows, masses) in enumerate(zip(groups.parts, groups.within, strict=True)):
        if a[g] == 0.0:
            continue
        if masses is None:
            part, excess = repair_rows(lam[rows] / a[g], within.weights(len(rows)))
        else:
            part, excess = repair_masses(lam[rows] / a[g], within, masses)
        q[rows], most = part, max(most, excess)
    if over is not None:
        a, beyond = repair_masses(a, over, groups.masses)
    else:
        total = float(core.compensated_dot(a, np.ones(len(a))))
        a, beyond = (a / total if total > 0.0 else groups.fractions), 4.0 * EPS
    return groups.spread(a) * q, (1.0 + most) * (1.0 + beyond) - 1.0 + 4.0 * EPS
