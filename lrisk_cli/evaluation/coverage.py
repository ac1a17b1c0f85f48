"""Scored rows, batch by batch -> how many targets are within their intervals, and how wide."""

import numpy as np

from lrisk_cli.evaluation.streams import Fraction, Spread
from lrisk_cli.models.model import Model
from lrisk_cli.models.scored import ScoredBatch


class Coverage:
    """Compares intervals of a level with targets; without a level it has no figures."""

    def __init__(self, model: Model, level: float | None, path: str) -> None:
        self._model, self._bounds = model, None
        weighted = model.encoding.weight is not None
        self._inside, self._sizes = Fraction(weighted=weighted), Spread(weighted=weighted)
        if level is not None:
            from lrisk_cli.models.conformal import bounds_of, require_intervals

            self._bounds = bounds_of(require_intervals(path, model), level, path)

    def add(self, scored: ScoredBatch) -> None:
        """Take one batch."""
        if self._bounds is None:
            return
        from lrisk_cli.models.conformal import Outcomes

        predictions = np.asarray(scored.predictions, np.float64)
        restore = self._model.target.restore
        rows = Outcomes(predictions, scored.known_targets, scored.probabilities, restore)
        inside, sizes = self._bounds.covers(rows)
        self._inside.add(inside, scored.weights)
        self._sizes.add(sizes, scored.weights)

    @property
    def coverage(self) -> float | None:
        """Fraction of the targets inside."""
        return self._inside.value

    @property
    def mean_width(self) -> float | None:
        """Mean width, or mean number of classes in a set."""
        return self._sizes.mean() if self._sizes.total else None

    def notes(self, digest: str) -> tuple[str, ...]:
        """What to know where these are the rows that the intervals were learned from."""
        record = self._model.conformal
        learned = self._model.fit.held_out_rows
        if self._bounds is None or record is None or record.method != "split" or digest != learned:
            return ()
        return (
            "intervals: learned from these rows, so they cover the level asked for; the fit "
            "reports the coverage of each half by intervals of the other",
        )
