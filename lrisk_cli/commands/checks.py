"""What gates ask of a command's figures, and how the answers are given."""

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lrisk_cli.errors import ExitCode, UsageError
from lrisk_cli.evaluation.options import Gates

if TYPE_CHECKING:
    from lrisk_cli.evaluation.gates import Figures, Gate, StoredFigures, Verdict
    from lrisk_cli.reports.github import NamedVerdict, Shown


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


def make_checks(gates: Gates, command: str, canonical: Callable[[str], str]) -> Checks:
    """What the options ask. canonical: spells a metric of this command, or refuses it."""
    parsed, stored = gates.parse(command, canonical)
    return Checks(command, parsed, stored, gates.junit, gates.github)


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
