"""Text that is a table however it is written: delimiters, quotes, line ends, blank lines."""

from collections.abc import Iterator

from outside.corpus.base import (
    BARE,
    BASE,
    HEADER,
    N_ROWS,
    QUOTED,
    QUOTED_TEXTS,
    ROWS,
    base_text,
    base_with,
    with_column,
    write_text,
)
from outside.corpus.case import AsPeers, Case, Refused

DELIMITERS = {"comma": ",", "tab": "\t", "semicolon": ";", "pipe": "|"}
NEWLINES = {"lf": "\n", "crlf": "\r\n", "cr": "\r"}
QUOTING = {"bare": BARE, "quoted": QUOTED, "quoted-texts": QUOTED_TEXTS}


def cases() -> Iterator[Case]:
    """All combinations of dialects, then oddities of each part."""
    yield from _matrix()
    yield from _mixed_line_ends()
    yield from _quotes()
    yield from _blank_lines()
    yield from _delimiters()
    yield from _preambles()


def _matrix() -> Iterator[Case]:
    for mark_name, mark in DELIMITERS.items():
        for end_name, end in NEWLINES.items():
            for style_name, style in QUOTING.items():
                text = base_text(mark, end, style).encode()
                name = f"{mark_name}-{end_name}-{style_name}"
                yield Case(f"{name}.csv", text, BASE)
                yield Case(f"{name}-bom-unended.csv", b"\xef\xbb\xbf" + text.rstrip(b"\r\n"), BASE)


def _joined(ends: list[str]) -> bytes:
    """The table with these line ends, over and over, the first after the header."""
    lines = [",".join(row) for row in [HEADER, *ROWS]]
    return "".join(line + ends[at % len(ends)] for at, line in enumerate(lines)).encode()


def _mixed_line_ends() -> Iterator[Case]:
    """Each of LF, CR and CRLF ends a record wherever it is outside quotes."""
    yield Case("lf-crlf.csv", _joined(["\n", "\r\n"]), BASE)
    yield Case("crlf-lf.csv", _joined(["\r\n", "\n"]), BASE)
    yield Case("cr-lf.csv", _joined(["\r", "\n"]), BASE)
    yield Case("lf-cr.csv", _joined(["\n", "\r"]), BASE)
    yield Case("cr-crlf.csv", _joined(["\r", "\r\n"]), BASE)
    yield Case("cr-crlf-lf.csv", _joined(["\r", "\r\n", "\n"]), BASE)
    yield Case("cr-then-lf.csv", _joined(["\r"] * 9 + ["\n"] * 4), BASE)
    yield Case("lf-then-cr.csv", _joined(["\n"] * 9 + ["\r"] * 4), BASE)
    yield Case("crlf-then-lf.csv", _joined(["\r\n"] * 9 + ["\n"] * 4), BASE)
    yield Case("lf-header-cr-rows.csv", _joined(["\n"] + ["\r"] * 12), BASE)
    yield Case("cr-header-lf-rows.csv", _joined(["\r"] + ["\n"] * 12), BASE)
    yield Case("cr-only-last-is-lf.csv", _joined(["\r"] * 12 + ["\n"]), BASE)
    thousand = "a,y\r" + "".join(f"{at},{at % 7}\r" for at in range(1000))
    thousand += "".join(f"{at},{at % 5}\n" for at in range(30))
    expected = {
        "a": [float(at) for at in [*range(1000), *range(30)]],
        "y": [float(at % 7) for at in range(1000)] + [float(at % 5) for at in range(30)],
    }
    yield Case("thousand-cr-thirty-lf.csv", thousand.encode(), expected)
    for name, end in NEWLINES.items():
        for inner_name, inner in NEWLINES.items():
            text = write_text([HEADER, *ROWS], newline=end)
            text = text.replace("ann", f'"a{inner}n"')
            names = [f"a{inner}n" if cell == "ann" else cell for cell in BASE["name"]]
            yield Case(f"quoted-{inner_name}-in-{name}.csv", text.encode(), {**BASE, "name": names})


