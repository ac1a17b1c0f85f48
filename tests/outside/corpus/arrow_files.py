"""Arrow files and streams: batches, dictionaries, compression, old versions, damage."""

import gzip
import io
import random
import warnings
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyarrow import feather, ipc

from outside.corpus.base import BASE, N_ROWS, NAMES
from outside.corpus.case import AsPeers, Case, Refused
from outside.corpus.parquet_types import TABLE, far_timestamps, typed_columns
from outside.readings import NESTED

COMPRESSIONS = (None, "lz4", "zstd")
WRITERS = {"file": ipc.new_file, "stream": ipc.new_stream}


def cases() -> Iterator[Case]:
    """Layouts, every type, dictionaries, damage."""
    for kind in WRITERS:
        yield from _layouts(kind)
        yield from _damaged(kind)
    yield from _types()
    yield from _dictionaries()
    yield from _versions()


def _write(
    batches: list[pa.RecordBatch],
    kind: str = "file",
    schema: pa.Schema | None = None,
    **settings: Any,
) -> bytes:
    file = io.BytesIO()
    options = ipc.IpcWriteOptions(**settings)
    with WRITERS[kind](
        file, batches[0].schema if schema is None else schema, options=options
    ) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return file.getvalue()


def _layouts(kind: str) -> Iterator[Case]:
    for codec in COMPRESSIONS:
        for size in (1, 5, 100):
            contents = _write(TABLE.to_batches(size), kind, compression=codec)
            yield Case(f"{kind}-{codec}-{size}.arrow", contents, BASE)
    batches = TABLE.to_batches(5)
    empty = batches[0][:0]
    with_empty = [empty, batches[0], empty, *batches[1:], empty]
    yield Case(f"{kind}-empty-batches.arrow", _write(with_empty, kind), BASE)
    yield Case(f"{kind}-no-batches.arrow", _write([], kind, TABLE.schema), Refused("no rows"))
    yield Case(f"{kind}-no-rows.arrow", _write([empty], kind), Refused("no rows"))
    yield Case(f"{kind}-no-columns.arrow", _write([], kind, pa.schema([])), Refused())
    sliced = [batch[1:3] for batch in TABLE.to_batches(6)]
    expected = {name: [*cells[1:3], *cells[7:9]] for name, cells in BASE.items()}
    yield Case(f"{kind}-slices.arrow", _write(sliced, kind), expected)
    old = ipc.MetadataVersion.V4
    yield Case(f"{kind}-v4.arrow", _write(batches, kind, metadata_version=old), BASE)
    yield Case(f"{kind}-named.csv", _write(batches, kind), BASE)
    twice = pa.record_batch([batches[0]["x"]] * 2, names=["x", "x"])
    yield Case(f"{kind}-duplicate.arrow", _write([twice], kind), Refused("'x' appears twice"))
    unnamed = [batch.rename_columns(["x", "", "y"]) for batch in batches]
    yield Case(f"{kind}-unnamed.arrow", _write(unnamed, kind), AsPeers())
    noted = TABLE.replace_schema_metadata({"pandas": "{", "k": "v" * 3000})
    yield Case(f"{kind}-metadata.arrow", _write(noted.to_batches(), kind), BASE)


