"""A quantile report as a call: fits by any loss, with exposure."""

from pathlib import Path

import numpy as np
import pytest
from pyarrow import csv
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import mean_poisson_deviance

from lrisk_cli.api.quantile_report import QuantileResults, run
from lrisk_cli.api.quantile_subjects import ComparedOptions, make_job
from lrisk_cli.design.options import Columns
from lrisk_cli.errors import UsageError
from lrisk_cli.evaluation.options.comparing import ComparedModels, QuantileOutput, RandomSplits
from lrisk_cli.evaluation.options.gates import Gates
from lrisk_cli.evaluation.splits import hold_out
from lrisk_cli.models.options import Penalty, RowLoss
from lrisk_cli.progress import silent
from lrisk_cli.tables.options import Data

CLAIMS = str(Path(__file__).parents[2] / "sample_data/claims.csv")
NUMBERS = ["driver_age", "thousand_km"]
COUNTS = Columns(target="claims", features=tuple(NUMBERS), exposure="years")


FILES = {"model": ("a",), "columns": Columns(), "loss": "auto", "splits": RandomSplits()}
SPLIT = RandomSplits(repeats=1, holdout=0.25)


def report(
    columns: Columns = COUNTS, loss: str = "poisson", splits: RandomSplits = SPLIT, **models
) -> QuantileResults:
    penalty = Penalty(l2=None if models else 0.01)
    options = ComparedOptions(
        columns, ComparedModels(**models), RowLoss(loss=loss), penalty, splits
    )
    job = make_job(Data(data=(CLAIMS,)), options, Gates(), QuantileOutput(), html=None)
    return run(job, silent, force=False)


def test_the_baseline_of_poisson_losses_is_that_of_scikit_learn():
    table = csv.read_csv(CLAIMS)
    test = hold_out(len(table), 0.25, 0)
    train = ~test
    X = np.column_stack([table[name].to_numpy() for name in NUMBERS]).astype(float)
    X = np.column_stack([(X - X[train].mean(axis=0)) / X[train].std(axis=0), np.ones(len(X))])
    y, e = table["claims"].to_numpy(), table["years"].to_numpy()
    alpha = 0.01 * train.sum() / e[train].sum()
    glm = PoissonRegressor(alpha=alpha, fit_intercept=False, solver="newton-cholesky", tol=1e-12)
    glm.fit(X[train], y[train] / e[train], sample_weight=e[train])
    expected = 0.5 * mean_poisson_deviance(y[test], e[test] * glm.predict(X[test]))
    found = report()
    # The fit ends at a proved gap of 1e-6, which leaves about its root to the test rows.
    assert found.comparison.mean == pytest.approx(expected, rel=1e-4)
    assert [each.model.loss for each in found.models] == ["poisson", "poisson"]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({**FILES, "loss": "poisson"}, "loss is for fits made on the spot; with model and"),
        ({**FILES, "columns": Columns(exposure="e")}, "exposure is for fits made on the spot"),
        ({**FILES, "splits": SPLIT}, "holdout is for fits made on the spot"),
        (FILES, "model needs a baseline to be compared with; name a model file"),
        ({"loss": "auto"}, "exposure is not used by loss='auto'; pass loss='poisson'"),
        ({"columns": Columns()}, "nothing to compare; name models with model and baseline"),
    ],
)
def test_impossible_options_are_answered_with_keywords(changes, sentence):
    with pytest.raises(UsageError, match=sentence):
        report(**changes)
