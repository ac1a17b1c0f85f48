"""Tables of the README and the manual pages, which tests hold to the registries."""

from pathlib import Path

ROOT = Path(__file__).parents[2]


def markdown_table(page: str, first: str) -> list[list[str]]:
    """The cells of the table of a page whose first column is called `first`, without its header."""
    lines = iter((ROOT / page).read_text("utf-8").splitlines())
    next(line for line in lines if line.startswith(f"| {first} |"))
    next(lines)
    rows = []
    for line in lines:
        if not line.startswith("|"):
            break
        cells = line.replace("\\|", "\0").strip().strip("|").split("|")
        rows.append([cell.strip().replace("\0", "|") for cell in cells])
    return rows