def _damaged(kind: str) -> Iterator[Case]:
    good = _write(TABLE.to_batches(5), kind)
    for cut in (5, 30, 200, len(good) // 2, len(good) - 10):
        # The end of a stream is optional: without its last 8 bytes it is whole.
        yield Case(f"{kind}-cut-{cut}.arrow", good[:-cut], Refused() if cut > 8 else AsPeers())
    for seed in range(8):
        chance = random.Random(seed)
        spoilt = bytearray(good)
        place = chance.randrange(8, len(good) - 12)
        spoilt[place : place + 4] = chance.randbytes(4)
        yield Case(f"{kind}-spoilt-{seed}.arrow", bytes(spoilt), AsPeers())
    yield Case(f"{kind}-gzip.arrow", gzip.compress(good, mtime=0), Refused())
    yield Case(f"{kind}-magic.arrow", good[:8], Refused())


def _types() -> Iterator[Case]:
    """Columns that Parquet has too, and those that only Arrow has."""
    for name, (array, held) in typed_columns().items():
        table = TABLE.add_column(0, "z", array)
        yield Case(f"type-{name}.arrow", _write(table.to_batches()), {"z": held, **BASE})
    for name, array in far_timestamps().items():
        table = TABLE.add_column(0, "z", array)
        yield Case(f"type-{name}.arrow", _write(table.to_batches()), Refused("calendars"))
    texts = pa.array(NAMES)
    nested = [NESTED] * N_ROWS
    for name, array in {
        "list-view": pa.array([[1]] * N_ROWS, pa.list_view(pa.int8())),
        "large-list": pa.array([[1]] * N_ROWS, pa.large_list(pa.int8())),
        "binary-view": pa.array([b"a"] * N_ROWS, pa.binary_view()),
        "interval": pa.array([(1, 2, 3)] * N_ROWS, pa.month_day_nano_interval()),
        "union": pa.UnionArray.from_sparse(pa.array([0] * N_ROWS, pa.int8()), [texts]),
        "run-ends": pa.RunEndEncodedArray.from_arrays(pa.array([5, N_ROWS], pa.int32()), [1, 2]),
    }.items():
        table = TABLE.add_column(0, "z", array)
        yield Case(f"type-{name}.arrow", _write(table.to_batches()), {"z": nested, **BASE})
    broken = pa.array([b"caf\xe9", b"ok"] * 6).view(pa.string())
    contents = _write(TABLE.set_column(1, "name", broken).to_batches())
    yield Case("text-not-utf8.arrow", contents, Refused("UTF"))


def _dictionaries() -> Iterator[Case]:
    """Coded columns; in a stream the dictionary may grow or change between batches."""
    for index in (pa.int8(), pa.uint8(), pa.int16(), pa.uint32(), pa.int64()):
        coded = pa.array(NAMES).dictionary_encode().cast(pa.dictionary(index, pa.string()))
        table = TABLE.set_column(1, "name", coded)
        yield Case(f"dictionary-{index}.arrow", _write(table.to_batches(5)), BASE)
    growing = [["ann"], ["ann", "bob"], ["ann", "bob", "cy"]]
    changing = [["ann"], ["bob", "ann"], ["cy", "bob", "ann"]]
    for name, dictionaries, settings in (
        ("delta", growing, {"emit_dictionary_deltas": True}),
        ("grown", growing, {}),
        ("replaced", changing, {}),
    ):
        batches = [
            pa.record_batch(
                [pa.DictionaryArray.from_arrays([0, 0, len(words) - 1], words), [1.0, 2.0, 3.0]],
                names=["w", "y"],
            )
            for words in dictionaries
        ]
        cells = [words[at] for words in dictionaries for at in (0, 0, len(words) - 1)]
        expected = {"w": cells, "y": [1.0, 2.0, 3.0] * 3}
        yield Case(f"dictionary-{name}.arrow", _write(batches, "stream", **settings), expected)
    delta = _write(batches[:1], "file", emit_dictionary_deltas=True)
    yield Case("dictionary-one-file.arrow", delta, {"w": ["ann"] * 3, "y": [1.0, 2.0, 3.0]})
    holed = pa.DictionaryArray.from_arrays(pa.array([0, None, 1] * 4), ["a", None])
    contents = _write(TABLE.set_column(1, "name", holed).to_batches())
    yield Case("dictionary-null.arrow", contents, {**BASE, "name": ["a", None, None] * 4})
    twice = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2] * 4), ["a", "a", "b"])
    contents = _write(TABLE.set_column(1, "name", twice).to_batches())
    yield Case("dictionary-repeated.arrow", contents, {**BASE, "name": ["a", "a", "b"] * 4})


def _versions() -> Iterator[Case]:
    file = io.BytesIO()
    feather.write_feather(TABLE, file, compression="uncompressed")
    yield Case("feather-2.feather", file.getvalue(), BASE)
    file = io.BytesIO()
    feather.write_feather(TABLE, file, compression="zstd")
    yield Case("feather-2-zstd.feather", file.getvalue(), BASE)
    old = Refused("Feather of version 1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        file = io.BytesIO()
        try:
            feather.write_feather(TABLE, file, version=1)
            contents = file.getvalue()
        except (TypeError, ValueError):  # releases of pyarrow that no longer write it
            contents = b"FEA1" + bytes(60) + b"FEA1"
    yield Case("feather-1.feather", contents, old)
    legacy = _write(TABLE.to_batches(5), "stream", use_legacy_format=True)
    yield Case("stream-before-0.15.arrow", legacy, Refused())
    legacy = _write(TABLE.to_batches(5), "file", use_legacy_format=True)
    yield Case("file-before-0.15.arrow", legacy, BASE)
