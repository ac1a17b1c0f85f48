"""Write the small tables that the samples lack: dates, categories, missing cells, many formats."""

import random
from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from pathlib import Path

Row = Sequence[object]
KINDS = ("flat", "house", "shop", "office", "barn")


def write_tables(folder: Path) -> None:
    """All tables; the same bytes every time."""
    folder.mkdir(parents=True, exist_ok=True)
    orders = list(_orders(400, random.Random(1)))
    _write(folder / "orders.csv", ORDERS, orders)
    _write(folder / "orders_new.csv", ORDERS, _orders(120, random.Random(2), KINDS))
    _write(folder / "orders.tsv", ORDERS, orders, "\t")
    _write(folder / "european.csv", ["a", "b", "c"], _european(), ";")
    _write(folder / "classes.csv", ["u", "v", "w", "code", "kind"], _classes())
    for part in range(3):
        name = folder / "parts" / f"part={part}" / "rows.csv"
        name.parent.mkdir(parents=True, exist_ok=True)
        _write(name, ORDERS, orders[part * 100 : (part + 1) * 100])


ORDERS = ["id", "ordered", "at", "kind", "rooms", "area", "insured", "price"]


def _orders(n_rows: int, rng: random.Random, kinds: Sequence[str] = KINDS[:4]) -> Iterable[Row]:
    """Dates, times, categories and numbers, about one cell in fifteen of which is missing."""
    for at in range(n_rows):
        day = date(2023, 1, 1) + timedelta(days=rng.randrange(500))
        moment = datetime(2024, 3, 1) + timedelta(minutes=rng.randrange(60 * 24 * 30))
        kind, rooms = rng.choice(kinds), rng.randrange(1, 9)
        area = round(20 * rooms * rng.uniform(0.6, 1.5), 1)
        price = 3 * area + 40 * kinds.index(kind) + 20 * (day.weekday() > 4) + rng.gauss(0, 15)
        price += 400 * (rng.random() < 0.05)
        cells = [day, moment.isoformat(" "), kind, rooms, area, rng.choice(["true", "false"])]
        holed = ["" if rng.random() < 0.07 else cell for cell in cells]
        yield [f"o-{at:04d}", *holed, round(price, 2)]


def _european() -> Iterable[Row]:
    """Semicolons and decimal commas, with ? and -999 for missing."""
    rng = random.Random(3)
    for at in range(150):
        a, b = rng.gauss(0, 1), rng.gauss(5, 2)
        texts = [f"{x:.4f}".replace(".", ",") for x in (a, b, 2 * a - b + rng.gauss(0, 0.5))]
        yield ["?" if at % 17 == 0 else texts[0], "-999" if at % 23 == 0 else texts[1], texts[2]]


def _classes() -> Iterable[Row]:
    """Four classes, one of them rare, and a zero-padded code."""
    rng = random.Random(4)
    names = ("oak", "ash", "elm", "yew")
    for _ in range(360):
        truth = rng.choices(range(4), [10, 10, 8, 2])[0]
        centre = (truth % 2 * 2.0, truth // 2 * 2.0, truth * 0.5)
        yield [
            *(round(rng.gauss(c, 1), 4) for c in centre),
            f"{rng.randrange(6):03d}",
            names[truth],
        ]


def _write(path: Path, header: Row, rows: Iterable[Row], separator: str = ",") -> None:
    lines = (separator.join(map(str, row)) for row in (header, *rows))
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
