"""What `make test-floor` and `make test-matrix` install, find and count."""

import re
import sys
from importlib.metadata import requires
from pathlib import Path

import pytest

from environments import read_report
from floors import ROOT, floors, pins, pythons, read_project, requirements
from interpreters import find_interpreter, version_of
from matrix import shorten

PROJECT = read_project()
HERE = "{}.{}".format(*sys.version_info)


def test_the_pins_are_the_bounds_that_pyproject_states():
    text = (ROOT / "pyproject.toml").read_text()
    stated = set(re.findall(r'"([a-z0-9-]+)>=([0-9.]+)"', text))
    pinned = {tuple(line.split("==")) for line in pins(PROJECT).splitlines()}
    assert pinned == stated


def test_the_installed_package_states_the_same_bounds():
    stated = {re.split(r"\s*;", each)[0] for each in requires("lrisk-cli") or ()}
    assert stated == set(requirements(PROJECT)) - set(PROJECT["build-system"]["requires"])


def test_the_lowest_python_is_the_one_that_is_required():
    assert PROJECT["project"]["requires-python"] == f">={pythons(PROJECT)[0]}"
    assert f"Python {pythons(PROJECT)[0]} or later" in (ROOT / "README.md").read_text()


def test_of_several_bounds_the_highest_holds():
    assert floors(["a>=1.9", "b>=2", "A>=1.10.0"]) == {"a": "1.10.0", "b": "2"}


@pytest.mark.parametrize("requirement", ["a", "a==1", "a>=1,<2", "a>1", "a~=1.0", "a>=1rc1"])
def test_a_requirement_without_a_plain_bound_is_refused(requirement):
    with pytest.raises(ValueError, match=re.escape(repr(requirement))):
        floors([requirement])


def add_interpreter(path: Path, version: str | None) -> Path:
    """A program that answers as an interpreter of this version; None: one that fails."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho {version}\n" if version else "#!/bin/sh\nexit 127\n")
    path.chmod(0o755)
    return path


def test_interpreters_are_found_on_the_path_then_in_pyenv(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    assert find_interpreter("3.12") is None
    for release in ("3.12.9", "3.12.10", "3.12.dev0", "3.1.2"):
        add_interpreter(tmp_path / "pyenv/versions" / release / "bin/python3.12", "3.12")
    newest = tmp_path / "pyenv/versions/3.12.10/bin/python3.12"
    assert find_interpreter("3.12") == newest
    shim = add_interpreter(tmp_path / "bin/python3.12", None)
    assert find_interpreter("3.12") == newest
    add_interpreter(shim, "3.12")
    assert find_interpreter("3.12") == shim
    assert find_interpreter("3.13") is None


def test_an_interpreter_tells_its_version():
    assert version_of(Path(sys.executable)) == HERE


def test_errors_count_as_failures_and_skipped_tests_as_neither(tmp_path):
    path = tmp_path / "report.xml"
    path.write_text(
        '<testsuites><testsuite errors="1" failures="1" skipped="1" tests="5" time="90.0">'
        '<testcase classname="t" name="a"/><testcase classname="t" name="b"/>'
        '<testcase classname="t" name="c"><failure message="1"/></testcase>'
        '<testcase classname="t" name="d"><error message="2"/></testcase>'
        '<testcase classname="t" name="e"><skipped message="3"/></testcase>'
        "</testsuite></testsuites>"
    )
    outcome = read_report(path)
    assert outcome.failed == ("t::c", "t::d")
    assert str(outcome) == "2 passed, 2 failed, 1 skipped, 1.5 min"


def test_long_names_of_tests_are_cut():
    assert shorten("tests.tables::test_a[b]") == "tests.tables::test_a[b]"
    assert len(shorten("tests.tables::test_a[" + "9" * 100_000)) == 160
