"""Give every command --config, and its options the values that a file or the environment sets."""

import os
from collections.abc import Iterable
from importlib import import_module
from inspect import Parameter
from typing import TYPE_CHECKING, Annotated

import typer

from lrisk_cli.commands.config_source import is_anything_set
from lrisk_cli.commands.options.declared import Command
from lrisk_cli.commands.options.flattened import flattened
from lrisk_cli.commands.options.spelling import spell_flag
from lrisk_cli.errors import UsageError

if TYPE_CHECKING:
    from lrisk_cli.commands.settings import ConfigFile, Setting

# Where a context keeps the file that was read.
META = "lrisk.config"


def command_function(name: str) -> Command:
    """The function of a command, of its name in its module; dashes become underscores."""
    word = name.replace("-", "_")
    function: Command = getattr(import_module(f"lrisk_cli.commands.{word}"), word)
    return function


def configured(name: str, function: Command, others: Iterable[str]) -> Command:
    """The function of a command with a parameter for each of its options, and with --config.

    --config is read before the other options. others: all commands.
    """

    def fill_in(context: typer.Context, value: str | None) -> str | None:
        if not context.resilient_parsing:
            _fill_in(context, value, name, others)
        return value

    option = typer.Option(
        spell_flag("config"),
        metavar="FILE",
        is_eager=True,
        callback=fill_in,
        help="Read options from this TOML file.",
        show_default="./lrisk.toml, if it exists",
    )
    config = Parameter(
        "config_file",
        Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[str | None, option],
    )
    return flattened(function, config)


def _fill_in(context: typer.Context, named: str | None, name: str, others: Iterable[str]) -> None:
    """Use the values of the file and the environment as the parser's defaults."""
    if not (named or is_anything_set()):
        return
    from lrisk_cli.commands.settings import check_names, find_effective, read_config

    config = read_config(named)
    known = known_settings(others)
    check_names(config, os.environ, known)
    effective = find_effective(name, known[name], config, os.environ)
    context.default_map = {
        known[name][key].parameter: each.value for key, each in effective.items()
    }
    context.meta[META] = config


def known_settings(commands: Iterable[str]) -> "dict[str, dict[str, Setting]]":
    """The options of all commands, by their names."""
    from lrisk_cli.commands.settings import settings_of

    return {name: settings_of(command_function(name)) for name in commands}


def config_of(context: typer.Context) -> "ConfigFile | None":
    """The file that was read for this command, if any."""
    found: ConfigFile | None = context.meta.get(META)
    return found


def check_command(name: str, commands: Iterable[str]) -> None:
    """UsageError where there is no such command."""
    if name not in commands:
        raise UsageError(f"there is no command {name!r}; it is one of {', '.join(commands)}")
