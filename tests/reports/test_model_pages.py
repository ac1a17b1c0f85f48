"""Pages of models of every kind and loss; and what is kept when a page fails."""

import json
from pathlib import Path

import pytest

from helpers.house_prices import add_house_files
from helpers.pages import check_page
from lrisk_cli.cli import run
from lrisk_cli.losses.registry import ENTRIES
from lrisk_cli.names import FeatureMapName, KernelName

# A target for each loss: a loss without one is not tested.
TARGETS = {
    "squared": "price",
    "logistic": "kind",
    "huber:20": "price",
    "quantile:0.8": "price",
    "poisson": "price",
}
MAPS = {kernel.value: ["--kernel", kernel.value] for kernel in KernelName} | {
    each.value: ["--kernel", "rbf", "--feature-map", each.value, "--rank", "40"]
    for each in FeatureMapName
}


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Files of houses; commands run there, within this process, which keeps its signals."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    return add_house_files(tmp_path)


def columns_of(target: str) -> list[str]:
    return ["--target", target, "--features", "area,color,rooms"]


def done(*arguments: str) -> None:
    assert run([*arguments, "--quiet", "--force"]) == 0


def test_every_loss_has_a_target():
    assert {loss.partition(":")[0] for loss in TARGETS} == set(ENTRIES)


@pytest.mark.parametrize("loss", sorted(TARGETS))
@pytest.mark.parametrize("name", sorted(MAPS))
def test_every_kind_of_model_has_pages(folder, capsys, name, loss):
    fit = ["fit", "houses.csv", *columns_of(TARGETS[loss]), "--loss", loss, *MAPS[name]]
    done(*fit, "--html", "fit.html", "-o", "m.json")
    done("evaluate", "m.json", "houses.csv", "--html", "evaluate.html")
    flags = ["--model", "m.json", "--html", "outliers.html"]
    done("detect-outliers", "houses.csv", *flags)
    flags = ["--baseline", "m.json", "--model", "other.json", "--html", "quantiles.html"]
    (folder / "other.json").write_bytes((folder / "m.json").read_bytes())
    done("quantile-report", "houses.csv", *flags)
    for page in ("fit", "evaluate", "outliers", "quantiles"):
        root = check_page((folder / f"{page}.html").read_text())
        assert any("What was done" in heading.text for heading in root.all("h2"))
    is_linear = name == "linear"
    text = (folder / "fit.html").read_text()
    assert ("Coefficients, largest effect first" in text) == is_linear
    # What the terminal and the document say about features, the pages say too.
    assert ("landmarks" in text or "random" in text) == (not is_linear)
    capsys.readouterr()
    assert run(["show", "m.json", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert ("coefficients" in shown) == is_linear


@pytest.mark.parametrize(
    ("arguments", "files"),
    [
        (
            ["fit", "houses.csv", *columns_of("price"), "-o", "m.json", "--losses", "l.csv"],
            ["m.json", "l.csv"],
        ),
        (
            ["fit", "houses.csv", *columns_of("price"), "--risk", "mean", "--risk", "esrm:1",
             "-o", "models/"],
            ["models/mean.json", "models/esrm-1.json"],
        ),
        (
            ["cluster", "houses.csv", "-k", "2", "--features", "area,rooms", "-o", "m.json",
             "--assignments", "a.csv"],
            ["m.json", "a.csv"],
        ),
        (
            ["detect-outliers", "houses.csv", *columns_of("price"), "--save-model", "m.json",
             "-o", "r.csv"],
            ["m.json", "r.csv"],
        ),
    ],
    ids=["fit", "fits", "cluster", "detect-outliers"],
)  # fmt: skip
def test_a_page_that_fails_takes_no_model_with_it(folder, monkeypatch, capsys, arguments, files):
    monkeypatch.setattr("lrisk_cli.reports.html.MAX_BYTES", 10)
    pages = "pages/" if "models/" in arguments else "page.html"
    assert run([*arguments, "--html", pages]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "the page would have" in captured.err
    assert [name for name in files if not (folder / name).exists()] == []
    assert list(folder.rglob("*.html")) == []
