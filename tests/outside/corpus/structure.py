"""Headers and rows that do not quite make a table: names, widths, lengths."""

from collections.abc import Iterator

from outside.corpus.base import BASE, HEADER, N_ROWS, ROWS, base_text, write_text
from outside.corpus.case import Case, Refused

PAD, SKIP = {"ragged": "pad"}, {"ragged": "skip"}
RENAME = {"rename_duplicates": True}


def cases() -> Iterator[Case]:
    """Names, then ragged rows, then extremes of size."""
    yield from _names()
    yield from _duplicates()
    yield from _ragged()
    yield from _emptiness()
    yield from _sizes()


def _named(*names: str) -> bytes:
    return write_text([names, *ROWS]).encode()


def _renamed(*names: str) -> dict[str, list[object]]:
    return dict(zip(names, BASE.values(), strict=True))


def _names() -> Iterator[Case]:
    yield Case("unnamed-first.csv", _named("", "name", "y"), _renamed("column_1", "name", "y"))
    yield Case("unnamed-middle.csv", _named("x", "", "y"), _renamed("x", "column_2", "y"))
    yield Case("unnamed-last.csv", _named("x", "name", ""), _renamed("x", "name", "column_3"))
    yield Case("unnamed-two.csv", _named("", "name", ""), _renamed("column_1", "name", "column_3"))
    yield Case("unnamed-quoted.csv", b'"","b"\n1,2\n3,4\n', {"column_1": [1, 3], "b": [2, 4]})
    spaces = b" ,b\n1,2\n3,4\n"
    yield Case("unnamed-spaces.csv", spaces, {"column_1": [1, 3], "b": [2, 4]})
    index = "".join(f"{at},{','.join(row)}\n" for at, row in enumerate(ROWS))
    expected = {"column_1": [*map(float, range(N_ROWS))], **BASE}
    yield Case("pandas-index.csv", f",{','.join(HEADER)}\n{index}".encode(), expected)
    trailing = base_text().replace("\n", ",\n").encode()
    yield Case("trailing-commas.csv", trailing, BASE)
    taken = b"column_2,\n1,2\n3,4\n"
    yield Case("unnamed-name-taken.csv", taken, {"column_2": [1.0, 3.0], "column_2.2": [2.0, 4.0]})
    for label, name in {
        "spaces": " x ", "unicode": "größe", "emoji": "🦊", "number": "1", "float": "1.5",
        "keyword": "select", "dots": "a.b.c", "brackets": "[x]", "equals": "x=1", "dash": "-x",
        "percent": "%s", "intercept": "(intercept)", "slash": "a/b", "null": "null",
        "quotes": 'a"b', "long": "n" * 3000, "index": "column_9", "reserved": "row_id",
    }.items():  # fmt: skip
        yield Case(f"name-{label}.csv", _named(name, "name", "y"), _renamed(name, "name", "y"))
    yield Case("names-by-case.csv", _named("a", "A", "y"), _renamed("a", "A", "y"))
    yield Case("names-by-space.csv", _named("a", "a ", "y"), _renamed("a", "a ", "y"))
    long = "n" * 140_000
    yield Case("name-of-140000.csv", _named(long, "name", "y"), _renamed(long, "name", "y"))


def _duplicates() -> Iterator[Case]:
    two, three = _named("a", "a", "y"), _named("a", "a", "a")
    yield Case("duplicate-two.csv", two, Refused("'a' appears twice"))
    yield Case("duplicate-three.csv", three, Refused("'a' appears"))
    yield Case("duplicate-two-renamed.csv", two, _renamed("a", "a.2", "y"), RENAME)
    yield Case("duplicate-three-renamed.csv", three, _renamed("a", "a.2", "a.3"), RENAME)
    yield Case("renamed-needlessly.csv", _named(*HEADER), BASE, RENAME)
    quoted = b'"a",a\n1,2\n3,4\n'
    yield Case("duplicate-quoted.csv", quoted, Refused("appears twice"))


def _with_row(row: str, at: int) -> bytes:
    lines = base_text().splitlines()
    return "\n".join([*lines[: at + 1], row, *lines[at + 1 :], ""]).encode()


