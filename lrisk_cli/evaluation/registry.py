"""The metrics: name, direction, what each needs, formula, words. This table needs no numpy.

Gates, `--select-by`, figures, help texts and the table of docs/metrics.md read it.
"""

from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from typing import Any, Protocol

from lrisk_cli.errors import UsageError, list_names, quote
from lrisk_cli.evaluation.error_metrics import ALIASES, ERROR_METRICS
from lrisk_cli.evaluation.metric import Better, Metric, Needs
from lrisk_cli.names import RISK_ALIASES, RISKS, Task
from lrisk_cli.parameters import Choice, Parameter, parse_choice, spell, suggest
from lrisk_cli.warnings import COUNT, spell_count

# Where metrics that need this are known.
_WHERE = {
    Needs.LOSSES: "lrisk evaluate and detect-outliers",
    Needs.NUMBERS: "regression",
    Needs.CLASSES: "classification",
    Needs.SCORES: "two classes",
    Needs.COUNTS: "the poisson loss",
    Needs.INTERVALS: "lrisk evaluate",
    Needs.QUANTILES: "the quantile loss",
    Needs.LOGARITHMS: "a logarithm of the target",
    Needs.ROWS: "every command",
    Needs.CELLS: "lrisk evaluate, predict and detect-outliers",
    Needs.FIT: "regression and classification",
    Needs.FLAGS: "lrisk detect-outliers and clusters",
    Needs.LABELS: "clusters with labels",
    Needs.PLANTED: "clusters with labels",
    Needs.PAIRS: "lrisk quantile-report",
    Needs.WARNINGS: "every command",
}
TASK_NEEDS = {Task.REGRESSION: Needs.NUMBERS, Task.CLASSIFICATION: Needs.CLASSES}
# What metrics need that compare predictions with targets, whatever the loss.
ERROR_NEEDS = frozenset(
    {Needs.NUMBERS, Needs.CLASSES, Needs.SCORES, Needs.COUNTS, Needs.QUANTILES, Needs.LOGARITHMS}
)
# What is known of rows that a model of clusters, or detect-outliers, has evaluated; with labels;
# and of models beside a baseline.
OF_CLUSTERS = frozenset({Needs.FLAGS, Needs.ROWS, Needs.CELLS, Needs.LOSSES, Needs.WARNINGS})
OF_LABELS = frozenset({Needs.LABELS, Needs.PLANTED})
OF_PAIRS = frozenset({Needs.PAIRS, Needs.ROWS, Needs.WARNINGS})
_OF_MODELS = frozenset(
    {Needs.INTERVALS, Needs.ROWS, Needs.CELLS, Needs.FIT, Needs.LOSSES, Needs.WARNINGS}
)
# What is known of rows that are only scored, and of those that were just clustered.
OF_SCORED = frozenset({Needs.ROWS, Needs.CELLS, Needs.WARNINGS})
OF_CLUSTERED = OF_CLUSTERS - {Needs.CELLS}


class Rows(Protocol):
    """Counts of rows: read, with a missing cell, with a category that the fit did not see."""

    read: int
    n_missing: int
    n_unseen: int


class Intervals(Protocol):
    """How intervals of predictions compare with the targets; None where none were asked for."""

    @property
    def coverage(self) -> float | None: ...
    @property
    def mean_width(self) -> float | None: ...


class Fit(Protocol):
    """What a fit has proved."""

    @property
    def gap(self) -> float | None: ...


class Labels(Protocol):
    """How clusters agree with labels."""

    @property
    def accuracy(self) -> float: ...
    @property
    def purity(self) -> float: ...
    @property
    def average_precision(self) -> float | None: ...


class Pair(Protocol):
    """The losses of a model beside those of a baseline, at the level that a metric asks for."""

    @property
    def tail_gained(self) -> float: ...
    @property
    def average_lost(self) -> float: ...

    def difference(self) -> float | None:
        """Quantile of the baseline minus that of the model."""

    def normalised_difference(self) -> float | None:
        """The same over the baseline's mean loss."""


def _last(ascending: Any) -> float:
    return float(ascending[-1])


_LEVEL = Parameter("P", "level", "in (0, 1]", lambda p: 0.0 < p <= 1.0, 0.95, fraction=True)

