"""`lrisk compare`: risks and rivals on rows they have not seen."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.metrics import average_precision_score

from helpers.house_prices import add_house_files, house_columns
from helpers.program import document, lrisk, refusal
from lrisk_cli.evaluation.comparison import average_precision, top_fraction
from lrisk_cli.evaluation.splits import folds, hold_out

NUMBERS = ("--features", "area,rooms")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return add_house_files(tmp_path_factory.mktemp("compare"))


def compared(folder, *arguments: str) -> dict[str, dict]:
    """The methods of `lrisk compare houses.csv ARGUMENTS --json`, by name."""
    run = lrisk(folder, "compare", "houses.csv", *arguments, "--json", "--quiet")
    return {each["method"]: each for each in document(run)["methods"]}


def ridge_rmse(test: np.ndarray) -> float:
    """Ridge on standardised area and rooms, penalty as lrisk's default; a constant feature."""
    columns = house_columns()
    X = np.column_stack([columns["area"], columns["rooms"]]).astype(float)
    y, train = columns["price"], ~test
    mean, scale = X[train].mean(axis=0), X[train].std(axis=0)
    X = np.column_stack([(X - mean) / scale, np.ones(len(y))])
    centre, spread = y[train].mean(), y[train].std()
    ridge = Ridge(alpha=1.0, fit_intercept=False).fit(X[train], (y[train] - centre) / spread)
    errors = y[test] - (centre + spread * ridge.predict(X[test]))
    return float(np.sqrt(np.mean(errors**2)))


def test_the_mean_is_ridge_regression_fold_by_fold(folder):
    (only,) = compared(
        folder, "--target", "price", *NUMBERS, "--risk", "mean", "--rival", "none"
    ).values()
    fold_of = folds(300, 5, 0)
    expected = [ridge_rmse(fold_of == fold) for fold in range(5)]
    assert only["figures"]["rmse"] == pytest.approx(np.mean(expected), rel=1e-6)
    assert only["deviations"]["rmse"] == pytest.approx(np.std(expected, ddof=1), rel=1e-5)


def test_repeated_hold_outs_follow_the_seed(folder):
    flags = ("--target", "price", *NUMBERS, "--risk", "mean", "--rival", "none")
    both = compared(folder, *flags, "--holdout", "0.2", "--repeats", "2", "--seed", "3")
    expected = [ridge_rmse(hold_out(300, 0.2, seed)) for seed in (3, 4)]
    assert both["mean"]["figures"]["rmse"] == pytest.approx(np.mean(expected), rel=1e-6)


def test_corruption_spoils_the_mean_and_not_the_oracle_or_the_robust(folder):
    methods = compared(
        folder, "--target", "price", *NUMBERS, "--risk", "mean", "--rival", "trimmed-ml",
        "--rival", "crr", "--corrupt", "label:0.3",
    )  # fmt: skip
    clean = compared(folder, "--target", "price", *NUMBERS, "--risk", "mean", "--rival", "none")
    best = clean["mean"]["figures"]["rmse"]
    rmse = {name: each["figures"]["rmse"] for name, each in methods.items()}
    assert rmse["mean"] > 2.0 * best
    assert max(rmse["oracle"], rmse["trimmed-ml"], rmse["crr"]) < 1.1 * best
    assert methods["oracle"]["figures"]["found_precision"] > 0.9
    assert (
        methods["trimmed-ml"]["figures"]["found_precision"]
        > methods["mean"]["figures"]["found_precision"]
    )


def test_every_rival_takes_part_unless_some_are_named(folder):
    flags = ("--target", "price", *NUMBERS, "--risk", "mean", "--holdout", "0.3")
    everyone = compared(folder, *flags)
    assert {"term", "sever", "ransac", "svm", "huber", "crr", "stir"} < set(everyone)
    named = compared(folder, *flags, "--rival", "term:-0.5", "--rival", "term:-3")
    assert list(named) == ["mean", "term:-0.5", "term:-3"]


def test_classes_are_compared_too(folder):
    methods = compared(
        folder, "--target", "sold", "--features", "area,rooms,color", "--corrupt", "flip:0.2",
        "--rival", "sever", "--holdout", "0.3",
    )  # fmt: skip
    assert all(0.5 < each["figures"]["accuracy"] <= 1.0 for each in methods.values())
    assert "crr" not in methods


