"""Landmark rows of a kernel, picked by pivoted Cholesky.

Letters: X (n, columns) rows, of which the first d columns count; Z (m, d) landmarks, K_ZZ = L L'
with L lower triangular; phi(x) = L^-1 k(Z, x), so that phi(x).phi(z) is k(x, z) as far as the
landmarks span it.
"""

from dataclasses import dataclass

import numpy as np

from lrisk_cli.features.maps import Kernel, pack
from lrisk_cli.progress import Progress, Report, silent
from lrisk_cli.rows.rows import Rows
from lrisk_cli.types import Array, Index

# A pivot below this fraction of the largest k(x, x) is rounding: the row is spanned already. Scores
# divide by its root, so they keep about ten of sixteen digits.
ROUNDING = 1e-12
# Landmarks that are picked together, and rows worked on together.
BLOCK = 64
TILE_ROWS = 1024


@dataclass(frozen=True, slots=True, eq=False)
class Landmarks:
    """The rows picked, in the order of the pivots, and the factor of their kernel.

    Z: (m, d). L: (m, m); above its diagonal it holds no meaning.
    """

    Z: Array
    L: Array


def all_landmarks(kernel: Kernel, X: Array, d: int) -> tuple[Landmarks, Array, Array]:
    """Every row is a landmark, but for those that others span to rounding.

    Gives the landmarks, phi of all rows with the constant (n, m + constant), and the kernel of all
    rows (n, n).
    """
    from scipy.linalg import lapack  # takes a while to load

    K = kernel.matrix(X, X[:, :d])
    tolerance = max(ROUNDING, len(X) * np.finfo(np.float64).eps) * float(K.diagonal().max())
    # K is symmetric, so its transpose is the same matrix in the order that LAPACK reads.
    upper, failed = lapack.dpotrf(K.T, lower=0, clean=1)
    if not failed and float(np.square(upper.diagonal()).min()) > tolerance:
        # No row is spanned by those before it, so no search is needed.
        phi = np.concatenate([upper.T, X[:, d:]], axis=1)
        return Landmarks(np.ascontiguousarray(X[:, :d]), upper.T), phi, K
    upper, pivots, m, _ = lapack.dpstrf(K.T, tol=tolerance, lower=0)
    L, order = upper.T, pivots - 1
    phi = np.zeros((len(X), m + X.shape[1] - d))
    for place, row in enumerate(order):
        length = min(place + 1, m)
        phi[row, :length] = L[place, :length]
    phi[:, m:] = X[:, d:]
    return Landmarks(np.ascontiguousarray(X[order[:m], :d]), L[:m, :m]), phi, K


def pick_landmarks(
    kernel: Kernel,
    X: Array,
    d: int,
    rank: int,
    leave: float,
    rng: np.random.Generator,
    report: Report = silent,
) -> Landmarks:
    """At most `rank` rows, fewer when at most the fraction `leave` of the trace is left.

    Each pivot is drawn in proportion to its residual k(x, x) - ||phi(x)||^2. Taking the largest
    residual instead prefers outliers, and few such landmarks can span less than rows drawn blindly.
    Columns of the kernel are computed when they are needed, O(n m^2) in all.
    """
    residual = kernel.diagonal(X, d)
    total, least = float(residual.sum()), ROUNDING * float(residual.max())
    # Columns that are never written take no memory.
    phi = np.empty((len(X), rank), order="F")
    chosen: Index = np.empty(0, dtype=np.intp)
    while (m := len(chosen)) < rank and float(residual.sum()) > leave * total:
        residual[residual <= least] = 0.0
        if not residual.any():
            break
        drawn = _draw(residual, min(BLOCK, rank - m), rng)
        among = kernel.matrix(X[drawn], X[drawn, :d]) - phi[drawn, :m] @ phi[drawn, :m].T
        kept, L = _accept(among, rng.random(len(drawn)), least)
        new = drawn[kept]
        panel = kernel.matrix(X, X[new, :d])
        panel -= phi[:, :m] @ phi[new, :m].T
        _divide(L, panel)
        phi[:, m : m + len(new)] = panel
        np.maximum(residual - np.einsum("ij,ij->i", panel, panel), 0.0, out=residual)
        residual[new] = 0.0
        chosen = np.concatenate([chosen, new])
        report(Progress("landmarks", len(chosen), rank))
    L = np.ascontiguousarray(phi[chosen, : len(chosen)])
    return Landmarks(np.ascontiguousarray(X[chosen, :d]), L)


def _draw(residual: Array, count: int, rng: np.random.Generator) -> Index:
    """Rows in proportion to their residuals, each once, in the order of the draws."""
    ends = np.cumsum(residual)
    rows = np.searchsorted(ends, rng.random(count) * ends[-1], side="right")
    return np.array(list(dict.fromkeys(rows.tolist())), dtype=np.intp)


def _accept(among: Array, chances: Array, least: float) -> tuple[Index, Array]:
    """Which of the rows drawn become pivots, and the factor of their residual kernel `among`.

    One after the other, a row is accepted with the fraction of its residual that the rows before it
    left as probability: the rows accepted are those that single draws would have given.
    """
    size = len(among)
    residual, before = among.diagonal().copy(), among.diagonal()
    columns = np.empty((size, size))
    kept: list[int] = []
    for row in range(size):
        if residual[row] <= max(chances[row] * before[row], least):
            continue
        m = len(kept)
        column = among[:, row] - columns[:, :m] @ columns[row, :m]
        column /= np.sqrt(residual[row])
        columns[:, m] = column
        residual -= column * column
        kept.append(row)
    rows = np.array(kept, dtype=np.intp)
    return rows, np.ascontiguousarray(columns[rows, : len(rows)])


def fill_phi(kernel: Kernel, landmarks: Landmarks, rows: Rows, out: Array) -> float:
    """out = L^-1 k(Z, x) for each row, then its constant; the sum of squares but for the latter."""
    m, d = landmarks.Z.shape
    packed, total = pack(landmarks.Z), 0.0
    for start in range(0, rows.shape[0], TILE_ROWS):
        tile = rows.dense_rows(slice(start, start + TILE_ROWS))
        values = np.empty((len(tile), m))
        kernel.fill(tile, packed, values)
        _divide(landmarks.L, values)
        out[start : start + TILE_ROWS, :m] = values
        out[start : start + TILE_ROWS, m:] = tile[:, d:]
        total += float(np.sum(values * values))
    return total


def _divide(L: Array, values: Array) -> None:
    """values <- values L^-T, in place. values: (n, m)."""
    from scipy.linalg import blas

    # In the order that BLAS reads, these are L' and values': L values' is solved for.
    blas.dtrsm(1.0, L.T, values.T, trans_a=1, overwrite_b=1)
