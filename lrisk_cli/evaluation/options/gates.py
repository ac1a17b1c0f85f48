"""Checks of the figures."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from lrisk_cli.errors import InvalidOption, opt
from lrisk_cli.options import option

if TYPE_CHECKING:
    from collections.abc import Callable

    from lrisk_cli.evaluation.gates import Gate, StoredFigures

MAX_WORSENING = "10%"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gates:
    """Checks of the figures, and where their results are written."""

    panel: ClassVar[str] = "Gates"

    fail_on: tuple[str, ...] = option(
        (), metavar="CONDITION", help="Exit with 1 if this holds; repeatable."
    )
    warn_on: tuple[str, ...] = option(
        (),
        metavar="CONDITION",
        help="Warn on standard error if this holds; the exit code stays the same; repeatable.",
    )
    baseline_metrics: str | None = option(
        metavar="FILE",
        help="Exit with 1 if a figure is worse than in this file, which an earlier run of the "
        "same command printed with `json`.",
    )
    max_worsening: str | None = option(
        metavar="FRACTION",
        help="By how much a figure may be worse than in `baseline-metrics`, as 10% or 0.1.",
        shown=MAX_WORSENING,
    )
    junit: str | None = option(
        metavar="FILE", writes=True, help="Write the gates as JUnit XML, which CI systems show."
    )
    github: bool = option(
        False,
        help="Annotate a run of GitHub Actions: failed gates, warnings and, where rows are "
        "evaluated, the worst of them; and add to the summary of the step.",
    )

    @property
    def asked(self) -> bool:
        """Whether anything of this is asked for."""
        return bool(self.fail_on or self.warn_on or self.baseline_metrics or self.junit) or (
            self.max_worsening is not None or self.github
        )

    def parse(
        self, command: str, canonical: "Callable[[str], str]"
    ) -> "tuple[tuple[Gate, ...], StoredFigures | None]":
        """The conditions, and the figures of an earlier run of the command, if any.

        canonical: spells a metric of this command, or refuses it.
        """
        from lrisk_cli.evaluation.gates import parse_fraction, parse_gate, read_stored

        if self.baseline_metrics is None and self.max_worsening is not None:
            add = opt("baseline_metrics", "FILE")
            raise InvalidOption("max_worsening", f"is about figures of an earlier run; add {add}")
        if self.junit is not None and not (self.fail_on or self.warn_on or self.baseline_metrics):
            add = opt("fail_on", "CONDITION")
            raise InvalidOption("junit", f"reports gates, and there are none; add {add}")
        gates = [
            *(parse_gate(text, canonical) for text in self.fail_on),
            *(parse_gate(text, canonical, warns=True) for text in self.warn_on),
        ]
        share = parse_fraction(self.max_worsening or MAX_WORSENING)
        path = self.baseline_metrics
        return tuple(gates), None if path is None else read_stored(path, command, share)
