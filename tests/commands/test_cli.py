"""The program itself, run in scratch folders: usage, fit from file to figures, show, signals."""

import fcntl
import io
import json
import os
import re
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from helpers.house_prices import N_ROWS, add_house_files, house_columns, price_losses
from helpers.problems import plain_risk
from helpers.program import (
    PROGRAM,
    document,
    lrisk,
    refusal,
    started,
    without_places,
    write_csv,
)
from lrisk_cli import cli
from lrisk_cli.cli import COMMANDS, CommandLoader
from lrisk_cli.errors import DataError
from lrisk_cli.models import loading

# Help and usage


def test_help_lists_the_commands_with_the_first_line_of_their_help(tmp_path):
    run = lrisk(tmp_path, "--help")
    assert run.returncode == 0
    assert run.stderr == ""
    for name, summary in COMMANDS.items():
        assert f"  {name}" in run.stdout
        assert summary in run.stdout
        command = CommandLoader(name="lrisk").get_command(None, name)
        assert command.help.splitlines()[0] == summary


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("evaluate", ["--risk", "--fail-on", "--losses", "--intervals", "--json", "--force"]),
        ("predict", ["-o", "--output", "--id", "--missing", "--unseen", "--quiet"]),
        ("show", ["--json"]),
        ("schema", []),
        ("fit", ["--target", "--risk", "--solver", "--tol", "--holdout", "--require-convergence"]),
    ],
)
def test_each_command_lists_its_options(tmp_path, command, options):
    run = lrisk(tmp_path, command, "--help")
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith(f"Usage: lrisk {command}")
    assert [option for option in options if option not in run.stdout] == []


def test_the_version_is_printed(tmp_path):
    run = lrisk(tmp_path, "--version")
    assert (run.returncode, run.stdout, run.stderr) == (0, "lrisk 0.2.0\n", "")


def test_no_command_is_a_usage_error_that_shows_the_help(tmp_path):
    run = lrisk(tmp_path)
    assert (run.returncode, run.stdout) == (2, "")
    assert "evaluate" in run.stderr


@pytest.mark.parametrize(
    ("arguments", "finding"),
    [
        (["evalute"], "did you mean 'evaluate'"),
        (["evaluate"], "missing argument 'MODEL'"),
        (["evaluate", "m.json"], "missing argument 'DATA'"),
        (["show", "m.json", "--colour"], "no such option: --colour"),
        (["evaluate", "m.json", "d.csv", "--missing", "guess"], "'guess' is not one of"),
        (["evaluate", "m.json", "d.csv", "--seed", "one"], "'--seed': "),
    ],
)
def test_a_wrong_command_line_is_answered_with_a_sentence(tmp_path, arguments, finding):
    sentence = refusal(lrisk(tmp_path, *arguments), 2)
    assert finding.lower() in sentence.lower()
    assert sentence.endswith("--help")


# Fit, from the file to the figures

FIT = ["--target", "price", "--features", "area,color,rooms", "--max-passes", "60"]


def test_fit_prints_the_record_that_it_saves(tmp_path):
    folder = add_house_files(tmp_path)
    flags = ["--holdout", "0.2", "--json", "-o", "model.json"]
    result = document(lrisk(folder, "fit", "houses.csv", *FIT, *flags))
    contents = json.loads((folder / "model.json").read_text())
    assert (result["command"], result["model"]) == ("fit", "model.json")
    assert result["fit"] == contents["fit"]
    assert result["fit"]["lower_bound"] <= result["fit"]["objective"]
    assert {"mean", "superquantile:0.9", "max", "rmse"} <= set(result["holdout"])
    assert (result["rows"]["read"], result["rows"]["dropped"]) == (N_ROWS, 0)
    assert {"read_s", "design_s", "solve_s", "write_s", "total_s"} <= set(result["timings"])


