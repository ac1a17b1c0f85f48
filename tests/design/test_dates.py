"""Dates become days or parts of the calendar, the same in every file, command and batch."""

import json
import re
from datetime import UTC, datetime, timedelta
from math import cos, pi, sin
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.matrix import matrix
from helpers.program import document, lrisk, refusal
from lrisk_cli.design.dates import (
    MONTHS,
    PARTS,
    WEEKDAYS,
    Calendar,
    part_codes,
    part_waves,
    spell_date,
)
from lrisk_cli.design.design import Design, DesignOptions, build_design
from lrisk_cli.design.planning import plan_design
from lrisk_cli.models import model_text as modeltext
from lrisk_cli.models.loading import load_model
from lrisk_cli.names import Dates, Missing, Task
from lrisk_cli.tables import csv_files
from lrisk_cli.tables.table import open_table

START = datetime(1970, 1, 1, tzinfo=UTC)
MOMENTS = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31)).map(
    lambda moment: moment.replace(tzinfo=UTC, microsecond=0)
)
PARTED = DesignOptions("y", dates=Dates.PARTS, missing=Missing.IMPUTE, task=Task.REGRESSION)


def days_since(moment: datetime) -> float:
    since = moment - START
    return (since.days * 86_400e6 + since.seconds * 1e6 + since.microseconds) / 86_400e6


def parts_of(moment: datetime) -> list[float]:
    """All parts, by the standard library."""
    angle = 2.0 * pi * (60 * moment.hour + moment.minute) / 1440
    return [
        *(float(moment.strftime("%b") == name) for name in MONTHS),
        *(float(moment.strftime("%a") == name) for name in WEEKDAYS),
        sin(angle), cos(angle), sin(2.0 * angle), cos(2.0 * angle),
    ]  # fmt: skip


def write(folder: Path, moments: list[datetime | None], name: str) -> str:
    """Moments, a number and a target."""
    column = pa.array(moments, pa.timestamp("us", "UTC"))
    n = len(moments)
    table = pa.table({"when": column, "x": np.arange(n) % 7 * 1.5, "y": np.arange(n) % 5 * 1.0})
    path = str(folder / name)
    (pacsv.write_csv if name.endswith("csv") else pq.write_table)(table, path)
    return path


def hourly(n_rows: int, step: timedelta = timedelta(hours=7)) -> list[datetime]:
    return [datetime(2023, 11, 5, 3, tzinfo=UTC) + k * step for k in range(n_rows)]


# The calendar


@settings(deadline=None)
@given(st.lists(MOMENTS, min_size=1, max_size=20))
def test_parts_are_those_of_the_standard_library(moments):
    days = np.array([days_since(moment) for moment in moments])
    found, codes = np.zeros((len(moments), len(PARTS))), part_codes(days, PARTS)
    np.put_along_axis(found, codes, 1.0, axis=1)
    found[:, -4:] = part_waves(days, PARTS)
    np.testing.assert_allclose(found, [parts_of(moment) for moment in moments], atol=1e-15)


def test_a_part_that_never_varies_is_left_out():
    calendar = Calendar()
    assert calendar.parts == ()
    calendar.add(np.array([0.0, np.nan, 7.0, 14.0]))
    assert calendar.parts == ()
    calendar.add(np.array([31.0]))
    assert calendar.parts == ("month=Jan", "month=Feb", "weekday=Thu", "weekday=Sun")
    calendar.add(np.array([0.5]))
    # Noon and midnight are the same on the wave of half a day, and both at height 0 of its sine.
    assert calendar.parts[4:] == ("day_cos",)
    calendar.add(np.array([0.7]))
    assert calendar.parts[4:] == PARTS[-4:]


def test_dates_are_spelled_with_their_weekday():
    moment = datetime(2013, 12, 23, 17, 5, tzinfo=UTC)
    assert spell_date(days_since(moment), with_time=True) == "Mon 2013-12-23 17:05"
    assert spell_date(days_since(moment), with_time=False) == "Mon 2013-12-23"
    assert spell_date(-1.0, with_time=False) == "Wed 1969-12-31"
    assert spell_date(1e9, with_time=False) == "1e+09"


# Designs


