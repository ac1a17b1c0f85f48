"""Effective options and their source, as text and as JSON."""

from collections.abc import Mapping
from typing import Any

from lrisk_cli.commands.settings import EffectiveOption
from lrisk_cli.reports.facts import plain
from lrisk_cli.reports.terminal import print_rows

Options = Mapping[str, Mapping[str, EffectiveOption]]


def print_effective(path: str | None, effective: Options) -> None:
    """A line for each option, by command."""
    print(f"file: {'none' if path is None else plain(path)}")
    if not any(effective.values()):
        print("nothing is set; every option has its default")
    for command, options in effective.items():
        print()
        rows = [[key, _spell(each.value), each.source] for key, each in options.items()]
        print_rows([[command, "value", "from"], *rows], numbers=False)


def effective_document(path: str | None, effective: Options) -> dict[str, Any]:
    """What `config --json` prints."""
    return {
        "command": "config",
        "file": path,
        "options": {
            command: {
                key: {"value": each.value, "from": each.source} for key, each in options.items()
            }
            for command, options in effective.items()
        },
    }


def _spell(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)
