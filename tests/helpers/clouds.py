"""The synthetic set of the spectral-risk paper: three clouds, outliers, and rows to test on."""

from dataclasses import dataclass

import numpy as np

PLACES = np.array([[-3.0, 0.0], [0.0, 1.0], [3.0, 0.0]])


@dataclass(frozen=True, slots=True)
class Clouds:
    """X: (400, 2), labels 0, 1, 2, and 3 for the outliers; test rows have no outliers."""

    X: np.ndarray
    labels: np.ndarray
    X_test: np.ndarray
    test_labels: np.ndarray


def make_clouds(seed: int, *, standardised: bool = False) -> Clouds:
    rng = np.random.default_rng(seed)

    def draw() -> np.ndarray:
        return np.repeat(PLACES, 100, axis=0) + np.sqrt(0.1) * rng.standard_normal((300, 2))

    outliers = np.array([-1.0, -5.0]) + np.sqrt(5.0) * rng.standard_normal((100, 2))
    X, X_test = np.concatenate([draw(), outliers]), draw()
    if standardised:
        mean, scale = X.mean(axis=0), X.std(axis=0)
        X, X_test = (X - mean) / scale, (X_test - mean) / scale
    return Clouds(X, np.repeat(np.arange(4), 100), X_test, np.repeat(np.arange(3), 100))
