"""How much memory a table may take once it is read, and the sentence for one that takes more."""

import os
import re
import resource
from dataclasses import dataclass, replace

from lrisk_cli.errors import DataError, InvalidOption, UsageError, opt

UNITS = {"": 1, "B": 1} | {
    unit: size
    for at, letter in enumerate("KMGT", 1)
    for unit, size in (
        (letter, 1000**at),
        (f"{letter}B", 1000**at),
        (f"{letter}IB", 1024**at),
    )
}
NUMBER_BYTES = 8
# Measured: what the libraries reserve, far more than they use, and more of it for each processor.
# Where they do not get it, OpenBLAS waits for ever or ends the process, and Arrow aborts it.
RESERVED_BYTES, PROCESSOR_BYTES = 1_800_000_000, 100_000_000
LIMITS = {"ulimit -v": resource.RLIMIT_AS, "ulimit -d": resource.RLIMIT_DATA}
ROW_BYTES = 24  # of each row, its number, and its target twice: as read and as learned


# Fraction of the memory that rows may take before they are streamed, if no limit is named.
STREAMED_ABOVE = 0.6
CGROUP_FILES = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


class TooLargeError(DataError):
    """A table takes more memory than is allowed, if all of its rows are held."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """The most bytes that a design may take. named: by the user, not by the machine."""

    n_bytes: int
    named: bool

    def check(
        self, label: str, n_rows: int, n_columns: int, n_texts: int = 0, *, row_bytes: int = 0
    ) -> None:
        """DataError if a design, and so many bytes of texts beside it, are too much.

        row_bytes: what a row of the design takes, if its columns are not a number each.
        """
        needed = n_rows * ((row_bytes or n_columns * NUMBER_BYTES) + ROW_BYTES) + n_texts
        if needed <= self.n_bytes:
            return
        texts = " and its texts" if n_texts else ""
        # Categories that are stored as codes take the same, however many there are.
        coded = 0 < row_bytes < n_columns * NUMBER_BYTES
        remedy = f"{opt('exclude')} columns" + (
            " or" if coded else f", lower {opt('max_categories')}, or"
        )
        raise TooLargeError(
            f"{label}: a design of {n_rows} rows x {n_columns} columns{texts} takes at least "
            f"{spell_size(needed)}, more than {self}; {remedy} read fewer rows"
        )

    def before_streaming(self) -> "Allowance":
        """What rows may take that are streamed otherwise: a part, unless the user named a limit."""
        return self if self.named else replace(self, n_bytes=int(STREAMED_ABOVE * self.n_bytes))

    def check_features(
        self, label: str, n_rows: int, n_columns: int, n_bytes: int, *, row_bytes: int
    ) -> None:
        """DataError if a design and what a fit makes of its rows by a kernel are too much."""
        needed = n_rows * (row_bytes + ROW_BYTES) + n_bytes
        if needed > self.n_bytes:
            raise DataError(
                f"{label}: a design of {n_rows} rows x {n_columns} columns and its kernel features "
                f"take about {spell_size(needed)}, more than {self}; pass a lower {opt('rank')}, "
                "allow more, or read fewer rows"
            )

    def check_scoring(
        self, label: str, n_rows: int, n_columns: int, n_kept: int, *, row_bytes: int
    ) -> None:
        """DataError if a batch of encoded rows, and what is kept of other rows, are too much.

        n_kept: bytes kept of the rows scored so far.
        """
        needed = n_rows * row_bytes + n_kept
        if needed <= self.n_bytes:
            return
        kept = f", beside {spell_size(n_kept)} kept of the rows before it," if n_kept else ""
        raise DataError(
            f"{label}: to score a batch of {n_rows} rows x {n_columns} columns{kept} takes at "
            f"least {spell_size(needed)}, more than {self}; allow more, or score fewer rows"
        )

    def check_batch(self, label: str, n_bytes: int) -> None:
        """DataError if a batch of a file, which can only be read as a whole, is too much."""
        if n_bytes > self.n_bytes:
            raise DataError(
                f"{label}: a batch of its rows takes {spell_size(n_bytes)}, more than {self}; "
                "write the file in smaller batches, or as Parquet"
            )

    def __str__(self) -> str:
        size = spell_size(self.n_bytes)
        if self.named:
            return opt("memory_limit", size)
        limits = " and ".join(_limits())
        return f"the {size} {f'that {limits} leaves' if limits else 'of this machine'}"


def make_allowance(text: str | None) -> Allowance:
    """What the user allows, and limits of the process leave; by default all of the machine."""
    if text is None:
        return Allowance(machine_memory(), named=False)
    size = re.fullmatch(r"\s*([0-9]+\.?[0-9]*|\.[0-9]+)\s*([A-Za-z]*)\s*", text)
    unit = size[2].upper() if size else "?"
    if size is None or unit not in UNITS or float(size[1]) <= 0.0:
        raise InvalidOption("memory_limit", f"takes a size such as 500MB or 2GB; got {text!r}")
    asked = int(float(size[1]) * UNITS[unit])
    if _limits() and asked > machine_memory():
        return Allowance(machine_memory(), named=False)
    return Allowance(asked, named=True)


def machine_memory() -> int:
    """Bytes of memory that this machine or its cgroup has, or that a limit leaves of them."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    left = [limit - _reserved() for limit in _limits().values()]
    return min([physical, *_cgroup_limits(), *left])


def _cgroup_limits() -> list[int]:
    """The bytes that the control group of this process may use, where it has a limit."""
    found = []
    for path in CGROUP_FILES:
        try:
            with open(path, encoding="ascii") as file:
                found.append(int(file.read()))
        except (OSError, ValueError):
            continue
    return found


def check_limits() -> None:
    """UsageError if this process may not reserve what the libraries need before they read a row."""
    for name, limit in _limits().items():
        if limit <= _reserved():
            raise UsageError(
                f"{name} leaves this process {spell_size(limit)} of address space, and its "
                f"libraries reserve up to {spell_size(_reserved())}, though they use less; raise "
                f"it, and pass {opt('memory_limit')} to bound what is used"
            )


def _limits() -> dict[str, int]:
    """The bytes that the process may reserve, by what limits them."""
    soft = {name: resource.getrlimit(limit)[0] for name, limit in LIMITS.items()}
    return {name: limit for name, limit in soft.items() if limit != resource.RLIM_INFINITY}


def _reserved() -> int:
    return RESERVED_BYTES + PROCESSOR_BYTES * (os.cpu_count() or 1)


def spell_size(n_bytes: float) -> str:
    """Three digits and a unit: 1.6 GB."""
    for unit in ("bytes", "KB", "MB", "GB"):
        if n_bytes < 999.5:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000.0
    return f"{n_bytes:.3g} TB"
