"""How a command runs, whatever it computes: its threads and its seed."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

from lrisk_cli.options import option


@dataclass(frozen=True, slots=True, kw_only=True)
class Threads:
    """Threads of sweeps over the rows."""

    panel: ClassVar[str] = "Solver"

    threads: int = option(
        1,
        metavar="N",
        minimum=1,
        maximum=256,
        help="Threads for sweeps over many rows. The result is the same for any number.",
    )

    @contextmanager
    def during(self) -> Iterator[None]:
        """Sweeps in this context run on so many threads."""
        if self.threads == 1:  # spares an import of numpy
            yield
            return
        from lrisk_cli.native.threads import thread_pool

        with thread_pool(self.threads):
            yield


@dataclass(frozen=True, slots=True, kw_only=True)
class Seed:
    """What every random choice follows from."""

    panel: ClassVar[str] = "Solver"

    seed: int = option(0, metavar="N", minimum=0, help="Seed of every random choice.")
