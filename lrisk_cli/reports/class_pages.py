"""What pages show of a classifier: ROC and reliability curves, confusion; and the worst rows."""

from collections.abc import Sequence

import numpy as np

from lrisk_cli.evaluation.class_errors import N_BINS, Bins, ClassErrors, Confusion, Counts
from lrisk_cli.evaluation.page_rows import EvaluatedRows
from lrisk_cli.models.model import Model
from lrisk_cli.names import Task
from lrisk_cli.reports.facts import confusion_grid, count
from lrisk_cli.reports.figures import Plot, Series, draw
from lrisk_cli.reports.html import Block, Section, Table, brief, clip

# Classes of which a page shows all pairs; of more it shows the most frequent confusions.
MOST_CLASSES, MOST_PAIRS = 12, 30
DIAGONAL = np.array([0.0, 1.0])


def class_section(model: Model, rows: Sequence[EvaluatedRows]) -> list[Section]:
    """Curves and confusion of a classifier; nothing for numbers.

    rows: those learned from first, then those to test on; the confusion is that of the last.
    """
    known = [(each.name, each.errors) for each in rows if each.errors is not None]
    if not known:
        return []
    plots = [roc_plot(model, known), reliability_plot(model, known)]
    blocks: list[Block] = [draw(plot, f"class{k}") for k, plot in enumerate(plots) if plot]
    confusion = rows[-1].confusion
    if confusion is not None:
        blocks.append(confusion_table(confusion, rows[-1].name))
    return [Section("Classes", blocks)]


def roc_plot(model: Model, known: Sequence[tuple[str, ClassErrors]]) -> Plot | None:
    """True against false positives at all thresholds; None unless both of two classes occur."""
    series, areas = [], []
    for color, (name, errors) in enumerate(known, 1):
        curve, area = errors.roc_curve(), errors.roc_auc
        if curve is not None and area is not None:
            series.append(Series(f"{name} rows", *curve, color))
            areas.append((name, area))
    if not series:
        return None
    positive = clip(model.target.classes[1])
    words = ", ".join(f"{brief(area)} on {name} rows" for name, area in areas)
    return Plot(
        title=f"ROC curve: area {words}",
        alternative=f"Fraction of the rows of {positive} that are found against the fraction of "
        f"the others that are taken for it, at falling thresholds; area under the curve {words}.",
        x_label=f"false positive rate: others predicted as {positive}",
        y_label=f"true positive rate: {positive} found",
        series=[*series, Series("", DIAGONAL, DIAGONAL, 0)],
        x_range=(-0.01, 1.01),
        y_range=(-0.02, 1.03),
        note="Grey: a prediction at random, area 0.5.",
        data=_roc_numbers(series[-1]),
    )


def _roc_numbers(series: Series) -> Table:
    """True positive rates that go with some false positive rates, of the last curve."""
    levels = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
    rows = [[f"{level:g}", brief(float(series.y[series.x <= level].max()))] for level in levels]
    caption = f"Largest true positive rate with at most so many false positives, {series.name}"
    return Table(caption, ["false positive rate", "true positive rate"], rows, texts=0)


def reliability_plot(model: Model, known: Sequence[tuple[str, ClassErrors]]) -> Plot | None:
    """Fraction of rows of a class against its predicted probability, in ten bins."""
    bins = [(name, errors.bins) for name, errors in known if errors.bins is not None]
    if not bins:
        return None
    two = len(model.target.classes) == 2
    what = clip(model.target.classes[1]) if two else "the predicted class"
    series: list[Series] = []
    for color, (name, each) in enumerate(bins, 1):
        used = each.n > 0
        series.append(Series(f"{name} rows", each.p[used], each.hits[used], color))
        series.append(Series("", each.p[used], each.hits[used], color, "marks"))
    errors = known[-1][1].calibration_error or 0.0
    title = f"Probabilities are off by {100.0 * errors:.2g} points on average"
    return Plot(
        title=f"{title} ({bins[-1][0]} rows)",
        alternative=f"Reliability curve: fraction of rows of {what} against its predicted "
        f"probability, in bins of a tenth. {title}.",
        x_label=f"predicted probability of {what}",
        y_label="fraction of the rows for which it is true",
        series=[*series, Series("", DIAGONAL, DIAGONAL, 0)],
        x_range=(-0.01, 1.01),
        y_range=(-0.03, 1.05),
        note="Grey: perfect calibration. Below it, probabilities are too high. Bins of few rows "
        "scatter.",
        data=_bin_numbers(*bins[-1]),
    )


