"""A slice of the benchmark of extreme tables, and its oracle against closed forms."""

from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from benchmarks.common.exact import CONTEXT, KNOWN, ExactProblem, decimals, project
from benchmarks.reliability.certificates import Case, Outcome, check, run
from helpers.oracles import superquantile_optimum
from helpers.problems import small_problem
from lrisk_cli.names import SolverName
from lrisk_cli.solvers.select import SolverOptions, solve
from lrisk_cli.solvers.solution import Limits

# Not a seed that the benchmark records.
SEED = 7


@pytest.mark.parametrize("index", range(15))
def test_extreme_tables_have_true_certificates_and_an_orderly_end(index):
    assert run(Case(SEED, index)).faults == []


def test_a_case_is_made_of_its_seed_and_number_alone():
    assert Case(SEED, 3).make() == Case(SEED, 3).make()
    assert Case(SEED, 3).make() != Case(SEED + 1, 3).make()


@pytest.mark.parametrize("loss", ["squared", "logistic", "huber:0.7", "poisson"])
@pytest.mark.parametrize("risk", ["mean", "superquantile:0.5", "extremile:2"])
def test_the_exact_minimiser_brackets_the_optimum_within_the_certificate(loss, risk):
    problem = small_problem(loss, risk, n_rows=9, n_columns=2)
    found = solve(problem, SolverOptions(SolverName.NEWTON), Limits(tol=1e-9))
    with localcontext(CONTEXT):
        attained, low = ExactProblem(problem).minimise(decimals(found.W))
        assert low <= attained <= low * (1 + KNOWN * 2)
        assert found.certificate.lower_bound <= attained <= found.objective * (1 + 1e-14)


def test_the_exact_minimiser_agrees_with_a_quadratic_program():
    problem = small_problem("squared", "superquantile:0.5", n_rows=12, n_columns=2)
    with localcontext(CONTEXT):
        attained, _ = ExactProblem(problem).minimise(decimals(np.zeros(problem.shape)))
    assert float(attained) == pytest.approx(superquantile_optimum(problem, 0.5), rel=1e-6)


def test_the_projection_is_the_nearest_mixture_of_permutations():
    with localcontext(CONTEXT):
        sigma = decimals(np.array([0.0, 0.25, 0.75]))
        lam, _ = project(decimals(np.array([0.5, 0.25, 0.25])), sigma)
        # Inside the permutahedron a point is its own projection; far outside it is a vertex.
        assert [Fraction(each) for each in lam] == [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)]
        lam, blocks = project(decimals(np.array([-9.0, 9.0, 0.0])), sigma)
        assert list(lam) == [Decimal(0), Decimal("0.75"), Decimal("0.25")]
        assert blocks == []


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"lower_bound": 1.01}, "bound"),
        ({"objective": 1.0 + 1e-13}, "objective off"),
        ({"absolute_gap": -1.0}, "a gap of"),
    ],
)
def test_the_check_finds_what_is_false(change, fault):
    problem = small_problem("squared", "extremile:2", n_rows=9, n_columns=2)
    found = solve(problem, SolverOptions(SolverName.NEWTON), Limits(tol=1e-9))
    told = found.certificate
    fit = {
        "status": found.status, "gap": told.gap, "absolute_gap": told.absolute_gap,
        "objective": told.objective, "lower_bound": told.lower_bound,
    }  # fmt: skip
    honest = Outcome(Case(SEED, 0))
    wrong = replace(honest, faults=[])
    with localcontext(CONTEXT):
        check(problem, found, {"fit": fit}, honest)
        check(problem, found, {"fit": fit | {k: v * fit[k] for k, v in change.items()}}, wrong)
    assert honest.faults == []
    assert [each.startswith(fault) for each in wrong.faults] == [True]
