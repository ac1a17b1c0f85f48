"""Passes, epochs and gradient evaluations, counted by hand."""

import pytest

from helpers.problems import small_problem
from lrisk_cli.names import Sampling, SolverName
from lrisk_cli.solvers.select import SolverOptions, solve
from lrisk_cli.solvers.solution import Limits

N_ROWS = 120
LONG = Limits(tol=0.0, max_passes=1e6)


def test_an_epoch_of_n_steps_takes_two_gradients_for_each_and_n_for_its_checkpoint():
    """S, Sec. 3: two evaluations for each step, n at the start of an epoch."""
    options = SolverOptions(SolverName.LSVRG, 1e-3, epoch_length=N_ROWS, max_epochs=5.0)
    found = solve(small_problem(n_rows=N_ROWS), options, LONG)
    assert found.counts.epochs == 5.0
    assert found.counts.gradient_evaluations == 5 * 3 * N_ROWS
    assert "stopped after 5 epochs (max_epochs)" in found.status


@pytest.mark.parametrize("length", [30, 40])
def test_short_epochs_add_up_to_those_of_n_rows(length):
    """A checkpoint for each sort, so that shorter epochs evaluate more gradients."""
    options = SolverOptions(
        SolverName.LSVRG, 1e-3, epoch_length=length, max_epochs=2.0, sampling=Sampling.UNIFORM
    )
    found = solve(small_problem(n_rows=N_ROWS), options, LONG)
    assert found.counts.epochs == pytest.approx(2.0)
    n_sorts = 2 * N_ROWS // length
    assert found.counts.gradient_evaluations == 2 * 2 * N_ROWS + n_sorts * N_ROWS


def test_extra_checkpoints_evaluate_all_gradients_and_are_passes_but_not_epochs():
    options = SolverOptions(
        SolverName.LSVRG, 1e-3, epoch_length=N_ROWS, max_epochs=3.0, checkpoint_probability=0.02
    )
    counts = solve(small_problem(n_rows=N_ROWS), options, LONG).counts
    assert counts.epochs == 3.0
    extra = counts.gradient_evaluations - 3 * 3 * N_ROWS
    assert extra > 0
    assert extra % N_ROWS == 0


@pytest.mark.parametrize(
    ("limit", "max_passes", "epochs"), [(2.5, 1e6, 2.5), (None, 7.0, 7.0), (4.0, 2.0, 2.0)]
)
def test_long_epochs_end_at_the_limits(limit, max_passes, epochs):
    options = SolverOptions(SolverName.LSVRG, 1e-3, epoch_length=100 * N_ROWS, max_epochs=limit)
    limits = Limits(tol=0.0, max_passes=max_passes)
    assert solve(small_problem(n_rows=N_ROWS), options, limits).counts.epochs == epochs


@pytest.mark.parametrize("solver", [SolverName.SGD, SolverName.SRDA])
def test_a_batch_evaluates_the_gradients_of_its_rows(solver):
    options = SolverOptions(solver, 1e-3, batch_size=40, max_epochs=7.0)
    found = solve(small_problem(n_rows=N_ROWS), options, LONG)
    assert (found.counts.epochs, found.counts.gradient_evaluations) == (7.0, 7 * N_ROWS)


def test_passes_count_evaluations_and_proofs_too_and_the_trace_counts_all():
    options = SolverOptions(SolverName.SGD, 1e-3, batch_size=40, max_epochs=20.0)
    found = solve(small_problem(n_rows=N_ROWS), options, LONG)
    assert found.passes >= 1.0 + 2.0 * found.counts.epochs
    steps = [(each.counts.epochs, each.passes) for each in found.epochs]
    assert [epochs for epochs, _ in steps] == list(range(21))
    assert all(passes >= 2.0 * epochs + 1.0 for epochs, passes in steps)


def test_a_bound_counts_every_sweep_that_it_took():
    """The mean of squared losses: zero, one fit and its evaluation; the bound at that fit."""
    found = solve(small_problem(risk="mean"), SolverOptions(), Limits())
    assert found.passes == 4.0
    assert found.counts is None
