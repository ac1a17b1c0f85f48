"""Bad input to `lrisk fit`: a sentence, the exit code of the contract, nothing written."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

GOOD = "x,color,y\n" + "".join(
    f"{x:.3f},{'red' if x > 0 else 'blue'},{2 * x + 1:.3f}\n" for x in np.linspace(-1, 1, 40)
)


def fit(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `lrisk fit ARGUMENTS -o model.json` in the folder."""
    command = [sys.executable, "-m", "lrisk_cli", "fit", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=120)


def refusal(folder: Path, code: int, *arguments: str) -> str:
    """The one sentence of a fit that must fail with this code and leave the folder as it was."""
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    run = fit(folder, *arguments)
    assert (run.returncode, run.stdout) == (code, ""), run.stderr
    (line,) = run.stderr.splitlines()
    assert line.startswith("lrisk: error: ")
    assert {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()} == before
    return line


@pytest.fixture
def folder(tmp_path) -> Path:
    """A folder with one good table."""
    (tmp_path / "good.csv").write_text(GOOD)
    return tmp_path


def test_the_good_table_is_fitted(folder):
    run = fit(folder, "good.csv", "--target", "y", "-o", "model.json")
    assert run.returncode == 0, run.stderr
    assert (folder / "model.json").exists()


@pytest.mark.parametrize(
    ("contents", "target", "place", "finding"),
    [
        ("", "y", "bad.csv", "empty"),
        ("x,y\n", "y", "bad.csv", "no rows"),
        (GOOD, "z", "bad.csv", "no column 'z'"),
        (GOOD, "colour", "bad.csv", "did you mean 'color'?"),
        (GOOD + "0.5,red,n/a\n", "y", "column 'y', row 40", "'n/a' is not a number"),
        (GOOD + "n/a,red,1\n", "y", "column 'x', row 40", "'n/a' is not a number"),
        (GOOD + "inf,red,1\n", "y", "column 'x', row 40", "'inf' is not a finite number"),
        (GOOD + "1e999,red,1\n", "y", "column 'x', row 40", "'1e999' is not a finite number"),
        (GOOD + "nan,red,1\n", "y", "column 'x', row 40", "missing"),
        (GOOD + ",red,1\n", "y", "column 'x', row 40", "missing"),
        (GOOD + "1,red,\n", "y", "column 'y', row 40", "missing"),
        (GOOD + "1,red\n", "y", "bad.csv", "row 40"),
        ("x,y\n1,3\n2,3\n3,3\n", "y", "column 'y'", "constant"),
        ("x,y\n1,a\n2,a\n3,a\n", "y", "column 'y'", "one class only"),
        ("x,x,y\n1,2,3\n", "y", "bad.csv", "x"),
        ("x,y\n1,2\n", "y", "bad.csv", "row"),
    ],
)
def test_a_bad_table_is_refused_with_place_and_finding(folder, contents, target, place, finding):
    (folder / "bad.csv").write_text(contents)
    sentence = refusal(folder, 3, "bad.csv", "--target", target, "-o", "model.json")
    assert "bad.csv" in sentence
    assert place in sentence
    assert finding in sentence


def test_a_missing_file_is_refused(folder):
    assert "absent.csv: no such file" in refusal(folder, 3, "absent.csv", "--target", "y")


def test_text_that_is_not_utf8_is_refused(folder):
    (folder / "bad.csv").write_bytes(GOOD.encode() + b"1,r\xe9d,2\n")
    assert "UTF-8" in refusal(folder, 3, "bad.csv", "--target", "y")


