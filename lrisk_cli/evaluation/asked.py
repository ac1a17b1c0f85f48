"""Whether a model has what an evaluation asks for; what it has not is refused with a sentence."""

from lrisk_cli.errors import InvalidOption, UsageError, opt
from lrisk_cli.evaluation.checks import Checks
from lrisk_cli.evaluation.metric import Needs
from lrisk_cli.evaluation.registry import metrics_of
from lrisk_cli.models.cluster_model import ClusterModel
from lrisk_cli.models.model import Model


def check_threshold(path: str, model: Model | ClusterModel, threshold: float | None) -> None:
    """A threshold decides between two classes. path: of the model."""
    if threshold is None:
        return
    classes = () if isinstance(model, ClusterModel) else model.target.classes
    if len(classes) != 2:
        has = f"has {len(classes)}" if classes else "has none"
        raise InvalidOption(
            "threshold", f"decides between two classes, and {path} {has}; leave it out"
        )
    if not 0.0 < threshold < 1.0:
        raise InvalidOption("threshold", "must be between 0 and 1", f"{threshold:g}")


def check_level(checks: Checks, level: float | None) -> None:
    """Gates on intervals need a level."""
    known = metrics_of([Needs.INTERVALS])
    asked = [gate.metric for gate in checks.gates if gate.metric in known]
    if asked and level is None:
        raise UsageError(f"{asked[0]} is a metric of intervals; add {opt('interval', 0.9)}")
