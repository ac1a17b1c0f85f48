"""What the theorems of the papers say about the fits."""

from collections.abc import Sequence

from lrisk_cli.api.fit_result import FitResult
from lrisk_cli.design.design import Design
from lrisk_cli.features.features import Features
from lrisk_cli.models.fitting import FitOptions, state_problem
from lrisk_cli.solvers.theory import theory_of


def add_theory(
    results: Sequence[FitResult], fits: Sequence[FitOptions], design: Design, features: Features
) -> None:
    """Apply them to the problem of each fit and to what it found."""
    for result, options in zip(results, fits, strict=True):
        problem = state_problem(design, options, features)
        W, how = result.fitted.solution.W, options.solver
        result.theory = theory_of(problem, W, how.batch_size, options.limits.tol)
