"""The commands as functions: tables of any library, keywords, results for notebooks."""

from dataclasses import replace
from pathlib import PurePath
from typing import Any

from lrisk_cli.api.cluster import make_job as make_cluster_job
from lrisk_cli.api.cluster import run as run_cluster
from lrisk_cli.api.columns import make_job as make_columns_job
from lrisk_cli.api.columns import run as run_columns
from lrisk_cli.api.compare import FitsOptions
from lrisk_cli.api.compare import make_job as make_comparison_job
from lrisk_cli.api.compare import run as run_comparison
from lrisk_cli.api.detect_options import RankedBy
from lrisk_cli.api.detect_options import make_job as make_detection_job
from lrisk_cli.api.detect_outliers import run as run_detection
from lrisk_cli.api.evaluate import Evaluation
from lrisk_cli.api.evaluate import run as run_evaluation
from lrisk_cli.api.evaluate_options import make_job as make_evaluation_job
from lrisk_cli.api.fit import require_convergence
from lrisk_cli.api.fit import run as run_fit
from lrisk_cli.api.fit_options import make_job as make_fit_job
from lrisk_cli.api.predict import Job as PredictionJob
from lrisk_cli.api.predict import collect, make_checks
from lrisk_cli.api.quantile_report import is_json, quantile_columns
from lrisk_cli.api.quantile_report import run as run_quantiles
from lrisk_cli.api.quantile_subjects import ComparedOptions
from lrisk_cli.api.quantile_subjects import make_job as make_quantile_job
from lrisk_cli.clusters.options import ClusterOutput, Clusters, ClusterSearch
from lrisk_cli.design.options import Columns
from lrisk_cli.engines.options import EngineOptions
from lrisk_cli.evaluation.options.comparing import (
    ComparedModels,
    ComparisonSplits,
    Methods,
    QuantileOutput,
    RandomSplits,
)
from lrisk_cli.evaluation.options.evaluating import EvaluatedRisks, Labels, LossesFile
from lrisk_cli.evaluation.options.gates import Gates
from lrisk_cli.evaluation.options.grouping import Grouping
from lrisk_cli.evaluation.options.validation import Validation
from lrisk_cli.features.options import Embedding, KernelOptions
from lrisk_cli.library.keywords import Group, Keywords
from lrisk_cli.library.more_results import (
    ClusterEvaluationResult,
    ClusterResult,
    ColumnsResult,
    ComparisonResult,
    OutlierResult,
    QuantileResult,
)
from lrisk_cli.library.result import joined
from lrisk_cli.library.results import EvaluationResult, FitResult, PredictionResult
from lrisk_cli.models.options import (
    AfterFit,
    FitOutput,
    ModelFile,
    ModelOptions,
    Penalty,
    PredictionInterval,
    PredictionOutput,
    RowLoss,
)
from lrisk_cli.names import Standardize
from lrisk_cli.native.options import Seed, Threads
from lrisk_cli.outliers.options import Detection, DetectionOutput
from lrisk_cli.profiles.options import ExpectationFiles, ShownColumns
from lrisk_cli.progress import silent
from lrisk_cli.reports.html import Page as HtmlPage
from lrisk_cli.reports.options import ClusterPage, Page
from lrisk_cli.solvers.options import Solver, Stopping
from lrisk_cli.tables.named_columns import as_texts
from lrisk_cli.tables.options import Data, Files
from lrisk_cli.tables.table import write_bytes, write_table

_SCORED = ("id_column", "keep", "exposure", "missing", "unseen")

