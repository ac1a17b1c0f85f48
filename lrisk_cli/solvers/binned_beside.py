"""What a sweep sums up beside the bins: the mean of the losses at another W, and losses at 0."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lrisk_cli.losses.base import Loss
from lrisk_cli.risk.binned import LossBins, loss_bins
from lrisk_cli.rows.sweeps import Part
from lrisk_cli.solvers.binned_sums import assemble, grams
from lrisk_cli.solvers.linear_systems import solve_lifted
from lrisk_cli.types import Array

# From part, margins and losses at some W to sums that add up.
Observe = Callable[[Part, Array, Array], Any]


@dataclass(frozen=True, slots=True, eq=False)
class MeanSums:
    """At the W of the mean's fit: n, sum of losses, of gradients (d, k), parts of l'' x x'."""

    n: int
    total: float
    G: Array
    grams: Array | None
    seen: Any

    def add(self, other: "MeanSums") -> "MeanSums":
        """Those of both."""
        return replace(
            self,
            n=self.n + other.n,
            total=self.total + other.total,
            G=self.G + other.G,
            grams=None if self.grams is None or other.grams is None else self.grams + other.grams,
            seen=None if self.seen is None else self.seen.add(other.seen),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Beside:
    """All that is summed beside the bins; None where it is not wanted.

    here, at_zero: what was observed at W and at 0; zero: losses at 0.
    """

    here: Any
    zero: LossBins | None
    at_zero: Any
    mean: MeanSums | None

    def add(self, other: "Beside") -> "Beside":
        """Those of both."""

        def both(one: Any, two: Any) -> Any:
            return None if one is None else one.add(two)

        return Beside(
            both(self.here, other.here), both(self.zero, other.zero),
            both(self.at_zero, other.at_zero), both(self.mean, other.mean),
        )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class MakeBeside:
    """Makes the sums of a part. mean: W of the mean's fit; curved: whether its matrix is wanted."""

    loss: Loss
    observe: Observe | None
    zero: bool
    mean: Array | None
    curved: bool

    def __call__(self, part: Part, Z: Array, losses: Array) -> Beside:
        loss, y = self.loss, part.y
        observe = self.observe or _nothing
        here, zero, at_zero = observe(part, Z, losses), None, None
        if self.zero:
            none = np.zeros_like(Z)
            of_none = loss.values(none, y)
            zero, at_zero = loss_bins(of_none), observe(part, none, of_none)
        if self.mean is None:
            return Beside(here, zero, at_zero, None)
        with np.errstate(all="ignore"):
            M = part.rows.margins(self.mean)
            own, g = loss.values_and_derivatives(M, y)
        sums = MeanSums(
            len(own), float(own.sum()), part.rows.combine(np.ascontiguousarray(g)),
            grams(loss, part.rows, M, y) if self.curved else None,
            observe(part, M, own),
        )  # fmt: skip
        return Beside(here, zero, at_zero, sums)


@dataclass(frozen=True, slots=True, eq=False)
class At:
    """A W to look at, and what is to be summed there."""

    W: Array
    make: MakeBeside


def look_beside(part: Part, at: At) -> Beside:
    """What is summed at W, without bins."""
    Z = part.rows.margins(at.W)
    return at.make(part, Z, at.make.loss.values(Z, part.y))


def _nothing(part: Part, Z: Array, losses: Array) -> None:
    """What an observer gives that looks at nothing."""


class MeanFit:
    """The mean's fit, one Newton step a sweep, until at most `tol` of its gain is left."""

    def __init__(self, loss: Loss, mu: float, W: Array, tol: float) -> None:
        self._loss, self._mu, self._tol = loss, mu, tol
        self._H: Array | None = None
        self.W, self.W_seen, self.done = W, W, False
        # What was seen at W_seen, for its figures.
        self.seen: Any = None
        self._best = np.inf

    @property
    def curved(self) -> bool:
        """Whether the next sweep is to bring the matrix: once is enough where it never changes."""
        return not self._loss.quadratic or self._H is None

    def take(self, sums: MeanSums, at_zero: float) -> None:
        """Look at the sums at W, and step on unless it is done."""
        n, mu, W = sums.n, self._mu, self.W
        value = sums.total / n + 0.5 * mu * float(np.sum(W * W))
        grad = (sums.G / n + mu * W).ravel()
        if sums.grams is not None:
            self._H = assemble(sums.grams / n, self._loss.n_outputs) + mu * np.eye(W.size)
        assert self._H is not None  # noqa: S101  (asked for at first)
        step = solve_lifted(self._H, grad[:, None])[:, 0]
        self.W_seen, self.seen = W, sums.seen
        left = 0.5 * float(grad @ step)
        if left <= self._tol * max(at_zero - value, 1e-6 * at_zero):
            self.done = True
            return
        if value > self._best and not self._loss.quadratic:
            step = step * 0.5
        self._best = min(self._best, value)
        self.W = W - step.reshape(W.shape)
