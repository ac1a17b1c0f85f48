"""Every loss of the registry, targets that it takes, and its formulas in sixty digits."""

from decimal import MAX_EMAX, MIN_EMIN, Context, setcontext

import numpy as np

from benchmarks.common.exact import exact_derivatives, exact_loss
from lrisk_cli.losses.base import Loss
from lrisk_cli.losses.registry import make_loss
from lrisk_cli.names import Task

__all__ = [
    "EVERY_LOSS", "draw_targets", "exact_derivatives", "exact_loss", "id_of", "use_sixty_digits",
]  # fmt: skip
EVERY_LOSS = [
    make_loss("squared"), make_loss("logistic", 2), make_loss("logistic", 4),
    make_loss("huber:0.7"), make_loss("poisson"), make_loss("quantile:0.8"),
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
