"""Units of a long benchmark on several processes, with a line of progress."""

import os
import pickle
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

WORKERS = 2


@dataclass(slots=True)
class Keeper:
    """Results of units that are done, in a folder, so that a run that was ended can be resumed.

    folder: of one commit; None keeps nothing. seconds: what the results took that were found there.
    """

    folder: Path | None = None
    seconds: float = 0.0

    def open(self, what: str, units: Sequence[Iterable[Any]]) -> "Kept":
        """What is there of these units; that of others by the same name is dropped."""
        kept = Kept(None if self.folder is None else self.folder / f"{what}.pickle", list(units))
        if kept.path is not None and kept.path.exists():
            found = pickle.loads(kept.path.read_bytes())
            if found["units"] == kept.units:
                kept.results, kept.seconds = found["results"], found["seconds"]
                self.seconds += kept.seconds
        return kept


@dataclass(slots=True)
class Kept:
    """Results by the number of the unit, and the seconds that they took."""

    path: Path | None
    units: list[Iterable[Any]]
    results: dict[int, Any] = field(default_factory=dict)
    seconds: float = 0.0

    def write(self, seconds: float) -> None:
        """Keep all results; a file is replaced as a whole. seconds: of this run."""
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        content = {
            "units": self.units, "results": self.results, "seconds": self.seconds + seconds,
        }  # fmt: skip
        new = self.path.with_suffix(".new")
        new.write_bytes(pickle.dumps(content))
        new.replace(self.path)


KEEPER = Keeper()


def one_thread() -> None:
    """What a process does first: its linear algebra runs on one thread."""
    from threadpoolctl import threadpool_limits

    threadpool_limits(1)


def run_units(
    what: str,
    work: Callable[..., Any],
    units: Sequence[Iterable[Any]],
    *,
    workers: int = WORKERS,
) -> list[Any]:
    """work(*unit) of every unit, in their order; a line on standard error says how far it is."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    kept, began = KEEPER.open(what, units), time.perf_counter()
    missing = [k for k in range(len(units)) if k not in kept.results]
    with ProcessPoolExecutor(workers, initializer=one_thread) as pool:
        waiting = {pool.submit(work, *units[k]): k for k in missing}
        for done, future in enumerate(as_completed(waiting), 1):
            kept.results[waiting[future]] = future.result()
            seconds = time.perf_counter() - began
            kept.write(seconds)
            left = seconds / done * (len(missing) - done)
            line = f"\r{what}: {len(kept.results)} of {len(units)}, {seconds:.0f} s, "
            print(f"{line}about {left:.0f} s left   ", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return [kept.results[k] for k in range(len(units))]
