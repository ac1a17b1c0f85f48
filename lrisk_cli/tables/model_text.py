"""Tell a model file of lrisk from a table by how it starts."""

import os
import stat

# Spaces aside, as `models.model_file` writes it.
START = b'{"format":"lrisk-model"'
LONGEST = 4 * len(START)


def is_model_file(path: str | os.PathLike[str]) -> bool:
    """Whether there is a model at a path, whatever its state; no pipe is read."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return False
        with open(path, "rb") as file:
            return b"".join(file.read(LONGEST).split()).startswith(START)
    except (OSError, ValueError):
        return False
