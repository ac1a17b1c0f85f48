"""Learn from raw rows what an encoding needs: task, classes, means, scales, categories, fills."""

from collections.abc import Sequence

import numpy as np

from lrisk_cli.design.collected import block_rows
from lrisk_cli.design.columns.base import (
    GAUSSIAN,
    CategoryLimits,
    Feature,
    Learned,
    LearningRules,
    NumberCells,
    always_missing,
)
from lrisk_cli.design.columns.number import refuse_overflow
from lrisk_cli.design.columns.registry import FEATURES, NUMERIC_FEATURES
from lrisk_cli.design.raw_rows import RawRows, count_missing
from lrisk_cli.design.target import ClassTarget, NumberTarget, Target, outside_scale
from lrisk_cli.design.target_scale import find_outside, to_scale
from lrisk_cli.design.text_targets import present_texts, refuse_no_classes
from lrisk_cli.design.weights import total_weight
from lrisk_cli.errors import DataError, opt, quote
from lrisk_cli.names import Missing, Scaling, TargetScale, Task
from lrisk_cli.native.kernels import core
from lrisk_cli.native.medians import weighted_median
from lrisk_cli.tables.arrays import distinct
from lrisk_cli.tables.cells import Texts, shortest_text
from lrisk_cli.tables.exact import EXACT
from lrisk_cli.tables.table import Column
from lrisk_cli.types import Array

MOST_CLASSES = 1000
FEW_NUMBERS = 20
MOST_NOTES = 3  # constant columns named one by one; images have hundreds
LEAST_SCALE = 1e-150  # squares of smaller numbers underflow
LEAST_NUMBER = float(np.finfo(np.float64).smallest_subnormal)

Notes = tuple[str, ...]


def decide_task(place: str, name: str, target: Array | Texts, task: Task) -> tuple[Task, Notes]:
    """The task, and why when it was left to us. Text and two-valued numbers are classes."""
    if isinstance(target, Texts):
        if task is Task.REGRESSION:
            text = target.values[target.codes[0]]
            raise DataError(
                f"{place}: holds text ({quote(text)}), and regression needs numbers; "
                f"pass {opt('task', Task.CLASSIFICATION)} or {opt('dtype', f'{name}=number')}"
            )
        if task is Task.AUTO:
            refuse_no_classes(place, target)
        why = (f"task: classification, because '{name}' holds text",)
        return Task.CLASSIFICATION, why if task is Task.AUTO else ()
    if task is not Task.AUTO:
        return task, ()
    values = _few_distinct(target, MOST_CLASSES)
    if values is None:
        return Task.REGRESSION, (f"task: regression, because '{name}' holds numbers",)
    if len(values) == 2:
        pair = " and ".join(shortest_text(values))
        return Task.CLASSIFICATION, (
            f"task: classification, because '{name}' holds two values ({pair}); "
            f"pass {opt('task', Task.REGRESSION)} to treat them as numbers",
        )
    note = f"task: regression, because '{name}' holds numbers ({len(values)} distinct)"
    if len(values) <= FEW_NUMBERS:
        note += f"; pass {opt('task', Task.CLASSIFICATION)} to treat them as classes"
    return Task.REGRESSION, (note,)


def find_classes(place: str, name: str, target: Array | Texts) -> tuple[str, ...]:
    """The distinct values of a target: numbers in their order, texts in theirs."""
    if isinstance(target, Texts):
        classes = sorted(present_texts(target))
    else:
        numbers = distinct(target)
        if max(abs(numbers[0]), abs(numbers[-1])) >= EXACT:
            raise DataError(
                f"{place}: holds numbers beyond 2^53, which lose digits that may tell classes "
                f"apart; pass {opt('dtype', f'{name}=category')}"
            )
        classes = shortest_text(numbers)
    if len(classes) < 2:
        raise DataError(f"{place}: one class only ({quote(classes[0])}); classification needs two")
    if len(classes) > MOST_CLASSES:
        raise DataError(
            f"{place}: {len(classes)} classes, more than {MOST_CLASSES}; choose another target, "
            f"or pass {opt('task', Task.REGRESSION)} if it holds numbers"
        )
    return tuple(classes)


