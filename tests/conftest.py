"""Shared by all tests: both builds of the kernels, small problems, the folder of real data."""

import signal
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import settings

from lrisk_cli.losses import make_loss
from lrisk_cli.problem import Problem, make_problem
from lrisk_cli.risk import Smoothing
from lrisk_cli.spectra import parse_risk

# The same examples in every run of all tests; fresh ones, and many more, for `make fuzz`.
settings.register_profile("steady", derandomize=True)
settings.register_profile("long", max_examples=5000, deadline=None)
settings.load_profile("steady")
# A shell that runs tests in the background ignores interruptions, and so would the programs that
# are started here and interrupted.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
RISING = ["mean", "superquantile:0.5", "superquantile:0.9", "extremile:2", "esrm:1"]
REAL_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def kernel_builds() -> list[ModuleType]:
    """The portable build, and the AVX2 build where it exists and this processor runs it."""
    portable = import_module("lrisk_cli._core")
    if not portable.cpu_has_avx2():
        return [portable]
    return [portable, import_module("lrisk_cli._core_avx2")]


@pytest.fixture
def real_data() -> Path:
    """The folder of real tables; tests that need it are skipped where it is absent."""
    if not REAL_DATA.is_dir():
        pytest.skip(f"REAL DATA ABSENT: {REAL_DATA.name} is not beside the project")
    return REAL_DATA


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
    if loss_name == "squared":
        y = signal[:, 0] + noise[:, 0]
    else:
        y = np.argmax(signal[:, :n_classes] + noise[:, :n_classes], axis=1).astype(np.int32)
    loss = make_loss(loss_name, n_classes)
    return make_problem(X, y, loss, parse_risk(risk), mu or 1.0 / n_rows, smoothing)


def plain_risk(losses: np.ndarray, risk: str) -> float:
    """The sorted losses times the weights of the spectrum, by NumPy."""
    return float(np.sort(losses) @ parse_risk(risk).weights(len(losses)))
