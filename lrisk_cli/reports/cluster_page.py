"""The pages of `cluster` and of `evaluate` for clusters: groups, centres, outliers, the search."""

from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

import numpy as np

from lrisk_cli.evaluation.agreement import Agreement
from lrisk_cli.models.cluster_model import ClusterModel
from lrisk_cli.reports.cluster_plots import (
    centre_plot,
    row_plots,
    search_plots,
    share_plot,
)
from lrisk_cli.reports.clusters import cluster_fact, count_text, outliers_fact, search_facts
from lrisk_cli.reports.facts import Fact, count_failed, figure, largest_first, number, rows_fact
from lrisk_cli.reports.figures import Plot, draw
from lrisk_cli.reports.html import (
    Block,
    Page,
    Pictures,
    Section,
    Table,
    Tiles,
    brief,
    clip,
    facts_block,
    gates_section,
    notes_block,
)
from lrisk_cli.reports.pictures import draw_picture

if TYPE_CHECKING:
    from lrisk_cli.api.cluster import Clustered
    from lrisk_cli.api.evaluate import ClusterEvaluation
    from lrisk_cli.evaluation.cluster_evaluation import EvaluatedClusters, SeenRows

MAX_COLUMNS = 40
MAX_CENTRES = 8
# Pixels of all pictures of one kind: a page stays small.
MAX_PIXELS = 30_000
MAX_PICTURES = 24

Shape = tuple[int, int]


def cluster_page(
    found: "Clustered", seen: "SeenRows", shape: Shape | None, command_line: str
) -> Page:
    """Clusters just found. shape: height and width, where columns are pixels of a picture."""
    model, evaluated = found.model, found.evaluated
    search = facts_block(search_facts(model), beside=len(model.fit.starts) > 1)
    sections = [
        Section(
            "At a glance",
            [_tiles(model, evaluated), *notes_block(found.notes, found.warnings)],
        ),
        *gates_section(found.gate_results),
        *_row_sections(model, evaluated, seen, shape),
        Section("The search", [*_drawn(search_plots(model), "search"), search]),
        Section("What was done", [facts_block(_facts(model, evaluated))]),
    ]
    k = len(model.centres)
    title = f"{k} cluster{'s' * (k != 1)} of {evaluated.counts.used:,} rows by {model.risk}"
    return Page("cluster", title, _lead(model, evaluated), sections, command_line)


def cluster_evaluation_page(
    found: "ClusterEvaluation", seen: "SeenRows", shape: Shape | None, command_line: str
) -> Page:
    """Clusters evaluated on a table."""
    model, evaluated = found.model, found.evaluated
    sections = [
        Section(
            "At a glance",
            [_tiles(model, evaluated), *notes_block(found.notes, found.warnings)],
        ),
        *gates_section(found.gate_results),
        *_row_sections(model, evaluated, seen, shape),
        Section(
            "What was done", [facts_block(_facts(model, evaluated, PurePath(found.path).name))]
        ),
    ]
    lead = _lead(model, evaluated)
    if found.gate_results:
        lead += f" {count_failed(found.gate_results)}."
    title = f"{PurePath(found.path).name} on {evaluated.counts.used:,} rows"
    return Page("evaluate", title, lead, sections, command_line)


def _row_sections(
    model: ClusterModel, evaluated: "EvaluatedClusters", seen: "SeenRows", shape: Shape | None
) -> list[Section]:
    """The rows among the clusters, the clusters' sizes and labels, the farthest rows."""
    share = share_plot(model, evaluated)
    agreement = evaluated.agreement
    return [
        Section("Rows", [*_drawn(row_plots(model, evaluated, seen), "rows"), _risks(evaluated)]),
        Section(
            "Clusters", [*_drawn([share] if share else [], "shares"), _sizes(model, evaluated)]
        ),
        *([] if agreement is None else [_labels(agreement)]),
        Section("Centres", _centres(model, shape), lead=_units(model)),
        Section("The farthest rows", [_farthest(model, seen, shape)]),
    ]


def _drawn(plots: Sequence[Plot], name: str) -> list[Block]:
    return [draw(plot, f"{name}{k}") for k, plot in enumerate(plots)]


