"""What a model file says of its calibrated probabilities and of its prediction intervals."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

Count = Annotated[int, Meta(ge=0)]
Probability = Annotated[float, Meta(ge=0.0, le=1.0)]


class CalibrationCurve(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Probability of a class by its log-odds: linear between the points, constant beyond them."""

    scores: tuple[float, ...]
    probabilities: tuple[Annotated[float, Meta(gt=0.0, lt=1.0)], ...]


class CalibrationRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How margins become calibrated ones, learned from out-of-fold margins of some rows.

    platt: slope x margin + intercept of the class; of two classes the first has neither. isotonic:
    a curve for the second of two classes, and for each of more, whose probabilities are then
    divided by their sum.
    """

    method: Literal["platt", "isotonic"]
    folds: Annotated[int, Meta(ge=2)]
    rows: Count
    slope: Annotated[float, Meta(ge=0.0)] | None = None
    intercepts: tuple[float, ...] = ()
    curves: tuple[CalibrationCurve, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """A summary: the curves by their number of points."""
        found: dict[str, Any] = {"method": self.method, "folds": self.folds, "rows": self.rows}
        if self.slope is not None:
            return found | {"slope": self.slope, "intercepts": list(self.intercepts)}
        return found | {"points": [len(curve.scores) for curve in self.curves]}

    def check(self, n_classes: int) -> None:
        """ValueError where its parts disagree with one another or with the classes."""
        n_outputs = n_classes if n_classes > 2 else 1
        if n_classes < 2:
            raise ValueError("probabilities of a number are calibrated")
        if (self.method == "platt") != (self.slope is not None):
            raise ValueError("the calibration has a slope and is not platt, or has none and is")
        if len(self.intercepts if self.method == "platt" else self.curves) != n_outputs:
            raise ValueError(f"the calibration does not fit {n_classes} classes")
        for curve in self.curves:
            rising = all(a < b for a, b in zip(curve.scores, curve.scores[1:], strict=False))
            if not curve.scores or len(curve.scores) != len(curve.probabilities) or not rising:
                raise ValueError("the points of a calibration curve do not rise")


class CoverageRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Fraction of rows within intervals of a level that were learned from other rows.

    size: mean width of the intervals, or mean number of classes in a set.
    """

    level: Probability
    coverage: Probability
    size: float


class ConformalRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Conformity scores of rows that the fit did not see: some of the sorted ones and their ranks.

    split: of the rows held out; cv: of the rows left out by each fold. scale: of a score, target -
    prediction (plain), sqrt(target) - sqrt(prediction) (root), or the probability of the true class
    (probability). ranks: from 1 to rows.
    """

    method: Literal["split", "cv"]
    rows: Annotated[int, Meta(ge=1)]
    scale: Literal["plain", "root", "probability"]
    ranks: Annotated[tuple[int, ...], Meta(min_length=1)]
    scores: tuple[float, ...]
    coverage: tuple[CoverageRecord, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """A summary without the scores."""
        coverage: Any = msgspec.to_builtins(self.coverage)
        found = {"method": self.method, "rows": self.rows, "scale": self.scale}
        return found | {"coverage": list(coverage)}

    def check(self, n_classes: int, *, log_link: bool) -> None:
        """ValueError where its parts disagree with one another or with the target."""
        scale = "probability" if n_classes else "root" if log_link else "plain"
        if self.scale != scale:
            raise ValueError(f"conformity scores on the scale '{self.scale}' do not fit the target")
        pairs = list(zip(self.ranks, self.ranks[1:], strict=False))
        values = zip(self.scores, self.scores[1:], strict=False)
        if (
            len(self.ranks) != len(self.scores)
            or (self.ranks[0], self.ranks[-1]) != (1, self.rows)
            or any(a >= b for a, b in pairs)
            or any(a > b for a, b in values)
        ):
            raise ValueError("the conformity scores are not sorted, or their ranks are wrong")