def learn_target(
    place: str,
    name: str,
    target: Array | Texts,
    classes: tuple[str, ...],
    scaled: bool,
    scaling: Scaling = Scaling.DEVIATION,
    on_scale: TargetScale = TargetScale.NONE,
    weights: Array | None = None,
) -> Target:
    """The target as the rows to learn from show it; refused when it is constant."""
    if classes:
        learned = ClassTarget(name, classes)
        seen = distinct(learned.encode(target))
        if len(seen) < 2:
            raise DataError(
                f"{place}: one class only ({quote(classes[seen[0]])}) among the rows to learn "
                "from; hold out fewer rows"
            )
        return learned
    assert not isinstance(target, Texts)  # noqa: S101
    numbers = to_scale(target, on_scale)
    mean, scale = learn_scales(numbers[:, np.newaxis], scaling=scaling, weights=weights)
    check_target_scale(place, float(target[0]), float(mean[0]), float(scale[0]))
    if not scaled:
        return NumberTarget(name, on=on_scale)
    return NumberTarget(name, float(mean[0]), float(scale[0]), on_scale)


def check_target_scale(place: str, first: float, mean: float, scale: float) -> None:
    """DataError for a target that is constant, or whose numbers differ too little or too much."""
    if scale == 0.0:
        raise DataError(
            f"{place}: is constant ({first:g}), nothing to learn; choose another target"
        )
    if scale < LEAST_SCALE:
        raise DataError(
            f"{place}: numbers differ too little to square ({scale:.3g}); rescale the column"
        )
    refuse_overflow(place, mean, scale)


def refuse_outside(place: str, rows: RawRows, on_scale: TargetScale) -> None:
    """DataError for a target that its scale does not take."""
    if rows.target is None or isinstance(rows.target, Texts):
        return
    at = find_outside(rows.target, on_scale)
    if at is not None:
        raise outside_scale(f"{place}, row {int(rows.rows[at])}", float(rows.target[at]), on_scale)


def learn_features(
    label: str,
    columns: Sequence[Column],
    raw: RawRows,
    missing: Missing,
    categories: CategoryLimits,
    scaled: bool,
    scaling: Scaling = Scaling.DEVIATION,
    *,
    marked: bool = True,
) -> tuple[tuple[Feature, ...], Notes]:
    """Each feature as the rows to learn from show it, and what is odd about them.

    marked: a feature that is filled in where it is missing also gets an indicator of that.
    """
    impute = missing is Missing.IMPUTE
    rules = LearningRules(impute, marked, scaled, categories, raw.weights)
    numeric = [column for column in columns if column.numeric]
    fills = _learn_medians(label, numeric, raw.numbers, raw.weights) if impute else None
    n_missing = count_missing(raw.numbers) if impute and marked else np.zeros(len(numeric), int)
    means, scales = learn_scales(raw.numbers, fills, scaling, raw.weights)
    numbers = (
        NumberCells(
            raw.numbers[:, at],
            float(means[at]),
            float(scales[at]),
            None if fills is None else float(fills[at]),
            int(n_missing[at]),
        )
        for at in range(len(numeric))
    )
    texts = iter(raw.texts)
    learned = [
        FEATURES[column.kind].learn(
            label, column.name, next(numbers) if column.numeric else next(texts), rules
        )
        for column in columns
    ]
    notes = [note for each in learned for note in each.notes]
    return tuple(each.feature for each in learned), (*notes, *note_constant(learned))


def note_constant(learned: Sequence[Learned]) -> list[str]:
    """The columns of equal numbers; where there are many, the first and how many more."""
    constant = [
        f"'{each.feature.name}' is constant ({each.constant})"
        for each in learned
        if each.constant is not None
    ]
    shown = constant if len(constant) <= MOST_NOTES else constant[:1]
    notes = [f"column {finding} and has no effect" for finding in shown]
    if len(shown) < len(constant):
        notes.append(f"{len(constant) - 1} more columns are constant and have no effect")
    return notes


