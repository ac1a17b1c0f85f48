"""Small files are read whole, or not at all, and nobody waits for a pipe without a writer."""

import os
import subprocess
import threading

import pytest

from helpers.house_prices import add_house_files
from helpers.program import PROGRAM, document, lrisk, refusal
from lrisk_cli.tables.small_files import read_small


@pytest.mark.parametrize("n_bytes", [0, 1, 9, 10])
def test_a_file_within_the_limit_is_read_whole(tmp_path, n_bytes):
    (tmp_path / "f").write_bytes(b"x" * n_bytes)
    assert read_small(tmp_path / "f", 10) == b"x" * n_bytes


def test_a_longer_file_and_an_endless_device_are_not_read(tmp_path):
    (tmp_path / "f").write_bytes(b"x" * 11)
    assert read_small(tmp_path / "f", 10) is None
    assert read_small("/dev/zero", 10) is None
    with pytest.raises(IsADirectoryError):
        read_small(tmp_path, 10)


@pytest.mark.parametrize("n_bytes", [1, 10, 11])
def test_a_pipe_with_a_writer_is_waited_for(tmp_path, n_bytes):
    os.mkfifo(tmp_path / "pipe")
    # Opened both ways, the pipe has a writer before it has a reader.
    writer = os.open(tmp_path / "pipe", os.O_RDWR)

    def write_late() -> None:
        os.write(writer, b"x" * n_bytes)
        os.close(writer)

    threading.Timer(0.3, write_late).start()
    assert read_small(tmp_path / "pipe", 10) == (b"x" * n_bytes if n_bytes <= 10 else None)


def test_a_pipe_that_nobody_writes_to_is_refused_at_once(tmp_path):
    folder = add_house_files(tmp_path)
    os.mkfifo(folder / "pipe")
    assert "pipe: not a model file" in refusal(lrisk(folder, "show", "pipe", timeout=20), 4)
    flags = ["--baseline-metrics", "pipe"]
    run = lrisk(folder, "evaluate", "price.json", "houses.csv", *flags, timeout=20)
    assert "pipe: holds no result of lrisk" in refusal(run, 3)
    os.rename(folder / "pipe", folder / "lrisk.toml")
    assert lrisk(folder, "config", timeout=20).returncode == 0


def test_a_model_may_come_through_a_pipe(tmp_path):
    """As bash makes one of `<(cat price.json)`; commands look at a model twice."""
    folder = add_house_files(tmp_path)
    model = (folder / "price.json").read_bytes()
    read, write = os.pipe()
    os.write(write, model)
    os.close(write)
    run = subprocess.run(
        [*PROGRAM, "evaluate", f"/dev/fd/{read}", "houses.csv", "--json"],
        cwd=folder, pass_fds=[read], capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    os.close(read)
    assert document(run)["metrics"] == document(
        lrisk(folder, "evaluate", "price.json", "houses.csv", "--json")
    )["metrics"]  # fmt: skip
