"""Read damaged copies of a small file, as a program that may end: damage.py FILE SEED COUNT.

A line with the number of each copy goes out before it is read, so that the last line names the one
that ended the process; and a line for each answer that is neither rows nor a sentence.
"""

import random
import resource
import sys
from pathlib import Path

from lrisk_cli.errors import DataError
from lrisk_cli.tables.table import open_table

MEMORY = 4 << 30
NESTED = "l"


def damaged(data: bytes, rng: random.Random) -> bytes:
    """The file cut off, or with a few other bytes; half of them in its last part, the footer."""
    if rng.random() < 0.1:
        return data[: rng.randrange(8, len(data))]
    copy, low = bytearray(data), rng.choice([0, len(data) // 2])
    for _ in range(rng.choice([1, 1, 2, 4, 8])):
        place = rng.randrange(low, len(copy))
        flipped = copy[place] ^ 1 << rng.randrange(8)
        copy[place] = rng.choice([flipped, rng.randrange(256), 0, 127, 255])
    return bytes(copy)


def read_all(path: Path, rng: random.Random) -> None:
    """Every column that can be used, as it comes or as text, and some as they are."""
    table = open_table(str(path))
    names = [column.name for column in table.columns if column.kind != "nested"]
    dtypes = {name: "category" for name in names if rng.random() < 0.3}
    kept = [name for name in names if rng.random() < 0.3]
    for _ in open_table(str(path), dtypes=dtypes).batches(names, keep=kept):
        pass


def main(path: Path, seed: int, count: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    data, copy = path.read_bytes(), path.with_stem("damaged")
    for number in range(count):
        rng = random.Random(f"{seed} {number}")
        copy.write_bytes(damaged(data, rng))
        print(number, flush=True)
        try:
            read_all(copy, rng)
        except DataError:
            continue
        except Exception as error:
            print(f"{number}: {type(error).__name__}: {error}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