def learn_scales(
    numbers: Array,
    fills: Array | None = None,
    scaling: Scaling = Scaling.DEVIATION,
    weights: Array | None = None,
) -> tuple[Array, Array]:
    """Mean and population deviation of each column, or median and 1.4826 MAD.

    MAD is the median distance from the median; where it is 0 the deviation stands in. A constant
    column has exactly its value as mean and exactly zero deviation. fills: what stands in for NaN.
    numbers: (n, p). weights: of the rows, if any, (n,).
    """
    if scaling is Scaling.DEVIATION:
        return _deviations(numbers, fills, weights)
    medians, scales = np.empty((2, numbers.shape[1]))
    for j in range(numbers.shape[1]):
        column = numbers[:, j : j + 1]
        filled = _filled(column, None if fills is None else fills[j : j + 1]).copy()
        with np.errstate(over="ignore", invalid="ignore"):
            medians[j] = weighted_median(filled[:, 0], weights)
            filled -= medians[j]
            np.abs(filled, out=filled)
            scales[j] = GAUSSIAN * weighted_median(filled[:, 0], weights)
        if scales[j] == 0.0:
            own = None if fills is None else fills[j : j + 1]
            scales[j] = _deviations(column, own, weights)[1][0]
    return medians, scales


def _deviations(numbers: Array, fills: Array | None, weights: Array | None) -> tuple[Array, Array]:
    """Mean and population deviation of each column, summed in fixed chunks of rows."""
    first = _filled(numbers[:1], fills)[0]
    total = len(numbers) if weights is None else total_weight(weights)
    with np.errstate(over="ignore", invalid="ignore"):
        means = first + _sum_chunks(numbers, fills, first, 1, weights) / total
        scales = np.sqrt(_sum_chunks(numbers, fills, means, 2, weights) / total)
    for j in np.flatnonzero(scales < LEAST_SCALE):
        column = _filled(numbers[:, j : j + 1], None if fills is None else fills[j : j + 1])
        if (column != column[0]).any():
            means[j], scales[j] = _small_deviation(column, weights)
    return means, scales


def _small_deviation(column: Array, weights: Array | None) -> tuple[float, float]:
    """The same of a column (n, 1) whose squares underflow, in units of a power of two."""
    exponent = int(np.frexp(np.abs(column).max())[1])
    # In two steps: a power of two may be too large for a number.
    scaled = np.ldexp(np.ldexp(column, -(exponent // 2)), exponent // 2 - exponent)
    mean, deviation = _deviations(scaled, None, weights)
    scale = float(np.ldexp(deviation[0], exponent))
    return float(np.ldexp(mean[0], exponent)), max(scale, LEAST_NUMBER)


def _sum_chunks(
    numbers: Array, fills: Array | None, origin: Array, power: int, weights: Array | None
) -> Array:
    """Sum over rows of (number - origin) ** power, times the weights of the rows."""
    total, of_block = np.zeros((2, numbers.shape[1]))
    step = block_rows(numbers.shape[1])
    for start in range(0, len(numbers), step):
        block = np.ascontiguousarray(_filled(numbers[start : start + step], fills))
        of_rows = None if weights is None else weights[start : start + step]
        core.sum_powers(block, origin, power, of_block, of_rows)
        total += of_block
    return total


def _filled(numbers: Array, fills: Array | None) -> Array:
    return numbers if fills is None else np.where(np.isnan(numbers), fills, numbers)


def _learn_medians(
    label: str, columns: Sequence[Column], numbers: Array, weights: Array | None
) -> Array:
    """What stands in for the missing cells of each column."""
    fills = np.empty(len(columns))
    for position, column in enumerate(columns):
        known = ~np.isnan(numbers[:, position])
        if not known.any():
            raise always_missing(label, column.name)
        of_rows = None if weights is None else weights[known]
        median = NUMERIC_FEATURES[column.kind].median
        fills[position] = median(numbers[known, position], of_rows)
    return fills


def _few_distinct(numbers: Array, most: int) -> Array | None:
    """The distinct numbers, or None when there are more than `most` of them."""
    found = numbers[:0]
    step = block_rows(1)
    for start in range(0, len(numbers), step):
        found = distinct(np.concatenate([found, numbers[start : start + step]]))
        if len(found) > most:
            return None
    return found
