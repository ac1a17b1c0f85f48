"""A dry run tells the shape and the memory of a fit, and neither fits nor writes."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from helpers.house_prices import add_house_files, house_columns
from helpers.program import document, lrisk, refusal, unmeasured, write_csv
from lrisk_cli.cli import run

PEAK = """
import sys
from lrisk_cli.cli import run
code = run(sys.argv[1:])
lines = open("/proc/self/status").read().splitlines()
print(*(line.split()[1] for line in lines if line.startswith("VmHWM")), file=sys.stderr)
sys.exit(code)
"""


@pytest.mark.parametrize("missing", ["drop", "impute"])
def test_a_dry_run_tells_what_the_fit_then_does(tmp_path, missing):
    folder = add_house_files(tmp_path)
    columns = {key: column.tolist() for key, column in house_columns().items()}
    columns["area"][3] = columns["color"][9] = columns["color"][10] = columns["price"][3] = None
    write_csv(folder / "holes.csv", columns)
    columns_asked = ["--exclude", "kind,sold", "--missing", missing, "--max-categories", "50"]
    command = ["fit", "holes.csv", "--target", "price", *columns_asked, "--risk", "mean"]
    command += ["--json", "--quiet"]
    before = sorted(path.name for path in folder.iterdir())
    plan = document(lrisk(folder, *command, "--dry-run", "-o", "m.json", "--losses", "l.csv"))
    assert sorted(path.name for path in folder.iterdir()) == before
    done = document(lrisk(folder, *command, "-o", "m.json"))
    assert plan["rows"] | {"held_out": 0} == done["rows"]
    assert plan["design"]["rows"] == done["rows"]["used"]
    n_coefficients = len(document(lrisk(folder, "show", "m.json", "--json"))["coefficients"])
    assert plan["design"]["columns"] in (n_coefficients, n_coefficients + 1)
    widths = {feature["name"]: feature["columns"] for feature in plan["features"]}
    marked = missing == "impute"
    # Area, rooms and the constant are numbers; house, colour and its indicator are codes.
    assert plan["design"]["bytes"] == (8 * 3 + 4 * (2 + marked)) * plan["design"]["rows"]
    assert widths == {"house": 51, "area": 1, "color": 3 + marked, "rooms": 1}
    told = lrisk(folder, *command[:-2], "--dry-run").stdout
    assert "nothing was fitted and nothing written" in told


def test_a_dry_run_refuses_what_the_fit_would_refuse(tmp_path):
    folder = add_house_files(tmp_path)
    (folder / "bad.csv").write_text("x,y\n1,2\n,3\n")
    run = lrisk(folder, "fit", "bad.csv", "--target", "y", "--dry-run")
    assert "bad.csv, column 'x', row 1: the cell is missing" in refusal(run, 3)
    run = lrisk(folder, "fit", "houses.csv", "--target", "price", "--dry-run",
                "--memory-limit", "10KB", "--max-categories", "300")  # fmt: skip
    assert "more than --memory-limit 10 KB" in refusal(run, 3)
    kernel = ["--dry-run", "--quiet", "--kernel", "rbf"]
    run = lrisk(folder, "fit", "houses.csv", "--target", "price", *kernel, "--rank", "auto")
    assert "cannot foresee how many landmarks --rank auto takes" in refusal(run, 2)
    run = lrisk(folder, "fit", "houses.csv", "--target", "price", *kernel, "--rank", "301")
    assert "--rank 301: landmarks are rows to learn from, and there are 300" in refusal(run, 2)


@pytest.mark.parametrize(
    ("n_rows", "n_classes", "options"),
    [
        (200_000, 0, ["--risk", "mean"]),
        (200_000, 0, []),
        (100_000, 6, ["--max-passes", "10"]),
        (2000, 0, ["--kernel", "rbf", "--max-passes", "10"]),
        (30_000, 0, ["--kernel", "rbf", "--rank", "300", "--max-passes", "10"]),
        (30_000, 0, ["--kernel", "rbf", "--feature-map", "fourier", "--max-passes", "10"]),
        (200_000, 0, ["--id", "name"]),
    ],
)
def test_the_peak_is_predicted_within_a_quarter(tmp_path, n_rows, n_classes, options):
    rng = np.random.default_rng(0)
    columns = {f"x{at}": rng.standard_normal(n_rows) for at in range(24)}
    columns["y"] = columns["x0"] + rng.standard_normal(n_rows)
    if n_classes:
        columns["y"] = np.array([f"class {k}" for k in rng.integers(0, n_classes, n_rows)])
    if "--id" in options:
        columns["name"] = np.array([f"{k:0200d}" for k in range(n_rows)])
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    command = ["fit", "t.parquet", "--target", "y", *options, "--json", "--quiet"]
    plan = document(lrisk(tmp_path, *command, "--dry-run"))
    run = subprocess.run(
        [sys.executable, "-c", PEAK, *command],
        cwd=tmp_path, capture_output=True, text=True, env=unmeasured(),
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    peak = 1024.0 * float(run.stderr.split()[-1])
    assert plan["peak_memory_bytes"] == pytest.approx(peak, rel=0.25)


@pytest.mark.parametrize(
    "kernel",
    [
        ["--kernel", "rbf"],
        ["--kernel", "rbf", "--rank", "100"],
        ["--kernel", "rbf", "--rank", "auto"],
        ["--kernel", "rbf", "--feature-map", "fourier", "--rank", "400"],
        ["--kernel", "poly"],
    ],
)
def test_the_memory_limit_counts_kernel_features(tmp_path, monkeypatch, capsys, kernel):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    write_csv(tmp_path / "t.csv", {name: rng.standard_normal(300) for name in "abcdy"})
    options = ["t.csv", "--target", "y", "--quiet", *kernel]
    fit = ["fit", *options, "--max-passes", "3"]
    commands = [fit, [*fit, "--cv", "2"], ["compare", *options, "--rival", "none"]]
    commands += [] if "auto" in kernel else [[*fit, "--dry-run"]]
    for command in commands:
        assert run([*command, "--memory-limit", "50KB"]) == 3
        said = capsys.readouterr().err
        assert "and its kernel features take about" in said
        assert "more than --memory-limit 50 KB; pass a lower --rank" in said
    assert run([*fit, "--memory-limit", "100MB"]) == 0


def test_thousands_of_common_categories_are_kept_where_they_cost_little(tmp_path):
    rng = np.random.default_rng(0)
    code = rng.integers(0, 130, 6000)
    code[:40] = 500 + np.arange(40)  # rare ones
    y = 0.01 * code + rng.standard_normal(6000)
    rows = [f"k{c},{v:.4f},{v > 0.6},{int(3 * v) % 3}t" for c, v in zip(code, y, strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["code,y,won,three", *rows]))
    widths = {
        "y": (131, []),
        "won": (131, ["--risk", "superquantile:0.5"]),
        "three": (101, ["--max-passes", "5"]),
        "y:kernel": (101, ["--kernel", "rbf", "--rank", "20"]),
        "y:falling": (101, ["--risk", "subquantile:0.9", "--max-passes", "5"]),
        "y:named": (21, ["--max-categories", "20"]),
    }
    for name, (width, options) in widths.items():
        target = name.partition(":")[0]
        others = [each for each in ("y", "won", "three") if each != target]
        command = ["fit", "t.csv", "--target", target, "--exclude", ",".join(others), *options]
        plan = document(lrisk(tmp_path, *command, "--json", "--dry-run"))
        assert {each["name"]: each["columns"] for each in plan["features"]} == {"code": width}, name
        if name in ("y", "won"):
            done = lrisk(tmp_path, *command, "--no-reference", "--json")
            [note] = [note for note in document(done)["notes"] if "categories" in note]
            assert note == (
                "column 'code' has 170 categories; the 130 most frequent keep a column each, the "
                "rest (40 of 6000 cells) share one"
            )
