"""A file of the own corpus and what must be read from it; and the list of all of them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from outside.comparing import compare_cells
from outside.readings import Reading, python_cell

if TYPE_CHECKING:
    from outside.checking import Checked
    from outside.child import Answer

GROUPS = (
    "dialects", "structure", "numbers", "columns", "encodings", "parquet_types", "parquet_files",
    "arrow_files", "documents",
)  # fmt: skip
Columns = Mapping[str, list[Any]]


@dataclass(frozen=True, slots=True)
class Refused:
    """The file ends commands with this code, and the sentence says so much."""

    sentence: str = ""
    code: int = 3


@dataclass(frozen=True, slots=True)
class AsPeers:
    """Whatever another program reads, lrisk reads, but for its conventions; or it refuses."""


@dataclass(frozen=True, slots=True)
class Case:
    """A file. expected: its exact columns (numbers, texts, dates, None, NESTED), or another end.

    options: of reading, as the library takes them.
    """

    name: str
    contents: bytes
    expected: Columns | Refused | AsPeers
    options: Mapping[str, Any] = field(default_factory=dict)

    def write(self, folder: Path) -> Path:
        """The file in that folder."""
        path = folder / self.name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.contents)
        return path


def all_cases(only: str | None = None) -> Iterator[Case]:
    """Every file of the corpus, or of one group."""
    for group in GROUPS if only is None else [only]:
        for case in import_module(f"outside.corpus.{group}").cases():
            assert "/" not in case.name, case.name
            yield Case(f"{group}/{case.name}", case.contents, case.expected, case.options)


def judge(case: Case, answer: "Answer | None", checked: "Checked | None" = None) -> str:
    """What is not as expected, in words; empty if all is.

    checked: where other programs read it too, or commands ran, without which models and settings
    cannot be judged.
    """
    if case.name.endswith((".json", ".toml")):
        return _judge_document(case, checked)
    assert answer is not None
    if answer.failure:
        return f"{answer.failure.strip().splitlines()[-1]}"
    reading: Reading = answer.value
    if isinstance(case.expected, AsPeers):
        if checked is not None and checked.verdict == "different":
            first = next(each for each in checked.comparisons.values() if each.findings)
            return f"no program confirms it: {first.findings[0]}"
        return ""
    if isinstance(case.expected, Refused):
        if not reading.exit_code:
            return f"read, though it should be refused ({case.expected.sentence})"
        if reading.exit_code != case.expected.code or case.expected.sentence not in reading.refusal:
            return f"refused with {reading.exit_code}: {reading.refusal}"
        return ""
    if reading.columns is None or reading.refusal:
        return f"refused: {reading.refusal}"
    names = [column.name for column in reading.columns]
    if names != list(case.expected):
        return f"columns {names}, expected {list(case.expected)}"
    differences = (
        compare_cells([python_cell(cell) for cell in case.expected[column.name]], column)
        for column in reading.columns
    )
    return next((each for each in differences if each is not None), "")


def _judge_document(case: Case, checked: "Checked | None") -> str:
    """A model or settings, by the exit code of the first command that reads it."""
    if checked is None or not checked.runs:
        return ""
    code = case.expected.code if isinstance(case.expected, Refused) else 0
    first = checked.runs[0]
    return (
        "" if first.code == code else f"{first.command} ended with {first.code}: {first.sentence}"
    )
