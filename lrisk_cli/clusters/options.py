"""Options: how many clusters to find, and by which method."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from lrisk_cli.errors import InvalidOption, opt
from lrisk_cli.names import ESTIMATED_RISK, RISKS, ClusterSolver
from lrisk_cli.options import option

if TYPE_CHECKING:
    from lrisk_cli.clusters.clustering import ClusterOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Clusters:
    """The number of clusters and the risk of the squared distances."""

    panel: ClassVar[str] = "Model"

    clusters: str = option(
        "",
        short="-k",
        metavar="K|A..B|auto",
        help="Number of clusters; of a range, such as 2..10, or of 1..10 (auto), each is tried and "
        "the one with the largest criterion is kept.",
        required=True,
    )
    risk: str = option(
        ESTIMATED_RISK,
        metavar="RISK",
        help="What to minimise of the squared distances: subquantile:P, lower-extremile:R or mean "
        f"(k-means). Subquantile: {RISKS['subquantile']}; auto: P is one less the estimated "
        f"fraction of rows that belong to no cluster. Lower extremile: {RISKS['lower-extremile']}.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSearch:
    """The method that places the centres; None leaves a parameter to the method."""

    panel: ClassVar[str] = "Solver"

    solver: ClusterSolver = option(
        ClusterSolver.LLOYD,
        help="lloyd alternates between clusters, weights and centres, and never increases the "
        "objective; sgd steps on the risk of random batches, its first start from centres at 0.",
    )
    starts: int = option(
        10, metavar="N", minimum=1, help="Number of starts; the best result is kept."
    )
    tol: float | None = option(
        metavar="NUMBER",
        minimum=0.0,
        help="Stop when an iteration gains less than this fraction of the objective (lloyd).",
        shown="1e-7",
        expert=True,
    )
    max_iterations: int | None = option(
        metavar="N", minimum=1, help="Stop after so many iterations (lloyd).", shown="300",
        expert=True,
    )  # fmt: skip
    batch_size: int | None = option(
        metavar="N", minimum=1, help="Rows in a batch (sgd).", shown="64", expert=True
    )
    step: float | None = option(metavar="NUMBER", help="Step size (sgd).", shown="1", expert=True)
    epochs: int | None = option(
        metavar="N", minimum=1, help="Passes over the rows (sgd).", shown="50", expert=True
    )

    def parse(self, risk: str, seed: int) -> "ClusterOptions":
        """What to minimise and how; an option that the solver does not use is refused."""
        from lrisk_cli.clusters.clustering import ClusterOptions, check_options
        from lrisk_cli.risk.spectrum import parse_risk

        of_lloyd = {"tol": self.tol, "max_iterations": self.max_iterations}
        of_sgd = {"batch_size": self.batch_size, "step": self.step, "epochs": self.epochs}
        is_lloyd = self.solver is ClusterSolver.LLOYD
        used, unused = (of_lloyd, of_sgd) if is_lloyd else (of_sgd, of_lloyd)
        reader = ClusterSolver.SGD if is_lloyd else ClusterSolver.LLOYD
        for name, value in unused.items():
            if value is not None:
                chosen = opt("solver", self.solver)
                raise InvalidOption(name, f"is not used by {chosen} (only by {reader})")
        given: dict[str, Any] = {name: value for name, value in used.items() if value is not None}
        estimated = risk.strip().lower() == ESTIMATED_RISK
        spectrum = parse_risk("mean" if estimated else risk)
        options = ClusterOptions(
            spectrum, self.solver, self.starts, seed=seed, estimated=estimated, **given
        )
        check_options(options)
        return options


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterOutput:
    """The files of a clustering."""

    panel: ClassVar[str] = "Output"

    output: str | None = option(
        short="-o",
        metavar="FILE",
        writes=True,
        help="Write the clusters (JSON); - is standard output.",
    )
    assignments: str | None = option(
        metavar="FILE",
        writes=True,
        help="Write every row's cluster, distance, weight, rank and whether it is an outlier "
        "(.csv, .tsv, .parquet).",
    )


def parse_clusters(text: str) -> tuple[int, ...]:
    """ "3" or "2..10"; none for "auto"."""
    if text.strip().lower() == "auto":
        return ()
    first, dots, last = text.partition("..")
    try:
        low = int(first)
        high = int(last) if dots else low
    except ValueError:
        low = high = 0
    if not 1 <= low <= high:
        raise InvalidOption(
            "clusters",
            f"takes a number of clusters, a range such as 2..10, or auto; got {text!r}",
        )
    return tuple(range(low, high + 1))
