"""From the rows of a design to the features phi that a fit is linear in, and back to coefficients.

Letters: X (n, columns) encoded rows, the constant last where there is one; phi (n, m + constant),
which are rows again.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from lrisk_cli.errors import DataError, InvalidOption, UsageError, opt
from lrisk_cli.features.landmarks import (
    TILE_ROWS,
    Landmarks,
    all_landmarks,
    fill_phi,
    pick_landmarks,
)
from lrisk_cli.features.maps import (
    FeatureMap,
    FourierMap,
    Kernel,
    LandmarkMap,
    LinearMap,
    pack,
    percentage,
)
from lrisk_cli.names import FeatureMapName, GammaRule, KernelName
from lrisk_cli.native.threads import one_thread
from lrisk_cli.progress import Report, silent
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.rows.rows import Rows
from lrisk_cli.types import Array, Index

# Every row is a landmark without being asked up to this many: phi takes 134 MB, a fit about five
# times as much.
EXACT_ROWS = 4096
# A rank of `auto` stops when this share of the kernel's trace is left, at this many landmarks, or
# when phi takes this many bytes.
AUTO_LEAVES = 1e-3
AUTO_RANK = 1000
AUTO_BYTES = 1 << 30
FOURIER_FEATURES = 500
# Landmarks are picked among so many rows; rows whose distances decide gamma under `median`.
SAMPLE_ROWS = 16384
MEDIAN_ROWS = 1000
# Below this share a fit is told that its landmarks span little.
SPANS_ENOUGH = 0.95


@dataclass(frozen=True, slots=True)
class FeatureOptions:
    """What the user may say about features; None leaves the choice to us.

    rank: number of landmarks or frequencies, "auto" for as many as the kernel needs.
    """

    kernel: KernelName = KernelName.LINEAR
    gamma: GammaRule | float | None = None
    degree: int | None = None
    coef0: float | None = None
    rank: int | Literal["auto"] | None = None
    feature_map: FeatureMapName | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """phi of the rows that a fit learns from, and the map that repeats it on others.

    outer: phi phi' where it came for nothing, (n, n). L: coefficients are L^-T W, if not W itself.
    """

    phi: Rows
    map: FeatureMap
    outer: Array | None = None
    L: Array | None = None
    notes: tuple[str, ...] = ()

    def coefficients(self, W: Array) -> Array:
        """What multiplies the values of the map, given what multiplies phi. (values, k)."""
        if self.L is None:
            return W
        from scipy.linalg import solve_triangular

        m = len(self.L)
        values = solve_triangular(self.L.T, W[:m])
        return np.ascontiguousarray(np.concatenate([values, W[m:]]))


def check_features(options: FeatureOptions) -> None:
    """Refuse options that contradict each other or that the kernel would not read."""
    kernel = options.kernel
    readers = {
        ("gamma", None): (options.gamma, {KernelName.RBF, KernelName.POLY}),
        ("degree", None): (options.degree, {KernelName.POLY}),
        ("coef0", None): (options.coef0, {KernelName.POLY}),
        ("rank", None): (options.rank, {KernelName.RBF, KernelName.POLY}),
        ("feature_map", FeatureMapName.NYSTROEM): (
            options.feature_map is FeatureMapName.NYSTROEM or None,
            {KernelName.RBF, KernelName.POLY},
        ),
        ("feature_map", FeatureMapName.FOURIER): (
            options.feature_map is FeatureMapName.FOURIER or None,
            {KernelName.RBF},
        ),
    }
    for (name, value), (given, kernels) in readers.items():
        if given is not None and kernel not in kernels:
            others = " or ".join(sorted(opt("kernel", each) for each in kernels))
            chosen = opt("kernel", kernel)
            raise InvalidOption(name, f"has no meaning for {chosen}; it belongs to {others}", value)
    gamma = options.gamma
    if isinstance(gamma, float) and not 0.0 < gamma < np.inf:
        raise InvalidOption("gamma", f"must be greater than 0; got {gamma:g}")
    if options.coef0 is not None and not 0.0 <= options.coef0 < np.inf:
        raise InvalidOption("coef0", f"must be at least 0; got {options.coef0:g}")
    if options.rank == "auto" and options.feature_map is FeatureMapName.FOURIER:
        raise InvalidOption(
            "rank",
            "chooses landmarks, and random Fourier features have none; pass a number",
            "auto",
        )


def build_features(
    rows: Rows, options: FeatureOptions, *, constant: bool, seed: int = 0, report: Report = silent
) -> Features:
    """phi of the rows, by the kernel asked for. constant: the last column is the intercept."""
    if options.kernel is KernelName.LINEAR:
        return Features(rows, LinearMap())
    n_rows, d = rows.shape[0], rows.shape[1] - constant
    rng = np.random.default_rng(seed)
    if options.feature_map is FeatureMapName.FOURIER:
        m = FOURIER_FEATURES if options.rank is None else int(options.rank)
        return _fourier(_kernel(rows, d, options, rng).gamma, rows, d, m, rng)
    rank = _rank(options, n_rows)
    kernel = _kernel(rows, d, options, rng)
    trace = _trace(kernel, rows, d)
    import scipy.linalg  # noqa: F401  (here, so that one_thread finds its BLAS too)

    with one_thread():
        if rank is None:
            return _exact(kernel, rows, d, trace)
        leave = AUTO_LEAVES if options.rank is None or options.rank == "auto" else 0.0
        sample = _sample(rows, rank, rng)
        landmarks = pick_landmarks(kernel, sample, d, rank, leave, rng, report)
        return _nystroem(kernel, landmarks, rows, trace, rank if leave else None)


def count_values(options: FeatureOptions, n_rows: int) -> int | None:
    """How many values the map makes of each of n rows; None where only landmarks picked tell."""
    if options.feature_map is FeatureMapName.FOURIER:
        return FOURIER_FEATURES if options.rank is None else int(options.rank)
    if options.rank == "auto" or (options.rank is None and options.feature_map is not None):
        return None
    return _rank(options, n_rows) or n_rows


def _rank(options: FeatureOptions, n_rows: int) -> int | None:
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


def _kernel(rows: Rows, d: int, options: FeatureOptions, rng: np.random.Generator) -> Kernel:
    """The kernel of the first d columns with its parameters. Gamma is 1 for poly unless given."""
    polynomial = options.kernel is KernelName.POLY
    asked = options.gamma or (1.0 if polynomial else GammaRule.SCALE)
    if isinstance(asked, GammaRule):
        with np.errstate(over="ignore"):
            by_scale = asked is GammaRule.SCALE
            spread = d * _variance(rows, d) if by_scale else _median_distance(rows, d, rng)
        if not 1e-300 < spread < 1e300:
            raise DataError(
                f"{opt('gamma', asked)}: the features are too far from 1 in size; standardise them"
            )
        gamma = 1.0 / spread
    else:
        gamma = asked
    if not polynomial:
        return Kernel("rbf", gamma)
    coef0 = 1.0 if options.coef0 is None else options.coef0
    return Kernel("poly", gamma, options.degree or 3, coef0)


def _variance(rows: Rows, d: int) -> float:
    """The variance of all numbers in the first d columns together."""
    variance = rows.variance(d)
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


def _fourier(gamma: float, rows: Rows, d: int, m: int, rng: np.random.Generator) -> Features:
    """sqrt(2/m) cos(omega.x + b), omega of variance 2 gamma, b uniform in [0, 2 pi)."""
    frequencies = np.sqrt(2.0 * gamma) * rng.standard_normal((m, d))
    feature_map = FourierMap(gamma, frequencies, rng.uniform(0.0, 2.0 * np.pi, m))
    n_rows, n_columns = rows.shape
    phi, packed = np.empty((n_rows, m + n_columns - d)), pack(frequencies)
    for start in range(0, n_rows, TILE_ROWS):
        at = slice(start, start + TILE_ROWS)
        tile, some = rows.dense_rows(at), phi[at]
        feature_map.fill(tile, packed, some)
        some[:, m:] = tile[:, d:]
    return Features(DenseRows(phi), feature_map)