FIT = Keywords(
    "fit",
    (
        Group(Data), Group(Columns), Group(ModelOptions), Group(KernelOptions), Group(Embedding),
        Group(Validation), Group(Grouping), Group(AfterFit),
        Group(Gates, without=("baseline_metrics", "max_worsening", "github")),
        Group(FitOutput, without=("dry_run",)), Group(Page), Group(Files), Group(Stopping),
        Group(EngineOptions), Group(Seed), Group(Threads), Group(Solver),
    ),
    ("data", "target"),
)  # fmt: skip
PREDICT = Keywords(
    "predict",
    (
        Group(ModelFile), Group(Data), Group(Columns, only=_SCORED), Group(PredictionInterval),
        Group(Gates, without=("baseline_metrics", "max_worsening", "github")),
        Group(PredictionOutput), Group(Files),
    ),
    ("model", "data"),
)  # fmt: skip
EVALUATE = Keywords(
    "evaluate",
    (
        Group(ModelFile), Group(Data), Group(Columns, only=(*_SCORED, "weight", "weight_kind")),
        Group(Labels), Group(EvaluatedRisks), Group(Grouping), Group(PredictionInterval),
        Group(Seed), Group(Gates, without=("github",)), Group(LossesFile), Group(ClusterPage),
        Group(Files),
    ),
    ("model", "data"),
)  # fmt: skip
DETECT = Keywords(
    "detect_outliers",
    (
        Group(Data), Group(Columns, without=("scaling", "class_weight")), Group(Detection),
        Group(RowLoss), Group(Penalty), Group(KernelOptions), Group(Grouping),
        Group(Gates, without=("github",)), Group(DetectionOutput), Group(Page), Group(Files),
        Group(Seed), Group(Threads),
    ),
)  # fmt: skip
CLUSTER = Keywords(
    "cluster",
    (
        Group(Data), Group(Clusters),
        Group(
            Columns,
            without=(
                "target", "target_scale", "exposure", "task", "scaling", "intercept",
                "class_weight",
            ),
            defaults={"standardize": Standardize.FEATURES},
        ),
        Group(Labels), Group(Gates, without=("baseline_metrics", "max_worsening", "github")),
        Group(ClusterOutput), Group(ClusterPage), Group(Files), Group(Seed), Group(ClusterSearch),
    ),
    ("data", "clusters"),
)  # fmt: skip
COMPARE = Keywords(
    "compare",
    (
        Group(Data),
        Group(Columns, without=("id_column", "keep", "unseen", "intercept", "target_scale")),
        Group(Methods), Group(RowLoss), Group(Penalty),
        Group(ModelOptions, only=("smoothing", "nu")), Group(KernelOptions),
        Group(Stopping, without=("require_convergence",)), Group(Solver), Group(ComparisonSplits),
        Group(Grouping), Group(Gates, without=("baseline_metrics", "max_worsening", "github")),
        Group(Page), Group(Files, only=("force",)), Group(Seed), Group(Threads),
    ),
    ("data", "target"),
)  # fmt: skip
QUANTILES = Keywords(
    "quantile_report",
    (
        Group(Data),
        Group(
            Columns,
            only=(
                "target", "features", "exclude", "exposure", "weight", "weight_kind",
                "class_weight", "dtype", "missing", "unseen", "dates", "task",
            ),
        ),
        Group(ComparedModels), Group(RowLoss), Group(Penalty), Group(RandomSplits),
        Group(Grouping), Group(Gates, without=("github",)), Group(QuantileOutput), Group(Page),
        Group(Files), Group(Threads),
    ),
)  # fmt: skip


COLUMNS = Keywords(
    "columns",
    (
        Group(Data), Group(ShownColumns), Group(ExpectationFiles), Group(Gates, only=("junit",)),
        Group(Page), Group(Files, only=("force",)),
    ),
)  # fmt: skip


@FIT.documented
def fit(data: Any, target: Any, **options: Any) -> FitResult:
    """Learn a model from a table and prove how good it is.

    Minimises a spectral risk of the losses plus an l2 penalty, and proves how far the result can
    be from the optimum. data: paths, or a table of pandas, polars, pyarrow or NumPy. target: the
    name of a column, or an array with a value for each row.
    """
    with FIT.called(data=data, target=target, **options) as of:
        output, html = of[FitOutput], of[Page].html
        job = make_fit_job(
            of[Data], of[Columns], of[ModelOptions], of[KernelOptions], of[Embedding],
            of[Validation], output, of[Stopping], of[Solver], seed=of[Seed].seed,
            html=html, gates=of[Gates], after=of[AfterFit], grouping=of[Grouping],
            engine=of[EngineOptions].engine,
        )  # fmt: skip
        fits = run_fit(replace(job, keep=True), silent, force=of[Files].force)
        for each in fits.results:
            if each.files.html is not None:
                from lrisk_cli.reports.model_pages import fit_page

                _write_page(each.files.html, fit_page(fits, each, _call("fit")))
        if of[Stopping].require_convergence:
            require_convergence(fits.results)
    return FitResult(fits)


@PREDICT.documented
def predict(model: Any, data: Any, **options: Any) -> PredictionResult:
    """Score the rows of a table; no target needed.

    model: a path, a result of fit or cluster, or a fitted estimator.
    """
    with PREDICT.called(model=model, data=data, **options) as of:
        columns = of[Columns]
        job = PredictionJob(
            of[ModelFile].model, of[Data].parse(), of[PredictionOutput].output, columns.id_column,
            columns.missing, columns.unseen, columns.exposure, of[PredictionInterval].interval,
            make_checks(of[Gates]), as_texts(columns.keep),
        )  # fmt: skip
        done, scorer, parts = collect(job, silent, force=of[Files].force)
    return PredictionResult(done, scorer, joined(parts))  # type: ignore[arg-type]


@EVALUATE.documented
def evaluate(model: Any, data: Any, **options: Any) -> EvaluationResult | ClusterEvaluationResult:
    """Evaluate a model on a table: risks, errors, gates.

    model: a path, a result of fit or cluster, or a fitted estimator.
    """
    with EVALUATE.called(model=model, data=data, **options) as of:
        page = of[ClusterPage]
        job = make_evaluation_job(
            of[ModelFile], of[Data], of[Columns], of[Labels], of[EvaluatedRisks],
            of[PredictionInterval], of[Gates], of[LossesFile], seed=of[Seed].seed, html=page.html,
            image_shape=page.image_shape, grouping=of[Grouping],
        )  # fmt: skip
        found = run_evaluation(replace(job, keep=True), silent, force=of[Files].force)
        if isinstance(found, Evaluation):
            if page.html is not None:
                from lrisk_cli.reports.model_pages import evaluation_page

                _write_page(page.html, evaluation_page(found, _call("evaluate")))
            return EvaluationResult(found)
        if job.page is not None and found.seen is not None:
            from lrisk_cli.reports.cluster_page import cluster_evaluation_page

            made = cluster_evaluation_page(found, found.seen, job.page.shape, _call("evaluate"))
            _write_page(job.page.path, made)
        return ClusterEvaluationResult(found)


