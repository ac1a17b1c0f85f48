"""The options of `lrisk fit` about its solvers, and what their texts mean."""

from typing import Annotated

import typer

from lrisk_cli.errors import UsageError
from lrisk_cli.names import Sampling, SmoothingName, SolverName, StartName
from lrisk_cli.solvers.registry import SOLVERS

Solver = Annotated[
    SolverName,
    typer.Option(
        "--solver",
        help="auto chooses and says why. "
        + "; ".join(f"{name} {words}" for name, words in SOLVERS.items())
        + ".",
    ),
]
SmoothingChoice = Annotated[
    SmoothingName,
    typer.Option(
        "--smoothing",
        help="Smooth the sorting of the losses: l2 or entropy for rising risks, softplus for the "
        "subquantile.",
    ),
]
Nu = Annotated[
    float | None,
    typer.Option(
        "--nu",
        help="Amount of smoothing; 0 would be none.",
        show_default="1e-3, for l2 1e-3 rows",
    ),
]
Step = Annotated[
    str | None,
    typer.Option(
        "--step",
        metavar="NUMBER|decay",
        help="Step size; decay: 1/(mu t) with averaging (sgd). Halved when a run diverges.",
        show_default="a safe one",
    ),
]
BatchSize = Annotated[
    int | None,
    typer.Option("--batch-size", min=1, help="Rows in a batch (sgd, srda).", show_default="64"),
]
EpochLength = Annotated[
    int | None,
    typer.Option(
        "--epoch-length",
        min=1,
        help="Steps between sorts (lsvrg).",
        show_default="rows/2, shorter after a stall",
    ),
]
CheckpointProbability = Annotated[
    float | None,
    typer.Option(
        "--checkpoint-probability",
        min=0.0,
        max=1.0,
        help="Chance of an extra checkpoint after a step (lsvrg).",
        show_default="0",
    ),
]
SamplingChoice = Annotated[
    Sampling | None,
    typer.Option(
        "--sampling",
        help="Draw rows uniformly or by their weights (lsvrg).",
        show_default="weights",
    ),
]
NormBound = Annotated[
    float | None,
    typer.Option(
        "--norm-bound",
        metavar="NUMBER",
        help="Keep the norm of the coefficients, as standardised, at most this (subgradient).",
        show_default="none",
    ),
]
Momentum = Annotated[
    float | None,
    typer.Option(
        "--momentum",
        metavar="M",
        help="Share of the last direction that a step keeps, in [0, 1): 0 is plain steps "
        "(subgradient).",
        show_default="0",
    ),
]
Nesterov = Annotated[
    bool,
    typer.Option("--nesterov", help="Take the gradient where the momentum leads to (subgradient)."),
]
StartChoice = Annotated[
    StartName | None,
    typer.Option(
        "--start",
        help="First coefficients: zero, or glorot: random by the seed, uniform up to "
        "sqrt(6/(features + outputs)) (subgradient).",
        show_default="zero",
    ),
]

NoReweight = Annotated[
    bool,
    typer.Option(
        "--no-reweight",
        help="Keep the stationary point of a subquantile (trimmed); without this the rows that "
        "belong together are fitted once more, with no share fixed beforehand.",
    ),
]


def parse_step(text: str | None) -> tuple[float | None, bool]:
    """A step size, or whether steps decay by rule."""
    if text is None or text == "decay":
        return None, text == "decay"
    try:
        step = float(text)
    except ValueError:
        step = 0.0
    if not 0.0 < step < float("inf"):
        raise UsageError(f"--step takes a number greater than 0, or decay; got {text!r}")
    return step, False
