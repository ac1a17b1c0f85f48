"""A comparison as a call: any loss, with exposure, against fits of scikit-learn."""

from pathlib import Path

import numpy as np
import pytest
from pyarrow import csv
from sklearn.linear_model import HuberRegressor, PoissonRegressor
from sklearn.metrics import mean_poisson_deviance

from helpers.program import write_csv
from lrisk_cli.api.compare import FitsOptions, make_job, run
from lrisk_cli.design.options import Columns
from lrisk_cli.errors import UsageError
from lrisk_cli.evaluation.comparison import Comparison
from lrisk_cli.evaluation.options.comparing import ComparisonSplits, Methods
from lrisk_cli.evaluation.splits import folds
from lrisk_cli.features.options import KernelOptions
from lrisk_cli.models.options import ModelOptions, Penalty, RowLoss
from lrisk_cli.progress import silent
from lrisk_cli.solvers.options import Solver, Stopping
from lrisk_cli.tables.options import Data

CLAIMS = str(Path(__file__).parents[2] / "sample_data/claims.csv")
# Fits end at a proved gap of 1e-6, which leaves about its root to coefficients and test rows.
CLOSE = 1e-4
NUMBERS = ("driver_age", "thousand_km")
COUNTS = Columns(target="claims", features=NUMBERS, exposure="years")


def compared(
    columns: Columns = COUNTS, loss: str = "poisson", *, data: str = CLAIMS, test=None, **methods
) -> Comparison:
    asked = Methods(**{"risk": ("mean",), **methods})
    splits = ComparisonSplits(cv=None if test else 3, test=test)
    fits = FitsOptions(
        asked, RowLoss(loss=loss), Penalty(l2=0.01), ModelOptions(), KernelOptions(), Stopping(),
        Solver(), seed=0,
    )  # fmt: skip
    fits = FitsOptions(
        asked, RowLoss(loss=loss), Penalty(l2=0.01), ModelOptions(), KernelOptions(), Stopping(),
        Solver(), seed=0,
    )  # fmt: skip
    job = make_job(Data(data=(data,)), columns, fits, splits, html=None)
    return run(job, silent, force=False)


def figures(comparison: Comparison, name: str) -> dict[str, float]:
    return {each.method: each.mean(name) for each in comparison.results}


def claims() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    table = csv.read_csv(CLAIMS)
    X = np.column_stack([table[name].to_numpy() for name in NUMBERS])
    return X.astype(float), table["claims"].to_numpy(), table["years"].to_numpy()


def deviance_of_scikit_learn(train: np.ndarray, test: np.ndarray) -> float:
    """Of rates weighed by exposures, the constant penalised like the features."""
    X, y, e = claims()
    X = (X - X[train].mean(axis=0)) / X[train].std(axis=0)
    X = np.column_stack([X, np.ones(len(y))])
    glm = PoissonRegressor(
        alpha=0.01 * train.sum() / e[train].sum(), fit_intercept=False, solver="newton-cholesky",
        tol=1e-12,
    )  # fmt: skip
    glm.fit(X[train], y[train] / e[train], sample_weight=e[train])
    return float(mean_poisson_deviance(y[test], e[test] * glm.predict(X[test])))


def test_the_mean_of_poisson_losses_is_scikit_learn_fold_by_fold():
    found = compared(rival=("erm",))
    fold_of = folds(len(claims()[1]), 3, 0)
    expected = np.mean(
        [deviance_of_scikit_learn(fold_of != fold, fold_of == fold) for fold in range(3)]
    )
    for method, deviance in figures(found, "mean_deviance").items():
        assert deviance == pytest.approx(expected, rel=CLOSE), method
    assert (found.loss, found.exposure) == ("poisson", "years")


def test_another_table_is_judged_with_its_exposure():
    found = compared(test=CLAIMS, rival=("erm",))
    everything = np.ones(len(claims()[1]), dtype=bool)
    expected = deviance_of_scikit_learn(everything, everything)
    for deviance in figures(found, "mean_deviance").values():
        assert deviance == pytest.approx(expected, rel=CLOSE)


def test_the_usual_rivals_follow_the_loss_and_the_result_says_so():
    found = compared()
    assert list(figures(found, "mean")) == ["mean", "term", "sever", "trimmed-ml"]
    omitted = "rivals that do not learn poisson losses: ransac, svm, huber, crr and stir"
    assert omitted in found.notes
    squared = compared(Columns(target="claims", features=NUMBERS), "auto")
    assert not any("rivals" in note for note in squared.notes)
    assert squared.loss is None


def test_spoilt_rows_keep_their_exposures_and_the_oracle_its_own():
    found = compared(rival=("none",), corrupt="feature:0.2")
    deviance = figures(found, "mean_deviance")
    clean = figures(compared(rival=("none",)), "mean_deviance")["mean"]
    assert abs(deviance["oracle"] - clean) < 0.05 * clean < deviance["mean"] - clean


def skewed(folder: Path) -> tuple[str, np.ndarray, np.ndarray]:
    """A line in units of thousands, every eighth row 4000 too high: the file, x and y."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(240)
    y = 5000.0 + 900.0 * x + 40.0 * rng.standard_normal(240)
    y[::8] += 4000.0
    write_csv(folder / "skewed.csv", {"x": x, "y": y})
    return str(folder / "skewed.csv"), x, y


def test_huber_losses_are_in_units_of_the_target_for_rivals_too(tmp_path):
    data, rivals = skewed(tmp_path)[0], ("erm", "trimmed-ml", "svm")
    found = compared(Columns(target="y"), "huber:100", data=data, rival=rivals)
    losses = figures(found, "mean")
    assert losses["erm"] == pytest.approx(losses["mean"], rel=1e-6)
    assert set(losses) == {"mean", "erm", "trimmed-ml", "svm"}


def test_the_mean_of_huber_losses_resists_as_that_of_scikit_learn(tmp_path):
    data, x, y = skewed(tmp_path)
    huber = HuberRegressor(alpha=0.0).fit(x[:, None], y)
    error = np.abs(y - huber.predict(x[:, None]))[np.arange(len(y)) % 8 != 0].mean()
    columns = Columns(target="y")
    mae = {
        loss: figures(compared(columns, loss, data=data, rival=("none",)), "mae")["mean"]
        for loss in ("squared", "huber:100")
    }
    # An eighth of the rows are 4000 off for any fit that the others decide.
    assert mae["huber:100"] < 500.0 + 2.0 * error < mae["squared"]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"rival": ("crr",)}, "crr does not learn poisson losses"),
        ({"rival": ("erm", "erm")}, "rival='erm' is named twice; name it once"),
        ({"corrupt": "label:0.1"}, r"corrupt='label:0.1' draws targets .* at least 0; use feature"),
        ({"loss": "auto"}, "exposure is not used by loss='auto'; pass loss='poisson'"),
        ({"loss": "huber:1"}, "exposure is not used by loss='huber:1'"),
        ({"loss": "sqared"}, "did you mean squared"),
    ],
)
def test_impossible_options_are_answered_with_keywords(changes, sentence):
    with pytest.raises(UsageError, match=sentence):
        compared(**changes)
