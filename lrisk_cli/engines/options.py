"""Options: where sweeps over the rows run."""

from dataclasses import dataclass
from typing import ClassVar

from lrisk_cli.names import EngineName
from lrisk_cli.options import option


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """The engine of a fit."""

    panel: ClassVar[str] = "Solver"

    engine: EngineName = option(
        EngineName.AUTO,
        help="memory holds the rows; stream reads the files again for every pass, in little "
        "memory; auto streams tables beyond `memory_limit`, or 60 % of this machine.",
    )