def _bin_numbers(name: str, bins: Bins) -> Table:
    rows = [
        [
            f"{k / N_BINS:g} to {(k + 1) / N_BINS:g}",
            count(n.item()),
            brief(float(p)),
            brief(float(hits)),
        ]
        for k, (n, p, hits) in enumerate(zip(bins.n, bins.p, bins.hits, strict=True))
        if n
    ]
    heads = ["probability", "rows", "mean probability", "fraction true"]
    return Table(f"Bins of the {name} rows", heads, rows)


def confusion_table(confusion: Confusion, name: str) -> Table:
    """Rows by true and predicted class; of many classes the most frequent confusions."""
    counts = confusion.counts
    totals = _sizes(counts)
    if len(confusion.classes) > MOST_CLASSES:
        return _confused_pairs(confusion, name)
    grid = confusion_grid(confusion)
    found = [f"{100.0 * counts[j, j] / totals[j]:.3g} %" for j in range(len(counts))]
    rows = [[*row, share] for row, share in zip(grid.rows, found, strict=True)]
    caption = f"Confusion matrix of the {name} rows: true class down, predicted class across"
    return Table(caption, [*grid.heads, "recall"], rows, beside=True)


def _sizes(counts: Counts) -> Counts:
    """Rows of each class, 1 where there are none. (k,)."""
    sizes = counts.sum(axis=1)
    return np.where(sizes > 0, sizes, 1)


def _confused_pairs(confusion: Confusion, name: str) -> Table:
    """Pairs of different classes, those with the most rows first."""
    counts = confusion.counts.copy()
    totals = _sizes(counts)
    np.fill_diagonal(counts, 0)
    order = np.argsort(-counts, axis=None, kind="stable")[:MOST_PAIRS]
    pairs = [divmod(int(at), len(counts)) for at in order]
    rows = [
        [clip(confusion.classes[i]), clip(confusion.classes[j]), count(counts[i, j].item()),
         f"{100.0 * counts[i, j] / totals[i]:.3g} %"]
        for i, j in pairs if counts[i, j]
    ]  # fmt: skip
    n_pairs = int(np.count_nonzero(counts))
    first = f", the first {len(rows)} of {n_pairs} pairs" if n_pairs > len(rows) else ""
    caption = f"Most frequent confusions of the {name} rows{first}"
    return Table(caption, ["true class", "predicted", "rows", "of the class"], rows, texts=2)


def worst_section(model: Model, rows: EvaluatedRows) -> list[Section]:
    """The rows that lose most, with what was predicted for them."""
    if not rows.worst:
        return []
    numbers = model.task is Task.REGRESSION
    has_ids = any(each.id is not None for each in rows.worst)
    probabilities = [model.row_loss.target_probability(each.loss) for each in rows.worst]
    has_lines = any(each.place.line is not None for each in rows.worst)
    names = [*(["line"] if has_lines else []), *(["id"] if has_ids else [])]
    heads = ["row", *names, "target", "prediction"]
    heads += ["probability of the target"] if probabilities[0] is not None else []
    table = [
        [
            f"{each.place.row:,}",
            *([each.place.spot] if has_lines else []),
            *(["" if each.id is None else str(each.id)] if has_ids else []),
            each.target if numbers else clip(each.target),
            each.prediction if numbers else clip(each.prediction),
            *([] if probability is None else [brief(probability)]),
            brief(each.loss),
        ]
        for each, probability in zip(rows.worst, probabilities, strict=True)
    ]
    n, texts = len(rows.losses), 1 + has_lines + has_ids + (0 if numbers else 2)
    caption = f"The {len(table)} largest losses of {n:,} {rows.name} rows"
    return [Section("The worst rows", [Table(caption, [*heads, "loss"], table, texts=texts)])]
