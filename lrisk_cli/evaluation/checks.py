"""Checks of a command's figures: its gates, and the figures of an earlier run."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from lrisk_cli.evaluation.gates import Figures, Gate, GateResult, StoredFigures, check_gates
from lrisk_cli.evaluation.group_gates import base_metric, of_groups, read_scope
from lrisk_cli.evaluation.options.gates import Gates as GateOptions
from lrisk_cli.evaluation.registry import error_names, is_risk


@dataclass(frozen=True, slots=True)
class Checks:
    """Checks of figures. junit, github: additional outputs of their results."""

    command: str
    gates: tuple[Gate, ...]
    stored: StoredFigures | None
    junit: str | None
    github: bool

    @property
    def inputs(self) -> list[str]:
        """Files that no output may replace."""
        return [] if self.stored is None else [self.stored.path]

    @property
    def risks(self) -> list[str]:
        """The risks that gates mention, of all rows or of groups."""
        return [name for name in map(base_metric, self._metrics) if is_risk(name)]

    @property
    def errors(self) -> list[str]:
        """The metrics of predictions that gates mention, as `recall:CLASS`."""
        return error_names(map(base_metric, self._metrics))

    @property
    def _metrics(self) -> list[str]:
        return [gate.metric for gate in self.gates]

    @property
    def group_risks(self) -> list[str]:
        """The risks of groups that gates mention."""
        return [name for name in self.of_groups if read_scope(name) is None]

    @property
    def of_groups(self) -> list[str]:
        """The figures of groups that gates mention."""
        return [name for name in self._metrics if of_groups(name)]

    def respelled(self, canonical: Callable[[str], str]) -> "Checks":
        """The same gates; canonical refuses a metric once more is known of rows and models."""
        gates = tuple(replace(gate, metric=canonical(gate.metric)) for gate in self.gates)
        return replace(self, gates=gates)

    def apply(self, figures: Figures, others: Figures | None = None) -> tuple[GateResult, ...]:
        """Of each gate, then of each stored figure. others: what gates alone can ask for."""
        compared = () if self.stored is None else self.stored.gates(figures)
        return check_gates((*self.gates, *compared), {**figures, **(others or {})})

    def not_compared(self, figures: Figures, model: str | None = None) -> list[str]:
        """A sentence for each figure that is not in both runs."""
        return [] if self.stored is None else list(self.stored.not_compared(figures, model))


def make_checks(gates: GateOptions, command: str, canonical: Callable[[str], str]) -> Checks:
    """What the options ask. canonical: spells a metric of this command, or refuses it."""
    parsed, stored = gates.parse(command, canonical)
    return Checks(command, parsed, stored, gates.junit, gates.github)
