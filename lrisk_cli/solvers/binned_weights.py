"""Weights of binned losses, smoothed so that ties share them.

Letters: bins with n_k rows of mean loss l_k, a_k the weight of a row, nu the smoothing. The
weights maximise sum n_k a_k l_k - nu/2 sum n_k (a_k - 1/n)^2 among those that the spectrum allows:
pooled as in row_weights.py, in a block a_k = (l_k - mean l) / nu + mean sigma.
"""

from dataclasses import dataclass

import numpy as np

from lrisk_cli.risk.spectrum import Spectrum
from lrisk_cli.solvers.binned_bounds import Ranks
from lrisk_cli.solvers.binned_plan import Ramps
from lrisk_cli.solvers.rounding import UNIT
from lrisk_cli.types import Array, Index

# Blocks that get fine bins: so many, with at least this fraction of the rows of the largest.
MOST_RAMPS, LEAST_RAMP = 16, 0.01
# What rounding may add to the weight of some rows.
NEARLY = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """a: (K,), 0 for empty bins. blocks: the first bin of each block, slopes: 1/nu or 0 there.

    penalty: 1/2 sum n_k (a_k - 1/n)^2. ramps: losses between which the largest blocks lie.
    """

    a: Array
    blocks: Index
    slopes: Array
    penalty: float
    ramps: Ramps


def smooth_weights(ranks: Ranks, nu: float) -> Weights:
    """The smoothed weights of the bins of a sweep."""
    seen = ranks.seen
    full = np.flatnonzero(seen.count > 0.0)
    c, losses = seen.count[full], ranks.means[full]
    sigma = ranks.mass[full] / c
    middle = losses[int(np.argmax(np.diff(sigma, prepend=sigma[0])))]
    starts = _pool((losses - middle) / nu - sigma, c)
    sizes = np.diff(np.append(starts, len(full)))

    def mean(values: Array) -> Array:
        return np.repeat(np.add.reduceat(c * values, starts) / np.add.reduceat(c, starts), sizes)

    away = losses - losses[np.repeat(starts, sizes)]
    a = np.maximum((away - mean(away)) / nu + mean(sigma), 0.0)
    a = _allowed(a, c, ranks.mass[full])
    out = np.zeros(len(seen.count))
    out[full] = a
    several = sizes > 1
    held = np.where(several, np.add.reduceat(c, starts), 0.0)
    widest = [at for at in np.argsort(-held, kind="stable")[:MOST_RAMPS] if held[at] > 0.0]
    if held.max() > 0.0:
        widest = [at for at in widest if held[at] >= LEAST_RAMP * held.max()]
    ramps = tuple(
        (float(seen.low[full[starts[at]]]), float(seen.high[full[starts[at] + sizes[at] - 1]]))
        for at in widest
    )
    even = 1.0 / ranks.n
    return Weights(
        out, full[starts], np.where(several, 1.0 / nu, 0.0),
        0.5 * float(c @ (a - even) ** 2), ramps,
    )  # fmt: skip


def shared_bins(found: Weights, live: Index, count: Array) -> tuple[Index, Array]:
    """The bins that share weights with others, and the room that each has: none at the ends.

    live: bins to look among, ascending; count: of all bins. Both results (m,).
    """
    block = np.searchsorted(found.blocks, live, side="right") - 1
    c = count[live]
    size = np.bincount(block, c)
    before = np.cumsum(c) - c
    first = np.append(True, np.diff(block) != 0)
    place = (before + 0.5 * c - before[first][np.cumsum(first) - 1]) / size[block]
    room = np.maximum(place * (1.0 - place), 0.0) ** 2
    shared = (found.slopes[block] > 0.0) & (room > 0.0)
    return live[shared], room[shared]


def are_allowed(a: Array, count: Array, spectrum: Spectrum) -> bool:
    """Whether no rows have more weight together than sigma gives to as many, up to rounding."""
    if a.min() < 0.0:
        return False
    order = np.argsort(-a, kind="stable")
    n = float(count.sum())
    held, tops = np.cumsum(count[order]), np.cumsum((count * a)[order])
    most = spectrum.of_rows(held, np.zeros(len(held)), n)
    return bool(np.all(tops * (1.0 - 16.0 * UNIT) <= most))


def _allowed(a: Array, c: Array, mass: Array) -> Array:
    """The weights, a little less where rounding gives the top ones more than sigma has.

    Where they have much more, they are mixed with their mean.
    """
    held, tops, most = (np.cumsum(each[::-1]) for each in (c, c * a, mass))
    ratio = float(np.max(tops[most > 0.0] / most[most > 0.0], initial=1.0))
    if ratio <= 1.0 + NEARLY:
        return a / ratio
    even = tops[-1] / held[-1]
    over, excess = tops - most * (1.0 + 0.5 * NEARLY), tops - even * held
    share = float(np.max(over / np.maximum(excess, 1e-300), initial=0.0, where=over > 0.0))
    mixed = (1.0 - min(share, 1.0)) * a + min(share, 1.0) * even
    tops = np.cumsum((c * mixed)[::-1])
    ratio = float(np.max(tops[most > 0.0] / most[most > 0.0], initial=1.0))
    return np.asarray(mixed / ratio)


def _pool(target: Array, c: Array) -> Index:
    """Where the blocks begin in which a non-decreasing fit of the target is constant."""
    starts, sums, sizes = [0], [float(c[0] * target[0])], [float(c[0])]
    for k in range(1, len(target)):
        starts.append(k)
        sums.append(float(c[k] * target[k]))
        sizes.append(float(c[k]))
        while len(sums) > 1 and sums[-2] * sizes[-1] >= sums[-1] * sizes[-2]:
            starts.pop()
            of_last, n_last = sums.pop(), sizes.pop()
            sums[-1] += of_last
            sizes[-1] += n_last
    return np.array(starts)
