"""Digests are the sums that their docstring states, however the rows are batched."""

import struct
from hashlib import blake2b

import numpy as np

from lrisk_cli.tables.cells import Texts
from lrisk_cli.tables.fingerprint import Fingerprint

WORD = 2**64
ONE, TWO = 0x9E37_79B9_7F4A_7C15, 0xC2B2_AE3D_27D4_EB4F
NOTHING = 0x7FF8_0000_0000_0000


def scramble(word: int, multiplier: int) -> int:
    word = word * multiplier % WORD
    return word ^ (word >> 32)


def digest_by_hand(words: dict[tuple[str, str], list[int]], n_rows: int) -> str:
    digest = blake2b(str(n_rows).encode(), digest_size=16)
    for (name, kind), column in sorted(words.items()):
        sums = [
            sum(scramble(word, ONE) * (scramble(row * TWO % WORD, k) | 1)
                for row, word in enumerate(column)) % WORD
            for k in (ONE, TWO)
        ]  # fmt: skip
        digest.update(f"\0{name}\0{kind}\0{sums[0]:x}\0{sums[1]:x}".encode())
    return digest.hexdigest()


def test_a_digest_is_what_its_formula_says_in_any_batches():
    numbers = np.array([1.5, -0.0, np.nan, 1e300, -np.nan, 7.0])
    texts = Texts(np.array([0, 1, -1, 1, 0, 2], np.int32), ["a", "bé", ""])
    bits = [NOTHING if x != x else struct.unpack("<Q", struct.pack("<d", x))[0] for x in numbers]
    known = [int.from_bytes(blake2b(t.encode(), digest_size=8).digest(), "little")
             for t in texts.values]  # fmt: skip
    words = [NOTHING if code < 0 else known[code] for code in texts.codes]
    expected = digest_by_hand({("x", "number"): bits, ("t", "text"): words}, 6)
    for cut in (6, 1, 3):
        fingerprint, n_missing = Fingerprint(), 0
        for rows in (slice(0, cut), slice(cut, 6)):
            columns = {"x": numbers[rows], "t": texts[rows]}
            n_missing += fingerprint.add(columns, rows.start)
        assert fingerprint.digest(6) == expected
        assert n_missing == 3
