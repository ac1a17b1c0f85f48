"""Fit models to a table: read, choose, design, solve, evaluate, write."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lrisk_cli.api.clock import Clock
from lrisk_cli.api.fit_files import FitFiles, check_files, make_folders
from lrisk_cli.api.fit_warnings import fit_warnings, row_digests
from lrisk_cli.design.design import (
    Design,
    DesignOptions,
    RawDesign,
    RowCounts,
    encode_design,
    read_design,
)
from lrisk_cli.design.encoding import Encoding
from lrisk_cli.errors import NotConvergedError, UsageError, opt
from lrisk_cli.evaluation.metrics import (
    Figures,
    Tally,
    parse_risks,
    reported_errors,
    tally_figures,
)
from lrisk_cli.evaluation.warning_rules import warn_of_learned_rows, warn_of_same_files
from lrisk_cli.models.fitting import (
    FitOptions,
    Fitted,
    Scores,
    fit_design,
    make_features,
    score_design,
)
from lrisk_cli.models.model import Model, save_model, with_digests
from lrisk_cli.models.row_digest import RowDigest
from lrisk_cli.progress import Progress, Report
from lrisk_cli.solvers.solution import Epoch
from lrisk_cli.tables.inputs import Inputs
from lrisk_cli.tables.row_sample import RowSample
from lrisk_cli.tables.table import Table, check_apart, open_table, write_table
from lrisk_cli.types import Array, Flags
from lrisk_cli.warnings import Warnings, each_once

if TYPE_CHECKING:
    from lrisk_cli.evaluation.dividing import Holdout
    from lrisk_cli.evaluation.mean_probabilities import MeanProbabilities
    from lrisk_cli.evaluation.selection import CrossValidation, Scheme
    from lrisk_cli.evaluation.table_evaluation import EvaluatedRows


@dataclass(frozen=True, slots=True)
class Job:
    """What to fit and where the results go.

    fits: all to be done or, with a scheme, those to choose from; files: of each of them. notes:
    what to know about the options.
    """

    data: Inputs
    dtypes: dict[str, str]
    columns: DesignOptions
    fits: tuple[FitOptions, ...]
    scheme: "Scheme | None"
    seed: int
    holdout: float | None
    test: str | None
    asked: FitFiles
    notes: tuple[str, ...]
    files: tuple[FitFiles, ...]

    def check_apart(self, inputs: Sequence[str]) -> None:
        """Refuse outputs that would replace one another or an input."""
        # With a scheme one candidate writes its files, so they may share them.
        written = [tuple(files.by_option.values()) for files in self.files]
        for paths in [sum(written, ())] if self.scheme is None else written:
            check_apart(paths, inputs)


@dataclass(slots=True)
class FitResult:
    """One fit. figures: by the rows they are of, "training" and, if any, those to test on.

    scored: only where a file is to hold it. seconds: those of the solver. seen: for a page, losses
    and a sample of the rows, by the rows they are of. means: of class probabilities, by rows too.
    """

    fitted: Fitted
    files: FitFiles
    seconds: float
    figures: dict[str, Figures] = field(default_factory=dict)
    scored: Scores | None = None
    seen: dict[str, tuple[Array, RowSample]] = field(default_factory=dict)
    warnings: Warnings = ()
    means: dict[str, "MeanProbabilities"] = field(default_factory=dict)

    def keep_records(self, choice: "CrossValidation | None", holdout: Any) -> None:
        """Let the model say how it was chosen, and which rows were held out."""
        record = None if choice is None else choice.record()
        model = replace(self.fitted.model, cross_validation=record, holdout=holdout)
        self.fitted = replace(self.fitted, model=model)

    def take(self, name: str, tally: Tally) -> None:
        """Keep the figures of some rows; the losses of the tally are sorted thereby."""
        self.figures[name] = tally_figures(tally, parse_risks(()))
        if tally.classes is not None:
            self.means[name] = tally.classes.means

    @property
    def model(self) -> Model:
        """The model."""
        return self.fitted.model

    @property
    def epochs(self) -> Sequence[Epoch]:
        """The run of the solver."""
        return self.fitted.solution.epochs

    @property
    def converged(self) -> bool:
        """Whether the gap asked for was proved."""
        return self.fitted.solution.converged

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know about its features and about the fit."""
        return self.fitted.notes

    @property
    def tested(self) -> Figures | None:
        """The figures of the rows to test on."""
        return next((self.figures[name] for name in self.figures if name != "training"), None)

    def evaluated_rows(self) -> "list[EvaluatedRows]":
        """What a page draws of the rows, where a page was asked for."""
        from lrisk_cli.evaluation.table_evaluation import evaluated_rows

        return [
            evaluated_rows(name, self.model, np.sort(losses), sample)
            for name, (losses, sample) in self.seen.items()
        ]