_ROWS: tuple[Metric[Rows], ...] = (
    Metric(
        "rows",
        name="n_rows",
        needs=Needs.ROWS,
        formula=lambda rows: rows.read,
        better=Better.LARGER,
    ),
    Metric(
        "fraction of rows with a missing cell",
        name="missing_fraction",
        needs=Needs.CELLS,
        formula=lambda rows: rows.n_missing / rows.read,
    ),
    Metric(
        "fraction of rows with a category that the fit did not see",
        name="unseen_fraction",
        needs=Needs.CELLS,
        formula=lambda rows: rows.n_unseen / rows.read,
    ),
)
_INTERVALS: tuple[Metric[Intervals], ...] = (
    Metric(
        "fraction of rows whose interval, or set of classes, contains the target",
        name="coverage",
        needs=Needs.INTERVALS,
        formula=lambda intervals: intervals.coverage,
        better=Better.LARGER,
    ),
    Metric(
        "mean width of the intervals, in units of the target; of classes the mean number of "
        "classes in a set",
        name="mean_width",
        needs=Needs.INTERVALS,
        formula=lambda intervals: intervals.mean_width,
    ),
)
_FIT: tuple[Metric[Fit], ...] = (
    Metric(
        "relative gap that the fit proved", name="gap", needs=Needs.FIT, formula=lambda f: f.gap
    ),
)
_LOSSES: tuple[Metric[Any], ...] = (
    Metric("largest loss", name="max", needs=Needs.LOSSES, formula=_last),
)
_FLAGS: tuple[Metric[Any], ...] = (
    Metric(
        "fraction of rows that are outliers",
        name="outlier_fraction",
        needs=Needs.FLAGS,
        formula=lambda flags: float(flags.mean()),
    ),
)
_LABELS: tuple[Metric[Labels], ...] = (
    Metric(
        "fraction of inliers in the cluster that is paired with their label",
        name="accuracy",
        needs=Needs.LABELS,
        formula=lambda labels: labels.accuracy,
        better=Better.LARGER,
    ),
    Metric(
        "fraction of inliers in a cluster whose most frequent label is theirs",
        name="purity",
        needs=Needs.LABELS,
        formula=lambda labels: labels.purity,
        better=Better.LARGER,
    ),
    Metric(
        "average precision of finding the labelled outliers by their distance",
        name="average_precision",
        needs=Needs.PLANTED,
        formula=lambda labels: labels.average_precision,
        better=Better.LARGER,
    ),
)
_PAIRS: tuple[Metric[Pair], ...] = (
    Metric(
        "mean of the worst tenth of the baseline's losses minus that of the model's",
        name="tail_gained",
        needs=Needs.PAIRS,
        formula=lambda pair: pair.tail_gained,
        better=Better.LARGER,
    ),
    Metric(
        "mean loss of the model minus that of the baseline",
        name="average_lost",
        needs=Needs.PAIRS,
        formula=lambda pair: pair.average_lost,
    ),
    Metric(
        "loss quantile of the baseline minus that of the model",
        _LEVEL,
        name="difference",
        needs=Needs.PAIRS,
        formula=lambda pair: pair.difference(),
        better=Better.LARGER,
    ),
    Metric(
        "the same over the mean loss of the baseline",
        _LEVEL,
        name="normalised_difference",
        needs=Needs.PAIRS,
        formula=lambda pair: pair.normalised_difference(),
        better=Better.LARGER,
    ),
)
_WARNINGS: tuple[Metric[Any], ...] = (
    Metric(
        "warnings of the command; with a code after a colon, those of this code",
        name=COUNT,
        needs=Needs.WARNINGS,
        formula=lambda counts: counts[COUNT],
    ),
)
METRICS: tuple[Metric[Any], ...] = (
    *ERROR_METRICS, *_INTERVALS, *_FLAGS, *_ROWS, *_FIT, *_LOSSES, *_LABELS, *_PAIRS, *_WARNINGS,
)  # fmt: skip


def metrics_of(needs: Collection[Needs]) -> dict[str, Metric[Any]]:
    """The metrics that can be computed from these sources, by name, in the order of the table."""
    return dict(_known_metrics(frozenset(needs)))


@lru_cache(maxsize=64)
def _known_metrics(needs: frozenset[Needs]) -> tuple[tuple[str, Metric[Any]], ...]:
    """The same as pairs: groups of rows ask again and again."""
    return tuple((metric.name, metric) for metric in METRICS if metric.needs in needs)


