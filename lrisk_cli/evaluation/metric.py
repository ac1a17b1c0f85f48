"""What a metric is: its name, what it is computed from, which figures are better. No numpy."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from lrisk_cli.parameters import Choice

Source = TypeVar("Source")


class Needs(StrEnum):
    """What a metric is computed from; each command has some of these."""

    LOSSES = "losses"
    NUMBERS = "targets and predictions"
    CLASSES = "classes and predictions"
    SCORES = "probabilities of two classes"
    COUNTS = "counts and predicted means"
    INTERVALS = "prediction intervals"
    LOGARITHMS = "logarithms of targets and predictions"
    QUANTILES = "targets and predicted quantiles"
    ROWS = "rows read"
    CELLS = "cells read"
    FIT = "a certificate"
    FLAGS = "outlier flags"
    LABELS = "labels"
    PLANTED = "labels of outliers"
    PAIRS = "losses of two models"
    WARNINGS = "warnings of the command"


class Better(StrEnum):
    """Which figures of a metric are better."""

    SMALLER = "smaller"
    LARGER = "larger"
    NEARER_ZERO = "nearer 0"
    NEITHER = "neither"

    def badness(self, value: float) -> float:
        """Rises as figures get worse; the same for all where none are."""
        return {"smaller": value, "larger": -value, "nearer 0": abs(value), "neither": 0.0}[self]


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric(Choice, Generic[Source]):
    """One metric. `formula` computes it from its source; None where it is not defined.

    of_class: computes it of one class from the source and the code of the class, where `name:CLASS`
    can be asked for.
    """

    name: str
    needs: Needs
    formula: Callable[[Source], float | None]
    better: Better = Better.SMALLER
    of_class: Callable[[Source, int], float | None] | None = None

    @property
    def larger_is_better(self) -> bool:
        """Whether larger figures are better."""
        return self.better is Better.LARGER
