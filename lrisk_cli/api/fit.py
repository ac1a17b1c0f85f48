"""Fit models to a table: read, choose, design, solve, evaluate, write."""

from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from lrisk_cli.api.clock import Clock
from lrisk_cli.api.fit_figures import evaluate
from lrisk_cli.api.fit_files import check_files
from lrisk_cli.api.fit_job import Job
from lrisk_cli.api.fit_refinements import check_task, fold_scores, refine
from lrisk_cli.api.fit_result import FitResult, Fits
from lrisk_cli.api.fit_tests import open_test, with_gates
from lrisk_cli.api.fit_warnings import fit_warnings, row_digests
from lrisk_cli.api.fit_writing import write_results
from lrisk_cli.design.design import (
    Design,
    RawDesign,
    encode_design,
    read_design,
)
from lrisk_cli.design.target_scale import note_skew
from lrisk_cli.errors import DataError, NotConvergedError, UsageError, opt
from lrisk_cli.evaluation.warning_rules import warn_of_same_files
from lrisk_cli.models.fitting import (
    fit_design,
    make_features,
)
from lrisk_cli.models.model import with_digests
from lrisk_cli.names import EngineName, TargetScale
from lrisk_cli.progress import Progress, Report
from lrisk_cli.tables.kept_columns import find_kept, with_kept
from lrisk_cli.tables.memory import TooLargeError
from lrisk_cli.tables.table import check_output, open_table
from lrisk_cli.types import Flags, Index

if TYPE_CHECKING:
    from lrisk_cli.evaluation.dividing import Holdout
    from lrisk_cli.evaluation.out_of_fold import FoldScores
    from lrisk_cli.evaluation.selection import CrossValidation


def run(job: Job, report: Report, *, force: bool) -> Fits:
    """Read, choose if asked to, design, solve, evaluate; write models, losses and traces."""
    check_files(job.files, force=force)
    if job.junit is not None:
        check_output(job.junit, force=force)
    if job.engine is EngineName.STREAM:
        return _stream(job, report, ())
    try:
        return _run_in_memory(job, report)
    except TooLargeError as error:
        if job.engine is EngineName.MEMORY or job.keep:
            raise
        if job.unstreamable is not None:
            raise DataError(
                f"{error}; it cannot be streamed: {job.unstreamable.finding}"
            ) from error
        return _stream(job, report, (f"engine: stream, since {error.finding}",))


def _stream(job: Job, report: Report, notes: tuple[str, ...]) -> Fits:
    """The same of rows that are read again for every pass."""
    from lrisk_cli.api.fit_stream import run_stream

    table = open_table(job.data, dtypes=job.dtypes)
    job.check_apart(table.paths)
    return run_stream(replace(job, notes=(*job.notes, *notes)), table, report)


def _run_in_memory(job: Job, report: Report) -> Fits:
    """The same of rows that are all held."""
    clock = Clock()
    holdout = _holdout(job)
    table = open_table(job.data, dtypes=job.dtypes)
    job.check_apart(table.paths)
    kept_names = find_kept(table, job.copied, job.columns.id_column)
    split = job.holdout is not None or job.scheme is not None or job.folds is not None
    raw = read_design(table, job.columns, report, split=split)
    job = _check_metrics(job, raw)
    clock.lap("read_s")
    keep_out = None if holdout is None else _held_out_rows(holdout, raw)
    check_task(job.after, job.columns, raw)
    rows = _learned_rows(raw, keep_out)
    job, choice = _choose(job, raw, rows, report)
    if choice is not None:
        clock.lap("choose_s")
    folds: tuple[FoldScores, ...] = ()
    if job.folds is not None:
        folds = fold_scores(raw, job.columns, job.fits, job.folds, rows, report)
        clock.lap("folds_s")
    elif choice is not None and job.after.needs_folds:
        folds = (choice.chosen_scores(),)
    rule = None if keep_out is None else (lambda _: keep_out)
    design, held_out = encode_design(raw, job.columns, hold_out=rule)
    design = replace(design, notes=(*design.notes, *job.notes, *_skew_notes(design, job)))
    del raw
    test = None if job.test is None else open_test(job, design.encoding)
    design = replace(design, notes=(*design.notes, *(test.notes if test else ())))
    clock.lap("design_s")
    marks = None
    if job.trace_rows is not None:
        from lrisk_cli.api.fit_watch import read_marks

        marks = read_marks(table, job.trace_rows)
    results, notes = _solve(job, design, held_out, marks, report)
    refine(results, job.after, folds, held_out)
    design = replace(design, notes=(*design.notes, *notes))
    digests = row_digests(design, held_out)
    kept_out = None if holdout is None or keep_out is None else holdout.record(keep_out)
    for result in results:
        result.fitted = replace(result.fitted, model=with_digests(result.model, digests))
        result.keep_records(choice, kept_out)
    clock.lap("solve_s")
    paged, scored = job.keep or job.asked.html is not None, job.asked.losses is not None
    evaluate(results, design, held_out, test, report, job.checks, paged=paged, scored=scored)
    same = warn_of_same_files([*table.paths, *(test.paths if test else ())])
    same = (*same, *design.warnings)
    for result in results:
        found = fit_warnings(
            result.model, design, held_out, result.figures, result.means,
            validated=choice is not None,
        )  # fmt: skip
        result.warnings = (*same, *result.warnings, *found)
    # The largest array of all: from here on only its scores are needed.
    design = replace(design, rows=design.rows.take(slice(0)))
    clock.lap("test_s")
    write_results(results, design, choice, lambda columns: with_kept(columns, table, kept_names))
    clock.lap("write_s")
    counts = replace(design.counts, used=len(design.row_numbers))
    notes = (*design.notes, *(_choice_notes(choice, tested=holdout or test) if choice else ()))
    return with_gates(job, Fits(tuple(results), counts, notes, choice, clock.timings()))


