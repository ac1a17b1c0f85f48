"""Pages: texts are escaped, nothing comes from outside, figures have words, bytes repeat."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from helpers.house_prices import add_house_files, house_columns
from helpers.pages import check_page, pixels, read
from helpers.program import lrisk, refusal, write_csv
from lrisk_cli.errors import UsageError
from lrisk_cli.reports.figures import Guide, Plot, Series, draw
from lrisk_cli.reports.html import (
    MAX_BYTES,
    MAX_ROWS,
    Code,
    Facts,
    Figure,
    Notes,
    Page,
    Pictures,
    Section,
    Table,
    Tiles,
    render,
    write_page,
)
from lrisk_cli.reports.pictures import SHADES, draw_picture

EVIL = "<script>alert('x')</script>\"&amp;"
COLUMNS = ["--features", "area,color,rooms"]


def plot(**changes) -> Plot:
    x = np.linspace(0.0, 1.0, 5)
    settings = {
        "title": "it rises",
        "alternative": "a line from 0 to 1",
        "x_label": "x",
        "y_label": "y",
        "series": [Series("one", x, x), Series("two", x, 1.0 - x, 2, low=x, high=x + 1.0)],
    }
    return Plot(**(settings | changes))


def page(text: str = "text", **changes) -> Page:
    figures = [
        draw(plot(title=text, alternative=text, x_label=text, y_label=text, note=text,
                  rows=[text, text], guides=[Guide("x", 0.5, text), Guide("y", 0.5, text)],
                  series=[Series(text, np.arange(2.0), np.arange(2.0), 1, "marks"),
                          Series(text, np.arange(2.0), np.arange(2.0), 2, "dots")],
                  data=Table(text, [text], [[text]])), "first"),
        draw(plot(), "second"),
    ]  # fmt: skip
    blocks = [
        Tiles([(text, text, text)]), *figures, Facts([(text, text)], beside=True), Notes([text]),
        Table(text, [text, text], [[text, text]]), Code(text),
        Pictures(text, [draw_picture(np.eye(3), 0.0, 1.0, text, text)]),
    ]  # fmt: skip
    settings = {
        "command": "fit", "title": text, "lead": text, "command_line": text,
        "sections": [Section(text, blocks, lead=text)],
    }  # fmt: skip
    return Page(**(settings | changes))


def test_a_page_of_every_block_keeps_the_rules():
    root = check_page(render(page()))
    assert {"figure", "table", "dl", "details", "pre"} <= {element.tag for element in root.all()}


def test_every_text_is_escaped():
    text = render(page(EVIL))
    root = check_page(text)
    assert "<script" not in text
    for tag in ("h1", "h2", "dt", "dd", "th", "td", "figcaption", "summary", "code", "title"):
        found = [element.text for element in root.all(tag)]
        assert found
        if tag != "summary":
            assert any(EVIL in each for each in found), tag


@pytest.mark.parametrize(
    "text", ["$x_1$ and $", "a\x00b\x1b[0m", "价格, größe \u202e", "\\frac{", "_a"]
)
def test_odd_texts_neither_break_a_figure_nor_reach_it_raw(text):
    root = check_page(render(page(text)))
    shown = "".join(element.text for element in root.all("svg"))
    assert "\x00" not in shown
    assert "\x1b" not in shown
    if text.isprintable():
        assert text in shown


def test_long_texts_and_long_tables_are_cut():
    rows = [[f"row {i}", "1"] for i in range(MAX_ROWS + 7)]
    sections = [Section("s", [Table("long", ["a", "b"], rows)])]
    text = render(page("x" * 10_000, sections=sections, command_line="lrisk " + "y" * 5000))
    root = check_page(text)
    assert "and 7 more" in text
    assert "x" * 401 not in text
    # But a command that is cut could not be repeated.
    assert "y" * 5000 in text
    assert len(list(root.all("tr"))) == MAX_ROWS + 1


def test_a_table_of_sentences_is_stacked_on_a_phone_and_names_its_cells():
    why = "a sentence that is longer than a column of numbers"
    blocks = [
        Table("reasons", ["row", "why"], [["1", why]], texts=2),
        Table("numbers", ["row", "a"], [["1", "2"]]),
    ]
    root = check_page(render(page(sections=[Section("s", blocks)])))
    reasons, numbers = root.all("table")
    assert reasons.attributes["class"] == "stacked"
    assert [cell.attributes["data-head"] for cell in reasons.all("td")] == ["why"]
    assert "class" not in numbers.attributes


def test_a_stacked_row_that_begins_with_a_name_is_not_named_again():
    rows = [["rmse", "2"], ["errors in " + "a long unit of " * 4 + "the target", ""]]
    table = Table("figures", ["half squared error", "value"], rows)
    root = check_page(render(page(sections=[Section("s", [table])])))
    (table_read,) = root.all("table")
    assert table_read.attributes["class"] == "stacked"
    assert [cell.attributes.get("data-head") for cell in table_read.all("td")] == ["value", None]
    assert not any("data-head" in cell.attributes for cell in table_read.all("th"))


@pytest.mark.parametrize(
    ("n_figures", "wide", "expected"),
    [(1, False, [2]), (3, False, [2, 2]), (2, False, [2, 1]), (3, True, [3, 1]), (0, False, [1])],
)
def test_a_narrow_table_stands_beside_the_odd_figure(n_figures, wide, expected):
    figures = [draw(plot(), f"f{k}") for k in range(n_figures)]
    heads = ["a"] * (40 if wide else 2)
    table = Table("t", heads, [["1"] * len(heads)], beside=True)
    assert [len(run.blocks) for run in Section("s", [*figures, table]).runs] == expected


def test_a_page_that_is_too_large_is_refused(tmp_path):
    huge = Figure("<svg viewBox='0 0 1 1'>" + " " * MAX_BYTES + "</svg>", "title")
    with pytest.raises(UsageError, match="more than 2"):
        write_page(tmp_path / "huge.html", page(sections=[Section("s", [huge])]))
    assert list(tmp_path.iterdir()) == []


def test_the_same_page_has_the_same_bytes():
    assert render(page()) == render(page())


def test_figures_on_one_page_do_not_share_ids():
    svgs = [draw(plot(), name).svg for name in ("a", "b")]
    ids = [set(re.findall(r'id="([^"]+)"', svg)) for svg in svgs]
    assert ids[0]
    assert not ids[0] & ids[1]
    assert svgs[0] == svgs[1].replace('"b-', '"a-').replace("#b-", "#a-")


def test_letters_stay_letters_and_coordinates_short():
    svg = draw(plot(x_label="an axis"), "a").svg
    assert ">an axis</text>" in svg
    assert not re.search(r"\d\.\d{3}", svg)
    assert "font-family" not in svg


def test_logarithmic_axes_are_labelled_without_formulas():
    y = np.array([1e-7, 1e-3, 1.0])
    svg = draw(plot(series=[Series("", np.arange(3.0), y)], y_log=True), "a").svg
    assert "10⁻⁶" in svg
    assert "$" not in svg


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (5, 1), (4, 6)])
def test_a_picture_has_the_ink_of_its_numbers(shape):
    rng = np.random.default_rng(0)
    for values in (rng.uniform(-3.0, 5.0, shape), np.round(rng.uniform(0.0, 1.0, shape))):
        picture = draw_picture(values, -2.0, 4.0, "title", "word")
        expected = np.clip((values + 2.0) / 6.0, 0.0, 1.0)
        ink = pixels(next(read(picture.svg).all("svg")), shape)
        assert np.max(np.abs(ink - expected)) <= 0.5 / (SHADES - 1) + 0.01


def test_a_picture_of_one_number_is_paper():
    picture = draw_picture(np.full((2, 2), 3.0), 3.0, 3.0, "title", "word")
    assert list(read(picture.svg).all("path")) == []


# The pages of the commands


def write(folder: Path, *arguments: str, code: int = 0) -> str:
    run = lrisk(folder, *arguments, "--html", "page.html", "--force")
    assert run.returncode == code, run.stderr
    return (folder / "page.html").read_text("utf-8")


@pytest.fixture
def evil(tmp_path) -> Path:
    """houses.csv with columns and values that would like to be markup."""
    columns = house_columns()
    colors = np.where(columns["color"] == "red", EVIL, columns["color"])
    table = {"<script>": columns["area"], "a$b": columns["rooms"], "</style>": colors}
    write_csv(tmp_path / "evil.csv", table | {"<b>price": columns["price"]})
    return tmp_path


@pytest.mark.parametrize("target", ["<b>price", "</style>"])
def test_markup_in_the_data_stays_text_on_every_page(evil, target):
    fit = ["fit", "evil.csv", "--target", target, "-o", "m.json"]
    fitted = write(evil, *fit, "--holdout", "0.2", "--risk", "extremile:2")
    by = ["--by", "</style>", "--fail-on", "max>=0"]
    evaluated = write(evil, "evaluate", "m.json", "evil.csv", *by, code=1)
    flags = ["--target", target, "--repeats", "1", "--by", "</style>"]
    compared = write(evil, "quantile-report", "evil.csv", *flags)
    ranked = write(evil, "detect-outliers", "evil.csv", "--target", target, "--top", "300")
    grouped = write(evil, "cluster", "evil.csv", "-k", "3", "--label", "</style>")
    flags = ["--target", target, "--risk", "mean", "--rival", "none", "--holdout", "0.2"]
    contest = write(evil, "compare", "evil.csv", *flags)
    for text in (fitted, evaluated, compared, ranked, grouped, contest):
        root = check_page(text)
        assert "<script" not in text
        assert text.count("</style>") == 1
        assert any(EVIL in each.text or target in each.text
                   for each in root.all("h1", "dd", "th", "code"))  # fmt: skip


def test_the_page_of_a_fit_tells_what_was_done_and_how_to_repeat_it(tmp_path):
    folder = add_house_files(tmp_path)
    arguments = ["fit", "houses.csv", "--target", "price", *COLUMNS, "--risk", "esrm:2"]
    arguments += ["--solver", "lsvrg", "--max-passes", "5", "--holdout", "0.1"]
    text = write(folder, *arguments)
    root = check_page(text)
    assert f"lrisk {' '.join(arguments)} --html page.html --force" in text
    words = " ".join(element.text for element in root.all("dd"))
    assert "300 read, 270 used, 30 held out, none dropped" in words
    assert "esrm:2 of squared losses" in words
    axes = " ".join(element.text for element in root.all("svg"))
    for label in (
        "objective", "gap, relative to what was gained", "rows that changed rank",
        "share of rows that are off by at least so much", "weight of a row in esrm:2",
        "target minus prediction",
    ):  # fmt: skip
        assert label in axes


def test_panels_that_say_nothing_are_left_out(tmp_path):
    folder = add_house_files(tmp_path)
    text = write(folder, "fit", "houses.csv", "--target", "price", *COLUMNS, "--risk", "mean")
    axes = " ".join(element.text for element in check_page(text).all("svg"))
    # All rows weigh the same, and the order of the losses is of no interest after a proof.
    assert "weight of a row" not in axes
    assert "rows that changed rank" not in axes
    assert "target minus prediction" in axes


def test_files_are_named_without_their_folders(tmp_path):
    folder = add_house_files(tmp_path)
    model = str(folder / "price.json")
    root = check_page(write(folder, "evaluate", model, "houses.csv"))
    assert [element.text for element in root.all("h1")] == ["price.json on 300 rows"]
    assert not [element for element in root.all("dd") if str(folder) in element.text]


def test_a_page_does_not_change_the_model(tmp_path):
    folder = add_house_files(tmp_path)
    arguments = ["fit", "houses.csv", "--target", "price", *COLUMNS, "-o"]
    write(folder, *arguments, "with.json")
    assert lrisk(folder, *arguments, "without.json").returncode == 0
    assert (folder / "with.json").read_bytes() == (folder / "without.json").read_bytes()


@pytest.mark.parametrize(
    "arguments",
    [
        ["fit", "houses.csv", "--target", "kind", *COLUMNS, "--risk", "mean"],
        ["evaluate", "price.json", "houses.csv", "--intervals", "--by", "color"],
        ["quantile-report", "houses.csv", "--target", "price", *COLUMNS, "--repeats", "2"],
        ["detect-outliers", "houses.csv", *COLUMNS],
        ["cluster", "houses.csv", "-k", "2..3", *COLUMNS],
    ],
    ids=lambda arguments: arguments[0],
)
def test_the_same_command_writes_the_same_page(tmp_path, arguments):
    folder = add_house_files(tmp_path)
    first = write(folder, *arguments)
    check_page(first)
    assert write(folder, *arguments) == first


def test_a_page_is_not_written_over_a_file_or_into_nowhere(tmp_path):
    folder = add_house_files(tmp_path)
    for command in (["evaluate", "price.json", "houses.csv"],
                    ["fit", "houses.csv", "--target", "price"]):  # fmt: skip
        run = lrisk(folder, *command, "--html", "houses.csv")
        assert "houses.csv: exists; pass --force" in refusal(run, 2)
        run = lrisk(folder, *command, "--html", "price.json/page.html")
        assert "price.json is not a folder" in refusal(run, 2)
    run = lrisk(folder, "evaluate", "price.json", "houses.csv", "--html", "price.json", "--force")
    assert "price.json: is also an input" in refusal(run, 2)
    assert json.loads((folder / "price.json").read_text())["format"] == "lrisk-model"


def test_the_page_of_a_fit_shows_errors_and_those_of_the_ordinary_fit(tmp_path):
    folder = add_house_files(tmp_path)
    arguments = ["fit", "houses.csv", "--target", "price", *COLUMNS, "--holdout", "0.2"]
    text = write(folder, *arguments)
    first = lrisk(folder, *arguments).stdout.splitlines()[0].removeprefix("result").strip()
    root = check_page(text)
    assert f"{first[0].upper()}{first[1:]}. Proved" in " ".join(each.text for each in root.all("p"))
    heads = [element.text for element in root.all("th")]
    assert heads.count("ordinary fit") == 2
    assert "off by, in price" in text
    assert "half squared error" in text
    assert "ordinary fit" not in write(folder, *arguments, "--no-reference")
