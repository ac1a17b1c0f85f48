"""Every file of the own corpus is read as it must be; a sample goes through all commands."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from outside.checking import Checker, checker
from outside.corpus import Case, all_cases, judge
from outside.corpus.case import GROUPS, AsPeers, Refused
from outside.peers import absent_peers

EVERY = 48  # of the small files, one of so many goes through all commands
SMALL = 100_000


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return list(all_cases())


@pytest.fixture(scope="module")
def readers() -> Iterator[Checker]:
    with checker(commands=False) as made:
        yield made


@pytest.mark.parametrize("group", GROUPS)
def test_every_file_is_read_as_expected(
    group: str, cases: list[Case], readers: Checker, tmp_path: Path
):
    wrong = {}
    for case in cases:
        if not case.name.startswith(f"{group}/"):
            continue
        finding = judge(case, readers.read(case.write(tmp_path), case.options))
        if finding:
            wrong[case.name] = finding
    assert wrong == {}


def test_readings_without_an_exact_expectation_are_those_of_another_program(
    cases: list[Case], readers: Checker, tmp_path: Path
):
    if absent := absent_peers():
        pytest.skip(f"NOT COMPARED: {', '.join(absent)} not installed")
    wrong = {}
    for case in cases:
        if not isinstance(case.expected, AsPeers):
            continue
        checked = readers.check(case.write(tmp_path), case.name, case.options, run=False)
        finding = judge(case, checked.answer, checked)
        if finding:
            wrong[case.name] = finding
    assert wrong == {}


def test_commands_end_with_a_result_or_one_sentence(cases: list[Case], tmp_path: Path):
    documents = [case for case in cases if case.name.startswith("documents/")]
    tables = [case for case in cases if case not in documents and len(case.contents) < SMALL]
    broken = {}
    with checker() as commands:
        for case in [*tables[::EVERY], *documents]:
            checked = commands.check(case.write(tmp_path), case.name, case.options)
            finding = judge(case, checked.answer, checked)
            if checked.broken or finding:
                broken[case.name] = (*checked.broken, finding)
    assert broken == {}


def test_the_corpus_is_large_deterministic_and_of_all_kinds(cases: list[Case]):
    names = [case.name for case in cases]
    assert len(cases) >= 400
    assert len(set(names)) == len(names)
    again = {case.name: case.contents for case in all_cases()}
    changed = {case.name for case in cases if again[case.name] != case.contents}
    # Encryption draws its own keys.
    assert changed <= {name for name in names if "encrypted" in name}
    kinds = Counter(type(case.expected).__name__ for case in cases)
    assert kinds["dict"] > 300
    assert kinds[Refused.__name__] > 150
    assert kinds[AsPeers.__name__] < 80
