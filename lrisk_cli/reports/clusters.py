"""Clusters for people, as aligned text, and for programs, as the documents that --json prints."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lrisk_cli.design.raw_rows import RowCounts
from lrisk_cli.errors import opt
from lrisk_cli.evaluation.agreement import Agreement
from lrisk_cli.evaluation.gates import Verdict
from lrisk_cli.evaluation.metrics import Figures
from lrisk_cli.models.cluster_model import ClusterModel
from lrisk_cli.reports.documents import gates_document, largest_first, rows_document
from lrisk_cli.reports.terminal import (
    describe_rows,
    figure,
    gate_row,
    number,
    plain,
    print_pairs,
    print_rows,
    recorded_rows,
)

# Wider tables of centres do not fit a terminal; longer ones are for `show`.
MOST_CENTRES = 8
MOST_COLUMNS = 8


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """Rows among clusters. sizes, outliers: (k,) rows of each cluster, and outliers among them."""

    counts: RowCounts
    sizes: Sequence[int]
    outliers: Sequence[int]
    figures: Figures
    agreement: Agreement | None


def print_clusters(
    model: ClusterModel, judged: Judged, saved_to: str | None, notes: Sequence[str]
) -> None:
    """What `cluster` did and found."""
    print_pairs(
        [
            ("model", describe_clusters(model)),
            ("rows", describe_rows(judged.counts)),
            *course(model),
            ("outliers", describe_outliers(model, judged)),
            *(("note", plain(note)) for note in notes),
        ]
    )
    _print_curve(model)
    print()
    _print_sizes(judged)
    _print_centres(model, MOST_COLUMNS)
    print()
    _print_figures(judged)
    print()
    print(
        f"saved to {saved_to}"
        if saved_to
        else "nothing was saved; pass -o CLUSTERS.json to keep them"
    )


def print_cluster_evaluation(
    path: str, model: ClusterModel, judged: Judged, verdicts: Sequence[Verdict]
) -> None:
    """The figures of clusters on a table, and what the gates say."""
    print_pairs(
        [
            ("model", f"{path}: {describe_clusters(model)}"),
            ("rows", describe_rows(judged.counts)),
            ("outliers", describe_outliers(model, judged)),
        ]
    )
    print()
    _print_sizes(judged)
    print()
    _print_figures(judged)
    if verdicts:
        print()
        print_rows([gate_row(verdict) for verdict in verdicts], numbers=False)


def print_cluster_model(path: str, model: ClusterModel) -> None:
    """A file of clusters: how they were found, and their centres in units of the file."""
    fit = model.fit
    rows = describe_rows(recorded_rows(fit))
    print_pairs([("model", f"{path}: {describe_clusters(model)}"), ("rows", rows), *course(model)])
    _print_curve(model)
    print()
    sizes = model.sizes.tolist()
    print_rows(
        [
            ["cluster", "rows", "weight"],
            *(
                [str(j), str(size), number(weight)]
                for j, (size, weight) in enumerate(zip(sizes, model.weights, strict=True))
            ),
        ]
    )
    _print_centres(model, None)


def describe_clusters(model: ClusterModel) -> str:
    """One line on what the clusters are."""
    k, encoding = len(model.centres), model.encoding
    n_features = len(encoding.features)
    features = f"{n_features} feature" + "s" * (n_features != 1)
    if encoding.n_columns != n_features:
        features += f" ({encoding.n_columns} columns)"
    return f"{k} cluster{'s' * (k != 1)} on {features}; {model.risk} of squared distances"


def cluster_document(
    path: str | None,
    model: ClusterModel,
    judged: Judged,
    timings: Mapping[str, float],
    notes: Sequence[str],
) -> dict[str, Any]:
    """What `cluster --json` prints. timings: seconds by name."""
    return {
        "command": "cluster",
        "model": path,
        "k": len(model.centres),
        "risk": model.risk,
        "fit": model.fit.as_dict(),
        "clusters": _clusters(model, judged),
        **_judged_document(model, judged),
        "notes": list(notes),
        "timings": dict(timings),
    }


def cluster_evaluation_document(
    path: str, model: ClusterModel, judged: Judged, verdicts: Sequence[Verdict]
) -> dict[str, Any]:
    """What `evaluate --json` prints for clusters."""
    each = zip(judged.sizes, judged.outliers, strict=True)
    return {
        "command": "evaluate",
        "model": path,
        "clusters": [
            {"cluster": j, "rows": rows, "outliers": outliers}
            for j, (rows, outliers) in enumerate(each)
        ],
        **_judged_document(model, judged),
        "gates": gates_document(verdicts),
    }


def cluster_model_document(path: str, model: ClusterModel) -> dict[str, Any]:
    """What `show --json` prints for clusters."""
    return {
        "command": "show",
        "model": path,
        "k": len(model.centres),
        "risk": model.risk,
        "outlier_distance": model.outlier_distance,
        "clusters": _clusters(model, None),
        "fit": model.fit.as_dict(),
    }


def _judged_document(model: ClusterModel, judged: Judged) -> dict[str, Any]:
    return {
        "rows": rows_document(judged.counts),
        "outliers": {"rows": sum(judged.outliers), "distance": model.outlier_distance},
        "metrics": judged.figures,
        "labels": None if judged.agreement is None else _labels(judged.agreement),
    }


def _clusters(model: ClusterModel, judged: Judged | None) -> list[dict[str, Any]]:
    names = model.encoding.column_names
    return [
        {
            "cluster": j,
            "rows": int(model.sizes[j]),
            "weight": float(model.weights[j]),
            **({} if judged is None else {"outliers": judged.outliers[j]}),
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


def course(model: ClusterModel) -> list[tuple[str, str]]:
    """How the centres were found."""
    fit = model.fit
    n_starts = len(fit.starts)
    starts = f"best of {n_starts} starts" if n_starts > 1 else "one start"
    unit = "epochs" if fit.solver == "sgd" else "iterations"
    scale = " on the standardised scale" if fit.objective_scale == "standardised" else ""
    return [
        ("solver", f"{fit.solver}, {starts}, {fit.iterations} {unit}"),
        ("", fit.status),
        ("objective", f"{fit.objective:.9g}{scale}"),
    ]


def describe_outliers(model: ClusterModel, judged: Judged) -> str:
    """How many rows lie far from every centre, and how far that is."""
    if model.outlier_distance is None:
        return "none: this risk counts every row"
    total = sum(judged.outliers)
    share = 100.0 * total / sum(judged.sizes)
    rows = f"{total} row" + "s" * (total != 1)
    return f"{rows} ({share:.3g} %) farther than {number(model.outlier_distance)} from every centre"


def _print_curve(model: ClusterModel) -> None:
    """The numbers of clusters that were tried."""
    if not model.fit.curve:
        return
    rows = [["clusters tried", "objective", "criterion", ""]]
    for point in model.fit.curve:
        picked = "picked" if point.k == len(model.centres) else ""
        rows.append([str(point.k), number(point.objective), figure(point.criterion), picked])
    print()
    print_rows(rows)
    print("The largest criterion is picked: Calinski and Harabasz's index of the weighted rows.")


def _print_sizes(judged: Judged) -> None:
    """Rows of each cluster, and how they divide by label; planted labels are starred."""
    agreement = judged.agreement
    heads = ["cluster", "rows", "outliers"]
    rows = [
        [str(j), str(size), str(outliers)]
        for j, (size, outliers) in enumerate(zip(judged.sizes, judged.outliers, strict=True))
    ]
    if agreement is not None:
        starred = zip(agreement.labels, agreement.inliers, strict=True)
        heads += ["label", *(f"{label}{'' if inlier else '*'}" for label, inlier in starred)]
        for j, row in enumerate(rows):
            row += [agreement.pairing[j] or "", *map(str, agreement.table[:, j])]
    print_rows([heads, *rows])


def _print_centres(model: ClusterModel, most: int | None) -> None:
    """The centres in units of the file, columns in which they differ most first."""
    k, names = len(model.centres), model.encoding.column_names
    print()
    if k > MOST_CENTRES:
        print(f"The {k} centres are in the model file and in {opt('json')}.")
        return
    spreads = np.ptp(model.encoded_centres, axis=0)
    order = largest_first(spreads)
    rows = [["centre of", *(f"cluster {j}" for j in range(k)), "spread"]]
    for column in order[:most]:
        values = [number(value) for value in model.centres[:, column]]
        rows.append([names[column], *values, number(float(spreads[column]))])
    print_rows(rows)
    if most is not None and len(order) > most:
        print(f"and {len(order) - most} more columns that differ less")


def _print_figures(judged: Judged) -> None:
    """Risks of the squared distances, then what the labels say."""
    of_labels = {} if judged.agreement is None else judged.agreement.figures
    rows = [["risk of the squared distance", "value"]]
    risks = [name for name in judged.figures if name not in (*of_labels, "outlier_fraction")]
    rows += [[name, figure(judged.figures[name])] for name in risks]
    if of_labels:
        rows += [[], *([name, figure(value)] for name, value in of_labels.items())]
    print_rows(rows)
    if judged.agreement is not None and not all(judged.agreement.inliers):
        print("* planted outliers: judged by their distance only")
    if judged.agreement is not None and judged.agreement.n_unlabelled:
        print(f"{judged.agreement.n_unlabelled} rows have no label and are not judged by it")