def test_columns_are_days_parts_and_the_mark_of_a_hole(tmp_path):
    moments = [*hourly(40), None]
    design, _ = build_design(open_table([write(tmp_path, moments, "t.parquet")]), PARTED)
    names = design.encoding.column_names
    assert names[:3] == ("when.days", "when.weekday=Mon", "when.weekday=Tue")
    assert names[-3:] == ("when=(missing)", "x", "(intercept)")
    feature = design.encoding.features[0]
    middle = sorted(moments[:-1])[19]
    assert feature.fill == days_since(middle)
    filled = [*moments[:-1], middle]
    days = np.array([days_since(moment) for moment in filled])
    np.testing.assert_allclose(feature.mean + feature.scale * matrix(design)[:, 0], days)
    kept = [PARTS.index(part) for part in feature.parts]
    expected = np.array([parts_of(moment) for moment in filled])[:, kept]
    np.testing.assert_allclose(matrix(design)[:, 1 : feature.n_values], expected, atol=1e-15)
    assert matrix(design)[:, feature.n_values].tolist() == [0.0] * 40 + [1.0]


@settings(max_examples=40, deadline=None)
@given(
    moments=st.lists(st.one_of(st.none(), MOMENTS), min_size=3, max_size=30),
    batch_rows=st.integers(1, 9),
    block=st.integers(40, 200),
)
def test_format_and_batches_do_not_change_a_bit(tmp_path_factory, moments, batch_rows, block):
    folder = tmp_path_factory.getbasetemp()
    moments = [*moments, START, START + timedelta(days=50, hours=7)]
    parquet, text = (write(folder, moments, name) for name in ("t.parquet", "t.csv"))
    designs = [build_design(open_table([parquet], batch_rows=batch_rows), PARTED)[0]]
    designs.append(build_design(open_table([parquet]), PARTED)[0])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_files, "BLOCK_BYTES", block)
        table = open_table([text], expected={"when": "date"})
        designs.append(build_design(table, PARTED)[0])
    for design in designs[1:]:
        assert matrix(design).tobytes() == matrix(designs[0]).tobytes()
        assert design.encoding == designs[0].encoding
        assert design.fingerprint == designs[0].fingerprint
    assert scored_again(designs[0], parquet, batch_rows) == matrix(designs[0]).tobytes()


def scored_again(design: Design, path: str, batch_rows: int) -> bytes:
    """The rows of a file as the encoding of a design makes them, batch by batch."""
    table = open_table([path], expected=design.encoding.dtypes, batch_rows=batch_rows)
    batches = table.batches(["when", "x", "y"])
    return np.concatenate([matrix(design.encoding.encode(batch)) for batch in batches]).tobytes()


@pytest.mark.parametrize("missing", [Missing.DROP, Missing.IMPUTE])
def test_a_dry_run_counts_the_parts(tmp_path, missing):
    for n_rows, step in [(30, timedelta(hours=7)), (4, timedelta(days=7)), (9, timedelta(days=1))]:
        path = write(tmp_path, [*hourly(n_rows, step), None], "t.parquet")
        options = DesignOptions("y", dates=Dates.PARTS, missing=missing, task=Task.REGRESSION)
        plan = plan_design(open_table([path]), options, flat=True)
        design, _ = build_design(open_table([path]), options)
        assert plan.n_columns == design.rows.shape[1]
        assert plan.features[0].kind == "date"


def test_times_of_day_and_durations_stay_numbers(tmp_path):
    hours = [timedelta(hours=k) for k in range(24)]
    columns = {
        "span": pa.array(hours),
        "clock": pa.array([(START + k).time() for k in hours], pa.time32("s")),
        "y": np.arange(24.0),
    }
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    design, _ = build_design(open_table([str(tmp_path / "t.parquet")]), PARTED)
    assert design.encoding.column_names == ("span", "clock", "(intercept)")
    assert [feature.mean for feature in design.encoding.features] == pytest.approx([11.5 / 24] * 2)


# The program

DAYS = 300


