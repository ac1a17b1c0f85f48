"""Real tables in which the benchmarks of robust fits plant errors."""

from benchmarks.common.data import REAL_DATA
from lrisk_cli.design.design import DesignOptions
from lrisk_cli.names import Missing, Task
from lrisk_cli.tables.table import Table, open_table

FILES = {
    "wine": "wine_quality_red.csv", "boston": "boston_housing.csv", "concrete": "concrete.csv",
    "drug": "drug_qsar/*.parquet", "heart": "heart_cleveland.csv",
    "breast": "breast_cancer_wdbc.csv",
}  # fmt: skip
CLASSES = ("heart", "breast")
TEST_SHARE = 0.2


def open_set(name: str) -> tuple[Table, DesignOptions]:
    """A set by its name; its last column is the target."""
    table = open_table(sorted(str(path) for path in REAL_DATA.glob(FILES[name])))
    task = Task.CLASSIFICATION if name in CLASSES else Task.REGRESSION
    target = table.columns[-1].name
    return table, DesignOptions(target=target, task=task, missing=Missing.DROP)
