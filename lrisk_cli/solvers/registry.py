"""The solvers by name. Their declarations are in the files of these names, loaded when asked for.

The words are those of `lrisk fit --help`, so this table needs no numpy.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from lrisk_cli.names import SolverName

if TYPE_CHECKING:
    from lrisk_cli.solvers.spec import SolverSpec

# `auto` takes the first that suits the problem.
SOLVERS: dict[SolverName, str] = {
    SolverName.NEWTON: "proves the optimum quickly",
    SolverName.LBFGS: "does so for thousands of unknowns",
    SolverName.TRIMMED: "is for risks that fall with the loss, which newton and lbfgs refuse",
    SolverName.LSVRG: "is stochastic",
    SolverName.SGD: "is biased by its batches",
    SolverName.SRDA: "is biased by its batches",
    SolverName.SUBGRADIENT: "uses all rows at each step",
}


def load_solver(name: SolverName) -> "SolverSpec":
    """The declaration of a solver; no other one is loaded."""
    spec: SolverSpec = import_module(f"lrisk_cli.solvers.{name.value}").SPEC
    return spec
