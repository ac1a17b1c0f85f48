"""Fuzz what reads tables, options, settings, models and conditions, guided by coverage.

    python tests/fuzz_atheris.py -max_total_time=300

Needs atheris. Any exception but lrisk's own is a bug, and so is a table that reads differently in
small pieces; libFuzzer keeps the input that caused it.
"""

import os
import sys
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import atheris

from helpers.matrix import matrix

with atheris.instrument_imports(include=["lrisk_cli", "tomllib", "json"]):
    from helpers.house_prices import made_files
    from lrisk_cli.cli import COMMANDS, run
    from lrisk_cli.commands.configuring import known_settings
    from lrisk_cli.commands.settings import check_names, find_effective, read_config
    from lrisk_cli.design.design import DesignOptions, build_design
    from lrisk_cli.errors import LriskError
    from lrisk_cli.evaluation.gates import parse_fraction, parse_gate, read_stored
    from lrisk_cli.models.loading import load_model
    from lrisk_cli.names import Missing
    from lrisk_cli.tables import csv_files
    from lrisk_cli.tables.table import open_table

KNOWN = known_settings(COMMANDS)
HOUSES = b"".join(made_files()["houses.csv"].splitlines(keepends=True)[:12])
SEEDS = [
    b"\0" + made_files()["price.json"],
    b"\0" + made_files()["kind.json"],
    b'\1seed = 1\n[fit]\nrisk = ["mean"]\nmissing = "drop"\n',
    b'\2{"command": "evaluate", "metrics": {"rmse": 1.5}}',
    b"\3superquantile:0.9>1.5",
    b"\4" + HOUSES,
    b'\4a;b;c\r\n1;"x\n""y""";2024-05-06\r\n;007;1e400\r\n-0;NaN;true\r\n',
    b"\5--target\0price\0--exclude\0house\0--missing\0impute",
    b"\5--features\0area,rooms\0--target\0area\0--l2\x001e-3\0--kernel\0rbf\0--rank\0auto",
    b"\5--dtype\0rooms=category\0--na-values\0blue,red\0--delimiter\0,\0--risk\0esrm:2",
]


def read_model(path: Path) -> None:
    """As a model of any kind."""
    with suppress(LriskError):
        load_model(path)


def read_settings(path: Path) -> None:
    """As a command does."""
    config = read_config(str(path))
    check_names(config, {}, KNOWN)
    for command, settings in KNOWN.items():
        find_effective(command, settings, config, {})


def read_condition(path: Path) -> None:
    """As --fail-on, and as --max-worsening."""
    text = path.read_text("utf-8", "replace")
    parse_gate(text)
    parse_fraction(text)


def read_rows(path: Path) -> None:
    """As a fit does, at once and in blocks that end anywhere."""
    outcomes = []
    for size in (1 << 20, 23):
        csv_files.BLOCK_BYTES = size
        try:
            table = open_table([str(path)])
            options = DesignOptions(table.columns[0].name, missing=Missing.IMPUTE)
            design, _ = build_design(table, options)
            outcomes.append((design.fingerprint, matrix(design).tobytes(), design.counts))
        except LriskError as error:
            outcomes.append(type(error))
    csv_files.BLOCK_BYTES = 1 << 20
    assert outcomes[0] == outcomes[1], "the blocks matter"


def read_options(path: Path) -> None:
    """As options of a fit that only tells what it would do."""
    words = path.read_text("utf-8", "replace").split("\0")
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        code = run(["fit", "houses.csv", "--dry-run", *words])
    assert code in range(6), f"exit code {code}"


READERS = (
    read_model,
    read_settings,
    lambda path: read_stored(str(path), "evaluate", 0.1),
    read_condition,
    read_rows,
    read_options,
)


def main() -> None:
    """The first byte of an input picks the reader, the rest is its file."""
    with TemporaryDirectory() as name:
        file, corpus = Path(name) / "file", Path(name) / "corpus"
        corpus.mkdir()
        for k, seed in enumerate(SEEDS):
            (corpus / str(k)).write_bytes(seed)
        (Path(name) / "houses.csv").write_bytes(HOUSES)

        def read(data: bytes) -> None:
            if data:
                file.write_bytes(data[1:])
                with suppress(LriskError):
                    READERS[data[0] % len(READERS)](file)

        found = f"-artifact_prefix={os.getcwd()}/"
        atheris.Setup([*sys.argv, "-max_len=8192", found, str(corpus)], read)
        os.chdir(name)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
