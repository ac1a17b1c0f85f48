"""Tables read back as plain Python values."""

from lrisk_cli.tables.table import Table, Texts


def read(table: Table, **how) -> dict[str, list]:
    """All rows: numbers as floats, texts as str or None, anything else as Python values."""
    rows: dict[str, list] = {column.name: [] for column in table.columns}
    n_rows = 0
    for batch in table.batches([*rows], **how):
        assert batch.first_row == n_rows
        n_rows += batch.n_rows
        for name, cells in batch.columns.items():
            assert len(cells) == batch.n_rows
            if isinstance(cells, Texts):
                rows[name] += [cells.values[code] if code >= 0 else None for code in cells.codes]
            else:
                rows[name] += cells.tolist()
    return rows


def kinds(table: Table) -> dict[str, str]:
    return {column.name: column.kind for column in table.columns}
