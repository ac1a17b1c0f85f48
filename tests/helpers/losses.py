"""Every loss of the registry, and targets that it takes."""

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
