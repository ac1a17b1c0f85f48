"""A linear model -> one SELECT that DuckDB and PostgreSQL run.

Common table expressions follow the stages of a prediction: cells, margins, calibrated margins,
probabilities. A row that `predict` would refuse or drop has NULL instead of a prediction.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from lrisk_cli.design.columns.category import CategoryFeature
from lrisk_cli.design.columns.number import NumberFeature
from lrisk_cli.design.dates import MONTHS, WAVES, WEEKDAYS
from lrisk_cli.errors import InvalidOption
from lrisk_cli.exports.linear import (
    MONTH,
    Weighted,
    constant_of,
    fills,
    parts_of,
    weighted_features,
)
from lrisk_cli.models.model import Model
from lrisk_cli.names import TargetScale, Unseen
from lrisk_cli.tables.column_types.numerals import UNKNOWN, Written

# Larger powers are out of the range of doubles, which PostgreSQL refuses.
STEEPEST = "7e2"
_STAGE = "lrisk_{}"
_NO_TIME = " + INTERVAL '0 day'"


def to_sql(
    path: str,
    model: Model,
    table: str,
    id_column: str | None,
    date_columns: Sequence[str] = (),
) -> str:
    """The statement. table: its name there; id_column: copied, in place of the features.

    date_columns: numbers of the model that are dates there, whose days since 1970 are meant.
    """
    for name in date_columns:
        if name not in [feature.name for feature in model.encoding.numbers]:
            raise InvalidOption("date_columns", f": {path} has no number column '{name}'")
    shown = [id_column] if id_column is not None else list(model.encoding.needed_names)
    kept = [quoted(name) for name in shown]
    stages = [
        _cells(model, table_name(table), kept, date_columns),
        _margins(model, kept, _STAGE.format(1)),
    ]
    if model.calibration is not None:
        stages.append(_calibrated(path, model, kept, _STAGE.format(2)))
    bodies = [f"{_STAGE.format(k)} AS (\n{stage}\n)" for k, stage in enumerate(stages, 1)]
    final = _select([*kept, *_predictions(model)], _STAGE.format(len(stages)), indent="")
    return f"WITH {', '.join(bodies)}\n{final};\n"


def _select(columns: Sequence[str], source: str, indent: str = "  ") -> str:
    listed = f",\n{indent}  ".join(columns)
    return f"{indent}SELECT {listed}\n{indent}FROM {source}"


def quoted(name: str) -> str:
    """A column or a part of a name."""
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def table_name(name: str) -> str:
    """A table, with its schema if there is a dot."""
    return ".".join(quoted(part) for part in name.split("."))


def text(value: str) -> str:
    """A text."""
    doubled = value.replace("'", "''")
    return f"'{doubled}'"


def number(value: float) -> str:
    """A double that reads back as the same; without an exponent it would be a decimal."""
    spelled = repr(float(value))
    return spelled if "e" in spelled else f"{spelled}e0"


def _double(expression: str) -> str:
    return f"CAST({expression} AS DOUBLE PRECISION)"


def _cells(model: Model, source: str, kept: Sequence[str], date_columns: Sequence[str]) -> str:
    """Each feature as a number or a text, filled in; NULL where it is missing."""
    columns = list(kept)
    for at, feature in enumerate(model.encoding.features):
        name = quoted(feature.name)
        written = model.encoding.written.get(feature.name, UNKNOWN)
        if isinstance(feature, CategoryFeature):
            cell = _label(f"CAST({name} AS TEXT)", written)
            fill = None if feature.fill is None else text(str(feature.fill))
        else:
            # Texts are refused by the database where a cast would read them in another way.
            moment = f"CAST({name + _NO_TIME if written.order else name} AS TIMESTAMP)"
            value = name if written.plain or written.order else f"{name} * {number(1.0)}"
            days = f"{_double(f'EXTRACT(EPOCH FROM {moment})')} / {number(86400.0)}"
            is_date = feature.kind == "date" or feature.name in date_columns
            cell = days if is_date else f"NULLIF({_double(value)}, {_nan()})"
            fill = None if feature.fill is None else number(float(feature.fill))
        filled = f"COALESCE({cell}, {fill})" if fills(model) and fill is not None else cell
        columns.append(f"{filled} AS lrisk_v{at}")
        if feature.indicator:
            columns.append(f"({cell}) IS NULL AS lrisk_absent{at}")
    if model.encoding.exposure is not None:
        columns.append(f"{_double(quoted(model.encoding.exposure))} AS lrisk_exposure")
    return _select(columns, source)


def _label(cell: str, written: Written) -> str:
    """A category as the model spells it; NULL where it is missing."""
    if written.merged:
        # casefold() of Python differs from LOWER in this letter of common alphabets.
        cell = f"REPLACE(LOWER(REGEXP_REPLACE({cell}, '\\s+', ' ', 'g')), 'ß', 'ss')"
    elif written.spaces:
        return f"CASE WHEN TRIM({cell}) = '' THEN NULL ELSE {cell} END"
    return f"NULLIF(TRIM({cell}), '')"


def _nan() -> str:
    return "CAST('NaN' AS DOUBLE PRECISION)"


def _extra(model: Model) -> list[str]:
    """Columns beside the margins that later stages need."""
    return ["lrisk_exposure"] if model.encoding.exposure is not None else []


def _margins(model: Model, kept: Sequence[str], source: str) -> str:
    """The margins of all outputs."""
    outputs = []
    constant = constant_of(model)
    for k in range(len(constant)):
        terms = [number(constant[k])]
        for at, weighted in enumerate(weighted_features(model)):
            terms += _terms(model, at, weighted, k)
        outputs.append(f"{' + '.join(terms)} AS lrisk_z{k}")
    return _select([*kept, *_extra(model), *outputs], source)


def _terms(model: Model, at: int, weighted: Weighted, k: int) -> Iterator[str]:
    """What one feature adds to an output."""
    feature, W = weighted.feature, weighted.W
    if isinstance(feature, CategoryFeature):
        yield _category(model, at, feature, W[:, k].tolist())
    elif isinstance(feature, NumberFeature):
        weight = number(W[0, k])
        yield f"{weight} * ((lrisk_v{at} - {number(feature.mean)}) / {number(feature.scale)})"
        yield from _parts(at, feature, W[:, k].tolist())
    if weighted.indicator is not None:
        weight = number(weighted.indicator[k])
        yield f"CASE WHEN lrisk_absent{at} THEN {weight} ELSE {number(0.0)} END"


def _category(model: Model, at: int, feature: CategoryFeature, w: Sequence[float]) -> str:
    known = " ".join(
        f"WHEN {text(category)} THEN {number(weight)}"
        for category, weight in zip(feature.categories, w, strict=False)
    )
    rest = number(w[len(feature.categories)] if feature.other else 0.0)
    # Rare categories of the fit share a column, and an unknown one cannot be told from them.
    unseen = rest if feature.other or model.encoding.unseen is Unseen.OTHER else "NULL"
    found = f"CASE lrisk_v{at} {known} ELSE {unseen} END"
    return f"CASE WHEN lrisk_v{at} IS NULL THEN NULL ELSE {found} END"


def _parts(at: int, feature: NumberFeature, w: Sequence[float]) -> Iterator[str]:
    """Months, weekdays and times of day of a date."""
    # By the nearest millisecond, since a fraction of a day may lie just before it.
    moment = f"ROUND(lrisk_v{at} * 8.64e7)"
    day = f"CAST(FLOOR({moment} / 8.64e7) AS INTEGER)"
    date = f"(DATE '1970-01-01' + {day})"
    found: dict[str, list[str]] = {}
    for column, kind, name in parts_of(feature):
        if kind == "wave":
            minute = f"FLOOR(({moment} - 8.64e7 * FLOOR({moment} / 8.64e7)) / 6e4)"
            turns, wave = (2 if name.startswith("half") else 1), WAVES.index(name)
            angle = f"{turns}e0 * 2e0 * PI() * {minute} / 1.44e3"
            yield f"{number(w[column])} * {'COS' if wave % 2 else 'SIN'}({angle})"
            continue
        names = MONTHS if kind == MONTH else WEEKDAYS
        case = f"WHEN {names.index(name) + 1} THEN {number(w[column])}"
        found.setdefault(kind, []).append(case)
    for kind, cases in found.items():
        part = "MONTH" if kind == MONTH else "ISODOW"
        value = f"CAST(EXTRACT({part} FROM {date}) AS INTEGER)"
        yield f"CASE {value} {' '.join(cases)} ELSE {number(0.0)} END"


def _calibrated(path: str, model: Model, kept: Sequence[str], source: str) -> str:
    """Calibrated margins."""
    record: Any = model.calibration
    if record.slope is not None:
        outputs = [
            f"{number(record.slope)} * lrisk_z{k} + {number(b)} AS lrisk_z{k}"
            for k, b in enumerate(record.intercepts)
        ]
    elif len(record.curves) == 1:
        (curve,) = record.curves
        outputs = [f"{_curve(curve.scores, curve.probabilities)} AS lrisk_z0"]
    else:
        raise InvalidOption(
            "to",
            f"cannot spell the isotonic calibration of the {len(record.curves)} classes of {path}; "
            "calibrate by platt, or pass python",
            "sql",
        )
    return _select([*kept, *_extra(model), *outputs], source)


def _curve(scores: Sequence[float], probabilities: Sequence[float]) -> str:
    """The log-odds of a probability that is linear between points."""
    first, last = number(probabilities[0]), number(probabilities[-1])
    cases = ["WHEN lrisk_z0 IS NULL THEN NULL"]
    cases.append(f"WHEN lrisk_z0 <= {number(scores[0])} THEN {first}")
    for (a, p), (b, q) in pairwise(zip(scores, probabilities, strict=True)):
        share = f"(lrisk_z0 - {number(a)}) / {number(b - a)}"
        value = number(p) if p == q else f"{number(p)} + {share} * {number(q - p)}"
        cases.append(f"WHEN lrisk_z0 <= {number(b)} THEN {value}")
    found = f"CASE {' '.join(cases)} ELSE {last} END"
    return f"LN(({found}) / ({number(1.0)} - ({found})))"


def _predictions(model: Model) -> list[str]:
    classes = model.target.classes
    return _classes(classes) if classes else _numbers(model)


def _numbers(model: Model) -> list[str]:
    """The prediction in units of the target, and its mean where logarithms are fitted."""
    target = model.target
    units = f"{number(target.mean)} + {number(target.scale)} * lrisk_z0"
    if model.row_loss.log_link:
        exposure = "lrisk_exposure * " if model.encoding.exposure is not None else ""
        return [f"{exposure}{_exp(units)} AS prediction"]
    if target.on is TargetScale.NONE:
        return [f"{units} AS prediction"]
    shift = f" - {number(1.0)}" if target.on is TargetScale.LOG1P else ""
    columns = [f"{_exp(units)}{shift} AS prediction"]
    if model.smearing is not None:
        mean = f"{number(model.smearing)} * {_exp(units)}{shift}"
        columns.append(f"{mean} AS prediction_mean")
    return columns


def _exp(expression: str) -> str:
    """A power that is never out of range; NULL of NULL."""
    value = f"({expression})"
    return (
        f"CASE WHEN {value} IS NULL THEN NULL "
        f"ELSE EXP(GREATEST(LEAST({value}, {STEEPEST}), -{STEEPEST})) END"
    )


def _classes(classes: Sequence[str]) -> list[str]:
    """The likeliest class, and the probability of each."""
    if len(classes) == 2:
        label = f"CASE WHEN lrisk_z0 IS NULL THEN NULL WHEN lrisk_z0 > 0 THEN {text(classes[1])} "
        columns = [f"{label}ELSE {text(classes[0])} END AS prediction"]
        for sign, name in zip(("", "-"), classes, strict=True):
            chance = f"{number(1.0)} / ({number(1.0)} + {_exp(f'{sign}lrisk_z0')})"
            columns.append(f"{chance} AS {quoted(f'probability:{name}')}")
        return columns
    margins = [f"lrisk_z{k}" for k in range(len(classes))]
    top = f"GREATEST({', '.join(margins)})"
    cases = " ".join(
        f"WHEN {z} = {top} THEN {text(name)}" for z, name in zip(margins, classes, strict=True)
    )
    powers = [_exp(f"{z} - {top}") for z in margins]
    total = " + ".join(f"({power})" for power in powers)
    columns = [f"CASE {cases} END AS prediction"]
    for power, name in zip(powers, classes, strict=True):
        columns.append(f"({power}) / ({total}) AS {quoted(f'probability:{name}')}")
    return columns
