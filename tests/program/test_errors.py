"""Sentences name options as the user of the interface writes them."""

from lrisk_cli.errors import ExitCode, InvalidOption, UsageError, opt, options_spelled


def test_the_library_names_options_by_their_keywords():
    assert opt("max_passes") == "max_passes"
    assert opt("rank", 31) == "rank=31"
    assert opt("missing", "drop") == "missing='drop'"
    assert opt("intercept", False) == "intercept=False"


def test_an_invalid_option_is_a_usage_error_that_names_it():
    error = InvalidOption("l2", "must be greater than 0")
    assert isinstance(error, UsageError)
    assert (error.exit_code, error.option) == (ExitCode.USAGE, "l2")
    assert str(error) == "l2 must be greater than 0"
    assert str(InvalidOption("by", ": too many values", "id")) == "by='id': too many values"


def test_an_interface_spells_options_in_its_own_way_while_it_runs():
    with options_spelled(lambda name, value: f"<{name} {value}>"):
        assert str(InvalidOption("l2", f"needs {opt('cv', 5)}")) == "<l2 None> needs <cv 5>"
    assert opt("l2") == "l2"
