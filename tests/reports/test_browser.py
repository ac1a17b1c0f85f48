"""Pages as a browser shows them: no complaint, nothing loaded, nothing beyond the edge."""

import io
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from helpers.browser import Browser, find_chromium, open_browser
from helpers.house_prices import add_house_files
from helpers.program import lrisk, write_csv

CHROMIUM = find_chromium()
DESKTOP, PHONE = 1200, 390
pytestmark = pytest.mark.skipif(
    CHROMIUM is None,
    reason="NO CHROMIUM HERE: pages are not looked at; install Debian's package chromium",
)
COMMANDS = {
    "fit": ["fit", "houses.csv", "--target", "price", "--features", "area,color,rooms",
            "--holdout", "0.2", "--by", "color", "--risk", "worst-group"],
    "evaluate": ["evaluate", "kind.json", "houses.csv", "--intervals", "--fail-on", "max>=0",
                 "--by", "color"],
    "detect-outliers": ["detect-outliers", "houses.csv", "--target", "price", "--features",
                        "area,color,rooms", "--id", "house", "--fail-on", "outlier_fraction>=0"],
    "cluster": ["cluster", "houses.csv", "-k", "2..4", "--features", "area,color,rooms,price",
                "--label", "kind", "-o", "clusters.json"],
    "pictures": ["evaluate", "pixels.json", "pixels.csv", "--image-shape", "2x3", "--fail-on",
                 "outlier_fraction>=0"],
    "compare": ["compare", "houses.csv", "--target", "price", "--features", "area,color,rooms",
                "--corrupt", "label:0.2", "--holdout", "0.2", "--repeats", "2"],
    "quantile-report": ["quantile-report", "houses.csv", "--target", "price", "--features",
                        "area,color,rooms", "--by", "color", "--repeats", "2", "--risk",
                        "extremile:2", "--risk", "superquantile:0.8"],
}  # fmt: skip


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> Path:
    """One page of each command, and one that breaks its own policy."""
    folder = add_house_files(tmp_path_factory.mktemp("pages"))
    pixels = np.random.default_rng(0).uniform(0.0, 255.0, (6, 40))
    write_csv(folder / "pixels.csv", {f"p{k}": pixels[k] for k in range(6)})
    found = lrisk(folder, "cluster", "pixels.csv", "-k", "2", "-o", "pixels.json")
    assert found.returncode == 0, found.stderr
    for name, command in COMMANDS.items():
        run = lrisk(folder, *command, "--html", f"{name}.html", timeout=240)
        assert run.returncode in (0, 1), run.stderr
    text = (folder / "fit.html").read_text("utf-8")
    bad = text.replace("<h1>", '<img src="picture.png"><h1 style="color: red">', 1)
    (folder / "bad.html").write_text(bad, "utf-8")
    return folder


@pytest.fixture(scope="module")
def browser(tmp_path_factory) -> Iterator[Browser]:
    profile = tmp_path_factory.mktemp("profile")
    with open_browser(str(CHROMIUM), profile) as opened:
        yield opened
    shutil.rmtree(profile, ignore_errors=True)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [DESKTOP, PHONE])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_page_is_shown_without_complaint(pages, browser, name, width, dark):
    browser.open(pages / f"{name}.html", width=width, dark=dark)
    assert browser.problems == []
    assert browser.evaluate("document.documentElement.scrollWidth") == width
    beyond = (
        "[...document.querySelectorAll('main *')].filter(e => !e.closest('.scroll, svg') && "
        "e.getBoundingClientRect().right > innerWidth + 1).length"
    )
    assert browser.evaluate(beyond) == 0
    image = np.asarray(Image.open(io.BytesIO(browser.screenshot())).convert("L"), np.float64)
    assert image.shape[1] == width
    # Mostly paper, and some ink of the other kind.
    assert (np.median(image) < 64) == dark
    assert np.ptp(image) > 150


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_and_lines_stand_out_from_the_paper(pages, browser, dark):
    """The contrast that the accessibility guidelines ask for: 4.5 for text, 3 for lines."""
    browser.open(pages / "quantile-report.html", width=DESKTOP, dark=dark)
    style = "getComputedStyle(document.documentElement).getPropertyValue"
    colors = {
        name: browser.evaluate(
            f"{style}.call(getComputedStyle(document.documentElement), '--{name}')"
        )
        for name in ("paper", "panel", "ink", "muted", *(f"s{k}" for k in range(8)))
    }
    for name in ("ink", "muted"):
        assert contrast(colors[name], colors["paper"]) >= 4.5
        assert contrast(colors[name], colors["panel"]) >= 4.5
    for k in range(8):
        assert contrast(colors[f"s{k}"], colors["paper"]) >= 3.0


def contrast(one: str, other: str) -> float:
    """Relative luminances, the lighter over the darker."""
    bright, dim = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def luminance(color: str) -> float:
    parts = [int(color.strip()[i : i + 2], 16) / 255.0 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def test_a_page_that_breaks_its_policy_is_noticed(pages, browser):
    browser.open(pages / "bad.html", width=DESKTOP)
    said = " ".join(browser.problems)
    assert "inline style" in said
    assert "picture.png" in said
