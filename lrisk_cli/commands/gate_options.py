"""Options of commands that have gates, what they ask, and how the answers are given."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from lrisk_cli.errors import UsageError

if TYPE_CHECKING:
    from lrisk_cli.evaluation.checks import Checks

MAX_WORSENING = "10%"

WarnOn = Annotated[
    list[str] | None,
    typer.Option(
        "--warn-on",
        metavar="CONDITION",
        help="Warn on standard error if this holds, and exit as without it; repeatable.",
    ),
]
StoredMetrics = Annotated[
    str | None,
    typer.Option(
        "--baseline-metrics",
        metavar="FILE",
        help="Exit with 1 if a figure is worse than in this file, which an earlier run of the "
        "same command printed with --json.",
    ),
]
MaxWorsening = Annotated[
    str | None,
    typer.Option(
        "--max-worsening",
        metavar="SHARE",
        help="By how much a figure may be worse than in --baseline-metrics, as 10% or 0.1.",
        show_default=MAX_WORSENING,
    ),
]
Junit = Annotated[
    str | None,
    typer.Option(
        "--junit", metavar="FILE", help="Write the gates as JUnit XML, which CI systems show."
    ),
]
Github = Annotated[
    bool,
    typer.Option(
        "--github",
        help="Annotate a run of GitHub Actions: failed gates, warnings and, where rows are judged, "
        "the worst of them; and add to the summary of the step.",
    ),
]


@dataclass(frozen=True, slots=True)
class GateFlags:
    """The options as given."""

    fail_on: Sequence[str]
    warn_on: Sequence[str]
    stored: str | None
    max_worsening: str | None
    junit: str | None
    github: bool

    def parse(self, command: str, canonical: Callable[[str], str]) -> "Checks":
        """What they ask. canonical: spells a metric of this command, or refuses it."""
        from lrisk_cli.evaluation.checks import Checks
        from lrisk_cli.evaluation.gates import parse_gate, parse_share, read_stored

        if self.stored is None and self.max_worsening is not None:
            raise UsageError(
                "--max-worsening is about figures of an earlier run; add --baseline-metrics FILE"
            )
        if self.junit is not None and not (self.fail_on or self.warn_on or self.stored):
            raise UsageError("--junit reports gates, and there are none; add --fail-on CONDITION")
        gates = [
            *(parse_gate(text, canonical) for text in self.fail_on),
            *(parse_gate(text, canonical, warns=True) for text in self.warn_on),
        ]
        share = parse_share(self.max_worsening or MAX_WORSENING)
        stored = None if self.stored is None else read_stored(self.stored, command, share)
        return Checks(command, tuple(gates), stored, self.junit, self.github)