def needs_of(task: Task, errors: Collection[str] = ()) -> frozenset[Needs]:
    """What is known of a model of this task and its rows; of AUTO, what is known of any.

    errors: the error metrics that the loss of the model brings, where it is known.
    """
    found: Iterable[Needs] = ERROR_NEEDS if task is Task.AUTO else [TASK_NEEDS[task]]
    if errors:
        found = {each.needs for each in METRICS if each.name in errors} & ERROR_NEEDS
    elif task is Task.CLASSIFICATION:
        found = {Needs.CLASSES, Needs.SCORES}
    return frozenset({*found, *_OF_MODELS})


def needs_of_fits(task: Task, errors: Collection[str] = ()) -> frozenset[Needs]:
    """What is known of a model that was just fitted: its rows are not looked at cell by cell."""
    return needs_of(task, errors) - {Needs.CELLS, Needs.INTERVALS}


def needs_of_comparisons(task: Task, errors: Collection[str] = ()) -> frozenset[Needs]:
    """What is known of a method on several splits."""
    return needs_of_fits(task, errors) - {Needs.FIT}


def figures_of(source: Any, needs: Collection[Needs]) -> dict[str, float | None]:
    """The metrics that need exactly such a source, by name."""
    return {name: metric.formula(source) for name, metric in metrics_of(needs).items()}


def error_names(names: Iterable[str]) -> list[str]:
    """Those of the names that compare predictions with targets, whatever the loss."""
    known = metrics_of(ERROR_NEEDS)
    return [name for name in names if _base(name) in known]


def measures_predictions(name: str) -> bool:
    """Whether a metric compares predictions with targets, so that it can choose between models."""
    known = metrics_of({Needs.LOSSES, *ERROR_NEEDS})
    metric = known.get(_base(name))
    return is_risk(name) or (metric is not None and metric.better is not Better.NEITHER)


def better_of(name: str) -> Better:
    """Which figures are better; for risks and losses the smaller ones."""
    found = (metric.better for metric in METRICS if metric.name == _base(name))
    return next(found, Better.SMALLER)


def larger_is_better(name: str) -> bool:
    """Whether larger is better; for risks and losses smaller is better."""
    return better_of(name) is Better.LARGER


def _base(name: str) -> str:
    """The name without its parameter."""
    return name.partition(":")[0]


def is_risk(name: str) -> bool:
    """Whether the name belongs to a spectral risk, whatever its parameter."""
    return _base(name) in {*RISKS, *RISK_ALIASES}


def metric_name(
    text: str, task: Task, errors: Collection[str] = (), classes: Sequence[str] | None = None
) -> str:
    """The spelling under which a metric of a model is reported; others are refused.

    Task.AUTO: the task is not known yet, so the metrics of any will do. errors: as in `needs_of`.
    classes: those of the model, where they are known.
    """
    return spell_metric(text, needs_of(task, errors), classes)


def spell_metric(text: str, needs: Collection[Needs], classes: Sequence[str] | None = None) -> str:
    """A metric that these sources give, or a risk; others are refused with the nearest name."""
    counted = spell_count(text) if Needs.WARNINGS in needs else None
    if counted is not None:
        return counted
    risky = Needs.LOSSES in needs
    metrics = metrics_of(needs)
    known: dict[str, Choice] = {**metrics, **(RISKS if risky else {})}
    written, _, label = text.strip().partition(":")
    name = ALIASES.get(written.strip().lower(), written.strip().lower())
    elsewhere = [metric.needs for metric in METRICS if metric.name == name]
    if elsewhere and name not in known:
        places = " or of ".join(_WHERE[each] for each in elsewhere)
        raise UsageError(
            f"{name} is a metric of {places}, which is not evaluated here; known: "
            + ", ".join(choice.spelling(each) for each, choice in known.items())
        )
    if label and name in metrics and metrics[name].of_class is not None:
        return f"{name}:{_spell_class(label, classes)}"
    aliases = {**ALIASES, **(RISK_ALIASES if risky else {})}
    return spell(*parse_choice(text, "metric", known, aliases))


def _spell_class(label: str, classes: Sequence[str] | None) -> str:
    """A class as the model has it; any where they are not known yet."""
    if classes is None or label in classes:
        return label
    known = f"its classes are {list_names(list(classes))}"
    raise UsageError(f"{quote(label)} is no class of the model; {suggest(label, classes, known)}")


def list_metrics(needs: Collection[Needs]) -> str:
    """The names for a help text, with the symbols of their parameters."""
    return ", ".join(metric.spelling(name) for name, metric in metrics_of(needs).items())
