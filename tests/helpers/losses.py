"""Every loss of the registry, targets that it takes, and its formulas in sixty digits."""

from collections.abc import Sequence
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, setcontext
from typing import Any

import numpy as np

from lrisk_cli.losses.base import Loss
from lrisk_cli.losses.registry import make_loss
from lrisk_cli.names import Task

EVERY_LOSS = [
    make_loss("squared"), make_loss("logistic", 2), make_loss("logistic", 4),
    make_loss("huber:0.7"), make_loss("poisson"),
]  # fmt: skip


def id_of(loss: Loss) -> str:
    """ "logistic-4"."""
    return loss.name if loss.task is Task.REGRESSION else f"{loss.name}-{max(loss.n_outputs, 2)}"


def use_sixty_digits() -> None:
    """For all decimals of the process, with exponents of any size."""
    setcontext(Context(prec=60, Emin=MIN_EMIN, Emax=MAX_EMAX))


def draw_targets(loss: Loss, signal: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Targets that have to do with the signal (n, columns), as `targets` makes them."""
    n = len(signal)
    noise = 0.5 * rng.standard_t(3, signal.shape)
    if loss.takes_exposure:
        exposure = rng.uniform(0.2, 3.0, n)
        mean = exposure * np.exp(np.clip(signal[:, 0], -5.0, 3.0))
        return loss.targets(rng.poisson(mean).astype(np.float64), exposure)
    if loss.task is Task.REGRESSION:
        return loss.targets(signal[:, 0] + noise[:, 0])
    n_classes = max(loss.n_outputs, 2)
    return loss.targets(np.argmax((signal + noise)[:, :n_classes], axis=1))


def nearest_margin(y: Any, z: Decimal) -> Decimal:
    """z, or where the mean is e^300 times the count: from there on the loss is its tangent."""
    count, exposure = Decimal(y[0].item()), Decimal(y[1].item())
    return min(z, Decimal(300) + ((count or Decimal(1)) / exposure).ln())


def exact_loss(loss: Loss, z: Sequence[Decimal], y: Any) -> Decimal:
    """The loss of a row with margins z; y: what stands for its target."""
    name = loss.name.partition(":")[0]
    if name == "poisson":
        count, near = Decimal(y[0].item()), nearest_margin(y, z[0])
        mean = Decimal(y[1].item()) * near.exp()
        loss_there = mean - count + (count * (count / mean).ln() if count else Decimal(0))
        return loss_there + (z[0] - near) * (mean - count)
    target = y.item()
    if name == "squared":
        return (Decimal(target) - z[0]) ** 2 / 2
    if name == "huber":
        error, delta = abs(Decimal(target) - z[0]), Decimal(loss.parameter)
        return error**2 / 2 if error <= delta else delta * error - delta**2 / 2
    if len(z) == 1:
        return (1 + (z[0] if target == 0 else -z[0]).exp()).ln()
    return sum((c - z[target]).exp() for c in z).ln()


def exact_derivatives(loss: Loss, z: Sequence[Decimal], y: Any) -> list[Decimal]:
    """Its derivatives in the margins."""
    name = loss.name.partition(":")[0]
    if name == "poisson":
        return [Decimal(y[1].item()) * nearest_margin(y, z[0]).exp() - Decimal(y[0].item())]
    target = y.item()
    if name in ("squared", "huber"):
        error, delta = z[0] - Decimal(target), Decimal(loss.parameter)
        return [error if name == "squared" else max(-delta, min(delta, error))]
    if len(z) == 1:
        return [1 / (1 + (-z[0]).exp()) - Decimal(target)]
    powers = [c.exp() for c in z]
    return [p / sum(powers) - (c == target) for c, p in enumerate(powers)]