@pytest.fixture(scope="module")
def shop(tmp_path_factory) -> Path:
    """Sales that double in December and fall on Sundays, as CSV and Parquet; one day is wrong."""
    folder = tmp_path_factory.mktemp("shop")
    moments = [datetime(2021, 3, 1, tzinfo=UTC) + timedelta(days=k) for k in range(DAYS)]
    noise = np.random.default_rng(0).normal(size=DAYS)
    sales = [
        100.0 + 100.0 * (moment.month == 12) - 40.0 * (moment.weekday() == 6) + 0.1 * k + error
        for k, (moment, error) in enumerate(zip(moments, noise, strict=True))
    ]
    sales[211] += 60.0
    table = pa.table(
        {"day": [moment.date() for moment in moments], "sales": np.round(sales, 3), "x": noise}
    )
    pq.write_table(table, folder / "shop.parquet")
    pacsv.write_csv(table, folder / "shop.csv")
    return folder


FIT = ("--target", "sales", "--risk", "mean", "--l2", "1e-9", "--dates", "parts",
       "--quiet", "--force")  # fmt: skip


def test_a_model_is_the_same_from_either_format_and_repeats_itself(shop):
    for name in ("csv", "parquet"):
        done = lrisk(shop, "fit", f"shop.{name}", *FIT, "-o", f"{name}.json", "--losses", "l.csv")
        assert done.returncode == 0, done.stderr
    assert (shop / "csv.json").read_bytes() == (shop / "parquet.json").read_bytes()
    done = lrisk(shop, "evaluate", "csv.json", "shop.parquet", "--losses", "e.csv", "--force")
    assert done.returncode == 0, done.stderr
    assert (shop / "e.csv").read_text().splitlines()[1].startswith("0,")
    losses = [
        np.genfromtxt(shop / f, delimiter=",", names=True)["loss"] for f in ("l.csv", "e.csv")
    ]
    assert losses[0].tolist() == losses[1].tolist()
    shown = document(lrisk(shop, "show", "csv.json", "--json"))["coefficients"]
    found = {each["column"]: each["coefficient"] for each in shown}
    assert found["day.month=Dec"] - found["day.month=Jul"] == pytest.approx(100.0, abs=8.0)
    assert found["day.weekday=Sun"] - found["day.weekday=Tue"] == pytest.approx(-40.0, abs=3.0)
    assert found["day.days"] == pytest.approx(0.1, abs=0.05)


def test_reasons_speak_of_dates(shop):
    done = lrisk(shop, "detect-outliers", "shop.csv", "--target", "sales", "--dates", "parts",
                 "--exclude", "x", "--json", "--quiet")  # fmt: skip
    (row,) = [row for row in document(done)["outliers"] if row["row"] == 211]
    assert "where" in row["reason"]
    done = lrisk(shop, "detect-outliers", "shop.csv", "--clusters", "2", "--dates", "parts",
                 "--contamination", "0.02", "--features", "day,x", "--json", "--quiet")  # fmt: skip
    reasons = " ".join(row["reason"] for row in document(done)["outliers"])
    date = r"[MTWFS][a-z]{2} 202[12]-[0-9]{2}-[0-9]{2}"
    assert re.search(
        rf"day {date} where (the centre has|the other columns suggest) {date}", reasons
    )


def test_centres_of_parts_are_shares(shop):
    done = lrisk(shop, "cluster", "shop.csv", "--clusters", "1", "--risk", "mean", "--dates",
                 "parts", "-o", "c.json", "--quiet", "--force")  # fmt: skip
    assert done.returncode == 0, done.stderr
    model = json.loads((shop / "c.json").read_text())
    centre = dict(zip(model["columns"], model["clusters"][0]["centre"], strict=True))
    assert centre["day.month=Mar"] == pytest.approx(31 / DAYS)
    assert sum(share for name, share in centre.items() if "weekday" in name) == pytest.approx(1.0)
    first = days_since(datetime(2021, 3, 1, tzinfo=UTC))
    assert centre["day.days"] == pytest.approx(first + (DAYS - 1) / 2)


