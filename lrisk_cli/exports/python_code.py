"""A linear model -> a Python module with one function, which needs the standard library only."""

from pprint import pformat
from typing import Any

from lrisk_cli.design.columns.category import CategoryFeature
from lrisk_cli.design.dates import MONTHS, WAVES, WEEKDAYS
from lrisk_cli.exports.linear import MONTH, constant_of, fills, parts_of, weighted_features
from lrisk_cli.models.model import Model
from lrisk_cli.names import TargetScale, Unseen
from lrisk_cli.tables.column_types.numerals import UNKNOWN, Written

_PROGRAM = '''"""{title}

predict(row) takes a dictionary of cells by column and returns one with the prediction. Written by
lrisk export; it needs nothing but Python.
"""

import math
from datetime import date, datetime, timezone

FEATURES = {features}
CONSTANT = {constant}
OPTIONS = {options}


def predict(row):
    """The prediction for a row, and the probabilities of classes or the mean if there are any.

    Numbers may be texts as Python writes them, dates are datetime.date, datetime.datetime or ISO
    texts; a missing cell is None, NaN or an empty text, or absent. ValueError for a row that lrisk
    would refuse, and for texts in a column of the fit that had decimal commas or percent signs.
    """
    margins = list(CONSTANT)
    for feature in FEATURES:
        for position, value in _values(feature, row.get(feature["name"])):
            for k, weight in enumerate(feature["weights"][position]):
                margins[k] += weight * value
    margins = _calibrated(margins)
    if OPTIONS["classes"]:
        return _classes(margins)
    return _number(margins[0], row)


def _values(feature, cell):
    """The columns of a feature that are not 0, with their values."""
    name, kind = feature["name"], feature["kind"]
    cell = _cell(feature, cell)
    if cell is None:
        if feature["fill"] is None:
            raise ValueError(f"column {{name!r}}: the cell is missing")
        if feature["indicator"]:
            yield len(feature["weights"]) - 1, 1.0
        cell = feature["fill"]
    if kind == "category":
        categories = feature["categories"]
        if cell in categories:
            yield categories.index(cell), 1.0
        elif feature["other"]:
            yield len(categories), 1.0
        elif not OPTIONS["unseen_is_other"]:
            raise ValueError(f"column {{name!r}}: {{cell!r}} was not seen by the fit")
        return
    yield 0, (cell - feature["mean"]) / feature["scale"]
    if feature["parts"]:
        yield from _parts(feature, cell)


def _parts(feature, days):
    """Months, weekdays and times of a date, which is days since 1970."""
    moment = round(days * 86400000.0)
    whole, rest = divmod(moment, 86400000)
    minute = rest // 60000
    found = {{"month": date.fromordinal(719163 + whole).month - 1, "weekday": (whole + 3) % 7}}
    for position, kind, at in feature["parts"]:
        if kind == "wave":
            angle = 2.0 * math.pi * minute / 1440 * (1 if at < 2 else 2)
            yield position, math.cos(angle) if at % 2 else math.sin(angle)
        elif found[kind] == at:
            yield position, 1.0


def _cell(feature, cell):
    """A cell as its feature takes it; None where it is missing."""
    kind, written = feature["kind"], feature.get("written")
    if isinstance(cell, str) and written == "merged":
        cell = " ".join(cell.casefold().split())
    elif isinstance(cell, str) and (written != "spaces" or not cell.strip()):
        cell = cell.strip()
    if cell is None or cell == "" or cell != cell:
        return None
    if kind == "category":
        return _label(cell)
    if isinstance(cell, str) and written == "marks":
        name = feature["name"]
        raise ValueError(f"column {{name!r}}: {{cell!r}} is a text; pass a number, of 12% 0.12")
    if kind == "date" or isinstance(cell, date):
        return _days(cell)
    try:
        return float(cell)
    except ValueError:
        return _days(cell)


def _label(cell):
    """A category; numbers as briefly as possible."""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e16:
        return str(int(cell))
    return str(cell)


def _days(cell):
    """Days since 1970 of a date, a time or an ISO text; times without a zone are UTC."""
    if isinstance(cell, (int, float)):
        return float(cell)
    if isinstance(cell, str):
        cell = datetime.fromisoformat(cell)
    if not isinstance(cell, datetime):
        return float(cell.toordinal() - 719163)
    if cell.tzinfo is None:
        cell = cell.replace(tzinfo=timezone.utc)
    since = cell - datetime(1970, 1, 1, tzinfo=timezone.utc)
    return since.days + (since.seconds + since.microseconds / 1e6) / 86400.0


def _calibrated(margins):
    """Calibrated margins."""
    if OPTIONS["slope"] is not None:
        return [OPTIONS["slope"] * z + b for z, b in zip(margins, OPTIONS["intercepts"])]
    if not OPTIONS["curves"]:
        return margins
    odds = margins if len(margins) == 1 else [_odds(margins, k) for k in range(len(margins))]
    found = [_curve(*curve, z) for curve, z in zip(OPTIONS["curves"], odds)]
    if len(found) == 1:
        return [math.log(found[0]) - math.log1p(-found[0])]
    return [math.log(p) for p in found]


def _odds(margins, k):
    """Log-odds of a class against all others."""
    others = [z for j, z in enumerate(margins) if j != k]
    top = max(others)
    return margins[k] - top - math.log(sum(math.exp(z - top) for z in others))


def _curve(scores, probabilities, z):
    """Linear between the points, constant beyond them."""
    if z <= scores[0]:
        return probabilities[0]
    for a, b, p, q in zip(scores, scores[1:], probabilities, probabilities[1:]):
        if z <= b:
            return p + (z - a) / (b - a) * (q - p)
    return probabilities[-1]


def _classes(margins):
    names = OPTIONS["classes"]
    if len(margins) == 1:
        z = margins[0]
        small = math.exp(-abs(z))
        chances = [small / (1.0 + small), 1.0 / (1.0 + small)]
        if z <= 0.0:
            chances.reverse()
        best = int(z > 0.0)
    else:
        best = margins.index(max(margins))
        powers = [math.exp(z - margins[best]) for z in margins]
        chances = [power / sum(powers) for power in powers]
    found = {{"prediction": names[best]}}
    for name, chance in zip(names, chances):
        found[f"probability:{{name}}"] = chance
    return found


def _number(z, row):
    z = OPTIONS["mean"] + OPTIONS["scale"] * z
    if OPTIONS["log_link"]:
        exposure = 1.0 if OPTIONS["exposure"] is None else float(row[OPTIONS["exposure"]])
        return {{"prediction": exposure * math.exp(z)}}
    if OPTIONS["on"] == "none":
        return {{"prediction": z}}
    shift = 1.0 if OPTIONS["on"] == "log1p" else 0.0
    found = {{"prediction": math.exp(z) - shift}}
    if OPTIONS["smearing"] is not None:
        found["prediction_mean"] = OPTIONS["smearing"] * math.exp(z) - shift
    return found
'''


