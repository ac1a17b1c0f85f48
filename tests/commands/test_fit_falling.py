"""`lrisk fit` by falling risks: the real program, its files, and what it refuses."""

import json
from pathlib import Path

import numpy as np
import pytest

from helpers.house_prices import N_ROWS, add_house_files, house_columns
from helpers.program import document, lrisk, read_csv, refusal, write_csv
from lrisk_cli.models.model_file import decode_file

SUB = ("--risk", "subquantile:0.8")
PRICE = ("fit", "houses.csv", "--target", "price", "--exclude", "house,kind,sold", "--quiet")
SOLD = ("fit", "houses.csv", "--target", "sold", "--exclude", "house,kind,price", "--quiet")
KIND = ("fit", "houses.csv", "--target", "kind", "--exclude", "house,sold,price", "--quiet")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return add_house_files(tmp_path)


@pytest.mark.parametrize("task", [PRICE, SOLD, KIND])
@pytest.mark.parametrize("risk", ["subquantile:0.8", "lower-extremile:2"])
@pytest.mark.parametrize("kernel", [(), ("--kernel", "rbf", "--rank", "40")])
def test_every_task_and_kernel_is_fitted_without_a_proof(folder, task, risk, kernel):
    found = document(lrisk(folder, *task, "--risk", risk, *kernel, "--json"))["fit"]
    assert found["solver"] == "trimmed"
    assert (found["lower_bound"], found["absolute_gap"], found["gap"]) == (None, None, None)
    assert found["status"].startswith("stationary: best of ")
    ended = min(start["objective"] for start in found["starts"])
    assert "inliers" not in found["status"]
    assert (found["reweighted"], found["trimmed_objective"]) == (False, None)
    assert found["objective"] == ended


def test_all_files_are_written_and_none_tells_a_gap(folder):
    outputs = ["-o", "m.json", "--trace", "t.csv", "--losses", "l.csv", "--html", "p.html"]
    run = lrisk(folder, *PRICE, *SUB, *outputs)
    assert run.returncode == 0, run.stderr
    assert "not proved: this risk is not convex, so a better fit may exist" in run.stdout
    assert "gap" not in run.stdout
    trace = read_csv((folder / "t.csv").read_text())
    assert {row["gap"] for row in trace} == {row["lower_bound"] for row in trace} == {""}
    weights = [float(row["weight"]) for row in read_csv((folder / "l.csv").read_text())]
    assert weights.count(0.0) == N_ROWS // 5
    page = (folder / "p.html").read_text()
    assert "stationary" in page
    assert "gap proved" not in page
    shown = lrisk(folder, "show", "m.json").stdout
    assert "stationary: best of 3 starts" in shown
    assert "gap" not in shown


def test_the_same_seed_writes_the_same_bytes(folder):
    for name in ("a.json", "b.json"):
        assert lrisk(folder, *SOLD, *SUB, "--seed", "3", "-o", name).returncode == 0
    assert (folder / "a.json").read_bytes() == (folder / "b.json").read_bytes()


def test_a_model_file_without_the_newer_keys_is_read(folder):
    contents = json.loads((folder / "price.json").read_text())
    for key in ("starts", "reweighted", "trimmed_objective", "contamination"):
        del contents["fit"][key]
    assert decode_file(json.dumps(contents).encode(), "old").fit.starts is None


def test_planted_outliers_do_not_move_the_coefficients(folder):
    columns = house_columns()
    rng = np.random.default_rng(1)
    bad = rng.permutation(N_ROWS)[:90]
    columns["price"][bad] = rng.normal(900.0, 100.0, 90)
    write_csv(folder / "houses.csv", columns)
    lrisk(folder, *PRICE, "--risk", "subquantile:0.65", "-o", "m.json")
    shown = document(lrisk(folder, "show", "m.json", "--json"))
    area = next(entry for entry in shown["coefficients"] if entry["column"] == "area")
    assert area["coefficient"] == pytest.approx(2.0, abs=0.1)


def test_several_risks_of_both_kinds_stand_side_by_side(folder):
    run = lrisk(folder, *PRICE, *SUB, "--risk", "mean", "--risk", "superquantile:0.5", "--json")
    fits = document(run)["fits"]
    gaps = [fit["fit"]["gap"] for fit in fits]
    assert gaps[0] is None
    assert all(0.0 <= gap <= 1e-6 for gap in gaps[1:])
    # What a falling risk leads to does not depend on what was fitted before.
    swapped = document(lrisk(folder, *PRICE, "--risk", "mean", *SUB, "--risk", "esrm:1", "--json"))
    assert swapped["fits"][1]["fit"]["objective"] == fits[0]["fit"]["objective"]


def test_cross_validation_chooses_among_falling_risks(folder):
    flags = ("--risk", "subquantile:0.6", "--cv", "3", "--select-by", "mae", "--json")
    found = document(lrisk(folder, *PRICE, *SUB, *flags))
    candidates = found["cross_validation"]["candidates"]
    assert [each["fits_not_converged"] for each in candidates] == [0, 0]
    assert found["risk"] in ("subquantile:0.8", "subquantile:0.6")


