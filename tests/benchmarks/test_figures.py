"""The pages of `make paper`: verdicts follow from cases, and page and results give the same."""

import numpy as np
import pytest

from benchmarks.common import pool
from benchmarks.common.claims import (
    ALWAYS,
    GENERALLY,
    OFTEN,
    Case,
    Chapter,
    Claim,
    Says,
    Verdict,
    judge,
    paper_page,
)
from benchmarks.common.pool import Keeper, run_units
from benchmarks.papers.spectral.clusters import EPOCHS, Runs, cloud_run
from benchmarks.papers.spectral.runs import LSVRG, SGD, SRDA, Setting, SolverRun, travel
from benchmarks.papers.spectral.training import falls_tenfold, linear_case, lower_case
from benchmarks.papers.subquantile.bounds import printed_rows, spectrum_bound
from benchmarks.papers.subquantile.rows import GENIE, ROWS
from benchmarks.papers.subquantile.setups import from_rows
from benchmarks.papers.subquantile.tables import COLUMNS, Column, paired
from helpers.pages import check_page
from helpers.problems import small_problem
from lrisk_cli.evaluation.corruption import Planted
from lrisk_cli.features.features import FeatureOptions
from lrisk_cli.losses.registry import make_loss
from lrisk_cli.names import SolverName
from lrisk_cli.reports.html import render
from lrisk_cli.rows.dense import DenseRows

YES, NO, UNCLEAR = Says.AGREES, Says.CONTRADICTS, Says.UNCLEAR


def claim(says: list[Says], needed: float) -> Claim:
    cases = [Case(f"case {i}", each, f"figure {i}") for i, each in enumerate(says)]
    return Claim("2", "words", "rule", cases, needed)


@pytest.mark.parametrize(
    ("says", "needed", "verdict"),
    [
        ([YES] * 4, ALWAYS, Verdict.UPHELD),
        ([YES] * 3 + [NO], ALWAYS, Verdict.REFUTED),
        ([YES] * 3 + [UNCLEAR], ALWAYS, Verdict.UNDECIDED),
        ([YES] * 3 + [NO], GENERALLY, Verdict.UPHELD),
        ([YES] * 2 + [NO] * 2, GENERALLY, Verdict.REFUTED),
        ([YES] * 2 + [NO, UNCLEAR], GENERALLY, Verdict.UNDECIDED),
        ([YES] * 2 + [NO] * 2, OFTEN, Verdict.UPHELD),
        ([YES] + [NO] * 3, OFTEN, Verdict.REFUTED),
        ([], ALWAYS, Verdict.UNDECIDED),
    ],
)
def test_a_verdict_follows_from_the_share_of_cases(says, needed, verdict):
    assert claim(says, needed).verdict is verdict


def test_a_tie_is_unclear():
    assert judge(agrees=1 < 1, contradicts=1 > 1) is UNCLEAR


def test_cases_against_a_claim_come_first_and_are_counted():
    against = claim([YES] * 2 + [UNCLEAR] * 3 + [NO] * 7, GENERALLY)
    assert against.why.startswith("case 5 (contradicts): figure 5; ")
    assert "case 1 " not in against.why
    assert against.why.endswith("and 4 more")
    assert claim([YES] * 2, ALWAYS).why == "case 0 (agrees): figure 0; case 1 (agrees): figure 1"


def test_the_page_and_the_results_give_the_same_verdicts():
    claims = [claim([YES] * 4, ALWAYS), claim([YES] + [NO] * 3, GENERALLY), claim([UNCLEAR], OFTEN)]
    chapters = [
        Chapter("Figure 2", "training", "lead", (), claims[:2]),
        Chapter("Figure 9", "clothes", "lead", (), claims[2:]),
    ]
    page = paper_page("paper", "A paper, measured again", "make paper", chapters, [])
    root = check_page(render(page))
    (table,) = [t for t in root.all("table") if t.attributes["aria-label"] == "Claims of the paper"]
    shown = [[cell.text.replace("\u00a0", " ") for cell in row.all("th", "td")]
             for row in table.all("tr")][1:]  # fmt: skip
    assert shown == [[each.figure, each.words, each.summary] for each in claims]
    verdicts = {row["verdict"] for each in claims for row in each.rows()}
    assert verdicts == {"upheld", "refuted", "undecided"}
    assert page.lead == "1 upheld, 1 refuted, 1 undecided of 3 claims."


