"""Run lrisk many times a second: forks of a process that has loaded everything.

As a program it serves another process: a line of JSON (folder, arguments, environment) comes in, a
line (exit code, standard output, standard error, CPU seconds, peak of memory in bytes) goes out.
"""

import json
import os
import signal
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from tempfile import TemporaryFile
from typing import IO

import lrisk_cli
from lrisk_cli.cli import run


def load_everything() -> None:
    """All modules of the package and what they load when they work, once for all forks."""
    names = [module.name for module in walk_packages(lrisk_cli.__path__, "lrisk_cli.")]
    for name in (*names, "scipy.optimize", "pyarrow.parquet"):
        if name not in ("lrisk_cli.__main__", "lrisk_cli._core_avx2"):
            import_module(name)


def start(folder: Path, arguments: list[str], streams: tuple[IO[bytes], IO[bytes]] | None) -> int:
    """A fork that runs the command in the folder. streams: for its output, or nowhere."""
    child = os.fork()
    if child:
        return child
    os.chdir(folder)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    for number in (1, 2):
        os.dup2(nowhere if streams is None else streams[number - 1].fileno(), number)
    code = run(arguments)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def serve(seconds: int) -> None:
    """Answer until nobody asks; a command that takes longer ends by an alarm."""
    load_everything()
    answers = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        asked = json.loads(line)
        os.environ.update(asked["environment"])
        with TemporaryFile() as out, TemporaryFile() as talk:
            child = start(asked["folder"], asked["arguments"], (out, talk))
            signal.signal(signal.SIGALRM, lambda *_, pid=child: os.kill(pid, signal.SIGKILL))
            signal.alarm(seconds)
            _, status, used = os.wait4(child, 0)
            signal.alarm(0)
            texts = []
            for stream in (out, talk):
                stream.seek(0)
                texts.append(stream.read().decode("utf-8", "backslashreplace"))
        for name in asked["environment"]:
            del os.environ[name]
        figures = used.ru_utime + used.ru_stime, used.ru_maxrss << 10
        answers.write(json.dumps([os.waitstatus_to_exitcode(status), *texts, *figures]) + "\n")
        answers.flush()


if __name__ == "__main__":
    serve(int(sys.argv[1]))
