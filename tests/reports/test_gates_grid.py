"""Gates as a table: what each figure is, what it was, and what is allowed."""

import pytest

from lrisk_cli.colours import Style, Styled
from lrisk_cli.evaluation.gates import Gate, Worsening, check_gates
from lrisk_cli.evaluation.metric import Better
from lrisk_cli.reports.figure_facts import better_marked
from lrisk_cli.reports.gates import gates_grid

FIGURES = {"mae": 2.000000001, "r2": 0.7, "bias": -0.3, "n_rows": 600.0}


@pytest.mark.parametrize(
    ("comparison", "allowed"),
    [(">", "at most 5"), (">=", "below 5"), ("<", "at least 5"), ("<=", "above 5"),
     ("==", "not 5"), ("!=", "only 5")],
)  # fmt: skip
def test_what_is_allowed_is_what_the_condition_leaves(comparison, allowed):
    (result,) = check_gates([Gate("mae", comparison, 5.0)], FIGURES)
    (row,) = gates_grid([result]).rows
    assert row[-1] == allowed


def test_a_figure_is_rounded_unless_it_would_look_like_its_limit():
    gates = [Gate("mae", ">", 2.0), Gate("r2", "<", 1 / 3)]
    rows = gates_grid(check_gates(gates, FIGURES)).rows
    assert rows == [
        ["mae", "FAILED", "2.000000001", "at most 2"],
        ["r2", "passed", "0.7", "at least 0.333333"],
    ]


def test_gates_on_stored_figures_show_what_they_were():
    gates = [
        Worsening("r2", 0.8, 0.1, "stored.json"), Worsening("bias", 0.2, 0.1, "stored.json"),
        Gate("n_rows", "<", 1000.0, warns=True),
    ]  # fmt: skip
    grid = gates_grid(check_gates(gates, FIGURES), ["a", "a", None])
    assert grid.heads == ["gate", "result", "is", "was", "allowed", "model"]
    assert grid.rows == [
        ["r2", "FAILED", "0.7", "0.8", "at least 0.72", "a"],
        ["bias", "FAILED", "-0.3", "0.2", "-0.22 to 0.22", "a"],
        ["n_rows", "warned", "600", "", "at least 1000", ""],
    ]
    assert [row[1].style for row in grid.rows] == [Style.FAILED, Style.FAILED, Style.WARNING]


@pytest.mark.parametrize(
    ("better", "values", "best"),
    [
        (Better.SMALLER, [1.0, 2.0], 0), (Better.LARGER, [1.0, 2.0], 1),
        (Better.NEARER_ZERO, [-0.1, 0.2], 0), (Better.NEITHER, [1.0, 2.0], None),
        (Better.SMALLER, [None, 2.0], None), (Better.SMALLER, [1.0, 1.0 + 1e-12], None),
        (Better.SMALLER, [3.0, None, 2.0], 2),
    ],
)  # fmt: skip
def test_the_better_figure_stands_out_unless_it_looks_the_same(better, values, best):
    texts = ["none" if value is None else f"{value:.6g}" for value in values]
    marked = better_marked(better, values, texts)
    assert marked == texts
    assert [isinstance(text, Styled) for text in marked] == [k == best for k in range(len(values))]
