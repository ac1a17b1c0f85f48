"""Bounds on the norm of the coefficients, as a set that a method projects on."""

from dataclasses import dataclass

import numpy as np

from lrisk_cli.types import Array


@dataclass(frozen=True, slots=True)
class Ball:
    """||W|| <= radius, or with `each` the same for every column of W, that is, every class."""

    radius: float
    each: bool = False

    def _lengths(self, W: Array) -> Array:
        squares: Array = np.sum(W * W, axis=0)
        return np.sqrt(squares if self.each else squares.sum(keepdims=True))

    def project(self, W: Array) -> Array:
        """The nearest point of the set: longer ones are scaled to the radius."""
        lengths = self._lengths(W)
        if (lengths <= self.radius).all():
            return W
        scaled: Array = W * np.minimum(1.0, self.radius / np.maximum(lengths, 1e-300))
        return scaled

    def reach(self, G: Array) -> float:
        """The maximum of G.V over the set."""
        return self.radius * float(self._lengths(G).sum())
