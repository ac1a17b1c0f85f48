"""Results as one page that stands alone: no script, no outside address, light, dark and print.

A page is a title, a sentence that sums it up, and sections of blocks: figures, tables, lists of
facts, tiles with the main numbers, notes, small pictures. Whoever builds a page fills these in;
every text is escaped when the page is written.
"""

import hashlib
import os
from base64 import b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import zip_longest
from typing import Any, ClassVar, TypeAlias

from lrisk_cli import __version__
from lrisk_cli.errors import UsageError
from lrisk_cli.evaluation.gates import GateResult
from lrisk_cli.reports.facts import Fact, number, plain
from lrisk_cli.reports.gates import gates_grid
from lrisk_cli.tables.table import write_bytes
from lrisk_cli.warnings import CodedWarning

MAX_BYTES = 2_000_000
# Texts of a file may be of any length; a page shows their beginning.
MAX_TEXT = 400
MAX_ROWS = 200
# Letters that a line of a narrow screen holds, and half a line of a wide one; the least of a
# sentence.
NARROW, HALF = 44, 66
SENTENCE = 24
GATES = "What is allowed, and what was found"


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and what they are. beside: they stand beside the last figure, where there is room."""

    kind: ClassVar[str] = "facts"
    pairs: Sequence[tuple[str, str]]
    beside: bool = False


@dataclass(frozen=True, slots=True)
class Tiles:
    """The few numbers that matter most: name, number, and a word about it."""

    kind: ClassVar[str] = "tiles"
    items: Sequence[tuple[str, str, str]]


@dataclass(frozen=True, slots=True)
class Notes:
    """Sentences to know before drawing conclusions."""

    kind: ClassVar[str] = "notes"
    items: Sequence[str]


@dataclass(frozen=True, slots=True)
class Alerts:
    """Sentences to read before anything else."""

    kind: ClassVar[str] = "alerts"
    items: Sequence[str]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text under heads. texts: how many of the first columns hold words, not numbers.

    beside: it stands beside the last figure, where there is room.
    """

    kind: ClassVar[str] = "table"
    caption: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    texts: int = 1
    beside: bool = False

    @property
    def shown(self) -> Sequence[Sequence[str]]:
        """The rows that the page shows."""
        return self.rows[:MAX_ROWS]

    @property
    def n_more(self) -> int:
        """How many rows it leaves out."""
        return max(0, len(self.rows) - MAX_ROWS)

    @property
    def n_letters(self) -> int:
        """About the width of its widest row: heads may break between words, texts anywhere."""
        lines = [[max(head.split(), key=len, default="") for head in self.heads], *self.shown]
        columns = zip_longest(*lines, fillvalue="")
        return sum(2 + max(map(len, column)) for column in columns)

    @property
    def stacked(self) -> bool:
        """Whether a narrow screen shows each row as a list: it has sentences and does not fit."""
        longest = max((len(cell) for row in self.shown for cell in row[: self.texts]), default=0)
        return longest > SENTENCE and self.n_letters > NARROW


@dataclass(frozen=True, slots=True)
class Key:
    """What a colour stands for. look: that of its series."""

    name: str
    color: int
    look: str = "line"

    @property
    def dash(self) -> int:
        """The pattern of its line: colours alone do not reach everyone."""
        return dash_of(self.color)


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing made by `figures.draw`, its finding, its key, and the numbers behind it."""

    kind: ClassVar[str] = "figure"
    svg: str
    title: str
    note: str = ""
    keys: Sequence[Key] = ()
    data: Table | None = None


@dataclass(frozen=True, slots=True)
class Code:
    """A command, to be copied."""

    kind: ClassVar[str] = "code"
    text: str


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing made by `pictures.draw_picture`, with what it shows and a word about it."""

    svg: str
    title: str
    word: str


@dataclass(frozen=True, slots=True)
class Pictures:
    """Small pictures side by side under a caption, larger ones with `wide`."""

    kind: ClassVar[str] = "pictures"
    caption: str
    items: Sequence[Picture]
    wide: bool = False


Block: TypeAlias = Facts | Tiles | Notes | Alerts | Table | Figure | Code | Pictures


