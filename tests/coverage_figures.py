"""Join what every process of a test run has measured, print the figures, hold them to the limits.

    coverage run -m pytest; python tests/coverage_figures.py

Fails below the limits, and then names the modules that lack most.
"""

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from coverage import Coverage

LEAST_LINES, LEAST_BRANCHES = 95.0, 90.0
MOST_SHOWN = 15


def measured_figures() -> dict[str, Any]:
    """Figures of all modules and of each; the data of the processes are joined and used up."""
    coverage = Coverage()
    coverage.combine()
    coverage.save()
    with TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        coverage.json_report(outfile=str(report))
        return json.loads(report.read_text())


def sentence(totals: dict[str, int]) -> tuple[str, bool]:
    """What is covered, and whether that is enough. totals: counts of lines and branches."""
    lines = 100.0 * totals["covered_lines"] / totals["num_statements"]
    branches = 100.0 * totals["covered_branches"] / totals["num_branches"]
    asked = f"(asked: {LEAST_LINES:g} and {LEAST_BRANCHES:g})"
    # Rounded down, so that what is shown as enough is enough.
    shown = [f"{int(10 * share) / 10:.1f} %" for share in (lines, branches)]
    enough = lines >= LEAST_LINES and branches >= LEAST_BRANCHES
    return f"coverage: {shown[0]} of lines, {shown[1]} of branches {asked}", enough


def lacking(files: dict[str, Any]) -> list[str]:
    """The modules with most lines and branches that no test reaches, most first."""
    counts = {
        name: (each["summary"]["missing_lines"], each["summary"]["missing_branches"])
        for name, each in files.items()
    }
    worst = sorted(counts, key=lambda name: (-sum(counts[name]), name))[:MOST_SHOWN]
    return [f"  {name}: {counts[name][0]} lines, {counts[name][1]} branches" for name in worst]


def main() -> int:
    """The exit code."""
    figures = measured_figures()
    told, enough = sentence(figures["totals"])
    if not enough:
        print("not reached by any test:", *lacking(figures["files"]), sep="\n")
    print(told)
    return 0 if enough else 1


if __name__ == "__main__":
    sys.exit(main())
