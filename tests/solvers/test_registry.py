"""The table of solvers: declarations that auto, checks, help and the manual read."""

import subprocess
import sys
from dataclasses import fields, replace

import pytest

from helpers.docs import markdown_table
from helpers.problems import small_problem
from lrisk_cli.cli import CommandLoader
from lrisk_cli.errors import UsageError
from lrisk_cli.names import Sampling, SolverName, StartName, StepSchedule
from lrisk_cli.risk.spectrum import parse_risk
from lrisk_cli.solvers.options import Solver
from lrisk_cli.solvers.registry import SOLVERS, load_solver
from lrisk_cli.solvers.select import SHARED, SolverOptions, check_options, check_risk
from lrisk_cli.solvers.solution import Limits
from lrisk_cli.solvers.spec import Job, Need, StepGrid

EVERY_SOLVER = pytest.mark.parametrize("name", SOLVERS)
# A value that its solver takes, for each option that not all read.
GIVEN = {
    "step": 0.01,
    "decay": True,
    "step_delay": 3.0,
    "theory": True,
    "step_grid": StepGrid((0.1, 0.3)),
    "batch_size": 8,
    "max_epochs": 2.0,
    "epoch_length": 9,
    "checkpoint_probability": 0.5,
    "sampling": Sampling.UNIFORM,
    "norm_bound": 1.0,
    "bound_classes": True,
    "step_schedule": StepSchedule.SQRT,
    "momentum": 0.5,
    "nesterov": True,
    "start": StartName.GLOROT,
}
FLAGS = {name: f"--{name.replace('_', '-')}" for name in GIVEN} | {
    "decay": "--step",
    "theory": "--step",
}


def readers(option: str) -> list[str]:
    return sorted(name for name in SOLVERS if option in load_solver(name).options)


def test_every_name_has_a_solver_and_every_option_a_reader():
    assert {*SOLVERS, SolverName.AUTO} == set(SolverName)
    assert {field.name for field in fields(SolverOptions)} - SHARED == set(GIVEN)
    assert set(GIVEN) == frozenset().union(*(load_solver(name).options for name in SOLVERS))


@EVERY_SOLVER
@pytest.mark.parametrize("option", GIVEN)
def test_an_option_is_taken_by_its_readers_and_refused_by_others(name, option):
    options = replace(SolverOptions(name), **{option: GIVEN[option]})
    if option == "nesterov":
        options = replace(
            options, momentum=0.5 if "momentum" in load_solver(name).options else None
        )
    if option == "step_delay" and "decay" in load_solver(name).options:
        options = replace(options, decay=True)
    if option == "bound_classes" and "norm_bound" in load_solver(name).options:
        options = replace(options, norm_bound=1.0)
    if option in load_solver(name).options:
        check_options(options)
    else:
        with pytest.raises(UsageError) as refusal:
            check_options(options)
        *others, last = readers(option)
        named = f"{', '.join(others)} and {last}" if others else last
        assert f"is not used by solver='{name}' (only by {named})" in str(refusal.value)


@pytest.mark.parametrize("option", GIVEN)
def test_auto_refuses_what_the_solver_that_it_takes_may_not_read(option):
    with pytest.raises(UsageError, match=r"is not used by solver='auto' \(only by"):
        check_options(replace(SolverOptions(), **{option: GIVEN[option]}))


def test_the_options_of_the_interface_are_those_that_solvers_declare():
    declared = {each.name for each in fields(Solver)} - {"solver", "step_seeds"}
    assert declared == set(GIVEN) - {"decay", "theory"}


class Recorded(SolverOptions):
    """Options that remember which of them were read."""

    def __getattribute__(self, name):
        READ.add(name)
        return super().__getattribute__(name)


READ: set[str] = set()


@EVERY_SOLVER
def test_a_solver_reads_exactly_the_options_that_it_declares(name):
    spec = load_solver(name)
    falls = Need.FALLING_RISK in spec.needs
    problem = small_problem(risk="subquantile:0.8" if falls else "superquantile:0.5")
    options = Recorded(name)
    READ.clear()
    spec.run(Job(problem, options, Limits(max_passes=3.0)))
    assert READ & set(GIVEN) == spec.options


@EVERY_SOLVER
@pytest.mark.parametrize(("risk", "lacking"), [
    ("superquantile:0.9", Need.FALLING_RISK), ("subquantile:0.8", Need.CONVEX_RISK), ("mean", None),
])  # fmt: skip
def test_a_risk_is_refused_by_the_solvers_that_need_another(name, risk, lacking):
    if lacking in load_solver(name).needs:
        with pytest.raises(UsageError, match=f"solver='{name}' needs {lacking} .* choose among "):
            check_risk(name, parse_risk(risk))
    else:
        check_risk(name, parse_risk(risk))


def test_the_manual_lists_exactly_the_solvers_what_they_need_and_their_options():
    rows = {row[0]: row for row in markdown_table("docs/solvers.md", "solver")}
    assert list(rows) == [name.value for name in SOLVERS]
    for name in SOLVERS:
        spec = load_solver(name)
        _, _, _, needs, options = rows[name]
        assert needs == ", ".join(sorted(spec.needs))
        for option in GIVEN:
            written = f"`{option}`" if option in ("decay", "theory") else FLAGS[option]
            assert (written in options) is (option in spec.options), (name, option)


@pytest.mark.parametrize("option", GIVEN)
def test_help_names_the_solvers_that_read_an_option(option):
    command = CommandLoader(name="lrisk").get_command(None, "fit")
    (parameter,) = [each for each in command.params if FLAGS[option] in each.opts]
    assert f"({', '.join(readers(option))})" in parameter.help


def test_a_fit_loads_only_the_solver_it_uses():
    program = (
        "import sys; from lrisk_cli.solvers.select import SolverOptions, choose, solve\n"
        "from lrisk_cli.solvers.solution import Limits\n"
        "from helpers.problems import small_problem\n"
        "solve(small_problem(), SolverOptions(), Limits())\n"
        "print(*sys.modules)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True,
        env={"PYTHONPATH": "tests"},
    )  # fmt: skip
    loaded = {name for name in SOLVERS if f"lrisk_cli.solvers.{name}" in run.stdout.split()}
    assert loaded == {SolverName.NEWTON}