def _ragged() -> Iterator[Case]:
    """One row with fewer or more fields than the header; padded, skipped or refused."""
    n = N_ROWS
    for label, at in {"first": 0, "middle": 6, "last": n}.items():
        for width, row, fields in (("short", "7,dee", "2 fields"), ("one", "7", "1 field")):
            text = _with_row(row, at)
            name = f"ragged-{width}-{label}"
            yield Case(f"{name}.csv", text, Refused(f"row {at}: {fields} where the header has 3"))
            yield Case(f"{name}-skip.csv", text, BASE, SKIP)
            cells = [*row.split(","), None, None][:3]
            added = dict(zip(HEADER, [7.0, *cells[1:]], strict=True))
            padded = {
                column: [*values[:at], added[column], *values[at:]]
                for column, values in BASE.items()
            }
            yield Case(f"{name}-pad.csv", text, padded, PAD)
        text = _with_row("7,dee,8,9", at)
        yield Case(f"ragged-long-{label}.csv", text, Refused(f"row {at}: 4 fields where"))
        yield Case(f"ragged-long-{label}-skip.csv", text, BASE, SKIP)
    commas = ",".join(HEADER) + "\n" + "".join(f"{','.join(row)},\n" for row in ROWS)
    yield Case("commas-below-header.csv", commas.encode(), Refused("4 fields where"))
    header = write_text([["x", "name"], *ROWS]).encode()
    yield Case("header-too-short.csv", header, Refused("3 fields where the header has 2"))
    header = write_text([[*HEADER, "z"], *ROWS]).encode()
    yield Case("header-too-long.csv", header, Refused("3 fields where the header has 4"))
    yield Case("header-too-long-pad.csv", header, {**BASE, "z": [None] * n}, PAD)
    yield Case("even-pad.csv", base_text().encode(), BASE, PAD)
    yield Case("even-skip.csv", base_text().encode(), BASE, SKIP)
    yield Case("ragged-unknown.csv", base_text().encode(), Refused("ragged", 2), {"ragged": "cut"})


def _emptiness() -> Iterator[Case]:
    empty = Refused("the file is empty")
    yield Case("empty.csv", b"", empty)
    yield Case("newline.csv", b"\n", empty)
    yield Case("newlines.csv", b"\n\r\n\r\r\n", empty)
    yield Case("bom-only.csv", b"\xef\xbb\xbf", empty)
    yield Case("bom-newline.csv", b"\xef\xbb\xbf\n", empty)
    yield Case("spaces-only.csv", b"   \n  \n", empty)
    no_rows = Refused("no rows")
    yield Case("header-only.csv", b"x,name,y\n", no_rows)
    yield Case("header-unended.csv", b"x,name,y", no_rows)
    yield Case("header-crlf-only.csv", b"x,name,y\r\n", no_rows)
    yield Case("header-and-blank-lines.csv", b"x,name,y\n\n\n\n", no_rows)
    yield Case("header-only.tsv", b"x\tname\ty\n", no_rows)
    yield Case("one-row.csv", b"x,y\n1,2\n", {"x": [1.0], "y": [2.0]})
    yield Case("one-cell.csv", b"x\n1\n", {"x": [1.0]})
    yield Case("one-row-unended.csv", b"x,y\n1,2", {"x": [1.0], "y": [2.0]})
    yield Case("last-cell-empty.csv", b"x,y\n1,2\n3,", {"x": [1.0, 3.0], "y": [2.0, None]})
    yield Case("all-empty.csv", b"x,y\n,\n,\n", {"x": [None, None], "y": [None, None]})


def _sizes() -> Iterator[Case]:
    """Wide, long and both; rows that cross the boundaries of blocks of a megabyte."""
    wide = [f"c{at}" for at in range(2000)]
    rows = [[str((at * row) % 97) for at in range(2000)] for row in range(1, 4)]
    columns = {name: [float(row[at]) for row in rows] for at, name in enumerate(wide)}
    yield Case("wide.csv", write_text([wide, *rows]).encode(), columns)
    cells = [f"{at * 37 % 1009 / 8:g}" for at in range(30_000)]
    text = "x,y\n" + "".join(f"{cell},{at}\n" for at, cell in enumerate(cells))
    shown = cells[:20_000]
    expected = {"x": [*map(float, shown)], "y": [*map(float, range(len(shown)))]}
    yield Case("long.csv", text.encode(), expected)
    for end_name, end in {"lf": "\n", "crlf": "\r\n", "cr": "\r"}.items():
        for offset in (-1, 0, 1):
            yield Case(f"block-{end_name}{offset:+d}.csv", *_blocks(end, offset))


def _blocks(end: str, offset: int) -> tuple[bytes, dict[str, list[object]]]:
    """A quoted cell with line ends and quotes that lies over the end of the first megabyte."""
    start = f"text,y{end}"
    filler = "f" * ((1 << 20) - 40 + offset)
    inside = f'a""b{end}c,d' * 5
    text = f'{start}{filler},1{end}"{inside}",2{end}last,3{end}'
    held = inside.replace('""', '"')
    return text.encode(), {"text": [filler, held, "last"], "y": [1.0, 2.0, 3.0]}
