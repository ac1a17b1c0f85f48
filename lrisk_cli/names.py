"""The words of the command line: risks, losses, solvers and choices, readable without numpy."""

from enum import StrEnum

RISKS: dict[str, str] = {
    "mean": "the plain average",
    "superquantile": "Q in [0, 1): mean of the worst 1-Q of the losses; 0 is the mean",
    "extremile": "R >= 1: expected worst of R draws; 1 is the mean",
    "esrm": "RHO > 0: exponential weights; near 0 the mean, large the worst row",
    "subquantile": "P in (0, 1]: mean of the best P of the losses; 1 is the mean",
    "lower-extremile": "R >= 1: expected best of R draws; 1 is the mean",
}
RISK_ALIASES = {"cvar": "superquantile"}
DEFAULT_RISK = "superquantile:0.9"
DEFAULT_CLUSTER_RISK = "subquantile:0.75"
# Of a polynomial kernel: its values leave the range of numbers long before.
MOST_DEGREE = 100
EVALUATED_RISKS = (
    "mean", "superquantile:0.5", "superquantile:0.9", "superquantile:0.99",
    "extremile:2", "esrm:1",
)  # fmt: skip

RIVALS: dict[str, str] = {
    "erm": "the mean of the losses: ridge or logistic regression",
    "term": "T, not 0 (-2): tilted losses; below 0 large losses count less, above 0 more",
    "sever": "ROUNDS >= 1 (4, for classes 2): drops rows whose gradients stand out together",
    "ransac": "TRIALS >= 1 (100): the fit to few rows that most rows agree with",
    "svm": "linear support vectors on the same features",
    "huber": "EPSILON > 1 (1.35): errors count linearly beyond EPSILON times their scale",
    "crr": "hard thresholding: the largest residuals are taken for corruptions of the target",
    "stir": "ETA > 1 (2): weights 1/|residual|, truncated less and less",
    "trimmed-ml": "FACTOR > 0 (1): refits to all rows but the least likely FACTOR * fraction",
}
CORRUPTIONS: dict[str, str] = {
    "label": "numbers: drawn from N(5, 5^2), standardised; classes: as flip",
    "feature": "features times 100",
    "label+feature": "features times 100 and numbers times 10000, or classes flipped",
    "flip": "classes: another one",
}
# Metrics of which a larger figure is good news; of all others, risks included, a smaller one is.
LARGER_IS_BETTER = frozenset(
    {
        "accuracy", "r2", "purity", "average_precision", "n_rows", "difference",
        "normalised_difference", "tail_gained",
    }
)  # fmt: skip
REPORTED_QUANTILES = "0.5,0.75,0.9,0.95,0.99,1"


class Task(StrEnum):
    """What the target is; `auto` looks at it."""

    AUTO = "auto"
    REGRESSION = "regression"
    CLASSIFICATION = "classification"


class Dates(StrEnum):
    """What a date becomes: days since 1970, or these and parts of the calendar."""

    NUMBER = "number"
    PARTS = "parts"


class LossName(StrEnum):
    """Per-row losses; `auto` follows the task."""

    AUTO = "auto"
    SQUARED = "squared"
    LOGISTIC = "logistic"


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


class KernelName(StrEnum):
    """What predictions are linear in: the columns, or a kernel of the rows."""

    LINEAR = "linear"
    POLY = "poly"
    RBF = "rbf"


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


class Missing(StrEnum):
    """What happens to rows with missing cells."""

    ERROR = "error"
    DROP = "drop"
    IMPUTE = "impute"


class Unseen(StrEnum):
    """What happens to categories that the fit did not see."""

    ERROR = "error"
    OTHER = "other"


# Without a number of clusters, outliers are looked for by so many, fewer on short tables.
MOST_CLUSTERS = 8
ROWS_PER_CLUSTER = 50
