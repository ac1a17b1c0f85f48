"""Effective options and their source, as text and as JSON."""

from collections.abc import Mapping
from typing import Any

from lrisk_cli.commands.settings import Held
from lrisk_cli.reports.facts import plain
from lrisk_cli.reports.terminal import print_rows

Options = Mapping[str, Mapping[str, Held]]


def print_held(path: str | None, held: Options) -> None:
    """A line for each option, by command."""
    print(f"file: {'none' if path is None else plain(path)}")
    if not any(held.values()):
        print("nothing is set; every option has its default")
    for command, options in held.items():
        print()
        rows = [[key, _spell(each.value), each.source] for key, each in options.items()]
        print_rows([[command, "value", "from"], *rows], numbers=False)


def held_document(path: str | None, held: Options) -> dict[str, Any]:
    """What `config --json` prints."""
    return {
        "command": "config",
        "file": path,
        "options": {
            command: {key: {"value": each.value, "from": each.source} for key, each in held.items()}
            for command, held in held.items()
        },
    }


def _spell(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)
