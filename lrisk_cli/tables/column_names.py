"""Names that a file gives its columns -> names that differ and are not empty, and notes on them."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from lrisk_cli.errors import MOST_NAMED, DataError, list_names, opt


@dataclass(frozen=True, slots=True)
class ColumnNames:
    """The names to use. unnamed: those that the file does not have; renamed: old and new ones."""

    names: tuple[str, ...] = ()
    unnamed: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()

    def notes(self, read: Collection[str]) -> tuple[str, ...]:
        """What to know about names that are not the file's own. read: the columns that are read."""
        return (*self._note_unnamed(set(read)), *self._note_renamed())

    def _note_unnamed(self, read: set[str]) -> Iterator[str]:
        named = [name for name in self.unnamed if name in read]
        n_empty = len(self.unnamed) - len(named)
        if n_empty:
            have = "1 column has" if n_empty == 1 else f"{n_empty} columns have"
            yield f"{have} neither a name nor a value and {_are(n_empty)} left out"
        if named:
            have = "1 column has" if len(named) == 1 else f"{len(named)} columns have"
            hint = ""
            if named[0] == self.names[0]:
                hint = f": an index that pandas wrote? then pass {opt('exclude', named[0])}"
            yield f"{have} no name and {_are(len(named))} read as {list_names(named)}{hint}"

    def _note_renamed(self) -> Iterator[str]:
        if self.renamed:
            pairs = [f"'{old}' as '{new}'" for old, new in self.renamed[:MOST_NAMED]]
            n_more = len(self.renamed) - len(pairs)
            more = f" and {n_more} more" if n_more else ""
            yield f"columns whose name an earlier one has are renamed: {', '.join(pairs)}{more}"


UNCHANGED = ColumnNames()


def name_columns(stored: Sequence[str], place: str, *, rename: bool) -> ColumnNames:
    """Names that differ and are not empty.

    A column without a name is called by its position. One whose name an earlier column has is a
    DataError, or with `rename` gets a number. place: of the names, for sentences.
    """
    taken = {name for name in stored if name.strip()}
    if len(taken) == len(stored):
        return ColumnNames(tuple(stored))
    repeated = [name for name, count in Counter(stored).items() if count > 1 and name in taken]
    if repeated and not rename:
        raise DataError(
            f"{place}: column '{repeated[0]}' appears twice; rename one of them, or pass "
            f"{opt('rename_duplicates')}"
        )
    names: list[str] = []
    unnamed: list[str] = []
    renamed: list[tuple[str, str]] = []
    used, met = dict.fromkeys(taken, 1), set[str]()
    for position, name in enumerate(stored, 1):
        if name not in taken:
            names.append(_free_name(f"column_{position}", used))
            unnamed.append(names[-1])
        elif name in met:
            names.append(_free_name(name, used))
            renamed.append((name, names[-1]))
        else:
            names.append(name)
            met.add(name)
    return ColumnNames(tuple(names), tuple(unnamed), tuple(renamed))


def _free_name(name: str, used: dict[str, int]) -> str:
    """The name, or with the first number from 2 on that makes it a new one, which is then used."""
    free, number = name, used.get(name, 0)
    while free in used:
        number += 1
        free = f"{name}.{number}"
    used[name] = max(number, 1)
    used.setdefault(free, 1)
    return free


def _are(count: int) -> str:
    return "is" if count == 1 else "are"
