"""The page of clusters: the rows it shows, the plane it shows them in, pictures, refusals."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from helpers.clouds import make_clouds
from helpers.house_prices import add_house_files
from helpers.pages import check_page, pixels
from helpers.program import lrisk, refusal, write_csv
from lrisk_cli.evaluation.cluster_evaluation import MOST_FAR, EvaluatedClusters, RowViews, SeenRows
from lrisk_cli.models.cluster_model import ClusterModel
from lrisk_cli.models.loading import load_model
from lrisk_cli.reports.cluster_plots import plane, plane_plot

SHAPE = (3, 4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """houses.csv, clouds.csv with labels, and pictures.csv: bars, crosses and noise."""
    folder = add_house_files(tmp_path_factory.mktemp("clusters"))
    clouds = make_clouds(0)
    names = np.array(["left", "middle", "right", "far"])[clouds.labels]
    write_csv(folder / "clouds.csv", {"x": clouds.X[:, 0], "y": clouds.X[:, 1], "cloud": names})
    rng = np.random.default_rng(0)
    images = 5.0 * rng.standard_normal((100, *SHAPE)) + 100.0
    images[:40, 1] += 150.0
    images[40:80, :, 2] += 150.0
    images[80:] = rng.uniform(0.0, 255.0, (20, *SHAPE))
    columns = {f"p{k}": column for k, column in enumerate(images.reshape(100, -1).T)}
    write_csv(folder / "pictures.csv", columns)
    return folder


def page_of(folder: Path, *arguments: str, code: int = 0) -> str:
    run = lrisk(folder, *arguments, "--html", "page.html", "--force")
    assert run.returncode == code, run.stderr
    return (folder / "page.html").read_text("utf-8")


def model_of(folder: Path, *arguments: str) -> ClusterModel:
    run = lrisk(folder, "cluster", *arguments, "-o", "c.json", "--force")
    assert run.returncode == 0, run.stderr
    return load_model(folder / "c.json")


def test_the_page_tells_what_was_found_and_how_to_repeat_it(folder):
    flags = ["clouds.csv", "-k", "2..4", "--label", "cloud", "--inlier-labels", "left,middle,right"]
    flags += ["--risk", "subquantile:0.75"]
    text = page_of(folder, "cluster", *flags)
    root = check_page(text)
    assert f"lrisk cluster {' '.join(flags)} --html page.html --force" in text
    assert [h.text for h in root.all("h1")] == ["3 clusters of 400 rows by subquantile:0.75"]
    axes = " ".join(element.text for element in root.all("svg"))
    for label in (
        "share of rows at least so far", "share of the rows, and of the weight", "criterion",
        "objective, standardised",
    ):  # fmt: skip
        assert label in axes
    document = json.loads(lrisk(folder, "cluster", *flags, "--json").stdout)
    cells = [[cell.text for cell in row.all("th", "td")] for row in root.all("tr")]
    for entry in document["labels"]["confusion"]:
        star = "" if entry["inlier"] else "*"
        assert [entry["label"] + star, *map(str, entry["rows"])] in cells
    for j, told in enumerate(document["clusters"]):
        shares = [row for row in cells if row[:2] == [str(j), str(told["rows"])]]
        assert shares[0][3] == str(told["outliers"])


def test_an_evaluation_of_clusters_has_a_page_with_its_gates(folder):
    model_of(folder, "clouds.csv", "-k", "3", "--label", "cloud", "--risk", "subquantile:0.75")
    text = page_of(folder, "evaluate", "c.json", "clouds.csv", "--label", "cloud",
                   "--fail-on", "outlier_fraction>0.1", code=1)  # fmt: skip
    root = check_page(text)
    assert "1 of 1 gates failed" in text
    words = " ".join(element.text for element in root.all("dd"))
    assert "100 rows (25\u00a0%) farther than" in words


def test_centres_and_the_farthest_rows_are_shown_as_pictures(folder):
    text = page_of(folder, "cluster", "pictures.csv", "-k", "2", "--image-shape", "3x4",
                   "-o", "c.json", "--assignments", "rows.csv")  # fmt: skip
    root = check_page(text)
    centres = load_model(folder / "c.json").centres
    low, high = centres.min(), centres.max()
    galleries = [
        list(e.all("li")) for e in root.all("div") if e.attributes.get("class") == "pictures"
    ]
    of_centres, of_rows = galleries
    assert len(of_centres) == 2
    for item, centre in zip(of_centres, centres, strict=True):
        ink = pixels(next(item.all("svg")), SHAPE)
        expected = (centre.reshape(SHAPE) - low) / (high - low)
        assert np.max(np.abs(ink - expected)) < 0.05
    rows = list(csv.DictReader((folder / "rows.csv").read_text().splitlines()))
    ranked = sorted(rows, key=lambda row: int(row["rank"]))
    shown = [next(item.all("span")).text for item in of_rows]
    assert shown == [f"row {row['row']}" for row in ranked[:MOST_FAR]]


def rows_seen(model: ClusterModel, X: np.ndarray, n_at_a_time: int) -> SeenRows:
    distances = np.sqrt(((X[:, None] - model.encoded_centres) ** 2).sum(axis=2))
    clusters = distances.argmin(axis=1).astype(np.int32)
    losses = distances.min(axis=1) ** 2
    views = RowViews(X.shape[1])
    for start in range(0, len(X), n_at_a_time):
        at = slice(start, start + n_at_a_time)
        views.add(np.arange(len(X))[at], X[at], clusters[at], losses[at],
                  losses[at] > (model.outlier_distance or np.inf) ** 2)  # fmt: skip
    return views.seen(losses)


def test_the_rows_shown_do_not_depend_on_batches_and_the_farthest_are_the_farthest(folder):
    model = model_of(folder, "houses.csv", "-k", "3", "--features", "area,rooms,price")
    X = np.random.default_rng(0).standard_normal((5000, 3))
    whole, parts = rows_seen(model, X, 5000), rows_seen(model, X, 170)
    for one, other in zip(parts.__slots__, whole.__slots__, strict=True):
        np.testing.assert_array_equal(getattr(parts, one), getattr(whole, other))
    assert 700 <= len(whole.X) <= 1500
    distances = np.sqrt(((X[:, None] - model.encoded_centres) ** 2).sum(axis=2)).min(axis=1)
    np.testing.assert_allclose(whole.far_distances, -np.sort(-distances)[:MOST_FAR])
    np.testing.assert_array_equal(whole.far, X[whole.far_rows])


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_the_plane_holds_the_centres_and_no_outlier_turns_it(folder, k):
    flags = ["--features", "area,rooms,price,color"]
    model = model_of(folder, "houses.csv", "-k", str(k), *flags)
    X = np.random.default_rng(1).standard_normal((200, model.encoding.n_columns))
    seen = rows_seen(model, X, 200)
    _, axes, share = plane(model, seen)
    np.testing.assert_allclose(axes @ axes.T, np.eye(2), atol=1e-9)
    centres = model.encoded_centres - np.average(model.encoded_centres, 0, weights=model.sizes)
    weighted = np.sqrt(model.sizes)[:, None] * centres
    total = np.sum(weighted**2)
    if k <= 3:
        assert share == pytest.approx(1.0)
    if total > 0.0:
        assert share == pytest.approx(np.sum((weighted @ axes.T) ** 2) / total)
    far = replace(seen, X=np.where(seen.outliers[:, None], 1e6 * seen.X, seen.X))
    np.testing.assert_array_equal(plane(model, far)[1], axes)


def test_a_row_a_million_times_farther_does_not_make_one_point_of_the_others(folder):
    model = model_of(folder, "clouds.csv", "-k", "3", "--features", "x,y")
    X = np.random.default_rng(0).standard_normal((300, 2))
    X[7] = 1e6
    seen = rows_seen(model, X, 300)
    evaluated = EvaluatedClusters(None, [100, 100, 100], [0, 0, 1], {}, None)  # type: ignore[arg-type]
    drawn = plane_plot(model, evaluated, seen)
    assert drawn.x_range is not None
    assert np.ptp(drawn.x_range) < 100.0
    n_drawn = sum(len(series.x) for series in drawn.series if series.look in ("dots", "crosses"))
    assert 290 < n_drawn < 300
    assert f"{300 - n_drawn} lie beyond the edges" in drawn.note


def test_one_column_and_one_cluster_have_a_page(folder):
    check_page(page_of(folder, "cluster", "clouds.csv", "-k", "1", "--features", "x"))
    check_page(page_of(folder, "cluster", "clouds.csv", "-k", "12", "--features", "x,y",
                       "--risk", "mean", "--starts", "1"))  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["cluster", "pictures.csv", "-k", "2", "--image-shape", "3x4"], "add --html FILE"),
        (["cluster", "pictures.csv", "-k", "2", "--image-shape", "12", "--html", "p.html"],
         "--image-shape takes HEIGHTxWIDTH, such as 28x28; got '12'"),
        (["cluster", "pictures.csv", "-k", "2", "--image-shape", "0x4", "--html", "p.html"],
         "between 1 and 30,000 pixels"),
        (["cluster", "pictures.csv", "-k", "2", "--image-shape", "4x4", "--html", "p.html"],
         "--image-shape 4x4 has 16 pixels, and pictures.csv 12 feature columns"),
        (["cluster", "clouds.csv", "-k", "2", "--image-shape", "1x3", "--html", "p.html"],
         "column 'cloud' holds categories, which are no pixels"),
        (["evaluate", "price.json", "houses.csv", "--image-shape", "1x3", "--html", "p.html"],
         "--image-shape is for clusters, and price.json has none"),
        (["cluster", "clouds.csv", "-k", "2", "--html", "clouds.csv", "--force"],
         "clouds.csv: is also an input"),
        (["cluster", "clouds.csv", "-k", "2", "--html", "p.html", "-o", "p.html"],
         "named for two outputs"),
    ],
)  # fmt: skip
def test_what_cannot_be_shown_is_refused_before_any_search(folder, arguments, sentence):
    assert sentence in refusal(lrisk(folder, *arguments), 2)
    assert not (folder / "p.html").exists()
