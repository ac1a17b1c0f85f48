"""Fuzz what reads files and conditions, guided by coverage.

    python tests/fuzz_atheris.py -max_total_time=300

Needs atheris. Any exception but lrisk's own is a bug, and libFuzzer keeps the input that caused it.
"""

import sys
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import atheris

with atheris.instrument_imports(include=["lrisk_cli", "tomllib", "json"]):
    from houses import made_files

    from lrisk_cli.cli import COMMANDS
    from lrisk_cli.commands.configuring import known_settings
    from lrisk_cli.errors import LriskError
    from lrisk_cli.gates import parse_gate, parse_share, read_stored
    from lrisk_cli.model import load_model
    from lrisk_cli.settings import check_names, hold, read_config

KNOWN = known_settings(COMMANDS)
SEEDS = [
    b"\0" + made_files()["price.json"],
    b"\0" + made_files()["kind.json"],
    b'\1seed = 1\n[fit]\nrisk = ["mean"]\nmissing = "drop"\n',
    b'\2{"command": "evaluate", "metrics": {"rmse": 1.5}}',
    b"\3superquantile:0.9>1.5",
]


def read_settings(path: Path) -> None:
    """As a command does."""
    config = read_config(str(path))
    check_names(config, {}, KNOWN)
    for command, settings in KNOWN.items():
        hold(command, settings, config, {})


def read_condition(path: Path) -> None:
    """As --fail-on, and as --max-worsening."""
    text = path.read_text("utf-8", "replace")
    parse_gate(text)
    parse_share(text)


READERS = (
    load_model,
    read_settings,
    lambda path: read_stored(str(path), "evaluate", 0.1),
    read_condition,
)


def main() -> None:
    """The first byte of an input picks the reader, the rest is its file."""
    with TemporaryDirectory() as name:
        file, corpus = Path(name) / "file", Path(name) / "corpus"
        corpus.mkdir()
        for k, seed in enumerate(SEEDS):
            (corpus / str(k)).write_bytes(seed)

        def read(data: bytes) -> None:
            if data:
                file.write_bytes(data[1:])
                with suppress(LriskError):
                    READERS[data[0] % len(READERS)](file)

        atheris.Setup([*sys.argv, "-max_len=8192", str(corpus)], read)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
