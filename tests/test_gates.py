"""Gates are read as written, and fail exactly when their condition holds."""

import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lrisk_cli.errors import UsageError
from lrisk_cli.gates import Gate, judge, parse_gate

COMPARISONS = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
}
FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(st.sampled_from(sorted(COMPARISONS)), FINITE, FINITE, st.sampled_from(["", " "]))
def test_a_gate_fails_when_its_condition_holds(comparison, value, threshold, space):
    gate = parse_gate(f"rmse{space}{comparison}{space}{threshold!r}")
    assert gate == Gate("rmse", comparison, threshold)
    (verdict,) = judge([gate], {"rmse": value})
    assert verdict.failed == COMPARISONS[comparison](value, threshold)
    assert verdict.value == value


@given(st.sampled_from(sorted(COMPARISONS)), FINITE)
def test_the_spelling_of_a_gate_reads_back(comparison, threshold):
    gate = Gate("superquantile:0.9", comparison, threshold)
    assert parse_gate(str(gate)) == gate


def test_a_figure_that_does_not_exist_fails_its_gate():
    (verdict,) = judge([Gate("r2", "<", 0.5)], {"r2": None})
    assert verdict.failed


def test_verdicts_keep_the_order_of_the_gates():
    gates = [parse_gate("b>1"), parse_gate("a>1"), parse_gate("b<1")]
    verdicts = judge(gates, {"a": 2.0, "b": 3.0})
    assert [verdict.gate for verdict in verdicts] == gates
    assert [verdict.failed for verdict in verdicts] == [True, True, False]


def test_the_metric_is_spelled_by_the_caller():
    assert parse_gate("CVAR:0.90>1", str.lower).metric == "cvar:0.90"


@pytest.mark.parametrize(
    "text",
    ["", "rmse", "rmse>", ">1", "rmse=1", "rmse=>1", "rmse>1>2", "rmse > 1 2", "1", "rmse>one"],
)
def test_what_is_no_condition_is_refused_and_quoted(text):
    with pytest.raises(UsageError) as refusal:
        parse_gate(text)
    assert repr(text) in str(refusal.value)


@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "1e999"])
def test_a_threshold_must_be_finite(number):
    with pytest.raises(UsageError, match="not a number to compare with"):
        parse_gate(f"rmse>{number}")
