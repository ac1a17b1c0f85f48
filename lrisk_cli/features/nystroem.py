"""Features by landmarks: how many there may be, the kernel's parameters, and phi of all rows.

Letters: as in features.py.
"""

import numpy as np

from lrisk_cli.errors import DataError, InvalidOption, UsageError, opt
from lrisk_cli.features.landmarks import (
    TILE_ROWS,
    Landmarks,
    all_landmarks,
    fill_phi,
    pick_landmarks,
)
from lrisk_cli.features.maps import FeatureOptions, Kernel, LandmarkMap, percentage
from lrisk_cli.features.phi import Afford, Features
from lrisk_cli.features.registry import KERNELS
from lrisk_cli.names import GammaRule
from lrisk_cli.native.threads import one_thread
from lrisk_cli.progress import Report
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.rows.rows import Rows
from lrisk_cli.types import Array, Index

# Every row is a landmark without being asked up to this many: phi takes 134 MB, a fit about five
# times as much.
EXACT_ROWS = 4096
# `--rank auto` stops when this fraction of the kernel's trace is left, at this many landmarks, or
# when phi takes this many bytes.
AUTO_LEAVES = 1e-3
AUTO_RANK = 1000
AUTO_BYTES = 1 << 30
# Landmarks are picked among so many rows; rows whose distances decide gamma under `median`.
SAMPLE_ROWS = 16384
MEDIAN_ROWS = 1000
# Below this fraction a note says that the landmarks span little.
SPANS_ENOUGH = 0.95


def landmark_features(
    rows: Rows,
    d: int,
    options: FeatureOptions,
    rng: np.random.Generator,
    report: Report,
    afford: Afford,
    masses: Array | None = None,
) -> Features:
    """phi of the rows by landmarks among them, over their first d columns."""
    rank = landmark_count(options, rows.shape[0])
    leave = AUTO_LEAVES if options.rank is None or options.rank == "auto" else 0.0
    if rank is None or not leave:
        afford(rows.shape[0] if rank is None else rank)
    kernel, _ = make_kernel(rows, d, options, rng, masses)
    trace = _trace(kernel, rows, d)
    import scipy.linalg  # noqa: F401  (here, so that one_thread finds its BLAS too)

    with one_thread():
        if rank is None:
            return _exact(kernel, rows, d, trace)
        sample = _sample(rows, rank, rng)
        landmarks = pick_landmarks(kernel, sample, d, rank, leave, rng, report)
        afford(len(landmarks.Z))
        return _nystroem(kernel, landmarks, rows, trace, rank if leave else None)


