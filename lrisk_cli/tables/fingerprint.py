"""A short digest of parsed values, whatever the file, format or batches the rows came in."""

from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from lrisk_cli.native.kernels import core
from lrisk_cli.tables.cells import Texts
from lrisk_cli.types import Array

Words = npt.NDArray[np.uint64]


class Fingerprint:
    """Sums, over the rows of each column, of scrambled values times odd weights of the row number.

    The sums wrap around, so their order does not matter; a changed or moved cell changes them.
    """

    def __init__(self) -> None:
        self._sums: dict[tuple[str, str], Words] = {}

    def add(self, columns: dict[str, Array | Texts], first_row: int) -> int:
        """Take in some rows of some columns, each cell once; how many cells are missing."""
        n_missing = 0
        for name, cells in columns.items():
            kind = "text" if isinstance(cells, Texts) else "number"
            sums = self._sums.setdefault((name, kind), np.zeros(2, np.uint64))
            if isinstance(cells, Texts):
                codes = np.ascontiguousarray(cells.codes)
                n_missing += core.digest_codes(codes, _text_words(cells.values), first_row, sums)
            else:
                words = np.ascontiguousarray(cells).view(np.uint64)
                n_missing += core.digest_numbers(words, first_row, sums)
        return n_missing

    def digest(self, n_rows: int) -> str:
        """32 hexadecimal digits. The order of the columns does not matter."""
        digest = blake2b(str(n_rows).encode(), digest_size=16)
        for (name, kind), sums in sorted(self._sums.items()):
            digest.update(f"\0{name}\0{kind}\0{sums[0]:x}\0{sums[1]:x}".encode())
        return digest.hexdigest()


def _text_words(values: list[str]) -> Words:
    known = [blake2b(text.encode(), digest_size=8).digest() for text in values]
    return np.frombuffer(b"".join(known), "<u8").astype(np.uint64)
