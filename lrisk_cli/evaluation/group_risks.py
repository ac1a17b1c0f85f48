"""Risks of groups among the risks that a command reports."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lrisk_cli.design.groups import find_group_columns, require_groups
from lrisk_cli.errors import opt
from lrisk_cli.models.model import Model
from lrisk_cli.names import GROUP_RISKS, WeightKind
from lrisk_cli.parameters import split_specs
from lrisk_cli.risk.groups import GroupRisk, parse_fit_risk
from lrisk_cli.tables.named_columns import quote_field

if TYPE_CHECKING:
    from lrisk_cli.evaluation.group_figures import GroupedRows
    from lrisk_cli.tables.table import Table


def split_risks(texts: Sequence[str], by: Sequence[str]) -> tuple[list[str], tuple[GroupRisk, ...]]:
    """The texts that are no risks of groups, and those that are; these need columns of groups."""
    of_rows, of_groups = [], []
    for text in split_specs(texts):
        if text.partition(":")[0].strip().lower() in GROUP_RISKS:
            risk = parse_fit_risk(text)
            assert isinstance(risk, GroupRisk)  # noqa: S101  (its name says so)
            require_groups(risk, by)
            of_groups.append(risk)
        else:
            of_rows.append(text)
    return of_rows, tuple(of_groups)


def groups_of_model(
    model: Model, grouped: "GroupedRows | None", asked: Sequence[GroupRisk]
) -> tuple[GroupRisk, ...]:
    """The risks of groups to report: that of the model, where the groups are its own, first."""
    own = model.group_risk
    if own is None or grouped is None or set(grouped.columns) != set(model.group_columns):
        return tuple(dict.fromkeys(asked))
    return tuple(dict.fromkeys((own, *asked)))


def make_grouped(
    model: Model, table: "Table", by: Sequence[str], errors: Sequence[str], kind: WeightKind
) -> "GroupedRows | None":
    """What collects the groups of a table, where their columns are named. errors: as of a tally;

    kind: of the weights of rows.
    """
    if not by:
        return None
    from lrisk_cli.evaluation.group_figures import GroupedRows
    from lrisk_cli.evaluation.metrics import reported_errors

    return GroupedRows(find_group_columns(table, by), reported_errors(model, errors), kind)


def note_groups(model: Model, by: Sequence[str]) -> tuple[str, ...]:
    """How the risk of groups that was minimised can be evaluated, where it was not."""
    if not model.group_columns or by:
        return ()
    columns = ",".join(map(quote_field, model.group_columns))
    return (f"{model.risk} was minimised; {opt('by', columns)} evaluates it",)
