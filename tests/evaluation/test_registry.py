"""The table of metrics: names, directions, which commands have them, its page in the manual."""

import pytest

from helpers.docs import markdown_table
from lrisk_cli.errors import UsageError
from lrisk_cli.evaluation.gates import StoredFigures, Worsening, check_gates, parse_gate
from lrisk_cli.evaluation.metric import Better, Metric, Needs
from lrisk_cli.evaluation.registry import (
    METRICS,
    OF_CLUSTERS,
    OF_LABELS,
    OF_PAIRS,
    is_risk,
    larger_is_better,
    list_metrics,
    measures_predictions,
    metric_name,
    metrics_of,
    needs_of,
    spell_metric,
)
from lrisk_cli.evaluation.selection import check_metric
from lrisk_cli.names import RISKS, Task
from lrisk_cli.parameters import spell

# The sources that each command, or kind of model, has.
KINDS = {
    "regression": needs_of(Task.REGRESSION),
    "classification": needs_of(Task.CLASSIFICATION),
    "many classes": needs_of(Task.CLASSIFICATION, ["accuracy"]),
    "poisson": needs_of(Task.REGRESSION, ["rmse", "mean_deviance"]),
    "quantile": needs_of(Task.REGRESSION, ["rmse", "pinball"]),
    "logarithms": needs_of(Task.REGRESSION, ["rmse", "log_rmse"]),
    "clusters": OF_CLUSTERS,
    "labelled clusters": OF_CLUSTERS | OF_LABELS,
    "pairs": OF_PAIRS,
}
EVERY_METRIC = pytest.mark.parametrize("metric", METRICS, ids=lambda m: f"{m.name}-{m.needs.name}")


def example(metric: Metric) -> str:
    """The metric as a user would write it."""
    return spell(metric.name, None if metric.parameter is None else metric.parameter.example)


def test_the_manual_lists_exactly_the_metrics():
    assert markdown_table("docs/metrics.md", "metric") == [
        [
            f"`{metric.spelling(metric.name)}`",
            metric.better.value,
            metric.needs.value,
            metric.summary,
        ]
        for metric in METRICS
    ]


def test_a_name_means_one_thing_to_a_command_and_has_one_direction():
    for needs in KINDS.values():
        names = [metric.name for metric in METRICS if metric.needs in needs]
        assert len(names) == len(set(names))
    assert not any(is_risk(metric.name) for metric in METRICS)
    directions = {(metric.name, metric.larger_is_better) for metric in METRICS}
    assert len(directions) == len({metric.name for metric in METRICS})


@EVERY_METRIC
@pytest.mark.parametrize("kind", KINDS)
def test_a_metric_is_known_where_its_source_is_and_refused_elsewhere(metric, kind):
    needs = KINDS[kind]
    if metric.name in metrics_of(needs):
        assert spell_metric(example(metric).upper(), needs) == example(metric)
        gate = parse_gate(f"{example(metric)}>0.5", lambda text: spell_metric(text, needs))
        assert gate.metric == example(metric)
        assert metric.spelling(metric.name) in list_metrics(needs)
    else:
        with pytest.raises(UsageError, match=f"{metric.name} is a metric of .*; known: "):
            spell_metric(example(metric), needs)


def test_every_metric_is_known_somewhere_and_every_source_is_needed():
    assert {metric.needs for metric in METRICS} == set(Needs) == set().union(*KINDS.values())


@EVERY_METRIC
def test_the_direction_of_a_metric_is_that_of_its_gates(metric):
    assert larger_is_better(example(metric)) is metric.larger_is_better
    if metric.better is Better.NEITHER:
        stored = StoredFigures("good.json", 0.1, {None: {metric.name: 1.0}})
        assert stored.gates({metric.name: 5.0}) == ()
        return
    worse = Worsening(example(metric), 1.0, 0.1, "good.json")
    assert worse.comparison == ("<" if metric.larger_is_better else ">")
    assert (worse.threshold < 1.0) is metric.larger_is_better


@pytest.mark.parametrize("name", metrics_of(needs_of(Task.AUTO)))
def test_what_judges_predictions_can_choose_between_models(name):
    if measures_predictions(name):
        assert check_metric(name, Task.AUTO) == name
    else:
        of_rows = metrics_of([Needs.ROWS, Needs.CELLS, Needs.FIT, Needs.WARNINGS, Needs.INTERVALS])
        assert name in {*of_rows, "majority_accuracy", "below"}
        with pytest.raises(UsageError, match="does not evaluate predictions; choose a risk"):
            check_metric(name, Task.AUTO)


@pytest.mark.parametrize("risk", RISKS)
def test_risks_are_metrics_where_there_are_losses(risk):
    parameter = RISKS[risk].parameter
    text = spell(risk, None if parameter is None else parameter.example)
    assert metric_name(text, Task.AUTO) == text
    assert not larger_is_better(text)
    assert measures_predictions(text)
    with pytest.raises(UsageError, match="unknown metric"):
        spell_metric(text, OF_PAIRS)


def test_a_metric_of_a_class_keeps_the_letters_of_the_class():
    needs = needs_of(Task.CLASSIFICATION)
    classes = ("<=50K", ">50K", "Iris setosa")
    for text, name, comparison in (
        ("RECALL:>50K<0.5", "recall:>50K", "<"),
        ("precision:<=50K <= 0.5", "precision:<=50K", "<="),
        ("f1:Iris setosa>0.5", "f1:Iris setosa", ">"),
    ):
        gate = parse_gate(text, lambda each: spell_metric(each, needs, classes))
        assert (gate.metric, gate.comparison, gate.threshold) == (name, comparison, 0.5)
        assert larger_is_better(gate.metric)
    with pytest.raises(UsageError, match=r"'>50k' is no class of the model; did you mean >50K\?"):
        spell_metric("recall:>50k", needs, classes)
    with pytest.raises(UsageError, match="accuracy takes no parameter"):
        spell_metric("accuracy:a", needs, ("a", "b"))


def test_a_bias_is_worse_on_either_side():
    worse = Worsening("bias", -1.0, 0.1, "good.json")
    values = {-1.05: False, 1.05: False, 0.0: False, -1.2: True, 1.2: True}
    for value, holds in values.items():
        (result,) = check_gates([worse], {"bias": value})
        assert result.holds is holds


@pytest.mark.parametrize(("alias", "name"), [("AUC", "roc_auc"), ("ece", "calibration_error")])
def test_usual_names_are_understood(alias, name):
    assert metric_name(alias, Task.CLASSIFICATION) == name
    assert metric_name("deviance", Task.AUTO) == "mean_deviance"
