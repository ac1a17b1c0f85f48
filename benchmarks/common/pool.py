"""Units of a long benchmark on several processes, with a line of progress."""

import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any

WORKERS = 2


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
    began, done = time.perf_counter(), 0
    results: list[Any] = [None] * len(units)
    with ProcessPoolExecutor(workers, initializer=one_thread) as pool:
        waiting = {pool.submit(work, *unit): k for k, unit in enumerate(units)}
        for future in as_completed(waiting):
            results[waiting[future]] = future.result()
            done += 1
            seconds = time.perf_counter() - began
            left = seconds / done * (len(units) - done)
            line = f"\r{what}: {done} of {len(units)}, {seconds:.0f} s, about {left:.0f} s left   "
            print(line, end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return results
