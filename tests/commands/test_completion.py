"""Completion scripts, sourced in the shells that they are for; manual pages, read by man."""

import re
import shutil
import subprocess
from enum import StrEnum

import pytest
import typer

from helpers.docs import markdown_table
from lrisk_cli.cli import COMMANDS, app, run
from lrisk_cli.commands.configuring import command_function
from lrisk_cli.commands.man_pages import EXITS
from lrisk_cli.commands.options.declared import declared_options
from lrisk_cli.commands.shell_words import OF_FILES, _known_words
from lrisk_cli.names import RISKS, Missing, Shell

# Placeholders of values that no list can hold.
FREE = {
    "A,B", "A,B=KIND", "A,B=ORDER", "CHARACTER", "COLUMN", "CONDITION", "FOLDS", "FRACTION",
    "HEIGHTxWIDTH", "K|A..B", "LEVEL", "M", "MARK", "MU", "MU[,MU...]", "N", "NUMBER", "P", "P,P",
    "NAME", "SECONDS", "SIZE", "TABLE",
}  # fmt: skip


def needs(program: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"NO {program.upper()} HERE")


@pytest.fixture(name="scripts", scope="module")
def completion_scripts(tmp_path_factory) -> dict[str, str]:
    """The path of the script of each shell."""
    folder = tmp_path_factory.mktemp("scripts")
    return {shell: script(folder, shell) for shell in Shell}


def script(folder, shell: str) -> str:
    from contextlib import redirect_stdout

    path = folder / shell
    with path.open("w") as file, redirect_stdout(file):
        assert run(["completion", shell]) == 0
    return str(path)


BASH = """
source "$1"
COMP_WORDBREAKS=$' \\t\\n"\\'><=;|&(:'
shift
for line in "$@"; do
    COMP_LINE=$line COMP_POINT=${#line} COMPREPLY=()
    _lrisk 2> /dev/null
    echo "${COMPREPLY[*]}"
done
"""
FISH = "source $argv[1]; for line in $argv[2..-1]; echo (complete -C $line | cut -f 1); end"
# What was typed, and what is offered.
LINES = {
    "lrisk pre": {"predict"},
    "lrisk fit d.csv --miss": {"--missing"},
    "lrisk fit --missing ": set(Missing),
    "lrisk fit --risk su": {"superquantile:", "subquantile:"},
    "lrisk fit -q --risk me": {"mean"},
    "lrisk evaluate m.json d.csv --color a": {"auto", "always"},
    "lrisk config qu": {"quantile-report"},
    "lrisk completion z": {"zsh"},
    "lrisk man co": {"columns", "compare", "completion", "config"},
    "lrisk compare --rival te": {"term"},
}


@pytest.mark.parametrize(
    ("shell", "program"),
    [
        pytest.param("bash", ["bash", "--norc", "-c", BASH, "bash"], marks=needs("bash")),
        pytest.param("fish", ["fish", "--no-config", "-c", FISH], marks=needs("fish")),
    ],
)
def test_a_shell_completes_commands_options_and_their_words(scripts, shell, program, tmp_path):
    command = [*program, scripts[shell], *LINES]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, cwd=tmp_path)
    offered = [set(line.split()) for line in done.stdout.splitlines()]
    assert dict(zip(LINES, offered, strict=True)) == LINES, done.stderr


@needs("bash")
def test_bash_completes_within_lists_and_joined_words(scripts, tmp_path):
    lines = {
        "lrisk fit --risk mean,ex": "mean,extremile:",
        "lrisk fit --risk=ex": "extremile:",
        "lrisk fit d": "", "lrisk fit --target ": "", "lrisk fit --risk superquantile:": "",
    }  # fmt: skip
    command = ["bash", "--norc", "-c", BASH, "bash", scripts["bash"], *lines]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, cwd=tmp_path)
    assert dict(zip(lines, done.stdout.splitlines(), strict=True)) == lines


ZSH = """
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'PS1=; unset zle_bracketed_paste; autoload -U compinit; compinit -u -D; source '$1'
    bindkey "^I" list-choices; echo READ""Y'
zpty -r shell out '*READY*'
zpty -w -n shell 'lrisk fit --missing '$'\\t'
zpty -r shell out '*impute*'
print -r -- $out
"""