def _quotes() -> Iterator[Case]:
    """A cell as it is written, beside what it holds."""
    cells = {
        "doubled": ('"a""b"', 'a"b'),
        "doubled-start": ('"""b"', '"b'),
        "doubled-end": ('"a"""', 'a"'),
        "only-doubled": ('""""', '"'),
        "two-doubled": ('""""""', '""'),
        "delimiter": ('"a,b"', "a,b"),
        "only-delimiter": ('","', ","),
        "spaces": ('" a "', "a"),
        "bare-spaces": (" a b ", "a b"),
        "quote-inside": ('a"b', 'a"b'),
        "quotes-inside": ('a"b"c', 'a"b"c'),
        "quote-at-end": ('ab"', 'ab"'),
        "apostrophes": ("'a'", "'a'"),
        "apostrophe-and-comma": ("\"'a,b'\"", "'a,b'"),
        "backslash": ("a\\b", "a\\b"),
        "backslash-n": ("a\\nb", "a\\nb"),
        "backslash-at-end": ('"a\\\\"', "a\\\\"),
        "tab": ("a\tb", "a\tb"),
        "semicolon": ("a;b", "a;b"),
        "tags": ("<b>a</b>", "<b>a</b>"),
        "json": ('"{""k"": [1, 2]}"', '{"k": [1, 2]}'),
        "formula": ("=1+2", "=1+2"),
        "at": ("@SUM(A1)", "@SUM(A1)"),
        "emoji": ("🦊", "🦊"),
        "combining": ("e\u0301", "e\u0301"),
        "right-to-left": ("\u05d0\u202e", "\u05d0\u202e"),
        "no-break-space": ("a\u00a0b", "a\u00a0b"),
        "zero-width": ("a\u200bb", "a\u200bb"),
        "line-separator": ("a\u2028b", "a\u2028b"),
        "next-line": ("a\u0085b", "a\u0085b"),
        "vertical-tab": ("a\x0bb", "a\x0bb"),
        "form-feed": ("a\x0cb", "a\x0cb"),
        "escape-code": ("\x1b[31ma", "\x1b[31ma"),
        "unit-separator": ("a\x1fb", "a\x1fb"),
        "long": ("w" * 5000, "w" * 5000),
        "empty-quoted": ('""', None),
        "hash": ("#a", "#a"),
        "double-slash": ("//a", "//a"),
    }
    for name, (written, held) in cells.items():
        text = with_column([written, "plain"])
        yield Case(f"cell-{name}.csv", text.encode(), base_with([held, "plain"]))
    # Outside the rules of quoting: no two programs agree on all of them.
    for name, written in {
        "backslash-quote": '"a\\"b"',
        "text-after-quote": '"a"b',
        "space-after-quote": '"a" ',
        "space-before-quote": ' "a"',
        "quote-in-quotes": '"a"b"',
    }.items():
        yield Case(f"cell-{name}.csv", with_column([written, "plain"]).encode(), AsPeers())
    for name, tail in {"last": '1,"a,2', "last-lone": '1,",2'}.items():
        yield Case(f"open-quote-{name}.csv", (base_text() + tail).encode(), Refused("quote"))
    middle = base_text().replace("-0.5,ann", '-0.5,"ann')
    yield Case("open-quote-middle.csv", middle.encode(), Refused("quote"))
    yield Case("open-quote-header.csv", b'x,"name,y\n1,a,2\n', Refused("header: a quote"))
    header = write_text([["x", 'na"me', "y,z"], *ROWS]).encode()
    renamed = dict(zip(["x", 'na"me', "y,z"], BASE.values(), strict=True))
    yield Case("quoted-header.csv", header, renamed)
    header = write_text([["x", "na\nme", "y\r\nz"], *ROWS]).encode()
    renamed = dict(zip(["x", "na\nme", "y\r\nz"], BASE.values(), strict=True))
    yield Case("newline-header.csv", header, renamed)


