"""Options from flags, the environment and a file: which wins, and what is refused."""

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.house_prices import add_house_files
from helpers.program import document, lrisk, refusal
from lrisk_cli.cli import COMMANDS, CommandLoader
from lrisk_cli.commands.configuring import known_settings
from lrisk_cli.commands.settings import ONLY_FLAGS, Setting, find_effective

FIT = ["fit", "houses.csv", "--target", "price", "--exclude", "house", "--json"]
BARE = {key: value for key, value in os.environ.items() if not key.startswith("LRISK_")}


def held(folder: Path, command: str, *flags: str, **variables: str) -> dict:
    """What `lrisk config COMMAND` says, in an environment with these variables."""
    run = lrisk(folder, "config", command, *flags, "--json", env={**BARE, **variables})
    return document(run)["options"][command]


def test_flags_win_over_variables_and_variables_over_the_file(tmp_path):
    folder = add_house_files(tmp_path)
    (folder / "lrisk.toml").write_text("seed = 1\n[fit]\nseed = 2\n")

    def seed(*flags: str, **variables: str) -> int:
        return document(lrisk(folder, *FIT, *flags, env={**BARE, **variables}))["fit"]["seed"]

    assert seed() == 2
    assert seed(LRISK_SEED="3") == 3
    assert seed(LRISK_SEED="3", LRISK_FIT_SEED="4") == 4
    assert seed("--seed", "5", LRISK_FIT_SEED="4") == 5
    (folder / "other.toml").write_text("seed = 6\n")
    assert seed("--config", "other.toml") == 6
    assert seed(LRISK_CONFIG="other.toml") == 6
    assert seed("--config", "lrisk.toml", LRISK_CONFIG="other.toml") == 2


def test_the_file_can_name_what_the_command_line_must_otherwise(tmp_path):
    folder = add_house_files(tmp_path)
    text = '[fit]\ntarget = "price"\nexclude = "house"\nrisk = ["mean", "extremile:2"]\nl2 = 0.5\n'
    (folder / "lrisk.toml").write_text(text + "json = true\n")
    result = document(lrisk(folder, "fit", "houses.csv", env=BARE))
    assert [fit["risk"] for fit in result["fits"]] == ["mean", "extremile:2"]
    assert [fit["l2"] for fit in result["fits"]] == [0.5, 0.5]


def test_a_list_may_stand_for_a_text_with_commas(tmp_path):
    folder = add_house_files(tmp_path)
    (folder / "lrisk.toml").write_text('[fit]\nexclude = ["house", "rooms"]\nl2 = [0.5]\n')
    result = document(lrisk(folder, "fit", "houses.csv", "--target", "price", "--json", env=BARE))
    words = ["--target", "price", "--exclude", "house,rooms", "--l2", "0.5", "--json", "--config"]
    (folder / "empty.toml").write_text("")
    other = document(lrisk(folder, "fit", "houses.csv", *words, "empty.toml", env=BARE))
    assert {**result, "timings": None} == {**other, "timings": None}


def test_gates_can_come_from_the_file_and_the_environment(tmp_path):
    folder = add_house_files(tmp_path)
    (folder / "lrisk.toml").write_text('[evaluate]\nfail_on = ["rmse>0", "mae>1e9"]\njson = true\n')
    command = ["evaluate", "price.json", "houses.csv"]
    result = document(lrisk(folder, *command, env=BARE), 1)
    assert [gate["failed"] for gate in result["gates"]] == [True, False]
    conditions = {"LRISK_FAIL_ON": "rmse > 1e9; max<0"}
    result = document(lrisk(folder, *command, env={**BARE, **conditions}))
    assert [gate["gate"] for gate in result["gates"]] == ["rmse>1000000000", "max<0"]


def test_config_tells_what_holds_and_from_where(tmp_path):
    (tmp_path / "lrisk.toml").write_text("seed = 1\n[fit]\nmissing = 'drop'\n")
    told = held(tmp_path, "fit", LRISK_TOL="0.5")
    assert told["seed"] == {"value": 1, "from": "lrisk.toml"}
    assert told["missing"] == {"value": "drop", "from": "lrisk.toml [fit]"}
    assert told["tol"] == {"value": 0.5, "from": "LRISK_TOL"}
    assert told["unseen"] == {"value": "error", "from": "default"}
    assert told["id"] == {"value": None, "from": "default"}
    shown = lrisk(tmp_path, "config", env=BARE).stdout
    assert "file: lrisk.toml" in shown
    assert "lrisk.toml [fit]" in shown
    assert "unseen" not in shown
    (tmp_path / "lrisk.toml").unlink()
    assert "nothing is set" in lrisk(tmp_path, "config", env=BARE).stdout
    assert "no command 'fitt'" in refusal(lrisk(tmp_path, "config", "fitt", env=BARE), 2)