@dataclass(frozen=True, slots=True)
class Section:
    """Blocks under a heading; figures that follow each other stand side by side where they fit."""

    title: str
    blocks: Sequence[Block]
    lead: str = ""

    @property
    def runs(self) -> "list[Run]":
        """The blocks; figures together, and the last odd one with what stands beside it."""
        found: list[Run] = []
        for block in self.blocks:
            last = found[-1].blocks if found and found[-1].figures else []
            if block.kind == "figure" and last and not found[-1].beside:
                last.append(block)
            elif last and len(last) % 2 and not found[-1].beside and _is_beside(block):
                figure = last.pop()
                if not last:
                    found.pop()
                found.append(Run([figure, block], beside=True))
            else:
                found.append(Run([block]))
        return found


@dataclass(frozen=True, slots=True)
class Run:
    """Blocks side by side where they fit. beside: a figure and a block of another kind."""

    blocks: list[Block]
    beside: bool = False

    @property
    def figures(self) -> bool:
        """Whether it begins with a figure."""
        return self.blocks[0].kind == "figure"


def _is_beside(block: Block) -> bool:
    """Whether it is to stand beside a figure, and is narrow enough."""
    if isinstance(block, Table):
        return block.beside and block.n_letters <= HALF
    return isinstance(block, Facts) and block.beside


@dataclass(frozen=True, slots=True)
class Page:
    """A report: the command it came from, its title, what it found, and the rest in sections.

    timed: it shows seconds, which differ from run to run. program: whose command it is.
    """

    command: str
    title: str
    lead: str
    sections: Sequence[Section]
    command_line: str
    timed: bool = False
    program: str = "lrisk"


def facts_block(facts: Sequence[Fact], *, beside: bool = False) -> Facts:
    """Facts of a result with their details."""
    return Facts([(fact.label, fact.text) for fact in facts if fact.text], beside)


def notes_block(notes: Sequence[str], warnings: Iterable[CodedWarning] = ()) -> list[Block]:
    """The warnings and the notes, if there are any."""
    lines = [f"Warning: {warning.line}" for warning in warnings]
    return [*([Alerts(lines)] if lines else []), *([Notes(notes)] if notes else [])]


def gates_section(
    gate_results: Sequence[GateResult], models: Sequence[str | None] | None = None
) -> list[Section]:
    """The gates and what they met, if there are any. models: that met them, if several could."""
    if not gate_results:
        return []
    grid = gates_grid(gate_results, models)
    return [Section("Gates", [Table(GATES, grid.heads, grid.rows, texts=len(grid.heads))])]


def dash_of(color: int) -> int:
    """Which of four patterns goes with a colour; the neutral one and the first are solid."""
    return (max(color, 1) - 1) % 4


def write_page(path: str | os.PathLike[str], page: Page) -> None:
    """Put the page at `path`, whole or not at all."""
    data = render(page).encode()
    if len(data) > MAX_BYTES:
        raise UsageError(
            f"{path}: the page would have {len(data) / 1e6:.1f} MB, more than {MAX_BYTES / 1e6:g}; "
            "report on less"
        )
    write_bytes(path, data)


def render(page: Page) -> str:
    """The page as HTML; the same page gives the same text."""
    style = _file("style.css")
    digest = b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return str(
        _environment()
        .get_template("page.html")
        .render(page=page, style=style, policy=policy, version=__version__)
    )


def shorten(text: str) -> str:
    """Text as a page shows it: printable, not too long, and no line break before a percent sign."""
    text = plain(text).replace(" %", "\u00a0%")
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"


def brief(value: float | None) -> str:
    """Four digits, for pages; empty for None."""
    return "" if value is None else number(value, 4)


def clip(name: str, length: int = 24) -> str:
    """A name that fits beside an axis or over a column."""
    return name if len(name) <= length else name[: length - 1] + "…"


@cache
def _environment() -> Any:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(_file),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["short"] = shorten
    environment.filters["printable"] = plain
    return environment


def _file(name: str) -> str:
    return files("lrisk_cli.reports").joinpath("pages", name).read_text("utf-8")
