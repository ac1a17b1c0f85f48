"""The README and the manual, executed: every command shown there runs and prints what is shown.

A ```console block holds commands after `$ ` (a trailing backslash continues one) and, below
each, its results, or nothing. `# exit 2` at the end of a command announces another exit code
than 0; then the talk on standard error belongs to what is shown. `...` stands for any lines.
Numbers may differ a little, since machines round differently.
"""

import math
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
# Set-up, not lrisk: these work on a clone, and .ci/run exercises them.
NOT_RUN = ("make", "git", "pip", "cd")
# 21,634.3 is one number, 1,2,3 are three.
NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[-+]?\d+)?")
SECONDS = re.compile(r"\d+(?:\.\d+)? ?(?:s|ms|seconds)\b")


@dataclass(frozen=True, slots=True)
class Example:
    """One command of a page, the code it must exit with, and the lines shown below it."""

    line: int
    command: str
    exit_code: int
    shown: tuple[str, ...]


def examples_of(text: str) -> list[Example]:
    """All examples in the console blocks of a page, in order."""
    found: list[Example] = []
    for block in re.finditer(r"^```console\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE):
        first_line = text[: block.start(1)].count("\n") + 1
        body = block.group(1)
        starts = [match.start() for match in re.finditer(r"^\$ ", body, flags=re.MULTILINE)]
        for start, end in zip(starts, [*starts[1:], len(body)], strict=True):
            line = first_line + body[:start].count("\n")
            found.append(parse_example(line, body[start:end]))
    return found


def parse_example(line: int, text: str) -> Example:
    """`$ command # exit N`, its continuation lines, then the output shown."""
    command, _, output = re.sub(r"\\\n\s*", "", text.removeprefix("$ ")).partition("\n")
    marker = re.search(r"\s+# exit (\d+)$", command)
    if marker:
        command = command[: marker.start()]
    shown = tuple(row.rstrip() for row in output.splitlines() if row.strip())
    return Example(line, command, int(marker.group(1)) if marker else 0, shown)


def same_line(shown: str, printed: str) -> bool:
    """Equal words and close numbers; seconds and spaces are free."""
    shown, printed = (SECONDS.sub("SECONDS", line) for line in (shown, printed))
    if NUMBER.sub("#", shown).split() != NUMBER.sub("#", printed).split():
        return False
    pairs = zip(NUMBER.findall(shown), NUMBER.findall(printed), strict=True)
    return all(close(a, b) for a, b in pairs)


def close(shown: str, printed: str) -> bool:
    """Whether a reader takes both for the same figure: 1 %, or of one size when tiny (a gap)."""
    a, b = float(shown.replace(",", "")), float(printed.replace(",", ""))
    decimals = len(shown.partition("e")[0].partition(".")[2])
    last_digit = 1.5 * 10.0**-decimals if decimals and "e" not in shown else 0.0
    return math.isclose(a, b, rel_tol=0.5 if abs(a) < 0.02 else 0.01, abs_tol=last_digit)


def first_difference(shown: tuple[str, ...], printed: str) -> str | None:
    """The first shown line that the output lacks at its place, or None."""
    rows = [row for row in printed.splitlines() if row.strip()]
    skip = False
    for line in shown:
        if line.strip() == "...":
            skip = True
            continue
        while skip and rows and not same_line(line, rows[0]):
            rows.pop(0)
        if not rows or not same_line(line, rows[0]):
            return f"shown:   {line}\nprinted: {rows[0] if rows else '(nothing more)'}"
        rows.pop(0)
        skip = False
    return None if skip or not rows or not shown else f"not shown: {rows[0]}"


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """The command in a shell that finds this interpreter's programs first."""
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    quiet = {key: value for key, value in os.environ.items() if not key.startswith("LRISK_")}
    return subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env={**quiet, "PATH": programs, "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_examples_of_the_page_run_as_shown(page, tmp_path):
    shutil.copytree(ROOT / "sample_data", tmp_path / "sample_data")
    for example in examples_of(page.read_text("utf-8")):
        if example.command.split()[0] in NOT_RUN:
            continue
        place = f"{page.name}, line {example.line}: {example.command}"
        result = run(example.command, tmp_path)
        everything = result.stdout + result.stderr
        assert result.returncode == example.exit_code, f"{place}\n{everything}"
        results = everything if example.exit_code else result.stdout
        difference = first_difference(example.shown, results)
        assert difference is None, f"{place}\n{difference}\n\nall of it:\n{everything}"


def test_the_readme_shows_the_commands_a_newcomer_needs():
    commands = [example.command for example in examples_of(PAGES[0].read_text("utf-8"))]
    used = {" ".join(command.split()[:2]) for command in commands}
    needed = {"fit", "evaluate", "predict", "show"}
    assert {f"lrisk {name}" for name in needed} <= used
    assert {"make demo", "make test"} <= used


PAGE = """
```console
$ lrisk one \\
    --two  # exit 3
error: 1.5
$ lrisk three
```
"""


def test_examples_are_read_with_their_exit_code_and_output():
    one, three = examples_of(PAGE)
    assert one == Example(3, "lrisk one --two", 3, ("error: 1.5",))
    assert three == Example(6, "lrisk three", 0, ())


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        (("loss 0.412",), "loss   0.4123"),
        (("a 1", "...", "b 2"), "a 1\nx\ny\nb 2"),
        (("...",), "anything"),
        ((), "anything"),
        (("done in 0.1 s",), "done in 12.0 s"),
        (("gap 2.5e-05",), "gap 1.6e-05"),
    ],
)
def test_equal_output_is_accepted(shown, printed):
    assert first_difference(shown, printed) is None


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        (("loss 0.412",), "loss 0.43"),
        (("loss 0.412",), "risk 0.412"),
        (("rows 1599",), "rows 1399"),
        (("gap 2.5e-05",), "gap 2.5e-04"),
        (("a", "c"), "a\nb\nc"),
        (("a",), "a\nb"),
        (("a", "...", "d"), "a\nb\nc"),
    ],
)
def test_different_output_is_noticed(shown, printed):
    assert first_difference(shown, printed) is not None
