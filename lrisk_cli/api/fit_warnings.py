"""Warnings of a fit: what its rows, columns and figures say against trusting it."""

from collections.abc import Mapping

from lrisk_cli.design.design import Design
from lrisk_cli.evaluation.metrics import Figures
from lrisk_cli.evaluation.warning_rules import warn_of_few_rows, warn_of_figures
from lrisk_cli.warnings import Warnings


def fit_warnings(design: Design, figures: Mapping[str, Figures], *, validated: bool) -> Warnings:
    """design: the rows learned from; figures: by the rows they are of; validated: by folds."""
    tested = validated or len(figures) > 1
    return (
        *warn_of_few_rows(*design.rows.shape, tested=tested),
        *warn_of_figures(figures),
    )
