"""Scores of outliers by other programs, for benchmarks; one that is not installed is left out."""

import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common.planted import Planted, encode
from lrisk_cli.types import Array

# With more columns than this, peers that invert a matrix get the columns of numbers alone.
MOST_COLUMNS = 40
SEED = 0
LMROB = """
suppressMessages(library(robustbase)); files <- commandArgs(TRUE)
for (f in files) { d <- as.matrix(read.csv(f, header = FALSE)); p <- ncol(d) - 1
how <- lmrob.control(max.it = 500, k.max = 2000)
out <- tryCatch({ fit <- suppressWarnings(lmrob.fit(cbind(d[, 1:p], 1), d[, p + 1], how))
abs(fit$residuals / fit$scale) }, error = function(e) rep(0, nrow(d)))
out[!is.finite(out)] <- 0
cat(out, "\\n") }
"""


def _narrow(table: Planted) -> tuple[Array, Array]:
    X, y = encode(table)
    return (X, y) if X.shape[1] <= MOST_COLUMNS else encode(table, texts=False)


def _joint(table: Planted, *, narrow: bool = False) -> Array:
    """Features and the target, standardised."""
    X, y = _narrow(table) if narrow else encode(table)
    return np.column_stack([X, (y - y.mean()) / (y.std() or 1.0)])


def _residuals(make: Callable[[], Any]) -> Callable[[Planted], Array | None]:
    """Sizes of the errors of a regression of scikit-learn."""

    def scores(table: Planted) -> Array | None:
        if table.classes:
            return None
        X, y = _narrow(table)
        scale = float(y.std())
        fitted = make().fit(X, y / scale)
        return np.asarray(np.abs(y / scale - fitted.predict(X)))

    return scores


def _huber() -> Any:
    from sklearn.linear_model import HuberRegressor

    return HuberRegressor(alpha=0.0, max_iter=300)


def _ransac() -> Any:
    from sklearn.linear_model import RANSACRegressor

    return RANSACRegressor(random_state=SEED)


def _theil_sen() -> Any:
    from sklearn.linear_model import TheilSenRegressor

    return TheilSenRegressor(max_subpopulation=300, random_state=SEED)


def _rlm(table: Planted) -> Array | None:
    import statsmodels.api as sm

    if table.classes:
        return None
    X, y = _narrow(table)
    fitted = sm.RLM(y, np.column_stack([X, np.ones(len(y))]), M=sm.robust.norms.TukeyBiweight())
    return np.asarray(np.abs(fitted.fit(maxiter=100).resid))


def _mcd(table: Planted) -> Array:
    from sklearn.covariance import MinCovDet

    Z = _joint(table, narrow=True)
    # Columns that depend on each other have no inverse; a little noise gives them one.
    Z = Z + 1e-3 * np.random.default_rng(SEED).standard_normal(Z.shape)
    return np.asarray(MinCovDet(random_state=SEED).fit(Z).mahalanobis(Z))


def _isolation_forest(table: Planted) -> Array:
    from sklearn.ensemble import IsolationForest

    Z = _joint(table)
    return np.asarray(-IsolationForest(random_state=SEED).fit(Z).score_samples(Z))


def _lof(table: Planted) -> Array:
    from sklearn.neighbors import LocalOutlierFactor

    return np.asarray(-LocalOutlierFactor().fit(_joint(table)).negative_outlier_factor_)


def _pyod(name: str) -> Callable[[Planted], Array]:
    def scores(table: Planted) -> Array:
        if name == "kNN":
            from pyod.models.knn import KNN

            return np.asarray(KNN().fit(_joint(table)).decision_scores_)
        from pyod.models.ecod import ECOD

        return np.asarray(ECOD().fit(_joint(table)).decision_scores_)

    return scores


def _cleanlab(table: Planted) -> Array | None:
    from cleanlab.rank import get_label_quality_scores
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict

    if not table.classes:
        return None
    X, y = encode(table)
    labels = y.astype(int)
    fit = LogisticRegression(max_iter=500)
    shares = cross_val_predict(fit, X, labels, cv=5, method="predict_proba")
    return np.asarray(1.0 - get_label_quality_scores(labels, shares))


PEERS: dict[str, tuple[str, Callable[[Planted], Array | None]]] = {
    "RLM": ("statsmodels", _rlm),
    "Huber": ("sklearn", _residuals(_huber)),
    "RANSAC": ("sklearn", _residuals(_ransac)),
    "TheilSen": ("sklearn", _residuals(_theil_sen)),
    "MCD": ("sklearn", _mcd),
    "IsolationForest": ("sklearn", _isolation_forest),
    "LOF": ("sklearn", _lof),
    "ECOD": ("pyod", _pyod("ECOD")),
    "kNN": ("pyod", _pyod("kNN")),
    "cleanlab": ("cleanlab", _cleanlab),
}


def installed_peers() -> list[str]:
    """Those that can run; says which cannot."""
    found = [name for name, (package, _) in PEERS.items() if find_spec(package) is not None]
    for name in sorted(set(PEERS) - set(found)):
        print(f"SKIPPED: {name}, whose package {PEERS[name][0]} is not installed")
    if shutil.which("Rscript") is None:
        print("SKIPPED: lmrob, since Rscript is not installed")
    return found


def score_rows(name: str, table: Planted) -> Array | None:
    """A peer's scores, the largest for the most outlying; None where it does not apply or fails."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            scores = PEERS[name][1](table)
        except (ValueError, np.linalg.LinAlgError) as error:
            print(f"{name} failed: {error}")
            return None
    return None if scores is None else np.nan_to_num(scores, nan=0.0, posinf=1e300)


def lmrob_scores(tables: Sequence[Planted]) -> list[Array] | None:
    """Errors of robustbase's lmrob in its scale, of tables of numbers; None without R."""
    if shutil.which("Rscript") is None or not tables:
        return None
    with tempfile.TemporaryDirectory() as folder:
        script, names = Path(folder) / "lmrob.R", []
        script.write_text(LMROB, "utf-8")
        for k, table in enumerate(tables):
            X, y = _narrow(table)
            names.append(f"{folder}/{k}.csv")
            np.savetxt(names[-1], np.column_stack([X, y]), delimiter=",", fmt="%.9g")
        done = subprocess.run(["Rscript", str(script), *names], capture_output=True, text=True)
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    if len(lines) != len(tables):
        print(f"lmrob failed: {done.stderr.strip()[-200:]}")
        return None
    return [np.array([float(cell) for cell in line.split()]) for line in lines]
