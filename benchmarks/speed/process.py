"""How long do whole processes take: help, a fit of the wine sample, and small fits by every risk?

Bound: `lrisk --help` at most 2.5x `import typer`; a fit of the wine sample at most 0.40 s of CPU;
a fit by any risk at most 1.3x the fit by the mean.

Data: sample_data, and generated.

Processes take turns. Wall time is the median, which a busy machine raises; CPU time, that of all
threads, is given beside it. Small fits are of 800x10 rows in CSV.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.common.record import ROOT, make_parser, start
from benchmarks.common.tables import write_regression
from benchmarks.common.timing import LRISK, measure_processes

RISKS = (
    "mean", "superquantile:0.5", "superquantile:0.9", "superquantile:0.99", "extremile:2",
    "esrm:1", "esrm:5",
)  # fmt: skip
MEAN, WINE, TYPER = "fit --risk mean", "fit of the wine sample", "import typer"
# Process -> the process it is compared with, and the largest ratio of their wall times.
RATIOS = {"--help": (TYPER, 2.5)} | {f"fit --risk {risk}": (MEAN, 1.3) for risk in RISKS}
WINE_CPU_MS = 400.0


def commands(table: Path) -> dict[str, list[str]]:
    """All processes by name. table: 800x10 rows."""
    wine = ROOT / "sample_data" / "wine_quality_red.csv"
    fit = [*LRISK, "fit", str(table), "--target", "y", "--quiet"]
    loading = "import numpy, pyarrow.compute, pyarrow.csv, typer"
    return {
        "--help": [*LRISK, "--help"],
        "fit --help": [*LRISK, "fit", "--help"],
        TYPER: [sys.executable, "-c", "import typer"],
        WINE: [*LRISK, "fit", str(wine), "--target", "quality", "--quiet"],
        **{f"fit --risk {risk}": [*fit, "--risk", risk] for risk in RISKS},
        "python, its packages loaded": [sys.executable, "-c", loading],
    }


def main() -> None:
    options = make_parser(__doc__, "fewer repeats").parse_args()
    benchmark = start("speed/process", options)
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "rows.csv"
        write_regression(table, 800, 10)
        found = measure_processes(commands(table), 5 if options.quick else 15)
    times = {
        name: 1e3 * np.array([(usage.seconds, usage.cpu_seconds) for usage in usages])
        for name, usages in found.items()
    }
    rows = []
    for name, each in times.items():
        ms, cpu_ms = (float(value) for value in np.median(each, axis=0))
        peer, most = RATIOS.get(name, (MEAN, None))
        # Of the same round: a busy moment meets both.
        ratio, cpu_ratio = (float(value) for value in np.median(each / times[peer], axis=0))
        reached = None if most is None else ratio <= most
        rows.append(
            {
                "process": name,
                "ms": ms,
                "cpu ms": cpu_ms,
                "beside": peer,
                "ratio": ratio,
                "cpu ratio": cpu_ratio,
                "at most": "0.40 s of CPU" if name == WINE else most,
                "reached": cpu_ms <= WINE_CPU_MS if name == WINE else reached,
            }
        )
    benchmark.finish(rows)


if __name__ == "__main__":
    main()