def course(values: list[list[float]]) -> SolverRun:
    array = np.array(values)
    epochs = np.arange(float(array.shape[1]))
    return SolverRun("lsvrg", 0.1, epochs, epochs, array, 1.0)


def test_falls_are_told_apart():
    t = np.arange(65.0)
    linear, inverse = course([0.8**t]), course([1.0 / (1.0 + t)])
    assert linear_case(("a", "b"), linear, wanted=True).says is YES
    assert linear_case(("a", "b"), inverse, wanted=True).says is NO
    assert linear_case(("a", "b"), inverse, wanted=False).says is YES
    between = course([np.exp(-0.05 * t)])
    assert linear_case(("a", "b"), between, wanted=True).says is UNCLEAR
    # Steep until five eighths of the epochs, then flat: not linear, however late it stalls.
    stalled = course([np.maximum(0.8**t, 0.8**40)])
    assert linear_case(("a", "b"), stalled, wanted=False).says is YES


def test_the_earlier_rule_takes_a_late_stall_for_a_linear_course():
    t = np.arange(65.0)
    assert falls_tenfold(course([0.8**t]))
    assert falls_tenfold(course([np.maximum(0.8**t, 0.8**48)]))
    assert not falls_tenfold(course([1.0 / (1.0 + t) ** 2]))
    assert falls_tenfold(course([np.full(65, 1e-10)]))


def test_courses_of_clusters_end_where_the_accuracy_settles():
    runs = image_run_of([0.5, 0.9, 0.97, 0.9705, 0.973, 0.97, 0.971, 0.972, 0.972])
    assert (runs.last, runs.arrival) == (0.972, 3)
    assert image_run_of([0.9] * len(EPOCHS)).arrival == 1


def image_run_of(accuracies):
    same = np.array(accuracies)
    return Runs("mean", same, same, same, same, np.zeros((2, 784)))


def test_a_draw_of_clouds_is_followed_to_all_its_figures():
    found = cloud_run(0, "subquantile:0.75")
    assert found.last == 1.0
    assert found.learned[-1] == 1.0
    assert found.centres.shape == (3, 2)
    # Squared distances are exponential with mean 0.2; the mean of the least three quarters of them.
    assert found.test_losses[-1] == pytest.approx(0.2 * (1.0 - np.log(4.0) / 3.0), rel=0.2)
    assert found.learned_losses.shape == found.learned.shape == (len(EPOCHS),)


def test_lower_means_with_every_seed():
    low, high = course([[1.0, 0.1], [1.0, 0.2]]), course([[1.0, 0.3], [1.0, 0.4]])
    mixed = course([[1.0, 0.1], [1.0, 0.5]])
    assert lower_case(("a", "b"), [low, high, high]).says is YES
    assert lower_case(("a", "b"), [high, low, high]).says is NO
    assert lower_case(("a", "b"), [mixed, high, high]).says is UNCLEAR
    assert lower_case(("a", "b"), [low, low, low]).says is NO


@pytest.mark.parametrize("setting", [LSVRG, SGD, SRDA])
def test_a_run_takes_the_papers_budget_and_ends_lower(setting):
    problem = small_problem(n_rows=128)
    found = travel(problem, setting, 1e-2, 1, 8)
    assert found.epochs[-1] == 8.0
    per_epoch = 3 if setting is LSVRG else 1
    assert found.gradients[-1] == 8 * 128 * per_epoch
    assert found.objectives[-1] < found.objectives[0]
    assert travel(problem, setting, 1e3, 1, 8) is None


