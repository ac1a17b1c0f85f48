"""The options of `lrisk cluster`, and what their texts mean."""

from typing import TYPE_CHECKING, Annotated

import typer

from lrisk_cli.commands.fit_options import parse_names
from lrisk_cli.errors import UsageError
from lrisk_cli.names import RISKS, ClusterSolver, Standardize

if TYPE_CHECKING:
    from lrisk_cli.clusters.clustering import ClusterOptions

Clusters = Annotated[
    str,
    typer.Option(
        "-k",
        "--clusters",
        metavar="K|A..B",
        help="Number of clusters; of a range, such as 2..10, each is tried and the one with the "
        "largest criterion (Calinski and Harabasz) is kept.",
        show_default=False,
    ),
]
Risk = Annotated[
    str,
    typer.Option(
        "--risk",
        metavar="RISK",
        help="What to minimise of the squared distances: subquantile:P, lower-extremile:R or mean "
        f"(k-means). Subquantile: {RISKS['subquantile']}. Lower extremile: "
        f"{RISKS['lower-extremile']}.",
    ),
]
StandardizeChoice = Annotated[
    Standardize,
    typer.Option("--standardize", help="Centre and scale the features, or none (both: features)."),
]
Solver = Annotated[
    ClusterSolver,
    typer.Option(
        "--solver",
        help="lloyd alternates between clusters, weights and centres, and never gets worse; sgd "
        "steps on the risk of random batches, its first start from centres at 0.",
    ),
]
Starts = Annotated[
    int, typer.Option("--starts", min=1, help="Starts, of which the best end is kept.")
]
Tol = Annotated[
    float | None,
    typer.Option(
        "--tol",
        min=0.0,
        help="Stop when an iteration gains less than this share of the objective (lloyd).",
        show_default="1e-7",
    ),
]
MaxIterations = Annotated[
    int | None,
    typer.Option("--max-iterations", min=1, help="Stop after so many (lloyd).", show_default="300"),
]
BatchSize = Annotated[
    int | None,
    typer.Option("--batch-size", min=1, help="Rows in a batch (sgd).", show_default="64"),
]
Step = Annotated[float | None, typer.Option("--step", help="Step size (sgd).", show_default="1")]
Epochs = Annotated[
    int | None,
    typer.Option("--epochs", min=1, help="Sweeps over the rows (sgd).", show_default="50"),
]
Label = Annotated[
    str | None,
    typer.Option(
        "--label",
        metavar="COLUMN",
        help="Column with the true groups: never a feature, only compared with the clusters.",
    ),
]
InlierLabels = Annotated[
    str | None,
    typer.Option(
        "--inlier-labels",
        metavar="A,B",
        help="Labels to find; rows of other labels are outliers that someone planted.",
        show_default="all",
    ),
]
Output = Annotated[
    str | None, typer.Option("-o", "--output", metavar="FILE", help="Write the clusters (JSON).")
]
AssignmentsFile = Annotated[
    str | None,
    typer.Option(
        "--assignments",
        metavar="FILE",
        help="Write every row's cluster, distance, weight, rank and whether it is an outlier "
        "(.csv, .tsv, .parquet).",
    ),
]
ImageShape = Annotated[
    str | None,
    typer.Option(
        "--image-shape",
        metavar="HEIGHTxWIDTH",
        help="The features are the pixels of pictures, line by line, such as 28x28: the page shows "
        "centres and outliers as pictures.",
    ),
]


def parse_clusters(text: str) -> tuple[int, ...]:
    """ "3" or "2..10"."""
    first, dots, last = text.partition("..")
    try:
        low = int(first)
        high = int(last) if dots else low
    except ValueError:
        low = high = 0
    if not 1 <= low <= high:
        raise UsageError(f"-k takes a number of clusters, or a range such as 2..10; got {text!r}")
    return tuple(range(low, high + 1))


def parse_inliers(text: str | None, label: str | None) -> tuple[str, ...]:
    """Labels separated by commas; they mean something only where a column holds labels."""
    if text is None:
        return ()
    if label is None:
        raise UsageError("--inlier-labels has no meaning without --label; add --label COLUMN")
    labels = parse_names(text)
    if not labels:
        raise UsageError("--inlier-labels names no label; pass some, separated by commas")
    return labels


def solver_options(
    risk: str,
    solver: ClusterSolver,
    starts: int,
    seed: int,
    of_lloyd: dict[str, float | int | None],
    of_sgd: dict[str, float | int | None],
) -> "ClusterOptions":
    """What to minimise and how; an option that the solver would not read is refused."""
    from lrisk_cli.clusters.clustering import ClusterOptions, check_options
    from lrisk_cli.risk.spectrum import parse_risk

    other, own = (of_sgd, of_lloyd) if solver is ClusterSolver.LLOYD else (of_lloyd, of_sgd)
    for name, value in other.items():
        if value is not None:
            raise UsageError(
                f"--{name.replace('_', '-')} has no meaning for --solver {solver}; leave it out"
            )
    given = {name: value for name, value in own.items() if value is not None}
    options = ClusterOptions(parse_risk(risk), solver, starts, seed=seed, **given)  # type: ignore[arg-type]
    check_options(options)
    return options
