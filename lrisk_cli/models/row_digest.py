"""A digest of the rows that a model learned from, by which it recognises them in any order."""

import numpy as np

from lrisk_cli.rows.rows import Rows
from lrisk_cli.rows.words import Words, folded
from lrisk_cli.types import Targets

_BLOCK = 1 << 16  # rows taken at a time: half a megabyte stays in the cache
_GOLDEN = 0x9E3779B97F4A7C15


class RowDigest:
    """Count of the rows and sums, modulo 2^64, of two hashes of each; so their order is free.

    The hash of a row mixes h = sum_j odd_j (b_j xor b_j >> 32) over the bits b_j of its encoded
    numbers and its target. A CSV and a Parquet file of the same rows have the same digest, and the
    digest of all rows is the sum of those of parts.
    """

    def __init__(self) -> None:
        self.n_rows = 0
        self._sums = np.zeros(2, np.uint64)

    def add(self, rows: Rows, targets: Targets) -> None:
        """Take in some rows. targets: (n,)."""
        n_rows, width = rows.shape
        odd = _mix(np.arange(1, width + 2, dtype=np.uint64) * np.uint64(_GOLDEN)) | np.uint64(1)
        keys = rows.keys(odd[:-1])
        for start in range(0, n_rows, _BLOCK):
            some = slice(start, start + _BLOCK)
            mixed = keys[some] + folded(np.asarray(targets[some], dtype=np.float64)) * odd[-1]
            mixed = _mix(mixed)
            self._sums += np.array([mixed.sum(), _mix(mixed ^ odd[-1]).sum()])
        self.n_rows += n_rows

    def merge(self, other: "RowDigest") -> None:
        """Take in the rows of another."""
        self._sums += other._sums
        self.n_rows += other.n_rows

    @property
    def text(self) -> str:
        """Rows, and 32 hexadecimal digits."""
        return f"{self.n_rows}-{self._sums[0]:016x}{self._sums[1]:016x}"


def digest_of(rows: Rows, targets: Targets) -> str:
    """The digest of some rows."""
    digest = RowDigest()
    digest.add(rows, targets)
    return digest.text


def add_digests(one: str, other: str) -> str:
    """The digest of the rows of both."""
    (n, sums), (m, more) = _parts(one), _parts(other)
    first, second = ((a + b) % 2**64 for a, b in zip(sums, more, strict=True))
    return f"{n + m}-{first:016x}{second:016x}"


def _parts(text: str) -> tuple[int, tuple[int, int]]:
    count, _, digits = text.partition("-")
    return int(count), (int(digits[:16], 16), int(digits[16:], 16))


def _mix(words: Words) -> Words:
    """The finaliser of splitmix64: every bit depends on every bit."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
