"""How well are outliers found without a target, and clusters among outliers?

Bound: mean average precision of fourteen kinds of anomalies at least that of scikit-learn's MCD
less 0.02 where columns are correlated, and at least that of the commit before robust scatters
elsewhere; at most 1 % of clean rows flagged; the adjusted Rand index of clusters at least that of
k-means less 0.01 on clean rows, and 0.85 on wine with 25 % noise.

Data: generated, scikit-learn's, and concrete, power_plant, wine_quality_red and california_housing
of the real tables.

MCD, IsolationForest, LOF and the distance to the tenth neighbour see the columns divided by their
standard deviations.
"""

import csv
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow.csv
import pyarrow.parquet
from sklearn import datasets
from sklearn.cluster import KMeans
from sklearn.covariance import MinCovDet
from sklearn.ensemble import IsolationForest
from sklearn.metrics import adjusted_rand_score, average_precision_score
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors

from benchmarks.common.data import REAL_DATA, is_missing
from benchmarks.common.record import Row, make_parser, start
from lrisk_cli.native.threads import one_thread
from lrisk_cli.types import Array, Flags

Draws = np.random.Generator
Set = tuple[Array, Flags]
Grouped = tuple[Array, Array]

N = 600


def real(name: str, draws: Draws, n: int = N) -> Array:
    """Some rows of a real table, numbers only. (n, d)."""
    path = REAL_DATA / name
    read = pyarrow.parquet.read_table if path.suffix == ".parquet" else pyarrow.csv.read_csv
    table = read(path)
    X = np.column_stack([np.asarray(column, np.float64) for column in table.columns])
    X = X[np.isfinite(X).all(axis=1)]
    return X[draws.choice(len(X), min(n, len(X)), replace=False)]


def pick(n: int, share: float, draws: Draws) -> Flags:
    """So many rows at random."""
    bad = np.zeros(n, np.bool_)
    bad[draws.choice(n, max(1, round(share * n)), replace=False)] = True
    return bad


def deviations(X: Array) -> Array:
    """1.4826 MAD of each column, the standard deviation where that is 0."""
    mad = 1.4826 * np.median(np.abs(X - np.median(X, axis=0)), axis=0)
    return np.where(mad > 0.0, mad, X.std(axis=0))


def correlated(n: int, d: int, draws: Draws) -> Array:
    return draws.standard_normal((n, d)) @ draws.standard_normal((d, d))


def cells(draws: Draws) -> Set:
    """One cell at six deviations in a twentieth of the rows of a real table."""
    X = real("wine_quality_red.csv", draws)
    bad = pick(len(X), 0.05, draws)
    rows, column = np.flatnonzero(bad), draws.integers(0, X.shape[1], int(bad.sum()))
    signs = draws.choice([-1.0, 1.0], len(rows))
    X[rows, column] = np.median(X, axis=0)[column] + signs * 6.0 * deviations(X)[column]
    return X, bad


def tenfold(draws: Draws) -> Set:
    """One cell ten times too large."""
    X = real("california_housing.parquet", draws)
    bad = pick(len(X), 0.05, draws)
    rows = np.flatnonzero(bad)
    X[rows, draws.integers(0, X.shape[1], len(rows))] *= 10.0
    return X, bad


def far_clusters(draws: Draws) -> Set:
    """Three clusters, and two small ones far from them."""
    centres = 12.0 * draws.standard_normal((5, 4))
    group = draws.choice(5, N, p=[0.4, 0.3, 0.24, 0.03, 0.03])
    return centres[group] + draws.standard_normal((N, 4)), np.asarray(group >= 3)


def off_subspace(draws: Draws) -> Set:
    """Rows near a plane of three dimensions in ten, and some off it by little."""
    X = draws.standard_normal((N, 3)) @ draws.standard_normal((3, 10))
    X += 0.1 * draws.standard_normal(X.shape)
    bad = pick(N, 0.05, draws)
    X[bad] += 0.6 * draws.standard_normal((int(bad.sum()), 10))
    return X, bad


def broken_relation(draws: Draws) -> Set:
    """Columns that follow each other; in some rows one is that of another row."""
    X = correlated(N, 6, draws)
    X[:, 5] = X[:, :5] @ draws.standard_normal(5) + 0.2 * draws.standard_normal(N)
    bad = pick(N, 0.05, draws)
    X[bad, 5] = X[draws.permutation(N)[: int(bad.sum())], 5]
    return X, bad


def broken_curve(draws: Draws) -> Set:
    """The same where the relation is curved."""
    X = draws.uniform(-2.0, 2.0, (N, 4))
    X[:, 3] = X[:, 0] ** 2 + np.sin(2.0 * X[:, 1]) + X[:, 2] + 0.1 * draws.standard_normal(N)
    bad = pick(N, 0.05, draws)
    X[bad, 3] = X[draws.permutation(N)[: int(bad.sum())], 3]
    return X, bad


