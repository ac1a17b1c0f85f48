"""The step of a grid that ends lowest: the rule of the spectral-risk paper, its Appendix F.4.

L(eta) is the mean over seeds of the objective at the end of a run with the step eta, infinite if
any run diverged; the step with the least L is taken. The paper leaves the penalty out of L; it is
in here, since it is part of what is minimised.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from lrisk_cli.progress import silent
from lrisk_cli.solvers.solution import Solution, TriedStep
from lrisk_cli.solvers.spec import Job, StepGrid


def with_best_step(run: Callable[[Job], Solution], job: Job, grid: StepGrid) -> Solution:
    """The run with the best step of the grid; its status says how it was chosen.

    Limits hold for each run, but the time limit for all of them together.
    """
    options, limits = job.options, job.limits.begun()
    tried = [
        TriedStep(step, _mean_end(run, replace(job, limits=limits), step, grid.n_seeds))
        for step in grid.steps
    ]
    best = min(tried, key=lambda each: each.mean)
    # Where all diverged, the smallest is halved until it does not.
    step = best.step if np.isfinite(best.mean) else min(each.step for each in tried)
    chosen = replace(options, step=step, step_grid=None)
    found = run(replace(job, options=chosen, limits=limits))
    n_diverged = sum(not np.isfinite(each.mean) for each in tried)
    how = f"step {step:g} chosen from {len(tried)} by {grid.n_seeds} seeds, {n_diverged} diverged"
    return replace(found, status=f"{found.status}; {how}", tried_steps=tuple(tried))


def _mean_end(run: Callable[[Job], Solution], job: Job, step: float, n_seeds: int) -> float:
    """L of one step."""
    ends = []
    for seed in range(1, n_seeds + 1):
        options = replace(job.options, step=step, step_grid=None, seed=seed)
        found = run(replace(job, options=options, report=silent, watch=None))
        if found.halvings:
            return float("inf")
        ends.append(found.epochs[-1].objective)
    return float(np.mean(ends))
