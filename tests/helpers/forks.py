"""Run lrisk many times a second: forks of a process that has loaded everything.

As a program it serves another process: a line of JSON (folder, arguments, environment) comes in, a
line (exit code, standard output, standard error, CPU seconds, peak of memory in bytes) goes out.
A variable of the environment that is null is removed.
"""

import json
import os
import signal
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from tempfile import TemporaryFile
from traceback import print_exc
from typing import IO

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import lrisk_cli
from lrisk_cli.cli import main

LATE = (
    "scipy.optimize", "pyarrow.parquet", "jinja2", "matplotlib.figure",
    "matplotlib.backends.backend_svg",
)  # fmt: skip


def load_everything() -> None:
    """All modules of the package and what they load when they work, once for all forks."""
    names = [module.name for module in walk_packages(lrisk_cli.__path__, "lrisk_cli.")]
    for name in (*names, *LATE):
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
    sys.argv = ["lrisk", *arguments]
    code = 1
    try:
        main()
    except SystemExit as ended:
        code = ended.code
    except BaseException:
        print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def change_environment(variables: dict[str, str | None]) -> None:
    """Set these variables; those that are None are removed."""
    for name, text in variables.items():
        if text is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = text


def serve(seconds: int) -> None:
    """Answer until nobody asks; a command that takes longer ends by an alarm."""
    load_everything()
    answers = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        asked = json.loads(line)
        before = dict(os.environ)
        change_environment(asked["environment"])
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
        change_environment({name: before.get(name) for name in asked["environment"]})
        figures = used.ru_utime + used.ru_stime, used.ru_maxrss << 10
        answers.write(json.dumps([os.waitstatus_to_exitcode(status), *texts, *figures]) + "\n")
        answers.flush()


if __name__ == "__main__":
    serve(int(sys.argv[1]))
