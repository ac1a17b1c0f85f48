"""Gates as JUnit XML, which CI systems show as tests: one case for each gate."""

from collections.abc import Sequence
from xml.sax.saxutils import quoteattr

from lrisk_cli.evaluation.gates import Verdict
from lrisk_cli.reports.terminal import plain

NamedVerdict = tuple[str | None, Verdict]


def junit_document(
    command: str, subject: str, verdicts: Sequence[NamedVerdict], skipped: Sequence[str]
) -> bytes:
    """One suite. subject: what was judged; skipped: sentences on figures not compared.

    Names of models stand before the gates that they met. A gate that only warns passes, and its
    sentence goes to the output of the case.
    """
    n_failed = sum(verdict.failed for _, verdict in verdicts)
    counts = f'tests="{len(verdicts) + len(skipped)}" failures="{n_failed}"'
    name = _attribute(f"lrisk {command} {subject}")
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuites {counts} errors="0">',
        f'<testsuite name={name} {counts} errors="0" skipped="{len(skipped)}">',
        *(_case(command, model, verdict) for model, verdict in verdicts),
        *(_skipped(command, sentence) for sentence in skipped),
        "</testsuite>",
        "</testsuites>",
    ]
    return ("\n".join(lines) + "\n").encode()


def _case(command: str, model: str | None, verdict: Verdict) -> str:
    name = str(verdict.gate) if model is None else f"{model}: {verdict.gate}"
    head = f'<testcase classname="lrisk.{command}" name={_attribute(name)}'
    if verdict.failed:
        return f'{head}><failure type="gate" message={_attribute(verdict.sentence)}/></testcase>'
    if verdict.warned:
        warning = _text(f"warning: {verdict.sentence}")
        return f"{head}><system-out>{warning}</system-out></testcase>"
    return f"{head}/>"


def _skipped(command: str, sentence: str) -> str:
    name, message = _attribute(sentence.partition(" ")[0]), _attribute(sentence)
    return (
        f'<testcase classname="lrisk.{command}" name={name}><skipped message={message}/></testcase>'
    )


def _attribute(text: str) -> str:
    return quoteattr(_allowed(text))


def _text(text: str) -> str:
    return _allowed(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _allowed(text: str) -> str:
    """Characters that XML has no place for are spelled out, as on a terminal."""
    return plain(text)
