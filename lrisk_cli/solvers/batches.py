"""Batches of m rows, weighed by the spectrum of m bins.

That is not the spectrum of the n rows, so methods built on batches are biased unless m = n: they
end at a floor above the optimum, and the proof says where. Where rows have masses, a batch is m
independent draws in proportion to these, as of a table with so many copies of each row.
"""

import numpy as np

from lrisk_cli.native.kernels import core
from lrisk_cli.solvers.draws import Rows, random_state
from lrisk_cli.solvers.problem import Problem
from lrisk_cli.solvers.work import Counts, Work
from lrisk_cli.types import Array

# Rows in a batch, unless the user says how many.
BATCH_SIZE = 64


class Batches:
    """Workspaces for batches of m rows of a problem, and the random state that draws them."""

    def __init__(self, problem: Problem, batch_size: int, seed: int) -> None:
        m = min(batch_size, problem.n_rows)
        no_numbers, no_labels = np.empty(0), np.empty(0, dtype=np.int32)
        labelled = problem.y.dtype == np.int32
        self.targets = (no_numbers, problem.y) if labelled else (problem.y.ravel(), no_labels)
        self.sigma = problem.spectrum.weights(m)
        self.state = random_state(seed)
        self.pool = np.arange(problem.n_rows, dtype=np.int32)
        self.margins = np.empty((m, problem.loss.n_outputs))
        self.losses = np.empty(m)
        self.order = np.empty(m, dtype=np.int32)
        # What rows are drawn by, in proportion to their masses; nothing without replacement.
        self.table: tuple[Array, Rows] | tuple[()] = ()
        if problem.masses is not None:
            keep, other, work = np.empty(problem.n_rows), *np.empty((2, problem.n_rows), np.int32)
            core.prepare_draws(problem.masses.values, keep, other, work)
            self.table = keep, other
        self.per_epoch = -(-problem.n_rows // m)
        n_drawn = self.per_epoch * m
        sweeps = n_drawn / problem.n_rows
        self.taken = Work(sweeps, Counts(sweeps, n_drawn))


def safe_step(problem: Problem) -> float:
    """eta = 1 / (2 (L + mu)), L the largest smoothness of a row: a batch's risk is no rougher."""
    norms = problem.rows.row_norms() * problem.loss.row_smoothness(problem.y)
    return 0.5 / (float(norms.max()) + problem.mu)
