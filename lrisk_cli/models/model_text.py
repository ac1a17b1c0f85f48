"""The text of a model file -> refused where it cannot be one, before it is taken apart.

A model is small, or nearly all of it is numbers, and the rest tells how many there must be. So a
file of any shape is refused for about the memory that its text takes, not what it would unfold to.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec import Raw, Struct
from numpy.typing import NDArray

# Longer files are not read. Four thousand landmarks of eight hundred columns fit.
MOST_BYTES = 100_000_000
# Up to this much is not looked at, and up to that much may be something else than bulk.
_TINY_BYTES = 1_000_000
_SMALL_BYTES, _SMALL_VALUES = 32_000_000, 2_000_000
# All strings of a feature map: its keys, and the name of the kernel.
_MOST_STRINGS, _LONGEST_STRING = 12, 40
_STRING_OR_NUMBERS = re.compile(rb'"(?:[^"\\]|\\.)*+"|\[[-+0-9.eE,\s]*+\]', re.DOTALL)
_CHUNK = 1_000_000


class _Feature(Struct):
    """What the number of its columns follows from."""

    categories: list[Raw] = []
    other: bool = False
    indicator: bool = False
    parts: list[Raw] = []

    @property
    def n_columns(self) -> int:
        """How many columns it is encoded to."""
        n_columns = max(1, len(self.categories) + self.other)
        return n_columns + len(self.parts) + self.indicator


class _Encoding(Struct):
    features: list[_Feature] = []


class _Outline(Struct):
    """A file whose parts stay text."""

    encoding: Raw = Raw(b"{}")
    classes: Raw = Raw(b"[]")
    feature_map: Raw = Raw(b"{}")
    coefficients: Raw = Raw(b"[]")
    clusters: Raw = Raw(b"[]")


def check_bulk(text: bytes) -> None:
    """ValueError where arrays are longer than the rest of the file calls for.

    Every landmark, frequency and centre has a number for each column, and opens a bracket.
    """
    if len(text) <= _TINY_BYTES:
        return
    outline = msgspec.json.decode(text, type=_Outline)
    mapped, weights, clusters = (
        memoryview(part) for part in (outline.feature_map, outline.coefficients, outline.clusters)
    )
    bulk = mapped.nbytes + weights.nbytes + clusters.nbytes
    values = sum(_count(part, b",") for part in (mapped, weights, clusters))
    if len(text) - bulk > _SMALL_BYTES or text.count(b",") - values > _SMALL_VALUES:
        raise ValueError("too long for what it holds")
    n_columns, n_outputs = _shape(outline)
    # One bracket more encloses all rows, and another one the phases of cosines.
    n_rows, n_clusters = max(_count(mapped, b"[") - 1, 0), _count(clusters, b"[") - 1
    n_values = n_rows or n_columns
    fits = (
        _has_few_strings(mapped)
        and _count(weights, b'"') == 0
        and _count(clusters, b'"') == 6 * n_clusters
        and (n_rows - 2) * n_columns <= _count(mapped, b",") <= n_rows * (n_columns + 1) + 12
        and (n_values - 2) * n_outputs <= _count(weights, b",") + 1 <= (n_values + 1) * n_outputs
        and n_clusters * n_columns <= _count(clusters, b",") + 1 <= n_clusters * (n_columns + 3) + 1
    )
    if not fits:
        raise ValueError("its numbers are not as many as its columns call for")


def check_keys(text: bytes) -> None:
    """ValueError where an object has a key twice. text: JSON that was decoded already."""
    import json  # writing a model does not need it

    outline = msgspec.json.decode(text, type=_Outline)
    bulk = (outline.feature_map, outline.coefficients, outline.clusters)
    if sum(memoryview(part).nbytes for part in bulk) > _TINY_BYTES:
        # What is left of the arrays of numbers is their brackets.
        text = _STRING_OR_NUMBERS.sub(lambda hit: hit[0] if hit[0][:1] == b'"' else b"[]", text)
    json.loads(text, object_pairs_hook=_unique)


def _unique(pairs: Sequence[tuple[str, Any]]) -> None:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            raise ValueError(f"the key {key!r} appears twice")
        seen.add(key)


def _shape(outline: _Outline) -> tuple[int, int]:
    """Encoded columns, and numbers for each coefficient."""
    features = msgspec.json.decode(outline.encoding, type=_Encoding).features
    n_classes = len(msgspec.json.decode(outline.classes, type=list[Raw]))
    n_columns = sum(each.n_columns for each in features)
    return n_columns, n_classes if n_classes > 2 else 1


def _has_few_strings(part: memoryview) -> bool:
    """Whether there are but a few short ones, so that brackets and commas are those of arrays."""
    if _count(part, b'"') > 2 * _MOST_STRINGS:
        return False
    quotes = np.concatenate([start + np.flatnonzero(same) for start, same in _matches(part, b'"')])
    return bool(np.all(quotes[1::2] - quotes[: len(quotes) // 2 * 2 : 2] <= _LONGEST_STRING))


def _count(part: memoryview, character: bytes) -> int:
    """How often a character occurs."""
    return sum(int(np.count_nonzero(same)) for _, same in _matches(part, character))


def _matches(part: memoryview, character: bytes) -> Iterator[tuple[int, NDArray[np.bool_]]]:
    """Where a character stands, some of the text at a time: never a copy of all of it."""
    codes = np.frombuffer(part, np.uint8)
    for start in range(0, len(codes), _CHUNK):
        yield start, codes[start : start + _CHUNK] == character[0]
