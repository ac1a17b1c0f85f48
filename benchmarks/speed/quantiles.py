"""How long does `lrisk quantile-report` take on a million rows, and how large is its page?

Bound: at most 1.5x the time of scoring the rows by both models in one pass; a page of at most 2 MB.

Data: generated.
"""

import tempfile
from pathlib import Path

import pyarrow.parquet as pq

from benchmarks.common.record import make_parser, start
from benchmarks.common.tables import GROUP_ROWS, fit_models, write_grouped
from benchmarks.common.timing import LRISK, compare, run_process
from lrisk_cli.evaluation.loss_comparison import columns_read, compare_models, load_models
from lrisk_cli.evaluation.quantiles import CURVE
from lrisk_cli.models.scoring import RowTally, score_together
from lrisk_cli.progress import silent
from lrisk_cli.tables.table import open_table


def time_rows(table: Path, paths: list[str], repeats: int) -> list[dict[str, object]]:
    models = load_models(paths, None, None)
    expected = columns_read(models)

    def score(chosen: dict) -> None:
        rows = open_table([str(table)], expected=expected)
        for _ in score_together(chosen, rows, (), RowTally(), silent):
            pass

    def report() -> None:
        rows = open_table([str(table)], expected=expected)
        compare_models(models, rows, None, CURVE, silent)

    def score_apart() -> None:
        for path, model in models.items():
            score({path: model})

    seconds = compare(
        {"report": report, "together": lambda: score(models), "apart": score_apart}, repeats
    )
    n_rows = pq.read_metadata(table).num_rows
    shown = ", ".join(f"{name} {value:.2f} s" for name, value in seconds.items())
    return [
        {
            "what": f"quantile-report, {n_rows} rows, 2 models",
            "value": seconds["report"] / seconds[name],
            "unit": unit,
            "at most": 1.5,
            "reached": seconds["report"] <= 1.5 * seconds[name],
            "detail": shown,
        }
        for name, unit in (
            ("together", "x scoring both in one pass"),
            ("apart", "x scoring one after the other"),
        )
    ]


def page_rows(folder: Path, table: Path, paths: list[str]) -> list[dict[str, object]]:
    found = []
    for command in (
        ["quantile-report", str(table), "--baseline", paths[0], "--model", paths[1]],
        ["evaluate", paths[1], str(table)],
    ):
        page = folder / f"{command[0]}.html"
        run_process([*LRISK, *command, "--html", str(page), "--quiet"])
        size = page.stat().st_size / 1e6
        found.append(
            {
                "what": f"page of {command[0]}, {pq.read_metadata(table).num_rows} rows",
                "value": size,
                "unit": "MB",
                "at most": 2.0,
                "reached": size <= 2.0,
                "detail": "",
            }
        )
    return found


def main() -> None:
    parser = make_parser(__doc__, "fewer rows and repeats")
    options = parser.parse_args()
    benchmark = start("speed/quantiles", options)
    quick = options.quick
    n = 200_000 if quick else 1_000_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table, few = folder / "rows.parquet", folder / "few.parquet"
        for path, size in ((table, n), (few, GROUP_ROWS)):
            write_grouped(path, size, 20)
        models = fit_models(folder, few)
        rows = page_rows(folder, table, models)
        rows += time_rows(table, models, 3 if quick else 7)
    benchmark.finish(rows)


if __name__ == "__main__":
    main()
