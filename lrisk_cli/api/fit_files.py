"""Where the results of each fit go: a file for each risk, though one option names them all."""

import os
from collections.abc import Sequence
from dataclasses import dataclass

from lrisk_cli.errors import UsageError, opt

RISK = "{risk}"
# For each option, and how the file of a risk ends in a folder that it names.
_ENDS = {
    "output": ".json",
    "losses": "-losses.csv",
    "trace": "-trace.csv",
    "html": ".html",
    "oof": "-oof.csv",
}
# Those that hold a table.
_TABLES = {"losses", "trace", "oof"}


@dataclass(frozen=True, slots=True)
class FitFiles:
    """The files of one fit, or what the user asked for; None for those not asked for."""

    model: str | None = None
    losses: str | None = None
    trace: str | None = None
    html: str | None = None
    oof: str | None = None

    @property
    def by_option(self) -> dict[str, str]:
        """Those asked for, by the option that names them."""
        paths = zip(_ENDS, (self.model, self.losses, self.trace, self.html, self.oof), strict=True)
        return {option: path for option, path in paths if path is not None}


def name_files(asked: FitFiles, risks: Sequence[str], *, apart: bool) -> tuple[FitFiles, ...]:
    """The files of each risk. {risk} in a path stands for the risk, its colon made a dash.

    apart: every risk writes its files, so a path without {risk} must be a folder; otherwise only
    one of them will, and a folder will not do.
    """
    paths = asked.by_option
    return tuple(
        FitFiles(
            *(
                _place(option, paths[option], risk, apart=apart) if option in paths else None
                for option in _ENDS
            )
        )
        for risk in risks
    )


def check_files(files: Sequence[FitFiles], *, force: bool) -> None:
    """Refuse files that cannot be written before any work starts."""
    from lrisk_cli.tables.places import check_output

    for each in files:
        for option, path in each.by_option.items():
            check_output(path, force=force, table=option in _TABLES)


def _place(option: str, path: str, risk: str, *, apart: bool) -> str:
    if apart and path == "-":
        raise UsageError(
            f"{opt(option)} -: each risk writes a file of its own, and standard output takes one; "
            "name a folder, or one risk"
        )
    name = risk.replace(":", "-")
    is_folder = path.endswith(os.sep) or os.path.isdir(path)
    if apart and is_folder and RISK not in path:
        return os.path.join(path, name + _ENDS[option])
    if is_folder:
        raise UsageError(f"{opt(option)} {path}: is a folder; name a file in it")
    if apart and RISK not in path:
        stem, end = os.path.splitext(path)
        raise UsageError(
            f"{opt(option)} {path}: each risk writes a file of its own; name a folder "
            f"({stem}{os.sep}) or put {RISK} into the name, such as {stem}-{RISK}{end or '.json'}"
        )
    return path.replace(RISK, name)
