"""What a run has done, by one definition for all methods.

A pass is one sweep over the n rows, of whatever kind: n rows drawn by stochastic steps, one
evaluation of the objective and its gradient, or one evaluation of a bound. It is what a limit on
passes limits. Stochastic methods count two things besides, which leave out evaluations and proofs:
an epoch is n rows drawn by steps, and a gradient evaluation is the gradient of one row's loss.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Counts:
    """Of a stochastic method: rows drawn by its steps, in n; gradients of one row's loss."""

    epochs: float = 0.0
    gradient_evaluations: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(
            self.epochs + other.epochs, self.gradient_evaluations + other.gradient_evaluations
        )


@dataclass(frozen=True, slots=True)
class Work:
    """What some steps took; nothing to count where the method is not stochastic."""

    passes: float
    counts: Counts = Counts()