def _lead(model: ClusterModel, evaluated: "EvaluatedClusters") -> str:
    lead = f"Outliers: {outliers_fact(model, evaluated).text}."
    agreement = evaluated.agreement
    if agreement is not None:
        lead += f" {100.0 * agreement.accuracy:.4g} % of the labelled rows to find are in the "
        lead += "cluster of their label."
    return lead


def _tiles(model: ClusterModel, evaluated: "EvaluatedClusters") -> Tiles:
    n_rows, n_outliers, k = sum(evaluated.sizes), sum(evaluated.outliers), len(model.centres)
    border = model.outlier_distance
    word = "this risk counts every row" if border is None else f"beyond {brief(border)}"
    figures = evaluated.figures
    items = [
        ("rows", f"{n_rows:,}", f"in {k} cluster{'s' * (k != 1)}"),
        ("outliers", f"{n_outliers:,}", f"{100.0 * n_outliers / n_rows:.3g} % of the rows, {word}"),
        (model.risk, brief(figures[model.risk]), "of the squared distances"),
    ]
    if model.risk != "mean":
        items.append(("mean", brief(figures["mean"]), "of the squared distances"))
    words = {
        "accuracy": "clusters paired with labels",
        "average_precision": "of finding the planted outliers",
    }
    of_labels = {} if evaluated.agreement is None else evaluated.agreement.figures
    items += [(name, brief(of_labels[name]), word) for name, word in words.items()
              if of_labels.get(name) is not None]  # fmt: skip
    return Tiles(items)


def _risks(evaluated: "EvaluatedClusters") -> Table:
    of_labels = {} if evaluated.agreement is None else evaluated.agreement.figures
    names = [name for name in evaluated.figures if name not in of_labels]
    rows = [[name, figure(evaluated.figures[name])] for name in (*names, *of_labels)]
    return Table(
        "Risks of the squared distances, then shares", ["figure", "value"], rows, beside=True
    )


def _sizes(model: ClusterModel, evaluated: "EvaluatedClusters") -> Table:
    agreement = evaluated.agreement
    heads = ["cluster", "rows", "share", "outliers", "weight when found"]
    heads += [] if agreement is None else ["label"]
    total = sum(evaluated.sizes)
    rows = [
        [
            str(j),
            f"{size:,}",
            f"{100.0 * size / total:.3g} %",
            f"{evaluated.outliers[j]:,}",
            f"{100.0 * model.weights[j] / model.weights.sum():.3g} %",
            *([] if agreement is None else [agreement.pairing[j] or ""]),
        ]
        for j, size in enumerate(evaluated.sizes)
    ]
    return Table("Rows, outliers and weight of each cluster", heads, rows, beside=True)


def _labels(agreement: Agreement) -> Section:
    """Rows of each label in each cluster."""
    shown = range(agreement.table.shape[1])[:MAX_COLUMNS]
    rows = [
        [f"{label}{'' if inlier else '*'}", *(count_text(counts[j]) for j in shown)]
        for label, inlier, counts in zip(
            agreement.labels, agreement.inliers, agreement.table.tolist(), strict=True
        )
    ]
    heads = ["label", *(f"cluster {j}" for j in shown)]
    words = "Clusters are paired with labels one to one, so that most rows agree."
    if not all(agreement.inliers):
        words += " * planted outliers: evaluated by their distance only."
    if agreement.n_unlabelled:
        words += f" {agreement.n_unlabelled} rows have no label and are not evaluated by it."
    return Section("Labels", [Table("Rows by label and cluster", heads, rows)], lead=words)


def _farthest(model: ClusterModel, seen: "SeenRows", shape: Shape | None) -> Block:
    """The rows farthest from every centre, as pictures if they are any, and as numbers."""
    words = [f"row {row}" for row in seen.far_rows]
    near = [
        f"{brief(float(distance))} from {j}"
        for distance, j in zip(seen.far_distances, seen.far_clusters, strict=True)
    ]
    if shape is not None:
        n_shown = _max_pictures(shape)
        rows = model.in_units(seen.far[:n_shown])
        caption = "The rows farthest from every centre; distance, and the nearest cluster"
        return _pictures(rows, shape, words, near, caption)
    parts = zip(seen.far_rows, seen.far, seen.far_clusters, seen.far_distances, strict=True)
    return Table(
        "The rows farthest from every centre, and what share of that comes from which columns",
        ["row", "columns", "nearest cluster", "distance"],
        [
            [str(row), _far_in(model, x, j), str(j), brief(float(distance))]
            for row, x, j, distance in parts
        ],
        texts=2,
    )


