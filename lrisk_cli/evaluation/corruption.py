"""Plant outliers in a design, as the subquantile paper does, and remember where."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.errors import DataError, InvalidOption, UsageError
from lrisk_cli.losses.base import Loss
from lrisk_cli.names import CORRUPTIONS, Task
from lrisk_cli.parameters import Choice, Parameter, parse_choice, spell
from lrisk_cli.rows.rows import Rows
from lrisk_cli.types import Targets

# The paper's outliers: targets from N(5, 5^2), features times 100, targets times 10000.
LABEL_MEAN, LABEL_DEVIATION = 5.0, 5.0
FEATURE_FACTOR, TARGET_FACTOR = 100.0, 10000.0
# With more bad rows than good ones the two cannot be distinguished.
FRACTION = Parameter(
    "FRACTION",
    "fraction of rows",
    "between 0 and 0.5, so that most rows are left alone",
    lambda fraction: 0.0 < fraction < 0.5,
    0.2,
    fraction=True,
)
# Mixed into the seed, which draws the held-out rows too: the two choices must not go together.
STREAM = 1


@dataclass(frozen=True, slots=True)
class Corruption:
    """What is done to which fraction of the rows, spelled `kind:fraction`."""

    kind: str
    fraction: float

    def __str__(self) -> str:
        return spell(self.kind, self.fraction)


@dataclass(frozen=True, slots=True)
class Planted:
    """Rows with outliers among them. mask: True where a row was changed. (n,)."""

    rows: Rows
    y: Targets
    mask: NDArray[np.bool_]


def parse_corruption(text: str) -> Corruption:
    """Read `kind:fraction`; a wrong one is refused with a sentence."""
    choices = {kind: Choice(words, FRACTION) for kind, words in CORRUPTIONS.items()}
    kind, fraction = parse_choice(text, "corruption", choices)
    return Corruption(kind, float(fraction or 0.0))


def check_targets(corruption: Corruption | None, loss: Loss) -> None:
    """Refuse to draw targets that the loss cannot take."""
    if corruption is None or corruption.kind != "label" or loss.task is not Task.REGRESSION:
        return
    # The least of what is drawn, but for one in a million.
    invalid = loss.find_invalid(np.array([LABEL_MEAN - 5.0 * LABEL_DEVIATION]))
    if invalid is not None:
        raise InvalidOption(
            "corrupt",
            f"draws targets from N({LABEL_MEAN:g}, {LABEL_DEVIATION:g}^2), and the {loss.name} "
            f"loss needs targets of {invalid[1]}; use feature",
            corruption,
        )


def corrupt(
    rows: Rows,
    y: Targets,
    n_classes: int | None,
    corruption: Corruption,
    seed: int,
    *,
    intercept: bool = True,
) -> Planted:
    """Corrupt exactly round(fraction n) rows of a standardised design, drawn by the seed.

    rows: their last column is the constant where there is an intercept; y: (n,) standardised
    numbers (n_classes None) or class codes. Neither is modified.
    """
    kind, (n_rows, n_columns) = corruption.kind, rows.shape
    if kind == "flip" and n_classes is None:
        raise UsageError("flip changes classes and the target is a number; use label or feature")
    n_bad = round(corruption.fraction * n_rows)
    if n_bad == 0:
        raise DataError(
            f"{corruption} of {n_rows} rows is none; use more rows, or a larger fraction"
        )
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, STREAM])))
    bad = np.sort(rng.permutation(n_rows)[:n_bad])
    y = y.copy()
    if "feature" in kind:
        factors = np.full(n_columns, FEATURE_FACTOR)
        factors[n_columns - intercept :] = 1.0
        rows = rows.with_factors(bad, factors)
    if kind != "feature":
        y[bad] = _wrong_targets(kind, y[bad], n_classes, rng)
    mask = np.zeros(n_rows, dtype=np.bool_)
    mask[bad] = True
    return Planted(rows, y, mask)


def _wrong_targets(
    kind: str, y: Targets, n_classes: int | None, rng: np.random.Generator
) -> Targets:
    """Targets of the corrupted rows: another class, a draw, or a multiple of the true one."""
    if n_classes is not None:
        # A shift by 1 .. C-1 reaches every other class alike; of two classes, the other.
        codes = y.astype(np.int32) + rng.integers(1, n_classes, size=len(y), dtype=np.int32)
        return np.asarray(codes % n_classes, dtype=np.int32)
    if kind == "label":
        return rng.normal(LABEL_MEAN, LABEL_DEVIATION, size=len(y))
    return np.asarray(TARGET_FACTOR * y, dtype=np.float64)
