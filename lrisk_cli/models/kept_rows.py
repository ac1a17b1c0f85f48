"""Fits of a subquantile that would have no meaning: it must keep enough rows, of two classes."""

import numpy as np

from lrisk_cli.errors import DataError, opt, quote
from lrisk_cli.risk.groups import Risk
from lrisk_cli.solvers.problem import Problem
from lrisk_cli.types import Array


def check_kept_rows(problem: Problem, risk: Risk, *, linear: bool) -> None:
    """Refuse to learn more columns than a subquantile keeps rows. linear: without a kernel."""
    n_columns = problem.shape[0]
    if risk.name != "subquantile" or not linear:
        return
    n_kept = round(float(risk.parameter or 0.0) * problem.n_rows)
    if n_kept < n_columns:
        raise DataError(
            f"{risk} keeps {n_kept} of {problem.n_rows} rows, fewer than the {n_columns} columns "
            f"that are fitted to them; choose a larger fraction, or fewer {opt('features')}"
        )


def check_kept_classes(problem: Problem, lam: Array, classes: tuple[str, ...]) -> None:
    """Refuse a fit that gives weight to one class only: it can always predict that one."""
    kept = np.unique(np.asarray(problem.y)[lam > 0.0])
    if len(kept) == 1:
        raise DataError(
            f"{problem.spectrum} leaves weight to rows of one class only "
            f"({quote(classes[int(kept[0])])}), so there is nothing to tell apart; choose a "
            "larger fraction"
        )
