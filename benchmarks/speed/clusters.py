"""How fast are iterations of clustering beside scikit-learn's KMeans?

Bound: at most 1.2x KMeans (lloyd) per iteration for the mean, 1.3x for falling risks.

Data: generated.

One thread, the same start and number of iterations, CPU time.
"""

from collections.abc import Iterator
from time import process_time

import numpy as np
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from benchmarks.common.clusters import row
from benchmarks.common.record import make_parser, start
from lrisk_cli.clusters.lloyd import Lloyd
from lrisk_cli.risk.row_weights import RowWeighter
from lrisk_cli.risk.spectrum import parse_risk


def speed_rows(n: int, repeats: int) -> Iterator[dict[str, object]]:
    """Time per iteration beside KMeans, on clusters and on rows without any."""
    rng = np.random.default_rng(0)
    d, k, n_iterations = 50, 20, 25
    groups = 10.0 * rng.uniform(-1.0, 1.0, (k, d))[rng.integers(0, k, n)]
    tables = {
        "overlapping clusters": groups + 5.0 * rng.standard_normal((n, d)),
        "no clusters": rng.standard_normal((n, d)),
    }
    for name, X in tables.items():
        start = np.ascontiguousarray(X[rng.choice(n, k, replace=False)])
        seconds: dict[str, list[float]] = {}
        inertia = {}
        for _ in range(repeats):
            peer = KMeans(k, init=start, n_init=1, tol=0.0, max_iter=n_iterations)
            began = process_time()
            peer.fit(X)
            seconds.setdefault("peer", []).append((process_time() - began) / peer.n_iter_)
            inertia["peer"] = peer.inertia_
            for risk in ("mean", "subquantile:0.75", "lower-extremile:2"):
                began = process_time()
                spectrum = parse_risk(risk)
                lloyd = Lloyd(X, k, RowWeighter(spectrum, spectrum.weights(n)))
                ended = lloyd.descend(start, 0.0, n_iterations)
                spent = (process_time() - began) / ended.iterations
                seconds.setdefault(risk, []).append(spent)
                inertia[risk] = n * ended.objective
        typical = {what: float(np.median(values)) for what, values in seconds.items()}
        for risk in ("mean", "subquantile:0.75", "lower-extremile:2"):
            most = 1.2 if risk == "mean" else 1.3
            ratio = typical[risk] / typical["peer"]
            same = f", inertia {inertia['mean'] / inertia['peer'] - 1:+.1e}" * (risk == "mean")
            yield row(
                f"{n}x{d}, {k} clusters, {name}: {risk}",
                ratio,
                "x KMeans per iteration",
                f"at most {most}",
                ratio <= most,
                f"{1e3 * typical[risk]:.1f} ms against {1e3 * typical['peer']:.1f} ms{same}",
            )


def main() -> None:
    options = make_parser(__doc__, "fewer rows and repeats").parse_args()
    benchmark = start("speed/clusters", options)
    with threadpool_limits(1):
        rows = [*speed_rows(20_000, 3)] if options.quick else [*speed_rows(100_000, 7)]
    benchmark.finish(rows)


if __name__ == "__main__":
    main()
