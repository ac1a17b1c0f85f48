"""Plots of clusters: rows in the plane, distances, fractions of rows, centres, the search."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.evaluation.quantiles import quantile_ranks
from lrisk_cli.models.cluster_model import ClusterModel
from lrisk_cli.reports.clusters import describe_criterion, picked_number
from lrisk_cli.reports.figures import Guide, Look, Plot, Series
from lrisk_cli.reports.html import Table, brief, clip
from lrisk_cli.reports.plots import MAX_POINTS, QUANTILES
from lrisk_cli.types import Array, Flags

if TYPE_CHECKING:
    from lrisk_cli.evaluation.cluster_evaluation import EvaluatedClusters, SeenRows

Codes = NDArray[np.intp]

# Colours of the palette that are not the neutral one.
MOST_COLORS = 7
MOST_COLUMNS = 24
# Rows that the second axis is found by, where the centres span only one.
AXIS_ROWS = 300


def row_plots(model: ClusterModel, evaluated: "EvaluatedClusters", seen: "SeenRows") -> list[Plot]:
    """The rows in the plane, where there is one, and how far they are from their centres."""
    flat = [plane_plot(model, evaluated, seen)] if seen.X.shape[1] > 1 else []
    return [*flat, distance_plot(model, seen)]


def plane_plot(model: ClusterModel, evaluated: "EvaluatedClusters", seen: "SeenRows") -> Plot:
    """Rows and centres in the plane where the centres lie farthest apart; outliers are crosses."""
    points, centres, labels, words = _flatten(model, seen)
    edges = _edges(points, centres)
    inside = np.all((points >= edges[0]) & (points <= edges[1]), axis=1)
    n_rows, n_shown, n_beyond = len(seen.distances), len(points), int(np.sum(~inside))
    note = f"{n_shown:,} of {n_rows:,} rows, evenly chosen. " if n_shown < n_rows else ""
    note += f"{n_beyond} lie beyond the edges. " if n_beyond else ""
    n_outliers, k = sum(evaluated.outliers), len(model.centres)
    title = f"{k} cluster{'s' * (k != 1)} of {n_rows:,} rows"
    if n_outliers:
        title = f"{n_outliers:,} of {n_rows:,} rows lie far from every centre"
    return Plot(
        title=title,
        alternative=f"Rows as points and the {k} centres as larger ones. {words} Rows of each "
        f"cluster: {', '.join(map(str, evaluated.sizes[:MOST_COLUMNS]))}; outliers: {n_outliers}.",
        x_label=labels[0],
        y_label=labels[1],
        series=_clouds(seen, points, centres, inside),
        x_range=(edges[0][0], edges[1][0]),
        y_range=(edges[0][1], edges[1][1]),
        note=note + words,
    )


def _flatten(model: ClusterModel, seen: "SeenRows") -> tuple[Array, Array, tuple[str, str], str]:
    """Points and centres with two coordinates, names of these, and a word about the view."""
    if seen.X.shape[1] == 2:
        first, second = (clip(name) for name in model.encoding.column_names)
        return model.in_units(seen.X), model.centres, (first, second), ""
    origin, axes, share = plane(model, seen)
    names = ("along the first axis", "along the second axis")
    words = (
        f"The plane holds {100.0 * share:.3g} % of the spread between the centres."
        if len(model.centres) > 1
        else "The plane is that of the rows' largest spread."
    )
    points, centres = (
        np.sum((rows - origin)[:, np.newaxis] * axes, axis=2)
        for rows in (seen.X, model.encoded_centres)
    )
    return points, centres, names, words


def plane(model: ClusterModel, seen: "SeenRows") -> tuple[Array, Array, float]:
    """Origin, two orthonormal axes (2, d), and the fraction of variance between centres.

    The first principal axes of the centres, weighted by their rows; where these lie on a line or a
    point, the principal axes of what it leaves of the rows that are no outliers. Outliers do not
    turn the view.
    """
    centres = model.encoded_centres
    shares = (model.sizes / model.sizes.sum())[:, np.newaxis]
    origin = np.sum(shares * centres, axis=0)
    axes, spreads = _principal(np.sqrt(shares) * (centres - origin))
    if len(axes) < 2:
        inliers = np.flatnonzero(~seen.outliers)
        chosen = inliers[:: max(1, len(inliers) // AXIS_ROWS)]
        rest = seen.X[chosen] - centres[seen.clusters[chosen]]
        for axis in axes:
            rest = rest - np.sum(rest * axis, axis=1)[:, np.newaxis] * axis
        axes = np.concatenate([axes, _principal(rest)[0]])
    while len(axes) < 2:
        axes = np.concatenate([axes, _orthogonal(axes, centres.shape[1])])
    total = float(np.sum(spreads**2))
    return origin, axes[:2], float(np.sum(spreads[:2] ** 2)) / total if total else 1.0


def _principal(rows: Array) -> tuple[Array, Array]:
    """Principal axes of centred rows and their lengths; signs are such that sums are positive."""
    _, lengths, axes = np.linalg.svd(rows, full_matrices=False)
    kept = lengths > 1e-9 * max(float(lengths[0]), 1e-300) if len(lengths) else lengths > 0.0
    axes, lengths = axes[kept], lengths[kept]
    signs = np.where(axes.sum(axis=1) < 0.0, -1.0, 1.0)
    return signs[:, np.newaxis] * axes, lengths


def _orthogonal(axes: Array, d: int) -> Array:
    """A unit vector that no axis has a part in. (1, d)."""
    found = np.eye(d)[int(np.argmin(np.sum(axes**2, axis=0)))]
    for axis in axes:
        found = found - float(found @ axis) * axis
    return np.asarray(found / np.linalg.norm(found))[np.newaxis]


def _edges(points: Array, centres: Array) -> tuple[Array, Array]:
    """Corners of the picture: all centres and nearly all rows, with a margin; a row that is a
    million times farther than others must not make one point of these."""
    low, high = np.quantile(points, [0.01, 0.99], axis=0)
    low, high = np.minimum(low, centres.min(axis=0)), np.maximum(high, centres.max(axis=0))
    margin = 0.2 * (high - low)
    margin[margin == 0.0] = 1.0
    return low - margin, high + margin


def _clouds(seen: "SeenRows", points: Array, centres: Array, inside: Flags) -> list[Series]:
    """Rows by cluster, outliers, centres; one colour for all rows where clusters are many."""
    few = len(centres) <= MOST_COLORS
    series = []
    for j in range(len(centres)) if few else (0,):
        own = inside & ~seen.outliers & ((seen.clusters == j) if few else True)
        name = f"cluster {j}" if few else "rows"
        series.append(_spread(name, points[own], 1 + j, "dots"))
    far = inside & seen.outliers
    if far.any():
        series.append(_spread("outliers", points[far], 0, "crosses"))
    for j, centre in enumerate(centres):
        name = "" if few or j else "centres"
        series.append(_spread(name, centre[np.newaxis], 1 + j if few else 2, "spots"))
    return series


def _spread(name: str, points: Array, color: int, look: Look) -> Series:
    return Series(name, points[:, 0], points[:, 1], color, look)


def distance_plot(model: ClusterModel, seen: "SeenRows") -> Plot:
    """The fraction of rows at least so far from their centre."""
    n = len(seen.distances)
    ranks = np.unique(np.rint(np.geomspace(1, n, MAX_POINTS)).astype(np.intp))
    values = seen.distances[quantile_ranks(n, np.array(QUANTILES)) - 1].tolist()
    named = dict(zip(QUANTILES, map(brief, values), strict=True))
    border = model.outlier_distance
    return Plot(
        title=f"Half of the rows lie within {named[0.5]} of their centre, one in a hundred beyond "
        f"{named[0.99]}",
        alternative="Share of rows at least so far from the nearest centre, against the distance: "
        f"median {named[0.5]}, quantile 0.9 {named[0.9]}, 0.99 {named[0.99]}, largest "
        f"{named[1.0]}.",
        x_label="distance to the nearest centre" + _scale(model),
        y_label="share of rows at least so far",
        series=[Series("", seen.distances[n - ranks], ranks / n, 1)],
        y_log=True,
        y_percent=True,
        guides=[] if border is None else [Guide("x", border, "outliers from here on")],
        data=Table(
            "Quantiles of the distance",
            ["p", "distance"],
            [[f"{level:g}", text] for level, text in named.items()],
            texts=0,
        ),
    )


def share_plot(model: ClusterModel, evaluated: "EvaluatedClusters") -> Plot | None:
    """The fraction of rows in each cluster, and of the weight when it was found."""
    k = len(model.centres)
    if not 1 < k <= MOST_COLUMNS:
        return None
    y = np.arange(k, dtype=np.float64)
    rows = np.array(evaluated.sizes, np.float64) / sum(evaluated.sizes)
    weights = model.weights / model.weights.sum()
    largest, smallest = int(np.argmax(rows)), int(np.argmin(rows))
    return Plot(
        title=f"Cluster {largest} has {100.0 * rows[largest]:.3g} % of the rows, cluster "
        f"{smallest} {100.0 * rows[smallest]:.3g} %",
        alternative="Share of the rows and of the risk's weight in each cluster; the table has the "
        "numbers.",
        x_label="share of the rows, and of the weight when the clusters were found",
        y_label="cluster",
        series=[
            Series("share of the rows", rows, y, 0, "marks"),
            Series("share of the weight", weights, y, 1, "marks"),
        ],
        x_percent=True,
        x_range=(0.0, 1.05 * float(max(rows.max(), weights.max()))),
        rows=[str(j) for j in range(k)],
        note="Left of its grey mark, a cluster has many rows that count little.",
    )


def centre_plot(model: ClusterModel, order: Sequence[int]) -> Plot | None:
    """Centres across columns, where both are few. order: the columns from the top."""
    k = len(model.centres)
    if k > MOST_COLORS or not 2 < len(order) <= MOST_COLUMNS:
        return None
    centres, names = model.encoded_centres[:, order], model.encoding.column_names
    y = np.arange(len(order), dtype=np.float64)
    first = clip(names[order[0]])
    unit = ", in deviations" if model.fit.objective_scale == "standardised" else ""
    return Plot(
        title=f"The centres differ most in '{first}'" if k > 1 else "The centre",
        alternative="Each centre's value in each column on the scale that was clustered; the table "
        "has them in units of the file.",
        x_label=f"value of the centre{unit}",
        y_label="column",
        series=[
            Series(f"cluster {j}", centre, y, 1 + j, "marks") for j, centre in enumerate(centres)
        ],
        rows=[clip(names[column]) for column in order],
        guides=[Guide("x", 0.0)] if unit else [],
    )


def search_plots(model: ClusterModel) -> list[Plot]:
    """How each start ended, and what each number of clusters came to."""
    return [*_start_plot(model), *_curve_plots(model)]


def _start_plot(model: ClusterModel) -> list[Plot]:
    ends = np.array([start.objective for start in model.fit.starts])
    if len(ends) < 2:
        return []
    best = float(ends.min())
    n_best = int(np.count_nonzero(ends <= best + 1e-6 * abs(best)))
    if n_best == len(ends):
        return []
    numbers = np.arange(1.0, len(ends) + 1.0)
    statuses = model.fit.starts
    return [
        Plot(
            title=f"{n_best} of {len(ends)} starts ended at the best objective found",
            alternative=f"Objective at the end of each start: best {brief(best)}, worst "
            f"{brief(float(ends.max()))}.",
            x_label="start",
            y_label="objective" + _scale(model),
            series=[Series("", numbers, ends, 1, "marks")],
            ticks=_whole(numbers),
            note="The best is kept. The more starts agree, the less likely a better end is.",
            data=Table(
                "Starts",
                ["start", "end", "objective", "iterations"],
                [
                    [str(n), start.status, f"{start.objective:.9g}", str(start.iterations)]
                    for n, start in enumerate(statuses, 1)
                ],
                texts=2,
            ),
        )
    ]


def _curve_plots(model: ClusterModel) -> list[Plot]:
    curve = model.fit.curve
    if not curve:
        return []
    k, words = picked_number(model), describe_criterion(model)
    scored = [point for point in curve if point.criterion is not None]
    numbers = Table(
        "Numbers of clusters tried",
        ["clusters", "objective", "criterion"],
        [[str(p.k), brief(p.objective), brief(p.criterion)] for p in curve],
        texts=0,
    )
    criteria = [(float(p.k), float(p.criterion or 0.0)) for p in scored]
    objectives = [(float(p.k), p.objective) for p in curve]
    ends = " to ".join(brief(p.objective) for p in (curve[0], curve[-1]))
    plots = []
    for title, label, pairs in (
        (f"The criterion is largest for {k} clusters", "criterion", criteria),
        (f"The objective goes from {ends}", "objective" + _scale(model), objectives),
    ):
        if not pairs:
            continue
        x, y = np.array(pairs).T
        plots.append(
            Plot(
                title=title,
                alternative=f"{title}: {label} against the number of clusters, {brief(float(y[0]))}"
                f" at {int(x[0])}, {brief(float(y[-1]))} at {int(x[-1])}.",
                x_label="clusters",
                y_label=label,
                series=[Series("", x, y, 1), Series("", x, y, 1, "marks")],
                ticks=_whole(x),
                guides=[Guide("x", float(k), "picked")],
                note=f"{words[:1].upper()}{words[1:]}."
                if label == "criterion"
                else "Where the line turns flat, more clusters only divide what belongs together.",
                data=numbers if label == "criterion" else None,
            )
        )
    return plots


def _whole(numbers: Array) -> dict[float, str]:
    """Whole-number ticks, as many as fit on the axis."""
    return {float(n): f"{n:.0f}" for n in numbers[:: 1 + len(numbers) // 16]}


def _scale(model: ClusterModel) -> str:
    return ", standardised" if model.fit.objective_scale == "standardised" else ""
