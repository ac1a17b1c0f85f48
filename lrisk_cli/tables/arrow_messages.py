"""The messages of an Arrow file -> how many rows they hold and what they unfold to, unread.

Each message is a length, a FlatBuffer that describes its body, and the body: the buffers of a
batch, each of which begins with its length before compression if there is one.
"""

import os
import struct
from dataclasses import dataclass
from typing import Any

MAGIC = b"ARROW1\0\0"
_CONTINUES = 0xFFFFFFFF
_MOST_METADATA = 64 << 20
_DICTIONARY, _RECORDS = 2, 3


@dataclass(frozen=True, slots=True)
class Sizes:
    """n_rows: of all batches. largest: bytes that the largest message takes in memory."""

    n_rows: int
    largest: int


def measure_messages(stream: Any) -> Sizes | None:
    """What a file or stream in the format of Arrow holds; None where it is not as it should be."""
    n_rows = largest = 0
    try:
        size = stream.size()
        at = len(MAGIC) if stream.read(len(MAGIC)) == MAGIC else 0
        while at < size:
            stream.seek(at)
            continues, n_metadata = struct.unpack("<II", stream.read(8))
            if continues != _CONTINUES or n_metadata > _MOST_METADATA:
                return None
            if n_metadata == 0:
                break
            message = _Table.root(stream.read(n_metadata))
            body = at + 8 + n_metadata
            rows, unfolded = _batch(message, stream, body)
            n_rows, largest = n_rows + rows, max(largest, unfolded)
            n_body = message.integer(3, "<q")
            if rows < 0 or n_body < 0:
                return None
            at = body + n_body
    except (struct.error, IndexError, ValueError, OSError):
        return None
    return Sizes(n_rows, largest)


def _batch(message: "_Table", stream: Any, body: int) -> tuple[int, int]:
    """Rows of the batch in a message, and the bytes that its buffers unfold to."""
    kind = message.integer(1, "<B")
    if kind not in (_DICTIONARY, _RECORDS):
        return 0, 0
    records = message.table(2)
    if kind == _DICTIONARY:
        records = records.table(1)
    compressed = records.place(3) is not None
    unfolded = 0
    for offset, length in records.pairs(2):
        size = length
        if compressed and length > 8:
            stream.seek(body + offset, os.SEEK_SET)
            (before,) = struct.unpack("<q", stream.read(8))
            size = length if before < 0 else before
        unfolded += size
    return (records.integer(0, "<q") if kind == _RECORDS else 0), unfolded


@dataclass(frozen=True, slots=True)
class _Table:
    """A table of a FlatBuffer: its fields by their numbers."""

    data: bytes
    at: int

    @classmethod
    def root(cls, data: bytes) -> "_Table":
        return cls(data, _unpack("<I", data, 0))

    def place(self, field: int) -> int | None:
        """Where a field lies, if it is there."""
        layout = self.at - _unpack("<i", self.data, self.at)
        entry = 4 + 2 * field
        if entry >= _unpack("<H", self.data, layout):
            return None
        offset = _unpack("<H", self.data, layout + entry)
        return self.at + offset if offset else None

    def integer(self, field: int, format_: str) -> int:
        """An integer, 0 if it is not there."""
        place = self.place(field)
        return 0 if place is None else _unpack(format_, self.data, place)

    def table(self, field: int) -> "_Table":
        place = self.place(field)
        if place is None:
            raise ValueError("a message without its header")
        return _Table(self.data, place + _unpack("<I", self.data, place))

    def pairs(self, field: int) -> list[tuple[int, int]]:
        """A vector of two integers each: offset and length of buffers."""
        place = self.place(field)
        if place is None:
            return []
        start = place + _unpack("<I", self.data, place)
        n_pairs = _unpack("<I", self.data, start)
        # The pairs are aligned to 8 bytes, and begin right after their number.
        data = self.data[start + 4 : start + 4 + 16 * n_pairs]
        return list(struct.iter_unpack("<qq", data))


def _unpack(format_: str, data: bytes, at: int) -> int:
    if at < 0:
        raise ValueError("an offset before the start")
    (value,) = struct.unpack_from(format_, data, at)
    return int(value)