def test_a_test_table_judges_in_place_of_splits(folder):
    methods = compared(
        folder, "--target", "price", *NUMBERS, "--risk", "mean", "--rival", "crr", "--test",
        "houses.csv",
    )  # fmt: skip
    run = lrisk(
        folder, "fit", "houses.csv", "--target", "price", *NUMBERS, "--risk", "mean", "--json"
    )
    training = document(run)["training"]
    assert methods["mean"]["figures"]["rmse"] == pytest.approx(training["rmse"], rel=1e-12)


def test_the_same_question_gets_the_same_answer(folder):
    flags = ("--target", "price", *NUMBERS, "--corrupt", "label+feature:0.2", "--holdout", "0.3")
    first, second = compared(folder, *flags), compared(folder, *flags)
    for name, each in first.items():
        each["figures"].pop("seconds")
        second[name]["figures"].pop("seconds")
        assert each["figures"] == second[name]["figures"]


def test_the_table_is_printed_for_people(folder):
    run = lrisk(
        folder,
        "compare",
        "houses.csv",
        "--target",
        "price",
        *NUMBERS,
        "--rival",
        "huber",
        "--quiet",
    )
    assert run.returncode == 0
    assert "5 folds in turn" in run.stdout
    lines = run.stdout.splitlines()
    # A table that is wider than 80 columns goes on below, under the same names.
    heads = [name for line in lines if line.startswith("method") for name in line.split()[1:]]
    assert heads == ["mean", "rmse", "superquantile:0.9", "max", "seconds"]
    assert any(line.startswith("huber ") for line in lines)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--rival", "hubr"), "did you mean huber?"),
        (("--rival", "crr", "--rival", "crr"), "named twice"),
        (("--corrupt", "label:0.7"), "between 0 and 0.5"),
        (("--corrupt", "flip:0.2"), "the target is a number"),
        (("--contamination", "0.5"), "--contamination"),
        (("--cv", "5", "--holdout", "0.2"), "pass one of them"),
        (("--repeats", "3"), "add --holdout"),
        (("--risk", "subquantile:1.8"), "subquantile"),
    ],
)
def test_impossible_questions_get_a_sentence(folder, flags, words):
    run = lrisk(folder, "compare", "houses.csv", "--target", "price", *NUMBERS, *flags, "--quiet")
    assert words in refusal(run, 2)


def test_a_rival_that_cannot_learn_the_target_is_refused(folder):
    run = lrisk(folder, "compare", "houses.csv", "--target", "sold", "--rival", "crr", "--quiet")
    assert "crr does not learn classification" in refusal(run, 2)


@pytest.mark.parametrize("seed", range(5))
def test_average_precision_is_that_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    scores, mask = rng.integers(0, 20, 60).astype(float), rng.random(60) < 0.3
    assert average_precision(scores, mask) == pytest.approx(average_precision_score(mask, scores))


def test_top_share_counts_planted_rows_at_the_top():
    mask = np.array([True, False, True, False])
    assert top_fraction(np.array([4.0, 3.0, 2.0, 1.0]), mask) == 0.5
    assert top_fraction(np.array([4.0, 1.0, 2.0, 1.0]), mask) == 1.0


def test_a_solver_is_used_for_all_risks_it_minimises_and_not_for_the_oracle(folder):
    flags = ("--target", "price", *NUMBERS, "--rival", "none", "--holdout", "0.3")
    assert list(compared(folder, *flags, "--solver", "trimmed")) == ["mean", "subquantile:0.9"]
    assert "subquantile:0.9" not in compared(folder, *flags, "--solver", "newton")
    planted = ("--corrupt", "label:0.2", "--risk", "mean")
    usual = compared(folder, *flags, *planted)
    short = compared(folder, *flags, *planted, "--solver", "sgd", "--max-passes", "1")
    assert short["mean"]["figures"]["rmse"] != usual["mean"]["figures"]["rmse"]
    assert short["oracle"]["figures"]["rmse"] == usual["oracle"]["figures"]["rmse"]


def test_compare_refuses_what_the_solver_does_not_take(folder):
    flags = ("compare", "houses.csv", "--target", "price", *NUMBERS, "--risk", "subquantile:0.9")
    assert "needs a convex risk" in refusal(lrisk(folder, *flags, "--solver", "newton"), 2)
    assert "--momentum is not used by" in refusal(lrisk(folder, *flags, "--momentum", "0.5"), 2)
    assert "pass softplus" in refusal(lrisk(folder, *flags, "--smoothing", "l2"), 2)
