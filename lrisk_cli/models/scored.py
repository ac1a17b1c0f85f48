"""The result of scoring a batch of rows, and the protocol that every kind of model follows."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.design.encoding import EncodedBatch, Encoding
from lrisk_cli.risk.spectrum import Spectrum
from lrisk_cli.tables.table import Batch
from lrisk_cli.types import Array, Codes, Flags, Targets


@dataclass(frozen=True, slots=True, eq=False)
class ScoredBatch:
    """The rows of a batch that a model could use, and its results for them. All (n, ...).

    predictions: numbers in units of the file, class codes or cluster numbers. losses, targets:
    None where they need a target and none was read. outliers: of clusters only.
    """

    batch: Batch
    encoded: EncodedBatch
    predictions: Array | Codes
    losses: Array | None
    targets: Targets | None = None
    probabilities: Array | None = None
    outliers: Flags | None = None

    @property
    def kept(self) -> NDArray[np.int64]:
        """Offsets of the rows in the batch."""
        return self.encoded.kept

    @property
    def rows(self) -> NDArray[np.int64]:
        """Numbers of the rows in reading order."""
        return self.batch.first_row + self.encoded.kept

    @property
    def weights(self) -> Array | None:
        """How much the rows count, where they do not count alike."""
        return self.encoded.weights

    @property
    def known_losses(self) -> Array:
        """The losses of a batch that was read with its target."""
        if self.losses is None:
            raise TypeError("losses need a target, and none was read")
        return self.losses

    @property
    def known_targets(self) -> Targets:
        """The targets of a batch that was read with them."""
        if self.targets is None:
            raise TypeError("the targets were not read")
        return self.targets


class Scorer(Protocol):
    """A model of any kind: linear in columns, linear in kernel features, clusters."""

    @property
    def encoding(self) -> Encoding:
        """How it reads a table."""

    @property
    def risk(self) -> str:
        """The risk that was minimised, as it is written."""

    @property
    def spectrum(self) -> Spectrum:
        """The risk that was minimised."""

    def score(self, batch: Batch, encoded: EncodedBatch | None = None) -> ScoredBatch:
        """Score each row of a batch by itself. encoded: the same rows, where known already."""

    def prediction_columns(self, scored: ScoredBatch) -> dict[str, Any]:
        """The columns that `predict` writes for these rows."""
