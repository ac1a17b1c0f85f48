"""The work of `lrisk fit`: read, choose, design, solve, judge, write."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

from lrisk_cli.commands.clock import Clock
from lrisk_cli.commands.fit_files import FitFiles, check_files, make_folders
from lrisk_cli.errors import UsageError
from lrisk_cli.progress import Progress, Report
from lrisk_cli.tables.inputs import Inputs

if TYPE_CHECKING:
    from lrisk_cli.design.design import Design, DesignOptions, RawDesign
    from lrisk_cli.design.encoding import Encoding
    from lrisk_cli.evaluation.metrics import Figures
    from lrisk_cli.evaluation.selection import CrossValidation, Scheme
    from lrisk_cli.models.fitting import FitOptions, Fitted, ScoredRows
    from lrisk_cli.models.model import Model
    from lrisk_cli.reports.paths import PathEntry
    from lrisk_cli.solvers.solution import Epoch
    from lrisk_cli.tables.row_sample import RowSample
    from lrisk_cli.tables.table import Table
    from lrisk_cli.types import Flags


@dataclass(frozen=True, slots=True)
class Job:
    """What was asked for.

    fits: all to be done or, with a scheme, those to choose from; files: of each of them. notes:
    what to know about the options.
    """

    data: Inputs
    dtypes: dict[str, str]
    columns: "DesignOptions"
    fits: "tuple[FitOptions, ...]"
    scheme: "Scheme | None"
    seed: int
    holdout: float | None
    test: str | None
    asked: FitFiles
    notes: tuple[str, ...]
    files: tuple[FitFiles, ...]

    def check_apart(self, inputs: Sequence[str]) -> None:
        """Refuse outputs that would replace one another or an input."""
        from lrisk_cli.tables.table import check_apart

        # With a scheme one candidate writes its files, so they may share them.
        written = [tuple(files.by_option.values()) for files in self.files]
        for paths in [sum(written, ())] if self.scheme is None else written:
            check_apart(paths, inputs)


@dataclass(slots=True)
class Result:
    """What came of one fit. figures: of the training rows and of those to test on, if any.

    scored: only where a file is to hold them. seconds: those of the solver. seen: for a page, the
    losses and a sample of the rows, by the rows they are of.
    """

    fitted: "Fitted"
    figures: "dict[str, Figures]"
    scored: "ScoredRows | None"
    files: FitFiles
    seconds: float
    seen: "dict[str, tuple[Any, RowSample]]" = field(default_factory=dict)

    @property
    def notes(self) -> tuple[str, ...]:
        """What is odd about its features and about the fit."""
        from lrisk_cli.models.fitting import remarks

        return (*self.fitted.notes, *remarks(self.fitted.model.fit))

    @property
    def tested(self) -> "Figures | None":
        """The figures of the rows to test on."""
        return next((self.figures[name] for name in self.figures if name != "training"), None)

    @property
    def entry(self) -> "PathEntry":
        """Its line among several fits."""
        from lrisk_cli.reports.paths import PathEntry

        solution = self.fitted.solution
        odd = () if solution.converged else (solution.status,)
        return PathEntry(
            self.fitted.model, self.figures, self.files.model, self.seconds, (*odd, *self.notes)
        )


@dataclass(frozen=True, slots=True)
class Done:
    """What came of the job. design: without its matrix."""

    results: tuple[Result, ...]
    design: "Design"
    choice: "CrossValidation | None"
    timings: dict[str, float]

    @property
    def notes(self) -> tuple[str, ...]:
        """What is odd about the columns and about the folds."""
        return (*self.design.notes, *(self.choice.notes if self.choice else ()))


def run(job: Job, *, force: bool, quiet: bool, bar: bool) -> Done:
    """Read, choose if asked to, design, solve, judge, write."""
    from lrisk_cli.design.design import encode_design, read_design
    from lrisk_cli.reports.progress import ProgressDisplay
    from lrisk_cli.tables.table import open_table

    clock = Clock()
    check_files(job.asked, job.files, force=force)
    keep_out = _hold_out_rule(job)
    with ProgressDisplay("fit", quiet=quiet, bar=bar) as report:
        table = open_table(job.data, dtypes=job.dtypes)
        job.check_apart(table.paths)
        split = job.holdout is not None or job.scheme is not None
        raw = read_design(table, job.columns, report, split=split)
        clock.lap("read_s")
        job, choice = _choose(job, raw, keep_out, report)
        if choice is not None:
            clock.lap("choose_s")
        design, held_out = encode_design(raw, job.columns, hold_out=keep_out)
        design = replace(design, notes=(*design.notes, *job.notes))
        del raw
        test = None if job.test is None else _open_test(job, design.encoding)
        clock.lap("design_s")
        results = _solve(job, design, report)
        clock.lap("solve_s")
        _judge(job, results, design, held_out, test, report)
        # The largest array of all: from here on only its scores are needed.
        design = replace(design, rows=design.rows.take(slice(0)))
        clock.lap("test_s")
        _write(job, results, design)
        clock.lap("write_s")
    return Done(tuple(results), design, choice, clock.timings())


def _hold_out_rule(job: Job) -> "Callable[[int], Flags] | None":
    """Which rows to keep for testing, once their number is known."""
    from lrisk_cli.evaluation.splits import hold_out

    fraction, seed = job.holdout, job.seed
    if fraction is None:
        return None
    if job.test is not None:
        raise UsageError("--holdout and --test both name rows to test on; pass one of them")
    hold_out(2, fraction, seed)  # a wrong fraction is refused before any reading
    return lambda n_rows: hold_out(n_rows, fraction, seed)


def _choose(
    job: Job, raw: "RawDesign", keep_out: "Callable[[int], Flags] | None", report: Report
) -> "tuple[Job, CrossValidation | None]":
    """With a scheme, the job of fitting the best candidate; rows held out take no part."""
    if job.scheme is None:
        return job, None
    import numpy as np

    from lrisk_cli.evaluation.selection import cross_validate

    rows = np.arange(len(raw.usable.rows.rows))
    if keep_out is not None:
        rows = np.flatnonzero(~keep_out(len(rows)))
    choice = cross_validate(raw, job.columns, job.fits, job.scheme, rows, report)
    options = choice.chosen.options
    files = job.files[job.fits.index(options)]
    return replace(job, fits=(options,), files=(files,)), choice


def _open_test(job: Job, encoding: "Encoding") -> "Table":
    """The table to test on; it is refused before the solver starts if a column is absent."""
    from lrisk_cli.tables.table import open_table

    table = open_table(job.data.beside(str(job.test)), expected=encoding.dtypes)
    job.check_apart(table.paths)
    for name in (*encoding.feature_names, encoding.target.name):
        table.column(name)
    return table


def _solve(job: Job, design: "Design", report: Report) -> list[Result]:
    """One fit after the other, each from where the last one ended."""
    from lrisk_cli.models.fitting import fit_design, make_features

    results: list[Result] = []
    features, W = make_features(design, job.fits[0], report), None
    for options, files in zip(job.fits, job.files, strict=True):
        began = perf_counter()
        fitted = fit_design(design, options, report, start=W, features=features)
        W = fitted.solution.W
        results.append(Result(fitted, {}, None, files, perf_counter() - began))
        if len(job.fits) > 1:
            report(Progress("risks", len(results), len(job.fits)))
    return results


def _judge(
    job: Job,
    results: list[Result],
    design: "Design",
    held_out: "Design | None",
    test: "Table | None",
    report: Report,
) -> None:
    """Add the figures of each model on the rows it learned from and on those to test on."""
    from lrisk_cli.models.fitting import score_design

    paged = job.asked.html is not None
    for result in results:
        model = result.fitted.model
        scored = score_design(model, design)
        _add_figures(result, "training", design, scored, paged=paged)
        if job.asked.losses is not None:
            result.scored = scored
        if held_out is not None:
            _add_figures(result, "held out", held_out, score_design(model, held_out), paged=paged)
    if test is not None:
        _judge_table(results, test, report)


def _add_figures(
    result: Result, name: str, design: "Design", scored: "ScoredRows", *, paged: bool
) -> None:
    """The figures on the rows of a design and, for a page, what it draws of them."""
    from lrisk_cli.commands.scoring import sample_rows
    from lrisk_cli.evaluation.metrics import judge_rows, parse_risks

    result.figures[name] = judge_rows(
        result.fitted.model.task, scored.losses, design.targets, scored.predictions, parse_risks(())
    )
    if paged:
        result.seen[name] = sample_rows(design, scored)


def _judge_table(results: list[Result], table: "Table", report: Report) -> None:
    """Add the figures of each model on a table, which is read once; they encode it alike."""
    from lrisk_cli.commands.scoring import SAMPLED_ROWS, RowTally, score_table
    from lrisk_cli.evaluation.metrics import Tally, parse_risks, tally_figures
    from lrisk_cli.tables.row_sample import RowSample

    models = [result.fitted.model for result in results]
    tallies = [Tally(model.task) for model in models]
    samples = [RowSample(SAMPLED_ROWS) for _ in models]
    columns = [*models[0].encoding.feature_names, models[0].target.name]
    for scored, _ in score_table(models[0], table, columns, None, RowTally(), report):
        targets: Any = scored.targets
        for model, tally, sample in zip(models, tallies, samples, strict=True):
            Z = model.margins(scored.encoded.rows)
            predictions = model.predict(Z)
            tally.add(model.losses(Z, targets), targets, predictions)
            sample.add(scored.rows, predictions, targets)
    for result, tally, sample in zip(results, tallies, samples, strict=True):
        result.figures["test"] = tally_figures(tally, parse_risks(()))
        result.seen["test"] = (tally.losses, sample)


def _write(job: Job, results: Sequence[Result], design: "Design") -> None:
    """Write the files that were asked for, the models last."""
    from lrisk_cli.models.model import save_model
    from lrisk_cli.tables.table import write_table

    make_folders(job.asked)
    for result in results:
        model, files = result.fitted.model, result.files
        if files.losses is not None and result.scored is not None:
            write_table(files.losses, _losses_columns(model, design, result.scored))
        if files.trace is not None:
            write_table(files.trace, _trace_columns(result.fitted.solution.epochs))
        if files.html is not None:
            _write_page(files.html, result, design)
    for result in results:
        if result.files.model is not None:
            save_model(result.files.model, result.fitted.model)


def _write_page(path: str, result: Result, design: "Design") -> None:
    from lrisk_cli.commands.options import command_line
    from lrisk_cli.commands.scoring import judged_rows
    from lrisk_cli.reports.html import write_page
    from lrisk_cli.reports.model_pages import fit_page

    model, counts = result.fitted.model, replace(design.counts, used=len(design.row_numbers))
    rows = [judged_rows(name, model, *of_rows) for name, of_rows in result.seen.items()]
    notes, epochs = (*design.notes, *result.notes), result.fitted.solution.epochs
    write_page(path, fit_page(model, counts, result.figures, notes, epochs, rows, command_line()))


def _losses_columns(model: "Model", design: "Design", scored: "ScoredRows") -> dict[str, Any]:
    from lrisk_cli.commands.scoring import labelled
    from lrisk_cli.evaluation.rankings import losses_columns

    named = {"row": design.row_numbers, "prediction": labelled(model, scored.predictions)}
    if design.ids is not None:
        named["id"] = design.ids
    return losses_columns(named, labelled(model, design.targets), scored.losses, model.spectrum)


def _trace_columns(epochs: "Sequence[Epoch]") -> dict[str, Any]:
    """One row for each epoch; empty where nothing was proved or sorted yet."""
    import pyarrow as pa

    names = ("passes", "seconds", "objective", "lower_bound", "gap", "rank_changes")
    heads = {"passes": "pass"}
    return {
        heads.get(name, name): pa.array([getattr(epoch, name) for epoch in epochs])
        for name in names
    }
