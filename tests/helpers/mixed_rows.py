"""Rows of numbers beside codes, and the same as an array: one-hot."""

from collections.abc import Sequence

import numpy as np

from lrisk_cli.rows.layout import Layout, make_layout
from lrisk_cli.rows.mixed import MixedRows


def interleaved(p: int, levels: Sequence[int]) -> Layout:
    """A number, a code column, a number, ... as far as there are any; the rest follows."""
    spans, at = [], 0
    for j in range(max(p, len(levels))):
        at += j < p
        if j < len(levels):
            spans.append((at, at + levels[j]))
            at += levels[j]
    return make_layout(at, spans)


def mixed_rows(
    n: int, p: int, levels: Sequence[int], *, missing: bool = True, even: bool = False,
    seed: int = 0,
) -> tuple[MixedRows, np.ndarray]:  # fmt: skip
    """Random ones. missing: some rows have no level; even: all levels are about as frequent."""
    rng = np.random.default_rng([seed, n, p, *levels])
    layout = interleaved(p, levels)
    d = layout.n_columns
    D, codes = rng.standard_normal((n, p)), np.empty((n, len(levels)), np.int32)
    for j, (start, stop) in enumerate(zip(layout.starts, layout.stops, strict=True)):
        values = np.append(np.arange(start, stop), [d] * missing)
        chances = np.full(len(values), 1.0 / len(values))
        if not even:
            chances = rng.dirichlet(np.full(len(values), 0.5))
        codes[:, j] = rng.choice(values, n, p=chances)
    return MixedRows(D, codes, layout), one_hot(D, codes, layout)


def one_hot(D: np.ndarray, codes: np.ndarray, layout: Layout) -> np.ndarray:
    """X (n, d), by NumPy."""
    X = np.zeros((len(D), layout.n_columns + 1))
    X[:, layout.numbers] = D
    np.put_along_axis(X, codes.astype(np.intp), 1.0, axis=1)
    return np.ascontiguousarray(X[:, :-1])
