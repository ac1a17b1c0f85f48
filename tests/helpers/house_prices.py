"""A table of houses, and models of their prices, fitted without the solvers of lrisk."""

import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from helpers.matrix import matrix
from helpers.program import write_csv
from lrisk_cli.design.design import DesignOptions, build_design
from lrisk_cli.models.model import Model, load_model, save_model
from lrisk_cli.models.model_file import FitRecord
from lrisk_cli.names import Missing
from lrisk_cli.tables.table import open_table

N_ROWS = 300


def house_columns() -> dict[str, np.ndarray]:
    """Prices of houses, far from standardised."""
    rng = np.random.default_rng(0)
    area = 100.0 + 30.0 * rng.standard_normal(N_ROWS)
    color = rng.choice(["blue", "green", "red"], N_ROWS)
    noise = rng.standard_t(3, N_ROWS)
    return {
        "house": np.array([f"h{i:03d}" for i in range(N_ROWS)]),
        "area": area,
        "color": color,
        "rooms": rng.integers(1, 9, N_ROWS),
        "price": 50.0 + 2.0 * area + 10.0 * (color == "red") + 5.0 * noise,
        "kind": np.array(["flat", "house", "villa"])[np.digitize(area + 10.0 * noise, [90, 120])],
        "sold": np.where(area + 20.0 * noise > 100.0, "yes", "no"),
    }


def write_model(folder: Path, name: str, target: str, missing: Missing = Missing.ERROR) -> Model:
    """A ridge regression, or some classifier, of houses.csv; fitted without lrisk's solvers."""
    exclude = tuple({"house", "price", "kind", "sold"} - {target})
    options = DesignOptions(target=target, exclude=exclude, missing=missing)
    design, _ = build_design(open_table([str(folder / "houses.csv")]), options)
    X, classes = matrix(design), design.encoding.target.classes
    if classes:
        hits = design.y[:, None] == np.arange(len(classes))
        goals = 4.0 * (hits if len(classes) > 2 else hits[:, 1:]) - 2.0
    else:
        goals = design.y[:, None]
    W = np.linalg.solve(X.T @ X + np.eye(X.shape[1]), X.T @ goals)
    record = FitRecord(
        solver="lsvrg", solver_reason="asked for",
        status="the gap is below the tolerance", passes=12.0, objective=0.5,
        lower_bound=0.4999, absolute_gap=1e-4, gap=2.5e-4, objective_scale="standardised",
        smoothing="none", nu=None, smoothed_objective=None, smoothed_gap=None, step=0.1,
        seed=0, rows_read=N_ROWS, rows_used=N_ROWS, rows_dropped=0,
        drop_reasons={}, fingerprint=design.fingerprint,
    )  # fmt: skip
    model = Model(
        design.encoding,
        "logistic" if classes else "squared",
        "superquantile:0.9",
        1.0 / N_ROWS,
        np.ascontiguousarray(W),
        record,
    )
    save_model(folder / name, model)
    return load_model(folder / name)


@cache
def made_files() -> dict[str, bytes]:
    """houses.csv and three models of it, by name."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_csv(folder / "houses.csv", house_columns())
        for target in ("price", "kind", "sold"):
            write_model(folder, f"{target}.json", target)
        return {path.name: path.read_bytes() for path in folder.iterdir()}


def add_house_files(folder: Path) -> Path:
    """Put houses.csv, price.json, kind.json and sold.json into the folder."""
    for name, contents in made_files().items():
        (folder / name).write_bytes(contents)
    return folder


def price_losses(folder: Path) -> np.ndarray:
    """Half squared errors by hand, from the model's own file."""
    contents = json.loads((folder / "price.json").read_text())
    columns, W = house_columns(), contents["coefficients"]
    goal = contents["encoding"]
    total, at = np.full(N_ROWS, W[-1]), 0
    for feature in goal["features"]:
        values = columns[feature["name"]]
        if feature["kind"] == "number":
            total += W[at] * (values - feature["mean"]) / feature["scale"]
            at += 1
        else:
            for category in feature["categories"]:
                total += W[at] * (values == category)
                at += 1
    predictions = goal["target_mean"] + goal["target_scale"] * total
    return 0.5 * (columns["price"] - predictions) ** 2


def spoil(folder: Path, name: str, row: int, value: object) -> None:
    """houses.csv with one cell changed, as spoiled.csv."""
    columns = {key: column.tolist() for key, column in house_columns().items()}
    columns[name][row] = value
    write_csv(folder / "spoiled.csv", columns)
