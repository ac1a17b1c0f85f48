"""The Gaussian kernel, exp(-gamma ||x - z||^2)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from lrisk_cli.features.maps import (
    Kernel,
    KernelSpec,
    LandmarkMap,
    MapEntry,
    NotNegative,
    Positive,
    RowLists,
    read_rows,
)
from lrisk_cli.names import FeatureMapName
from lrisk_cli.native.kernels import core
from lrisk_cli.types import Array


class GaussianEntry(MapEntry, frozen=True, kw_only=True, tag="rbf"):
    """exp(-gamma ||x - z||^2) for each landmark z, a row as encoded.

    explained: fraction of the kernel's trace over the training rows that the landmarks span.
    """

    gamma: Positive
    explained: NotNegative
    landmarks: RowLists

    def map(self) -> LandmarkMap:
        """The map that it describes."""
        return LandmarkMap(GaussianKernel(self.gamma), read_rows(self.landmarks), self.explained)


@dataclass(frozen=True, slots=True)
class GaussianKernel(Kernel):
    """exp(-gamma ||x - z||^2)."""

    name: ClassVar[str] = "rbf"

    gamma: float

    def fill(self, X: Array, packed: Array, out: Array) -> None:
        core.gaussian_rows(X, packed, self.gamma, out)

    def diagonal(self, X: Array, d: int) -> Array:
        return np.ones(len(X))

    def parameters(self) -> dict[str, float]:
        return {"gamma": self.gamma}

    def describe(self) -> str:
        return f"Gaussian kernel, gamma {self.gamma:.4g}"

    def entry(self, landmarks: list[list[float]], explained: float) -> GaussianEntry:
        return GaussianEntry(gamma=self.gamma, explained=explained, landmarks=landmarks)


SPEC = KernelSpec(
    "exp(-gamma ||x - z||^2)",
    make=lambda _, gamma: GaussianKernel(gamma),
    options=frozenset({"gamma", "rank"}),
    feature_maps=frozenset({FeatureMapName.NYSTROEM, FeatureMapName.FOURIER}),
)
