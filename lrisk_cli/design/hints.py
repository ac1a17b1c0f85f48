"""Usable rows -> what looks odd about their columns, as notes with a remedy.

They follow from a sample spread evenly over the rows: at most 8192 of them, fewer where there are
many columns, so that a long table takes hardly longer.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lrisk_cli.design.raw_rows import RawRows
from lrisk_cli.errors import MOST_NAMED, list_names, opt
from lrisk_cli.tables.arrays import distinct
from lrisk_cli.tables.cells import Texts
from lrisk_cli.tables.exact import EXACT
from lrisk_cli.tables.table import Column
from lrisk_cli.types import Array

Notes = tuple[str, ...]

SAMPLE_ROWS, SAMPLE_CELLS = 8192, 1 << 19
FEWEST_ROWS = 20
MOST_CLASSES = 20
# Endings of names that identifiers have: patient_nbr, userId, "Order No".
ID_WORDS = frozenset(
    {"id", "ids", "nbr", "nr", "no", "key", "uuid", "guid", "index", "idx", "number", "code"}
)
MARKS = frozenset({"?", "-", ".", "NA", "N/A", "n/a", "#N/A", "NULL", "null", "NaN", "nan"})
NAMED_SHARE = 0.5  # of different values under such a name
TEXT_SHARE = 0.9  # of different texts under any name
CHANCE_PAIRS = 10.0  # equal cells to expect by chance, where there are none
LEAKAGE = 0.81  # of the target's variance, by one column: a correlation of 0.9
FEWEST_CODES, MOST_CODES = 3, 30
SPARSE = 4.0  # numbers from the smallest to the largest, for each that occurs
SMALLEST_GAIN, SURE_GAIN = 0.02, 10.0
LARGEST_WHOLE = 2.0**64


@dataclass(frozen=True, slots=True)
class _Sampled:
    """Some rows. numbers: (m, p); codes: of each text column; goals: (m, q), centred, or None."""

    rows: npt.NDArray[np.intp]
    numbers: Array
    codes: list[npt.NDArray[np.int32]]
    goals: Array | None


def find_hints(
    columns: Sequence[Column],
    target: Column | None,
    raw: RawRows,
    *,
    classes: bool,
    pixels: bool = False,
) -> Notes:
    """Notes about the features. classes: the target holds classes, by the options.

    pixels: the features are grey values, by the options.
    """
    if len(raw.rows) < FEWEST_ROWS:
        return ()
    sample = _sample(raw, classes)
    numeric = [column for column in columns if column.numeric]
    texts = [column for column in columns if not column.numeric]
    whole = {
        column.name: at
        for at, column in enumerate(numeric)
        if column.kind == "number" and _is_whole(sample.numbers[:, at])
    }
    identifiers = [
        *(name for name, at in whole.items() if _identifies(name, raw.numbers[:, at], sample, at)),
        *(
            column.name
            for column, cells in zip(texts, raw.texts, strict=True)
            if _text_identifies(column.name, cells)
        ),
    ]
    codes = [name for name, at in whole.items() if _may_be_codes(sample.numbers[:, at], sample)]
    leaking = (
        [] if target is None else list(_find_leakage(numeric, texts, sample, set(identifiers)))
    )
    large = [name for name, at in whole.items() if _is_large(sample.numbers[:, at])]
    return (
        *_note_identifiers(_in_order(columns, identifiers)),
        *_note_large([name for name in large if name not in identifiers]),
        *(_note_leakage(name, how, target.name) for name, how in leaking if target is not None),
        *_note_codes([] if pixels else codes),
        *_note_marks(_marked(texts, raw.texts)),
    )


def _sample(raw: RawRows, classes: bool) -> _Sampled:
    """One row of each of m equal stretches, the same ones in every run."""
    n_rows = len(raw.rows)
    n_cells = SAMPLE_CELLS // max(1, raw.n_numbers + len(raw.texts))
    m = min(n_rows, SAMPLE_ROWS, max(FEWEST_ROWS, n_cells))
    rows = np.arange(n_rows)
    if m < n_rows:
        jitter = np.random.default_rng(0).random(m)
        rows = ((np.arange(m) + jitter) * (n_rows / m)).astype(np.intp)
    goals = None if raw.target is None else _goals(raw.target[rows], classes)
    return _Sampled(rows, raw.numbers[rows], [texts.codes[rows] for texts in raw.texts], goals)


def _goals(target: Array | Texts, classes: bool) -> Array | None:
    """The target as centred columns: one, or a 0/1 column for each of the classes."""
    if isinstance(target, Texts) or classes:
        values = target.codes if isinstance(target, Texts) else target
        labels = distinct(values)[:MOST_CLASSES]
        goals = np.asarray(values[:, np.newaxis] == labels, np.float64)
    else:
        goals = target[:, np.newaxis].copy()
    with np.errstate(over="ignore", invalid="ignore"):
        goals -= goals.mean(axis=0)
        varies = np.sum(goals * goals)
    return goals if 0.0 < varies < np.inf else None


def _is_whole(cells: Array) -> bool:
    """Whether all known cells are whole numbers, and enough of them are known."""
    known = cells[~np.isnan(cells)]
    return len(known) >= FEWEST_ROWS and bool(np.all(np.rint(known) == known))


def _is_large(cells: Array) -> bool:
    """Whether whole numbers are so large that doubles do not hold all of their digits."""
    largest = float(np.nanmax(np.abs(cells)))
    return EXACT <= largest <= LARGEST_WHOLE


def _identifies(name: str, column: Array, sample: _Sampled, at: int) -> bool:
    """Whether whole numbers differ in nearly every row, and not by chance.

    Of n numbers drawn from a range of R, n^2 / 2R pairs are equal, or more. Measures of a wide
    range may all differ; where many should be equal and none are, they were made to differ. Under
    the name of an identifier half of them is enough.
    """
    named, known = _sounds_like_id(name), sample.numbers[:, at]
    known = known[~np.isnan(known)]
    # A few of them rule most columns out: the more there are, the more are equal.
    for some in (known[:: max(1, len(known) // 256)], known):
        ascending = distinct(some)
        if len(ascending) < (NAMED_SHARE if named else 1.0) * len(some):
            return False
    if not named and _equal_by_chance(ascending, len(known)) >= CHANCE_PAIRS:
        return True
    if not named and _equal_by_chance(ascending, len(column)) < CHANCE_PAIRS:
        return False
    known = column[~np.isnan(column)]
    ascending = distinct(known)
    if named:
        return len(ascending) >= NAMED_SHARE * len(known)
    pairs = _equal_by_chance(ascending, len(known))
    return len(ascending) == len(known) and pairs >= CHANCE_PAIRS


def _equal_by_chance(ascending: Array, n: int) -> float:
    """How many pairs of n numbers from this range are equal, if all are as likely."""
    return n * n / (2.0 * (float(ascending[-1] - ascending[0]) + 1.0))


def _text_identifies(name: str, texts: Texts) -> bool:
    """Whether texts differ in nearly every row."""
    least = NAMED_SHARE if _sounds_like_id(name) else TEXT_SHARE
    if len(texts.values) < least * np.count_nonzero(texts.codes >= 0):
        return False
    codes = texts.codes[texts.codes >= 0]
    return len(codes) >= FEWEST_ROWS and len(distinct(codes)) >= least * len(codes)


def _sounds_like_id(name: str) -> bool:
    words = re.split(r"[^a-z0-9]+", re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower())
    return words[-1] in ID_WORDS


def _may_be_codes(cells: Array, sample: _Sampled) -> bool:
    """Whether a few whole numbers behave less like counts or measures than like codes.

    Either some number in the middle is rare though smaller and larger ones are common, which
    counts seldom are; or the target rises and falls with them in no order. Numbers with wide gaps,
    as 7, 28 and 90 days, are measures.
    """
    known = ~np.isnan(cells)
    low, high = float(cells[known].min()), float(cells[known].max())
    if high - low > SPARSE * MOST_CODES:
        return False
    places = (cells[known] - low).astype(np.intp)
    counts = np.bincount(places)
    counts = counts[counts > 0]
    n_values = len(counts)
    if not FEWEST_CODES <= n_values <= MOST_CODES or high - low > SPARSE * n_values:
        return False
    if len(places) < 10 * n_values:
        return False
    if _has_dip(counts):
        return True
    if sample.goals is None:
        return False
    goals = sample.goals[known] - sample.goals[known].mean(axis=0)
    by_value, by_line = _explained_by_groups(places, goals), _explained(cells[known], goals)
    gain, left = by_value - by_line, max(1.0 - by_value, 1e-9)
    surety = gain / (n_values - 2) / (left / (len(places) - n_values))
    return gain >= SMALLEST_GAIN and surety >= SURE_GAIN


def _has_dip(counts: npt.NDArray[np.intp]) -> bool:
    """Whether a count is less than half of a larger one on either side, and not by chance."""
    before = np.maximum.accumulate(counts)
    after = np.maximum.accumulate(counts[::-1])[::-1]
    sides = np.minimum(before, after)
    clear = sides - counts > 4.0 * np.sqrt(sides + counts)
    return bool(np.any((2 * counts < sides) & clear))


def _find_leakage(
    numeric: Sequence[Column], texts: Sequence[Column], sample: _Sampled, passed_over: set[str]
) -> Iterator[tuple[str, str]]:
    """The features that alone explain nearly all of the target, and how well they do."""
    if sample.goals is None:
        return
    for at, column in enumerate(numeric):
        cells = sample.numbers[:, at]
        known = ~np.isnan(cells)
        if column.name in passed_over or np.count_nonzero(known) < FEWEST_ROWS:
            continue
        goals = sample.goals[known] - sample.goals[known].mean(axis=0)
        fraction = _explained(cells[known], goals)
        if fraction >= LEAKAGE:
            yield column.name, f"correlation about {np.sqrt(fraction):.2f}"
    for column, codes in zip(texts, sample.codes, strict=True):
        known = codes >= 0
        n_known = np.count_nonzero(known)
        values = distinct(codes[known])
        if column.name in passed_over or n_known < FEWEST_ROWS or n_known < 10 * len(values):
            continue
        goals = sample.goals[known] - sample.goals[known].mean(axis=0)
        fraction = _explained_by_groups(np.searchsorted(values, codes[known]), goals)
        if fraction >= LEAKAGE:
            yield column.name, f"about {100.0 * fraction:.0f} % explained"


def _explained(cells: Array, goals: Array) -> float:
    """Fraction of the variance of the goals that a line in the cells explains. goals: centred."""
    total = float(np.sum(goals * goals))
    with np.errstate(over="ignore", invalid="ignore"):
        moves = cells - cells.mean()
        spread = float(moves @ moves)
        slopes = moves @ goals
        fraction = float(slopes @ slopes) / (spread * total) if spread * total > 0.0 else 0.0
    return min(fraction, 1.0) if np.isfinite(fraction) else 0.0


def _explained_by_groups(places: npt.NDArray[np.intp], goals: Array) -> float:
    """Fraction of the variance of the goals that lies between groups of rows. goals: centred."""
    total = float(np.sum(goals * goals))
    counts = np.bincount(places)
    between = sum(
        float(np.sum(np.bincount(places, goal) ** 2 / np.maximum(counts, 1))) for goal in goals.T
    )
    return between / total if total > 0.0 else 0.0


def _marked(columns: Sequence[Column], texts: Sequence[Texts]) -> dict[str, list[str]]:
    """Texts that often stand for a missing cell, and the columns that hold them."""
    found: dict[str, list[str]] = {}
    for column, cells in zip(columns, texts, strict=True):
        for code, text in enumerate(cells.values):
            if text.strip() in MARKS and np.any(cells.codes == code):
                found.setdefault(text.strip(), []).append(column.name)
    return found


def _in_order(columns: Sequence[Column], names: Sequence[str]) -> list[str]:
    return [column.name for column in columns if column.name in names]


def _note_identifiers(names: Sequence[str]) -> Iterator[str]:
    if len(names) == 1:
        yield (
            f"column '{names[0]}' differs in nearly every row: an identifier? then pass "
            f"{opt('id_column', names[0])} or {opt('exclude', names[0])}"
        )
    elif names:
        named = opt("exclude", ",".join(names[:MOST_NAMED]))
        yield (
            f"columns {list_names(names)} differ in nearly every row: identifiers? then pass "
            f"{named}, or {opt('id_column')} for one of them"
        )


def _note_large(names: Sequence[str]) -> Iterator[str]:
    for name in names[:MOST_NAMED]:
        yield (
            f"column '{name}' holds whole numbers beyond 2^53, of which the last digits are lost: "
            f"identifiers? {opt('exclude', name)}, or keep them by "
            f"{opt('dtype', f'{name}=category')}"
        )


def _note_leakage(name: str, how: str, target: str) -> str:
    return (
        f"column '{name}' alone nearly determines '{target}' ({how}): possible target leakage; "
        f"pass {opt('exclude', name)} if it is unknown at prediction time"
    )


def _note_codes(names: Sequence[str]) -> Iterator[str]:
    if len(names) == 1:
        yield (
            f"column '{names[0]}' holds few whole numbers: codes of categories? then pass "
            f"{opt('dtype', f'{names[0]}=category')}"
        )
    elif names:
        yield (
            f"columns {list_names(names)} hold few whole numbers each: codes of categories? then "
            f"pass {opt('dtype', ','.join(names) + '=category')}"
        )


def _note_marks(found: dict[str, list[str]]) -> Iterator[str]:
    for mark, names in found.items():
        holders = (
            f"column {list_names(names)} holds"
            if len(names) == 1
            else f"columns {list_names(names)} hold"
        )
        yield (
            f"{holders} {mark!r}, "
            f"a category like others: a missing cell? then pass {opt('na_values', mark)}"
        )
