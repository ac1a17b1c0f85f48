"""Alternation for falling risks: weights for fixed W, then the weighted fit for fixed weights.

A falling risk is a minimum, R(W) = min over lam in P(sigma) of lam.l(W), so neither step raises
F(W) = R(W) + mu/2 ||W||^2 and the search ends at a stationary point: W minimises lam.l + mu/2
||.||^2 for its own weights lam. For squared losses and the subquantile this is the concentration
step of least trimmed squares. Smoothing adds nu Omega(lam) to what is minimised, and changes
nothing else. F is not convex: the best of several starts is kept, and nothing is proved.
"""

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.certificate import weighted_minimiser
from lrisk_cli.problem import Point, Problem
from lrisk_cli.progress import Report, silent
from lrisk_cli.solvers.outcome import Course, Ended, Limits, Solution
from lrisk_cli.solvers.starts import Start, starts

Array = NDArray[np.float64]

# A weighted fit may leave this share of what the last round gained, as the weights will change.
COARSE = 0.01
MAX_ROUNDS = 500
# Objectives that differ by this share are equal but for rounding.
SAME = 1e-12
ZERO = "zero coefficients"


def solve_trimmed(
    problem: Problem,
    limits: Limits,
    *,
    majority: Array | None = None,
    track_ranks: bool = False,
    report: Report = silent,
) -> Solution:
    """The best stationary point of all starts; the first stop where a limit is reached.

    majority: (n,) how surely each row belongs to those that agree; a start of its own.
    """
    search = _Search(problem, Course(problem, limits, report, track_ranks=track_ranks))
    return search.run(starts(problem, majority))


class _Search:
    """The state of one minimisation."""

    def __init__(self, problem: Problem, course: Course) -> None:
        self.problem, self.course = problem, course
        self.why = ""

    def run(self, begin: list[Start]) -> Solution:
        course = self.course
        zero = self._at(np.zeros(self.problem.shape))
        course.begin(zero.objective, zero.smoothed)
        course.note(zero.objective, zero.rank_changes)
        best = ZERO
        for start in begin:
            if course.starts and not self.why:
                # A limit cuts what is still to do, not what is done.
                self.why = course.exhausted() or ""
            if self.why:
                break
            if self._better(start):
                best = start.name
        if best == ZERO and not self.why:
            # Nothing is better than no coefficients: from there it cannot get worse.
            self._better(Start(ZERO, zero.lam))
        if not self.why:
            course.settled = _best_of(course.starts, best)
        return course.solution(self.why)

    def _better(self, start: Start) -> bool:
        """Whether the search from here led to the best point so far, by more than rounding."""
        before = self.course.best_smoothed
        self.course.starts = (*self.course.starts, self._descend(start))
        return self.course.best_smoothed < before - SAME * abs(before)

    def _at(self, W: Array) -> Point:
        self.course.passes += 1.0
        return self.problem.at(W, self.course.weigher)

    def _fit(self, weights: Array, near: Array, accuracy: float) -> Point:
        """The weighted fit, from a guess of it."""
        W, passes = weighted_minimiser(self.problem, weights, near, accuracy)
        self.course.passes += passes
        return self._at(W)

    def _descend(self, start: Start) -> Ended:
        """Rounds from one start until the weights repeat or hardly anything is gained."""
        course = self.course
        point = self._fit(start.weights, np.zeros(self.problem.shape), COARSE * course.at_zero)
        self._keep(point)
        accuracy = COARSE * course.at_zero
        for n_rounds in range(1, MAX_ROUNDS + 1):
            enough = course.limits.tol * course.gained
            accurate = self.problem.loss.name == "squared" or accuracy <= 0.1 * enough
            new = self._fit(point.lam, point.W, accuracy)
            gain = point.smoothed - new.smoothed
            settled = gain <= enough or np.array_equal(new.lam, point.lam)
            if gain > 0.0:
                point = new
                self._keep(point)
            if not (settled and accurate):
                self.why = course.exhausted() or ""
            if self.why or (settled and accurate):
                return Ended(start.name, point.objective, n_rounds)
            accuracy = 0.1 * enough if settled else max(0.1 * enough, min(accuracy, COARSE * gain))
        self.why = f"stopped after {MAX_ROUNDS} rounds from one start"
        return Ended(start.name, point.objective, MAX_ROUNDS)

    def _keep(self, point: Point) -> None:
        self.course.offer(point.W, point.objective, point.smoothed)
        self.course.note(point.objective, point.rank_changes)


def _best_of(ended: tuple[Ended, ...], best: str) -> str:
    """ "best of 4 starts (nearest rows), objectives 0.1234 to 0.1301"."""
    objectives = [each.objective for each in ended]
    if len(ended) == 1:
        return f"one start ({best}), objective {objectives[0]:.4g}"
    low, high = min(objectives), max(objectives)
    return f"best of {len(ended)} starts ({best}), objectives {low:.4g} to {high:.4g}"
