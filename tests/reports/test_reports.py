"""What people read: sentences that say what is known, aligned columns, progress that is honest."""

import io
import json
import sys
from dataclasses import replace

import msgspec
import pytest

from helpers.models import RECORD, classes_of, make_model
from lrisk_cli.api.evaluate import Evaluation
from lrisk_cli.api.fit_files import FitFiles
from lrisk_cli.api.fit_result import FitResult, Fits
from lrisk_cli.design.raw_rows import RowCounts
from lrisk_cli.evaluation.checks import Checks
from lrisk_cli.evaluation.gates import Gate, check_gates
from lrisk_cli.models.fitting import Fitted
from lrisk_cli.progress import Progress
from lrisk_cli.reports.documents import evaluation_document, fits_document, print_document
from lrisk_cli.reports.facts import describe_rows, number, plain
from lrisk_cli.reports.model_facts import describe_model, proof_sentence
from lrisk_cli.reports.progress import ProgressDisplay, describe
from lrisk_cli.reports.terminal import print_evaluation, print_fit, print_model

FIGURES = {"mean": 0.5, "superquantile:0.9": 12345.678901, "max": 1e-9, "rmse": 1.0, "r2": None}


def evaluation(counts: RowCounts, intervals=None, gate_results=()) -> Evaluation:
    checks = Checks("evaluate", (), None, None, False)
    return Evaluation(
        path="m.json",
        model=make_model(),
        counts=counts,
        figures=FIGURES,
        intervals=intervals,
        checks=checks,
        gate_results=gate_results,
        paths=(),
        worst=(),
        rows=None,
    )


def fits_of(figures, counts: RowCounts, path: str | None = None, notes=()) -> Fits:
    fitted = Fitted(make_model(), solution=None)
    result = FitResult(fitted, FitFiles(model=path), 1.0, figures)
    return Fits((result,), counts, tuple(notes), None, {"total_s": 1.0})


def model_with_gap(gap: float | None):
    return replace(make_model(), fit=msgspec.structs.replace(RECORD, gap=gap))


@pytest.mark.parametrize(
    ("gap", "words"),
    [
        (None, "not proved"),
        (0.0, "more than 0 %"),
        (-1e-17, "more than 0 %"),
        (8.21e-5, "more than 0.0082 %"),
        (0.0999, "more than 10 %"),
        (0.994, "more than 99 %"),
        (35.0, "may gain 36 times as much"),
        (1e-12, "more than 1e-10 %"),
    ],
)
def test_the_certificate_is_said_in_percent_of_what_was_gained(gap, words):
    assert words in proof_sentence(model_with_gap(gap))


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        (RowCounts(10, 10, {}), "10 read, 10 used, none dropped"),
        (
            RowCounts(10, 7, {"missing a": 2, "missing b": 1}),
            "10 read, 7 used, 3 dropped (2 missing a, 1 missing b)",
        ),
        (RowCounts(10, 8, {}), "10 read, 8 used, 2 held out, none dropped"),
    ],
)
def test_every_row_is_accounted_for(counts, words):
    assert describe_rows(counts) == words


def test_a_model_is_described_in_one_line():
    assert describe_model(make_model()) == (
        "regression of price on 3 features (4 columns); superquantile:0.9 of squared losses"
    )
    assert "classification (3 classes) of kind" in describe_model(make_model(classes_of(3), 3))


def test_control_characters_of_a_file_do_not_reach_the_terminal():
    assert plain("a\x1b[31mb\nc\u202e") == r"a\x1b[31mb\nc\u202e"
    assert plain("größe 価格") == "größe 価格"


def test_an_evaluation_shows_figures_intervals_and_gates(capsys):
    gate_results = check_gates(
        [Gate("rmse", ">", 0.5), Gate("r2", "<", 0.1), Gate("mean", ">", 1.0)], FIGURES
    )
    intervals = {"mean": (0.4, 0.6)}
    print_evaluation(evaluation(RowCounts(3, 3, {}), intervals, gate_results))
    out = capsys.readouterr().out
    losses, errors = out.partition("gate ")[0].split("off by, in price")
    shown = {line.split()[0]: line.split()[1:] for line in losses.splitlines() if line}
    assert shown["mean"] == ["0.5", "0.4", "to", "0.6"]
    assert shown["superquantile:0.9"] == ["12,345.7"]
    ends = {line.index("12,345.7") + 8 for line in losses.splitlines() if "12,345.7" in line}
    assert ends == {line.index(" 0.5 ") + 4 for line in losses.splitlines() if " 0.5 " in line}
    # sqrt(2 loss): half the squared error as an error.
    shown = {line.split()[0]: line.split()[1:] for line in errors.splitlines() if line}
    assert shown["mean"] == ["1", "0.894427", "to", "1.09545"]
    assert shown["superquantile:0.9"] == ["157.135"]
    assert shown["r2"] == ["not", "defined"]
    assert [line.split() for line in out.splitlines()[-4:]] == [
        ["gate", "result", "is", "allowed"],
        ["rmse", "FAILED", "1", "at", "most", "0.5"],
        ["r2", "FAILED", "not", "defined", "at", "least", "0.1"],
        ["mean", "passed", "0.5", "at", "most", "1"],
    ]
    assert all(line == line.rstrip() for line in out.splitlines())


