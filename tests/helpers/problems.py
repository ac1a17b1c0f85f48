"""Small problems, the risks they are solved for, and both builds of the kernels."""

from importlib import import_module
from types import ModuleType

import numpy as np

from lrisk_cli.losses.registry import make_loss
from lrisk_cli.names import Task
from lrisk_cli.risk.row_weights import Smoothing
from lrisk_cli.risk.spectrum import parse_risk
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.solvers.problem import Problem, make_problem

RISING = ["mean", "superquantile:0.5", "superquantile:0.9", "extremile:2", "esrm:1"]
HARD_RISKS = [*RISING[1:], "superquantile:0.99", "superquantile:0.37", "extremile:20", "esrm:30"]


def kernel_builds() -> list[ModuleType]:
    """The portable build, and the AVX2 build where it exists and this processor runs it."""
    portable = import_module("lrisk_cli._core")
    if not portable.cpu_has_avx2():
        return [portable]
    return [portable, import_module("lrisk_cli._core_avx2")]


def small_problem(
    loss_name: str = "squared",
    risk: str = "superquantile:0.5",
    *,
    n_rows: int = 120,
    n_columns: int = 5,
    n_classes: int = 3,
    mu: float | None = None,
    smoothing: Smoothing | None = None,
    seed: int = 0,
) -> Problem:
    """Random rows with a linear signal and heavy-tailed noise. n_classes counts for logistic."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_columns))
    signal = X @ rng.standard_normal((n_columns, max(n_classes, 2)))
    noise = 0.5 * rng.standard_t(3, signal.shape)
    loss = make_loss(loss_name, n_classes)
    if loss.takes_exposure:
        exposure = rng.uniform(0.2, 3.0, n_rows)
        mean = exposure * np.exp(np.clip(0.4 * signal[:, 0], -5.0, 3.0))
        y = loss.targets(rng.poisson(mean).astype(np.float64), exposure)
    elif loss.task is Task.REGRESSION:
        y = signal[:, 0] + noise[:, 0]
    else:
        y = np.argmax(signal[:, :n_classes] + noise[:, :n_classes], axis=1).astype(np.int32)
    return make_problem(DenseRows(X), y, loss, parse_risk(risk), mu or 1.0 / n_rows, smoothing)


def plain_risk(losses: np.ndarray, risk: str) -> float:
    """The sorted losses times the weights of the spectrum, by NumPy."""
    return float(np.sort(losses) @ parse_risk(risk).weights(len(losses)))
