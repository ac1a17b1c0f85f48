"""Rows of text with more or fewer fields than the header: padded or left out, and counted."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from lrisk_cli.names import Ragged
from lrisk_cli.native.kernels import core

MOST_NAMED = 3
PART_BYTES = 1 << 20


@dataclass(slots=True)
class RaggedRows:
    """Counts ragged rows while a table is read. named: places of the first few of them."""

    padded: int = 0
    skipped: int = 0
    named: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Evener:
    """Gives every record of a block as many fields as the header has. place: of the file."""

    place: str
    delimiter: str
    n_fields: int
    policy: Ragged

    def even(self, block: bytes, first_line: int, rows: RaggedRows) -> Iterator[memoryview]:
        """The records in parts of PART_BYTES, or of the size of the block if that is larger.

        first_line: the number of its first line in the file.
        """
        at, pad = 0, self.policy is Ragged.PAD
        uneven = np.empty((MOST_NAMED, 3), np.int64)
        while at < len(block):
            # Any one record fits: it is no longer than the block, and gets n_fields at most.
            out = bytearray(max(len(block), PART_BYTES) + self.n_fields + 3)
            at, size, n_padded, n_skipped, n_lines = core.even_records(
                block, at, ord(self.delimiter), self.n_fields, pad, out, uneven
            )
            self._count(uneven[: n_padded + n_skipped], first_line, rows)
            rows.padded += n_padded
            rows.skipped += n_skipped
            first_line += n_lines
            if size:
                yield memoryview(out)[:size]

    def first_uneven(self, block: bytes | memoryview) -> int | None:
        """The line, counted from the start of the block, of the first record that is ragged."""
        uneven = np.empty((1, 3), np.int64)
        out = bytearray(len(block) + self.n_fields + 3)
        _, _, n_padded, n_skipped, _ = core.even_records(
            block, 0, ord(self.delimiter), self.n_fields, False, out, uneven
        )
        return int(uneven[0, 0]) if n_padded + n_skipped else None

    def _count(self, uneven: np.ndarray, first_line: int, rows: RaggedRows) -> None:
        for line, n_fields, skipped in uneven[: MOST_NAMED - len(rows.named)].tolist():
            fields = "1 field" if n_fields == 1 else f"{n_fields} fields"
            fate = "skipped" if skipped else "padded" if n_fields < self.n_fields else "cut"
            rows.named.append(f"{self.place}, line {first_line + line}: {fields}, {fate}")
