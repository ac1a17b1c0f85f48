"""Rows and targets, some of them wrong -> the probability that each row is an inlier.

Numbers are judged by `judge.py`, classes by `labels.py`.
"""

from dataclasses import dataclass

import numpy as np

from lrisk_cli.losses.base import Loss
from lrisk_cli.robust.judge import Judgement, judge_numbers
from lrisk_cli.robust.labels import LabelJudgement, judge_labels
from lrisk_cli.rows.rows import Rows
from lrisk_cli.types import Array, Targets


@dataclass(frozen=True, slots=True, eq=False)
class InlierWeights:
    """weights: (n,) what each row counts in a fit to the inliers, at most 1.

    judgement: of numbers; labels: of classes.
    """

    weights: Array
    judgement: Judgement | None = None
    labels: LabelJudgement | None = None

    @property
    def fraction(self) -> float:
        """Estimated fraction of outliers."""
        if self.labels is not None:
            return self.labels.fraction
        return 1.0 - float(self.weights.mean())


@np.errstate(all="ignore")
def find_inlier_weights(
    rows: Rows,
    y: Targets,
    loss: Loss,
    *,
    constant: bool,
    seed: int = 0,
    until: float = np.inf,
) -> InlierWeights:
    """Estimate the probability that each row is an inlier. constant: the last column is one, for
    the intercept.

    until: the moment, by perf_counter, at which the iterations for classes stop.
    """
    numbers = loss.numbers(y)
    if numbers is not None:
        judgement = judge_numbers(rows, numbers, constant=constant, seed=seed)
        return InlierWeights(judgement.weights, judgement)
    labels = judge_labels(rows, y, loss, constant=constant, seed=seed, until=until)
    return InlierWeights(labels.weights, labels=labels)