def test_the_same_rows_and_seed_give_the_same_model_in_any_form(tmp_path):
    folder = add_house_files(tmp_path)
    table = pa.table(house_columns())
    pyarrow.parquet.write_table(table, folder / "houses.parquet")
    for start in range(0, N_ROWS, 100):
        write_csv(folder / f"part{start}.csv", table.slice(start, 100).to_pydict())
    written = []
    for k, form in enumerate(["houses.csv", "houses.csv", "houses.parquet", "part*.csv"]):
        outputs = ["-o", f"model{k}.json", "--losses", f"losses{k}.csv"]
        run = lrisk(folder, "fit", form, *FIT, *outputs)
        assert run.returncode == 0, run.stderr
        rows = without_places((folder / outputs[3]).read_text())
        written.append([(folder / outputs[1]).read_bytes(), rows])
    assert all(files == written[0] for files in written[1:])
    other = ["--seed", "1", "-o", "other.json"]
    assert lrisk(folder, "fit", "houses.csv", *FIT, *other).returncode == 0
    assert (folder / "other.json").read_bytes() != written[0][0]


def test_fit_and_evaluate_agree_on_the_losses_of_the_same_rows(tmp_path):
    folder = add_house_files(tmp_path)
    flags = ["-o", "model.json", "--losses", "fitted.csv", "--id", "house"]
    assert lrisk(folder, "fit", "houses.csv", *FIT, *flags).returncode == 0
    flags = ["--losses", "evaluated.csv", "--id", "house"]
    assert lrisk(folder, "evaluate", "model.json", "houses.csv", *flags).returncode == 0
    assert (folder / "fitted.csv").read_bytes() == (folder / "evaluated.csv").read_bytes()


def test_the_objective_on_the_numbers_of_the_file_is_the_formula(tmp_path):
    folder = add_house_files(tmp_path)
    columns = house_columns()
    write_csv(folder / "plain.csv", {name: columns[name] for name in ("area", "rooms", "price")})
    flags = ["--standardize", "none", "--no-intercept", "--l2", "0.25", "--json", "-o", "m.json"]
    run = lrisk(folder, "fit", "plain.csv", "--target", "price", *flags)
    w = np.array(json.loads((folder / "m.json").read_text())["coefficients"])
    X = np.column_stack([columns["area"], columns["rooms"]])
    risk = plain_risk(0.5 * (columns["price"] - X @ w) ** 2, "extremile:2")
    record = document(run)["fit"]
    assert record["objective_scale"] == "file"
    assert record["objective"] == pytest.approx(risk + 0.125 * (w @ w))


# Show and schema


def test_show_prints_coefficients_in_units_of_the_file_largest_effect_first(tmp_path):
    folder = add_house_files(tmp_path)
    run = lrisk(folder, "show", "price.json")
    assert run.returncode == 0
    assert run.stderr == ""
    shown = document(lrisk(folder, "show", "price.json", "--json"))
    effects = [entry["effect"] for entry in shown["coefficients"]]
    assert effects == sorted(effects, reverse=True)
    by_column = {entry["column"]: entry["coefficient"] for entry in shown["coefficients"]}
    columns = house_columns()
    predictions = shown["intercept"] + by_column["area"] * columns["area"]
    predictions += by_column["rooms"] * columns["rooms"]
    for color in ("blue", "green", "red"):
        predictions += by_column[f"color={color}"] * (columns["color"] == color)
    assert 0.5 * (predictions - columns["price"]) ** 2 == pytest.approx(price_losses(folder))
    lines = run.stdout.splitlines()
    places = [
        next(k for k, line in enumerate(lines) if line.startswith(name)) for name in by_column
    ]
    assert places == sorted(places)
    assert f"{by_column['area']:.6g}" in lines[places[0]]
    assert "superquantile:0.9" in run.stdout
    assert "proved: no model of this form gains more than 0.025 %" in run.stdout


def test_show_gives_a_column_of_coefficients_to_each_class(tmp_path):
    folder = add_house_files(tmp_path)
    shown = document(lrisk(folder, "show", "kind.json", "--json"))
    assert list(shown["intercept"]) == ["flat", "house", "villa"]
    assert list(shown["coefficients"][0]["coefficient"]) == ["flat", "house", "villa"]
    assert "log-odds of yes" in lrisk(folder, "show", "sold.json").stdout


def test_schema_describes_the_model_file(tmp_path):
    folder = add_house_files(tmp_path)
    schema = document(lrisk(folder, "schema"))
    contents = json.loads((folder / "price.json").read_text())
    # These are left out of models that have none.
    absent = {
        "exposure", "cross_validation", "holdout", "target_scale", "calibration", "conformal",
        "robust", "weight", "group_columns",
    }  # fmt: skip
    described = list(schema["$defs"]["ModelFile"]["properties"])
    assert [key for key in described if key not in absent] == list(contents)
    assert absent < set(described)