@dataclass(frozen=True, slots=True)
class Fits:
    """All fits. counts: of the rows that they learned from; notes: on the columns and the folds."""

    results: tuple[FitResult, ...]
    counts: RowCounts
    notes: tuple[str, ...]
    choice: "CrossValidation | None"
    timings: dict[str, float]

    @property
    def warnings(self) -> Warnings:
        """Those of all fits, each once; with the risk, where there are several."""
        several = len(self.results) > 1
        return each_once(
            warning.of(each.model.risk) if several else warning
            for each in self.results
            for warning in each.warnings
        )


def run(job: Job, report: Report, *, force: bool) -> Fits:
    """Read, choose if asked to, design, solve, evaluate; write models, losses and traces."""
    clock = Clock()
    check_files(job.asked, job.files, force=force)
    holdout = _holdout(job)
    table = open_table(job.data, dtypes=job.dtypes)
    job.check_apart(table.paths)
    split = job.holdout is not None or job.scheme is not None
    raw = read_design(table, job.columns, report, split=split)
    clock.lap("read_s")
    keep_out = None if holdout is None else _held_out_rows(holdout, raw)
    job, choice = _choose(job, raw, keep_out, report)
    if choice is not None:
        clock.lap("choose_s")
    rule = None if keep_out is None else (lambda _: keep_out)
    design, held_out = encode_design(raw, job.columns, hold_out=rule)
    design = replace(design, notes=(*design.notes, *job.notes))
    del raw
    test = None if job.test is None else _open_test(job, design.encoding)
    design = replace(design, notes=(*design.notes, *(test.notes if test else ())))
    clock.lap("design_s")
    results = _solve(job, design, report)
    digests = row_digests(design, held_out)
    kept_out = None if holdout is None or keep_out is None else holdout.record(keep_out)
    for result in results:
        result.fitted = replace(result.fitted, model=with_digests(result.model, digests))
        result.keep_records(choice, kept_out)
    clock.lap("solve_s")
    _evaluate(job, results, design, held_out, test, report)
    same = warn_of_same_files([*table.paths, *(test.paths if test else ())])
    for result in results:
        found = fit_warnings(
            result.model, design, held_out, result.figures, result.means,
            validated=choice is not None,
        )  # fmt: skip
        result.warnings = (*same, *result.warnings, *found)
    # The largest array of all: from here on only its scores are needed.
    design = replace(design, rows=design.rows.take(slice(0)))
    clock.lap("test_s")
    _write(job, results, design, choice)
    clock.lap("write_s")
    counts = replace(design.counts, used=len(design.row_numbers))
    notes = (*design.notes, *(_choice_notes(choice, tested=holdout or test) if choice else ()))
    return Fits(tuple(results), counts, notes, choice, clock.timings())


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


def _choose(
    job: Job, raw: RawDesign, keep_out: Flags | None, report: Report
) -> "tuple[Job, CrossValidation | None]":
    """With a scheme, the job of fitting the best candidate; rows held out take no part."""
    if job.scheme is None:
        return job, None
    from lrisk_cli.evaluation.selection import cross_validate

    rows = np.arange(len(raw.usable.rows.rows))
    if keep_out is not None:
        rows = np.flatnonzero(~keep_out)
    choice = cross_validate(raw, job.columns, job.fits, job.scheme, rows, report)
    options = choice.chosen.options
    files = job.files[job.fits.index(options)]
    return replace(job, fits=(options,), files=(files,)), choice


def _open_test(job: Job, encoding: Encoding) -> Table:
    """The table to test on; it is refused before the solver starts if a column is absent."""
    from lrisk_cli.models.scoring import columns_of

    table = open_table(job.data.beside(str(job.test)), expected=encoding.dtypes)
    job.check_apart(table.paths)
    for name in columns_of(encoding):
        table.column(name)
    return table


