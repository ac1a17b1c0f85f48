"""Spectral risks as metrics and scorers, for models of any library."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from lrisk_cli.errors import DataError, InvalidOption
from lrisk_cli.losses.registry import parse_loss
from lrisk_cli.names import Task
from lrisk_cli.risk.spectrum import parse_risk
from lrisk_cli.risk.value import sort_losses
from lrisk_cli.risk.value import spectral_risk as risk_of_sorted
from lrisk_cli.risk.weighted import SortedMasses
from lrisk_cli.types import Array


def spectral_risk(losses: Any, risk: str = "superquantile:0.9", sample_weight: Any = None) -> float:
    """The spectral risk of losses: their weighted average, weights by rank.

    risk: as in `fit`, such as "superquantile:0.9" or "extremile:2". sample_weight: how often each
    row occurs.
    """
    values = _vector(losses, "losses")
    if sample_weight is None:
        return risk_of_sorted(sort_losses(values.copy()), parse_risk(risk))
    weights = _vector(sample_weight, "sample_weight")
    if len(weights) != len(values):
        raise InvalidOption("sample_weight", f"has {len(weights)} values, for {len(values)} losses")
    if (weights < 0.0).any() or not weights.any():
        raise InvalidOption("sample_weight", "takes numbers of at least 0, some of them greater")
    used = weights > 0.0
    order = np.argsort(values[used], kind="stable")
    masses = SortedMasses(weights[used][order])
    return risk_of_sorted(values[used][order], parse_risk(risk), masses)


def superquantile(losses: Any, q: float = 0.9, sample_weight: Any = None) -> float:
    """The mean of the largest losses, a fraction 1 - q of them (CVaR, expected shortfall)."""
    return spectral_risk(losses, f"superquantile:{q!r}", sample_weight)


def subquantile(losses: Any, p: float = 0.9, sample_weight: Any = None) -> float:
    """The mean of the smallest losses, a fraction p of them."""
    return spectral_risk(losses, f"subquantile:{p!r}", sample_weight)


def extremile(losses: Any, r: float = 2.0, sample_weight: Any = None) -> float:
    """The expected largest of r losses drawn at random."""
    return spectral_risk(losses, f"extremile:{r!r}", sample_weight)


def esrm(losses: Any, rho: float = 1.0, sample_weight: Any = None) -> float:
    """The exponential spectral risk measure: weights grow as exp(rho u) with the rank u."""
    return spectral_risk(losses, f"esrm:{rho!r}", sample_weight)


def row_losses(y_true: Any, y_pred: Any, loss: str = "squared") -> Array:
    """The loss of each row: squared (half the squared error), huber:D or quantile:T. (n,)."""
    chosen = parse_loss(loss)
    if chosen.is_auto or chosen.make(2).task is not Task.REGRESSION or chosen.make(2).log_link:
        raise InvalidOption("loss", f"takes squared, huber:D or quantile:T; got {loss!r}")
    targets, predictions = _vector(y_true, "y_true"), _vector(y_pred, "y_pred")
    if len(targets) != len(predictions):
        raise InvalidOption("y_pred", f"has {len(predictions)} values, for {len(targets)} targets")
    return chosen.make(2).values(predictions[:, np.newaxis], targets)


def log_losses(y_true: Any, probabilities: Any, classes: Any) -> Array:
    """-log of the probability of the class of each row. probabilities: (n, classes). (n,)."""
    P, known = np.asarray(probabilities, dtype=np.float64), np.asarray(classes)
    at = np.searchsorted(known, np.asarray(y_true))
    at = np.minimum(at, len(known) - 1)
    if (known[at] != np.asarray(y_true)).any():
        raise DataError("y_true: a class that the model does not know; leave its rows out")
    chosen = P[np.arange(len(at)), at]
    return np.asarray(-np.log(np.maximum(chosen, np.finfo(np.float64).tiny)))


@dataclass(frozen=True)
class RiskScorer:
    """A scorer for cross_val_score and GridSearchCV: minus the risk of the losses of a model.

    Of a classifier, losses are -log of the probability of the class; of others those of `loss`.
    """

    risk: str
    loss: str = "squared"

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        if hasattr(estimator, "classes_"):
            found = log_losses(y, estimator.predict_proba(X), estimator.classes_)
        else:
            found = row_losses(y, estimator.predict(X), self.loss)
        return -spectral_risk(found, self.risk, sample_weight)


def risk_score(risk: str, loss: str = "squared") -> RiskScorer:
    """A scorer by any spectral risk."""
    parse_risk(risk)
    return RiskScorer(risk, loss)


def superquantile_score(q: float = 0.9, loss: str = "squared") -> RiskScorer:
    """A scorer by the mean of the worst losses, a fraction 1 - q of them."""
    return risk_score(f"superquantile:{q!r}", loss)


def extremile_score(r: float = 2.0, loss: str = "squared") -> RiskScorer:
    """A scorer by the expected worst of r losses."""
    return risk_score(f"extremile:{r!r}", loss)


def esrm_score(rho: float = 1.0, loss: str = "squared") -> RiskScorer:
    """A scorer by the exponential spectral risk measure."""
    return risk_score(f"esrm:{rho!r}", loss)


def subquantile_score(p: float = 0.9, loss: str = "squared") -> RiskScorer:
    """A scorer by the mean of the best losses, a fraction p of them."""
    return risk_score(f"subquantile:{p!r}", loss)


def _vector(values: Any, name: str) -> Array:
    found = np.asarray(values, dtype=np.float64)
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    if found.ndim != 1 or not len(found):
        raise InvalidOption(name, f"takes one number for each row; got the shape {found.shape}")
    if not np.isfinite(found).all():
        raise InvalidOption(name, "has values that are missing or not finite")
    return np.ascontiguousarray(found)
