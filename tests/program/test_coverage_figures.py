"""What `make test` says of coverage: the figures, and whether they are enough."""

import pytest

from coverage_figures import lacking, sentence


def totals(lines: int, branches: int) -> dict[str, int]:
    return {
        "num_statements": 10_000, "covered_lines": lines,
        "num_branches": 1000, "covered_branches": branches,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("lines", "branches", "shown", "enough"),
    [
        (9640, 931, "96.4 % of lines, 93.1 % of branches", True),
        (9500, 900, "95.0 % of lines, 90.0 % of branches", True),
        # Not rounded up to what is asked.
        (9499, 1000, "94.9 % of lines, 100.0 % of branches", False),
        (10_000, 899, "100.0 % of lines, 89.9 % of branches", False),
    ],
)
def test_both_figures_are_held_to_their_limits(lines, branches, shown, enough):
    assert sentence(totals(lines, branches)) == (
        f"coverage: {shown} (asked: 95 and 90)", enough
    )  # fmt: skip


def test_modules_that_lack_most_come_first():
    files = {
        name: {"summary": {"missing_lines": lines, "missing_branches": branches}}
        for name, lines, branches in (("a.py", 1, 0), ("b.py", 0, 3), ("c.py", 2, 2))
    }
    assert lacking(files) == [
        "  c.py: 2 lines, 2 branches", "  b.py: 0 lines, 3 branches", "  a.py: 1 lines, 0 branches"
    ]  # fmt: skip
