"""The page of `compare`: the figures are those of the document, the best is named, refusals."""

import json

import pytest

from helpers.house_prices import add_house_files
from helpers.pages import check_page
from helpers.program import lrisk, refusal
from lrisk_cli.reports.facts import number

FLAGS = ["houses.csv", "--target", "price", "--features", "area,rooms", "--risk", "mean", "--risk",
         "superquantile:0.9", "--rival", "trimmed-ml", "--corrupt", "label:0.3", "--holdout",
         "0.25", "--repeats", "2"]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return add_house_files(tmp_path_factory.mktemp("compare"))


@pytest.fixture(scope="module")
def told(folder):
    """The page, and the document of the same run."""
    run = lrisk(folder, "compare", *FLAGS, "--html", "page.html", "--json")
    assert run.returncode == 0, run.stderr
    return (folder / "page.html").read_text("utf-8"), json.loads(run.stdout)


def test_the_page_has_the_figures_of_the_document(told):
    text, document = told
    root = check_page(text)
    rows = {row[0]: row[1:] for row in
            ([cell.text for cell in line.all("th", "td")] for line in root.all("tr"))}  # fmt: skip
    names = rows["method"]
    assert names == [
        "mean",
        "rmse",
        "superquantile:0.9",
        "max",
        "found",
        "found_precision",
        "seconds",
    ]
    for method in document["methods"]:
        for name, cell in zip(names[:-1], rows[method["method"]], strict=False):
            mean, deviation = (method[kind].get(name) for kind in ("figures", "deviations"))
            assert cell == ("" if mean is None else f"{number(mean, 4)} ± {number(deviation, 2)}")


def test_the_page_names_the_best_method_and_how_to_repeat_it(told):
    text, document = told
    root = check_page(text)
    best = min(
        (m for m in document["methods"] if m["kind"] != "oracle"),
        key=lambda m: m["figures"]["rmse"],
    )
    assert f"{best['method']} has the lowest rmse of 3 methods" in text
    assert f"lrisk compare {' '.join(FLAGS)} --html page.html --json" in text
    assert "gives the same page, but for the seconds" in text
    titles = [caption.text for caption in root.all("figcaption")]
    assert len(titles) == 6
    words = " ".join(element.text for element in root.all("dd"))
    assert "30\u00a0% of the rows to learn from (label)" in words
    assert "300 read" in words


def test_without_planted_rows_nothing_is_said_about_finding_them(folder):
    flags = ["houses.csv", "--target", "sold", "--features", "area,rooms", "--risk", "mean",
             "--rival", "none", "--holdout", "0.25"]  # fmt: skip
    run = lrisk(folder, "compare", *flags, "--html", "clean.html")
    assert run.returncode == 0, run.stderr
    text = (folder / "clean.html").read_text("utf-8")
    check_page(text)
    assert "mean has the accuracy 0." in text
    assert "planted" not in text
    assert "±" not in text


def test_a_page_replaces_neither_input_nor_other_files(folder):
    (folder / "taken.html").write_text("mine")
    flags = [*FLAGS[:5], "--risk", "mean", "--rival", "none"]
    run = lrisk(folder, "compare", *flags, "--html", "taken.html")
    assert "taken.html: exists; pass --force" in refusal(run, 2)
    run = lrisk(folder, "compare", *flags, "--html", "houses.csv", "--force")
    assert "houses.csv: is also an input" in refusal(run, 2)
    assert (folder / "taken.html").read_text() == "mine"
