"""Texts that name columns, one or several in each -> the columns of a table."""

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from lrisk_cli.errors import DataError, InvalidOption

# A field of a list: between quotes, where two of them stand for one, or up to the next comma.
_FIELD = re.compile(r'\s*"(?P<quoted>(?:[^"]|"")*)"\s*(?:,|\Z)|(?P<plain>[^,]*)(?:,|\Z)')
_WILD = frozenset("*?[")
_MOST_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Field:
    """A part of a list. quoted: it stood between quotes, so that it is meant to the letter."""

    text: str
    quoted: bool


@dataclass(frozen=True, slots=True)
class Named:
    """A column that was named. by_pattern: it was not spelled out."""

    name: str
    by_pattern: bool = False


def split_fields(text: str) -> Iterator[Field]:
    """The fields of a list as CSV writes it: separated by commas, those with commas in quotes."""
    start = 0
    while start < len(text):
        found = _FIELD.match(text, start)
        if found is None:  # cannot be: the second way matches any text
            return
        start = found.end()
        if found["quoted"] is not None:
            yield Field(found["quoted"].replace('""', '"'), quoted=True)
        elif found["plain"].strip():
            yield Field(found["plain"], quoted=False)


def split_list(texts: str | Iterable[str] | None) -> tuple[str, ...]:
    """The values of a list that is given at once or in parts; spaces count between quotes only."""
    return tuple(
        field.text if field.quoted else field.text.strip()
        for text in as_texts(texts)
        for field in split_fields(text)
    )


def as_texts(texts: str | Iterable[str] | None) -> tuple[str, ...]:
    """One text, several or none, as several; blank ones name nothing."""
    if texts is None:
        return ()
    given = (texts,) if isinstance(texts, str) else tuple(texts)
    return tuple(text for text in given if text.strip())


def quote_field(text: str) -> str:
    """A value as a field of a list that reads back as the same."""
    plain = text == text.strip() and not text.startswith('"') and "," not in text
    return text if plain else '"' + text.replace('"', '""') + '"'


def find_columns(texts: Iterable[str], names: Sequence[str], label: str) -> list[Named]:
    """The columns that the texts name: each is a name, or several as CSV writes them, or patterns.

    A text that is the name of a column is that one, whatever it holds; so is a field of a list.
    DataError, with the nearest names, where there is no such column. label: of the table.
    """
    known = set(names)
    found: list[Named] = []
    for text in texts:
        if text in known:
            found.append(Named(text))
            continue
        for field in split_fields(text):
            found += _find_field(field, names, known, label)
    return found


def _find_field(field: Field, names: Sequence[str], known: set[str], label: str) -> list[Named]:
    if field.text in known:
        return [Named(field.text)]
    text = field.text if field.quoted else field.text.strip()
    if text in known:
        return [Named(text)]
    if field.quoted or not _WILD & set(text):
        raise no_such_column(label, text, names)
    matched = [Named(name, by_pattern=True) for name in names if fnmatchcase(name, text)]
    if not matched:
        raise no_such_column(label, text, names, pattern="*" in text or "?" in text)
    return matched


def find_dtypes(dtypes: Mapping[str, str], names: Sequence[str], label: str) -> dict[str, str]:
    """The kinds of columns by their names. dtypes: by texts that name columns.

    A column that is spelled out is of that kind, whatever patterns match it.
    """
    spelled: dict[str, str] = {}
    matched: dict[str, str] = {}
    for text, dtype in dtypes.items():
        for column in find_columns([text], names, label):
            kinds = matched if column.by_pattern else spelled
            if kinds.setdefault(column.name, dtype) != dtype:
                both = f"{kinds[column.name]} and as {dtype}"
                raise InvalidOption("dtype", f": '{column.name}' is named as {both}; keep one")
    return matched | spelled


def no_such_column(
    label: str, name: str, names: Sequence[str], *, pattern: bool = False
) -> DataError:
    """The sentence for a name that no column has, with the nearest ones."""
    if not pattern:
        near = find_near(name, names)
        if near:
            meant = " or ".join(map(repr, near))
            return DataError(f"{label}: no column '{name}'; did you mean {meant}?")
    n_more = len(names) - _MOST_SHOWN
    shown = ", ".join(map(quote_field, names[:_MOST_SHOWN])) + (
        f" and {n_more} more" if n_more > 0 else ""
    )
    finding = f"no column matches '{name}'" if pattern else f"no column '{name}'"
    return DataError(f"{label}: {finding}; it has {shown}")


def find_near(name: str, names: Sequence[str]) -> list[str]:
    """Names that are spelled nearly so, the nearest first; capitals and spaces matter little."""
    near = difflib.get_close_matches(name, names, 3, 0.6)
    folded = _fold(name)
    same = [each for each in names if _fold(each) == folded]
    return list(dict.fromkeys([*same, *near]))[:3]


def _fold(name: str) -> str:
    return re.sub(r"[\s_.-]+", "", name).casefold()
