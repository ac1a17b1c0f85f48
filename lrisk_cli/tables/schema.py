"""The schema of a table before its rows are read: its files, their columns and column types."""

from collections.abc import Mapping, Sequence

from lrisk_cli.errors import DataError
from lrisk_cli.tables.arrays import arrow_texts
from lrisk_cli.tables.column_types.base import ColumnType
from lrisk_cli.tables.column_types.category import CATEGORY
from lrisk_cli.tables.column_types.date import DATE
from lrisk_cli.tables.column_types.registry import infer_type, types_agree
from lrisk_cli.tables.formats import choose_reader
from lrisk_cli.tables.inputs import Layout, Spelling
from lrisk_cli.tables.reader import FileSchema, TableFile
from lrisk_cli.tables.source import Source

MOST_COLUMNS = 100_000


def inspect_files(sources: Sequence[Source], layout: Layout) -> tuple[TableFile, ...]:
    """The files, each with its reader and the columns that the reader finds."""
    files = []
    for source in sources:
        reader = choose_reader(source)
        prepared = reader.prepare(source, layout)
        schema = _checked(prepared, reader.inspect(prepared, layout))
        files.append(TableFile(prepared, reader, schema))
    return tuple(files)


def check_same_columns(files: Sequence[TableFile]) -> None:
    """DataError that names the first file and column that does not agree with the first file."""
    for file in files[1:]:
        _check_names(files[0], file)
        _check_types(files[0], file)


def infer_types(files: Sequence[TableFile], spelling: Spelling) -> dict[str, ColumnType]:
    """The type of each column, by Arrow type or by a sample; files like the first decide."""
    types = files[0].reader.infer_types(files, spelling)
    for name in files[0].source.partitions:
        folders = arrow_texts([file.source.partitions.get(name, "") for file in files])
        types[name] = infer_type(folders, spelling) or CATEGORY
    return types


def check_dates(
    label: str, first: FileSchema, found: Mapping[str, ColumnType], kinds: Mapping[str, str]
) -> None:
    """Refuse columns whose type is that of numbers where a model needs dates."""
    for field in first.types or ():
        if kinds.get(field.name) == DATE.kind and found[field.name] not in (DATE, CATEGORY):
            raise DataError(
                f"{label}, column '{field.name}': holds {field.type} where the fit had dates; "
                "convert it to dates"
            )


def _checked(source: Source, schema: FileSchema) -> FileSchema:
    """The schema, refused where it has no columns, too many, or one that a folder names too."""
    if not schema.names:
        raise DataError(f"{source.label}: the file has no columns; nothing to work on")
    if len(schema.names) > MOST_COLUMNS:
        raise DataError(
            f"{source.label}: has {len(schema.names)} columns, more than the {MOST_COLUMNS} that "
            "lrisk takes; is the delimiter right, and does each row stand on a line?"
        )
    for name in source.partitions:
        if name in schema.names:
            raise DataError(
                f"{source.label}: column '{name}' is also the name of a folder ({name}=...); "
                "rename one of them"
            )
    return schema


def _check_names(first: TableFile, file: TableFile) -> None:
    here, label, known = file.source.label, first.source.label, set(first.names)
    names = set(file.names)
    for name in first.names:
        if name not in names:
            raise DataError(f"{here}: no column '{name}', which {label} has; columns must agree")
    for name in file.names:
        if name not in known:
            raise DataError(f"{here}: column '{name}' is not in {label}; columns must agree")


def _check_types(first: TableFile, file: TableFile) -> None:
    if first.schema.types is None or file.schema.types is None:
        return
    for name in set(file.schema.names) & set(first.schema.names):
        kinds = [schema.field(name).type for schema in (first.schema.types, file.schema.types)]
        if not types_agree(*kinds):
            raise DataError(
                f"{file.source.label}, column '{name}': holds {kinds[1]} where "
                f"{first.source.label} has {kinds[0]}; columns must agree"
            )