@DETECT.documented
def detect_outliers(data: Any, **options: Any) -> OutlierResult:
    """Rank rows by how little they fit the others, and say why.

    With a target, rows are ranked by their loss under a robust fit; without one, by their distance
    to the nearest centre of a robust clustering.
    """
    with DETECT.called(data=data, **options) as of:
        by = RankedBy(
            of[Columns], of[Detection], of[RowLoss], of[Penalty], of[KernelOptions], of[Seed].seed
        )
        html = of[Page].html
        job = make_detection_job(
            of[Data], by, of[Gates], of[DetectionOutput], html=html, grouping=of[Grouping]
        )
        found = run_detection(replace(job, keep=True), silent, force=of[Files].force)
        if html is not None:
            from lrisk_cli.reports.outlier_page import outlier_page

            _write_page(html, outlier_page(found, _call("detect_outliers")))
    return OutlierResult(found)


@CLUSTER.documented
def cluster(data: Any, clusters: Any, **options: Any) -> ClusterResult:
    """Outlier-robust k-means clustering.

    clusters: a number, or several to choose from, as "2..6".
    """
    with CLUSTER.called(data=data, clusters=clusters, **options) as of:
        page = of[ClusterPage]
        job = make_cluster_job(
            of[Data], of[Clusters], of[Columns], of[Labels], of[ClusterSearch], of[ClusterOutput],
            of[Gates], seed=of[Seed].seed, html=page.html, image_shape=page.image_shape,
        )  # fmt: skip
        found = run_cluster(replace(job, keep=True), silent, force=of[Files].force)
        if job.page is not None and found.seen is not None:
            from lrisk_cli.reports.cluster_page import cluster_page

            made = cluster_page(found, found.seen, job.page.shape, _call("cluster"))
            _write_page(job.page.path, made)
    return ClusterResult(found)


@COMPARE.documented
def compare(data: Any, target: Any, **options: Any) -> ComparisonResult:
    """Compare risks and rivals on rows they have not seen."""
    with COMPARE.called(data=data, target=target, **options) as of:
        fits = FitsOptions(
            of[Methods], of[RowLoss], of[Penalty], of[ModelOptions], of[KernelOptions],
            of[Stopping], of[Solver], of[Seed].seed,
        )  # fmt: skip
        html = of[Page].html
        job = make_comparison_job(
            of[Data], of[Columns], fits, of[ComparisonSplits],
            html=html, gates=of[Gates], grouping=of[Grouping],
        )  # fmt: skip
        found = run_comparison(job, silent, force=of[Files].force)
        if html is not None:
            from lrisk_cli.reports.comparison_page import comparison_page

            _write_page(html, comparison_page(found, _call("compare")))
    return ComparisonResult(found)


@QUANTILES.documented
def quantile_report(data: Any, **options: Any) -> QuantileResult:
    """Compare loss quantiles: what the tail gains, what it costs.

    Name fitted models by model and baseline; or a target, and the mean and the risks are fitted on
    random parts of the table and compared on the rest.
    """
    with QUANTILES.called(data=data, **options) as of:
        compared = ComparedOptions(
            of[Columns], of[ComparedModels], of[RowLoss], of[Penalty], of[RandomSplits]
        )
        output, html = of[QuantileOutput], of[Page].html
        job = make_quantile_job(
            of[Data], compared, of[Gates], output, html=html, grouping=of[Grouping]
        )
        found = QuantileResult(run_quantiles(job, silent, force=of[Files].force))
        if output.output is not None and is_json(output.output):
            from lrisk_cli.reports.documents import encode_document

            write_bytes(output.output, encode_document(found.document()))
        elif output.output is not None:
            write_table(output.output, quantile_columns(found.result))
        if html is not None:
            from lrisk_cli.reports.quantile_page import quantile_page

            _write_page(html, quantile_page(found.result, _call("quantile_report")))
    return found


@COLUMNS.documented
def columns(data: Any, **options: Any) -> ColumnsResult:
    """Report how columns are read, and check what they hold."""
    with COLUMNS.called(data=data, **options) as of:
        html = of[Page].html
        job = make_columns_job(
            of[Data], of[ShownColumns], of[ExpectationFiles], of[Gates], html=html
        )
        found = run_columns(job, silent, force=of[Files].force)
        if html is not None:
            from lrisk_cli.reports.columns import columns_page

            _write_page(html, columns_page(found, _call("columns")))
    return ColumnsResult(found)


def _call(name: str) -> str:
    """What a page says that it was made by."""
    return f"lrisk_cli.{name}(...)"


def _write_page(path: str | PurePath, page: HtmlPage) -> None:
    from lrisk_cli.reports.html import write_page

    write_page(path, page)
