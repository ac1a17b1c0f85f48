"""Gates as JUnit XML, which CI systems show as tests: one case for each gate."""

from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from lrisk_cli.evaluation.gates import GateResult
from lrisk_cli.reports.facts import plain
from lrisk_cli.warnings import CodedWarning

NamedGateResult = tuple[str | None, GateResult]


def junit_document(
    command: str,
    subject: str,
    gate_results: Sequence[NamedGateResult],
    skipped: Sequence[str],
    warnings: Sequence[CodedWarning] = (),
) -> bytes:
    """One suite. subject: what was evaluated; skipped: sentences on figures not compared.

    Names of models stand before the gates that they met. A gate that only warns passes, and its
    sentence goes to the output of the case. Warnings are properties of the suite, named by code.
    """
    n_failed = sum(result.failed for _, result in gate_results)
    counts = {
        "tests": str(len(gate_results) + len(skipped)),
        "failures": str(n_failed),
        "errors": "0",
    }
    root = Element("testsuites", counts)
    name = plain(f"lrisk {command} {subject}")
    suite = SubElement(root, "testsuite", {"name": name, **counts, "skipped": str(len(skipped))})
    if warnings:
        properties = SubElement(suite, "properties")
        for each in warnings:
            fields = {"name": f"warning:{each.code}", "value": plain(each.text)}
            SubElement(properties, "property", fields)
    for model, result in gate_results:
        case = _case(suite, command, f"{model}: " * (model is not None) + str(result.gate))
        if result.failed:
            SubElement(case, "failure", {"type": "gate", "message": plain(result.sentence)})
        elif result.warned:
            SubElement(case, "system-out").text = plain(f"warning: {result.sentence}")
    for sentence in skipped:
        case = _case(suite, command, sentence.partition(" ")[0])
        SubElement(case, "skipped", {"message": plain(sentence)})
    indent(root, space="")
    text: bytes = tostring(root, encoding="UTF-8", xml_declaration=True)
    return text + b"\n"


def _case(suite: Element, command: str, name: str) -> Element:
    """A case. XML has no place for control characters: they are spelled out, as on a terminal."""
    return SubElement(suite, "testcase", {"classname": f"lrisk.{command}", "name": plain(name)})
