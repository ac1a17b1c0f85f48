"""Splits of real tables with planted outliers, and errors of coefficients on clean test rows.

Where the paper is silent: 80 % of the rows to learn from, standardised by their means and standard
deviations before exactly eps n of them are corrupted; mu = 1/n, gamma = 1/d, an intercept; the seed
draws split and corruption. Methods are told eps.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from benchmarks.common.corrupted import CLASSES, TEST_SHARE, open_set
from lrisk_cli.design.design import Design, RawDesign, copy_part, encode_design, read_design
from lrisk_cli.evaluation.corruption import Planted, corrupt, parse_corruption
from lrisk_cli.evaluation.splits import hold_out
from lrisk_cli.features.features import FeatureOptions, Features, build_features
from lrisk_cli.losses.base import Loss
from lrisk_cli.losses.registry import make_loss
from lrisk_cli.names import KernelName
from lrisk_cli.risk.spectrum import parse_risk
from lrisk_cli.rows.rows import Rows
from lrisk_cli.solvers.problem import Problem, make_problem
from lrisk_cli.types import Array, Targets

# K caps its runs at 10,000 iterations; fewer where they would read more numbers than this.
MOST_STEPS, FULL_WORK, QUICK_WORK = 10_000, 6e9, 2e8


@dataclass(frozen=True, slots=True, eq=False)
class Setup:
    """One split. planted: rows to learn from; clean: the same before they were corrupted.

    work: numbers that gradient descent may read.
    """

    clean: tuple[Rows, Targets]
    planted: Planted
    test: tuple[Rows, Targets]
    loss: Loss
    kernel: FeatureOptions
    features: Features
    eps: float
    seed: int
    work: float = FULL_WORK

    @property
    def most_steps(self) -> int:
        """Of gradient descent: K's cap, or fewer where a step reads a large kernel."""
        n, d = self.features.phi.shape
        return int(min(MOST_STEPS, self.work / (n * d)))

    @property
    def mu(self) -> float:
        """1/n."""
        return 1.0 / len(self.planted.y)

    def problem(self, risk: str) -> Problem:
        """A risk of the corrupted rows."""
        features = self.features
        return make_problem(
            features.phi, self.planted.y, self.loss, parse_risk(risk), self.mu, None,
            features.outer,
        )  # fmt: skip

    @property
    def subquantile(self) -> Problem:
        """The mean of the least losses, of as many rows as are right."""
        return self.problem(f"subquantile:{1.0 - self.eps:g}")

    def error(self, W: Array, features: Features | None = None) -> float:
        """RMSE in standard deviations of the target, or accuracy, on the clean test rows."""
        features = features or self.features
        rows, y = self.test
        Z = features.map.margins(rows, features.coefficients(W))
        if np.asarray(y).dtype == np.int32:
            return float(np.mean(self.loss.predict(Z) == y))
        return float(np.sqrt(np.mean((Z[:, 0] - np.asarray(y).ravel()) ** 2)))

    def spotted(self, W: Array, features: Features | None = None) -> float:
        """Fraction of corrupted rows among the eps n rows to learn from that lose most."""
        planted = self.planted
        if features is None:
            Z = self.problem("mean").margins(W)
        else:
            Z = features.map.margins(planted.rows, features.coefficients(W))
        losses = self.loss.values(Z, planted.y)
        worst = np.argsort(losses, kind="stable")[-int(planted.mask.sum()) :]
        return float(planted.mask[worst].mean())


@lru_cache(maxsize=2)
def _read(name: str) -> tuple[RawDesign, object]:
    table, options = open_set(name)
    return read_design(table, options), options


def split(name: str, seed: int) -> tuple[Design, Design]:
    """Rows to learn from and to test on, encoded."""
    raw, options = _read(name)
    left_out = hold_out(len(raw.usable.rows.rows), TEST_SHARE, seed)
    part = copy_part(raw, np.arange(len(left_out)))
    train, test = encode_design(part, options, hold_out=lambda _: left_out)
    assert test is not None
    return train, test


def make_setup(
    name: str, corruption: str, kernel: KernelName, seed: int, work: float = FULL_WORK
) -> Setup:
    """A split of a real table, corrupted as the paper does."""
    train, test = split(name, seed)
    n_classes = 2 if name in CLASSES else None
    loss = make_loss("logistic", 2) if n_classes else make_loss("squared")
    planted = corrupt(train.rows, train.y, n_classes, parse_corruption(corruption), seed)
    d = train.rows.shape[1] - 1
    how: dict[KernelName, dict[str, float]] = {
        KernelName.LINEAR: {},
        KernelName.RBF: {"gamma": 1.0 / d},
        KernelName.POLY: {"gamma": 1.0 / d, "degree": 3, "coef0": 1.0},
    }
    options = FeatureOptions(kernel, **how[kernel])
    return from_rows(
        (train.rows, train.y), planted, (test.rows, test.y), loss, options,
        float(corruption.partition(":")[2]), seed, work,
    )  # fmt: skip


def from_rows(
    clean: tuple[Rows, Targets],
    planted: Planted,
    test: tuple[Rows, Targets],
    loss: Loss,
    options: FeatureOptions,
    eps: float,
    seed: int,
    work: float = FULL_WORK,
) -> Setup:
    """A setup of rows that are at hand."""
    targets = loss.targets(planted.y)
    planted = Planted(planted.rows, targets, planted.mask)
    features = build_features(planted.rows, options, constant=True, seed=seed)
    return Setup(clean, planted, test, loss, options, features, eps, seed, work)
