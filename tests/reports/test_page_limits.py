"""What a page leaves out, it says: methods, quantiles and bands beyond an axis, rows of a list."""

import re
from pathlib import Path

import numpy as np
import pytest

from helpers.program import document, run_here, write_csv
from lrisk_cli.evaluation.comparison import MethodResult, Trial
from lrisk_cli.reports.comparison_page import _reach as reach_of_methods
from lrisk_cli.reports.figures import Series
from lrisk_cli.reports.outlier_page import _whole_ticks
from lrisk_cli.reports.quantile_page import _beyond
from lrisk_cli.reports.quantile_page import _reach as reach_of_levels

SAMPLES = Path(__file__).parents[2] / "sample_data"


def methods(**means):
    """Methods on two splits, whose figures differ by a little."""

    def trial(figure):
        return Trial({"rmse": figure}, 1.0)

    return [
        MethodResult(name, "rival", (trial(mean - 0.1), trial(mean + 0.1)))
        for name, mean in means.items()
    ]


def test_a_method_that_would_squeeze_the_others_is_named_instead():
    reach, words = reach_of_methods(methods(a=1.0, b=1.1, c=1.2, d=1.3, bad=9.0), "rmse")
    assert reach is not None
    assert reach[0] < 0.9 < 1.4 < reach[1] < 2.0
    assert words == ["Beyond the axis: bad (9)."]


@pytest.mark.parametrize("means", [{"a": 1.0, "b": 1.1, "c": 1.5}, {"a": 1.0}, {"a": 1.0, "b": 9}])
def test_methods_of_one_size_are_all_drawn(means):
    assert reach_of_methods(methods(**means), "rmse") == (None, [])


def test_the_largest_loss_does_not_squeeze_the_quantiles_and_is_said():
    levels = np.array([0.5, 0.9, 0.99, 1.0])
    line = Series("m", levels, np.array([0.01, 0.02, -0.01, -3.0]))
    reach = reach_of_levels([line], 0.99)
    assert -0.1 < reach[0] < reach[1] < 0.1
    assert _beyond([line], reach, percent=True) == (
        " At p = 1 the difference is -300 %, beyond the axis."
    )
    near = Series("m", levels, np.array([0.01, 0.02, -0.01, 0.02]))
    assert _beyond([near], reach, percent=True) == ""
    wide = Series("m", levels, near.y, low=near.y - 1.0, high=near.y + 1.0)
    assert _beyond([wide], reach, percent=False) == " The bands go on beyond the axis."


@pytest.mark.parametrize(("largest", "step"), [(1, 1), (4, 1), (7, 2), (36, 10), (480, 100),
                                               (17, 5), (100, 20)])  # fmt: skip
def test_counts_have_round_ticks(largest, step):
    ticks = sorted(_whole_ticks(largest))
    assert ticks == list(range(0, largest + 1, step))
    assert len(ticks) <= 6


def test_a_page_lists_up_to_fifty_outliers_and_the_document_the_first_ten(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    x = rng.normal(size=600)
    y = x + 0.1 * rng.normal(size=600)
    y[:60] += 20.0
    write_csv(tmp_path / "many.csv", {"x": x, "y": y})
    detect = ("detect-outliers", "many.csv", "--target", "y", "--contamination", "0.1", "--json",
              "--quiet", "--force")  # fmt: skip
    plain = document(run_here(capsys, *detect))
    found = document(run_here(capsys, *detect, "--html", "page.html"))
    assert found["outliers"] == plain["outliers"]
    assert (len(found["outliers"]), found["n_outliers"]) == (10, 60)
    page = (tmp_path / "page.html").read_text()
    assert (
        "The 50 rows of the largest scores; 10 more outliers are in the file of --output FILE"
        in (page)
    )
    assert len(re.findall(r">(?:error|group)<", page)) == 50
    less = [each.replace("0.1", "0.01") for each in detect]
    assert document(run_here(capsys, *less, "--html", "page.html"))["n_outliers"] == 6
    assert len(re.findall(r">(?:error|group|no)<", (tmp_path / "page.html").read_text())) == 10


def test_the_typical_error_is_not_shown_twice(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    wine = str(SAMPLES / "wine_quality_red.csv")
    assert run_here(capsys, "fit", wine, "--target", "quality", "-o", "m.json").returncode == 0
    evaluate = ("evaluate", "m.json", wine, "--html", "page.html", "--json")
    figures = document(run_here(capsys, *evaluate))["metrics"]
    tiles = (tmp_path / "page.html").read_text().partition("At a glance")[2][:2000]
    assert tiles.count(f"{figures['rmse']:.4g}") == 1
    assert f"{figures['mae']:.4g}" in tiles
