"""Seconds that the stages of a call take."""

from dataclasses import dataclass, field
from time import perf_counter


@dataclass(slots=True)
class Clock:
    """Seconds spent in each stage, one after the other."""

    began: float = field(default_factory=perf_counter)
    laps: dict[str, float] = field(default_factory=dict)

    def lap(self, stage: str) -> None:
        """The stage that has just ended is this one."""
        self.laps[stage] = perf_counter() - self.began - sum(self.laps.values())

    def timings(self) -> dict[str, float]:
        """All laps and their total."""
        return {**self.laps, "total_s": perf_counter() - self.began}
