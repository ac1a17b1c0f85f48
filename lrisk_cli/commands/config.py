"""`lrisk config`: which options hold, and where they come from."""

import os
from typing import Annotated

import typer

from lrisk_cli.commands import options
from lrisk_cli.commands.configuring import check_command, config_of, known_settings

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
    command: CommandName = None,
    json: options.Json = False,
    verbose: options.Verbose = False,  # noqa: ARG001  (read by main)
) -> int:
    """Print the options that hold, and where they come from.

    Flags win over LRISK_* variables, these over the file that --config names or ./lrisk.toml.
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
    if json:
        print_document(held_document(path, held))
    else:
        print_held(path, held)
    return 0
