"""What all rivals promise, whatever their method: names, shapes, repeatable fits, sentences."""

import sys

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from helpers.docs import markdown_table
from helpers.losses import EVERY_LOSS, id_of
from helpers.problems import small_problem
from lrisk_cli.baselines import erm
from lrisk_cli.baselines.common import BaselineFit
from lrisk_cli.baselines.registry import (
    FAMILIES,
    Baseline,
    check_baseline,
    fit_baseline,
    parse_baseline,
    usual_baselines,
)
from lrisk_cli.errors import DataError, UsageError
from lrisk_cli.losses.registry import ENTRIES, make_loss
from lrisk_cli.parameters import spell, spell_number
from lrisk_cli.rows.dense import DenseRows

TASKS = {"numbers": 0, "two classes": 2, "four classes": 4}
CASES = [
    (name, task)
    for name, family in FAMILIES.items()
    for task in TASKS
    if task == "numbers" or family.scope.holds(make_loss("logistic", TASKS[task]))
]
ROBUST = [name for name in FAMILIES if name not in ("erm", "svm")]
N_ROWS, N_BAD = 300, 60


def contaminated(n_classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gaussian rows, the first 60 of 300 with a wrong target, and the truth."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.standard_normal((N_ROWS, 4)), np.ones(N_ROWS)])
    if n_classes == 0:
        truth = X @ rng.standard_normal(5) + 0.1 * rng.standard_normal(N_ROWS)
        y = truth.copy()
        y[:N_BAD] = rng.normal(5.0, 5.0, N_BAD)
    else:
        truth = np.argmax(X @ rng.standard_normal((5, n_classes)), axis=1).astype(np.int32)
        y = truth.copy()
        y[:N_BAD] = (y[:N_BAD] + 1) % n_classes
    return X, y, truth


def fit(name: str, task: str, *, eps: float = 0.2, seed: int = 0, mu: float = 1e-3) -> BaselineFit:
    X, y, _ = contaminated(TASKS[task])
    loss = make_loss("logistic" if TASKS[task] else "squared", TASKS[task])
    return fit_baseline(parse_baseline(name), DenseRows(X), y, loss, mu, eps=eps, seed=seed)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_rival_is_read_and_spelled(name):
    assert parse_baseline(f" {name.upper()} ") == Baseline(name)
    assert str(parse_baseline(name)) == name


@pytest.mark.parametrize(
    ("name", "parameter"),
    [(name, family.parameter) for name, family in FAMILIES.items() if family.parameter],
)
def test_a_parameter_is_read_and_spelled(name, parameter):
    text = spell(name, parameter.example)
    assert parse_baseline(text) == Baseline(name, parameter.example)
    assert str(parse_baseline(text)) == text
    assert parameter.default is not None, "a rival's name alone must do"


def test_the_manual_lists_exactly_the_rivals_and_their_defaults():
    rows = markdown_table("docs/compare.md", "rival")
    assert [row[0].strip("`") for row in rows] == list(FAMILIES)
    for name, _, number, losses in rows:
        scope = FAMILIES[name.strip("`")].scope
        able = dict.fromkeys(loss.name.split(":")[0] for loss in EVERY_LOSS if scope.holds(loss))
        assert losses == (", ".join(able) if len(able) < len(ENTRIES) else "any")
        parameter = FAMILIES[name.strip("`")].parameter
        assert bool(number) == (parameter is not None)
        if parameter is not None:
            assert number.endswith(parameter.shown or spell_number(parameter.default))


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("sevre", "did you mean sever"),
        ("lasso", "known rivals: erm, term"),
        ("erm:2", "erm takes no parameter; got 'erm:2', write erm"),
        ("term:cold", "term tilt must be a number, for example term:-2; got 'cold'"),
        ("term:0", "a number other than 0; got 0"),
        ("term:inf", "a number other than 0; got inf"),
        ("sever:2.5", "a whole number, at least 1; got 2.5"),
        ("ransac:0", "a whole number, at least 1; got 0"),
        ("huber:1", "huber epsilon must be greater than 1"),
        ("stir:0.5", "stir eta must be greater than 1"),
        ("trimmed-ml:0", "trimmed-ml factor must be greater than 0"),
    ],
)
def test_a_wrong_rival_is_answered_with_a_remedy(text, finding):
    with pytest.raises(UsageError, match=finding):
        parse_baseline(text)


@pytest.mark.parametrize("name", ["huber", "crr", "stir"])
def test_methods_for_numbers_refuse_classes(name):
    check_baseline(Baseline(name), make_loss("squared"))
    with pytest.raises(UsageError, match=f"{name} does not learn classification; .* erm, term"):
        fit(name, "two classes")


@pytest.mark.parametrize("loss", EVERY_LOSS, ids=id_of)
@pytest.mark.parametrize("name", FAMILIES)
def test_a_rival_fits_the_losses_that_it_declares_and_refuses_others(name, loss):
    problem = small_problem(loss.name, "mean", n_classes=max(loss.n_outputs, 2))
    arguments = Baseline(name), problem.rows, problem.y, problem.loss, problem.mu
    if FAMILIES[name].scope.holds(loss):
        found = fit_baseline(*arguments, eps=0.1)
        at_zero = loss.values(np.zeros((problem.n_rows, loss.n_outputs)), problem.y).mean()
        assert loss.values(problem.margins(found.W), problem.y).mean() < at_zero
    else:
        with pytest.raises(UsageError, match=f"{name} does not learn .*; leave it out, or choose"):
            fit_baseline(*arguments, eps=0.1)


