"""Mean and deviation of a stream of numbers, by blocks that are merged (Chan, Golub, LeVeque)."""

import numpy as np

from lrisk_cli.types import Array


class Moments:
    """n, mean and sum of squared deviations of the numbers so far; NaN are left out."""

    def __init__(self) -> None:
        # Means are kept as distances from the first number, which loses no digits of large ones.
        self.n, self._origin, self._mean, self._squares = 0, 0.0, 0.0, 0.0

    @property
    def mean(self) -> float:
        """The mean of the numbers."""
        return self._origin + self._mean

    def add(self, numbers: Array) -> None:
        """Take a block. Mean and deviation of equal numbers are exact."""
        known = numbers[~np.isnan(numbers)]
        if not len(known):
            return
        if self.n == 0:
            self._origin = float(known[0])
        with np.errstate(over="ignore", invalid="ignore"):
            away = known - self._origin
            shift = float(away.sum()) / len(known)
            away -= shift
            self._merge(len(known), shift, float(np.dot(away, away)))

    def _merge(self, n: int, mean: float, squares: float) -> None:
        if self.n == 0:
            self.n, self._mean, self._squares = n, mean, squares
            return
        total, apart = self.n + n, mean - self._mean
        self._squares += squares + apart * apart * (self.n * (n / total))
        self._mean += apart * (n / total)
        self.n = total

    @property
    def deviation(self) -> float:
        """The population deviation; 0 of a constant."""
        return float(np.sqrt(self._squares / self.n))

    def filled(self, fill: float | None, n_rows: int) -> tuple[float, float]:
        """Mean and deviation with `fill` for the numbers that n_rows lack."""
        lacking = n_rows - self.n
        if fill is None or lacking == 0:
            return self.mean, self.deviation
        both = Moments()
        both._origin = self._origin
        both._merge(self.n, self._mean, self._squares)
        both._merge(lacking, fill - self._origin, 0.0)
        return both.mean, both.deviation
