"""Figures of some rows -> warnings about them, under the conditions of lrisk_cli/warnings.py."""

from collections.abc import Mapping

from lrisk_cli.errors import join_words, opt
from lrisk_cli.evaluation.metrics import Figures
from lrisk_cli.warnings import CodedWarning, Warnings

# Fewer rows than this for each column, and the errors on the same rows say little.
ROWS_PER_COLUMN = 5


def warn_of_figures(figures: Mapping[str, Figures]) -> Warnings:
    """What is odd about the figures of a model. figures: by the rows they are of."""
    return (*_r2_below_zero(figures),)


def warn_of_few_rows(n_rows: int, n_columns: int, *, tested: bool) -> Warnings:
    """Rows that are few for the columns, and none to test on. tested: whether there are some."""
    if tested or ROWS_PER_COLUMN * n_columns < n_rows:
        return ()
    text = (
        f"{n_columns} columns are fitted to {n_rows} rows, and no others show how well they "
        f"predict; pass {opt('holdout', '0.2')} or {opt('cv', 5)}, or fewer {opt('features')}"
    )
    return (CodedWarning("few_rows", text),)


def _r2_below_zero(figures: Mapping[str, Figures]) -> Warnings:
    found = {
        name: value
        for name, of_rows in figures.items()
        if (value := of_rows.get("r2")) is not None and value < 0.0
    }
    if not found:
        return ()
    where = join_words([f"{value:.3g}{_on(name)}" for name, value in found.items()])
    text = (
        f"r2 is {where}: the mean of the target has a smaller squared error; compare with "
        f"{opt('risk', 'mean')} and look for rows unlike the others"
    )
    return (CodedWarning("r2_below_zero", text),)


def _on(name: str) -> str:
    """Which rows are meant, where there are several sets of them."""
    return f" on the {name.replace('held out', 'held-out')} rows" if name else ""
