"""Paths -> those that name the same file, or files of the same bytes."""

import filecmp
import os
import stat
from collections.abc import Sequence


def find_same(paths: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs (earlier, later) of the same inode, or of the same size and bytes.

    Only local files are compared; files of different sizes are not read, others up to the first
    byte that differs.
    """
    seen: dict[int, list[tuple[str, tuple[int, int]]]] = {}
    found = []
    for path in paths:
        status = _status(path)
        if status is None:
            continue
        inode = (status.st_dev, status.st_ino)
        alike = seen.setdefault(status.st_size, [])
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


def _same_bytes(path: str, other: str) -> bool:
    try:
        return filecmp.cmp(path, other, shallow=False)
    except OSError:
        return False