COMMANDS = {
    "fit": ("--target", "sales"),
    "cluster": ("--clusters", "2", "--starts", "1"),
    "detect-outliers": ("--target", "sales"),
    "compare": ("--target", "sales", "--rival", "none", "--risk", "mean"),
    "quantile-report": ("--target", "sales"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_that_learns_takes_dates_apart(shop, command):
    def run(*options: str, **how) -> str:
        done = lrisk(shop, command, "shop.csv", *COMMANDS[command], "--json", "--quiet", *options,
                     **how)  # fmt: skip
        assert done.returncode == 0, done.stderr
        lines = done.stdout.splitlines()
        return "\n".join(each for each in lines if '_s":' not in each and "seconds" not in each)

    apart = run("--dates", "parts")
    assert apart != run()
    config = shop / "dates.toml"
    config.write_text('dates = "parts"\n')
    assert run("--config", "dates.toml") == apart


def test_dates_of_a_finished_model_cannot_be_chosen_again(shop):
    lrisk(shop, "fit", "shop.csv", *FIT, "-o", "m.json")
    run = lrisk(shop, "detect-outliers", "shop.csv", "--model", "m.json", "--dates", "parts")
    assert "--dates is for a fit" in refusal(run, 2)
    run = lrisk(shop, "quantile-report", "shop.csv", "--model", "m.json", "--baseline", "m.json",
                "--dates", "number")  # fmt: skip
    assert "--dates is for fits made on the spot" in refusal(run, 2)


def test_numbers_where_the_fit_had_dates_are_refused(shop):
    lrisk(shop, "fit", "shop.csv", *FIT, "-o", "m.json")
    table = pq.read_table(shop / "shop.parquet")
    pq.write_table(table.set_column(0, "day", pa.array(range(DAYS))), shop / "n.parquet")
    run = lrisk(shop, "evaluate", "m.json", "n.parquet")
    assert "n.parquet, column 'day': holds int64 where the fit had dates" in refusal(run, 3)
    (shop / "n.csv").write_text("day,sales,x\n7,1,2\n")
    run = lrisk(shop, "evaluate", "m.json", "n.csv")
    assert "n.csv, column 'day', row 0: '7' is not a date" in refusal(run, 3)


def test_model_files_say_what_the_parts_are_and_may_lack_them(shop):
    lrisk(shop, "fit", "shop.csv", *FIT, "-o", "m.json")
    model = json.loads((shop / "m.json").read_text())
    assert model["encoding"]["features"][0]["parts"][0] == "month=Mar"
    schema = json.loads(lrisk(shop, "schema").stdout)
    assert "parts" in schema["$defs"]["FeatureEntry"]["properties"]
    for bad in (["month=Foo"], ["month=Feb", "month=Jan"], ["month=Jan"] * 2):
        model["encoding"]["features"][0]["parts"] = bad
        (shop / "bad.json").write_text(json.dumps(model))
        assert "its parts are not those of a date" in refusal(lrisk(shop, "show", "bad.json"), 4)
    lrisk(shop, "fit", "shop.csv", "--target", "sales", "--risk", "mean", "-o", "n.json", "--force")
    old = json.loads((shop / "n.json").read_text())
    for feature in old["encoding"]["features"]:
        assert feature.pop("parts") == []
    (shop / "old.json").write_text(json.dumps(old))
    assert load_model(shop / "old.json").encoding == load_model(shop / "n.json").encoding


def test_a_long_model_file_may_have_parts_and_indicators(shop, monkeypatch):
    table = pq.read_table(shop / "shop.parquet")
    for name in ("day", "x"):
        cells = table[name].to_pylist()
        column = pa.array([None if k % 50 == 0 else cell for k, cell in enumerate(cells)])
        table = table.set_column(table.column_names.index(name), name, column)
    pq.write_table(table, shop / "holes.parquet")
    done = lrisk(shop, "fit", "holes.parquet", *FIT, "--missing", "impute", "--kernel", "rbf",
                 "--rank", "40", "-o", "rbf.json")  # fmt: skip
    assert done.returncode == 0, done.stderr
    # As if the file were too long to be taken apart before its shape is known.
    text = (shop / "rbf.json").read_bytes()
    monkeypatch.setattr(modeltext, "_SMALL_VALUES", text.count(b",") - 1)
    assert [feature.indicator for feature in load_model(shop / "rbf.json").encoding.features] == [
        True, True,
    ]  # fmt: skip