def _blank_lines() -> Iterator[Case]:
    """Lines without any character are no rows."""
    for name, end in NEWLINES.items():
        text = base_text(newline=end)
        yield Case(f"blank-between-{name}.csv", text.replace(end, end * 2).encode(), BASE)
        yield Case(f"blank-first-{name}.csv", (end * 3 + text).encode(), BASE)
        yield Case(f"blank-last-{name}.csv", (text + end * 4).encode(), BASE)
    one = "".join(f"{at}\n\n" for at in range(N_ROWS))
    yield Case("blank-one-column.csv", f"x\n{one}".encode(), {"x": [*map(float, range(N_ROWS))]})
    quoted = 'x\n1\n""\n3\n'
    yield Case("empty-quoted-one-column.csv", quoted.encode(), {"x": [1.0, None, 3.0]})
    spaces = base_text() + "   \n"
    yield Case("line-of-spaces.csv", spaces.encode(), Refused("1 field where the header has 3"))
    commas = base_text() + ",,\n"
    expected = {name: [*cells, None] for name, cells in BASE.items()}
    yield Case("line-of-commas.csv", commas.encode(), expected)


def _delimiters() -> Iterator[Case]:
    one = {"x": [*map(float, range(5))]}
    yield Case("one-column.csv", b"x\n0\n1\n2\n3\n4\n", one)
    yield Case("one-column-quoted.csv", b'"x"\n"0"\n"1"\n"2"\n"3"\n"4"\n', one)
    yield Case("tabs.tsv", base_text("\t").encode(), BASE)
    commas = base_text("\t").replace("name", "name, full").encode()
    expected = {name if name != "name" else "name, full": BASE[name] for name in BASE}
    yield Case("commas-in-tabbed-header.tsv", commas, expected)
    comma = b"a;b,c;y\n1;x,y;2\n2;z;3\n"
    yield Case(
        "comma-in-semicolon-header.csv", comma,
        {"a": [1.0, 2.0], "b,c": ["x,y", "z"], "y": [2.0, 3.0]},
    )  # fmt: skip
    for name, mark in {"colon": ":", "caret": "^", "tilde": "~", "space": " ", "hash": "#"}.items():
        yield Case(f"asked-{name}.csv", base_text(mark).encode(), BASE, {"delimiter": mark})
    yield Case("asked-tab.csv", base_text("\t").encode(), BASE, {"delimiter": "tab"})
    yield Case("asked-unit-separator.csv", base_text("\x1f").encode(), BASE, {"delimiter": "\x1f"})
    letter = {"delimiter": "a"}
    yield Case("asked-letter.csv", base_text().encode(), Refused("delimiter", 2), letter)
    yield Case("asked-two.csv", base_text().encode(), Refused("delimiter", 2), {"delimiter": "||"})
    aligned = base_text().replace(",", ", ").replace(", name, y", ",name,y").encode()
    yield Case("space-after-comma.csv", aligned, BASE)
    expected = {**BASE, "name": [f" {cell}" for cell in BASE["name"]]}
    yield Case("space-after-comma-kept.csv", aligned, expected, {"keep_spaces": True})


def _preambles() -> Iterator[Case]:
    """Lines that are not of the table: refused, or left out as options or a mark say."""
    text = base_text()
    title = Refused("has 1 field and line ")
    yield Case("comment-first.csv", ("# a table\n" + text).encode(), title)
    commented = ("# a table\n# of 2024\n" + text + "# end\n").encode()
    yield Case("comments.csv", commented, BASE, {"comment": "#"})
    yield Case("comment-lines.csv", ("# a table\n# of 2024\n" + text).encode(), Refused())
    yield Case("title.csv", ("Prices of 2024\n\n" + text).encode(), title)
    titled = ("Prices of 2024\n\n" + text).encode()
    yield Case("title-skipped.csv", titled, BASE, {"skip_rows": 2})
    yield Case("sep-line.csv", ("sep=,\n" + text).encode(), BASE)
    yield Case("sep-semicolon.csv", ("sep=;\r\n" + base_text(";")).encode(), BASE)
    yield Case("footer.csv", (text + "12 rows\n").encode(), Refused("1 field where"))
    yield Case("comment-last.csv", (text + "# end\n").encode(), Refused("1 field where"))
    yield Case("two-tables.csv", (text + "\na,b\n1,2\n").encode(), Refused("2 fields where"))
    twice = text + ",".join(HEADER) + "\n"
    yield Case("header-twice.csv", twice.encode(), Refused("'x' is not a number"))
    units = text.replace("\n", "\nm,-,kg\n", 1)
    yield Case("units-below-header.csv", units.encode(), Refused("'m' is not a number"))
