"""The comparison of `make same` notices what differs, and tells results from wording."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cases import Case, parse_step, read_cases
from comparing import Allowance, compare_case

FIT = (
    '{"fit": {"status": "done in 3", "gap": 1e-7}, "rows": {"reasons": {"no target": 2}}, "t_s": 1}'
)
RANKS = "row,loss,why\n0,1.5,a is large\n"
GATES = '<suite tests="1"><case name="n&lt;1"><failure message="n is 0"/></case></suite>'
SAME, WORDING, RESULT = "same", "wording", "result"
# Name of the recorded text, a passage of it, what stands there instead, and what that is.
CHANGES = [
    ("1.stdout", "1e-7", "1.0e-7", RESULT),
    ("1.stdout", "1e-7", '"1e-7"', RESULT),
    ("1.stdout", '"gap"', '"slack"', RESULT),
    ("1.stdout", "2}", "3}", RESULT),
    ("1.stdout", FIT, "", RESULT),
    ("1.stdout", FIT, "done", RESULT),
    ("1.stdout", "done in 3", "ended after 3", WORDING),
    ("1.stdout", "no target", "target missing", WORDING),
    ("1.stdout", '"t_s": 1', '"t_s": 2', SAME),
    ("1.stderr", "careful", "take care", WORDING),
    ("1.stderr", "0.1 s", "12.3 s", SAME),
    ("1.stderr", "::error ", "::notice ", RESULT),
    ("1.exit", "0", "1", RESULT),
    ("files/ranks.csv", "1.5", "1.50", RESULT),
    ("files/ranks.csv", "loss", "losses", RESULT),
    ("files/ranks.csv", "a is large", "a: large", WORDING),
    ("files/plain.csv", "x", '"x"', RESULT),
    ("files/gates.xml", 'tests="1"', 'tests="2"', RESULT),
    ("files/gates.xml", "n is 0", "n was 0", WORDING),
    ("files/page.html", "page", "other page", SAME),
]


def write_recording(folder: Path) -> Path:
    """A recording of one command that wrote a file of each kind."""
    (folder / "files").mkdir(parents=True)
    stderr = "careful\n::error title::bad\nread 3; 0.1 s\n"
    texts = {"1.stdout": FIT, "1.stderr": stderr, "1.exit": "0\n", "files/ranks.csv": RANKS}
    texts |= {"files/plain.csv": "x\n1\n", "files/gates.xml": GATES, "files/page.html": "page"}
    for name, text in texts.items():
        (folder / name).write_text(text)
    pq.write_table(pa.table({"row": [0, 1], "loss": [0.5, 0.25]}), folder / "files/t.parquet")
    return folder


@pytest.fixture
def recordings(tmp_path):
    return write_recording(tmp_path / "base"), write_recording(tmp_path / "other")


CASE = Case("fit-any", ("fit t.csv --target y --json",), ())


@pytest.mark.parametrize(("name", "passage", "instead", "kind"), CHANGES)
def test_a_change_is_seen_for_what_it_is(recordings, name, passage, instead, kind):
    path = recordings[1] / name
    assert passage in path.read_text()
    path.write_text(path.read_text().replace(passage, instead))
    found = compare_case(CASE, *recordings)
    assert bool(found) == (kind != SAME)
    assert any(not each.wording for each in found) == (kind == RESULT)


def test_equal_recordings_have_no_differences(recordings):
    assert compare_case(CASE, *recordings) == []


def test_a_file_that_is_not_written_is_a_difference(recordings):
    (recordings[1] / "files/page.html").unlink()
    (found,) = compare_case(CASE, *recordings)
    assert found.key == "page.html"
    assert not found.wording


@pytest.mark.parametrize("columns", [{"row": [0, 1], "loss": [0.5, 0.26]}, {"row": [0, 1]}])
def test_other_cells_or_columns_of_parquet_are_a_difference(recordings, columns):
    pq.write_table(pa.table(columns), recordings[1] / "files/t.parquet")
    assert any(not each.wording for each in compare_case(CASE, *recordings))


def test_an_allowance_covers_its_case_and_key(recordings):
    (recordings[1] / "1.exit").write_text("1\n")
    (found,) = compare_case(CASE, *recordings)
    assert Allowance("fit-*", "*.exit", "meant").covers(found)
    assert not Allowance("cluster-*", "*.exit", "meant").covers(found)
    assert not Allowance("fit-*", "*.stdout*", "meant").covers(found)


def test_commands_are_parsed_as_in_a_shell():
    step = parse_step("LRISK_FIT_L2=2 fit - --na-values '?,x' < in.csv > out.json")
    assert step.environment == (("LRISK_FIT_L2", "2"),)
    assert step.arguments == ("fit", "-", "--na-values", "?,x")
    assert (step.stdin, step.stdout) == ("in.csv", "out.json")


def test_every_command_of_the_program_is_recorded():
    from lrisk_cli.cli import COMMANDS

    run = {step.arguments[0] for case in read_cases(None) for step in case.steps}
    assert set(COMMANDS) <= run
