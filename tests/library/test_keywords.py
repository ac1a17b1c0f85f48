"""The keywords of a function are the options of its command."""

import inspect
from importlib import import_module

import pytest

import lrisk_cli
from lrisk_cli.commands.options.declared import declared_options
from lrisk_cli.library import functions

# Options of the command line that are about printing, and what a function names otherwise.
OF_PROGRAM = {
    "json", "quiet", "progress", "color", "verbose", "dry_run", "github", "spreadsheet_safe",
}  # fmt: skip
COMMANDS = {
    "fit": functions.FIT,
    "predict": functions.PREDICT,
    "evaluate": functions.EVALUATE,
    "detect_outliers": functions.DETECT,
    "cluster": functions.CLUSTER,
    "compare": functions.COMPARE,
    "quantile_report": functions.QUANTILES,
    "columns": functions.COLUMNS,
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_function_takes_the_options_of_its_command(name):
    command = getattr(import_module(f"lrisk_cli.commands.{name}"), name)
    options = {each.field for each in declared_options(command)} - OF_PROGRAM
    assert set(COMMANDS[name].known) - OF_PROGRAM == options


@pytest.mark.parametrize("name", COMMANDS)
def test_help_lists_every_keyword(name):
    function = getattr(lrisk_cli, name)
    parameters = inspect.signature(function).parameters
    assert set(parameters) == set(COMMANDS[name].known)
    documented = inspect.getdoc(function)
    for each in parameters.values():
        if each.kind is each.KEYWORD_ONLY:
            assert f"\n{each.name}: " in documented


def test_all_public_names_exist():
    assert set(lrisk_cli.__all__) <= set(dir(lrisk_cli))
    for name in lrisk_cli.__all__:
        assert getattr(lrisk_cli, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = lrisk_cli.nothing
