"""Choose a risk and a penalty by cross-validation, on rows that the fits have not seen."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.design.design import (
    Design,
    DesignOptions,
    RawDesign,
    copy_part,
    encode_design,
    find_task,
)
from lrisk_cli.errors import DataError, InvalidOption, opt, quote
from lrisk_cli.evaluation.deviations import sample_deviation
from lrisk_cli.evaluation.dividing import Division, Kind, parts
from lrisk_cli.evaluation.metric import Needs
from lrisk_cli.evaluation.metrics import (
    Figures,
    error_names_of,
    evaluate_rows,
    reported_errors,
)
from lrisk_cli.evaluation.out_of_fold import FoldScores, OutOfFold, Take
from lrisk_cli.evaluation.registry import (
    ERROR_NEEDS,
    better_of,
    is_risk,
    larger_is_better,
    list_metrics,
    measures_predictions,
    metric_name,
)
from lrisk_cli.evaluation.splits import Folds
from lrisk_cli.models.fitting import FitOptions, fit_design, make_features, score_design
from lrisk_cli.models.model import Model
from lrisk_cli.models.validation_record import (
    CandidateRecord,
    ChosenRecord,
    CrossValidationRecord,
)
from lrisk_cli.names import DEFAULT_RISK, Task, Unseen
from lrisk_cli.progress import Progress, Report, silent
from lrisk_cli.risk.spectrum import Spectrum, parse_risk
from lrisk_cli.types import Index


@dataclass(frozen=True, slots=True)
class Scheme:
    """How to choose: the number of folds, the seed, and the metric that decides.

    repeats: how often the rows are divided into folds anew. one_se: choose the simplest candidate
    within a standard error of the best. keep: keep the scores of the rows left out.
    """

    n_folds: int
    seed: int
    metric: str
    division: Division = field(default_factory=Division)
    repeats: int = 1
    one_se: bool = False
    keep: bool = False

    @property
    def larger_is_better(self) -> bool:
        """Whether the candidate with the largest figure wins."""
        return larger_is_better(self.metric)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A risk and a penalty, and the metric on the rows that each fold left out.

    l2: the penalty that a fit of all rows uses. n_unproved: fits that did not prove their gap.
    """

    options: FitOptions
    l2: float
    fold_values: tuple[float, ...]
    n_unproved: int
    repeats: int = 1

    @property
    def value(self) -> float:
        """The mean over the folds."""
        return sum(self.fold_values) / len(self.fold_values)

    @property
    def standard_error(self) -> float:
        """Of that mean: the deviation between folds over the root of their number in one repeat.

        Repeats divide the same rows again, so they are no further evidence.
        """
        n_folds = len(self.fold_values) // self.repeats
        return float(sample_deviation(self.fold_values)) / sqrt(n_folds)

    @property
    def simplicity(self) -> tuple[float, float]:
        """The penalty, then the effective fraction of the rows, 1 / (n sum of squared weights).

        The fraction is 1 for the mean and 1 - q for a superquantile; of a risk of groups it is that
        of the rows within them.
        """
        n_rows = 1000
        risk = self.options.risk
        weights = (risk if isinstance(risk, Spectrum) else risk.within).weights(n_rows)
        return self.l2, 1.0 / (n_rows * float(np.sum(weights * weights)))


