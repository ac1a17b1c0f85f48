"""`lrisk man`: manual pages, made from the texts of --help."""

import os
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import typer

from lrisk_cli.commands.config import CommandName
from lrisk_cli.commands.configuring import check_command
from lrisk_cli.commands.options.declared import only
from lrisk_cli.options import option
from lrisk_cli.tables.options import Files


@dataclass(frozen=True, slots=True, kw_only=True)
class ManualOutput:
    """Where manual pages go."""

    panel: ClassVar[str] = "Output"

    output: str | None = option(
        short="-o",
        metavar="FOLDER",
        help="Write the pages of the program and of all commands here: lrisk.1, lrisk-fit.1, ...",
    )


def man(
    context: typer.Context,
    output: ManualOutput,
    files: Annotated[Files, only("force")],
    command: CommandName = None,
) -> None:
    """Print a manual page, or write all of them.

    The page of a command, or of the program, in the format of man(1). SOURCE_DATE_EPOCH sets its
    date.

    Examples:
        lrisk man fit > lrisk-fit.1
        lrisk man -o man1/
    """
    from lrisk_cli.tables.places import check_output
    from lrisk_cli.tables.table import write_bytes

    assert context.parent is not None  # noqa: S101
    group: Any = context.parent.command
    if command is not None:
        check_command(command, group.summaries)
    if output.output is None:
        print(_page(group, context.parent, command), end="")
        return
    from lrisk_cli.commands.man_pages import SECTION, page_name

    pages = {
        os.path.join(output.output, f"{page_name(name)}.{SECTION}"): name
        for name in ([command] if command else [None, *group.summaries])
    }
    for path in pages:
        check_output(path, force=files.force)
    for path, name in pages.items():
        write_bytes(path, _page(group, context.parent, name).encode())


def _page(group: Any, context: Any, name: str | None) -> str:
    from lrisk_cli.commands.man_pages import command_page, main_page

    if name is None:
        return main_page(group.help, group.summaries, _date())
    with typer.Context(group.get_command(context, name), parent=context, info_name=name) as inner:
        return command_page(inner.command, inner, group.summaries, _date())


def _date() -> str:
    """Of today, or that of the sources, so that packages can be built again to the byte."""
    from datetime import UTC, datetime

    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    moment = datetime.fromtimestamp(int(epoch), UTC) if epoch.isdigit() else datetime.now(UTC)
    return moment.date().isoformat()
