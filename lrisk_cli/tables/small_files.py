"""A path -> the bytes of a file that cannot be long: a model, settings, figures of a run."""

import os
import stat
from pathlib import Path

# Contents of pipes by path, so that a command can read one twice.
_piped: dict[str, bytes] = {}


def read_small(path: str | Path, most: int) -> bytes | None:
    """All of the file, or None where it has more than `most` bytes. OSError as `open` has it.

    A pipe without a writer is empty; otherwise the call waits for its data.
    """
    if (held := _piped.get(os.fspath(path))) is not None:
        return held
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(handle, "rb") as file:
        state = os.fstat(handle)
        if state.st_size > most:
            return None
        first = b""
        if stat.S_ISFIFO(state.st_mode):
            # Without a writer there is nothing at all; with one, at most nothing yet (None).
            begun = file.raw.read(1)
            if begun == b"":
                return b""
            first = begun or b""
        os.set_blocking(handle, True)
        text = file.read(most + 1)
    text = first + text if first else text
    if len(text) > most:
        return None
    if stat.S_ISFIFO(state.st_mode):
        _piped[os.fspath(path)] = text
    return text