@needs("zsh")
def test_zsh_completes_the_words_of_an_option(scripts, tmp_path):
    checked = subprocess.run(["zsh", "-n", scripts["zsh"]], capture_output=True, text=True)
    assert (checked.returncode, checked.stderr) == (0, "")
    command = ["zsh", "-f", "-c", ZSH, "zsh", scripts["zsh"]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, cwd=tmp_path)
    assert all(word in done.stdout for word in Missing)
    assert "-default-" not in done.stdout


@pytest.mark.parametrize("shell", Shell)
def test_a_script_names_every_flag_of_every_command(scripts, shell):
    with open(scripts[shell]) as file:
        text = file.read()
    for name in COMMANDS:
        assert re.search(rf"\b{name}\b", text)
        for each in declared_options(command_function(name)):
            if not each.option.positional:
                long = f"-l {each.key} " if shell == "fish" else f"--{each.key}"
                assert long in text


def test_every_placeholder_is_known_to_be_words_files_or_free_text():
    shown = {
        each.option.metavar
        for name in COMMANDS
        for each in declared_options(command_function(name))
        if each.option.metavar and not each.option.positional and not issubclass(each.kind, StrEnum)
    }
    alternatives = {name for name in shown if any(part.islower() for part in name.split("|"))}
    assert shown - alternatives <= {*FREE, *OF_FILES, *_known_words()}


def test_risks_that_need_a_parameter_end_with_a_colon():
    words = _known_words()["RISK"]
    assert [word.rstrip(":") for word in words] == list(RISKS)
    assert [word for word in words if not word.endswith(":")] == ["mean"]


def test_an_unknown_shell_is_a_usage_error(capsys):
    assert run(["completion", "tcsh"]) == 2
    assert "'tcsh'" in capsys.readouterr().err


# Manual pages


@pytest.fixture(name="pages", scope="module")
def manual_pages(tmp_path_factory) -> dict[str, str]:
    """The text of every page by its path, written at a set date."""
    folder = tmp_path_factory.mktemp("pages") / "man1"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOURCE_DATE_EPOCH", "0")
        assert run(["man", "-o", str(folder)]) == 0
    return {str(path): path.read_text("ascii") for path in sorted(folder.iterdir())}


def test_there_is_a_page_for_the_program_and_each_command(pages):
    names = [path.rpartition("/")[2] for path in pages]
    assert names == sorted(["lrisk.1", *(f"lrisk-{name}.1" for name in COMMANDS)])
    assert all(text.splitlines()[0].split()[3] == '"1970-01-01"' for text in pages.values())


def test_a_page_has_every_option_and_example_of_the_help(pages):
    for path, text in pages.items():
        name = path.rpartition("/lrisk-")[2].removesuffix(".1")
        if name not in COMMANDS:
            continue
        plain = text.replace("\\-", "-").replace("\\e", "\\")
        with typer.Context(typer.main.get_command(app)) as context:
            command = context.command.get_command(context, name)
            for parameter in command.get_params(context):
                assert all(flag in plain for flag in parameter.opts if flag.startswith("-"))
        assert all(example in plain for example in command.examples)


@pytest.mark.parametrize(
    "reader",
    [
        pytest.param(["mandoc", "-T", "lint", "-W", "warning"], marks=needs("mandoc")),
        pytest.param(["groff", "-man", "-Tutf8", "-ww", "-z"], marks=needs("groff")),
    ],
    ids=lambda words: words[0],
)
def test_the_pages_are_valid(pages, reader):
    done = subprocess.run([*reader, *pages], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("", "")


def test_the_page_of_a_command_is_printed(capsys):
    assert run(["man", "fit"]) == 0
    assert ".SH NAME\nlrisk\\-fit \\- learn a model" in capsys.readouterr().out
    assert run(["man", "fitt"]) == 2
    assert "there is no command 'fitt'" in capsys.readouterr().err


def test_exit_codes_are_those_of_the_readme():
    table = markdown_table("README.md", "code")
    shown = {codes: meaning.replace("`", "") for codes, meaning in table}
    assert shown == {
        ", ".join(str(int(code)) for code in codes): meaning for codes, meaning in EXITS.items()
    }