@pytest.mark.parametrize(
    ("arguments", "finding"),
    [
        (["--target", "y", "--features", "x,y"], "target"),
        (["--target", "y", "--exclude", "x,color"], "no features are left"),
        (["--target", "y", "--risk", "superquantile:1.2"], "superquantile level must be in [0, 1)"),
        (["--target", "y", "--risk", "cvarr:0.9"], "did you mean cvar?"),
        (["--target", "y", "--risk", "superquantile"], "needs its level"),
        (
            ["--target", "y", "--risk", "subquantile:0.9", "--solver", "newton"],
            "choose among lsvrg, sgd, srda, subgradient, trimmed",
        ),
        (["--target", "y", "--risk", "esrm:1", "--solver", "trimmed"], "esrm:1 rises"),
        (["--target", "y", "--loss", "logistic"], "does not fit regression"),
        (["--target", "y", "--holdout", "1.5"], "fraction between 0 and 1"),
        (["--target", "y", "--l2", "-1"], "l2"),
        (["--target", "y", "--l2", "0"], "--l2 must be greater than 0"),
        (["--target", "y", "--nu", "0.1"], "add --smoothing l2 or entropy"),
        (
            ["--target", "y", "--step", "-1"],
            "--step takes a number greater than 0, decay or theory",
        ),
        (["--target", "y", "--step", "decay"], "--step decay is not used by --solver auto"),
        (
            ["--target", "y", "--step", "0.1"],
            "--step is not used by --solver auto (only by lsvrg, sgd, srda and subgradient)",
        ),
        (["--target", "y", "--solver", "sgd", "--epoch-length", "9"], "only by lsvrg"),
        (["--target", "y", "--holdout", "0.2", "--test", "good.csv"], "pass one of them"),
        (["--target", "y", "--tol", "-1"], "invalid value for '--tol': "),
        (["--target", "y", "--dtype", "x=banana"], "--dtype"),
        (["--target", "y", "-o", "good.csv"], "good.csv: exists; pass --force"),
        (["--target", "y", "-o", "good.csv/model.json"], "good.csv"),
        (["--target", "y", "--losses", "losses.txt"], "losses.txt"),
        (["--target", "y", "--losses", "a.csv", "--trace", "./a.csv"], "named for two outputs"),
        (["--target", "y", "-o", "good.csv", "--force"], "good.csv: is also an input; give"),
        ([], "--target"),
        (["--target", "y", "--solver", "magic"], "magic"),
    ],
)
def test_a_bad_request_is_refused_before_any_work(folder, arguments, finding):
    sentence = refusal(folder, 2, "good.csv", *arguments)
    assert finding in sentence


def test_a_risk_is_judged_before_the_table_is_read(folder):
    assert "unknown risk" in refusal(folder, 2, "absent.csv", "--target", "y", "--risk", "worst")


def test_a_table_to_test_on_is_refused_before_the_solver_starts(folder):
    """An endless fit, so only a check before it lets the program end."""
    endless = ["--target", "y", "--tol", "0", "--max-passes", "1e12", "-o", "model.json"]
    (folder / "test.csv").write_text("x,colour,y\n1,red,2\n")
    sentence = refusal(folder, 3, "good.csv", *endless, "--test", "test.csv")
    assert "test.csv: no column 'color'; did you mean 'colour'?" in sentence
    sentence = refusal(folder, 3, "good.csv", *endless, "--test", "absent.csv")
    assert "absent.csv: no such file; check the path" in sentence
    sentence = refusal(folder, 2, "good.csv", *endless, "--test", "test.csv", "--losses",
                       "test.csv", "--force")  # fmt: skip
    assert "test.csv: is also an input" in sentence


def test_an_invalid_cell_names_the_remedies_that_the_command_has(folder):
    assert fit(folder, "good.csv", "--target", "y", "-o", "model.json").returncode == 0
    (folder / "bad.csv").write_text(GOOD + "oops,red,1\n")
    finding = "lrisk: error: bad.csv, column 'x', row 40: 'oops' is not a number"
    run = fit(folder, "bad.csv", "--target", "y")
    assert run.stderr == f"{finding}; pass --missing drop or --dtype x=string\n"
    for command in ("evaluate", "predict"):
        arguments = [sys.executable, "-m", "lrisk_cli", command, "model.json", "bad.csv"]
        run = subprocess.run(arguments, capture_output=True, text=True, cwd=folder, timeout=60)
        assert (run.returncode, run.stdout) == (3, "")
        assert run.stderr == f"{finding}; pass --missing drop\n"
        run = subprocess.run([*arguments, "--missing", "drop"], capture_output=True, cwd=folder)
        assert run.returncode == 0


