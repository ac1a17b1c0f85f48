"""Random Fourier features of the Gaussian kernel: sqrt(2/m) cos(omega.x + b)."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from lrisk_cli.features.maps import (
    LANES,
    MapEntry,
    Positive,
    RowLists,
    check_columns,
    margins_by_tiles,
    pack,
    read_rows,
)
from lrisk_cli.native.kernels import core
from lrisk_cli.rows.rows import Rows
from lrisk_cli.types import Array

# Rows worked on together.
TILE_ROWS = 1024


class FourierEntry(MapEntry, frozen=True, kw_only=True, tag="fourier"):
    """sqrt(2/m) cos(omega.x + phase) for each of the m frequencies omega and its phase."""

    gamma: Positive
    frequencies: RowLists
    phases: list[float]

    def map(self) -> "FourierMap":
        """The map that it describes."""
        phases = np.array(self.phases, dtype=np.float64)
        return FourierMap(self.gamma, read_rows(self.frequencies), phases)


@dataclass(frozen=True, slots=True, eq=False)
class FourierMap:
    """f(x) = sum_j W_j sqrt(2/m) cos(omega_j.x + b_j) + W_constant.

    frequencies: (m, d) omega; phases: (m,) b. In the mean over random frequencies of variance
    2 gamma and phases in [0, 2 pi), products of these features are exp(-gamma ||x - z||^2).
    """

    gamma: float
    frequencies: Array
    phases: Array

    def width(self, n_columns: int) -> int:
        check_columns(self.frequencies, n_columns)
        if len(self.phases) != len(self.frequencies):
            raise ValueError("frequencies and phases differ in number")
        return len(self.frequencies)

    def fill(self, X: Array, packed: Array, out: Array) -> None:
        """out[i, j] = sqrt(2/m) cos(omega_j.x_i + b_j)."""
        phases = np.zeros(LANES * len(packed))
        phases[: len(self.phases)] = self.phases
        core.cosine_rows(X, packed, phases, np.sqrt(2.0 / len(self.phases)), out)

    def margins(self, rows: Rows, W: Array) -> Array:
        packed = pack(self.frequencies)
        return margins_by_tiles(rows, W, len(self.phases), lambda x, out: self.fill(x, packed, out))

    def summary(self) -> dict[str, Any]:
        return {"kernel": "fourier", "gamma": self.gamma, "frequencies": len(self.phases)}

    def describe(self) -> str:
        return (
            f"Gaussian kernel, gamma {self.gamma:.4g}; {len(self.phases)} random Fourier features"
        )

    def entry(self) -> FourierEntry:
        return FourierEntry(
            gamma=self.gamma, frequencies=self.frequencies.tolist(), phases=self.phases.tolist()
        )


def draw_fourier(
    gamma: float, rows: Rows, d: int, m: int, rng: "np.random.Generator"
) -> tuple[Array, FourierMap]:
    """phi (n, m + constant) and its map, omega of variance 2 gamma, b uniform in [0, 2 pi)."""
    frequencies = np.sqrt(2.0 * gamma) * rng.standard_normal((m, d))
    feature_map = FourierMap(gamma, frequencies, rng.uniform(0.0, 2.0 * np.pi, m))
    n_rows, n_columns = rows.shape
    phi, packed = np.empty((n_rows, m + n_columns - d)), pack(frequencies)
    for start in range(0, n_rows, TILE_ROWS):
        at = slice(start, start + TILE_ROWS)
        tile, some = rows.dense_rows(at), phi[at]
        feature_map.fill(tile, packed, some)
        some[:, m:] = tile[:, d:]
    return phi, feature_map
