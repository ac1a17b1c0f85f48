"""The polynomial kernel, (gamma x.z + coef0)^degree."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from msgspec import Meta

from lrisk_cli.features.maps import (
    FeatureOptions,
    Kernel,
    KernelSpec,
    LandmarkMap,
    MapEntry,
    NotNegative,
    Positive,
    RowLists,
    read_rows,
)
from lrisk_cli.names import MOST_DEGREE, FeatureMapName
from lrisk_cli.native.kernels import core
from lrisk_cli.types import Array


class PolynomialEntry(MapEntry, frozen=True, kw_only=True, tag="poly"):
    """(gamma x.z + coef0)^degree for each landmark z, a row as encoded."""

    gamma: Positive
    coef0: NotNegative
    degree: Annotated[int, Meta(ge=1, le=MOST_DEGREE)]
    explained: NotNegative
    landmarks: RowLists

    def map(self) -> LandmarkMap:
        """The map that it describes."""
        kernel = PolynomialKernel(self.gamma, self.degree, self.coef0)
        return LandmarkMap(kernel, read_rows(self.landmarks), self.explained)


@dataclass(frozen=True, slots=True)
class PolynomialKernel(Kernel):
    """(gamma x.z + coef0)^degree."""

    name: ClassVar[str] = "poly"

    gamma: float
    degree: int
    coef0: float

    def fill(self, X: Array, packed: Array, out: Array) -> None:
        core.polynomial_rows(X, packed, self.gamma, self.coef0, self.degree, out)

    def diagonal(self, X: Array, d: int) -> Array:
        squares: Array = np.einsum("ij,ij->i", X[:, :d], X[:, :d])
        powers: Array = (self.gamma * squares + self.coef0) ** self.degree
        return powers

    def parameters(self) -> dict[str, float]:
        return {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}

    def describe(self) -> str:
        gamma = "" if self.gamma == 1.0 else f"{self.gamma:.4g} "
        return f"polynomial kernel ({gamma}x.z + {self.coef0:g})^{self.degree}"

    def entry(self, landmarks: list[list[float]], explained: float) -> PolynomialEntry:
        return PolynomialEntry(
            gamma=self.gamma,
            coef0=self.coef0,
            degree=self.degree,
            explained=explained,
            landmarks=landmarks,
        )


def _make(options: FeatureOptions, gamma: float) -> PolynomialKernel:
    coef0 = 1.0 if options.coef0 is None else options.coef0
    return PolynomialKernel(gamma, options.degree or 3, coef0)


SPEC = KernelSpec(
    "(gamma x.z + coef0)^degree",
    make=_make,
    gamma=1.0,
    options=frozenset({"gamma", "degree", "coef0", "rank"}),
    feature_maps=frozenset({FeatureMapName.NYSTROEM}),
)