def test_compare_and_quantile_report_take_falling_risks(folder):
    flags = ("--target", "price", "--exclude", "house,kind,sold", *SUB, "--quiet", "--json")
    corrupted = ("--corrupt", "label:0.2", "--rival", "none", "--risk", "mean")
    found = document(lrisk(folder, "compare", "houses.csv", *flags, *corrupted))
    rmse = {method["method"]: method["figures"]["rmse"] for method in found["methods"]}
    assert rmse["subquantile:0.8"] < 0.2 * rmse["mean"]
    found = document(lrisk(folder, "quantile-report", "houses.csv", *flags))
    assert [model["gap"] is None for model in found["models"]] == [True]


def test_convergence_can_be_insisted_on(folder):
    assert lrisk(folder, *PRICE, *SUB, "--require-convergence").returncode == 0
    run = lrisk(folder, *PRICE, *SUB, "--require-convergence", "--max-passes", "4")
    assert run.returncode == 5
    assert "not converged: stopped after 4 passes (--max-passes)" in run.stderr


def test_fewer_rows_than_columns_are_refused_and_nothing_is_written(folder):
    run = lrisk(folder, *PRICE, "--risk", "subquantile:0.01", "-o", "m.json")
    sentence = refusal(run, 3)
    assert "subquantile:0.01 keeps 3 of 300 rows, fewer than the 6 columns" in sentence
    assert not (folder / "m.json").exists()


def test_one_class_left_is_refused_and_nothing_is_written(folder):
    columns = house_columns()
    columns["sold"][:] = "no"
    columns["sold"][::10] = "yes"
    write_csv(folder / "houses.csv", columns)
    run = lrisk(folder, *SOLD, "--risk", "subquantile:0.5", "-o", "m.json")
    assert "subquantile:0.5 leaves weight to rows of one class only ('no')" in refusal(run, 3)
    assert not (folder / "m.json").exists()


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--risk", "subquantile:0.8", "--smoothing", "l2"), "falls with the loss; pass softplus"),
        (("--risk", "lower-extremile:2", "--smoothing", "entropy"), "loss; leave it out"),
        (("--risk", "lower-extremile:2", "--smoothing", "softplus"), "lower-extremile:2 has none"),
        (("--risk", "esrm:1", "--smoothing", "softplus"), "esrm:1 rises with the loss; pass l2"),
        ((*SUB, "--smoothing", "softplus", "--solver", "sgd"), "only by subgradient and trimmed"),
        ((*SUB, "--solver", "newton"), "--solver newton needs a convex risk"),
        ((*SUB, "--momentum", "0.5"), "--momentum is not used by --solver auto"),
    ],
)
def test_what_falling_risks_do_not_take_is_refused(folder, flags, words):
    assert words in refusal(lrisk(folder, *PRICE, *flags), 2)


def test_softplus_is_recorded_with_its_objective(folder):
    found = document(lrisk(folder, *PRICE, *SUB, "--smoothing", "softplus", "--json"))["fit"]
    assert (found["smoothing"], found["nu"]) == ("softplus", 1e-3)
    assert found["smoothed_objective"] > found["objective"]
    assert found["smoothed_gap"] is None


def test_the_papers_method_is_one_command(folder):
    method = ("--solver", "subgradient", "--momentum", "0.9", "--nesterov", "--norm-bound", "2")
    method = (*method, "--start", "glorot", "--tol", "1e-4")
    found = document(lrisk(folder, *PRICE, *SUB, *method, "--json"))["fit"]
    assert found["status"].startswith("stationary: ")
    usual = document(lrisk(folder, *PRICE, *SUB, "--json"))["fit"]
    assert found["objective"] == pytest.approx(usual["objective"], rel=0.05)


def scales(folder, *flags):
    """What the column 'area' is centred and scaled by, and the notes of the fit."""
    flags = (*flags, "-o", "m.json", "--force", "--json")
    found = document(lrisk(folder, *PRICE, *flags))
    features = json.loads((folder / "m.json").read_text())["encoding"]["features"]
    area = next(feature for feature in features if feature["name"] == "area")
    return area["mean"], area["scale"], found["notes"]


def test_falling_risks_scale_by_median_and_mad_unless_told_otherwise(folder):
    area = house_columns()["area"]
    median = np.median(area)
    robust = (median, 1.4826 * np.median(np.abs(area - median)))
    plain = (area.mean(), area.std())
    assert scales(folder, *SUB)[:2] == pytest.approx(robust)
    assert scales(folder, *SUB, "--scaling", "deviation")[:2] == pytest.approx(plain)
    assert scales(folder)[:2] == pytest.approx(plain)
    assert scales(folder, "--scaling", "mad")[:2] == pytest.approx(robust)
    both = scales(folder, *SUB, "--risk", "mean", "--cv", "2")
    assert both[:2] == pytest.approx(plain)
    assert any("alone, subquantile:0.8 would use median and MAD" in note for note in both[2])


def test_scaling_without_standardising_is_refused(folder):
    run = lrisk(folder, *PRICE, "--scaling", "mad", "--standardize", "none")
    assert "--scaling has no meaning with --standardize none" in refusal(run, 2)