def test_units_come_back_in_their_order():
    assert run_units("powers", pow, [(2, k) for k in range(5)]) == [1, 2, 4, 8, 16]


def test_units_that_are_kept_are_not_done_again(tmp_path, monkeypatch):
    keeper = Keeper(tmp_path)
    monkeypatch.setattr(pool, "KEEPER", keeper)
    calls = tmp_path / "calls"
    assert run_units("lines", note_call, [(calls, 1), (calls, 2)]) == [1, 2]
    assert run_units("lines", note_call, [(calls, 1), (calls, 2)]) == [1, 2]
    assert len(calls.read_text().split()) == 2
    assert keeper.seconds > 0.0
    assert run_units("lines", note_call, [(calls, 3)]) == [3]
    assert len(calls.read_text().split()) == 3


def note_call(path, value):
    with path.open("a") as file:
        file.write(f"{value}\n")
    return value


def test_epochs_can_be_counted_by_gradients():
    problem = small_problem(n_rows=128)
    setting = Setting(SolverName.LSVRG, 0.25, by_gradients=True)
    found = travel(problem, setting, 1e-2, 1, 9)
    assert found.gradients[-1] == 9 * 128
    assert found.epochs[-1] == 1.5


def test_all_columns_of_the_tables_are_there_with_what_is_printed():
    assert [sum(column.table == k for column in COLUMNS) for k in (1, 2, 3)] == [8, 8, 8]
    assert {name for column in COLUMNS for name in column.printed} <= set(ROWS)
    drug = [column for column in COLUMNS if column.table == 1 and column.data == "drug"]
    assert ["term" in column.printed for column in drug] == [False, False]


def test_paired_errors_decide_by_their_differences():
    column = Column(1, "concrete", "label:0.2", {})
    base = np.arange(10.0)
    of = {"a": base, "b": base + 0.1 + 0.01 * np.sin(base), "c": base + np.cos(7 * base)}
    assert paired(column, of, "a", "b")[0] is YES
    assert paired(column, of, "b", "a")[0] is NO
    assert paired(column, of, "a", "c")[0] is UNCLEAR
    assert paired(column, of, "a", "missing")[0] is UNCLEAR


@pytest.mark.parametrize("classes", [None, 2])
def test_every_row_of_the_tables_learns_a_small_table(classes):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.standard_normal((120, 3)), np.ones(120)])
    y = X @ [1.0, -1.0, 0.5, 0.0] + 0.1 * rng.standard_normal(120)
    mask = np.arange(90) < 18
    targets = (y > 0).astype(np.int32) if classes else y
    spoilt = targets[:90].copy()
    spoilt[mask] = 1 - spoilt[mask] if classes else 9.0
    rows, test = DenseRows(X[:90]), DenseRows(X[90:])
    loss = make_loss("logistic", 2) if classes else make_loss("squared")
    setup = from_rows(
        (rows, targets[:90]), Planted(rows, spoilt, mask), (test, targets[90:]), loss,
        FeatureOptions(), 0.2, 0, 1e6,
    )  # fmt: skip
    for name, row in ROWS.items():
        if classes and name in ("ransac", "crr", "stir", "huber"):
            continue
        fitted = row.fit(setup)
        error = setup.error(*fitted)
        if name == GENIE:
            assert setup.spotted(*fitted) >= (0.9 if classes else 1.0)
        if classes:
            assert error > 0.6, name
        elif name in ("robust", GENIE, "alternating"):
            assert error < 0.2, name


def test_the_printed_condition_is_too_weak_for_its_lemma():
    n = int(np.ceil(printed_rows(1.0)))
    assert n == 117
    assert spectrum_bound(n, 1.0) < 0.0 < spectrum_bound(187, 1.0)
