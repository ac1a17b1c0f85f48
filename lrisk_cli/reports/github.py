"""Gates and the worst rows as annotations of GitHub Actions, and as the summary of a step.

Annotations are lines that the runner looks for on either stream; they go to standard error, where
they do not disturb results. It shows ten of a kind for each step, so nine come with a count.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lrisk_cli.evaluation.gates import GateResult
from lrisk_cli.evaluation.worst_rows import MOST_SHOWN, RowSentence
from lrisk_cli.reports.facts import plain
from lrisk_cli.reports.gates import gates_grid
from lrisk_cli.warnings import CodedWarning

NamedGateResult = tuple[str | None, GateResult]

# Cells of a table may hold very long texts.
_LONGEST = 300
# What means something to Markdown; the rest of HTML goes by way of & and <.
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!|~$@:])")


@dataclass(frozen=True, slots=True)
class Shown:
    """What was evaluated and what stands out. rows: a sentence for each of the worst, worst first.

    file: of the data, if it is one. count: how many rows there are, and how many of them matter.
    """

    command: str
    file: str | None
    rows: Sequence[RowSentence]
    count: str


def annotations(
    shown: Shown,
    gate_results: Sequence[NamedGateResult],
    warnings: Sequence[CodedWarning] = (),
) -> list[str]:
    """Errors for failed gates, warnings of gates and of the command, notices for rows."""
    failed = [_sentence(each) for each in gate_results if each[1].failed]
    warned = [_sentence(each) for each in gate_results if each[1].warned]
    rows = shown.rows[:MOST_SHOWN]
    return [
        *_annotate("error", "gate failed", shown, _at_most_ten(failed, "gates failed")),
        *_annotate("warning", "gate warned", shown, _at_most_ten(warned, "gates warned")),
        *_annotate("warning", "warning", shown, [warning.line for warning in warnings]),
        *(line for row in rows for line in _annotate("notice", "rows", shown, [row.text], row)),
        *_annotate("notice", "rows", shown, [shown.count] if shown.count else []),
    ]


def step_summary(shown: Shown, gate_results: Sequence[NamedGateResult]) -> str:
    """A heading, the gates as a table, the worst rows as a list; in Markdown."""
    n_failed = sum(result.failed for _, result in gate_results)
    says = f"{n_failed} of {len(gate_results)} gates failed" if gate_results else "no gates"
    about = "" if shown.file is None else f" {shown.file}"
    lines = [f"### {_markdown(f'lrisk {shown.command}{about}: {says}')}", ""]
    if gate_results:
        grid = gates_grid(
            [result for _, result in gate_results], [name for name, _ in gate_results]
        )
        rule = ["---"] * len(grid.heads)
        rows = (map(_markdown, row) for row in grid.rows)
        lines += [f"| {' | '.join(row)} |" for row in (grid.heads, rule, *rows)]
        lines.append("")
    if shown.count:
        lines += [_markdown(shown.count), ""]
    lines += [
        f"{k}. {_markdown(row.text)}" for k, row in enumerate(shown.rows[:MOST_SHOWN], start=1)
    ]
    return "\n".join(lines).rstrip("\n") + "\n\n"


def _sentence(named: NamedGateResult) -> str:
    model, result = named
    return result.sentence if model is None else f"{model}: {result.sentence}"


def _at_most_ten(sentences: Sequence[str], what: str) -> list[str]:
    if len(sentences) <= MOST_SHOWN + 1:
        return list(sentences)
    return [*sentences[:MOST_SHOWN], f"{len(sentences)} {what}; {MOST_SHOWN} are shown"]


def _annotate(
    kind: str, what: str, shown: Shown, sentences: Sequence[str], row: RowSentence | None = None
) -> list[str]:
    """An annotation for each sentence, at the line of a row where it is about one of a text."""
    file = shown.file if row is None else row.place.file or shown.file
    place = "" if file is None else f"file={_property(file)},"
    if row is not None and file is not None and row.place.line is not None:
        place += f"line={row.place.line},"
    title = _property(f"lrisk {shown.command}: {what}")
    return [f"::{kind} {place}title={title}::{_data(sentence)}" for sentence in sentences]


def _data(text: str) -> str:
    """GitHub's escapes of a message."""
    text = _cut(text)
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """GitHub's escapes of what stands before the message."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _markdown(text: str) -> str:
    """Text that Markdown shows as it is: no links, mentions, tags or cells of its own."""
    text = _cut(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _MARKDOWN.sub(r"\\\1", text)


def _cut(text: str) -> str:
    text = plain(text)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
