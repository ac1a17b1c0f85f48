"""lrisk: learn and evaluate models on tables by spectral risks.

The functions are the commands of the program: fit, evaluate, predict, detect_outliers, cluster,
compare and quantile_report, on tables of pandas, polars, pyarrow and NumPy, and on files.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lrisk_cli.library.functions import (
        cluster,
        compare,
        detect_outliers,
        evaluate,
        fit,
        predict,
        quantile_report,
    )

__version__ = "0.2.0"

__all__ = [
    "__version__",
    "cluster",
    "compare",
    "detect_outliers",
    "evaluate",
    "fit",
    "predict",
    "quantile_report",
]

# Where the other public names are. They are imported on first use, so that `import lrisk_cli` and
# `lrisk --help` load nothing.
_MODULES = {
    "functions": {
        "cluster", "compare", "detect_outliers", "evaluate", "fit", "predict", "quantile_report",
    },
}  # fmt: skip


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            from importlib import import_module

            found = getattr(import_module(f"lrisk_cli.library.{module}"), name)
            globals()[name] = found
            return found
    raise AttributeError(f"module 'lrisk_cli' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
