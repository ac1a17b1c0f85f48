"""Clusters as aligned text, and as the documents that --json prints."""

from typing import TYPE_CHECKING, Any

import numpy as np

from lrisk_cli.errors import opt
from lrisk_cli.evaluation.agreement import Agreement
from lrisk_cli.models.cluster_model import ClusterModel
from lrisk_cli.reports.facts import (
    Fact,
    Grid,
    document_of,
    figure,
    gates_document,
    largest_first,
    named_gates_document,
    note_facts,
    notes_document,
    number,
    plural,
    rows_fact,
    warnings_document,
)
from lrisk_cli.reports.model_facts import describe_features, recorded_rows, weight_facts
from lrisk_cli.reports.terminal import (
    print_facts,
    print_gates,
    print_grid,
    print_rows,
    print_saved,
    print_text,
)

if TYPE_CHECKING:
    from lrisk_cli.api.cluster import Clustered
    from lrisk_cli.api.evaluate import ClusterEvaluation
    from lrisk_cli.evaluation.cluster_evaluation import EvaluatedClusters

# Wider tables of centres do not fit a terminal; longer ones are for `show`.
MOST_CENTRES = 8
MOST_COLUMNS = 8


def print_clusters(saved_to: str | None, found: "Clustered") -> None:
    """What `cluster` did and found."""
    model, evaluated = found.model, found.evaluated
    print_facts(
        [
            cluster_fact(model),
            rows_fact(evaluated.counts),
            *search_facts(model),
            outliers_fact(model, evaluated),
            *note_facts(found.notes),
        ]
    )
    _print_curve(model)
    print()
    _print_sizes(evaluated)
    _print_centres(model, MOST_COLUMNS)
    print()
    _print_figures(evaluated)
    print()
    print_saved([saved_to], "nothing was saved; pass -o CLUSTERS.json to keep them")
    print_gates(found.gate_results)


def print_cluster_evaluation(found: "ClusterEvaluation") -> None:
    """The figures of clusters on a table, and what the gates say."""
    print_facts(
        [
            cluster_fact(found.model, found.path),
            rows_fact(found.counts),
            *weight_facts(found.weight),
            outliers_fact(found.model, found.evaluated),
            *note_facts(found.notes),
        ]
    )
    print()
    _print_sizes(found.evaluated)
    print()
    _print_figures(found.evaluated)
    print_gates(found.gate_results)


def print_cluster_model(path: str, model: ClusterModel) -> None:
    """A file of clusters: how they were found, and their centres in units of the file."""
    rows = rows_fact(recorded_rows(model.fit))
    print_facts([cluster_fact(model, path), rows, *search_facts(model)])
    _print_curve(model)
    print()
    each = zip(model.sizes.tolist(), model.weights, strict=True)
    rows_of = [[str(j), str(size), number(weight)] for j, (size, weight) in enumerate(each)]
    print_grid(Grid(["cluster", "rows", "weight"], rows_of))
    _print_centres(model, None)


def cluster_fact(model: ClusterModel, path: str | None = None) -> Fact:
    """What the clusters are. path: of their file, where that names them."""
    k = len(model.centres)
    features = describe_features(model.encoding)
    if model.scatters is None:
        what = f"{plural(k, 'cluster')} on {features}; {model.risk} of squared distances"
    else:
        shapes = "a scatter of its own" if k == 1 else "scatters of their own"
        what = f"{plural(k, 'normal cluster')} with {shapes} on {features}"
    text = what if path is None else f"{path}: {what}"
    return Fact("model", text, {"k": k, "risk": model.risk})


def search_facts(model: ClusterModel) -> list[Fact]:
    """How the centres were found."""
    fit = model.fit
    n_starts = len(fit.starts)
    starts = f"best of {n_starts} starts" if n_starts > 1 else "one start"
    unit = "epochs" if fit.solver == "sgd" else "iterations"
    scale = " on the standardised scale" if fit.objective_scale == "standardised" else ""
    return [
        *weight_facts(fit.weight),
        Fact("solver", f"{fit.solver}, {starts}, {fit.iterations} {unit}", {"fit": fit.as_dict()}),
        Fact("end", fit.status, continued=True),
        *noise_facts(model),
        Fact("objective", f"{fit.objective:.9g}{scale}"),
        Fact("seed", str(fit.seed), detail=True),
    ]


