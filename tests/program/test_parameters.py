"""Names with a parameter: every table of them is read by one parser, in one way."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lrisk_cli.baselines.registry import FAMILIES
from lrisk_cli.errors import UsageError
from lrisk_cli.names import RISKS
from lrisk_cli.parameters import Choice, Parameter, parse_choice, spell, spell_number

TABLES: dict[str, Mapping[str, Choice]] = {"risk": RISKS, "rival": FAMILIES}
ENTRIES = [(kind, name) for kind, table in TABLES.items() for name in table]
PARAMETERS = [each for each in ENTRIES if TABLES[each[0]][each[1]].parameter is not None]
LEVEL = Parameter("Q", "level", "in [0, 1)", lambda q: 0.0 <= q < 1.0, 0.5)
KNOWN = {
    "plain": Choice("no parameter"),
    "level": Choice("a parameter that must be given", LEVEL),
    "rounds": Choice("one that may", Parameter("N", "count", "at least 1", bool, 3.0, 2.0)),
}


@pytest.mark.parametrize(("kind", "name"), ENTRIES)
def test_a_slip_in_a_name_is_answered_with_the_nearest(kind, name):
    slip = name[:-1] + "_" + name[-1]
    with pytest.raises(UsageError, match=rf"unknown {kind} '{slip}'; did you mean "):
        parse_choice(slip, kind, TABLES[kind])


@pytest.mark.parametrize(("kind", "name"), PARAMETERS)
def test_examples_and_defaults_are_allowed_and_others_are_refused_with_the_range(kind, name):
    parameter = TABLES[kind][name].parameter
    assert parameter.accepts(parameter.example)
    assert parse_choice(spell(name, parameter.example), kind, TABLES[kind])[1] == parameter.example
    for number in ("nan", "inf", "-inf"):
        with pytest.raises(UsageError) as refusal:
            parse_choice(f"{name}:{number}", kind, TABLES[kind])
        assert parameter.range in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("zzz", "unknown thing 'zzz'; known things: plain, level:Q, rounds"),
        ("plain:1", "plain takes no parameter; got 'plain:1', write plain"),
        ("level", "level needs its level, for example level:0.5"),
        ("level:", "level needs its level, for example level:0.5"),
        ("level:x", "level level must be a number, for example level:0.5; got 'x'"),
        ("Level:2", "level level must be in [0, 1); got 2"),
    ],
)
def test_a_wrong_text_is_answered_with_a_sentence(text, sentence):
    with pytest.raises(UsageError) as refusal:
        parse_choice(text, "thing", KNOWN)
    assert str(refusal.value) == sentence


def test_case_blanks_aliases_and_defaults():
    assert parse_choice(" LEVEL:.25 ", "thing", KNOWN) == ("level", 0.25)
    assert parse_choice("tier:0", "thing", KNOWN, {"tier": "level"}) == ("level", 0.0)
    assert parse_choice("rounds", "thing", KNOWN) == ("rounds", None)
    assert str(KNOWN["rounds"]) == "N at least 1 (default 2): one that may"


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_are_spelled_so_that_they_read_back(value):
    assert float(spell_number(value)) == value


@pytest.mark.parametrize(("value", "text"), [(0.9, "0.9"), (2.0, "2"), (1e6, "1e+06"), (-2, "-2")])
def test_short_numbers_keep_their_short_spelling(value, text):
    assert spell_number(value) == text