def _far_in(model: ClusterModel, x: np.ndarray, j: int) -> str:
    """The columns with the largest parts of a squared distance, largest first."""
    parts = (x - model.encoded_centres[j]) ** 2
    total = float(parts.sum())
    if total == 0.0:
        return ""
    names = model.encoding.column_names
    return ", ".join(
        f"{clip(names[c])} {100.0 * parts[c] / total:.0f} %" for c in largest_first(parts)[:3]
    )


def _centres(model: ClusterModel, shape: Shape | None) -> list[Block]:
    """As pictures if they are any, otherwise a figure where they are few, and a table."""
    k, names = len(model.centres), model.encoding.column_names
    if shape is not None:
        titles = [f"cluster {j}" for j in range(k)]
        words = [f"{n:,} rows" for n in model.sizes]
        more = f"; the first {_max_pictures(shape)} of {k}" if k > _max_pictures(shape) else ""
        caption = f"Each centre as a picture, and its rows when it was found{more}"
        return [_pictures(model.centres[: _max_pictures(shape)], shape, titles, words, caption)]
    spreads = np.ptp(model.encoded_centres, axis=0)
    order = largest_first(spreads)
    if k > MAX_CENTRES:
        order = order[:MAX_CENTRES]
        heads = ["cluster", *(clip(names[c]) for c in order)]
        rows = [[str(j), *(number(x) for x in model.centres[j, order])] for j in range(k)]
        return [Table("Centres, columns in which they differ most", heads, rows)]
    plot = centre_plot(model, order)
    shown = order[:MAX_COLUMNS]
    heads = ["column", *(f"cluster {j}" for j in range(k)), "spread"]
    rows = [
        [names[c], *(number(x) for x in model.centres[:, c]), brief(float(spreads[c]))]
        for c in shown
    ]
    left = len(order) - len(shown)
    caption = "Centres, columns in which they differ most first"
    caption += f"; {left} more differ less" if left else ""
    table = Table(caption, heads, rows, beside=k <= 3)
    return [*_drawn([plot] if plot else [], "centres"), table]


def _pictures(
    rows: np.ndarray,
    shape: Shape,
    titles: Sequence[str],
    words: Sequence[str],
    caption: str,
) -> Pictures:
    """Rows as pictures on one scale, from the least to the greatest number among them."""
    low, high = float(rows.min()), float(rows.max())
    # Pixels that were standardised and are no longer may miss their zero by a rounding.
    low = 0.0 if abs(low) < 1e-9 * high else low
    scale = f". Paper is {number(low)}, full ink {number(high)}"
    items = [
        draw_picture(row.reshape(shape), low, high, title, word)
        for row, title, word in zip(rows, titles, words, strict=False)
    ]
    return Pictures(caption + scale, items)


def _max_pictures(shape: Shape) -> int:
    """The largest number of pictures of a kind on a page."""
    return max(1, min(MAX_PICTURES, MAX_PIXELS // (shape[0] * shape[1])))


def _units(model: ClusterModel) -> str:
    words = "In units of the file; for categories they are shares."
    if model.fit.objective_scale == "standardised":
        words += " The spread is that between the centres, in deviations of the column."
    return words


def _facts(
    model: ClusterModel, evaluated: "EvaluatedClusters", path: str | None = None
) -> list[Fact]:
    standardised = model.fit.objective_scale == "standardised"
    scale = ", each centred and scaled by its deviation" if standardised else " as they are"
    weightless = "the risk gives such rows less than a hundredth of an even weight"
    return [
        cluster_fact(model, path),
        rows_fact(evaluated.counts),
        Fact("distances", f"squared and summed over the columns{scale}"),
        outliers_fact(model, evaluated),
        Fact("outliers count", "" if model.outlier_distance is None else weightless),
        Fact("fingerprint of the rows clustered", model.fit.fingerprint),
    ]