@pytest.mark.parametrize(
    ("path", "words"), [(None, "nothing was saved; pass -o"), ("m.json", "saved to m.json")]
)
def test_a_fit_says_whether_it_was_saved(capsys, path, words):
    figures = {"training": FIGURES, "held out": FIGURES | {"mean": 0.75}}
    print_fit(fits_of(figures, RowCounts(10, 10, {}), path, ["task: regression"]))
    captured = capsys.readouterr()
    assert words in captured.out
    assert "training" in captured.out
    assert "held out" in captured.out
    assert "0.75" in captured.out
    assert "note         task: regression" in captured.out
    assert captured.err == ""


def test_a_model_of_one_output_and_of_many_is_shown(capsys):
    print_model("m.json", make_model(classes_of(3), 3))
    head = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("column"))
    assert head.split() == ["column", "a", "b", "c", "effect"]


def test_documents_are_strict_json(capsys):
    counts = RowCounts(10, 9, {"missing a": 1})
    print_document(evaluation_document(evaluation(counts, {"mean": (0.4, 0.6)})))
    document = json.loads(capsys.readouterr().out)
    assert document["rows"] == {"read": 10, "used": 9, "dropped": 1, "reasons": {"missing a": 1}}
    assert document["intervals"] == {"mean": [0.4, 0.6]}
    assert document["metrics"]["r2"] is None
    with pytest.raises(ValueError, match="not JSON compliant"):
        print_document({"gap": float("nan")})


def test_the_document_of_a_fit_holds_the_record_of_the_model():
    model = make_model()
    document = fits_document(fits_of({"training": FIGURES}, RowCounts(10, 9, {})))
    assert document["fit"] == json.loads(msgspec.json.encode(model.fit))
    assert (document["model"], document["holdout"]) == (None, None)
    assert document["timings"] == {"total_s": 1.0}


# Progress


class Terminal(io.StringIO):
    """A standard error that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


def work(display: ProgressDisplay, n_events: int = 3) -> None:
    with display as report:
        for k in range(n_events):
            report(Progress("reading", 1000.0 * k))
            report(Progress("solving", k + 0.5, 10, f"gap {k}"))


def test_elsewhere_than_on_a_terminal_progress_is_one_line(capsys):
    work(ProgressDisplay("fit"))
    captured = capsys.readouterr()
    (line,) = captured.err.splitlines()
    assert line.startswith("lrisk fit: reading 2,000, solving 2.5 of 10 (gap 2); ")
    assert line.endswith(" s")
    assert captured.out == ""


def test_a_remark_takes_the_place_of_the_stages(capsys):
    display = ProgressDisplay("predict")
    display.conclude("all done")
    work(display)
    assert capsys.readouterr().err.startswith("lrisk predict: all done; ")


def test_quiet_progress_says_nothing(capsys, monkeypatch):
    work(ProgressDisplay("fit", quiet=True))
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr("lrisk_cli.reports.progress._PATIENCE", -1.0)
    work(ProgressDisplay("fit", quiet=True))
    assert sys.stderr.getvalue() == ""


def test_a_terminal_gets_a_bar_unless_the_work_is_quick(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", Terminal())
    work(ProgressDisplay("fit"))
    assert sys.stderr.getvalue() == ""
    monkeypatch.setattr("lrisk_cli.reports.progress._PATIENCE", -1.0)
    work(ProgressDisplay("fit"))
    assert "solving" in sys.stderr.getvalue()
    assert "2.5 of 10 (gap 2)" in sys.stderr.getvalue()


def test_who_is_interrupted_learns_how_far_it_got(capsys):
    display = ProgressDisplay("fit")
    for event in (Progress("solving", 1, 10), Progress("reading", 5), Progress("solving", 2, 10)):
        display(event)
    with pytest.raises(KeyboardInterrupt) as interruption, display:
        raise KeyboardInterrupt
    (note,) = interruption.value.__notes__
    assert note.startswith("at solving 2 of 10")
    assert capsys.readouterr().err == ""


def test_who_is_interrupted_early_learns_that_too():
    with pytest.raises(KeyboardInterrupt) as interruption, ProgressDisplay("fit"):
        raise KeyboardInterrupt
    assert interruption.value.__notes__ == ["at the start of fit"]


def test_large_counts_are_grouped_and_whole_ones_have_no_decimals():
    assert describe(Progress("reading", 1234567.0, 2e6)) == "reading 1,234,567 of 2,000,000"
    assert describe(Progress("solving", 1000.848319, 1000)) == "solving 1,000.8 of 1,000"


@pytest.mark.parametrize(
    ("value", "six", "three"),
    [
        (0.000123456, "0.000123456", "0.000123"),
        (1234.5, "1234.5", "1230"),
        (12345.678, "12,345.7", "12,300"),
        (159234.567, "159,235", "159,000"),
        (-99999.96, "-100,000", "-100,000"),
        (999_999_999.7, "1 billion", "1 billion"),
        (1.26e10, "12.6 billion", "12.6 billion"),
        (-2.5e12, "-2.5 trillion", "-2.5 trillion"),
        (1e20, "1e+20", "1e+20"),
        (float("inf"), "inf", "inf"),
    ],
)
def test_large_numbers_are_grouped_or_scaled(value, six, three):
    assert (number(value), number(value, 3)) == (six, three)