@dataclass(frozen=True, slots=True)
class CrossValidation:
    """All candidates in the order asked for, the best of them, and notes about unusual folds.

    kind: how the rows were divided. out_of_fold: scores of the rows left out, by candidate, where
    they were kept.
    """

    scheme: Scheme
    candidates: tuple[Candidate, ...]
    oddities: tuple[str, ...] = ()
    kind: Kind = "random"
    out_of_fold: OutOfFold | None = None

    @property
    def best(self) -> Candidate:
        """The best figure; of equal ones the larger penalty, then the one named first."""
        better = better_of(self.scheme.metric)
        return max(self.candidates, key=lambda each: (-better.badness(each.value), each.l2))

    @property
    def chosen(self) -> Candidate:
        """The best, or the simplest within a standard error of it; the better of equally simple."""
        best = self.best
        if not self.scheme.one_se:
            return best
        sign = 1.0 if self.scheme.larger_is_better else -1.0
        least = sign * best.value - best.standard_error
        near = [each for each in self.candidates if each is best or sign * each.value >= least]
        return max(near, key=lambda each: (each.simplicity, sign * each.value))

    def chosen_scores(self) -> FoldScores:
        """Of the rows left out, by the chosen candidate, where they were kept."""
        if self.out_of_fold is None:
            raise TypeError("no score was kept")
        return self.out_of_fold.scores(self.candidates.index(self.chosen))

    @property
    def optimistic(self) -> bool:
        """Whether the figure of the chosen candidate is what it was chosen by, among several."""
        return len(self.candidates) > 1

    def record(self) -> CrossValidationRecord:
        """What the model file and documents say of it."""
        scheme, chosen = self.scheme, self.chosen
        return CrossValidationRecord(
            folds=scheme.n_folds,
            kind=self.kind,
            column=scheme.division.column,
            repeats=scheme.repeats,
            seed=scheme.seed,
            select_by=scheme.metric,
            larger_is_better=scheme.larger_is_better,
            rule="one-se" if scheme.one_se else "best",
            candidates=tuple(
                CandidateRecord(
                    risk=str(each.options.risk),
                    l2=each.l2,
                    value=each.value,
                    standard_error=each.standard_error,
                    fold_values=each.fold_values,
                    fits_not_converged=each.n_unproved,
                )
                for each in self.candidates
            ),
            chosen=ChosenRecord(
                risk=str(chosen.options.risk),
                l2=chosen.l2,
                value=chosen.value,
                standard_error=chosen.standard_error,
                optimistic=self.optimistic,
            ),
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What is odd, and whether the best penalty may lie beyond those tried."""
        tried = sorted({candidate.l2 for candidate in self.candidates})
        at = tried.index(self.chosen.l2)
        if len(tried) == 1 or 0 < at < len(tried) - 1:
            return self.oddities
        beyond = "smallest tried; a smaller" if at == 0 else "largest tried; a larger"
        return (*self.oddities, f"l2 {tried[at]:g} is the {beyond} one may do better")


def default_metric(candidates: Sequence[FitOptions]) -> str:
    """The risk that is fitted; where several are, the usual one."""
    risks = {str(options.risk) for options in candidates}
    return risks.pop() if len(risks) == 1 else DEFAULT_RISK


def check_metric(
    text: str, task: Task, errors: Sequence[str] = (), classes: Sequence[str] | None = None
) -> str:
    """The spelling of a metric that can choose between models; others are refused.

    errors: the error metrics that the loss brings, classes: those of the target, where known.
    """
    name = metric_name(text, task, errors, classes)
    if not measures_predictions(name):
        comparing = list_metrics([*ERROR_NEEDS, Needs.LOSSES])
        raise InvalidOption(
            "select_by",
            f"does not evaluate predictions; choose a risk of the losses or one of {comparing}",
            name,
        )
    return name


def cross_validate(
    raw: RawDesign,
    columns: DesignOptions,
    candidates: Sequence[FitOptions],
    scheme: Scheme,
    rows: Index,
    report: Report = silent,
) -> CrossValidation:
    """Fit every candidate without each fold in turn, and evaluate it on that fold.

    Means, scales, categories and fills are learned anew from the rows of each fit. rows: the
    usable rows that take part. One copy of them is in memory at a time, beside `raw`.
    """
    task, _ = find_task(raw, columns.task)
    errors = candidates[0].loss.resolve(task).make(2).metrics
    scheme = replace(scheme, metric=check_metric(scheme.metric, task, errors))
    # A category that occurs only in the held-out fold is due to the split, not the table.
    columns = replace(columns, task=task, unseen=Unseen.OTHER)
    kind, evaluated = scheme.division.kind(task), list[_Fold]()
    kept = OutOfFold.of(raw, rows, len(candidates), columns.weighting) if scheme.keep else None
    n_parts = scheme.n_folds * scheme.repeats
    for repeat in range(scheme.repeats):
        fold_of = _folds(raw, rows, scheme, task, repeat)
        for part, left_out in parts(fold_of, kind, scheme.n_folds):
            place = f"{len(evaluated) % scheme.n_folds + 1} of {scheme.n_folds}"
            take = None
            if kept is not None and repeat == 0:
                take = kept.taker(part[left_out], len(evaluated))
            # No other reference is kept, so its designs are freed before the next are made.
            evaluated.append(
                _evaluate(
                    *_split(raw, columns, rows[part], left_out, place),
                    candidates, scheme.metric, take,
                )
            )  # fmt: skip
            done = len(evaluated)
            report(Progress("cross-validate", done, n_parts, f"{len(candidates)} fits each"))
    return CrossValidation(
        scheme,
        tuple(
            Candidate(
                options,
                options.l2 or 1.0 / len(rows),
                tuple(fold.values[at] for fold in evaluated),
                sum(not fold.proved[at] for fold in evaluated),
                scheme.repeats,
            )
            for at, options in enumerate(candidates)
        ),
        _notes(evaluated),
        kind,
        kept,
    )


def _folds(raw: RawDesign, rows: Index, scheme: Scheme, task: Task, repeat: int) -> Folds:
    """The fold of each row that takes part. (n,)."""
    cells = raw.usable.rows
    target = None if cells.target is None else cells.target[rows]
    divider = None if cells.divider is None else cells.divider[rows]
    return scheme.division.folds(task, target, divider, scheme.n_folds, scheme.seed, repeat)


@dataclass(frozen=True, slots=True)
class _Fold:
    """The metric of each candidate on the rows left out, whether its fit was proved, and oddities.

    values, proved: in the order of the candidates.
    """

    values: list[float]
    proved: list[bool]
    oddities: tuple[str, ...]


def _evaluate(
    train: Design,
    test: Design,
    candidates: Sequence[FitOptions],
    metric: str,
    take: Take | None = None,
) -> _Fold:
    """Fit every candidate to some rows, each from where the last ended; evaluate it on others.

    take: is given the position of each candidate, its model, and the rows left out.
    """
    values, proved = [0.0] * len(candidates), [False] * len(candidates)
    features, W = make_features(train, candidates[0]), None
    for at in _neighbours(candidates):
        fitted = fit_design(train, candidates[at], start=W, features=features)
        W, proved[at] = fitted.solution.W, fitted.solution.converged
        values[at] = _figure(fitted.model, test, metric)
        if take is not None:
            take(at, fitted.model, test)
    return _Fold(values, proved, tuple(_oddities(train, test)))


def _split(
    raw: RawDesign, columns: DesignOptions, rows: Index, left_out: NDArray[np.bool_], fold: str
) -> tuple[Design, Design]:
    """The designs of the rows to learn from and of those left out."""
    try:
        train, test = encode_design(copy_part(raw, rows), columns, hold_out=lambda _: left_out)
    except DataError as error:
        raise DataError(
            f"{error} (the rows that fold {fold} of {opt('cv')} learns from; try fewer folds)"
        ) from None
    assert test is not None  # noqa: S101
    return train, test


def _neighbours(candidates: Sequence[FitOptions]) -> Iterator[int]:
    """Positions in an order where each differs little from the last, so that starts are good.

    Risk after risk; the penalties fall for one and rise for the next.
    """
    risks = list(dict.fromkeys(str(options.risk) for options in candidates))
    for turn, risk in enumerate(risks):
        of_risk = [at for at, options in enumerate(candidates) if str(options.risk) == risk]
        yield from sorted(of_risk, key=lambda at: candidates[at].l2 or 0.0, reverse=turn % 2 == 0)


def _figure(model: Model, test: Design, metric: str) -> float:
    """The metric of the model on the rows left out."""
    spectra = (parse_risk(metric),) if is_risk(metric) else ()
    scored = score_design(model, test)
    asked = () if is_risk(metric) or metric == "max" else (metric,)
    check_metric(metric, model.task, error_names_of(model), model.target.classes)
    figures: Figures = evaluate_rows(
        reported_errors(model, asked), scored.losses, test.targets, scored.predictions, spectra,
        scored.probabilities, test.weights,
    )  # fmt: skip
    value = figures[metric]
    if value is None:
        raise DataError(
            f"{opt('select_by', metric)} is not defined on the targets of a fold; choose another "
            "metric or fewer folds"
        )
    return value


def _oddities(train: Design, test: Design) -> Iterator[str]:
    """What a fold lacks that the table has, as sentences without their beginning."""
    encoding = train.encoding
    learned, evaluated = train.rows.column_stats(), test.rows.column_stats()
    constant = learned.smallest == learned.largest
    varies = (evaluated.smallest != learned.smallest) | (evaluated.largest != learned.smallest)
    for at in np.flatnonzero(constant & varies):
        yield f"column '{encoding.column_names[at]}' is constant in the rows to learn from"
    classes = encoding.target.classes
    if classes:
        for code in np.setdiff1d(np.arange(len(classes)), train.y):
            yield f"no row to learn from is of class {quote(classes[code])}"
    stop = 0
    for feature in encoding.features:
        stop += feature.n_columns
        columns = slice(stop - feature.n_columns, stop - feature.indicator)
        if feature.kind == "category" and not test.rows.all_marked(columns):
            yield f"rows are evaluated whose category of '{feature.name}' was not learned"


def _notes(evaluated: Sequence[_Fold]) -> tuple[str, ...]:
    counts = Counter(finding for fold in evaluated for finding in fold.oddities)
    notes = [
        f"cross-validation: in {count} of {len(evaluated)} folds {finding}"
        for finding, count in counts.items()
    ]
    n_unproved = sum(fold.proved.count(False) for fold in evaluated)
    if n_unproved:
        notes.append(f"cross-validation: {n_unproved} fits did not reach {opt('tol')}")
    return tuple(notes)