def _solve(job: Job, design: Design, report: Report) -> list[FitResult]:
    """One fit after the other, each from where the last one ended."""
    results: list[FitResult] = []
    features, W = make_features(design, job.fits[0], report), None
    for options, files in zip(job.fits, job.files, strict=True):
        began = perf_counter()
        fitted = fit_design(design, options, report, start=W, features=features)
        W = fitted.solution.W
        results.append(FitResult(fitted, files, perf_counter() - began))
        if len(job.fits) > 1:
            report(Progress("risks", len(results), len(job.fits)))
    return results


def _evaluate(
    job: Job,
    results: list[FitResult],
    design: Design,
    held_out: Design | None,
    test: Table | None,
    report: Report,
) -> None:
    """Add the figures of each model on the rows it learned from and on those to test on."""
    paged = job.asked.html is not None
    for result in results:
        scored = score_design(result.model, design)
        _add_figures(result, "training", design, scored, paged=paged)
        if job.asked.losses is not None:
            result.scored = replace(scored, probabilities=None)
        if held_out is not None:
            of_held_out = score_design(result.model, held_out)
            _add_figures(result, "held out", held_out, of_held_out, paged=paged)
    if test is not None:
        _evaluate_table(results, test, report)


def _add_figures(
    result: FitResult, name: str, design: Design, scored: Scores, *, paged: bool
) -> None:
    """The figures on the rows of a design and, for a page, what it draws of them."""
    model = result.model
    tally = Tally(reported_errors(model))
    tally.add(scored.losses, design.targets, scored.predictions, scored.probabilities)
    result.take(name, tally)
    if paged:
        from lrisk_cli.evaluation.table_evaluation import sample_design

        result.seen[name] = scored.losses, sample_design(design, scored)


def _evaluate_table(results: list[FitResult], table: Table, report: Report) -> None:
    """Add the figures of each model on a table, which is read once; they encode it alike."""
    from lrisk_cli.evaluation.table_evaluation import SAMPLED_ROWS, make_tally
    from lrisk_cli.models.scoring import RowTally, columns_of, score_table

    models = [result.model for result in results]
    tallies = [make_tally(model) for model in models]
    samples = [RowSample(SAMPLED_ROWS) for _ in models]
    first = models[0]
    columns, digest = columns_of(first.encoding), RowDigest()
    for scored, _ in score_table(first, table, columns, None, RowTally(), report):
        targets = scored.known_targets
        digest.add(scored.encoded.rows, targets)
        for model, tally, sample in zip(models, tallies, samples, strict=True):
            Z, exposure = model.margins(scored.encoded.rows), scored.encoded.exposure
            predictions = model.predict(Z, exposure)
            losses = model.losses(Z, targets, exposure)
            tally.add(losses, targets, predictions, model.row_loss.probabilities(Z))
            sample.add(scored.rows, predictions, targets)
    for result, tally, sample in zip(results, tallies, samples, strict=True):
        result.take("test", tally)
        result.seen["test"] = (tally.losses, sample)
        result.warnings = warn_of_learned_rows(result.model.fit, digest.text)


def _write(
    job: Job, results: Sequence[FitResult], design: Design, choice: "CrossValidation | None"
) -> None:
    """Write the models first: whatever fails after them, they are there."""
    make_folders(job.asked)
    for result in results:
        if result.files.model is not None:
            save_model(result.files.model, result.model)
    for result in results:
        files = result.files
        if files.losses is not None and result.scored is not None:
            write_table(files.losses, _losses_columns(result.model, design, result.scored))
        if files.trace is not None:
            write_table(files.trace, _trace_columns(result.epochs))
        if files.oof is not None and choice is not None:
            write_table(files.oof, choice.chosen_scores().columns(result.model))


def _losses_columns(model: Model, design: Design, scored: Scores) -> dict[str, Any]:
    from lrisk_cli.evaluation.rankings import losses_columns

    names = {"row": design.row_numbers, "prediction": model.labelled(scored.predictions)}
    if design.ids is not None:
        names["id"] = design.ids
    targets = model.labelled(design.targets)
    return losses_columns(names, targets, scored.losses, model.spectrum)


def _trace_columns(epochs: Sequence[Epoch]) -> dict[str, Any]:
    """One row for each epoch; empty where nothing was proved or sorted yet."""
    names = ("passes", "seconds", "objective", "lower_bound", "gap", "rank_changes")
    heads = {"passes": "pass"}
    return {
        heads.get(name, name): pa.array([getattr(epoch, name) for epoch in epochs])
        for name in names
    }
