"""`lrisk completion`: print the completion script of a shell."""

from dataclasses import dataclass
from typing import ClassVar

import typer

from lrisk_cli.names import Shell
from lrisk_cli.options import argument


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellName:
    """The shell to complete in."""

    panel: ClassVar[str] = "General"

    shell: Shell = argument(
        metavar="SHELL", help="The shell that is to complete: bash, zsh or fish."
    )


def completion(context: typer.Context, shell: ShellName) -> None:
    """Print the completion script of a shell.

    It completes commands, options, their choices and names of files. Source it where the shell
    starts, or store it where the shell looks for such scripts.

    Examples:
        lrisk completion bash > lrisk-completion.bash
        lrisk completion fish > lrisk.fish
    """
    from lrisk_cli.commands.shell_scripts import SCRIPTS
    from lrisk_cli.commands.shell_words import vocabulary_of

    assert context.parent is not None  # noqa: S101
    group, summaries = context.parent.command, context.parent.command.summaries  # type: ignore[attr-defined]
    vocabularies = [
        vocabulary_of(group.get_command(context, name), context, summaries)  # type: ignore[attr-defined]
        for name in summaries
    ]
    print(SCRIPTS[shell.shell](vocabularies), end="")
