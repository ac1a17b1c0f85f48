"""The words of the command line: risks, losses, solvers and choices, readable without numpy."""

from enum import StrEnum
from math import log

from lrisk_cli.errors import opt
from lrisk_cli.parameters import Answer, Choice, Parameter, spell


def _power(x: float) -> bool:
    return x >= 1.0


# The risks: what each means, and its parameter. Their formulas are in risk/spectrum.py.
RISKS: dict[str, Choice] = {
    "mean": Choice("the plain average"),
    "superquantile": Choice(
        "mean of the worst 1-Q of the losses; 0 is the mean",
        Parameter("Q", "level", "in [0, 1)", lambda q: 0.0 <= q < 1.0, 0.9, fraction=True),
    ),
    "extremile": Choice(
        "expected worst of R draws; 1 is the mean",
        Parameter("R", "power", "at least 1", _power, 2.0),
    ),
    "esrm": Choice(
        "exponential weights; near 0 the mean, large the worst row",
        Parameter("RHO", "rate", "greater than 0", lambda rho: rho > 0.0, 1.0),
    ),
    "subquantile": Choice(
        "mean of the best P of the losses; 1 is the mean",
        Parameter("P", "fraction", "in (0, 1]", lambda p: 0.0 < p <= 1.0, 0.9, fraction=True),
    ),
    "lower-extremile": Choice(
        "expected best of R draws; 1 is the mean",
        Parameter("R", "power", "at least 1", _power, 2.0),
    ),
}
# Risks of groups of rows, which `fit` minimises; their formulas are in risk/groups.py.
GROUP_RISKS: dict[str, Choice] = {
    "worst-group": Choice("RISK (the mean without it) of the group where it is largest"),
    "group-extremile": Choice(
        "extremile:R of the means of the groups", RISKS["extremile"].parameter
    ),
}
RISK_ALIASES = {"cvar": "superquantile"}
DEFAULT_RISK = "extremile:2"
# The default of versions before 0.2.0.
FORMER_RISK = "superquantile:0.9"
# The risk that tables and pages show as the worst tenth.
WORST_TENTH = "superquantile:0.9"


def _near_quantile(level: float | None) -> str:
    near = spell("superquantile", level if level is not None and 0.0 <= level < 1.0 else 0.9)
    return (
        "a quantile of the losses is not convex and ignores how large the losses beyond it are; "
        f"{near} is the mean of these and never smaller (lrisk quantile-report prints quantiles); "
        f"{opt('loss', spell('quantile', 0.9 if level is None else level))} fits a quantile of the "
        "target"
    )


def _near_expectile(level: float | None) -> str:
    """Of order T = 0.5^(1/R), the extremile is the expected worst of R draws."""
    near = "extremile:2, the expected worst of 2 draws, is near"
    if level is not None and 0.5 <= level < 1.0:
        power = spell("extremile", round(log(0.5) / log(level), 2))
        near = f"{power}, the extremile of order {level:g}, is near"
    return (
        "an expectile weights losses by their distance from itself, a risk of this program by "
        f"their ranks; {near}"
    )


_NEAR_MAX = (
    "superquantile:0.999 is near: the mean of the worst 0.1 % of the losses, which is the largest "
    "loss of up to 1,000 rows; one row would decide the fit, so superquantile:0.99 or extremile:10 "
    "is steadier (lrisk evaluate always prints the largest loss)"
)
_OF_GROUPS = (
    "it is a risk of groups of rows, which lrisk fit minimises and lrisk evaluate reports with "
    f"{opt('by', 'COLUMN')}; here a risk of the losses is needed, such as mean or extremile:2"
)
# Risks that are known elsewhere: what is near, and how it differs.
RISK_ANSWERS: dict[str, Answer] = {
    "max": _NEAR_MAX,
    "worst": _NEAR_MAX,
    "minimax": _NEAR_MAX,
    "worst-group": _OF_GROUPS,
    "group-extremile": _OF_GROUPS,
    "quantile": _near_quantile,
    "var": _near_quantile,
    "median": "a median of the losses is not convex; subquantile:0.5 is near: the mean of the best "
    "half of the losses, which ignores the others",
    "expectile": _near_expectile,
    "entropic": "the entropic risk weights losses by exp(loss), a risk of this program by their "
    "ranks; esrm:RHO is near: weights that grow exponentially with the rank",
    "trimmed": "subquantile:P is the mean of the best P of the losses, a trimmed mean",
}
# The risk of clusters whose parameter is one less the estimated fraction of noise.
ESTIMATED_RISK = "subquantile:auto"
# Of a polynomial kernel: its values leave the range of numbers long before.
MOST_DEGREE = 100
EVALUATED_RISKS = (
    "mean", "superquantile:0.5", "superquantile:0.9", "superquantile:0.99",
    "extremile:2", "esrm:1",
)  # fmt: skip

