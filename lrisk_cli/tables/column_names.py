"""Names that a file gives its columns -> names that differ and are not empty, and notes on them."""

from collections import Counter
from collections.abc import Sequence

from lrisk_cli.errors import MOST_NAMED, DataError, list_names, opt


def name_columns(
    stored: Sequence[str], place: str, *, rename: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names to use, and notes on those that are not the file's own.

    A column without a name is called by its position. One whose name an earlier column has is a
    DataError, or with `rename` gets a number. place: of the names, for sentences.
    """
    taken = {name for name in stored if name.strip()}
    if len(taken) == len(stored):
        return tuple(stored), ()
    repeated = [name for name, count in Counter(stored).items() if count > 1 and name in taken]
    if repeated and not rename:
        raise DataError(
            f"{place}: column '{repeated[0]}' appears twice; rename one of them, or pass "
            f"{opt('rename_duplicates')}"
        )
    names: list[str] = []
    unnamed: list[str] = []
    again: list[tuple[str, str]] = []
    used = dict.fromkeys(taken, 1)
    for position, name in enumerate(stored, 1):
        if name not in taken:
            names.append(_free_name(f"column_{position}", used))
            unnamed.append(names[-1])
        elif name in repeated and name in names:
            names.append(_free_name(name, used))
            again.append((name, names[-1]))
        else:
            names.append(name)
    return tuple(names), (*_note_unnamed(unnamed, names), *_note_renamed(again))


def _free_name(name: str, used: dict[str, int]) -> str:
    """The name, or with the first number from 2 on that makes it a new one, which is then used."""
    free, number = name, used.get(name, 0)
    while free in used:
        number += 1
        free = f"{name}.{number}"
    used[name] = max(number, 1)
    used.setdefault(free, 1)
    return free


def _note_unnamed(unnamed: Sequence[str], names: Sequence[str]) -> list[str]:
    if not unnamed:
        return []
    is_index = unnamed[0] == names[0]
    what = (
        f"1 column has no name and is read as {list_names(unnamed)}"
        if len(unnamed) == 1
        else f"{len(unnamed)} columns have no name and are read as {list_names(unnamed)}"
    )
    hint = f": an index that pandas wrote? then pass {opt('exclude', names[0])}" if is_index else ""
    return [what + hint]


def _note_renamed(again: Sequence[tuple[str, str]]) -> list[str]:
    if not again:
        return []
    pairs = [f"'{old}' as '{new}'" for old, new in again[:MOST_NAMED]]
    more = f" and {len(again) - MOST_NAMED} more" if len(again) > MOST_NAMED else ""
    return [f"columns whose name an earlier one has are renamed: {', '.join(pairs)}{more}"]
