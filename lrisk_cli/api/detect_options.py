"""From the options of an outlier detection to its job; idle options are refused."""

from dataclasses import dataclass, replace

from lrisk_cli.api.detect_outliers import Job
from lrisk_cli.clusters.options import parse_clusters
from lrisk_cli.design.options import Columns
from lrisk_cli.errors import InvalidOption, opt
from lrisk_cli.evaluation.checks import make_checks
from lrisk_cli.evaluation.group_gates import make_canonical
from lrisk_cli.evaluation.options.gates import Gates
from lrisk_cli.evaluation.options.grouping import Grouping
from lrisk_cli.evaluation.registry import OF_CLUSTERS, spell_metric
from lrisk_cli.features.options import KernelOptions
from lrisk_cli.losses.registry import AUTO, parse_loss
from lrisk_cli.models.fitting import FitOptions, check_fit
from lrisk_cli.models.options import Penalty, RowLoss, suit_columns
from lrisk_cli.names import Dates, KernelName, Scaling, Standardize, TargetScale, Task
from lrisk_cli.outliers.options import Detection, DetectionOutput
from lrisk_cli.risk.spectrum import Spectrum
from lrisk_cli.solvers.select import SolverOptions
from lrisk_cli.tables.options import Data


@dataclass(frozen=True, slots=True)
class RankedBy:
    """The options that say what the rows are ranked by."""

    columns: Columns
    detection: Detection
    loss: RowLoss
    penalty: Penalty
    kernel: KernelOptions
    seed: int

    def make_fit(self) -> FitOptions:
        """The fit of a target; wrong options are refused."""
        fit = FitOptions(
            Spectrum("mean"),
            parse_loss(self.loss.loss),
            self.penalty.l2,
            solver=SolverOptions(seed=self.seed),
            features=self.kernel.parse(),
        )
        check_fit(fit)
        return fit


def make_job(
    data: Data,
    by: RankedBy,
    gates: Gates,
    output: DetectionOutput,
    *,
    html: str | None,
    grouping: Grouping | None = None,
) -> Job:
    """What the options ask for; impossible ones, and idle ones, are refused."""
    refuse_idle(by, output)
    columns, detection, fit = by.columns, by.detection, by.make_fit()
    groups = () if grouping is None else grouping.columns
    how = replace(
        suit_columns(columns.parse(), fit.loss),
        intercept=columns.target is not None and columns.intercept,
        by=groups,
        scaling=(Scaling.DEVIATION if columns.standardize is Standardize.NONE else Scaling.MAD),
    )
    canonical = make_canonical(lambda metric: spell_metric(metric, OF_CLUSTERS), groups)
    checks = make_checks(gates, "detect-outliers", canonical)
    return Job(
        data=data.parse(),
        dtypes=columns.dtypes,
        columns=how,
        fit=fit,
        ks=() if detection.clusters is None else parse_clusters(detection.clusters),
        contamination=detection.fraction,
        model=detection.model,
        missing=columns.missing,
        unseen=columns.unseen,
        top=output.top,
        checks=checks,
        by=groups,
        output=output.output,
        save_model=output.save_model,
        html=html,
        copied=columns.parse_keep(output.output, "output"),
    )


def refuse_idle(by: RankedBy, output: DetectionOutput) -> None:
    """InvalidOption that names the first option given that would not be used."""
    columns, of_targets = by.columns, _of_targets(by)
    if by.detection.model is not None:
        idle = {**_of_fits(by, output), **of_targets}
        why = f"is for a fit, and {opt('model')} names one that is done"
    elif columns.target is None:
        idle, why = of_targets, f"is for a fit of a {opt('target')}, and none is named"
    else:
        idle = {"clusters": by.detection.clusters is not None}
        why = f"is for tables without a {opt('target')}"
    for option, is_given in idle.items():
        if is_given:
            off = False if option == "intercept" else None
            raise InvalidOption(option, f"{why}; leave it out", off)


def _of_targets(by: RankedBy) -> dict[str, bool]:
    """The options of fits of a target, and whether they were given."""
    columns, kernel = by.columns, by.kernel
    return {
        "task": columns.task not in (None, Task.AUTO),
        "loss": by.loss.loss != AUTO,
        "exposure": columns.exposure is not None,
        "target_scale": columns.target_scale is not TargetScale.NONE,
        "l2": by.penalty.l2 is not None,
        "intercept": not columns.intercept,
        "kernel": kernel.kernel is not KernelName.LINEAR,
        "gamma": kernel.gamma is not None,
        "degree": kernel.degree is not None,
        "coef0": kernel.coef0 is not None,
        "rank": kernel.rank is not None,
        "feature_map": kernel.feature_map is not None,
    }


def _of_fits(by: RankedBy, output: DetectionOutput) -> dict[str, bool]:
    """The other options of fits, and whether they were given."""
    columns = by.columns
    return {
        "features": columns.features is not None,
        "exclude": columns.exclude is not None,
        "dtype": bool(columns.dtype),
        "max_categories": columns.max_categories is not None,
        "dates": columns.dates not in (None, Dates.NUMBER),
        "standardize": columns.standardize is not Standardize.BOTH,
        "seed": by.seed != 0,
        "save_model": output.save_model is not None,
        "clusters": by.detection.clusters is not None,
    }