@pytest.mark.parametrize("loss", EVERY_LOSS, ids=id_of)
def test_the_usual_rivals_are_those_that_fit_the_loss(loss):
    taken, others = usual_baselines(loss)
    for rival in taken:
        check_baseline(rival, loss)
    assert {"erm", *(rival.name for rival in taken), *others} == set(FAMILIES)
    for name in others:
        with pytest.raises(UsageError):
            check_baseline(Baseline(name), loss)


def test_a_loss_that_is_not_the_usual_one_is_named_in_the_refusal():
    with pytest.raises(UsageError, match=r"svm does not learn poisson losses; .* erm, term,"):
        check_baseline(Baseline("svm"), make_loss("poisson"))


@pytest.mark.parametrize("eps", [-0.1, 0.5, np.nan])
def test_an_impossible_fraction_is_refused(eps):
    with pytest.raises(UsageError, match=r"below 0\.5"):
        fit("crr", "numbers", eps=eps)


@pytest.mark.parametrize(("name", "task"), [("ransac", "numbers"), ("svm", "two classes")])
def test_without_scikit_learn_the_remedy_is_named(name, task, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(UsageError, match=rf"{name} .* pip install 'lrisk-cli\[sklearn\]'"):
        fit(name, task)


@pytest.mark.parametrize(("name", "task"), CASES)
def test_a_fit_has_weights_scores_and_a_note_and_leaves_its_rows_alone(name, task):
    X, y, _ = contaminated(TASKS[task])
    X_before, y_before = X.copy(), y.copy()
    loss = make_loss("logistic" if TASKS[task] else "squared", TASKS[task])
    found = fit_baseline(parse_baseline(name), DenseRows(X), y, loss, 1e-3, eps=0.2)
    np.testing.assert_array_equal(X, X_before)
    np.testing.assert_array_equal(y, y_before)
    assert found.W.shape == (5, loss.n_outputs)
    assert np.isfinite(found.W).all()
    assert found.scores.shape == (N_ROWS,)
    assert np.isfinite(found.scores).all()
    assert found.note
    if found.weights is not None:
        assert found.weights.min() >= 0.0
        assert found.weights.sum() == pytest.approx(1.0)


@pytest.mark.parametrize(("name", "task"), CASES)
def test_the_same_seed_gives_the_same_fit(name, task):
    one, two = fit(name, task, seed=5), fit(name, task, seed=5)
    np.testing.assert_array_equal(one.W, two.W)
    np.testing.assert_array_equal(one.scores, two.scores)
    assert one.note == two.note


def test_linear_algebra_keeps_to_one_thread(monkeypatch):
    seen, plain = [], erm.fit

    def watch(problem, setting):
        seen.extend(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
        return plain(problem, setting)

    monkeypatch.setattr(erm, "fit", watch)
    with threadpool_limits(2):
        fit("erm", "numbers")
    assert set(seen) == {1}


@pytest.mark.parametrize("name", ROBUST)
def test_robust_rivals_predict_better_than_the_mean(name):
    X, _, truth = contaminated(0)
    errors = [np.abs(X @ fit(rival, "numbers").W[:, 0] - truth)[N_BAD:] for rival in (name, "erm")]
    assert np.sqrt(np.mean(errors[0] ** 2)) < 0.2
    assert np.sqrt(np.mean(errors[1] ** 2)) > 0.8


@pytest.mark.parametrize("name", ["term", "trimmed-ml"])
@pytest.mark.parametrize("task", ["two classes", "four classes"])
def test_robust_rivals_classify_better_than_the_mean(name, task):
    X, _, truth = contaminated(TASKS[task])

    def accuracy(rival: str) -> float:
        Z = X @ fit(rival, task).W
        predicted = Z[:, 0] > 0.0 if Z.shape[1] == 1 else np.argmax(Z, axis=1)
        return float(np.mean(predicted == truth))

    assert accuracy(name) > accuracy("erm") + 0.03


@pytest.mark.parametrize("name", ["term", "huber", "crr", "stir", "trimmed-ml", "ransac", "svm"])
def test_planted_rows_head_the_ranking(name):
    scores = fit(name, "numbers").scores
    # A few draws from N(5, 25) happen to fall on the line.
    assert np.count_nonzero(np.argsort(-scores)[:N_BAD] < N_BAD) >= 55


@pytest.mark.parametrize("name", ["sever", "crr", "trimmed-ml"])
def test_nothing_to_remove_leaves_the_mean(name):
    found = fit(name, "numbers", eps=0.0)
    np.testing.assert_allclose(found.W, fit("erm", "numbers").W, rtol=1e-9)


def test_support_vectors_need_two_classes():
    X, y, _ = contaminated(2)
    with pytest.raises(DataError, match="one class only"):
        fit_baseline(
            Baseline("svm"), DenseRows(X), np.zeros_like(y), make_loss("logistic", 2), 1e-3, eps=0.1
        )


def test_a_class_without_rows_is_never_the_support_vectors_answer():
    X, y, _ = contaminated(2)
    loss = make_loss("logistic", 4)
    for codes in (2 * y, np.where(np.arange(N_ROWS) % 5, 2 * y, 3).astype(np.int32)):
        W = fit_baseline(Baseline("svm"), DenseRows(X), codes, loss, 1e-3, eps=0.1).W
        predicted = np.argmax(X @ W, axis=1)
        assert not np.any(predicted == 1)
        # A fifth of the labels are wrong, and in the second case another fifth tell nothing.
        assert np.mean(predicted == codes) > 0.55
