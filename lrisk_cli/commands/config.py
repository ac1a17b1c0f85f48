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
    messages: Annotated[Messages, only("verbose")],  # noqa: ARG001  (read by main)
    command: CommandName = None,
) -> int:
    """Print the effective options and their source.

    Flags win over LRISK_* variables, these over the file that --config names or ./lrisk.toml.

    Examples:
        lrisk config
        lrisk config fit --json
    """
    from lrisk_cli.commands.held_options import held_document, print_held
    from lrisk_cli.commands.settings import Held, defaults_of, hold
    from lrisk_cli.reports.documents import print_document

    assert context.parent is not None  # noqa: S101
    commands = context.parent.command.list_commands(context)  # type: ignore[attr-defined]
    if command is not None:
        check_command(command, commands)
    file = config_of(context)
    held: dict[str, dict[str, Held]] = {}
    for name, settings in known_settings(commands).items():
        found = hold(name, settings, file, os.environ)
        if command == name:
            held[name] = {**defaults_of(settings), **found}
        elif command is None and found:
            held[name] = found
    path = None if file is None else file.path
    if document.json:
        print_document(held_document(path, held))
    else:
        print_held(path, held)
    return 0
