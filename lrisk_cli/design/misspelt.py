"""Categories that look like misspellings: rare, and one letter away from a frequent one."""

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from lrisk_cli.tables.cells import Texts

# A misspelling has at most this fraction of the rows, and of the rows of the right spelling.
MOST_ROWS, MOST_OF_RIGHT = 0.05, 0.2
# Words of fewer letters are codes.
SHORTEST = 4
# Columns of more different texts hold names or sentences, not categories.
MOST_CATEGORIES = 2000


def find_misspelt(texts: Texts) -> dict[int, str]:
    """Codes of misspelt categories, and the texts that they should be.

    A letter is left out, added, replaced or exchanged with the next one; or only capitals, blanks
    and hyphens differ.
    """
    counts = np.bincount(texts.codes[texts.codes >= 0], minlength=len(texts.values))
    if np.count_nonzero(counts) > MOST_CATEGORIES:
        return {}
    alike: dict[str, list[int]] = defaultdict(list)
    for code in np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)].tolist():
        for key in _keys(texts.values[code]):
            alike[key].append(code)
    found = {}
    for rare in np.flatnonzero((counts > 0) & (counts <= MOST_ROWS * counts.sum())).tolist():
        text = texts.values[rare]
        near = {code for key in _keys(text) for code in alike[key]}
        right = [
            code
            for code in sorted(near, key=lambda code: (-counts[code], code))
            if counts[rare] <= MOST_OF_RIGHT * counts[code] and may_be(text, texts.values[code])
        ]
        if right:
            found[rare] = texts.values[right[0]]
    return found


def may_be(text: str, right: str) -> bool:
    """Whether a text can be a misspelling of another: other digits, single letters and capitals
    inside a word mean something.
    """
    if text == right:
        return False
    if _plain(text) == _plain(right) and _plain(right).isalpha():
        return True
    shorter = min(len(text), len(right))
    start = next((k for k in range(shorter) if text[k] != right[k]), shorter)
    back = 0
    while back < shorter - start and text[-1 - back] == right[-1 - back]:
        back += 1
    mine, other = text[start : len(text) - back], right[start : len(right) - back]
    one = len(mine) <= 1 and len(other) <= 1
    if not (one or (len(mine) == 2 and mine == other[::-1])):
        return False
    small = (mine + other).islower() or start == 0
    return (mine + other).isalpha() and small and _letters_around(right, start) >= SHORTEST


def _letters_around(text: str, at: int) -> int:
    """How many letters the word at this place has."""
    first, last = at, at
    while first > 0 and text[first - 1].isalpha():
        first -= 1
    while last < len(text) and text[last].isalpha():
        last += 1
    return last - first


def _keys(text: str) -> Iterator[str]:
    """Texts one letter apart have one of these in common."""
    yield text
    yield f"\0{_plain(text)}"
    for k in range(len(text)):
        yield text[:k] + text[k + 1 :]


def _plain(text: str) -> str:
    return "".join(c for c in text.casefold() if c not in " _-\t")
