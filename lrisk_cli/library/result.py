"""What all results have in common: text, table, notebook, figure."""

import io
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from html import escape
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lrisk_cli.tables.outputs import as_table

if TYPE_CHECKING:
    import pandas as pd

    from lrisk_cli.reports.facts import Fact, Grid
    from lrisk_cli.reports.figures import Plot

# How lines begin that tell the options of a command.
OF_PROGRAM = ("nothing was saved", "pass -o ")


class Result(ABC):
    """A result: print it, show it in a notebook, turn it into a table, draw it.

    result: what it was made from, with all details.
    """

    result: Any

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know before drawing conclusions."""
        return tuple(self.result.notes)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Findings that speak against the result."""
        return tuple(each.line for each in self.result.warnings)

    @property
    def passed(self) -> bool:
        """Whether every gate (`fail_on`, `warn_on`, `baseline_metrics`) held."""
        gates = (each[1] if isinstance(each, tuple) else each for each in self.result.gate_results)
        return not any(gate.failed for gate in gates)

    @abstractmethod
    def document(self) -> dict[str, Any]:
        """All facts, as `--json` prints them."""

    @abstractmethod
    def to_arrow(self) -> pa.Table:
        """The main table of the result."""

    def to_pandas(self) -> "pd.DataFrame":
        """The main table of the result."""
        return self.to_arrow().to_pandas()

    def plot(self) -> Any:
        """The main pictures, as a figure of matplotlib."""
        from lrisk_cli.reports.figures import draw_panels

        return draw_panels(self._plots())

    @abstractmethod
    def _print(self) -> None:
        """What the command prints."""

    @abstractmethod
    def _plots(self) -> "Sequence[Plot]":
        """The pictures of `plot`."""

    @abstractmethod
    def _shown(self) -> "tuple[str, Sequence[Fact], Sequence[Grid]]":
        """Title, facts and grids for notebooks."""

    def __repr__(self) -> str:
        text = io.StringIO()
        with redirect_stdout(text):
            self._print()
        # How to keep it is a matter of the command line.
        kept = (line for line in text.getvalue().splitlines() if not line.startswith(OF_PROGRAM))
        return "\n".join(kept).rstrip()

    def _repr_html_(self) -> str:
        title, facts, grids = self._shown()
        return html_of(title, facts, grids)


def joined(parts: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Columns of consecutive rows as one table."""
    return pa.concat_tables([as_table(dict(part)) for part in parts], promote_options="permissive")


def html_of(title: str, facts: "Sequence[Fact]", grids: "Sequence[Grid]") -> str:
    """Facts and grids for a notebook, whose colours they take."""
    from lrisk_cli.reports.facts import plain

    lines = [
        f'<tr><th style="text-align:left;vertical-align:top;padding:2px 10px">'
        f"{escape('' if fact.continued else fact.label)}</th>"
        f'<td style="text-align:left;padding:2px 10px">{escape(plain(fact.text))}</td></tr>'
        for fact in facts
        if fact.text and not fact.detail
    ]
    tables = [_grid_html(grid) for grid in grids]
    head = f"<p><strong>{escape(plain(title))}</strong></p>"
    return f'<div class="lrisk">{head}<table><tbody>{"".join(lines)}</tbody></table>' + (
        "".join(tables) + "</div>"
    )


# Cells that begin as numbers do: "12.6 billion", "+3 %", "~0".
_NUMBER = re.compile(r"[-+±~]?[0-9.]")


def _grid_html(grid: "Grid") -> str:
    """A grid; columns of numbers are aligned to the right."""
    from lrisk_cli.reports.facts import plain

    numbers = {
        at
        for at in range(len(grid.heads))
        if all(_NUMBER.match(row[at]) for row in grid.rows if at < len(row) and row[at])
    }

    def cells(texts: Sequence[str], tag: str) -> str:
        sides = ["right" if at in numbers else "left" for at in range(len(texts))]
        return "".join(
            f'<{tag} style="text-align:{side};padding:2px 10px">{escape(plain(text))}</{tag}>'
            for side, text in zip(sides, texts, strict=True)
        )

    head = f"<thead><tr>{cells(grid.heads, 'th')}</tr></thead>"
    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in grid.rows)
    return f'<table style="margin-top:8px">{head}<tbody>{body}</tbody></table>'


def from_lines(names: Sequence[str], lines: Sequence[Sequence[Any]]) -> pa.Table:
    columns = zip(*lines, strict=True) if lines else [()] * len(names)
    arrays = {name: pa.array(list(each)) for name, each in zip(names, columns, strict=True)}
    # A figure that no line has is a number nevertheless.
    return pa.table(
        {
            name: each.cast(pa.float64()) if pa.types.is_null(each.type) else each
            for name, each in arrays.items()
        }
    )