# Interruptions and internal errors


def wait_until_taken(pipe: io.IOBase, data: bytes) -> None:
    """Give the program these bytes; return when it has taken them and waits for more."""
    os.write(pipe.fileno(), data)
    deadline = time.monotonic() + 30.0
    while fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)) != bytes(4):
        assert time.monotonic() < deadline, "the program does not read its standard input"
        time.sleep(0.05)
    time.sleep(0.2)


@pytest.mark.parametrize(
    ("number", "code", "word"),
    [
        (signal.SIGINT, 130, "interrupted"),
        (signal.SIGTERM, 143, "terminated"),
        (signal.SIGHUP, 129, "hung up"),
    ],
)
def test_a_signal_ends_the_work_and_leaves_nothing_behind(tmp_path, number, code, word):
    folder = add_house_files(tmp_path)
    before = sorted(path.name for path in folder.iterdir())
    command = [*PROGRAM, "evaluate", "price.json", "-", "--losses", "out.csv"]
    with started(command, folder, stdin=subprocess.PIPE) as program:
        wait_until_taken(program.stdin, b"area,color\n" * 10)
        program.send_signal(number)
        assert program.wait(10) == code
        (line,) = program.stderr.read().decode().splitlines()
    assert line.startswith(f"lrisk: {word} ")
    assert "evaluate" in line
    assert sorted(path.name for path in folder.iterdir()) == before


def processor_seconds(pid: int) -> float:
    """Time that the processor has spent on a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_an_endless_fit_can_be_stopped_and_says_how_far_it_got(tmp_path):
    folder = add_house_files(tmp_path)
    if not Path("/proc/self/stat").exists():
        pytest.skip("NO /proc ON THIS SYSTEM")
    before = sorted(path.name for path in folder.iterdir())
    arguments = ["--target", "price", "--exclude", "house", "--tol", "1e-300", "-o", "out.json"]
    endless = ["--solver", "subgradient", "--max-passes", "1e12"]
    command = [*PROGRAM, "fit", "houses.csv", *arguments, *endless]
    with started(command, folder, text=True) as program:
        # Loading takes less than a second of the processor; by then it solves.
        while processor_seconds(program.pid) < 4.0 and program.poll() is None:
            time.sleep(0.1)
        program.send_signal(signal.SIGINT)
        assert program.wait(10) == 130
        (line,) = program.stderr.read().splitlines()
        assert re.match(r"lrisk: interrupted at solve [\d,.]+ passes \(", line)
        assert program.stdout.read() == ""
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("other", [ImportError, DataError])
def test_a_signal_counts_though_a_library_makes_another_error_of_it(
    monkeypatch, capsys, number, code, other
):
    def load_model(path):
        try:
            signal.raise_signal(number)
        except BaseException as error:
            raise other("initialization failed") from error

    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    monkeypatch.setattr(loading, "load_model", load_model)
    assert cli.run(["show", "m.json"]) == code
    assert re.match("lrisk: (interrupted|terminated) before", capsys.readouterr().err)
    assert {each: signal.getsignal(each) for each in before} == before


def test_a_signal_that_the_caller_ignores_is_ignored(monkeypatch):
    def load_model(path):
        signal.raise_signal(signal.SIGHUP)
        raise DataError("went on")

    monkeypatch.setattr(loading, "load_model", load_model)
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert cli.run(["show", "m.json"]) == 3
    finally:
        signal.signal(signal.SIGHUP, before)


def broken_run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """`lrisk ARGUMENTS` in a world where reading a model hits a bug."""
    program = (
        "import sys, lrisk_cli.models.loading\n"
        "from lrisk_cli.cli import run\n"
        "def load_model(path): raise KeyError('mu\\nnu')\n"
        "lrisk_cli.models.loading.load_model = load_model\n"
        f"sys.exit(run({list(arguments)!r}))\n"
    )
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)


def test_a_bug_is_one_line_and_exit_70():
    run = broken_run("show", "m.json")
    assert (run.returncode, run.stdout) == (70, "")
    (line,) = run.stderr.splitlines()
    assert line.startswith("lrisk: internal error: KeyError: ")


def test_verbose_shows_where_the_bug_is():
    run = broken_run("show", "m.json", "--verbose")
    assert run.returncode == 70
    assert "Traceback" in run.stderr
    assert "in load_model" in run.stderr
