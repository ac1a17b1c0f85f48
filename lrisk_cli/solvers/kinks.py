"""Newton steps for losses with kinks: the rounding of the losses shrinks with the smoothing.

Letters: w the width of the rounding, phi the inner objective with rounded losses in place of l.
Each round has a smaller w; what is offered is measured by the losses as they are, and what is
proved by affine functions below them (`softening`).
"""

from dataclasses import dataclass

import numpy as np

from lrisk_cli.native.kernels import core
from lrisk_cli.progress import Report, silent
from lrisk_cli.solvers.certificate import weighted_minimiser
from lrisk_cli.solvers.curvature import Solvable, make_curvature
from lrisk_cli.solvers.newton_steps import Newton
from lrisk_cli.solvers.problem import Point, Problem
from lrisk_cli.solvers.proximal import UNSOLVED, Iterate
from lrisk_cli.solvers.softening import LEAST_WIDTH, first_width, soften
from lrisk_cli.solvers.solution import Limits
from lrisk_cli.types import Array

# After an easy round the width becomes NARROWER of itself, after one of more steps than LONG only
# LESS; where one is given up the next goes on with the same width.
LONG, LESS, NARROWER = 20, 0.2, 0.05


@dataclass(frozen=True, slots=True)
class Proof:
    """What a lower bound could be proved with, and how large it promised to be."""

    promised: float
    lam: Array
    start: Array
    problem: Problem


class KinkedNewton(Newton):
    """Minimises a problem whose losses have kinks; `problem` is the rounded one of the round."""

    def __init__(
        self,
        problem: Problem,
        limits: Limits,
        *,
        track_ranks: bool = False,
        report: Report = silent,
        start: Array | None = None,
    ) -> None:
        super().__init__(problem, limits, track_ranks=track_ranks, report=report, start=start)
        self.sharp = problem
        self.width = self.least = 0.0
        self.best_proof: Proof | None = None

    def _start(self) -> Point:
        start = super()._start()
        self.width = first_width(self.sharp, start.margins)
        self.least = LEAST_WIDTH * self.width
        self._round_off()
        return start

    def mean_fit(self, start: Array, accuracy: float) -> tuple[Array, int]:
        """Of losses that are rounded widely."""
        width = first_width(self.sharp, np.zeros((self.sharp.n_rows, 1)))
        soft, until = soften(self.sharp, width), self.solver_run.limits.deadline
        return weighted_minimiser(soft, soft.even, start, accuracy, until=until)

    def _first_nu(self, losses: Array) -> float:
        return 1.0 if self.sharp.flat else super()._first_nu(losses)

    def _rounds(self, iterate: Iterate) -> str:
        """A run that is stopped proves what promised most, in whichever round that was."""
        why, proof = super()._rounds(iterate), self.best_proof
        if proof is not None and not self.solver_run.converged:
            self.solver_run.prove(proof.lam, proof.start, below=proof.problem)
        return why

    def _round_off(self) -> None:
        self.problem = soften(self.sharp, self.width)
        self.curvature = make_curvature(self.problem)

    def change_of_nu(self, n_steps: int, iterate: Iterate) -> float:
        """Rounds are hard by their width, and never by too little smoothing."""
        return min(super().change_of_nu(n_steps, iterate), 1.0)

    def prepare(self, n_steps: int) -> None:
        """Less rounding in the next round, unless this one was given up."""
        factor = 1.0 if n_steps >= UNSOLVED else LESS if n_steps > LONG else NARROWER
        self.width = max(factor * self.width, self.least)
        self._round_off()

    def prove(self, lam: Array, start: Array, *, near: bool = True) -> None:
        """By the rounded problem, whose affine functions are below the losses."""
        self.solver_run.prove(lam, start, near=near, below=self.problem)

    def _record(self, iterate: Iterate, gradient: Array, H: Solvable, *, caution: float) -> float:
        """Offer W by its losses as they are, and prove where the affine functions promise enough.

        For the weights of the projection only: at kinks those of the sorted losses are no better.
        """
        solver_run, sharp = self.solver_run, self.sharp
        losses = sharp.loss.values(iterate.Z, sharp.y)
        weighed = solver_run.row_weighter.weigh(losses)
        penalty = sharp.penalty(iterate.W)
        objective = weighed.value + penalty
        solver_run.offer(iterate.W, objective, objective)
        step = H.solve(gradient)
        decrement = caution * 0.5 * float(np.sum(gradient * step))
        below, _ = self.problem.loss.minorants(iterate.Z, sharp.y)
        promised = float(core.compensated_dot(iterate.lam, below)) + penalty - decrement
        self.guide = promised
        start = iterate.W - step
        if self.best_proof is None or promised > self.best_proof.promised:
            self.best_proof = Proof(promised, iterate.lam, start, self.problem)
        self._prove_if(promised, iterate.lam, start, near=caution == 1.0)
        solver_run.note(objective, weighed.rank_changes)
        return decrement