def noise_facts(model: ClusterModel) -> list[Fact]:
    """The estimated fraction of rows without a cluster, and what it was estimated by."""
    fit = model.fit
    if fit.noise is None:
        return []
    share = f"{100.0 * fit.noise:.3g} % of the rows" if fit.noise else "no row"
    verb = "belong" if fit.noise else "belongs"
    tried = [point.k for point in fit.curve]
    chosen = f"; {tried[0]} to {tried[-1]} were tried" if len(tried) > 1 else ""
    k = plural(picked_number(model), "normal cluster")
    text = f"{share} {verb} to no cluster, estimated by a mixture of {k} and noise{chosen}"
    return [Fact("noise", text)]


def outliers_fact(model: ClusterModel, evaluated: "EvaluatedClusters") -> Fact:
    """How many rows lie far from every centre, and how far that is."""
    border, total = model.outlier_distance, sum(evaluated.outliers)
    values = {"outliers": {"rows": total, "distance": border}}
    if border is None:
        return Fact("outliers", "none: this risk counts every row", values)
    share = 100.0 * total / sum(evaluated.sizes)
    rows = f"{plural(total, 'row')} ({share:.3g} %)"
    return Fact("outliers", f"{rows} farther than {number(border)} from every centre", values)


def cluster_document(path: str | None, found: "Clustered") -> dict[str, Any]:
    """What `cluster --json` prints."""
    model, evaluated = found.model, found.evaluated
    return {
        "command": "cluster",
        "model": path,
        **document_of([cluster_fact(model), *search_facts(model)]),
        "clusters": _clusters(model, evaluated),
        **_evaluation_document(model, evaluated),
        **named_gates_document([(None, result) for result in found.gate_results]),
        "notes": list(found.notes),
        **warnings_document(found.warnings),
        "timings": dict(found.timings),
    }


def cluster_evaluation_document(found: "ClusterEvaluation") -> dict[str, Any]:
    """What `evaluate --json` prints for clusters."""
    each = zip(found.evaluated.sizes, found.evaluated.outliers, strict=True)
    return {
        "command": "evaluate",
        "model": found.path,
        "clusters": [
            {"cluster": j, "rows": rows, "outliers": outliers}
            for j, (rows, outliers) in enumerate(each)
        ],
        **_evaluation_document(found.model, found.evaluated),
        **document_of(weight_facts(found.weight)),
        "gates": gates_document(found.gate_results),
        **notes_document(found.notes),
        **warnings_document(found.warnings),
    }


def cluster_model_document(path: str, model: ClusterModel) -> dict[str, Any]:
    """What `show --json` prints for clusters."""
    return {
        "command": "show",
        "model": path,
        **document_of([cluster_fact(model)]),
        "outlier_distance": model.outlier_distance,
        "clusters": _clusters(model, None),
        **document_of(search_facts(model)),
        **warnings_document(()),
    }


def _evaluation_document(model: ClusterModel, evaluated: "EvaluatedClusters") -> dict[str, Any]:
    return {
        **document_of([rows_fact(evaluated.counts), outliers_fact(model, evaluated)]),
        "metrics": evaluated.figures,
        "labels": None if evaluated.agreement is None else _labels(evaluated.agreement),
    }


def _clusters(model: ClusterModel, evaluated: "EvaluatedClusters | None") -> list[dict[str, Any]]:
    names = model.encoding.column_names
    return [
        {
            "cluster": j,
            "rows": int(model.sizes[j]),
            "weight": float(model.weights[j]),
            **({} if evaluated is None else {"outliers": evaluated.outliers[j]}),
            "centre": dict(zip(names, centre.tolist(), strict=True)),
        }
        for j, centre in enumerate(model.centres)
    ]


def _labels(agreement: Agreement) -> dict[str, Any]:
    return {
        "pairing": list(agreement.pairing),
        "confusion": [
            {"label": label, "inlier": inlier, "rows": rows}
            for label, inlier, rows in zip(
                agreement.labels, agreement.inliers, agreement.table.tolist(), strict=True
            )
        ],
        "unlabelled": agreement.n_unlabelled,
    }


