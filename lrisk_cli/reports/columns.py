"""Columns of a table as aligned text, as a document, and as a page with small histograms."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lrisk_cli.profiles.profile import MOST_SHOWN, spell
from lrisk_cli.reports.facts import (
    Fact,
    Grid,
    count,
    gates_document,
    note_facts,
    number,
    plain,
    plural,
    warnings_document,
)
from lrisk_cli.reports.html import (
    Block,
    Page,
    Picture,
    Pictures,
    Section,
    Table,
    Tiles,
    clip,
    gates_section,
    notes_block,
)
from lrisk_cli.reports.terminal import print_facts, print_gates, print_grid

if TYPE_CHECKING:
    from lrisk_cli.api.columns import TableProfile
    from lrisk_cli.profiles.profile import ColumnProfile

# Letters of a value in a grid.
LONGEST = 18


def print_columns(found: "TableProfile") -> None:
    """The columns, the doubts about them, and what the gates say."""
    print_facts([*column_facts(found), *note_facts(found.notes)])
    print()
    print_grid(columns_grid(found), ragged=True)
    doubts = doubts_grid(found)
    if doubts.rows:
        print()
        print_grid(doubts, ragged=True)
    print_gates(found.gate_results)


def columns_document(found: "TableProfile") -> dict[str, Any]:
    """What `columns --json` prints."""
    gates = {"gates": gates_document(found.gate_results)} if found.gate_results else {}
    return {
        "command": "columns",
        "data": found.label,
        "rows": found.n_rows,
        **({"padded": found.padded} if found.padded else {}),
        **({"skipped": found.skipped} if found.skipped else {}),
        "columns": [_column_document(each) for each in found.columns],
        **gates,
        "notes": list(found.notes),
        **warnings_document(found.warnings),
    }


def _column_document(each: "ColumnProfile") -> dict[str, Any]:
    as_date = each.kind == "date"

    def value(x: float | None) -> "float | str | None":
        return spell("date", x) if as_date and x is not None else x

    return {
        "name": each.name,
        "kind": each.kind,
        "missing": each.missing,
        "invalid": each.invalid,
        "distinct": each.distinct,
        "distinct_exact": each.exact,
        "min": value(each.smallest),
        "median": value(each.median),
        "max": value(each.largest),
        "frequent": [
            {"value": text, "rows": n_rows} for text, n_rows in each.frequent[:MOST_SHOWN]
        ],
        "examples": list(each.examples),
        "histogram": list(each.bins),
        "doubts": list(each.doubts),
    }


def column_facts(found: "TableProfile") -> list[Fact]:
    """The table, and how many rows, columns and doubts there are."""
    n_doubts = sum(len(each.doubts) for each in found.columns)
    said = f"{plural(n_doubts, 'doubt')} about the columns" if n_doubts else "none"
    rows = f"{count(found.n_rows)} of {plural(len(found.columns), 'column')}"
    rows += f", {found.padded} padded" if found.padded else ""
    rows += f", {found.skipped} skipped" if found.skipped else ""
    return [Fact("data", plain(found.label)), Fact("rows", rows), Fact("doubts", said)]


def columns_grid(found: "TableProfile") -> Grid:
    """A row for each column."""
    rows = [
        [
            clip(plain(each.name), 32),
            each.kind,
            _missing(each),
            ("" if each.exact else "about ") + number(each.distinct),
            _holds(each),
            ", ".join(clip(plain(_value(each, text)), LONGEST) for text in each.examples[:3]),
        ]
        for each in found.columns
    ]
    return Grid(["column", "kind", "missing", "distinct", "holds", "examples"], rows)


def doubts_grid(found: "TableProfile") -> Grid:
    """All doubts, by column."""
    rows = [
        [clip(plain(each.name), 32), plain(doubt)]
        for each in found.columns
        for doubt in each.doubts
    ]
    return Grid(["column", "doubt"], rows)


def _missing(each: "ColumnProfile") -> str:
    if not each.missing:
        return "0"
    share = 100.0 * each.share(each.missing)
    return f"{count(each.missing)} ({share:.2g} %)"


def _value(each: "ColumnProfile", text: str) -> str:
    """A value of a column in a few letters."""
    return number(float(text)) if each.kind == "number" else text


def _holds(each: "ColumnProfile") -> str:
    """The range of numbers and dates, or the most frequent texts and their shares."""
    if each.smallest is not None and each.largest is not None:
        ends = (spell(each.kind, x) for x in (each.smallest, each.largest))
        return " to ".join(_value(each, text) for text in ends)
    shown = [
        f"{clip(plain(text), LONGEST)} {100.0 * n_rows / max(1, each.n_known):.2g} %"
        for text, n_rows in each.frequent[:3]
        if each.frequent[0][1] > 1
    ]
    return ", ".join(shown)


def columns_page(found: "TableProfile", command_line: str) -> Page:
    """The page of a table."""
    n_doubts = sum(len(each.doubts) for each in found.columns)
    cells = found.n_rows * len(found.columns)
    missing = sum(each.missing for each in found.columns)
    tiles = Tiles(
        [
            ("rows", f"{found.n_rows:,}", ""),
            ("columns", f"{len(found.columns):,}", _kinds(found.columns)),
            (
                "missing cells",
                f"{100.0 * missing / max(1, cells):.2g} %",
                f"{missing:,} of {cells:,}",
            ),
            ("doubts", f"{n_doubts:,}", "about how columns were read"),
        ]
    )
    first: list[Block] = [tiles, *notes_block(found.notes, found.warnings)]
    grid, doubts = columns_grid(found), doubts_grid(found)
    sections = [Section("The table", first), *gates_section(found.gate_results)]
    if doubts.rows:
        table = Table("What may be wrong with the columns", doubts.heads, doubts.rows, texts=2)
        sections.append(Section("Doubts", [table]))
    drawn = [_histogram(each) for each in found.columns if each.bins]
    if drawn:
        caption = (
            "Numbers and dates: rows between the smallest and the largest; texts: the most frequent"
        )
        sections.append(Section("Distributions", [Pictures(caption, drawn, wide=True)]))
    # Words first, then the numbers.
    heads = [grid.heads[at] for at in _WORDS_FIRST]
    rows = [[row[at] for at in _WORDS_FIRST] for row in grid.rows]
    sections.append(Section("Columns", [Table("How each column was read", heads, rows, texts=4)]))
    lead = f"{plural(len(found.columns), 'column')} of {count(found.n_rows)} rows"
    lead += f", with {plural(n_doubts, 'doubt')}." if n_doubts else ", without doubts."
    title = f"Columns of {plain(found.label)}"
    return Page("columns", title, lead, sections, command_line)


_WORDS_FIRST = (0, 1, 4, 5, 2, 3)


def _kinds(columns: "Sequence[ColumnProfile]") -> str:
    kinds = [each.kind for each in columns]
    return ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))


def _histogram(each: "ColumnProfile") -> Picture:
    """Bars as high as their counts, in the colours of a page."""
    n, top, height = len(each.bins), max(each.bins), 10.0
    width = 40.0 / n
    bars = "".join(
        f"M{at * width:.2f} {height:g}v-{height * rows / top:.2f}h{0.85 * width:.2f}V{height:g}z"
        for at, rows in enumerate(each.bins)
        if rows
    )
    view = f'viewBox="0 0 40 {height:g}" aria-hidden="true" class="fill-ink"'
    svg = f'<svg {view}><path d="{bars}"/></svg>'
    return Picture(svg, clip(plain(each.name)), _holds(each) or each.kind)