CORRUPTIONS: dict[str, str] = {
    "label": "numbers: drawn from N(5, 5^2), standardised; classes: as flip",
    "feature": "features times 100",
    "label+feature": "features times 100 and numbers times 10000, or classes flipped",
    "flip": "classes: another one",
}
REPORTED_QUANTILES = "0.5,0.75,0.9,0.95,0.99,1"


class Task(StrEnum):
    """What the target is; `auto` looks at it."""

    AUTO = "auto"
    REGRESSION = "regression"
    CLASSIFICATION = "classification"


class WeightKind(StrEnum):
    """What row weights are: how often a row occurs, or how important it is."""

    FREQUENCY = "frequency"
    IMPORTANCE = "importance"


class Dates(StrEnum):
    """What a date becomes: days since 1970, or these and parts of the calendar."""

    NUMBER = "number"
    PARTS = "parts"


class EngineName(StrEnum):
    """Where sweeps over the rows run."""

    AUTO = "auto"
    MEMORY = "memory"
    STREAM = "stream"


class SolverName(StrEnum):
    """Methods that minimise the risk."""

    AUTO = "auto"
    NEWTON = "newton"
    LBFGS = "lbfgs"
    LSVRG = "lsvrg"
    SGD = "sgd"
    SRDA = "srda"
    SUBGRADIENT = "subgradient"
    TRIMMED = "trimmed"


class ClusterSolver(StrEnum):
    """Methods that place the centres of clusters."""

    LLOYD = "lloyd"
    SGD = "sgd"


class SmoothingName(StrEnum):
    """How the sort is smoothed, if at all."""

    NONE = "none"
    L2 = "l2"
    ENTROPY = "entropy"
    SOFTPLUS = "softplus"


class Sampling(StrEnum):
    """How LSVRG draws rows."""

    UNIFORM = "uniform"
    WEIGHTS = "weights"


class StartName(StrEnum):
    """Where the subgradient method begins."""

    ZERO = "zero"
    GLOROT = "glorot"
    GLOROT_DUAL = "glorot-dual"
    GAUSSIAN = "gaussian"


class StepSchedule(StrEnum):
    """How the steps of the subgradient method shrink: at step t by 1, t^(1/2) or t."""

    CONSTANT = "constant"
    SQRT = "sqrt"
    INVERSE = "inverse"


class KernelName(StrEnum):
    """What predictions are linear in: the columns, or a kernel of the rows."""

    LINEAR = "linear"
    POLY = "poly"
    RBF = "rbf"


class RowNorm(StrEnum):
    """What rows are divided by before anything else."""

    NONE = "none"
    UNIT = "unit"


class FeatureMapName(StrEnum):
    """How a kernel is brought to a number of features."""

    NYSTROEM = "nystroem"
    FOURIER = "fourier"


class GammaRule(StrEnum):
    """How gamma follows from the rows."""

    SCALE = "scale"
    MEDIAN = "median"


class Standardize(StrEnum):
    """Which columns are centred and scaled before fitting."""

    BOTH = "both"
    FEATURES = "features"
    NONE = "none"


class Scaling(StrEnum):
    """What numbers are centred and scaled by: mean and deviation, or median and MAD."""

    DEVIATION = "deviation"
    MAD = "mad"


class CalibrationName(StrEnum):
    """How probabilities are corrected by out-of-fold scores."""

    PLATT = "platt"
    ISOTONIC = "isotonic"


class ConformalName(StrEnum):
    """Which rows prediction intervals are learned from: those held out, or those of each fold."""

    SPLIT = "split"
    CV = "cv"


class TargetScale(StrEnum):
    """What is fitted of the target: the number itself, or a logarithm of it."""

    NONE = "none"
    LOG = "log"
    LOG1P = "log1p"


class Ragged(StrEnum):
    """What happens to rows of text files with more or fewer fields than the header."""

    ERROR = "error"
    PAD = "pad"
    SKIP = "skip"


class Missing(StrEnum):
    """What happens to rows with missing cells."""

    ERROR = "error"
    DROP = "drop"
    IMPUTE = "impute"


class Unseen(StrEnum):
    """What happens to categories that the fit did not see."""

    ERROR = "error"
    OTHER = "other"


class Shell(StrEnum):
    """Shells that completion scripts are made for."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


class ExportFormat(StrEnum):
    """What a model can be written as."""

    ONNX = "onnx"
    SQL = "sql"
    PYTHON = "python"
