"""Paths -> those that name the same file, or files of the same bytes."""

import filecmp
import os
import stat
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256

_HEAD = 1 << 16


def find_same(paths: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs (earlier, later) of the same inode, or of the same size and bytes.

    Only local files are compared; files of a size of their own are not read, others up to the first
    byte that differs.
    """
    regular = [(path, status) for path in paths if (status := _status(path)) is not None]
    sizes = Counter(status.st_size for _, status in regular)
    seen: dict[tuple[int, bytes], list[tuple[str, tuple[int, int]]]] = {}
    found = []
    for path, status in regular:
        # The parts of a table may be of one size by the thousand.
        head = _head(path) if sizes[status.st_size] > 1 else b""
        inode = (status.st_dev, status.st_ino)
        alike = seen.setdefault((status.st_size, head), [])
        for other, its in alike:
            if inode == its or _same_bytes(path, other):
                found.append((other, path))
                break
        else:
            alike.append((path, inode))
    return found


def _status(path: str) -> os.stat_result | None:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return status if stat.S_ISREG(status.st_mode) else None


def _head(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return sha256(file.read(_HEAD)).digest()
    except OSError:
        return b""


def _same_bytes(path: str, other: str) -> bool:
    try:
        return filecmp.cmp(path, other, shallow=False)
    except OSError:
        return False
