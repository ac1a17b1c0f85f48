"""What a table is expected to hold: read from TOML, written from a profile, checked row by row."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lrisk_cli.errors import DataError, opt, quote
from lrisk_cli.evaluation.gates import Expectation, GateResult
from lrisk_cli.evaluation.worst_rows import RowSentence
from lrisk_cli.profiles.distinct import Hashes, hash_numbers, hash_texts
from lrisk_cli.profiles.profile import MOST_FREQUENT, MOST_SHOWN, ColumnProfile, spell
from lrisk_cli.tables.cells import Texts
from lrisk_cli.tables.kept_columns import read_kept
from lrisk_cli.tables.row_lines import Index, RowLines
from lrisk_cli.tables.small_files import read_small
from lrisk_cli.tables.table import Batch, Table
from lrisk_cli.types import Flags

MOST_BYTES = 4_000_000
KINDS = ("number", "category", "date")
HASH_BYTES = 8
OF_ROWS, OF_COLUMN = ("min", "max"), ("kind", "min", "max", "allowed", "null_share", "unique")


@dataclass(frozen=True, slots=True)
class ColumnExpectation:
    """What a column is to hold. Bounds of dates are days since 1970; None where nothing is said."""

    name: str
    kind: str | None = None
    smallest: float | None = None
    largest: float | None = None
    allowed: tuple[str, ...] | None = None
    null_share: float | None = None
    unique: bool = False


@dataclass(frozen=True, slots=True)
class Expectations:
    """What a table is to hold. fewest, most: rows."""

    path: str
    columns: tuple[ColumnExpectation, ...]
    fewest: int | None = None
    most: int | None = None

    @property
    def kinds(self) -> dict[str, str]:
        """The kinds that columns are to be read as."""
        return {each.name: each.kind for each in self.columns if each.kind is not None}


def _remedy() -> str:
    return f"write one with: lrisk columns DATA {opt('write_expectations', 'FILE')}"


def read_expectations(path: str) -> Expectations:
    """The expectations in a file. DataError that names the first entry that cannot be meant."""
    try:
        text = read_small(path, MOST_BYTES)
        document = None if text is None else tomllib.loads(text.decode())
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); {_remedy()}") from None
    except (ValueError, RecursionError) as error:
        reason = str(error).splitlines()[0] if str(error) else "not TOML"
        raise DataError(f"{path}: no file of expectations ({reason}); {_remedy()}") from None
    if not document:
        raise DataError(f"{path}: holds no expectations; {_remedy()}")
    _refuse_others(path, document, ("rows", "columns"))
    rows = _table(path, "rows", document.get("rows", {}))
    _refuse_others(f"{path}, rows", rows, OF_ROWS)
    columns = _table(path, "columns", document.get("columns", {}))
    fewest, most = (_count(f"{path}, rows.{name}", rows.get(name)) for name in OF_ROWS)
    found = tuple(_column(path, name, entry) for name, entry in columns.items())
    return Expectations(path, found, fewest, most)


def _column(path: str, name: str, entry: Any) -> ColumnExpectation:
    place = f"{path}, columns.{name}"
    entry = _table(path, f"columns.{name}", entry)
    _refuse_others(place, entry, OF_COLUMN)
    kind, allowed, unique = entry.get("kind"), entry.get("allowed"), entry.get("unique", False)
    if kind is not None and kind not in KINDS:
        raise DataError(f"{place}.kind: is {kind!r}; write one of {', '.join(KINDS)}")
    if allowed is not None and not (
        isinstance(allowed, list) and all(isinstance(each, str) for each in allowed)
    ):
        raise DataError(f'{place}.allowed: is no list of texts; write ["a", "b"]')
    if not isinstance(unique, bool):
        raise DataError(f"{place}.unique: is {unique!r}; write true or false")
    share = _number(f"{place}.null_share", entry.get("null_share"))
    if share is not None and not 0.0 <= share <= 1.0:
        raise DataError(f"{place}.null_share: is {share:g}; write a fraction in [0, 1]")
    smallest, largest = (_bound(f"{place}.{end}", entry.get(end)) for end in ("min", "max"))
    if kind == "category" and (smallest is not None or largest is not None):
        raise DataError(f"{place}: a category has no range; leave out min and max, or the kind")
    if allowed is not None and kind in ("number", "date"):
        raise DataError(f"{place}: allowed is for categories; write min and max instead")
    texts = None if allowed is None else tuple(allowed)
    return ColumnExpectation(name, kind, smallest, largest, texts, share, unique)


def _table(path: str, name: str, entry: Any) -> dict[str, Any]:
    if not isinstance(entry, dict):
        raise DataError(f"{path}: {name} is no table; write [{name}]")
    return entry


def _refuse_others(place: str, entry: Mapping[str, Any], known: Sequence[str]) -> None:
    for name in entry:
        if name not in known:
            raise DataError(f"{place}: unknown key '{name}'; known: {', '.join(known)}")


def _count(place: str, value: Any) -> int | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
        raise DataError(f"{place}: is {value!r}; write a number of rows")
    return value


def _number(place: str, value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(value):
        raise DataError(f"{place}: is {value!r}; write a number")
    return float(value)


def _bound(place: str, value: Any) -> float | None:
    """A number, or a date of TOML as days."""
    if value is None or isinstance(value, int | float):
        return _number(place, value)
    try:
        moment = np.datetime64(value.isoformat().removesuffix("+00:00").removesuffix("Z"), "us")
    except (AttributeError, ValueError):
        raise DataError(f"{place}: is {value!r}; write a number or a date") from None
    return float(moment.astype(np.int64)) / 86_400e6


def spell_expectations(profiles: Sequence[ColumnProfile], unique: Sequence[str], data: str) -> str:
    """What a table holds, as a file of expectations.

    Rows: half to twice as many. unique: columns of which all values differ.
    """
    n_rows = profiles[0].n_rows
    check = opt("expect", "FILE")
    lines = [
        f"# What {quote(data)} held; lrisk columns checks it by {check}. Edit freely.",
        "[rows]",
        f"min = {(n_rows + 1) // 2}",
        f"max = {2 * n_rows}",
    ]
    for each in profiles:
        if each.kind not in KINDS:
            continue
        lines += ["", f"[columns.{_quoted(each.name)}]", f'kind = "{each.kind}"']
        for end, value in (("min", each.smallest), ("max", each.largest)):
            if value is not None:
                lines.append(f"{end} = {_spell_bound(each.kind, value)}")
        if each.kind == "category" and each.exact and 0 < each.distinct <= MOST_FREQUENT:
            allowed = sorted(value for value, _ in each.frequent)
            lines.append(f"allowed = [{', '.join(map(_quoted, allowed))}]")
        share = each.share(each.missing + each.invalid)
        # Rounded up to a percent: a few more may be missing tomorrow.
        lines.append(f"null_share = {np.ceil(100.0 * share) / 100.0:g}")
        if each.name in unique:
            lines.append("unique = true")
    return "\n".join(lines) + "\n"


def _spell_bound(kind: str, value: float) -> str:
    if kind == "date":
        text = spell("date", value)
        # TOML takes the years from 1 to 9999.
        return text if text[:4].isdigit() and text[4] == "-" else repr(value)
    return repr(value)


def _quoted(text: str) -> str:
    """A basic string of TOML."""
    escapes = {'"': '\\"', "\\": "\\\\"}
    letters = (
        escapes.get(each, each if each.isprintable() else f"\\U{ord(each):08X}") for each in text
    )
    return '"' + "".join(letters) + '"'


@dataclass(slots=True)
class _Violations:
    """Cells that break an expectation: how many, and the first of them."""

    count: int = 0
    first: list[tuple[int, str]] = field(default_factory=list)

    def add(self, flags: Flags, batch: Batch, spelled: Any) -> None:
        """flags: which rows of a batch. spelled: offset -> the cell in words."""
        found = np.flatnonzero(flags)
        self.count += len(found)
        for offset in found[: max(0, MOST_SHOWN - len(self.first))].tolist():
            self.first.append((batch.first_row + offset, spelled(offset)))


class ExpectationTally:
    """Checks the batches of a table. hashes: of columns whose values should differ."""

    def __init__(self, expected: Expectations, table: Table, unique: Sequence[str] = ()) -> None:
        known = {column.name: column for column in table.columns}
        self.expected, self.table, self._n_rows = expected, table, 0
        self.columns = [each for each in expected.columns if each.name in known]
        self.absent = [each.name for each in expected.columns if each.name not in known]
        self._of = {(each.name, what): _Violations() for each in self.columns for what in _WHATS}
        asked = [each.name for each in self.columns if each.unique]
        self._hashes: dict[str, list[Hashes]] = {name: [] for name in {*asked, *unique}}
        self._repeated: dict[str, Index] = {}

    def add(self, batch: Batch) -> None:
        """Take a batch."""
        self._n_rows += batch.n_rows
        for each in self.columns:
            self._check(each, batch)
        for name, hashes in self._hashes.items():
            cells = batch.columns[name]
            hashes.append(_hash_rows(cells))
        needed = self._n_rows * HASH_BYTES * (len(self._hashes) + 1)
        self.table.allowance.check_batch(self.table.label, needed if self._hashes else 0)

    def _check(self, each: ColumnExpectation, batch: Batch) -> None:
        cells: Any = batch.columns[each.name]
        invalid = batch.invalid.get(each.name)
        if invalid is not None:
            found = self._of[each.name, "kind"]
            found.count += invalid.count
            if len(found.first) < MOST_SHOWN:
                found.first.append((batch.first_row + invalid.offset, invalid.text))
        if isinstance(cells, Texts):
            self._of[each.name, "null_share"].add(cells.codes < 0, batch, lambda _: "missing")
            if each.allowed is not None:
                allowed = set(each.allowed)
                wrong = np.array([value not in allowed for value in cells.values] + [False])
                text = lambda at: quote(cells.values[cells.codes[at]])  # noqa: E731
                self._of[each.name, "allowed"].add(wrong[cells.codes], batch, text)
            return
        self._of[each.name, "null_share"].add(np.isnan(cells), batch, lambda _: "missing")
        low = -np.inf if each.smallest is None else each.smallest
        high = np.inf if each.largest is None else each.largest
        kind = self.table.column(each.name).kind
        outside = (cells < low) | (cells > high)
        self._of[each.name, "range"].add(outside, batch, lambda at: spell(kind, float(cells[at])))

    def differing(self) -> list[str]:
        """The columns of `hashes` of which no value occurs twice, and none is missing."""
        found = []
        for name, parts in self._hashes.items():
            hashes = np.concatenate(parts)
            order = np.argsort(hashes, kind="stable")
            ordered = hashes[order]
            again = (ordered[1:] == ordered[:-1]) & (ordered[1:] != _MISSING)
            self._repeated[name] = np.sort(order[1:][again])
            if not len(self._repeated[name]) and ordered[-1] != _MISSING:
                found.append(name)
        return found

    def finish(self, lines: RowLines) -> tuple[list[GateResult], list[RowSentence]]:
        """A gate for each expectation, and sentences on the rows that break one."""
        results = [self._rows_gate()] if self._bounded_rows else []
        results += [_gate(name, "column", "present", 1, "the table has no such column")
                    for name in self.absent]  # fmt: skip
        self.differing()
        sentences: list[RowSentence] = []
        for each in self.columns:
            for what, allowed in _rules(each):
                found = self._of.get((each.name, what), _Violations())
                results.append(self._judge(each, what, allowed, found, lines))
                if results[-1].failed:
                    sentences += [_sentence(each.name, what, row, cell, lines)
                                  for row, cell in found.first]  # fmt: skip
        return results, sentences

    @property
    def _bounded_rows(self) -> bool:
        return self.expected.fewest is not None or self.expected.most is not None

    def _rows_gate(self) -> GateResult:
        low, high = self.expected.fewest or 0, self.expected.most
        allowed = f"at least {low}" if high is None else f"{low} to {high}"
        failed = self._n_rows < low or (high is not None and self._n_rows > high)
        finding = f"the table has {self._n_rows} rows, and {allowed} are expected"
        return GateResult(Expectation("rows", allowed, finding), self._n_rows, failed)

    def _judge(
        self,
        each: ColumnExpectation,
        what: str,
        allowed: str,
        found: _Violations,
        lines: RowLines,
    ) -> GateResult:
        if what == "kind":
            kind = self.table.column(each.name).kind
            if kind != each.kind and not (found.count and kind == "number"):
                return _gate(each.name, what, allowed, 1, f"it is read as {kind}")
        if what == "unique":
            rows = self._repeated[each.name]
            found.count, few = len(rows), rows[:MOST_SHOWN]
            cells = read_kept(self.table, [each.name], few)[each.name] if len(few) else []
            found.first = [
                (int(row), quote(str(cell))) for row, cell in zip(few, cells, strict=True)
            ]
            again = "1 cell repeats" if len(rows) == 1 else f"{len(rows)} cells repeat"
            finding = f"{again} a value of an earlier row{_where(found, lines)}"
            return _gate(each.name, what, allowed, len(rows), finding)
        if what == "null_share":
            n_missing = found.count
            share = n_missing / max(1, self._n_rows)
            finding = f"{n_missing} of {self._n_rows} cells are missing, {share:.4g} of them"
            holds = share > float(each.null_share or 0.0)
            metric = f"{each.name}: {what}"
            sentence = f"{metric}: {allowed} is expected, and {finding}{_where(found, lines)}"
            return GateResult(Expectation(metric, allowed, sentence), share, holds)
        word = {"kind": f"no {each.kind}", "range": "outside", "allowed": "not among them"}[what]
        cells = "1 cell is" if found.count == 1 else f"{found.count} cells are"
        return _gate(each.name, what, allowed, found.count, f"{cells} {word}{_where(found, lines)}")


_WHATS = ("kind", "range", "allowed", "null_share", "unique")
# The hash of a missing cell.
_MISSING = np.uint64(2**64 - 1)


def _hash_rows(cells: Any) -> Hashes:
    """A hash for each row."""
    if isinstance(cells, Texts):
        return np.append(hash_texts(cells.values), _MISSING)[cells.codes]
    return np.where(np.isnan(cells), _MISSING, hash_numbers(cells))


def _rules(each: ColumnExpectation) -> list[tuple[str, str]]:
    """What is expected of a column, and what is allowed in words."""
    rules = [] if each.kind is None else [("kind", each.kind)]
    kind = each.kind or "number"
    low, high = (None if x is None else spell(kind, x) for x in (each.smallest, each.largest))
    if low is not None and high is not None:
        rules.append(("range", f"{low} to {high}"))
    elif low is not None or high is not None:
        rules.append(("range", f"at least {low}" if high is None else f"at most {high}"))
    if each.allowed is not None:
        more = f" and {len(each.allowed) - MOST_SHOWN} more" * (len(each.allowed) > MOST_SHOWN)
        rules.append(("allowed", ", ".join(each.allowed[:MOST_SHOWN]) + more))
    if each.null_share is not None:
        rules.append(("null_share", f"at most {each.null_share:g}"))
    return [*rules, ("unique", "unique")] if each.unique else rules


def _gate(name: str, what: str, allowed: str, n: float, finding: str) -> GateResult:
    metric = f"{name}: {what}"
    return GateResult(
        Expectation(metric, allowed, f"{metric}: {allowed} is expected, and {finding}"), n, n > 0
    )


def _where(found: _Violations, lines: RowLines) -> str:
    """The first rows and values."""
    if not found.first or not found.count:
        return ""
    rows = [f"{lines.place(row)} ({cell})" for row, cell in found.first[:3]]
    return f"; the first: {', '.join(rows)}"


def _sentence(name: str, what: str, row: int, cell: str, lines: RowLines) -> RowSentence:
    place = lines.place(row)
    return RowSentence(f"{place}: {name} is {cell}, which its expected {what} excludes", place)
