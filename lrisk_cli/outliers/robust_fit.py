"""A design that may hold outliers -> a model of its inliers, and which rows are outliers."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from lrisk_cli.design.design import Design
from lrisk_cli.errors import opt
from lrisk_cli.models.copies import Copies, copies_of
from lrisk_cli.models.fitting import FitOptions, Fitted, fit_design, inlier_weights_of, score_design
from lrisk_cli.models.model import Model
from lrisk_cli.models.robust_fit import robust_notes
from lrisk_cli.native.threads import one_thread
from lrisk_cli.outliers.cell_findings import CellFindings, find_cells
from lrisk_cli.progress import Report
from lrisk_cli.robust.inlier_weights import InlierWeights
from lrisk_cli.robust.judge import (
    CELL,
    ERROR,
    LABEL,
    LEVERAGE,
    PLAIN,
    TAIL,
    Judgement,
    judge_errors,
)
from lrisk_cli.robust.scale_mixture import Threshold
from lrisk_cli.tables.cells import Texts
from lrisk_cli.types import Array, Flags, Index

# Labels are seldom wrong in more than this fraction of the rows.
MOST_SWAPPED = 0.2
# The logarithm of how many rows without a wrong cell there are for one with.
ORDINARY_ROWS = 4.6
# A target so many deviations off on its own scale is an error, whatever the fit says.
TARGET_FAR = 8.0


@dataclass(frozen=True, slots=True, eq=False)
class RankedScores:
    """Scores of all rows, what each is called (a position in KINDS), and the cells found wrong.

    scores: (n,); kinds: (n,). firsts: (n,) what a reason names first: 0 the target, k + 1 feature
    k, -1 what contributes most. Of rows that were judged as copies, (n,) each: copies, the one that
    the cells are of; called, the fraction of them that are outliers.
    """

    scores: Array
    kinds: NDArray[np.int8]
    firsts: NDArray[np.int32]
    cells: CellFindings
    copies: Index | None = None
    called: Array | None = None

    def of_rows(self, copies: Copies) -> "RankedScores":
        """Of the rows themselves, each as its first copy."""
        at, counts = copies.firsts, np.bincount(copies.rows)
        called: Array = np.bincount(copies.rows, self.outliers) / counts
        kinds, firsts = self.kinds[at], self.firsts[at]
        return RankedScores(self.scores[at], kinds, firsts, self.cells, at, called)

    @property
    def shares(self) -> Flags | Array:
        """How much of each row is an outlier: all or none, but where copies differ. (n,)."""
        return self.outliers if self.called is None else self.called

    @property
    def outliers(self) -> Flags:
        """Rows that are called anything but a long tail. (n,)."""
        return np.asarray((self.kinds != PLAIN) & (self.kinds != TAIL))

    def describe(self, rows: Index) -> list[str]:
        """What is wrong with the cell that is named first; empty where that is none. (m,)."""
        at = rows if self.copies is None else self.copies[rows]
        named = self.firsts[rows] == self.cells.places[at]
        each = zip(at.tolist(), named.tolist(), strict=True)
        return [self.cells.describe(row) if first else "" for row, first in each]


@dataclass(frozen=True, slots=True, eq=False)
class RobustFit:
    """A model of the inliers, the losses of all rows under it, and which rows are outliers.

    losses: (n,), in the order of the design. errors: the rows whose errors were judged, none of
    classes.
    """

    fitted: Fitted
    losses: Array
    threshold: Threshold
    ranked: RankedScores
    notes: tuple[str, ...] = ()
    errors: Index = field(default_factory=lambda: np.zeros(0, np.intp))


def fit_robust(
    design: Design,
    options: FitOptions,
    contamination: float | None,
    report: Report,
    texts: Sequence[Texts] = (),
) -> RobustFit:
    """The robust fit and its judgement; where the rows are too few for either, the plain fit.

    contamination: so many rows of the largest scores are outliers; None to judge. texts: of the
    categories, as the table has them. Rows with whole frequencies are judged as their copies.
    """
    copies = copies_of(design)
    if copies is None:
        return _fit_rows(design, options, contamination, report, texts)
    texts = [each[copies.rows] for each in texts]
    found = _fit_rows(copies.design, options, contamination, report, texts)
    fitted, firsts = found.fitted, copies.firsts
    return replace(
        found,
        fitted=Fitted(*copies.of_rows(fitted.model, fitted.solution), fitted.notes),
        losses=found.losses[firsts],
        ranked=found.ranked.of_rows(copies),
        errors=np.unique(copies.rows[found.errors]),
    )


def _fit_rows(
    design: Design,
    options: FitOptions,
    contamination: float | None,
    report: Report,
    texts: Sequence[Texts],
) -> RobustFit:
    """The same, every row judged alike."""
    inliers = inlier_weights_of(design, options)
    judged = inliers.judgement
    able = judged is None or judged.fit is not None
    fitted = fit_design(design, replace(options, robust=able), report, inliers=inliers)
    notes = () if able else robust_notes(inliers)
    losses, seed = score_design(fitted.model, design).losses, options.solver.seed
    if judged is None:
        with one_thread():
            cells = find_cells(design, texts, None, numbers=False, seed=seed)
        threshold, ranked = _judge_labels(inliers, contamination, cells)
        return RobustFit(fitted, losses, threshold, ranked, _doubts(inliers, contamination))
    if able and (not fitted.model.is_linear or not fitted.model.row_loss.quadratic):
        judged = _judge_again(design, fitted.model, losses, judged, seed)
    with one_thread():
        cells = find_cells(design, texts, ~judged.outliers, numbers=True, seed=seed)
    ranked = _unite(judged, cells)
    scale = _unit(fitted.model, judged, design)
    if contamination is not None:
        threshold, ranked = take_share(ranked, contamination, scale)
    else:
        alone = float(np.mean(ranked.outliers & ~judged.outliers))
        threshold = Threshold(min(judged.fraction + alone, 1.0), threshold_below(ranked), scale)
    errors = np.flatnonzero(~judged.alone if able else np.zeros(len(losses), np.bool_))
    return RobustFit(fitted, losses, threshold, ranked, notes, errors)


def _unite(judged: Judgement, cells: CellFindings) -> RankedScores:
    """Errors and cells together: rows with a wrong cell that explains the row better than a wrong
    target does are of that kind. Targets are judged on their own scale too (logarithms, if these
    are less skewed).
    """
    called = judged.outliers
    coded = cells.far & (cells.places == 0)
    wrong = cells.far & ~coded & ~(called & cells.target_first)
    off = ~wrong & (cells.target_scores > TARGET_FAR) & ~judged.alone
    kinds = np.where(wrong, CELL, judged.kinds).astype(np.int8)
    kinds[(coded | off) & ~called] = ERROR
    firsts = np.full(len(kinds), -1, np.int32)
    firsts[coded | off | (called & ((judged.kinds != LEVERAGE) | cells.target_first))] = 0
    firsts[wrong] = cells.places[wrong]
    scores = np.maximum(judged.scores, np.maximum(cells.scores, cells.target_scores))
    return RankedScores(scores, kinds, firsts, cells)


def _unit(model: Model, judged: Judgement, design: Design) -> float:
    """What errors are divided by, in units of the file."""
    if model.robust is not None and model.robust.scale is not None:
        return model.robust.scale
    return judged.scale * design.encoding.target.scale


def threshold_below(ranked: RankedScores) -> float:
    """A threshold below the smallest score of an outlier; the largest score where there is none."""
    if not ranked.outliers.any():
        return float(ranked.scores.max())
    smallest = float(ranked.scores[ranked.outliers].min())
    others = ranked.scores[~ranked.outliers & (ranked.scores < smallest)]
    below = float(others.max()) if len(others) else smallest - 1.0
    return 0.5 * (smallest + below)


def take_share(
    ranked: RankedScores, contamination: float, scale: float, unnamed: int = ERROR
) -> tuple[Threshold, RankedScores]:
    """So many rows of the largest scores are outliers; unnamed: their kind where none is known."""
    scores, n = ranked.scores, len(ranked.scores)
    place = max(n - round(contamination * n) - 1, 0)
    threshold = float(np.partition(scores, place)[place])
    taken = scores > threshold
    plain = (ranked.kinds == PLAIN) | (ranked.kinds == TAIL)
    kinds = np.where(taken, np.where(plain, unnamed, ranked.kinds), PLAIN).astype(np.int8)
    return Threshold(contamination, threshold, scale), replace(ranked, kinds=kinds)


def _judge_again(
    design: Design, model: Model, losses: Array, judged: Judgement, seed: int
) -> Judgement:
    """By the errors of the model itself, where it is not the linear one of the judgement."""
    sizes = model.row_loss.sizes(losses)
    assert sizes is not None  # noqa: S101  (numbers have sizes)
    predicted = model.predict(model.margins(design.rows), design.exposure).astype(np.float64)
    signs = np.sign(design.targets.astype(np.float64) - predicted)
    scale = _unit(model, judged, design)
    return judge_errors(design.rows, signs * sizes / scale, predicted, judged, seed=seed)


def _judge_labels(
    inliers: InlierWeights, contamination: float | None, cells: CellFindings
) -> tuple[Threshold, RankedScores]:
    """Outliers are labels that are called wrong, remote rows that the others contradict, and rows
    with wrong cells.

    The worst of q cells, z deviations off, has the log-odds z^2 / 2 - log(100 q): one row in 100
    has a wrong cell, which may be off by any amount.
    """
    labels = inliers.labels
    assert labels is not None  # noqa: S101  (targets are numbers or classes)
    kinds = np.where(labels.flags, LABEL, PLAIN).astype(np.int8)
    kinds[labels.remote] = LEVERAGE
    kinds[cells.far] = CELL
    firsts = np.where(kinds == LABEL, 0, -1).astype(np.int32)
    firsts[cells.far] = cells.places[cells.far]
    ordinary = ORDINARY_ROWS + float(np.log(max(cells.n_columns, 1)))
    scores = np.maximum(labels.scores, 0.5 * np.square(cells.scores) - ordinary)
    ranked = RankedScores(scores, kinds, firsts, cells)
    if contamination is not None:
        return take_share(ranked, contamination, 1.0, LABEL)
    alone = float(np.mean(cells.far & ~labels.flags))
    return Threshold(min(labels.fraction + alone, 1.0), threshold_below(ranked), 1.0), ranked


def _doubts(inliers: InlierWeights, contamination: float | None) -> tuple[str, ...]:
    """What to think of labels of which so many look wrong, or nobody can say which."""
    labels = inliers.labels
    if labels is None or contamination is not None:
        return ()
    remedy = f"pass {opt('contamination', 'SHARE')} to flag"
    if labels.disagree:
        return (
            f"{100.0 * labels.disagree:.2g} % of the labels may be wrong, but the columns do not "
            f"show which: none is called wrong; {remedy} the likeliest",
        )
    if labels.fraction > MOST_SWAPPED:
        return (
            f"{100.0 * labels.fraction:.2g} % of the labels disagree with the columns: these may "
            f"not tell the classes apart, rather than the labels be wrong; {remedy} fewer",
        )
    return ()
