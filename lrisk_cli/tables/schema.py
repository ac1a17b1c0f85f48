"""Look at files before their rows are read: their columns, and what the cells of each are."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from lrisk_cli.errors import DataError
from lrisk_cli.tables import columnar_files as columnar
from lrisk_cli.tables import csv_files as csvfiles
from lrisk_cli.tables.arrays import arrow_texts
from lrisk_cli.tables.cells import Cells, infer_cells
from lrisk_cli.tables.inputs import Spelling
from lrisk_cli.tables.sources import Source

MOST_COLUMNS = 100_000
_NUMBERS = {Cells.BOOLEAN: Cells.TRUTH}


@dataclass(frozen=True, slots=True)
class Look:
    """What a file says of itself before its rows are read: a text file has a layout, no schema.

    at_once: bytes that its largest batch takes, which is read as a whole; 0 where there is none.
    """

    names: tuple[str, ...]
    n_rows: int | None
    layout: csvfiles.Layout | None
    schema: pa.Schema | None
    at_once: int


def look_at(source: Source, delimiter: str | None) -> Look:
    """The columns of a file, those that its folders name included."""
    if source.format == "text":
        layout = csvfiles.read_layout(source, delimiter)
        schema, n_rows, at_once, stored = None, None, 0, layout.names
    else:
        layout = None
        schema, n_rows, at_once = columnar.read_schema(source)
        stored = tuple(schema.names)
    if len(stored) > MOST_COLUMNS:
        raise DataError(
            f"{source.label}: has {len(stored)} columns, more than the {MOST_COLUMNS} that lrisk "
            "takes; is the delimiter right, and does each row stand on a line?"
        )
    for name in source.partitions:
        if name in stored:
            raise DataError(
                f"{source.label}: column '{name}' is also the name of a folder ({name}=...); "
                "rename one of them"
            )
    return Look((*stored, *source.partitions), n_rows, layout, schema, at_once)


def check_same_columns(sources: Sequence[Source], looks: Sequence[Look]) -> None:
    """DataError that names the first file and column that does not agree with the first file."""
    for source, look in zip(sources[1:], looks[1:], strict=True):
        _check_same(sources[0].label, looks[0], source.label, look)


def see_cells(
    sources: Sequence[Source], looks: Sequence[Look], spelling: Spelling
) -> dict[str, Cells]:
    """What the cells of each column are, by type or by a sample; files like the first decide."""
    files = list(zip(sources, looks, strict=True))
    if looks[0].schema is not None:
        typed = [(source, look.schema) for source, look in files if look.schema is not None]
        cells = columnar.see_cells(typed, spelling)
    else:
        texts = [(source, look.layout) for source, look in files if look.layout is not None]
        cells = csvfiles.see_cells(texts, spelling)
    for name in sources[0].partitions:
        folders = arrow_texts([source.partitions.get(name, "") for source in sources])
        cells[name] = infer_cells(folders, spelling) or Cells.TEXT
    return cells


def force_cells(seen: Cells, wanted: str | None) -> Cells:
    """What the cells are to be taken for, where a user or a model says so."""
    if wanted is None or seen is Cells.NESTED:
        return seen
    if wanted == "date":
        return Cells.DATE
    if wanted == "number":
        return seen if seen.numeric else _NUMBERS.get(seen, Cells.NUMBER)
    return Cells.TEXT if seen.numeric else seen


def check_dates(
    label: str, first: Look, seen: Mapping[str, Cells], forced: Mapping[str, str]
) -> None:
    """Refuse columns whose type is that of numbers where a model needs dates."""
    for field in first.schema or ():
        if forced.get(field.name) == "date" and seen[field.name] not in (Cells.DATE, Cells.TEXT):
            raise DataError(
                f"{label}, column '{field.name}': holds {field.type} where the fit had dates; "
                "convert it to dates"
            )


def _check_same(first: str, expected: Look, other: str, look: Look) -> None:
    known, here = set(expected.names), set(look.names)
    for name in expected.names:
        if name not in here:
            raise DataError(f"{other}: no column '{name}', which {first} has; columns must agree")
    for name in look.names:
        if name not in known:
            raise DataError(f"{other}: column '{name}' is not in {first}; columns must agree")
    if expected.schema is None or look.schema is None:
        return
    for name in set(look.schema.names) & set(expected.schema.names):
        kinds = [schema.field(name).type for schema in (expected.schema, look.schema)]
        if not columnar.types_agree(*kinds):
            raise DataError(
                f"{other}, column '{name}': holds {kinds[1]} where {first} has {kinds[0]}; "
                "columns must agree"
            )
