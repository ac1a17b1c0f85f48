"""The folder of real tables, which lies beside the repository where it is available."""

from pathlib import Path

REAL_DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


def is_missing(*names: str) -> bool:
    """Whether a part of the folder is absent; says so."""
    folder = REAL_DATA.joinpath(*names)
    if folder.exists():
        return False
    shown = "/".join((REAL_DATA.name, *names))
    print(f"SKIPPED: {shown}, a folder of real data, is not beside the repository")
    return True
