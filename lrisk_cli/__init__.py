"""lrisk: learn and evaluate models on tables by spectral risks.

The functions are the commands of the program: fit, evaluate, predict, detect_outliers, cluster,
compare, columns and quantile_report, on tables of pandas, polars, pyarrow and NumPy, and on files.
The models are estimators of scikit-learn too; metrics and scorers are for models of any library.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lrisk_cli.library.cluster_estimators import OutlierDetector, SpectralKMeans
    from lrisk_cli.library.estimators import (
        RobustRegressor,
        SpectralRiskClassifier,
        SpectralRiskRegressor,
    )
    from lrisk_cli.library.functions import (
        cluster,
        columns,
        compare,
        detect_outliers,
        evaluate,
        fit,
        predict,
        quantile_report,
    )
    from lrisk_cli.library.loading import load
    from lrisk_cli.library.metrics import (
        esrm,
        esrm_score,
        extremile,
        extremile_score,
        log_losses,
        risk_score,
        row_losses,
        spectral_risk,
        subquantile,
        subquantile_score,
        superquantile,
        superquantile_score,
    )

__version__ = "0.2.0"

__all__ = [
    "OutlierDetector",
    "RobustRegressor",
    "SpectralKMeans",
    "SpectralRiskClassifier",
    "SpectralRiskRegressor",
    "__version__",
    "cluster",
    "columns",
    "compare",
    "detect_outliers",
    "esrm",
    "esrm_score",
    "evaluate",
    "extremile",
    "extremile_score",
    "fit",
    "load",
    "log_losses",
    "predict",
    "quantile_report",
    "risk_score",
    "row_losses",
    "spectral_risk",
    "subquantile",
    "subquantile_score",
    "superquantile",
    "superquantile_score",
]

# Where the other public names are. They are imported on first use, so that `import lrisk_cli` and
# `lrisk --help` load nothing.
_MODULES = {
    "cluster_estimators": {"OutlierDetector", "SpectralKMeans"},
    "estimators": {"RobustRegressor", "SpectralRiskClassifier", "SpectralRiskRegressor"},
    "loading": {"load"},
    "metrics": {
        "esrm", "esrm_score", "extremile", "extremile_score", "log_losses", "risk_score",
        "row_losses", "spectral_risk", "subquantile", "subquantile_score", "superquantile",
        "superquantile_score",
    },
    "functions": {
        "cluster", "columns", "compare", "detect_outliers", "evaluate", "fit", "predict",
        "quantile_report",
    },
}  # fmt: skip
_OF_SKLEARN = {"cluster_estimators", "estimators", "loading"}


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            from importlib import import_module

            if module in _OF_SKLEARN:
                # Says what to install where scikit-learn is absent.
                import_module("lrisk_cli.library.estimator_base")
            found = getattr(import_module(f"lrisk_cli.library.{module}"), name)
            globals()[name] = found
            return found
    raise AttributeError(f"module 'lrisk_cli' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
