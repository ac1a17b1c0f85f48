"""Compare two recordings: what must be the same, what is left out, what is only wording."""

import csv
import fnmatch
import io
import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from cases import Case, Step

# Patterns of JSON keys, of columns of tables and of attributes of XML. All else must be the same.
VOLATILE = ("*_s", "seconds", "lrisk_version")  # time and version: left out
PROSE = (  # sentences: reported as wording, which does not fail
    "status", "solver_reason", "reason", "why", "notes", "judged_on", "message",
    "title", "description",  # of the schema
    "starts.*.name",
)  # fmt: skip
PROSE_KEYS = ("reasons", "drop_reasons")  # objects whose keys are sentences and values are not
UNREAD = (".html",)  # pages: written or not, and no more

SHOWN = 8  # differences of one file


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is not the same. key: its place; wording: it is only a sentence."""

    case: str
    key: str
    base: str
    other: str
    wording: bool = False


@dataclass(frozen=True, slots=True)
class Allowance:
    """A difference that is meant, by patterns of the case and of the key."""

    command: str
    key: str
    reason: str

    def covers(self, difference: Difference) -> bool:
        """Whether this difference is meant."""
        return fnmatch.fnmatchcase(difference.case, self.command) and fnmatch.fnmatchcase(
            difference.key, self.key
        )


def read_allowances(path: Path) -> list[Allowance]:
    """The entries of the file; each must have all three keys."""
    entries = tomllib.loads(path.read_text("utf-8")).get("allowed", [])
    return [Allowance(**entry) for entry in entries]


def compare_case(case: Case, base: Path, other: Path) -> list[Difference]:
    """All differences of two recordings of a case."""
    found = Findings(case.name)
    for number, step in enumerate(case.steps, 1):
        _compare_step(found, step, base / str(number), other / str(number))
    names = [_names(folder / "files") for folder in (base, other)]
    for name in sorted(names[0] ^ names[1]):
        found.add(name, *("written" if name in each else "not written" for each in names))
    for name in sorted(names[0] & names[1]):
        _compare_files(found, name, base / "files" / name, other / "files" / name)
    return found.differences


class Findings:
    """Differences of a case, gathered."""

    def __init__(self, case: str) -> None:
        self.case = case
        self.differences: list[Difference] = []

    def add(self, key: str, base: object, other: object, *, wording: bool = False) -> None:
        """A difference that was found."""
        difference = Difference(self.case, key, str(base), str(other), wording)
        self.differences.append(difference)

    def compare(self, key: str, base: object, other: object, *, wording: bool = False) -> None:
        """A difference if they are not equal."""
        if base != other:
            self.add(key, base, other, wording=wording)


class Number(str):
    """A number of a JSON document, as it is spelled."""


def _compare_step(found: Findings, step: Step, base: Path, other: Path) -> None:
    def texts(name: str) -> tuple[str, str]:
        first, second = (
            path.with_name(f"{path.name}.{name}").read_bytes().decode("utf-8", "replace")
            for path in (base, other)
        )
        return first, second

    prefix = base.name
    found.compare(f"{prefix}.exit", *(text.strip() for text in texts("exit")))
    stdout, stderr = texts("stdout"), texts("stderr")
    found.compare(f"{prefix}.stdout", *("text" if text else "empty" for text in stdout))
    if any(text.startswith("{") for text in stdout):
        _compare_json(found, f"{prefix}.stdout", *stdout)
    elif step.prints_table:
        _compare_tables(found, f"{prefix}.stdout", *stdout)
    else:
        _compare_words(found, f"{prefix}.stdout", *stdout)
    if step.prints_help:
        found.compare(f"{prefix}.options", *(_flags(text) for text in stdout))
    found.compare(f"{prefix}.annotations", *(_annotations(text) for text in stderr))
    _compare_words(found, f"{prefix}.stderr", *stderr)


def _flags(text: str) -> list[str]:
    """The long options that a help page lists, sorted."""
    return sorted(set(re.findall(r"^  (?:-\w, )?(--[\w-]+)", text, re.MULTILINE)))


def _annotations(text: str) -> dict[str, int]:
    """How many annotations of each kind GitHub would show."""
    return Counter(re.findall(r"^::(\w+)", text, re.MULTILINE))


def _compare_files(found: Findings, name: str, base: Path, other: Path) -> None:
    compare: Callable[[Findings, str, str, str], None] = {
        ".json": _compare_json,
        ".csv": _compare_tables,
        ".tsv": _compare_tables,
        ".xml": _compare_xml,
        ".md": _compare_words,
    }.get(Path(name).suffix, _compare_bytes)
    first, second = base.read_bytes(), other.read_bytes()
    if Path(name).suffix in UNREAD or first == second:
        return
    if Path(name).suffix == ".parquet":
        _compare_parquet(found, name, base, other)
    else:
        compare(found, name, first.decode("utf-8", "replace"), second.decode("utf-8", "replace"))


def _compare_bytes(found: Findings, key: str, base: str, other: str) -> None:
    """Files of no known kind, which are here because they differ."""
    found.add(key, *_first_change(base, other))


def _compare_words(found: Findings, key: str, base: str, other: str) -> None:
    """Texts for people, without the seconds in them."""
    first, second = (re.sub(r"\b[\d.,]+ s\b", "# s", text) for text in (base, other))
    if first != second:
        figures = [Counter(re.findall(r"\d[\d.,]*", text)) for text in (first, second)]
        label = " (figures too)" if figures[0] != figures[1] else ""
        found.add(key + label, *_first_change(first, second), wording=True)


def _first_change(base: str, other: str) -> tuple[str, str]:
    """The first lines that differ."""
    first, second = base.splitlines() or [""], other.splitlines() or [""]
    for one, two in zip(first, second, strict=False):
        if one != two:
            return one.strip(), two.strip()
    return f"{len(first)} lines", f"{len(second)} lines"


def _compare_json(found: Findings, key: str, base: str, other: str) -> None:
    try:
        first, second = (
            json.loads(text, parse_float=Number, parse_int=Number) for text in (base, other)
        )
    except ValueError:
        found.add(key, *_first_change(base, other))
        return
    _compare_parts(found, f"{key}:", (), first, second)


def _is(patterns: Sequence[str], path: Sequence[str]) -> bool:
    """Whether the end of the path is one of the patterns, which may have several parts."""
    for pattern in patterns:
        tail = path[-(pattern.count(".") + 1) :]
        if fnmatch.fnmatchcase(".".join(tail), pattern):
            return True
    return False


def _compare_parts(found: Findings, key: str, path: tuple[str, ...], base: Any, other: Any) -> None:
    if _is(VOLATILE, path):
        return
    at = key + " " + ".".join(path)
    if _is(PROSE, path) and type(base) is type(other) and not isinstance(base, dict):
        found.compare(at, base, other, wording=True)
    elif isinstance(base, dict) and isinstance(other, dict):
        _compare_objects(found, key, path, base, other)
    elif isinstance(base, list) and isinstance(other, list):
        found.compare(f"{at}.length", len(base), len(other))
        for place, (one, two) in enumerate(zip(base, other, strict=False)):
            _compare_parts(found, key, (*path, str(place)), one, two)
    elif type(base) is not type(other) or base != other:
        found.add(at, json.dumps(base), json.dumps(other))


def _compare_objects(
    found: Findings, key: str, path: tuple[str, ...], base: dict[str, Any], other: dict[str, Any]
) -> None:
    at = f"{key} {'.'.join(path)}"
    if _is(PROSE_KEYS, path):
        found.compare(at, list(base.values()), list(other.values()))
        found.compare(at, list(base), list(other), wording=True)
        return
    for name in [*base, *(name for name in other if name not in base)]:
        if name in base and name in other:
            _compare_parts(found, key, (*path, name), base[name], other[name])
        else:
            there = ("there" if name in each else "absent" for each in (base, other))
            found.add(f"{key} {'.'.join((*path, name))}", *there)
    if base.keys() == other.keys():
        found.compare(f"{at}.order of keys", list(base), list(other))


def _compare_tables(found: Findings, key: str, base: str, other: str) -> None:
    """Cell by cell, as spelled; then byte by byte, where no column is left out."""
    separator = "\t" if key.endswith(".tsv") else ","
    tables = [list(csv.reader(io.StringIO(text), delimiter=separator)) for text in (base, other)]
    heads = [table[0] if table else [] for table in tables]
    found.compare(f"{key}: columns", *heads)
    found.compare(f"{key}: rows", *(len(table) for table in tables))
    if heads[0] != heads[1]:
        return
    loose = {name for name in heads[0] if _is(VOLATILE, [name]) or _is(PROSE, [name])}
    before = len(found.differences)
    for row, (one, two) in enumerate(zip(tables[0][1:], tables[1][1:], strict=False)):
        for name, cell, changed in zip(heads[0], one, two, strict=False):
            if not _is(VOLATILE, [name]):
                found.compare(f"{key}: {name}.{row}", cell, changed, wording=name in loose)
    if not loose and base != other and len(found.differences) == before:
        found.add(f"{key}: bytes", "the same cells", "written in another way")


def _compare_parquet(found: Findings, key: str, base: Path, other: Path) -> None:
    """Column by column; bytes that differ are a difference though all cells agree."""
    import pyarrow.parquet as pq

    tables = [pq.read_table(path) for path in (base, other)]
    before = len(found.differences)
    found.compare(f"{key}: schema", *(table.schema for table in tables))
    found.compare(f"{key}: rows", *(table.num_rows for table in tables))
    for name in set(tables[0].column_names) & set(tables[1].column_names):
        if not _is(VOLATILE, [name]) and not tables[0][name].equals(tables[1][name]):
            cells = (table[name].slice(0, 5).to_pylist() for table in tables)
            found.add(f"{key}: {name}", *cells, wording=_is(PROSE, [name]))
    if len(found.differences) == before:
        found.add(f"{key}: bytes", "the same cells", "written in another way")


def _compare_xml(found: Findings, key: str, base: str, other: str) -> None:
    trees = [dict(_flat(ElementTree.fromstring(text), ())) for text in (base, other)]
    for path in [*trees[0], *(path for path in trees[1] if path not in trees[0])]:
        values = (tree.get(path, "absent") for tree in trees)
        if not _is(VOLATILE, path):
            found.compare(f"{key}: {'.'.join(path)}", *values, wording=_is(PROSE, path))


def _flat(element: ElementTree.Element, path: tuple[str, ...]) -> Iterator[tuple[Any, str]]:
    """Attributes and texts of an element and those within, by their paths."""
    here = (*path, element.tag)
    yield from (((*here, name), value) for name, value in element.attrib.items())
    if (element.text or "").strip():
        yield (*here, "message"), str(element.text)
    for place, inner in enumerate(element):
        yield from _flat(inner, (*here, str(place)))


def _names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
