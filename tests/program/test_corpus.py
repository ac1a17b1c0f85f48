"""No odd or broken table ends a fit in any way but by a model or by one sentence."""

import json
import subprocess
import sys
from collections import Counter

import pytest

from helpers.corpus import FITS, REFUSED, corpus

LONGEST = 10  # seconds

# Fits every file named on standard input in one process; a hang ends it with an alarm.
BATCH = """
import contextlib, io, json, os, signal, sys
from lrisk_cli.cli import run
for name in sys.stdin.read().splitlines():
    talk = io.StringIO()
    print(json.dumps(name), end=" ", flush=True)
    signal.alarm(int(sys.argv[1]))
    before = set(os.listdir())
    with contextlib.redirect_stderr(talk), contextlib.redirect_stdout(io.StringIO()):
        code = run(["fit", name, "--target", "y", "--quiet", "--max-passes", "20", "-o", "m"])
    signal.alarm(0)
    new = sorted(set(os.listdir()) - before)
    if new:
        os.remove("m")
    print(json.dumps([code, talk.getvalue(), new]), flush=True)
"""


@pytest.fixture(scope="module")
def endings(tmp_path_factory) -> dict[str, tuple[int, str, list[str]]]:
    """Of each file: exit code, what was said, and files that were written."""
    folder = tmp_path_factory.mktemp("corpus")
    names = []
    for name, contents, _ in corpus():
        (folder / name).write_bytes(contents)
        names.append(name)
    done = subprocess.run(
        [sys.executable, "-c", BATCH, str(LONGEST)],
        input="\n".join(names), text=True, capture_output=True, cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, (done.stdout[-300:], done.stderr[-2000:])
    pairs = (json.JSONDecoder().raw_decode(line) for line in done.stdout.splitlines())
    lines = done.stdout.splitlines()
    return {name: json.loads(line[end:]) for line, (name, end) in zip(lines, pairs, strict=True)}


def test_the_corpus_is_large_and_of_all_kinds():
    entries = list(corpus())
    assert len(entries) >= 150
    assert len({name for name, _, _ in entries}) == len(entries)
    codes = Counter(code for _, _, code in entries)
    assert codes[FITS] > 60
    assert codes[REFUSED] > 60
    assert sum(len(contents) for _, contents, _ in entries) < 4 << 20


def test_every_table_ends_as_it_should(endings):
    expected = {name: code for name, _, code in corpus()}
    wrong = {
        name: (code, talk)
        for name, (code, talk, _) in endings.items()
        if code != expected[name] and not (expected[name] is None and code in (FITS, REFUSED))
    }
    assert wrong == {}


def test_a_refusal_is_one_sentence_about_the_file_and_nothing_is_written(endings):
    for name, (code, talk, new) in endings.items():
        if code == FITS:
            assert new == ["m"], name
            assert "Traceback" not in talk, name
            continue
        (line,) = talk.splitlines()
        assert line.startswith(f"lrisk: error: {name}"), line
        assert len(line) < 400, line
        assert new == [], name
