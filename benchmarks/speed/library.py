"""What do the package and its estimators cost beside NumPy and the solver?

Bound: CPU time of `import lrisk_cli` at most 1.3x `import numpy`; that of a fit of an estimator to
20000 rows of 50 columns at most 1.05x that of its solver.

Data: generated.

`import`: whole processes that take turns, medians. `fit`: fits in this process; the solver is timed
within each, so that what is added (checks of scikit-learn, a copy, means and scales, attributes) is
the difference. Standardisation, which every fit needs, counts as added.
"""

import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

import lrisk_cli
from benchmarks.common.record import make_parser, start
from benchmarks.common.timing import compare, run_process
from lrisk_cli.library import estimator_base

N_ROWS, N_COLUMNS = 20_000, 50
MOST_IMPORT, MOST_FIT = 1.3, 1.05


def imports(repeats: int) -> Iterator[dict[str, object]]:
    """Importing the package and NumPy."""
    used = [0.0]

    def run(name: str) -> Any:
        def process() -> None:
            used[0] += run_process([sys.executable, "-c", f"import {name}"]).cpu_seconds

        return process

    runs = {"numpy": run("numpy"), "lrisk_cli": run("lrisk_cli")}
    seconds = compare(runs, repeats, lambda: used[0])
    yield row("import lrisk_cli", seconds["numpy"], seconds["lrisk_cli"], MOST_IMPORT)


def fits(n_rows: int, repeats: int) -> Iterator[dict[str, object]]:
    """Estimators beside their solvers."""
    draw = np.random.default_rng(0)
    X = draw.standard_normal((n_rows, N_COLUMNS))
    y = X @ draw.standard_normal(N_COLUMNS) + draw.standard_t(3, n_rows)
    solved, solve = [0.0], estimator_base.fit_design

    def timed(*arguments: Any, **options: Any) -> Any:
        began = time.process_time()
        found = solve(*arguments, **options)
        solved[0] = time.process_time() - began
        return found

    estimator_base.fit_design = timed
    for estimator, target in (
        (lrisk_cli.SpectralRiskRegressor("mean"), y),
        (lrisk_cli.SpectralRiskRegressor(), y),
        (lrisk_cli.SpectralRiskRegressor("superquantile:0.9"), y),
        (lrisk_cli.SpectralRiskClassifier(), y > 0.0),
        (lrisk_cli.SpectralRiskRegressor(kernel="rbf", rank=200, tol=1e-6), y),
    ):
        pairs = []
        for _ in range(repeats):
            began = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                estimator.fit(X, target)
            pairs.append((solved[0], time.process_time() - began))
        inner, whole = np.median(pairs, axis=0).tolist()
        yield row(repr(estimator), inner, whole, MOST_FIT)
    estimator_base.fit_design = solve


def row(what: str, reference: float, seconds: float, most: float) -> dict[str, object]:
    """A line of the result."""
    ratio = seconds / reference
    return {
        "what": what,
        "reference ms": 1e3 * reference,
        "ms": 1e3 * seconds,
        "ratio": ratio,
        "at most": most,
        "reached": ratio <= most,
    }


def main() -> None:
    parser = make_parser(__doc__, "a quarter of the rows, three times")
    options = parser.parse_args()
    benchmark = start("speed/library", options)
    repeats, n_rows = (3, N_ROWS // 4) if options.quick else (15, N_ROWS)
    benchmark.finish([*imports(repeats), *fits(n_rows, repeats)])


if __name__ == "__main__":
    main()
