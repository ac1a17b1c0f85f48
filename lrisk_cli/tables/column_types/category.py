"""Categories: cells of text, or of anything that is to be taken as text."""

from typing import ClassVar

import numpy as np
import pyarrow as pa

from lrisk_cli.tables import compute
from lrisk_cli.tables.arrays import arrow_of, null_flags, numpy_of
from lrisk_cli.tables.cells import InvalidCell, Texts, is_text, to_strings
from lrisk_cli.tables.column_types.base import ColumnType, Doubt, impossible_time
from lrisk_cli.tables.column_types.numerals import UNKNOWN, Written
from lrisk_cli.tables.exact import impossible_times
from lrisk_cli.tables.inputs import PLAIN, Spelling
from lrisk_cli.types import Codes


class CategoryType(ColumnType):
    """Cells that become coded text; only times may be invalid, and an empty text is missing."""

    __slots__ = ("_written", "doubt")

    kind = "category"
    dtypes: ClassVar[tuple[str, ...]] = ("category", "string")

    def __init__(self, doubt: Doubt | None = None, written: Written = UNKNOWN) -> None:
        self.doubt = doubt
        self._written = written

    @property
    def written(self) -> Written:
        """Whether spaces around the texts are part of them."""
        return self._written

    def holds(self, kind: pa.DataType) -> bool:
        """Whether values of this Arrow type are text."""
        return is_text(kind) or bool(pa.types.is_null(kind))

    def spell(self, text: str) -> str:
        """The category of a cell."""
        return text

    def read(
        self, column: pa.Array, spelling: Spelling = PLAIN
    ) -> tuple[Texts, InvalidCell | None]:
        """Coded text; numbers are spelled as briefly as possible."""
        column, invalid = _without_impossible_times(column)
        if not pa.types.is_dictionary(column.type):
            column = compute.dictionary_encode(to_strings(column))
        codes = numpy_of(compute.cast(column.indices, pa.int32()), np.int32)
        spelled = to_strings(column.dictionary).to_pylist()
        if self.written.merged:
            spelled = [None if value is None else merged_case(value) for value in spelled]
        elif not self.written.spaces:
            spelled = [None if value is None else value.strip() for value in spelled]
        missing = null_flags(column.indices)
        if missing is not None:
            codes = np.where(missing, np.int32(-1), codes)
        empty = spelling.missing_among(spelled)
        if empty:
            codes = np.where(np.isin(codes, empty), np.int32(-1), codes)
        return _each_once(codes, [self.spell(value or "") for value in spelled]), invalid


CATEGORY = CategoryType()


def merged_case(text: str) -> str:
    """A text without capitals, and with one space for any number of them."""
    return " ".join(text.casefold().split())


def _each_once(codes: Codes, values: list[str]) -> Texts:
    """The texts under codes that differ: spaces and capitals may have been left out."""
    if len(set(values)) == len(values):
        return Texts(codes, values)
    known: dict[str, int] = {}
    places = [known.setdefault(value, len(known)) for value in values]
    return Texts(np.array([*places, -1], np.int32)[codes], list(known))


def _without_impossible_times(column: pa.Array) -> tuple[pa.Array, InvalidCell | None]:
    """The cells, null where they are times without a spelling, and the first of these."""
    values = column.dictionary if pa.types.is_dictionary(column.type) else column
    impossible = impossible_times(values) if pa.types.is_temporal(values.type) else None
    if impossible is None:
        return column, None
    column = compute.dictionary_decode(column)
    impossible = impossible_times(column)
    if impossible is None:
        return column, None
    possible = compute.cast(arrow_of((~impossible).astype(np.uint8)), pa.bool_())
    kept = compute.choose(possible, column, pa.scalar(None, column.type))
    return kept, impossible_time(column, impossible)
