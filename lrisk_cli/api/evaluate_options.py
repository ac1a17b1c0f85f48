"""From the options of an evaluation to its job."""

from lrisk_cli.api.evaluate import Job
from lrisk_cli.api.pages import parse_page
from lrisk_cli.design.options import Columns
from lrisk_cli.design.weights import parse_weighting
from lrisk_cli.evaluation.checks import make_checks
from lrisk_cli.evaluation.options.evaluating import EvaluatedRisks, Labels, LossesFile
from lrisk_cli.evaluation.options.gates import Gates
from lrisk_cli.evaluation.options.grouping import Grouping
from lrisk_cli.models.options import ModelFile, PredictionInterval
from lrisk_cli.tables.options import Data


def make_job(
    model: ModelFile,
    data: Data,
    columns: Columns,
    labels: Labels,
    risks: EvaluatedRisks,
    intervals: PredictionInterval,
    gates: Gates,
    output: LossesFile,
    *,
    seed: int,
    html: str | None,
    image_shape: str | None,
    grouping: Grouping | None = None,
) -> Job:
    """What the options ask for; impossible ones are refused."""
    return Job(
        model=model.model,
        data=data.parse(),
        risks=risks.risk,
        make_checks=lambda canonical: make_checks(gates, "evaluate", canonical),
        losses=output.losses,
        id_column=columns.id_column,
        seed=seed if risks.intervals else None,
        label=labels.label,
        inliers=labels.inliers,
        page=parse_page(html, image_shape),
        missing=columns.missing,
        unseen=columns.unseen,
        exposure=columns.exposure,
        weighting=parse_weighting(columns.weight, columns.weight_kind, None),
        threshold=risks.threshold,
        held_out=risks.held_out,
        interval=intervals.interval,
        by=() if grouping is None else grouping.columns,
        copied=columns.parse_keep(output.losses, "losses"),
    )
