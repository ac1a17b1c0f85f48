"""Colours: on terminals, unless they are not wanted; never in pipes, files and JSON by default."""

import io
import re

import pytest

from helpers.house_prices import add_house_files
from lrisk_cli import colours
from lrisk_cli.cli import run
from lrisk_cli.colours import Color, Style, choose, is_coloured, paint

EVALUATE = ["evaluate", "price.json", "houses.csv", "--fail-on", "mae>0", "--warn-on", "mae>0"]
RED, YELLOW = "\x1b[1;31m", "\x1b[33m"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    yield
    choose(Color.AUTO)


@pytest.mark.parametrize(
    ("color", "no_color", "term", "stream", "coloured"),
    [
        (Color.AUTO, "", "xterm", Terminal(), True),
        (Color.AUTO, "", "xterm", io.StringIO(), False),
        (Color.AUTO, "1", "xterm", Terminal(), False),
        (Color.AUTO, "", "dumb", Terminal(), False),
        (Color.NEVER, "", "xterm", Terminal(), False),
        (Color.ALWAYS, "1", "dumb", io.StringIO(), True),
    ],
)
def test_a_stream_is_coloured(monkeypatch, color, no_color, term, stream, coloured):
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setenv("TERM", term)
    choose(color)
    assert is_coloured(stream) is coloured
    assert paint("a", Style.BETTER, stream) == ("\x1b[32ma\x1b[0m" if coloured else "a")


@pytest.fixture(name="folder")
def house_files(tmp_path, monkeypatch):
    folder = add_house_files(tmp_path)
    monkeypatch.chdir(folder)
    return folder


def test_failed_gates_are_red_and_warnings_yellow(folder, capsys):
    assert run([*EVALUATE, "--color", "always", "-q"]) == 1
    done = capsys.readouterr()
    assert f"{RED}FAILED\x1b[0m" in done.out
    assert f"{YELLOW}warned\x1b[0m" in done.out
    assert f"lrisk: {YELLOW}warning:\x1b[0m mae is" in done.err
    assert run([*EVALUATE, "-q"]) == 1
    assert re.sub(r"\x1b\[[\d;]*m", "", done.out) == capsys.readouterr().out


def test_json_and_files_have_no_colours(folder, capsys):
    run([*EVALUATE, "--color", "always", "--json", "--losses", "l.csv", "--junit", "j.xml", "-q"])
    assert "\x1b" not in capsys.readouterr().out
    assert b"\x1b" not in (folder / "l.csv").read_bytes() + (folder / "j.xml").read_bytes()


@pytest.mark.parametrize(
    "arguments",
    [["fit", "--color", "always", "--wrong"], ["show", "no.json", "--color=always"]],
)
def test_errors_are_red_also_where_the_parser_finds_them(folder, capsys, arguments):
    assert run(arguments) in (2, 4)
    assert capsys.readouterr().err.startswith(f"lrisk: {RED}error:\x1b[0m ")


def test_settings_choose_colours_too(folder, capsys):
    (folder / "lrisk.toml").write_text('color = "always"\n')
    assert run(["show", "no.json"]) == 4
    assert RED in capsys.readouterr().err
    assert run(["show", "no.json", "--color", "never"]) == 4
    assert RED not in capsys.readouterr().err


def test_the_better_of_two_fits_is_green(folder, capsys):
    command = ["fit", "houses.csv", "--target", "price", "--exclude", "house", "-q"]
    assert run([*command, "--color", "always"]) == 0
    (line,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("rmse"))
    fit, ordinary = re.fullmatch(r"rmse +(\S+) +(\S+)", line).groups()
    assert colours.Style.BETTER == "32"
    # The ordinary fit minimises the mean of the squared errors.
    assert "\x1b[32m" in ordinary
    assert "\x1b" not in fit