def _check_metrics(job: Job, raw: RawDesign) -> Job:
    """Refuse gates on metrics that these rows do not have before any work starts."""
    if job.checks is None:
        return job
    from lrisk_cli.api.figure_gates import with_task
    from lrisk_cli.evaluation.registry import needs_of_fits

    checks = with_task(job.checks, raw, job.columns.task, job.fits[0].loss, needs_of_fits)
    return replace(job, checks=checks)


def require_convergence(results: Sequence[FitResult]) -> None:
    """Refuse to call it done when a gap was not proved."""
    missed = [result for result in results if not result.converged]
    if not missed:
        return
    status = missed[0].model.fit.status
    if len(results) > 1:
        others = f" ({len(missed)} of {len(results)} risks)" if len(missed) > 1 else ""
        status = f"{missed[0].model.risk}: {status}{others}"
    remedy = f"allow more passes or a larger {opt('tol')}"
    raise NotConvergedError(f"{status}; {remedy} ({opt('require_convergence')})")


def _holdout(job: Job) -> "Holdout | None":
    """How to choose the rows to keep for testing, if any."""
    if job.holdout is None:
        return None
    if job.test is not None:
        raise UsageError(
            f"{opt('holdout')} and {opt('test')} both name rows to test on; pass one of them"
        )
    from lrisk_cli.evaluation.dividing import Division, Holdout

    holdout = Holdout(job.holdout, job.seed, Division.by(job.columns.divider))
    holdout.check()
    return holdout


def _held_out_rows(holdout: "Holdout", raw: RawDesign) -> Flags:
    """True for the usable rows that are held out. (n,)."""
    rows = raw.usable.rows
    return holdout.flags(len(rows.rows), rows.divider)


def _choice_notes(choice: "CrossValidation", *, tested: object) -> tuple[str, ...]:
    """Notes on the folds; where no rows are left to test on, how far to trust the figure."""
    if tested is not None or not choice.optimistic:
        return choice.notes
    return (
        *choice.notes,
        "cross-validation: the figure of the chosen candidate is what chose it, so it is "
        f"optimistic; {opt('holdout', 0.2)} keeps rows to test on",
    )


def _learned_rows(raw: RawDesign, keep_out: Flags | None) -> Index:
    """Positions of the usable rows that are not held out."""
    if keep_out is not None:
        return np.flatnonzero(~keep_out)
    return np.arange(len(raw.usable.rows.rows))


def _choose(
    job: Job, raw: RawDesign, rows: Index, report: Report
) -> "tuple[Job, CrossValidation | None]":
    """With a scheme, the job of fitting the best candidate. rows: that take part."""
    if job.scheme is None:
        return job, None
    from lrisk_cli.evaluation.selection import cross_validate

    choice = cross_validate(raw, job.columns, job.fits, job.scheme, rows, report)
    options = choice.chosen.options
    files = job.files[job.fits.index(options)]
    return replace(job, fits=(options,), files=(files,)), choice


def _skew_notes(design: Design, job: Job) -> tuple[str, ...]:
    """Suggest the logarithm of the target, where it may be fitted and is not."""
    target, options = design.encoding.target, job.columns
    if target.classes or not options.scale_target or options.on_scale is not TargetScale.NONE:
        return ()
    return note_skew(target.name, np.asarray(design.targets, dtype=np.float64))


def _solve(
    job: Job, design: Design, held_out: Design | None, marks: Flags | None, report: Report
) -> tuple[list[FitResult], tuple[str, ...]]:
    """One fit after the other, each from where the last one ended; the ordinary fit besides."""
    results: list[FitResult] = []
    features, W = make_features(design, job.fits[0], report), None
    for options, files in zip(job.fits, job.files, strict=True):
        began = perf_counter()
        watch = None
        if files.trace is not None:
            from lrisk_cli.api.fit_watch import make_watch

            watch = make_watch(design, options, features, held_out, marks)
        fitted = fit_design(design, options, report, start=W, features=features, watch=watch)
        W = fitted.solution.W
        results.append(FitResult(fitted, files, perf_counter() - began))
        if len(job.fits) > 1:
            report(Progress("risks", len(results), len(job.fits)))
    if job.theory:
        from lrisk_cli.api.fit_theory import add_theory

        add_theory(results, job.fits, design, features)
    if not job.reference or all(options.risk.flat and not options.robust for options in job.fits):
        return results, ()
    from lrisk_cli.api.fit_reference import add_reference

    return results, add_reference(results, job.fits, design, features)
