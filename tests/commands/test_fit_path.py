"""Several risks in one fit: the models of separate fits, with less work, each in its own file."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from helpers.house_prices import N_ROWS, add_house_files
from helpers.problems import RISING, small_problem
from helpers.program import document, lrisk, read_csv, refusal
from lrisk_cli.names import SolverName
from lrisk_cli.solvers.problem import Problem
from lrisk_cli.solvers.select import SolverOptions, solve
from lrisk_cli.solvers.solution import Limits

PRICE = ["fit", "houses.csv", "--target", "price", "--features", "area,color,rooms"]
RISKS = ["mean", "superquantile:0.5", "superquantile:0.9", "extremile:2"]
THREE = ["--risk", "mean", "--risk", "superquantile:0.9", "--risk", "esrm:1"]
NAMES = ["mean", "superquantile-0.9", "esrm-1"]


@pytest.fixture
def folder(tmp_path) -> Path:
    return add_house_files(tmp_path)


def models(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# Starting from a neighbour


def neighbours(loss: str, n_classes: int) -> tuple[Problem, Problem]:
    """Two risks of the same rows."""
    settings = {"n_rows": 300, "n_classes": n_classes, "mu": 0.01}
    return (
        small_problem(loss, "superquantile:0.2", **settings),
        small_problem(loss, "superquantile:0.3", **settings),
    )


@pytest.mark.parametrize("solver", SolverName)
@pytest.mark.parametrize(("loss", "n_classes"), [("squared", 0), ("logistic", 2), ("logistic", 3)])
def test_a_start_changes_nothing_that_is_proved(solver, loss, n_classes):
    near, problem = neighbours(loss, n_classes)
    exact = Limits(tol=1e-9, max_passes=5000)
    start = solve(near, SolverOptions(), exact).W
    optimum = solve(problem, SolverOptions(), exact).certificate
    found = solve(problem, SolverOptions(solver), Limits(1e-6, 300), start=start).certificate
    assert found.lower_bound <= optimum.objective
    assert optimum.lower_bound <= found.objective
    if solver in (SolverName.AUTO, SolverName.NEWTON, SolverName.LBFGS):
        assert found.gap <= 1e-6
    # No solver gives up what it was given, save dual averaging, which must begin at zero.
    if solver is not SolverName.SRDA:
        assert found.objective <= problem.at(start, problem.row_weighter()).objective


@pytest.mark.parametrize("risk", RISING)
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_a_start_worse_than_zero_is_not_used(risk, loss):
    problem = small_problem(loss, risk)
    cold = solve(problem, SolverOptions(), Limits())
    warm = solve(problem, SolverOptions(), Limits(), start=np.full(problem.shape, 1e3))
    np.testing.assert_array_equal(warm.W, cold.W)
    assert warm.certificate == cold.certificate


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_starts_spare_passes_along_a_path(loss):
    def passes(warm: bool) -> float:
        total, W = 0.0, None
        for level in np.linspace(0.4, 0.9, 11):
            problem = small_problem(loss, f"superquantile:{level:g}", n_rows=2000, n_columns=20)
            found = solve(problem, SolverOptions(), Limits(), start=W if warm else None)
            assert found.converged
            total, W = total + found.passes, found.W
        return total

    assert passes(warm=True) < 0.95 * passes(warm=False)


# What it finds


@pytest.mark.parametrize("target", ["price", "kind"])
def test_a_path_holds_the_fits_that_single_commands_make(folder, target):
    command = ["fit", "houses.csv", "--target", target, "--features", "area,color,rooms", "--json"]
    flags = [flag for risk in RISKS for flag in ("--risk", risk)]
    path = document(lrisk(folder, *command, *flags, "--holdout", "0.2", "-o", "path/"))
    assert list(path) == ["command", "fits", "warnings", "timings"]
    assert [fit["risk"] for fit in path["fits"]] == RISKS
    for risk, fit in zip(RISKS, path["fits"], strict=True):
        single = document(lrisk(folder, *command, "--risk", risk, "--holdout", "0.2"))
        assert list(fit) == list(single)
        assert (fit["rows"], fit["l2"]) == (single["rows"], single["l2"])
        one, other = fit["fit"], single["fit"]
        assert one["gap"] <= 1e-6
        assert one["lower_bound"] <= other["objective"]
        assert other["lower_bound"] <= one["objective"]
        assert one["fingerprint"] == other["fingerprint"]
        assert fit["holdout"]["mean"] == pytest.approx(single["holdout"]["mean"], rel=1e-2)
        saved = json.loads((folder / fit["model"]).read_text())
        assert (saved["risk"], saved["fit"]) == (risk, one)


def test_the_figures_are_those_of_the_models_that_were_saved(folder):
    flags = [*THREE, "--json", "--test", "houses.csv", "-o", "{risk}.json"]
    for fit in document(lrisk(folder, *PRICE, *flags))["fits"]:
        evaluated = document(lrisk(folder, "evaluate", fit["model"], "houses.csv", "--json"))
        assert evaluated["metrics"] == fit["training"] == fit["holdout"]


def test_a_path_repeats_to_the_byte(folder):
    for out in ("one/", "two/"):
        assert lrisk(folder, *PRICE, *THREE, "-o", out, "--losses", out).returncode == 0
    assert len(models(folder / "one")) == 6
    for name in models(folder / "one"):
        assert (folder / "one" / name).read_bytes() == (folder / "two" / name).read_bytes()


def test_pipes_are_read_once(folder):
    os.mkfifo(folder / "fifo")
    with (
        (folder / "houses.csv").open() as file,
        subprocess.Popen(["cp", "houses.csv", "fifo"], cwd=folder) as writer,
    ):
        arguments = ["fit", "-", *PRICE[2:], *THREE, "--test", "fifo", "--json"]
        fits = document(lrisk(folder, *arguments, stdin=file))["fits"]
        assert writer.wait(10) == 0
    for fit in fits:
        assert fit["training"] == fit["holdout"]


# Where it goes


def test_the_table_has_a_line_for_each_risk_and_says_where_it_went(folder):
    (folder / "models").mkdir()
    run = lrisk(folder, *PRICE, *THREE, "--holdout", "0.2", "-o", "models")
    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    assert "3 risks of squared losses" in lines[0]
    heads = [line.split() for line in lines if line.startswith("risk")]
    shown = ["mean", "superquantile:0.9", "max"]
    assert heads == [["risk", "objective", "gap", "seconds"], *[["risk", *shown]] * 2]
    titles = [line for line in lines if line.startswith(("training,", "held out,"))]
    assert titles == [f"{rows}, {what}" for rows in ("training", "held out")
                      for what in ("half squared error", "off by, in price")]  # fmt: skip
    for risk, name in zip(THREE[1::2], NAMES, strict=True):
        solved, *losses = [
            [float(cell.replace(",", "")) for cell in line.split()[1:]]
            for line in lines if line.startswith(f"{risk} ")
        ]  # fmt: skip
        # Beside half the squared error, the error in units of the target.
        for halves, sizes in zip(losses[::2], losses[1::2], strict=True):
            assert len(halves) == 3
            assert sizes == pytest.approx(np.sqrt(2.0 * np.array(halves)), rel=1e-5)
        saved = json.loads((folder / "models" / f"{name}.json").read_text())
        assert solved[:2] == pytest.approx(
            [saved["fit"]["objective"], saved["fit"]["gap"]], rel=0.1
        )
    assert lines[-3:] == [f"saved to models/{name}.json" for name in NAMES]
    assert "nothing was saved; pass -o FOLDER/" in lrisk(folder, *PRICE, *THREE).stdout


def test_losses_and_traces_are_named_like_the_models(folder):
    outputs = ["-o", "out/", "--losses", "out/", "--trace", "out/{risk}.tsv"]
    assert lrisk(folder, *PRICE, *THREE, *outputs).returncode == 0
    expected = [f"{name}{end}" for name in NAMES for end in (".json", "-losses.csv", ".tsv")]
    assert models(folder / "out") == sorted(expected)
    for name in NAMES:
        assert len(read_csv((folder / "out" / f"{name}-losses.csv").read_text())) == N_ROWS
        assert (folder / "out" / f"{name}.tsv").read_text().startswith("pass\t")


def test_one_risk_may_be_part_of_the_name_too(folder):
    run = lrisk(folder, *PRICE, "--risk", "esrm:1", "-o", "m-{risk}.json")
    assert run.stdout.splitlines()[-1] == "saved to m-esrm-1.json"


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["-o", "m.json"], "-o m.json: each risk writes a file of its own; name a folder (m/) or "
         "put {risk} into the name, such as m-{risk}.json"),
        (["--losses", "l.csv"], "--losses l.csv: each risk writes a file of its own"),
        (["-o", "-"], "-o -: each risk writes a file of its own, and standard output takes one"),
        (["-o", "houses.csv/"], "houses.csv/mean.json: houses.csv is not a folder; choose"),
        (["-o", "old/"], "old/esrm-1.json: exists; pass --force to overwrite it"),
        (["-o", "m-{risk}.json", "--losses", "{risk}.xls"], "unknown kind of table '.xls'"),
        (["-o", "new/", "--trace", "new/{risk}.xls"], "unknown kind of table '.xls'"),
        (["-o", "new/", "--trace", "houses.csv/{risk}.csv"], "houses.csv is not a folder"),
        (["-o", "{risk}.csv", "--losses", "{risk}.csv"], "mean.csv: is named for two outputs"),
        (["--risk", "cvar:0.9"], "--risk superquantile:0.9 is named twice; name it once"),
        (["--risk", "extremile:3,mean"], "--risk mean is named twice; name it once"),
        (["--risk", "subquantile:0.9", "--solver", "lbfgs"], "subquantile:0.9 falls with the loss"),
    ],
)  # fmt: skip
def test_impossible_paths_are_refused_before_any_work(folder, flags, words):
    (folder / "old").mkdir()
    (folder / "old" / "esrm-1.json").write_text("kept")
    before = models(folder)
    assert words in refusal(lrisk(folder, *PRICE, *THREE, *flags), 2)
    assert models(folder) == before
    assert models(folder / "old") == ["esrm-1.json"]


def test_force_replaces_what_is_there(folder):
    (folder / "old").mkdir()
    (folder / "old" / "esrm-1.json").write_text("gone")
    assert lrisk(folder, *PRICE, *THREE, "-o", "old", "--force").returncode == 0
    assert json.loads((folder / "old" / "esrm-1.json").read_text())["risk"] == "esrm:1"


def test_a_table_that_cannot_be_read_leaves_no_folder(folder):
    command = ["fit", "houses.csv", "--target", "prize", *THREE, "-o", "new/"]
    assert "did you mean 'price'?" in refusal(lrisk(folder, *command), 3)
    assert not (folder / "new").exists()


def test_one_risk_that_did_not_converge_is_enough_to_exit_5(folder):
    flags = [*THREE, "--max-passes", "4", "--require-convergence", "-o", "out/", "--json"]
    run = lrisk(folder, *PRICE, *flags)
    fits = document(run, 5)["fits"]
    assert fits[0]["fit"]["status"].startswith("converged")
    missed = [fit for fit in fits if not fit["fit"]["status"].startswith("converged")]
    assert missed
    sentence = run.stderr.splitlines()[-1]
    assert sentence.startswith(f"lrisk: error: {missed[0]['risk']}: not converged: ")
    assert models(folder / "out") == sorted(f"{name}.json" for name in NAMES)
