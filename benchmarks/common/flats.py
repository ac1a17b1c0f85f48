"""Generated flats for sale, with the errors that people make when they type such tables."""

from collections.abc import Callable

import numpy as np

from benchmarks.common.planted import Column, Draws, Planted

CITIES = {"Hamburg": 6.0, "Dresden": 3.0, "Muenchen": 9.0, "Rostock": 3.5, "Frankfurt": 6.5}


def make_flats(n: int, draws: Draws) -> Planted:
    """Clean rows: city, area, rooms, year, floor, fee and price, which depends on all of them."""
    city = draws.choice(list(CITIES), n, p=[0.3, 0.2, 0.2, 0.1, 0.2]).astype(object)
    area = np.round(np.exp(4.3 + 0.35 * draws.standard_normal(n)), 1)
    rooms = np.clip(np.round(area / 26.0 + 0.5 * draws.standard_normal(n)), 1.0, 9.0)
    year = np.round(2020.0 - draws.gamma(3.0, 15.0, n))
    fee = np.round(2.5 * area + 20.0 * draws.standard_normal(n), 0)
    level = np.array([CITIES[each] for each in city]) * (1.0 + 0.003 * (year - 1970.0))
    price = np.round(1000.0 * level * area * np.exp(0.12 * draws.standard_normal(n)), -2)
    columns: dict[str, Column] = {
        "city": city, "area": area, "rooms": rooms, "year": year,
        "floor": np.floor(draws.exponential(2.5, n)), "fee": fee, "price": price,
    }  # fmt: skip
    return Planted(columns, "price", np.zeros(n, np.bool_), [() for _ in range(n)])


def plant_in_flats(flats: Planted, kind: str, rows: Column) -> None:
    """Make these rows wrong in one way."""
    names = MISTAKES[kind](flats.columns, rows)
    for row in rows.tolist():
        flats.wrong[row], flats.places[row] = True, names


def _times(name: str, factor: float) -> Callable[[dict[str, Column], Column], tuple[str, ...]]:
    def change(columns: dict[str, Column], rows: Column) -> tuple[str, ...]:
        columns[name][rows] = np.round(columns[name][rows] * factor, 3)
        return (name,)

    return change


def _swap(columns: dict[str, Column], rows: Column) -> tuple[str, ...]:
    area = columns["area"][rows].copy()
    columns["area"][rows], columns["rooms"][rows] = columns["rooms"][rows], area
    return ("area", "rooms")


def _reverse_year(columns: dict[str, Column], rows: Column) -> tuple[str, ...]:
    for row in rows.tolist():
        columns["year"][row] = float(str(int(columns["year"][row]))[::-1])
    return ("year",)


def _misspell(columns: dict[str, Column], rows: Column) -> tuple[str, ...]:
    for k, row in enumerate(rows.tolist()):
        text, at = str(columns["city"][row]), 1 + k % 4
        columns["city"][row] = text[:at] + text[at + 1] + text[at] + text[at + 2 :]
    return ("city",)


def _move(columns: dict[str, Column], rows: Column) -> tuple[str, ...]:
    """The dearest city for the cheapest, and the other way round."""
    for row in rows.tolist():
        columns["city"][row] = "Dresden" if columns["city"][row] == "Muenchen" else "Muenchen"
    return ("city",)


MISTAKES: dict[str, Callable[[dict[str, Column], Column], tuple[str, ...]]] = {
    "price / 1000": _times("price", 0.001),
    "price x 10": _times("price", 10.0),
    "area and rooms swapped": _swap,
    "area in square feet": _times("area", 10.7639),
    "year reversed": _reverse_year,
    "city misspelt": _misspell,
    "wrong city": _move,
}
