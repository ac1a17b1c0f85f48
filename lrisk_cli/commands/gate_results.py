"""Warnings and gates go to standard error, JUnit and GitHub; the exit code follows from gates."""

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lrisk_cli.colours import Style, paint
from lrisk_cli.commands.options.declared import only
from lrisk_cli.errors import ExitCode, UsageError, opt, printable

if TYPE_CHECKING:
    from lrisk_cli.evaluation.checks import Checks
    from lrisk_cli.evaluation.gates import GateResult
    from lrisk_cli.reports.github import NamedGateResult, Shown
    from lrisk_cli.warnings import CodedWarning

# For commands whose figures are those of a fit: `evaluate` compares models with earlier runs.
NO_BASELINE = only("fail_on", "warn_on", "junit", "github")


def unnamed(gate_results: "Sequence[GateResult]") -> "list[NamedGateResult]":
    """Verdicts on the only model there is."""
    return [(None, result) for result in gate_results]


def conclude(
    checks: "Checks",
    gate_results: "Sequence[NamedGateResult]",
    skipped: Sequence[str],
    shown: "Shown",
    warnings: "Sequence[CodedWarning]" = (),
) -> int:
    """Report the results wherever they were asked for. skipped: on figures not compared."""
    from lrisk_cli.reports.facts import plain

    warned = [
        f"{model}: " * (model is not None) + result.sentence
        for model, result in gate_results
        if result.warned
    ]
    for sentence in (*warned, *skipped):
        _print_warning(plain(sentence))
    print_warnings(warnings)
    if checks.junit is not None:
        from lrisk_cli.reports.junit import junit_document
        from lrisk_cli.tables.outputs import write_bytes

        subject = shown.file or "several files"
        found = junit_document(checks.command, subject, gate_results, skipped, warnings)
        write_bytes(checks.junit, found)
    if checks.github:
        _annotate(gate_results, shown, warnings)
    failed = any(result.failed for _, result in gate_results)
    return ExitCode.GATE_FAILED if failed else ExitCode.DONE


def conclude_fit(
    checks: "Checks | None",
    gate_results: "Sequence[NamedGateResult]",
    data: Sequence[str],
    warnings: "Sequence[CodedWarning]",
) -> int:
    """The same for a command that lists no rows. checks: None where no gates are asked for."""
    if checks is None:
        print_warnings(warnings)
        return ExitCode.DONE
    from lrisk_cli.reports.github import Shown

    shown = Shown(checks.command, only_file(data), (), "")
    return conclude(checks, gate_results, (), shown, warnings)


def print_failed(gate_results: "Sequence[GateResult]") -> None:
    """Failed gates on standard error, for a command whose standard output holds rows."""
    for result in gate_results:
        if result.failed:
            word = paint("gate failed:", Style.FAILED, sys.stderr)
            print(f"lrisk: {word} {printable(result.sentence)}", file=sys.stderr)


def print_warnings(warnings: "Sequence[CodedWarning]") -> None:
    """One line for each on standard error, also where messages are not wanted."""
    for warning in warnings:
        _print_warning(printable(warning.line))


def _print_warning(sentence: str) -> None:
    word = paint("warning:", Style.WARNING, sys.stderr)
    print(f"lrisk: {word} {sentence}", file=sys.stderr)


def _annotate(
    gate_results: "Sequence[NamedGateResult]",
    shown: "Shown",
    warnings: "Sequence[CodedWarning]",
) -> None:
    """Annotations on standard error; the summary at the end of the file that the runner names."""
    from lrisk_cli.reports.github import annotations, step_summary

    for line in annotations(shown, gate_results, warnings):
        print(line, file=sys.stderr)
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if not summary:
        return
    try:
        with open(summary, "a", encoding="utf-8") as file:
            file.write(step_summary(shown, gate_results))
    except OSError as error:
        raise UsageError(
            f"GITHUB_STEP_SUMMARY: {summary}: cannot be written ({error.strerror}); "
            f"unset the variable, or leave out {opt('github')}"
        ) from None


def only_file(data: Sequence[str]) -> str | None:
    """The file that rows were read from, if it is one."""
    return data[0] if len(data) == 1 and os.path.isfile(data[0]) else None


def count_rows(n_rows: int, sentences: Sequence[object]) -> str:
    """How many rows were evaluated, and how many of them are listed."""
    rows = f"{n_rows} row{'s' * (n_rows != 1)} evaluated"
    return f"{rows}; the {len(sentences)} with the largest losses are told" if sentences else rows
