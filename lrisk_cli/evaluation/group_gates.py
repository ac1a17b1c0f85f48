"""Gates on groups of rows: worst:METRIC, gap:METRIC and group[COLUMN=VALUE]:METRIC.

Each is read here, spelled in one way, checked against the groups that exist, and given its figure.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lrisk_cli.errors import UsageError, list_names, opt, quote
from lrisk_cli.names import GROUP_RISKS
from lrisk_cli.parameters import suggest
from lrisk_cli.tables.named_columns import quote_field, split_list

if TYPE_CHECKING:
    from lrisk_cli.evaluation.group_figures import ByGroup

WORST, GAP, GROUP = "worst", "gap", "group"
_GROUP = re.compile(r"group\[(.*?)\]:(.+)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Scope:
    """Of which groups a metric is. where: value by column, of one group."""

    kind: str
    metric: str
    where: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        if self.kind != GROUP:
            return f"{self.kind}:{self.metric}"
        cells = ",".join(quote_field(f"{column}={value}") for column, value in self.where)
        return f"{GROUP}[{cells}]:{self.metric}"


def read_scope(text: str) -> Scope | None:
    """The scope that a metric is written with, if it is."""
    text = text.strip()
    match = _GROUP.fullmatch(text)
    if match is not None:
        return Scope(GROUP, match[2].strip(), tuple(map(_read_cell, split_list(match[1]))))
    if text.lower().startswith(f"{GROUP}["):
        raise UsageError(f"{text!r} names a group in part; write group[COLUMN=VALUE]:METRIC")
    kind, separator, metric = text.partition(":")
    if separator and kind.strip().lower() in (WORST, GAP):
        return Scope(kind.strip().lower(), metric.strip())
    return None


def _read_cell(text: str) -> tuple[str, str]:
    column, separator, value = text.partition("=")
    if not separator:
        raise UsageError(f"group[{text}] names no value; write group[COLUMN=VALUE]:METRIC")
    return column.strip(), value.strip()


def base_metric(text: str) -> str:
    """The metric without its scope: what every group has a figure of."""
    scope = read_scope(text)
    return text if scope is None else scope.metric


def of_groups(text: str) -> bool:
    """Whether a metric is of groups: by its scope, or as a risk of groups."""
    return read_scope(text) is not None or text.partition(":")[0].strip().lower() in GROUP_RISKS


def make_canonical(spell: Callable[[str], str], by: Sequence[str]) -> Callable[[str], str]:
    """Spells metrics, those of groups too. by: what names the columns of groups, if anything."""

    def canonical(text: str) -> str:
        if not of_groups(text):
            return spell(text)
        if not by:
            add = opt("by", "COLUMN")
            raise UsageError(f"{text.strip()} is a figure of groups of rows; add {add}")
        scope = read_scope(text)
        if scope is None:
            from lrisk_cli.risk.groups import parse_fit_risk

            return str(parse_fit_risk(text))
        return str(Scope(scope.kind, spell(scope.metric), scope.where))

    return canonical


def group_values(metrics: Iterable[str], by_group: "ByGroup | None") -> dict[str, float | None]:
    """The figures of those metrics that are of groups; unknown groups are refused."""
    if by_group is None:
        return {}
    return {text: _value(text, by_group) for text in metrics if of_groups(text)}


def _value(text: str, by_group: "ByGroup") -> float | None:
    scope = read_scope(text)
    if scope is None:
        from lrisk_cli.risk.groups import GroupRisk, parse_fit_risk

        risk = parse_fit_risk(text)
        assert isinstance(risk, GroupRisk)  # noqa: S101  (it was spelled so)
        return by_group.risk(risk)
    if scope.kind == GROUP:
        name = _find(scope, by_group)
        figures = next(each.figures for each in by_group.groups if each.name == name)
        return figures.get(scope.metric)
    spread = by_group.spread(scope.metric)
    if spread is None:
        return None
    return spread.size if scope.kind == GAP else spread.worst.figures[scope.metric]


def _find(scope: Scope, by_group: "ByGroup") -> tuple[str, ...]:
    """The name of the group; UsageError with the nearest one where there is none."""
    cells = dict(scope.where)
    for column in cells:
        if column not in by_group.columns:
            known = f"groups are by {list_names(list(by_group.columns))}"
            near = suggest(column, by_group.columns, known)
            raise UsageError(f"{scope}: {quote(column)} is no column of groups; {near}")
    absent = [column for column in by_group.columns if column not in cells]
    if absent:
        raise UsageError(f"{scope}: names no {quote(absent[0])}; groups are by all their columns")
    name = tuple(cells[column] for column in by_group.columns)
    spelled = {", ".join(each.name): each.name for each in by_group.groups}
    if name not in spelled.values():
        near = suggest(", ".join(name), spelled, f"there are {list_names(sorted(spelled))}")
        raise UsageError(f"{scope}: no rows are of the group {quote(', '.join(name))}; {near}")
    return name