def test_a_closed_standard_input_is_refused(folder):
    command = f"{sys.executable} -m lrisk_cli fit - --target y <&-"
    run = subprocess.run(["sh", "-c", command], capture_output=True, text=True, cwd=folder)
    assert run.returncode == 3
    assert run.stderr.startswith("lrisk: error: standard input: is closed; pipe a table into it")


def test_a_folder_that_cannot_be_written_is_refused(folder):
    locked = folder / "locked"
    locked.mkdir()
    locked.chmod(0o500)
    # A super-user may write there all the same, but nobody creates files among the processes.
    place = "/proc" if os.geteuid() == 0 else "locked"
    run = fit(folder, "good.csv", "--target", "y", "-o", f"{place}/model.json")
    assert run.returncode == 2, run.stderr
    assert f"lrisk: error: {place}/model.json: " in run.stderr
    assert "writ" in run.stderr.splitlines()[-1]
    assert list(locked.iterdir()) == []


def test_missing_cells_are_dropped_and_counted_when_asked(folder):
    (folder / "holes.csv").write_text(GOOD + ",red,1\n1,red,\nn/a,red,1\n")
    run = fit(folder, "holes.csv", "--target", "y", "--missing", "drop")
    assert run.returncode == 0, run.stderr
    assert "43 read, 40 used, 3 dropped (" in run.stdout
    assert "nothing was saved" in run.stdout


def test_not_reaching_the_tolerance_is_an_error_only_when_asked(folder):
    arguments = ["good.csv", "--target", "y", "--max-passes", "2", "--tol", "1e-15"]
    assert fit(folder, *arguments).returncode == 0
    run = fit(folder, *arguments, "--require-convergence")
    assert run.returncode == 5
    assert run.stderr.splitlines()[-1].startswith("lrisk: error: ")


# pytest puts the name of a test into the environment, which has little room for names.
@pytest.mark.parametrize(
    "cell",
    ["9" * 100_000, "z" * 1_000_000, "\x1b[2J" * 50_000],
    ids=["digits", "letters", "escapes"],
)
def test_a_huge_cell_is_cut_in_the_sentence(folder, cell):
    (folder / "bad.csv").write_text(f"{GOOD}{cell},red,1\n")
    sentence = refusal(folder, 3, "bad.csv", "--target", "y")
    assert "column 'x', row 40: '" in sentence
    assert f"({len(cell):,} characters) is not a" in sentence
    assert len(sentence) < 600
    assert sentence.isprintable()


def test_a_sentence_with_a_huge_name_keeps_its_ends(folder):
    (folder / "bad.csv").write_text(f"{'n' * 50_000},y\n1,2\nx,3\n4,5\n6,7\n")
    sentence = refusal(folder, 3, "bad.csv", "--target", "y")
    assert sentence.startswith("lrisk: error: bad.csv, column 'nnn")
    assert sentence.endswith("=string")
    assert len(sentence) < 2100


def test_an_empty_name_is_not_taken_for_this_folder(folder):
    assert "named by an empty text" in refusal(folder, 2, "", "--target", "y")
    assert "empty text" in refusal(folder, 2, "good.csv", "--target", "y", "-o", "")


def test_a_table_of_one_row_is_not_told_to_impute(folder):
    (folder / "bad.csv").write_text("x,y\n1,2\n")
    assert refusal(folder, 3, "bad.csv", "--target", "y").endswith("so add rows to the table")


def test_a_hole_is_not_told_to_take_values_that_the_model_lacks(folder):
    assert fit(folder, "good.csv", "--target", "y", "-o", "model.json").returncode == 0
    (folder / "holes.csv").write_text(GOOD + ",red,1\n")
    command = [sys.executable, "-m", "lrisk_cli", "evaluate", "model.json", "holes.csv"]
    run = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=60)
    assert run.stderr.endswith("column 'x', row 40: the cell is missing; pass --missing drop\n")