def landmark_count(options: FeatureOptions, n_rows: int) -> int | None:
    """How many landmarks there may be; None for all rows."""
    rank = options.rank
    if isinstance(rank, int):
        if rank > n_rows:
            raise InvalidOption(
                "rank",
                f": landmarks are rows to learn from, and there are {n_rows}; lower it, or leave "
                "it out to take all of them",
                rank,
            )
        return None if rank == n_rows else rank
    if rank is None and options.feature_map is None:
        if n_rows > EXACT_ROWS:
            raise UsageError(
                f"{n_rows} rows are too many for a landmark each, which is what "
                f"{opt('kernel', options.kernel)} takes up to {EXACT_ROWS} rows; pass "
                f"{opt('rank', 'auto')}, or {opt('rank', 'N')} for N landmarks among them"
            )
        return None
    return max(1, min(n_rows, AUTO_RANK, AUTO_BYTES // (8 * n_rows)))


def make_kernel(
    rows: Rows,
    d: int,
    options: FeatureOptions,
    rng: np.random.Generator,
    masses: Array | None = None,
) -> tuple[Kernel, float]:
    """The kernel of the first d columns, and its gamma, which may follow from the rows."""
    spec = KERNELS[options.kernel]
    gamma = options.gamma or spec.gamma
    if isinstance(gamma, GammaRule):
        gamma = _gamma_by_rule(gamma, rows, d, rng, masses)
    assert spec.make is not None  # noqa: S101
    return spec.make(options, gamma), gamma


def _gamma_by_rule(
    rule: GammaRule, rows: Rows, d: int, rng: np.random.Generator, masses: Array | None
) -> float:
    with np.errstate(over="ignore"):
        by_scale = rule is GammaRule.SCALE
        spread = d * _variance(rows, d, masses) if by_scale else _median_distance(rows, d, rng)
    if not 1e-300 < spread < 1e300:
        raise DataError(
            f"{opt('gamma', rule)}: the features are too far from 1 in size; standardise them"
        )
    return 1.0 / spread


def _variance(rows: Rows, d: int, masses: Array | None) -> float:
    """The variance of all numbers in the first d columns together."""
    variance = rows.variance(d, masses)
    if not variance > 0.0:
        raise DataError(
            f"{opt('gamma', 'scale')}: no feature varies, so there is no scale; pass "
            f"{opt('gamma', 'NUMBER')} or features that vary"
        )
    return variance


def _median_distance(rows: Rows, d: int, rng: np.random.Generator) -> float:
    """The median squared distance of two rows, among at most a thousand of them."""
    some = rows.dense_rows(_some_rows(rows.shape[0], MEDIAN_ROWS, rng), d)
    distances = [np.sum((some[i + 1 :] - some[i]) ** 2, axis=1) for i in range(len(some) - 1)]
    median = float(np.median(np.concatenate(distances)))
    if not median > 0.0:
        raise DataError(
            f"{opt('gamma', 'median')}: more than half of all pairs of rows are equal, so their "
            f"median distance is 0; pass {opt('gamma', 'scale')} or {opt('gamma', 'NUMBER')}"
        )
    return median


def _trace(kernel: Kernel, rows: Rows, d: int) -> float:
    """The sum of k(x, x) over the rows, which must be a number to learn from."""
    tiles = [slice(start, start + TILE_ROWS) for start in range(0, rows.shape[0], TILE_ROWS)]
    with np.errstate(over="ignore"):
        each = [kernel.diagonal(rows.dense_rows(tile), d) for tile in tiles]
        trace = float(np.concatenate(each).sum())
    if not 0.0 < trace < np.inf:
        what = "0 for every row" if trace == 0.0 else "too large for numbers in double precision"
        raise DataError(
            f"the {kernel.describe()} is {what}; pass another {opt('coef0')} or {opt('degree')}, "
            "or standardise the features"
        )
    return trace


def _sample(rows: Rows, rank: int, rng: np.random.Generator) -> Array:
    """The rows to pick landmarks among: all, or a random part where there are many."""
    return rows.dense_rows(_some_rows(rows.shape[0], max(SAMPLE_ROWS, 2 * rank), rng))


def _some_rows(n_rows: int, most: int, rng: np.random.Generator) -> Index | slice:
    """All rows, or as many of them as allowed, drawn blindly, in order."""
    return slice(n_rows) if n_rows <= most else np.sort(rng.permutation(n_rows)[:most])


def _exact(kernel: Kernel, rows: Rows, d: int, trace: float) -> Features:
    """All rows as landmarks: they are few, or the user asked for it."""
    n_rows = rows.shape[0]
    landmarks, phi, K = all_landmarks(kernel, rows.dense_rows(slice(n_rows)), d)
    m = len(landmarks.Z)
    explained = min(1.0, float(np.einsum("ij,ij->", phi[:, :m], phi[:, :m])) / trace)
    # With few landmarks, as a polynomial of few columns has, phi' phi is the smaller matrix.
    outer = K if 2 * m > n_rows else None
    if outer is not None and phi.shape[1] > m:
        outer += 1.0
    feature_map = LandmarkMap(kernel, landmarks.Z, explained)
    return Features(DenseRows(phi), feature_map, outer, landmarks.L)


def _nystroem(
    kernel: Kernel, landmarks: Landmarks, rows: Rows, trace: float, most: int | None
) -> Features:
    """Fewer landmarks than rows. most: what limited their number, if that was not the user."""
    (n_rows, n_columns), (m, d) = rows.shape, landmarks.Z.shape
    phi = np.empty((n_rows, m + n_columns - d))
    explained = min(1.0, fill_phi(kernel, landmarks, rows, phi) / trace)
    notes = []
    if m == most and m < n_rows:
        limit = "the most it takes" if m == AUTO_RANK else "a GiB of features"
        auto = opt("rank", "auto")
        notes.append(f"{auto} stopped at {m} landmarks, {limit}; a number may be larger")
    elif explained < SPANS_ENOUGH:
        spanned, rank = percentage(explained), opt("rank")
        notes.append(f"the landmarks span only {spanned} of the kernel; raise {rank}")
    feature_map = LandmarkMap(kernel, landmarks.Z, explained)
    return Features(DenseRows(phi), feature_map, None, landmarks.L, tuple(notes))