def test_a_key_is_known_for_every_long_flag_of_every_command():
    loader = CommandLoader(name="lrisk")
    for command, found in known_settings(COMMANDS).items():
        parameters = loader.get_command(None, command).params
        flags = {name for each in parameters for name in each.opts if name.startswith("--")}
        assert {f"--{key}" for key in found} == flags - {f"--{key}" for key in ONLY_FLAGS}


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("sede = 1", "lrisk.toml: unknown key 'sede'; did you mean seed?"),
        ("[fit]\nrisc = 'mean'", "lrisk.toml, [fit]: unknown key 'risc'; did you mean risk?"),
        ("[fitt]\nrisk = 'mean'", "lrisk.toml: unknown table 'fitt'; did you mean fit?"),
        ("[fit]\nintervals = true", "lrisk.toml, [fit]: unknown key 'intervals'"),
        ("[fit]\nmax_passes = 1\nmax-passes = 2", "[fit]: max-passes is given twice"),
        ("verbose = true", "verbose is no setting; pass --verbose on the command line"),
        ("seed = 'one'", "lrisk.toml: seed takes a whole number; got 'one'"),
        ("seed = 1.5", "seed takes a whole number; got 1.5"),
        ("seed = true", "seed takes a whole number; got true"),
        ("seed = [1]", "seed takes a whole number; got [1]"),
        ("tol = 'small'", "tol takes a number; got 'small'"),
        ("tol = nan", "tol takes a number; got nan"),
        ("quiet = 1", "quiet takes true or false; got 1"),
        (
            "[fit]\nmissing = 'guess'",
            "[fit]: missing takes one of error, drop, impute; got 'guess'",
        ),
        ("[fit]\ntarget = 1979-05-27", "target takes a text; got 1979-05-27"),
        ("[fit]\nrisk = [['mean']]", "risk takes a text, or a list of such; got ['mean']"),
        ("[fit]\nexclude = [['a']]", "exclude takes a text, or a list of such; got ['a']"),
        ("[fit]\ntarget = ['a', 'b']", "target takes a text; got ['a', 'b']"),
        ("[fit]\nid-column = 'a'\nid_column = 'b'", "id-column is given twice; keep one"),
        ("[fit.risk]\nmean = 1", "[fit]: risk takes a text"),
        ("[fit]\nseed = -1", "invalid value for '--seed': "),
        ("seed = ", "lrisk.toml: not TOML ("),
        ("a = " + "[" * 10_000, "lrisk.toml: not TOML ("),
        ("#" * 1_000_001, "more than 1000000 bytes"),
        (b"seed = \xff", "lrisk.toml: not TOML ("),
    ],
)
def test_a_wrong_file_is_refused_with_a_sentence(tmp_path, text, finding):
    contents = text if isinstance(text, bytes) else text.encode()
    (tmp_path / "lrisk.toml").write_bytes(contents)
    run = lrisk(tmp_path, "fit", "absent.csv", "--target", "y", env=BARE)
    assert finding in refusal(run, 2)


@pytest.mark.parametrize(
    ("variable", "text", "finding"),
    [
        ("LRISK_SEED", "one", "LRISK_SEED takes a whole number; got 'one'"),
        ("LRISK_TOL", "inf", "LRISK_TOL takes a number; got inf"),
        ("LRISK_QUIET", "maybe", "LRISK_QUIET takes true or false; got 'maybe'"),
        ("LRISK_FIT_MISSING", "guess", "LRISK_FIT_MISSING takes one of error, drop, impute"),
        ("LRISK_SED", "1", "unknown variable 'LRISK_SED'; did you mean LRISK_SEED?"),
        ("LRISK_CONFIG", "absent.toml", "absent.toml: cannot be read (No such file or directory)"),
    ],
)
def test_a_wrong_variable_is_refused_with_a_sentence(tmp_path, variable, text, finding):
    run = lrisk(tmp_path, "fit", "absent.csv", "--target", "y", env={**BARE, variable: text})
    assert finding in refusal(run, 2)


def test_help_does_not_mind_a_wrong_file(tmp_path):
    (tmp_path / "lrisk.toml").write_text("seed = ")
    assert lrisk(tmp_path, "--help", env=BARE).returncode == 0
    assert lrisk(tmp_path, "fit", "--help", env=BARE).returncode == 0


def test_an_empty_variable_sets_nothing(tmp_path):
    assert held(tmp_path, "fit", LRISK_SEED="")["seed"]["from"] == "default"


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=20).filter(lambda text: "\0" not in text))
def test_a_text_arrives_as_it_was_written(text):
    option = {"target": Setting("target", "target", str, False, False, None, None)}
    found = find_effective("fit", option, None, {"LRISK_TARGET": text})
    assert [each.value for each in found.values()] == [text][: bool(text)]


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("tol = 1" + "0" * 400, "lrisk.toml: tol takes a number; got 1000"),
        ("tol = 1" + "0" * 5000, "lrisk.toml: "),
        ("[detect-outliers]\nquiet = true\n[detect_outliers]\nquiet = false", "is given twice"),
        ("[fit]\nmissing = 2020-01-02T03:04:05", "got 2020-01-02 03:04:05"),
    ],
)
def test_a_value_that_no_option_can_take_is_refused(tmp_path, text, finding):
    (tmp_path / "lrisk.toml").write_text(text)
    assert finding in refusal(lrisk(tmp_path, "config", env=BARE), 2)


def test_a_file_that_an_editor_has_marked_as_utf8_is_read(tmp_path):
    (tmp_path / "lrisk.toml").write_bytes(b"\xef\xbb\xbfseed = 9\n")
    assert held(tmp_path, "fit")["seed"] == {"value": 9, "from": "lrisk.toml"}


def test_an_empty_name_of_a_file_is_not_taken_for_none(tmp_path):
    (tmp_path / "lrisk.toml").write_text("seed = 9\n")
    run = lrisk(tmp_path, "config", "--config", "", env=BARE)
    assert "--config names no file" in refusal(run, 2)


def test_flags_that_are_no_settings_are_named_as_such(tmp_path):
    run = lrisk(tmp_path, "config", env={**BARE, "LRISK_VERBOSE": "1"})
    assert "LRISK_VERBOSE is no setting; pass --verbose instead" in refusal(run, 2)
