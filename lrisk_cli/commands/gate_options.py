"""Options of commands that have gates, what they ask, and how the answers are given."""

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from lrisk_cli.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from lrisk_cli.evaluation.gates import Figures, Gate, StoredFigures, Verdict
    from lrisk_cli.reports.github import NamedVerdict, Shown

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


@dataclass(frozen=True, slots=True)
class Checks:
    """What a command's figures are held to, and where the verdicts go beside its results."""

    command: str
    gates: "tuple[Gate, ...]"
    stored: "StoredFigures | None"
    junit: str | None
    github: bool

    @property
    def inputs(self) -> list[str]:
        """Files that no output may replace."""
        return [] if self.stored is None else [self.stored.path]

    @property
    def risks(self) -> list[str]:
        """The risks that gates mention."""
        from lrisk_cli.evaluation.registry import is_risk

        return [gate.metric for gate in self.gates if is_risk(gate.metric)]

    def judge(self, figures: "Figures", others: "Figures | None" = None) -> "tuple[Verdict, ...]":
        """Of each gate, then of each stored figure. others: what gates alone can ask for."""
        from lrisk_cli.evaluation.gates import judge

        compared = () if self.stored is None else self.stored.gates(figures)
        return judge((*self.gates, *compared), {**figures, **(others or {})})

    def conclude(
        self, verdicts: "Sequence[NamedVerdict]", figures: "Figures", shown: "Shown"
    ) -> int:
        """Give the verdicts to all who asked for them; the exit code. figures: as judged."""
        skipped = () if self.stored is None else self.stored.not_compared(figures)
        return self.answer(verdicts, skipped, shown)

    def answer(
        self, verdicts: "Sequence[NamedVerdict]", skipped: Sequence[str], shown: "Shown"
    ) -> int:
        """The same with sentences on the figures that were not compared."""
        warned = [f"{model}: " * (model is not None) + verdict.sentence
                  for model, verdict in verdicts if verdict.warned]  # fmt: skip
        for sentence in (*warned, *skipped):
            print(f"lrisk: warning: {_one_line(sentence)}", file=sys.stderr)
        if self.junit is not None:
            from lrisk_cli.reports.junit import junit_document
            from lrisk_cli.tables.outputs import write_bytes

            subject = shown.file or "several files"
            write_bytes(self.junit, junit_document(self.command, subject, verdicts, skipped))
        if self.github:
            _annotate(verdicts, shown)
        failed = any(verdict.failed for _, verdict in verdicts)
        return ExitCode.GATE_FAILED if failed else ExitCode.DONE


def _annotate(verdicts: "Sequence[NamedVerdict]", shown: "Shown") -> None:
    """Annotations on standard error; the summary at the end of the file that the runner names."""
    from lrisk_cli.reports.github import annotations, step_summary

    for line in annotations(shown, verdicts):
        print(line, file=sys.stderr)
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if not summary:
        return
    try:
        with open(summary, "a", encoding="utf-8") as file:
            file.write(step_summary(shown, verdicts))
    except OSError as error:
        raise UsageError(
            f"GITHUB_STEP_SUMMARY: {summary}: cannot be written ({error.strerror}); "
            "unset the variable, or leave out --github"
        ) from None


def only_file(data: Sequence[str]) -> str | None:
    """The file that rows were read from, if it is one."""
    return data[0] if len(data) == 1 and os.path.isfile(data[0]) else None


def _one_line(text: str) -> str:
    from lrisk_cli.reports.terminal import plain

    return plain(text)
