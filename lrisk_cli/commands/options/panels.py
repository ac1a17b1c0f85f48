"""Help of a command: its options by panel, everyday ones first, and examples."""

import re
from collections.abc import Iterable
from textwrap import dedent
from typing import Any

from typer.core import TyperCommand

from lrisk_cli.commands.options.plain_values import PlainValues
from lrisk_cli.commands.options.repeated import refuse_repeated

# The solver comes last: it is for experts.
PANELS = ("Data", "Columns", "Model", "Validation", "Gates", "Output", "General", "Solver")
OTHERS = "General"
WIDEST = 30
EXAMPLES = "\n\nExamples:\n"


class PanelCommand(PlainValues, TyperCommand):
    """A command whose help has a section for each panel, then its examples.

    Examples are the last part of its docstring, after a line `Examples:`, one per line; a line
    that ends with a backslash goes on in the next.
    """

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        text, _, examples = (settings.pop("help") or "").partition(EXAMPLES)
        super().__init__(*arguments, help=text, **settings)
        self.examples = tuple(dedent(examples).splitlines())

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """As the parser does it, which would take the last of several values."""
        if not ctx.resilient_parsing:
            refuse_repeated(args, self.get_params(ctx))
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments, then the options of each panel."""
        rows = described(self, ctx)
        width = _width(names for panel in rows.values() for names, _ in panel)
        for panel, records in rows.items():
            if records:
                with formatter.section(panel):
                    formatter.write_dl([(names.ljust(width), text) for names, text in records])

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """The examples, as they are written."""
        if self.examples:
            with formatter.section("Examples"):
                for line in self.examples:
                    formatter.write(f"{'':{formatter.current_indent}}{line}\n")


def described(command: Any, ctx: Any) -> dict[str, list[tuple[str, str]]]:
    """Names and texts of the arguments, then of the options of each panel."""
    rows: dict[str, list[tuple[str, str]]] = {panel: [] for panel in ("Arguments", *PANELS)}
    for parameter in command.get_params(ctx):
        record = parameter.get_help_record(ctx)
        if record is not None:
            names, text = record
            rows[_panel_of(parameter)].append((_plain_names(names), _plain_default(text)))
    return rows


def _panel_of(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return "Arguments"
    return getattr(parameter, "rich_help_panel", None) or OTHERS


def _width(names: Iterable[str]) -> int:
    """So that the texts of all panels start in one column; longer names get a line of their own."""
    return min(max(map(len, names), default=0), WIDEST)


def _plain_names(names: str) -> str:
    """Arguments without their type in Python."""
    return re.sub(r" <(list\[)?str\]?>$", "", names)


def _plain_default(text: str) -> str:
    """Defaults in words without the parentheses around them."""
    return re.sub(r"\[default: \((.*)\)(;[^;]*)?\]$", r"[default: \1\2]", text)
