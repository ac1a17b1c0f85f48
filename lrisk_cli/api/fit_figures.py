"""Figures of fitted models on the rows that they learned from and on those to test on."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

from lrisk_cli.api.fit_result import FitResult
from lrisk_cli.design.design import Design
from lrisk_cli.evaluation.metrics import AnyTally, Figures, Tally, parse_risks, reported_errors
from lrisk_cli.evaluation.warning_rules import warn_of_learned_rows
from lrisk_cli.models.fitting import Scores, score_design
from lrisk_cli.models.model import Model
from lrisk_cli.models.row_digest import RowDigest
from lrisk_cli.models.weight_record import weight_kind
from lrisk_cli.progress import Report
from lrisk_cli.risk.groups import GroupRisk, parse_fit_risk
from lrisk_cli.risk.spectrum import Spectrum
from lrisk_cli.tables.table import Table

if TYPE_CHECKING:
    from lrisk_cli.design.groups import RowGroups
    from lrisk_cli.evaluation.checks import Checks
    from lrisk_cli.evaluation.group_figures import GroupTally


class Evaluated(Protocol):
    """A model and its figures, by the rows they are of: a fit, or the ordinary one beside it."""

    @property
    def model(self) -> Model:
        """The model."""

    figures: dict[str, Figures]

    def take(self, name: str, tally: AnyTally, spectra: Sequence[Spectrum]) -> None:
        """Keep the figures of some rows; the losses of the tally are sorted thereby."""


class Asked(NamedTuple):
    """Error metrics beyond the usual ones, and risks of rows and of groups."""

    errors: Sequence[str]
    spectra: Sequence[Spectrum]
    group_risks: Sequence[GroupRisk] = ()


def evaluate(
    results: Sequence[FitResult],
    design: Design,
    held_out: Design | None,
    test: Table | None,
    report: Report,
    checks: "Checks | None",
    *,
    paged: bool,
    scored: bool,
) -> None:
    """Add the figures of each model, and of the ordinary fit, on the rows of each kind.

    checks: gates, which may ask for more figures. paged, scored: keep also what a page draws of the
    rows, and what a file lists of them.
    """
    asked = asked_of(results, checks)
    designs = {"training": design} | ({} if held_out is None else {"held out": held_out})
    for name, rows in designs.items():
        for each in _subjects(results):
            found = score_design(each.model, rows)
            _add_figures(each, name, rows, found, asked)
            result = next((result for result in results if result is each), None)
            if result is None:
                continue
            if scored and name == "training":
                result.scored = replace(found, probabilities=None)
            if paged:
                from lrisk_cli.evaluation.page_rows import rows_of_design

                page_rows = rows_of_design(each.model, rows, found)
                result.seen[name] = found.losses, rows.weights, page_rows
    if test is not None:
        _evaluate_table(results, test, report, asked)


def evaluate_test(
    results: Sequence[FitResult], test: Table, report: Report, checks: "Checks | None"
) -> None:
    """Add the figures on a table to test on alone."""
    _evaluate_table(results, test, report, asked_of(results, checks))


def asked_of(results: Sequence[FitResult], checks: "Checks | None") -> Asked:
    """What is asked for beyond the usual figures."""
    errors = () if checks is None else checks.errors
    return Asked(errors, _spectra(checks), _group_risks(results, checks))


def _subjects(results: Sequence[FitResult]) -> list[Evaluated]:
    """The fits, and the ordinary fit where it is not one of them."""
    subjects: list[Evaluated] = list(results)
    reference = next((each.reference for each in results if each.reference is not None), None)
    if reference is not None and all(each.figures is not reference.figures for each in results):
        subjects.append(reference)
    return subjects


def _spectra(checks: "Checks | None") -> tuple[Spectrum, ...]:
    """The risks that are always reported, and those of gates."""
    asked = [] if checks is None else checks.risks
    return (*parse_risks(()), *(parse_risks(asked) if asked else ()))


def _add_figures(each: Evaluated, name: str, design: Design, scored: Scores, asked: Asked) -> None:
    """The figures on the rows of a design."""
    weights = design.weights
    tally = Tally(reported_errors(each.model, asked.errors), weighted=weights is not None)
    tally.add(scored.losses, design.targets, scored.predictions, scored.probabilities, weights)
    groups = design.groups
    if groups is None:
        each.take(name, tally, asked.spectra)
        return
    from lrisk_cli.evaluation.group_figures import GroupTally

    kind = weight_kind(each.model.weight)
    grouped = GroupTally(reported_errors(each.model, asked.errors), kind)
    grouped.add(scored.losses, design.targets, scored.predictions, scored.probabilities, weights)
    each.take(name, tally, asked.spectra)
    _take_groups(each, name, grouped, groups, asked)


def _take_groups(
    each: Evaluated, name: str, tally: "GroupTally", groups: "RowGroups", asked: Asked
) -> None:
    """The figures of the groups, and the risks of groups among those of all rows."""
    within = (risk.within for risk in asked.group_risks)
    spectra = tuple(dict.fromkeys((*asked.spectra, *within)))
    found = tally.finish(groups, spectra, intervals=True)
    risks = {str(risk): found.risk(risk) for risk in asked.group_risks}
    each.figures[name] = {**risks, **each.figures[name]}
    if isinstance(each, FitResult):
        each.groups[name] = found


def _group_risks(results: Sequence[FitResult], checks: "Checks | None") -> tuple[GroupRisk, ...]:
    """The risks of groups that were minimised, and those of gates."""
    minimised = [each.model.group_risk for each in results]
    gated = [] if checks is None else map(parse_fit_risk, checks.group_risks)
    return tuple(
        dict.fromkeys(risk for risk in (*minimised, *gated) if isinstance(risk, GroupRisk))
    )


def _evaluate_table(
    results: Sequence[FitResult], table: Table, report: Report, asked: Asked
) -> None:
    """Add the figures of each model on a table, which is read once; they encode it alike."""
    from lrisk_cli.design.groups import GroupCollector
    from lrisk_cli.evaluation.group_figures import GroupTally
    from lrisk_cli.evaluation.page_rows import PageRows
    from lrisk_cli.evaluation.table_evaluation import make_tally
    from lrisk_cli.models.scoring import RowTally, columns_of, score_table

    subjects = _subjects(results)
    models = [each.model for each in subjects]
    weighted = models[0].encoding.weight is not None
    tallies = [make_tally(model, asked.errors, weighted=weighted) for model in models]
    views = [PageRows(tally.classes) for tally in tallies]
    first = models[0]
    by = results[0].groups["training"].columns if results[0].groups else ()
    columns, digest = list(dict.fromkeys([*columns_of(first.encoding), *by])), RowDigest()
    collector = GroupCollector(by) if by else None
    kind = weight_kind(first.weight)
    grouped = [GroupTally(reported_errors(model, asked.errors), kind) for model in models]
    for scored, _ in score_table(first, table, columns, None, RowTally(), report):
        targets = scored.known_targets
        digest.add(scored.encoded.rows, targets)
        if collector is not None:
            collector.add(scored.batch, scored.kept)
        for model, tally, view, own in zip(models, tallies, views, grouped, strict=True):
            Z, exposure = model.margins(scored.encoded.rows), scored.encoded.exposure
            predictions = model.predict(Z, exposure)
            losses = model.losses(Z, targets, exposure)
            probabilities = model.row_loss.probabilities(Z)
            weights = scored.encoded.weights
            tally.add(losses, targets, predictions, probabilities, weights)
            if collector is not None:
                own.add(losses, targets, predictions, probabilities, weights)
            view.add(scored.rows, losses, None, targets, predictions, weights)
    groups = None if collector is None else collector.finish()
    for each, tally, own in zip(subjects, tallies, grouped, strict=True):
        each.take("test", tally, asked.spectra)
        if groups is not None:
            _take_groups(each, "test", own, groups, asked)
    for result, tally, view in zip(results, tallies, views, strict=False):
        result.seen["test"] = (tally.losses, tally.weights, view)
        result.warnings = warn_of_learned_rows(result.model.fit, digest.text)
