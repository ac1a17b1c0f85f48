"""Gates on groups are read in one place, and a typo is answered with what is near."""

import pytest

from lrisk_cli.errors import UsageError
from lrisk_cli.evaluation.gates import parse_gate
from lrisk_cli.evaluation.group_figures import ByGroup, GroupFigures
from lrisk_cli.evaluation.group_gates import (
    Scope,
    base_metric,
    group_values,
    make_canonical,
    read_scope,
)
from lrisk_cli.evaluation.registry import metric_name
from lrisk_cli.names import Task

SPELL = make_canonical(lambda text: metric_name(text, Task.REGRESSION), ["region", "year"])


def group(region: str, year: str, rows: int, **figures: float | None) -> GroupFigures:
    return GroupFigures((region, year), rows, figures, {}, rows, rows)


GROUPS = ByGroup(
    ("region", "year"),
    (
        group("North", "2020", 30, mean=1.0, rmse=2.0, r2=0.5, bias=-3.0),
        group("North", "2021", 10, mean=4.0, rmse=3.0, r2=0.9, bias=1.0),
        group("South", "2020", 60, mean=2.0, rmse=1.0, r2=None, bias=2.0),
    ),
)


@pytest.mark.parametrize(
    ("text", "metric", "comparison", "threshold"),
    [
        ("worst:superquantile:0.9>2", "worst:superquantile:0.9", ">", 2.0),
        ("WORST: cvar:0.9 >= 2", "worst:superquantile:0.9", ">=", 2.0),
        ("gap:rmse>0.05", "gap:rmse", ">", 0.05),
        ("group[region=North,year=2020]:rmse>3", "group[region=North,year=2020]:rmse", ">", 3.0),
        (
            'group["region=a,b",year= 2020 ]:rmse<=3',
            'group["region=a,b",year=2020]:rmse',
            "<=",
            3.0,
        ),
        ("group[region=>5 km,year=1]:rmse>3", "group[region=>5 km,year=1]:rmse", ">", 3.0),
        ("worst-group:cvar:0.9>1", "worst-group:superquantile:0.9", ">", 1.0),
        ("rmse>3", "rmse", ">", 3.0),
    ],
)
def test_a_gate_on_groups_is_read_as_written(text, metric, comparison, threshold):
    gate = parse_gate(text, SPELL)
    assert (gate.metric, gate.comparison, gate.threshold) == (metric, comparison, threshold)
    assert parse_gate(str(gate), SPELL) == gate


def test_the_metric_of_a_scope_is_known_without_it():
    assert base_metric("gap:rmse") == "rmse"
    assert base_metric("group[a=b]:superquantile:0.9") == "superquantile:0.9"
    assert base_metric("superquantile:0.9") == "superquantile:0.9"
    assert read_scope("worst:rmse") == Scope("worst", "rmse")


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        ("worst:rmse", 3.0),
        ("gap:rmse", 2.0),
        ("worst:r2", 0.5),
        ("gap:r2", 0.4),
        ("worst:bias", -3.0),
        ("gap:bias", 2.0),
        ("group[region=South,year=2020]:r2", None),
        ("group[year=2021,region=North]:mean", 4.0),
        ("worst-group", 4.0),
        # Sorted means 1, 2, 4 with fractions .3, .6, .1: cumulative squares .09, .81, 1.
        ("group-extremile:2", 0.09 * 1.0 + 0.72 * 2.0 + 0.19 * 4.0),
    ],
)
def test_figures_of_groups_follow_from_which_side_is_worse(metric, value):
    assert group_values([metric, "rmse"], GROUPS)[metric] == pytest.approx(value)
    assert "rmse" not in group_values([metric, "rmse"], GROUPS)


@pytest.mark.parametrize(
    ("metric", "sentence"),
    [
        ("group[region=Noth,year=2020]:rmse", "did you mean North, 2020"),
        ("group[regio=North,year=2020]:rmse", "did you mean region"),
        ("group[region=North]:rmse", "names no 'year'"),
        ("group[region=East,year=1900]:rmse", "there are 'North, 2020'"),
    ],
)
def test_a_group_that_no_row_is_of_is_answered_with_the_nearest(metric, sentence):
    with pytest.raises(UsageError, match=sentence):
        group_values([metric], GROUPS)


@pytest.mark.parametrize("metric", ["group[region=North:rmse", "group[North]:rmse"])
def test_half_a_scope_is_refused(metric):
    with pytest.raises(UsageError, match=r"write group\[COLUMN=VALUE\]:METRIC"):
        read_scope(metric)


@pytest.mark.parametrize("metric", ["worst:rmse", "gap:mean", "group[a=b]:rmse", "worst-group"])
def test_without_columns_of_groups_the_remedy_is_named(metric):
    spell = make_canonical(str, ())
    with pytest.raises(UsageError, match="by"):
        spell(metric)


def test_an_unknown_metric_in_a_scope_is_answered_as_anywhere():
    with pytest.raises(UsageError, match="rmse"):
        SPELL("worst:rmsee")