def to_python(model: Model) -> str:
    """The module."""
    target = model.target
    title = f"The {model.risk} model of {target.name!r} as a function.".replace('"', "'")
    return _PROGRAM.format(
        title=title.replace("\\", "/"),
        features=pformat(_features(model), width=96, sort_dicts=False),
        constant=constant_of(model).tolist(),
        options=pformat(_options(model), width=96, sort_dicts=False),
    )


def _features(model: Model) -> list[dict[str, Any]]:
    found = []
    for weighted in weighted_features(model):
        feature = weighted.feature
        entry: dict[str, Any] = {
            "name": feature.name,
            "kind": feature.kind,
            "fill": feature.fill if fills(model) else None,
            "indicator": feature.indicator,
        }
        if how := _how(model.encoding.written.get(feature.name, UNKNOWN)):
            entry["written"] = how
        if isinstance(feature, CategoryFeature):
            entry |= {"categories": list(feature.categories), "other": feature.other}
        else:
            fields = feature.to_json()
            entry |= {"mean": fields["mean"], "scale": fields["scale"]}
            entry["parts"] = [
                (at, kind, _place(kind, name))
                for at, kind, name in parts_of(feature)  # type: ignore[arg-type]
            ]
        entry["weights"] = weighted.W.tolist()
        found.append(entry)
    return found


def _how(written: Written) -> str:
    """What of the cells of the fit matters to cells of Python; empty if nothing does."""
    if written.merged:
        return "merged"
    if written.spaces:
        return "spaces"
    marks = written.decimal == "," or written.thousands == "." or written.percent
    return "marks" if marks else ""


def _place(kind: str, name: str) -> int:
    names = WAVES if kind == "wave" else MONTHS if kind == MONTH else WEEKDAYS
    return names.index(name)


def _options(model: Model) -> dict[str, Any]:
    target, record = model.target, model.calibration
    return {
        "classes": list(target.classes),
        "mean": target.mean,
        "scale": target.scale,
        "on": "none" if target.on is TargetScale.NONE else str(target.on.value),
        "smearing": model.smearing,
        "log_link": model.row_loss.log_link,
        "exposure": model.encoding.exposure,
        "unseen_is_other": model.encoding.unseen is Unseen.OTHER,
        "slope": None if record is None else record.slope,
        "intercepts": [] if record is None else list(record.intercepts),
        "curves": []
        if record is None
        else [(list(curve.scores), list(curve.probabilities)) for curve in record.curves],
    }
