"""One file of a table: its name for messages, its first bytes, and how to open it."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pyarrow as pa

from lrisk_cli.errors import DataError, opt

START_BYTES = 8
COMPRESSIONS = (".gz", ".zst", ".bz2")
UNREAD_COMPRESSIONS = (
    ".xz", ".lzma", ".lz", ".lz4", ".lzo", ".br", ".z", ".7z", ".zip", ".rar", ".sz", ".snappy",
)  # fmt: skip
COMPRESSION_SIGNATURES = (
    (b"\x1f\x8b", "gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"BZh", "bz2"),
)


@dataclass(frozen=True, slots=True)
class Source:
    """One file, which can be opened more than once. label: its name for messages.

    path: empty for what came through a pipe. start: its first bytes, as stored. partitions:
    columns that the folders above it name, as in year=2013/part.parquet. in_memory: the table
    itself, where it is no file. encoding: of its text, which is opened as UTF-8; empty where it is
    left as it is.
    """

    label: str
    path: str
    start: bytes
    open_raw: Callable[[], pa.NativeFile]
    partitions: dict[str, str] = field(default_factory=dict)
    in_memory: pa.Table | None = None
    encoding: str = ""

    @property
    def compression(self) -> str | None:
        """How the file is compressed, by its first bytes."""
        names = (name for first, name in COMPRESSION_SIGNATURES if self.start.startswith(first))
        return next(names, None)

    def open(self) -> pa.NativeFile:
        """The bytes of the file, decompressed. DataError when it cannot be opened."""
        compression = self.compression
        try:
            raw = self.open_raw()
            plain = raw if compression is None else pa.CompressedInputStream(raw, compression)
            if not self.encoding:
                return plain
            return pa.transcoding_input_stream(plain, self.encoding, "utf-8")
        except (OSError, pa.ArrowException) as error:
            raise unreadable(self.label, error) from error

    def read_start(self) -> bytes:
        """The first bytes, decompressed."""
        with self.open() as stream:
            return self.read(stream, START_BYTES)

    def read(self, stream: pa.NativeFile, size: int) -> bytes:
        """Exactly `size` bytes of the opened file, fewer only at its end."""
        pieces = []
        try:
            while size > 0 and (piece := stream.read(size)):
                pieces.append(piece)
                size -= len(piece)
        except UnicodeError as error:
            finding = f"the text is not in the encoding {self.encoding} ({error})"
            raise DataError(f"{self.label}: {finding}; name another {opt('encoding')}") from error
        except (OSError, pa.ArrowException) as error:
            raise unreadable(self.label, error) from error
        return b"".join(pieces)


def unreadable(
    label: str, error: Exception, remedy: str = "check the path, permissions and format"
) -> DataError:
    """The sentence for a file that the system or its format refuses to read."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    reason = reason.strip().splitlines()[0].rstrip(".") if reason.strip() else type(error).__name__
    return DataError(f"{label}: cannot be read ({reason}); {remedy}")
