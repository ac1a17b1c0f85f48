"""`lrisk config`: effective options and their source."""

import os
from typing import Annotated

import typer

from lrisk_cli.commands.configuring import check_command, config_of, known_settings
from lrisk_cli.commands.options.declared import only
from lrisk_cli.reports.options import Document, Messages

CommandName = Annotated[
    str | None,
    typer.Argument(
        metavar="COMMAND",
        help="List all options of this command; without it, what is set for any.",
        show_default=False,
    ),
]


def config(
    context: typer.Context,
    document: Document,
    messages: Annotated[Messages, only("color", "verbose")],  # noqa: ARG001  (read by main)
    command: CommandName = None,
) -> int:
    """Print the effective options and their source.

    Flags win over LRISK_* variables, these over the file that --config names or ./lrisk.toml.

    Examples:
        lrisk config
        lrisk config fit --json
    """
    from lrisk_cli.commands.effective_options import effective_document, print_effective
    from lrisk_cli.commands.settings import EffectiveOption, defaults_of, find_effective
    from lrisk_cli.reports.documents import print_document

    assert context.parent is not None  # noqa: S101
    commands = context.parent.command.list_commands(context)  # type: ignore[attr-defined]
    if command is not None:
        check_command(command, commands)
    file = config_of(context)
    effective: dict[str, dict[str, EffectiveOption]] = {}
    for name, settings in known_settings(commands).items():
        found = find_effective(name, settings, file, os.environ)
        if command == name:
            effective[name] = {**defaults_of(settings), **found}
        elif command is None and found:
            effective[name] = found
    path = None if file is None else file.path
    if document.json:
        print_document(effective_document(path, effective))
    else:
        print_effective(path, effective)
    return 0
