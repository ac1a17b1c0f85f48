"""Rows of text with more or fewer fields than the header: padded or left out, and counted."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from lrisk_cli.names import Ragged
from lrisk_cli.native.kernels import core
from lrisk_cli.tables.row_lines import Index, RowLines, record_lines

MOST_NAMED = 3
PART_BYTES = 1 << 20


@dataclass(slots=True)
class RaggedRows:
    """Counts ragged rows while a table is read, and keeps the lines of all rows.

    named: places of the first few that are ragged.
    """

    padded: int = 0
    skipped: int = 0
    named: list[str] = field(default_factory=list)
    lines: RowLines = field(default_factory=RowLines)


@dataclass(frozen=True, slots=True)
class Evener:
    """Gives every record of a block as many fields as the header has. place: of the file."""

    place: str
    delimiter: str
    n_fields: int
    policy: Ragged

    def even(
        self, block: bytes, first_line: int, rows: RaggedRows
    ) -> Iterator[tuple[memoryview, Index]]:
        """The records in parts of PART_BYTES, or of the size of the block if that is larger.

        first_line: the number of its first line in the file. With each part the lines on which its
        records begin, counted from that line.
        """
        at, pad, n_before = 0, self.policy is Ragged.PAD, 0
        uneven = np.empty((core.count_lines(block) + 1, 3), np.int64)
        while at < len(block):
            # Any one record fits: it is no longer than the block, and gets n_fields at most.
            out = bytearray(max(len(block), PART_BYTES) + self.n_fields + 3)
            start = at
            at, size, n_padded, n_skipped, n_lines = core.even_records(
                block, at, ord(self.delimiter), self.n_fields, pad, out, uneven
            )
            found = uneven[: n_padded + n_skipped]
            self._count(found, first_line + n_before, rows)
            rows.padded += n_padded
            rows.skipped += n_skipped
            if size:
                begins = record_lines(memoryview(block)[start:at], self.delimiter)
                begins = np.setdiff1d(begins, found[found[:, 2] > 0, 0], assume_unique=True)
                yield memoryview(out)[:size], n_before + begins
            n_before += n_lines

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
