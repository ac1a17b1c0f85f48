"""Fit models to a table that is streamed: a first pass to learn the encoding, sweeps, a proof."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from lrisk_cli.api.clock import Clock
from lrisk_cli.api.fit_engine import MOST_UNKNOWNS
from lrisk_cli.api.fit_figures import Asked, asked_of, evaluate_test
from lrisk_cli.api.fit_files import FitFiles
from lrisk_cli.api.fit_result import FitResult, Fits, Reference
from lrisk_cli.api.fit_tests import open_test, with_gates
from lrisk_cli.api.fit_warnings import sample_warnings
from lrisk_cli.api.fit_writing import write_results
from lrisk_cli.design.design import Design
from lrisk_cli.engines.blocks import Unchanged
from lrisk_cli.engines.first_pass import FirstPass, read_first
from lrisk_cli.engines.memory import MemoryEngine
from lrisk_cli.engines.stream import StreamEngine
from lrisk_cli.errors import DataError, opt
from lrisk_cli.evaluation.binned_figures import BinnedTally, FigureSums, Observer
from lrisk_cli.evaluation.metrics import reported_errors
from lrisk_cli.evaluation.warning_rules import warn_of_same_files
from lrisk_cli.features.features import Features
from lrisk_cli.losses.base import Loss
from lrisk_cli.models.fitting import (
    FitOptions,
    Fitted,
    choose_loss,
    make_features,
    record_fit,
    state_problem,
)
from lrisk_cli.models.model import Model
from lrisk_cli.models.streamed import streamed_record
from lrisk_cli.names import EngineName
from lrisk_cli.native.threads import one_thread
from lrisk_cli.progress import Report
from lrisk_cli.risk.spectrum import Spectrum
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.rows.rows import Rows
from lrisk_cli.solvers.binned import BinnedRun, Minimised
from lrisk_cli.solvers.binned_beside import At, MakeBeside, MeanFit, look_beside
from lrisk_cli.solvers.binned_distinct import find_distinct, has_few_distinct
from lrisk_cli.solvers.binned_start import Sample, start_from
from lrisk_cli.solvers.binned_sums import Kept
from lrisk_cli.solvers.direct import mean_minimiser
from lrisk_cli.solvers.problem import make_problem
from lrisk_cli.solvers.select import choose, solve
from lrisk_cli.solvers.solution import Limits, Solution
from lrisk_cli.tables.table import Table
from lrisk_cli.types import Array

if TYPE_CHECKING:
    from lrisk_cli.api.fit_job import Job

SOLVER = "binned"
UNFINISHED = (
    "the ordinary fit was ended before it was exact: its figures are those of coefficients near it"
)
REASON = "few passes over rows that are not held in memory"
# What the ordinary fit may miss of its gain.
MEAN_TOL = 1e-6
# Passes for it alone, after those that the fit itself takes.
MOST_FOR_MEAN = 20


@dataclass(frozen=True, slots=True)
class _Rows:
    """All rows and a sample of them."""

    table: Table
    first: FirstPass
    sample: Design
    features: Features
    unchanged: Unchanged


def run_stream(job: "Job", table: Table, report: Report) -> Fits:
    """Learn the encoding, fit each risk by sweeps, judge and write the models."""
    clock = Clock()
    unchanged = Unchanged(table)
    first = read_first(table, job.columns, report)
    clock.lap("read_s")
    job = _with_metrics(job, first)
    test = None if job.test is None else open_test(job, first.encoding)
    sample = _sample_design(table, first)
    rows = _Rows(table, first, sample, make_features(sample, job.fits[0]), unchanged)
    results: list[FitResult] = []
    for options, files in zip(job.fits, job.files, strict=True):
        results.append(_fit(rows, job, options, files, report, reference=not results))
    _share_reference(results, job)
    clock.lap("solve_s")
    if test is not None:
        evaluate_test(results, test, report, job.checks)
        clock.lap("test_s")
    same = warn_of_same_files([*table.paths, *(test.paths if test else ())])
    for result in results:
        found = sample_warnings(result.model, sample, first.n_used, result.figures, result.means)
        result.warnings = (*same, *result.warnings, *found)
    write_results(results)
    clock.lap("write_s")
    notes = (*first.notes, *job.notes, *(test.notes if test else ()), _note(first))
    return with_gates(job, Fits(tuple(results), first.counts, notes, None, clock.timings()))


def _with_metrics(job: "Job", first: FirstPass) -> "Job":
    """Refuse gates on metrics that these rows do not have before any row is fitted."""
    if job.checks is None:
        return job
    from lrisk_cli.api.figure_gates import for_target
    from lrisk_cli.evaluation.registry import needs_of_fits

    target = first.encoding.target
    checks = for_target(job.checks, target.task, target.classes, job.fits[0].loss, needs_of_fits)
    return replace(job, checks=checks)


def _note(first: FirstPass) -> str:
    """How near the figures are."""
    return (
        f"engine: stream; of {first.n_used} rows, risks other than the mean, medians, roc_auc and "
        "average_precision are computed from bins of the losses, 256 to a doubling"
    )


def _sample_design(table: Table, first: FirstPass) -> Design:
    """The sample as a design, in its random order."""
    encoding = first.encoding
    encoded = encoding.encode(first.sample, table.label)
    assert encoded.y is not None  # noqa: S101  (the sample has the target)
    targets = encoding.target.as_read(
        first.sample.columns[encoding.target.name],
        encoded.kept, encoded.y,
    )  # fmt: skip
    return Design(
        encoded.rows, encoded.y, targets, encoded.kept, None, encoding, first.counts,
        first.fingerprint, first.notes, label=table.label,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Found:
    """A solution, what was observed at its W, and the ordinary fit with what was observed there."""

    solution: Solution
    how: tuple[str, str]
    seen: FigureSums
    mean: Array | None
    mean_seen: FigureSums | None
    notes: tuple[str, ...] = ()


def _fit(
    rows: _Rows, job: "Job", options: FitOptions, files: FitFiles, report: Report, *,
    reference: bool,
) -> FitResult:  # fmt: skip
    """One fit by sweeps, and the ordinary one beside it if it is wanted."""
    began, options = perf_counter(), replace(options, limits=options.limits.begun())
    sample, first, n = rows.sample, rows.first, rows.first.n_used
    target, spectrum = first.encoding.target, options.risk
    assert isinstance(spectrum, Spectrum)  # noqa: S101  (others were refused)
    loss = choose_loss(options.loss, target).scaled(target.scale)
    _check_size(rows.table.label, sample.rows, loss)
    mu = 1.0 / n if options.l2 is None else options.l2
    some = Sample(sample.rows, loss.targets(sample.y), loss, spectrum, mu, n)
    engine = StreamEngine(rows.table, first.encoding, loss, n, rows.unchanged, report)
    wanted = job.reference and reference and not all(each.risk.flat for each in job.fits)
    observer = Observer(loss, target.mean, target.scale, len(target.classes))
    with one_thread(), np.errstate(all="ignore"):
        held = _held(some, engine)
        if held is not None:
            found = _solve_held(some, held, engine, options, observer, report, wanted=wanted)
        else:
            found = _solve_swept(some, engine, options, observer, report, wanted=wanted)
    model = _model(rows, replace(options, l2=mu), found, engine)
    result = FitResult(
        Fitted(model, found.solution, (*rows.features.notes, *found.notes)),
        files, perf_counter() - began,
    )  # fmt: skip
    asked = asked_of([result], job.checks)
    _take(result, model, found.seen, asked)
    if found.mean is not None and found.mean_seen is not None:
        W = rows.features.coefficients(found.mean)
        result.reference = Reference(replace(model, risk="mean", coefficients=W))
        _take(result.reference, result.reference.model, found.mean_seen, asked)
    return result


def _held(some: Sample, engine: StreamEngine) -> Kept | None:
    """All rows, where there are few, or few different ones; these are found by a pass."""
    if some.size == some.n:
        return Kept(np.zeros((0, 0)), some.y, np.ones(some.n))
    if not has_few_distinct(some.rows, some.y):
        return None
    return engine.sweep(find_distinct, None).kept


def _solve_swept(
    some: Sample, engine: StreamEngine, options: FitOptions, observer: Observer, report: Report,
    *, wanted: bool,
) -> _Found:  # fmt: skip
    """By few passes from the optimum of the sample."""
    start = start_from(some, options.limits, MemoryEngine, report)
    mean = MeanFit(some.loss, some.mu, _mean_of(some), MEAN_TOL) if wanted else None
    run = BinnedRun(
        engine, some.loss, some.spectrum, some.mu, options.limits, report, observe=observer,
        mean=mean,
    )  # fmt: skip
    found = run.run(start)
    how = SOLVER, REASON
    if mean is None:
        return _Found(_solution(found), how, found.seen, None, None)
    _finish_mean(mean, some.loss, engine, observer, float(run.at_zero or 0.0), options.limits)
    solution = replace(_solution(found), passes=float(engine.passes))
    notes = () if mean.done else (UNFINISHED,)
    return _Found(solution, how, found.seen, mean.W_seen, mean.seen, notes)


def _finish_mean(
    mean: MeanFit, loss: Loss, engine: StreamEngine, observer: Observer, at_zero: float,
    limits: Limits,
) -> None:  # fmt: skip
    """Sweep for the ordinary fit alone until it is done, or the limits end that."""
    for _ in range(MOST_FOR_MEAN):
        late = engine.passes >= limits.max_passes or perf_counter() >= limits.deadline
        if mean.done or late:
            return
        make = MakeBeside(loss, observer, zero=False, mean=mean.W, curved=mean.curved)
        found = engine.sweep(look_beside, At(mean.W, make)).mean
        assert found is not None  # noqa: S101  (asked for)
        mean.take(found, at_zero)


def _solve_held(
    some: Sample, held: Kept, engine: StreamEngine, options: FitOptions, observer: Observer,
    report: Report, *, wanted: bool,
) -> _Found:  # fmt: skip
    """In memory, and a pass for the figures."""
    rows, y, masses = some.rows, some.y, None
    reason = "the table has few rows"
    if held.cells.size:
        rows, y, masses = DenseRows(held.cells), held.y, held.times
        reason = f"the rows have {len(y)} different contents"
    problem = make_problem(rows, y, some.loss, some.spectrum, some.mu, masses=masses)
    chosen = choose(problem, options.solver)
    solution = solve(problem, options.solver, options.limits, report)
    mean = mean_minimiser(problem, solution.mean_fit, MEAN_TOL, np.inf) if wanted else None
    make = MakeBeside(some.loss, observer, zero=False, mean=mean, curved=False)
    seen = engine.sweep(look_beside, At(solution.W, make))
    solution = replace(solution, passes=float(engine.passes))
    of_mean = None if seen.mean is None else seen.mean.seen
    return _Found(solution, (chosen.solver.value, reason), seen.here, mean, of_mean)


def _mean_of(some: Sample) -> Array:
    """The ordinary fit of the sample."""
    problem = make_problem(some.rows, some.y, some.loss, Spectrum("mean"), some.mu)
    W = mean_minimiser(problem, None, MEAN_TOL, np.inf)
    return np.zeros(problem.shape) if W is None else W


def _check_size(label: str, rows: Rows, loss: Loss) -> None:
    size = rows.shape[1] * loss.n_outputs
    if size > MOST_UNKNOWNS:
        raise DataError(
            f"{label}: {rows.shape[1]} encoded columns x {loss.n_outputs} outputs are more than "
            f"the {MOST_UNKNOWNS} coefficients that a streamed fit takes; lower "
            f"{opt('max_categories')}, {opt('exclude')} columns or pass "
            f"{opt('engine', EngineName.MEMORY)}"
        )


def _take(into: FitResult | Reference, model: Model, seen: FigureSums, asked: Asked) -> None:
    """Keep the figures of the rows learned from."""
    tally = BinnedTally(model, reported_errors(model, asked.errors), seen)
    into.take("training", tally, asked.spectra)


def _solution(found: Minimised) -> Solution:
    """The run as other solvers describe theirs; row weights of so many rows are not kept."""
    proved = found.certificate
    return Solution(
        W=found.W, lam=np.zeros(0), objective=proved.objective, smoothed_objective=None,
        certificate=proved, smoothed=None, status=found.status, converged=found.converged,
        passes=found.epochs[-1].passes, step=None, halvings=0, epochs=found.epochs,
    )  # fmt: skip


def _model(rows: _Rows, options: FitOptions, found: _Found, engine: StreamEngine) -> Model:
    sample, first = rows.sample, rows.first
    problem = state_problem(sample, options, rows.features)
    record = record_fit(sample, options, problem, found.solution, found.how)
    digest = engine.digest
    text = "" if digest is None else digest.text
    record = streamed_record(record, first.n_used, text)
    return Model(
        encoding=first.encoding,
        loss=choose_loss(options.loss, first.encoding.target).name,
        risk=str(options.risk),
        l2=problem.mu,
        coefficients=rows.features.coefficients(found.solution.W),
        fit=record,
        feature_map=rows.features.map,
    )


def _share_reference(results: Sequence[FitResult], job: "Job") -> None:
    """All fits have the same ordinary one: that of the first, or the mean where it is a risk."""
    flat = [r for r, each in zip(results, job.fits, strict=True) if each.risk.flat]
    shared = Reference(flat[0].model, flat[0].figures) if flat else results[0].reference
    for result, each in zip(results, job.fits, strict=True):
        result.reference = None if each.risk.flat or not job.reference else shared