def describe_criterion(model: ClusterModel) -> str:
    """What numbers of clusters are compared by."""
    if model.fit.criterion == "icl":
        return "integrated complete likelihood of clusters and noise"
    return "Calinski and Harabasz's index of the weighted rows"


def picked_number(model: ClusterModel) -> int:
    """The number of clusters of the largest criterion, small clusters included."""
    scored = [
        (point.criterion, point.k) for point in model.fit.curve if point.criterion is not None
    ]
    return max(scored, key=lambda pair: pair[0])[1] if scored else len(model.centres)


def _print_curve(model: ClusterModel) -> None:
    """The numbers of clusters that were tried."""
    if len(model.fit.curve) < 2:
        return
    rows = [["clusters tried", "objective", "criterion", ""]]
    best = picked_number(model)
    for point in model.fit.curve:
        picked = "picked" if point.k == best else ""
        rows.append([str(point.k), number(point.objective), figure(point.criterion), picked])
    print()
    print_rows(rows)
    print_text(f"The largest criterion is picked: {describe_criterion(model)}.")


def count_text(count: float) -> str:
    """A number of rows, or of what they count for."""
    return f"{count:,}" if isinstance(count, int) else number(count)


def _print_sizes(evaluated: "EvaluatedClusters") -> None:
    grid = sizes_grid(evaluated)
    print_rows([grid.heads, *grid.rows])


def sizes_grid(evaluated: "EvaluatedClusters") -> Grid:
    """Rows of each cluster, and how they divide by label; planted labels are starred."""
    agreement = evaluated.agreement
    heads = ["cluster", "rows", "outliers"]
    rows = [
        [str(j), str(size), str(outliers)]
        for j, (size, outliers) in enumerate(zip(evaluated.sizes, evaluated.outliers, strict=True))
    ]
    if agreement is not None:
        starred = zip(agreement.labels, agreement.inliers, strict=True)
        heads += ["label", *(f"{label}{'' if inlier else '*'}" for label, inlier in starred)]
        for j, row in enumerate(rows):
            row += [agreement.pairing[j] or "", *map(count_text, agreement.table[:, j].tolist())]
    return Grid(heads, rows)


def _print_centres(model: ClusterModel, most: int | None) -> None:
    """The centres in units of the file, or how many there are."""
    k, grid = len(model.centres), centres_grid(model)
    print()
    if k > MOST_CENTRES:
        print_text(f"The {k} centres are in the model file and in {opt('json')}.")
        return
    print_rows([grid.heads, *grid.rows[:most]])
    if most is not None and len(grid.rows) > most:
        print(f"and {len(grid.rows) - most} more columns that differ less")


def centres_grid(model: ClusterModel) -> Grid:
    """The centres in units of the file, columns in which they differ most first."""
    spreads, names = np.ptp(model.encoded_centres, axis=0), model.encoding.column_names
    rows = [
        [names[j], *map(number, model.centres[:, j]), number(float(spreads[j]))]
        for j in largest_first(spreads)
    ]
    clusters = (f"cluster {j}" for j in range(len(model.centres)))
    return Grid(["centre of", *clusters, "spread"], rows)


def _print_figures(evaluated: "EvaluatedClusters") -> None:
    """Risks of the squared distances, then what the labels say."""
    of_labels = {} if evaluated.agreement is None else evaluated.agreement.figures
    rows = [["risk of the squared distance", "value"]]
    risks = [name for name in evaluated.figures if name not in (*of_labels, "outlier_fraction")]
    rows += [[name, figure(evaluated.figures[name])] for name in risks]
    if of_labels:
        rows += [[], *([name, figure(value)] for name, value in of_labels.items())]
    print_rows(rows)
    if evaluated.agreement is not None and not all(evaluated.agreement.inliers):
        print("* planted outliers: evaluated by their distance only")
    if evaluated.agreement is not None and evaluated.agreement.n_unlabelled:
        print(f"{evaluated.agreement.n_unlabelled} rows have no label and are not evaluated by it")
