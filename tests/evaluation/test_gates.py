"""Gates are read as written, and fail exactly when their condition holds."""

import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lrisk_cli.errors import UsageError
from lrisk_cli.evaluation.gates import Gate, Worsening, check_gates, parse_fraction, parse_gate

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
    (result,) = check_gates([gate], {"rmse": value})
    assert result.failed == COMPARISONS[comparison](value, threshold)
    assert result.value == value


@given(st.sampled_from(sorted(COMPARISONS)), FINITE)
def test_the_spelling_of_a_gate_reads_back(comparison, threshold):
    gate = Gate("superquantile:0.9", comparison, threshold)
    assert parse_gate(str(gate)) == gate


def test_a_figure_that_does_not_exist_fails_its_gate():
    (result,) = check_gates([Gate("r2", "<", 0.5)], {"r2": None})
    assert result.failed


def test_results_keep_the_order_of_the_gates():
    gates = [parse_gate("b>1"), parse_gate("a>1"), parse_gate("b<1")]
    gate_results = check_gates(gates, {"a": 2.0, "b": 3.0})
    assert [result.gate for result in gate_results] == gates
    assert [result.failed for result in gate_results] == [True, True, False]


def test_a_figure_that_does_not_exist_fails_and_is_called_undefined():
    (result,) = check_gates([parse_gate("r2<0.5")], {"r2": None})
    assert result.failed
    assert result.sentence.startswith("r2 is not defined, so ")
    assert result.sentence.endswith("r2<0.5 cannot be evaluated")


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


SHARES = st.floats(0.0, 2.0)


@pytest.mark.parametrize(("metric", "sign"), [("superquantile:0.9", 1), ("rmse", 1), ("r2", -1)])
@given(st.floats(-1e6, 1e6, allow_subnormal=False), SHARES, SHARES)
def test_a_figure_fails_when_it_is_worse_by_more_than_the_share(metric, sign, stored, share, other):
    value = stored + sign * other * abs(stored)
    (result,) = check_gates([Worsening(metric, stored, share, "old.json")], {metric: value})
    if abs(share - other) > 1e-9:
        assert result.failed == (other > share and abs(stored) * (other - share) > 0.0)


def test_a_stored_figure_of_zero_leaves_no_room():
    gate = Worsening("missing_fraction", 0.0, 0.5, "old.json")
    assert [
        v.failed for x in (0.0, 1e-9) for v in check_gates([gate], {"missing_fraction": x})
    ] == [
        False,
        True,
    ]


@pytest.mark.parametrize(("text", "share"), [("10%", 0.1), (" 0.25 ", 0.25), ("0", 0.0)])
def test_a_share_is_read_with_and_without_percent(text, share):
    assert parse_fraction(text) == share


@pytest.mark.parametrize("text", ["", "%", "-1%", "inf", "ten", "10%%", "10 percent"])
def test_what_is_no_share_is_refused_and_quoted(text):
    with pytest.raises(UsageError) as refusal:
        parse_fraction(text)
    assert repr(text) in str(refusal.value)


def test_a_gate_that_warns_does_not_fail():
    gate = parse_gate("rmse>1", warns=True)
    (result,) = check_gates([gate], {"rmse": 2.0})
    assert (result.failed, result.warned) == (False, True)


@pytest.mark.parametrize(
    "number", ["1_0", "\uff11", "0x1", "1,5", "10%", "1e999", "nan", ">0", "1 2"]
)
def test_what_only_python_or_nobody_takes_for_a_number_is_refused(number):
    with pytest.raises(UsageError, match="is not a"):
        parse_gate(f"rmse>{number}")


@pytest.mark.parametrize("text", ["10", "1.5", "\u0663", "1_0%", "-0.1", "% 10", ""])
def test_a_share_that_may_be_a_slip_is_refused(text):
    with pytest.raises(UsageError, match="max_worsening"):
        parse_fraction(text)
