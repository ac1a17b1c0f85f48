"""Fair timing and a table on the terminal, shared by the benchmarks."""

from collections.abc import Callable, Mapping, Sequence
from time import perf_counter

import numpy as np


def compare(candidates: Mapping[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Median seconds of each, run in turns so that the noise of the machine hits all alike."""
    taken: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(repeats):
        for name, run in candidates.items():
            began = perf_counter()
            run()
            taken[name].append(perf_counter() - began)
    return {name: float(np.median(times)) for name, times in taken.items()}


def print_rows(rows: Sequence[Mapping[str, object]]) -> None:
    """An aligned table, one line for each row."""
    heads = list(rows[0])
    cells = [heads, *([_spell(row.get(head)) for head in heads] for row in rows)]
    widths = [max(len(line[at]) for line in cells) for at in range(len(heads))]
    for line in cells:
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)))


def _spell(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else "" if value is None else str(value)
