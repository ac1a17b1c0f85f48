"""Warnings of a fit, and the digests by which its model recognises the rows it learned from."""

from collections.abc import Mapping

import numpy as np

from lrisk_cli.design.design import Design
from lrisk_cli.evaluation.mean_probabilities import MeanProbabilities
from lrisk_cli.evaluation.metrics import Figures
from lrisk_cli.evaluation.warning_rules import (
    warn_of_calibration,
    warn_of_few_rows,
    warn_of_figures,
    warn_of_learning,
    warn_of_majority,
)
from lrisk_cli.models.model import Model
from lrisk_cli.models.row_digest import digest_of
from lrisk_cli.warnings import Warnings


def fit_warnings(
    model: Model,
    design: Design,
    held_out: Design | None,
    figures: Mapping[str, Figures],
    means: Mapping[str, MeanProbabilities],
    *,
    validated: bool,
) -> Warnings:
    """design: the rows learned from; figures, means: by the rows they are of; validated: by folds.

    means: of the probabilities of classes.
    """
    majorities = {"training": majority(design)}
    if held_out is not None:
        majorities["held out"] = majority(held_out)
    return (
        *(warn_of_learning(model, design) if model.robust is None else ()),
        *warn_of_few_rows(design.total, design.rows.shape[1], tested=validated or len(figures) > 1),
        *warn_of_figures(figures),
        *(warn_of_majority(figures, majorities) if design.encoding.target.classes else ()),
        *warn_of_calibration(model, means),
    )


def sample_warnings(
    model: Model,
    sample: Design,
    n_rows: int,
    figures: Mapping[str, Figures],
    means: Mapping[str, MeanProbabilities],
) -> Warnings:
    """The same of rows that are streamed: what needs rows looks at a sample of them."""
    known = figures["training"].get("majority_accuracy")
    return (
        *warn_of_learning(model, sample),
        *warn_of_few_rows(n_rows, sample.rows.shape[1], tested=len(figures) > 1),
        *warn_of_figures(figures),
        *(warn_of_majority(figures, {"training": known}) if known is not None else ()),
        *warn_of_calibration(model, means),
    )


def majority(design: Design) -> float:
    """Fraction of the most frequent class; of numbers, 0."""
    if not design.encoding.target.classes:
        return 0.0
    sizes = np.bincount(np.asarray(design.targets, np.int64), design.weights)
    return float(sizes.max() / sizes.sum())


def row_digests(design: Design, held_out: Design | None) -> dict[str, str]:
    """What the record of a fit keeps of its rows."""
    known = {"training_rows": digest_of(design.rows, design.targets)}
    if held_out is not None:
        known["held_out_rows"] = digest_of(held_out.rows, held_out.targets)
    return known