def moons(draws: Draws) -> Set:
    """Two moons, and rows anywhere around them."""
    X, _ = datasets.make_moons(N, noise=0.06, random_state=int(draws.integers(2**31)))
    bad = pick(N, 0.05, draws)
    X[bad] = draws.uniform([-1.8, -1.2], [2.8, 1.7], (int(bad.sum()), 2))
    return X, bad


def local_density(draws: Draws) -> Set:
    """A dense and a wide cluster; rows beside the dense one that the wide one would hide."""
    X = np.where(draws.random(N)[:, None] < 0.5, 0.3, 2.0) * draws.standard_normal((N, 3))
    X[::2] += 8.0
    X[::2] = 8.0 + 0.2 * draws.standard_normal(X[::2].shape)
    X[1::2] = 2.0 * draws.standard_normal(X[1::2].shape)
    bad = np.zeros(N, np.bool_)
    bad[draws.choice(np.arange(0, N, 2), N // 20, replace=False)] = True
    away = draws.standard_normal((int(bad.sum()), 3))
    X[bad] = 8.0 + 1.6 * away / np.linalg.norm(away, axis=1)[:, None]
    return X, bad


def uniform_noise(draws: Draws) -> Set:
    """Clusters of several shapes, and rows anywhere in their box."""
    X = np.concatenate([
        correlated(N // 3, 5, draws) * 0.5 + 8.0 * draws.standard_normal(5) for _ in range(3)
    ])  # fmt: skip
    bad = pick(len(X), 0.1, draws)
    X[bad] = draws.uniform(X.min(axis=0), X.max(axis=0), (int(bad.sum()), 5))
    return X, bad


def swapped_columns(draws: Draws) -> Set:
    """Two cells of a row in each other's column."""
    X = real("concrete.csv", draws)
    bad = pick(len(X), 0.05, draws)
    for row in np.flatnonzero(bad):
        i, j = draws.choice(X.shape[1], 2, replace=False)
        X[row, [i, j]] = X[row, [j, i]]
    return X, bad


def flipped_sign(draws: Draws) -> Set:
    """A column on the other side of its median, in a twentieth of the rows."""
    X = real("power_plant.csv", draws)
    bad = pick(len(X), 0.05, draws)
    rows, column = np.flatnonzero(bad), draws.integers(0, X.shape[1], int(bad.sum()))
    X[rows, column] = 2.0 * np.median(X, axis=0)[column] - X[rows, column]
    return X, bad


def class_apart(load: Callable[[], Grouped], normal: Sequence[int], share: float) -> "Maker":
    """Rows of some classes, and a few of the others."""

    def make(draws: Draws) -> Set:
        X, y = load()
        inside = np.isin(y, normal)
        n_bad = max(3, round(share * inside.sum()))
        others = draws.choice(np.flatnonzero(~inside), n_bad, replace=False)
        kept = draws.permutation(np.concatenate([np.flatnonzero(inside), others]))
        return X[kept], ~inside[kept]

    return make


def bundled(name: str) -> Callable[[], Grouped]:
    """A data set of scikit-learn."""
    return lambda: getattr(datasets, f"load_{name}")(return_X_y=True)


Maker = Callable[[Draws], Set]
# Whether correlation matters.
SETS: dict[str, tuple[Maker, bool]] = {
    "cells at 6 deviations (wine)": (cells, False),
    "cells x 10 (california)": (tenfold, False),
    "far clusters": (far_clusters, False),
    "off a subspace": (off_subspace, True),
    "broken relation": (broken_relation, True),
    "broken curve": (broken_curve, False),
    "moons": (moons, False),
    "local density": (local_density, False),
    "uniform noise": (uniform_noise, False),
    "swapped columns (concrete)": (swapped_columns, True),
    "flipped sign (power plant)": (flipped_sign, True),
    "digits": (class_apart(bundled("digits"), (0, 1, 2), 0.05), False),
    "iris": (class_apart(bundled("iris"), (0, 1), 0.1), True),
    "breast cancer": (class_apart(bundled("breast_cancer"), (1,), 0.05), False),
}


def standard(X: Array) -> Array:
    """Columns divided by their standard deviations."""
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)


def mcd(X: Array, seed: int) -> Array:
    kept = X[:, X.std(axis=0) > 0.0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found: Array = MinCovDet(random_state=seed).fit(kept).mahalanobis(kept)
    return found


def forest(X: Array, seed: int) -> Array:
    found: Array = -IsolationForest(random_state=seed).fit(X).score_samples(X)
    return found


def lof(X: Array, seed: int) -> Array:  # noqa: ARG001  (all peers are called alike)
    found: Array = -LocalOutlierFactor(20).fit(X).negative_outlier_factor_
    return found


def neighbour(X: Array, seed: int) -> Array:  # noqa: ARG001
    found: Array = NearestNeighbors(n_neighbors=10).fit(X).kneighbors()[0][:, -1]
    return found


PEERS = {"MCD": mcd, "IsolationForest": forest, "LOF": lof, "kNN": neighbour}


def run_lrisk(X: Array, folder: Path) -> tuple[Array, Flags]:
    """Scores and flags of the rows by `lrisk detect-outliers` without a target."""
    from lrisk_cli.cli import run

    data, ranking = folder / "data.csv", folder / "ranking.csv"
    names = ",".join(f"x{j}" for j in range(X.shape[1]))
    np.savetxt(data, X, "%.17g", ",", header=names, comments="")
    call(run, ["detect-outliers", str(data), "-o", str(ranking), "--force"])
    scores, flags = np.empty(len(X)), np.zeros(len(X), np.bool_)
    with ranking.open(newline="") as file:
        for row in csv.DictReader(file):
            scores[int(row["row"])] = float(row["score"])
            flags[int(row["row"])] = row["is_outlier"] == "1"
    return scores, flags


def run_clusters(X: Array, k: int, folder: Path) -> Array:
    """The cluster of each row by `lrisk cluster`."""
    from lrisk_cli.cli import run

    data, placed = folder / "data.csv", folder / "placed.csv"
    names = ",".join(f"x{j}" for j in range(X.shape[1]))
    np.savetxt(data, X, "%.17g", ",", header=names, comments="")
    call(run, ["cluster", str(data), "-k", str(k), "--assignments", str(placed), "--force"])
    with placed.open(newline="") as file:
        rows = list(csv.DictReader(file))
    found = np.full(len(X), -1.0)
    for row in rows:
        found[int(row["row"])] = float(row["cluster"])
    return found


def call(run: Callable[[list[str]], int], arguments: list[str]) -> None:
    """The command in this process, quietly."""
    import contextlib
    import io

    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()) as said,
    ):
        code = run(arguments)
    if code:
        raise SystemExit(f"lrisk {' '.join(arguments)}: exit {code}\n{said.getvalue()}")


def clean_tables(draws: Draws) -> dict[str, Array]:
    """Tables without anomalies."""
    n = 500
    normal, groups = correlated(n, 6, draws), 10.0 * draws.standard_normal((3, 4))
    return {
        "normal": normal,
        "t5": correlated(n, 5, draws) / np.sqrt(draws.chisquare(5, n) / 5.0)[:, None],
        "uniform": draws.random((n, 4)),
        "lognormal": np.exp(0.7 * draws.standard_normal((n, 4))),
        "three clusters": groups[draws.integers(0, 3, n)] + draws.standard_normal((n, 4)),
        "moons": datasets.make_moons(n, noise=0.06, random_state=int(draws.integers(2**31)))[0],
        "collinear": np.column_stack([normal, normal[:, 0] + normal[:, 1]]),
        "rounded": np.rint(normal),
        "half its rows twice": np.concatenate([normal[: n // 2], normal[: n // 2]]),
        "40 columns, 100 rows": draws.standard_normal((100, 40)),
        "zeros and ones": np.column_stack([normal, draws.random((n, 3)) < [0.5, 0.2, 0.05]]),
        "small": normal[:40, :4],
    }


def blobs(n: int, shares: Sequence[float], draws: Draws, d: int = 4, apart: float = 6.0) -> Grouped:
    """Round clusters of these shares."""
    y = draws.choice(len(shares), n, p=shares)
    centres = draws.standard_normal((len(shares), d))
    centres *= apart / np.sqrt(2.0 * d) * np.sqrt(d)
    return centres[y] + draws.standard_normal((n, d)), y


def with_noise(X: Array, y: Array, share: float, draws: Draws) -> Grouped:
    """So many rows more, anywhere in a box twice as wide; their group is -1."""
    n = round(share * len(X) / (1.0 - share))
    middle, half = 0.5 * (X.max(axis=0) + X.min(axis=0)), X.max(axis=0) - X.min(axis=0)
    more = middle + half * draws.uniform(-1.0, 1.0, (n, X.shape[1]))
    return np.concatenate([X, more]), np.append(y, np.full(n, -1))


def grouped_tables(draws: Draws) -> dict[str, tuple[Grouped, int]]:
    """Tables of known groups, and how many these are."""
    wine, iris = datasets.load_wine(return_X_y=True), datasets.load_iris(return_X_y=True)
    even = blobs(N, [0.25] * 4, draws)
    uneven = blobs(N, [0.6, 0.25, 0.1, 0.05], draws)
    wide = blobs(N, [0.34, 0.33, 0.33], draws, d=10)
    return {
        "clean: blobs": (even, 4),
        "clean: unequal groups": (uneven, 4),
        "clean: ten columns": (wide, 3),
        "clean: wine": (wine, 3),
        "clean: iris": (iris, 3),
        "10 % noise: blobs": (with_noise(*even, 0.1, draws), 4),
        "25 % noise: blobs": (with_noise(*even, 0.25, draws), 4),
        "10 % noise: unequal groups": (with_noise(*uneven, 0.1, draws), 4),
        "25 % noise: wine": (with_noise(*wine, 0.25, draws), 3),
    }


def find_anomalies(seeds: Sequence[int], folder: Path) -> Iterator[Row]:
    """Mean average precision, and what is flagged."""
    for name, (make, _) in SETS.items():
        found: dict[str, list[float]] = {}
        for seed in seeds:
            X, bad = make(np.random.default_rng([seed, 17]))
            scores, flags = run_lrisk(X, folder)
            values = {
                "lrisk": average_precision_score(bad, scores),
                "recall": float(flags[bad].mean()),
                "others": float(flags[~bad].mean()),
            }
            with one_thread():
                for peer, score in PEERS.items():
                    values[peer] = average_precision_score(bad, score(standard(X), seed))
            for key, value in values.items():
                found.setdefault(key, []).append(value)
        means = {key: float(np.mean(values)) for key, values in found.items()}
        yield make_row("anomalies", name, means, _holds(name, means))


# What the rows of the results hold; empty where it was not measured.
MEASURED = ("lrisk", "recall", "others", *PEERS, "KMeans")


def make_row(part: str, case: str, values: Mapping[str, float], within: bool) -> Row:
    """lrisk and its peers: average precision, flagged rows, or adjusted Rand index."""
    return {
        "part": part,
        "case": case,
        **{key: values.get(key) for key in MEASURED},
        "within": within,
    }


def _holds(name: str, means: dict[str, float]) -> bool:
    if SETS[name][1]:
        return means["lrisk"] >= means["MCD"] - 0.02
    return means["lrisk"] >= BEFORE[name] - 0.01


# Mean average precision of commit 64e8142, before robust scatters, by the same seeds.
BEFORE = {
    "cells at 6 deviations (wine)": 0.220,
    "cells x 10 (california)": 0.858,
    "far clusters": 1.0,
    "broken curve": 0.102,
    "moons": 0.471,
    "local density": 0.089,
    "uniform noise": 0.989,
    "digits": 0.277,
    "breast cancer": 0.474,
}


def flag_clean(seeds: Sequence[int], folder: Path) -> Iterator[Row]:
    """The fraction of clean rows that are flagged."""
    found: dict[str, list[float]] = {}
    for seed in seeds:
        for name, X in clean_tables(np.random.default_rng([seed, 18])).items():
            _, flags = run_lrisk(X, folder)
            found.setdefault(name, []).append(float(flags.mean()))
    for name, values in found.items():
        mean = float(np.mean(values))
        yield make_row("clean", name, {"lrisk": mean}, mean <= 0.01)


def group_rows(seeds: Sequence[int], folder: Path) -> Iterator[Row]:
    """The adjusted Rand index of the rows that are no noise."""
    found: dict[str, list[tuple[float, float]]] = {}
    for seed in seeds:
        for name, ((X, y), k) in grouped_tables(np.random.default_rng([seed, 19])).items():
            inside = y >= 0
            placed = run_clusters(X, k, folder)
            with one_thread():
                peer = KMeans(k, n_init=10, random_state=seed).fit_predict(standard(X))
            found.setdefault(name, []).append(
                (
                    adjusted_rand_score(y[inside], placed[inside]),
                    adjusted_rand_score(y[inside], peer[inside]),
                )
            )
    for name, values in found.items():
        ours, theirs = np.mean(values, axis=0).tolist()
        least = theirs - 0.01 if name.startswith("clean") else max(0.85, theirs)
        yield make_row("clusters", name, {"lrisk": ours, "KMeans": theirs}, ours >= least)


def main() -> None:
    """Measure, print, record."""
    parser = make_parser(__doc__, quick="two seeds")
    parser.add_argument("--seeds", default="100:110", help="first and last seed, FIRST:END")
    parser.add_argument("--part", help="anomalies, clean or clusters only; records nothing")
    options = parser.parse_args()
    if is_missing("concrete.csv"):
        return
    first, end = map(int, options.seeds.split(":"))
    seeds = range(first, first + 2) if options.quick else range(first, end)
    benchmark = start("reliability/unsupervised", options, whole=options.part is None)
    parts = {"anomalies": find_anomalies, "clean": flag_clean, "clusters": group_rows}
    with tempfile.TemporaryDirectory() as name:
        rows = [
            row
            for part, measure in parts.items()
            if options.part in (None, part)
            for row in measure(seeds, Path(name))
        ]
    benchmark.finish(rows)


if __name__ == "__main__":
    main()
