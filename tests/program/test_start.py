"""What a short command loads and starts; half of its time goes by with that."""

import subprocess
import sys
from pathlib import Path

import pytest

from helpers.program import unmeasured

WINE = Path(__file__).parents[2] / "sample_data" / "wine_quality_red.csv"
# `lrisk fit`, then the threads of BLAS and the modules that are loaded.
FIT = f"""
import atexit, sys
def tell():
    loaded = list(sys.modules)
    from threadpoolctl import threadpool_info
    print([each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"])
    print(*loaded)
atexit.register(tell)
sys.argv = ["lrisk", "fit", {str(WINE)!r}, "--target", "quality", "--quiet"]
from lrisk_cli.__main__ import main
main()
"""
# Of other options, formats and risks, and for files that are written.
UNUSED = (
    "numpy.random", "scipy", "secrets", "rich", "jinja2", "pyarrow.compute", "pyarrow.parquet",
    "lrisk_cli.baselines", "lrisk_cli.clusters", "lrisk_cli.robust", "lrisk_cli.outliers",
    "lrisk_cli.commands.settings", "lrisk_cli.evaluation.gates",
    "lrisk_cli.evaluation.table_evaluation",
    "lrisk_cli.evaluation.options.comparing",
    "lrisk_cli.evaluation.selection", "lrisk_cli.models.scoring", "lrisk_cli.reports.documents",
    "lrisk_cli.tables.arrow_messages",
)  # fmt: skip


@pytest.fixture(name="told", scope="module")
def end_of_a_fit(tmp_path_factory) -> tuple[str, set[str]]:
    """The threads of BLAS in a fit, and the modules it loaded."""
    environment = {k: v for k, v in unmeasured().items() if not k.endswith("_NUM_THREADS")}
    done = subprocess.run(
        [sys.executable, "-c", FIT],
        cwd=tmp_path_factory.mktemp("fit"), capture_output=True, text=True, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    threads, modules = done.stdout.splitlines()[-2:]
    # Some versions of NumPy load their random numbers and `secrets` at once.
    numpy = "import numpy, sys; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", numpy], check=True, capture_output=True, text=True
    )
    return threads, set(modules.split()) - set(loaded.stdout.split())


def test_a_plain_fit_loads_nothing_that_only_other_fits_use(told):
    _, modules = told
    assert "lrisk_cli.solvers.newton" in modules
    assert not modules & set(UNUSED)


def test_linear_algebra_starts_no_threads(told):
    threads, _ = told
    assert threads == "[1]"


def test_the_package_loads_nothing_before_it_is_used():
    program = "import lrisk_cli, sys; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    loaded = {name.split(".")[0] for name in run.stdout.split()}
    assert not loaded & {"numpy", "pyarrow", "pandas", "sklearn", "msgspec"}
