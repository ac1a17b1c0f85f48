"""How many values differ, in bounded memory: exact up to a limit, else estimated from hashes."""

from collections.abc import Sequence
from zlib import crc32

import numpy as np
import numpy.typing as npt

from lrisk_cli.types import Array

Hashes = npt.NDArray[np.uint64]

# Relative standard error of an estimate: 1/sqrt(4096), 1.6 %.
MOST_HASHES = 4096
_LAST = float(2**64)


class DistinctCount:
    """Counts different values by the smallest of their hashes.

    Of k hashes that are spread evenly over [0, 1), the k-th smallest is about k/(n + 1) for n
    different values. Fewer than k hashes are all of them, and their number is exact.
    """

    def __init__(self) -> None:
        self._hashes: Hashes = np.empty(0, np.uint64)

    def add(self, hashes: Hashes) -> None:
        """Take the hashes of some values."""
        start = 0
        while start < len(hashes) and self.exact:
            # Few at a time: once there are enough, most are above the largest of them.
            self._merge(hashes[start : start + 2 * MOST_HASHES])
            start += 2 * MOST_HASHES
        if start < len(hashes):
            few = hashes[start:]
            self._merge(few[few < self._hashes[-1]])

    def _merge(self, hashes: Hashes) -> None:
        """Keep the smallest of these and the former ones."""
        if len(self._hashes):
            at = np.minimum(np.searchsorted(self._hashes, hashes), len(self._hashes) - 1)
            hashes = hashes[self._hashes[at] != hashes]
        if len(hashes):
            joined = np.sort(np.concatenate([self._hashes, hashes]))
            first = np.append(True, joined[1:] != joined[:-1])
            self._hashes = joined[first][:MOST_HASHES]

    @property
    def exact(self) -> bool:
        """Whether the count is no estimate."""
        return len(self._hashes) < MOST_HASHES

    @property
    def count(self) -> int:
        """How many values differ."""
        if self.exact:
            return len(self._hashes)
        return round((MOST_HASHES - 1) / (float(self._hashes[-1]) / _LAST))


def hash_numbers(numbers: Array) -> Hashes:
    """64 bits of each number; 0 and -0 are one number."""
    return _mix((numbers + 0.0).view(np.uint64))


def hash_texts(texts: Sequence[str]) -> Hashes:
    """64 bits of each text, of which no more than 2^32 differ."""
    codes = [crc32(text.encode("utf-8", "surrogatepass")) for text in texts]
    return _mix(np.array(codes, np.uint64))


def _mix(words: Hashes) -> Hashes:
    """The finaliser of splitmix64, a bijection."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words ^= words >> np.uint64(30)
    words *= np.uint64(0xBF58476D1CE4E5B9)
    words ^= words >> np.uint64(27)
    words *= np.uint64(0x94D049BB133111EB)
    words ^= words >> np.uint64(31)
    return words
