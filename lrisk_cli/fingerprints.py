"""A short digest of parsed values, whatever the file, format or batches the rows came in."""

from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from lrisk_cli.cells import Floats, Texts

Words = npt.NDArray[np.uint64]

MISSING = np.uint64(0x7FF8_0000_0000_0000)
MULTIPLIERS = (np.uint64(0x9E37_79B9_7F4A_7C15), np.uint64(0xC2B2_AE3D_27D4_EB4F))
HALF = np.uint64(32)


class Fingerprint:
    """Sums, over the rows of each column, of scrambled values times odd weights of the row number.

    The sums wrap around, so their order does not matter; a changed or moved cell changes them.
    """

    def __init__(self) -> None:
        self._sums: dict[tuple[str, str], Words] = {}

    def add(self, columns: dict[str, Floats | Texts], first_row: int, n_rows: int) -> None:
        """Take in some rows of some columns, each cell once."""
        rows = np.arange(first_row, first_row + n_rows, dtype=np.uint64)
        weights = [_scramble(rows * MULTIPLIERS[1], MULTIPLIERS[k]) | np.uint64(1) for k in (0, 1)]
        for name, cells in columns.items():
            kind = "text" if isinstance(cells, Texts) else "number"
            words = _scramble(_words(cells), MULTIPLIERS[0])
            sums = self._sums.setdefault((name, kind), np.zeros(2, np.uint64))
            sums += np.array([np.dot(words, weight) for weight in weights])

    def digest(self, n_rows: int) -> str:
        """32 hexadecimal digits. The order of the columns does not matter."""
        digest = blake2b(str(n_rows).encode(), digest_size=16)
        for (name, kind), sums in sorted(self._sums.items()):
            digest.update(f"\0{name}\0{kind}\0{sums[0]:x}\0{sums[1]:x}".encode())
        return digest.hexdigest()


def _words(cells: Floats | Texts) -> Words:
    if isinstance(cells, Texts):
        known = [blake2b(text.encode(), digest_size=8).digest() for text in cells.values]
        # The last entry is what code -1 finds.
        return np.append(np.frombuffer(b"".join(known), "<u8").astype(np.uint64), MISSING)[
            cells.codes
        ]
    words = cells.view(np.uint64)
    missing = np.isnan(cells)
    return np.where(missing, MISSING, words) if missing.any() else words


def _scramble(words: Words, multiplier: np.uint64) -> Words:
    words = words * multiplier
    words ^= words >> HALF
    return words
