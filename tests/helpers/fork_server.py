"""Command lines run by helpers/forks.py in another process, a few dozen a second."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).parents[1]
Ask = Callable[..., tuple[int, str, str]]


@dataclass(frozen=True, slots=True)
class Ending:
    """How a command ended, what it printed on its two streams, and what it took."""

    code: int
    printed: str
    messages: str
    cpu_seconds: float
    peak_bytes: int


@contextmanager
def fork_server(seconds: int = 30, **variables: str) -> Iterator[Ask]:
    """Yields ask(folder, arguments, **environment) -> exit code, standard output and error.

    seconds: after which a command is killed. variables: added to the environment, from which those
    of lrisk are removed.
    """
    with measuring_server(seconds, **variables) as measure:

        def ask(
            folder: Path, arguments: list[str], **environment: str | None
        ) -> tuple[int, str, str]:
            ending = measure(folder, arguments, **environment)
            return ending.code, ending.printed, ending.messages

        yield ask


@contextmanager
def measuring_server(seconds: int = 30, **variables: str) -> Iterator[Callable[..., Ending]]:
    """The same; each answer is an Ending. seconds: after which a command is killed."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("LRISK_")}
    paths = os.pathsep.join([str(TESTS.parent), str(TESTS)])
    server = subprocess.Popen(
        [sys.executable, TESTS / "helpers/forks.py", str(seconds)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**kept, "PYTHONPATH": paths, **variables},
    )  # fmt: skip

    def measure(folder: Path, arguments: list[str], **environment: str | None) -> Ending:
        asked = {"folder": str(folder), "arguments": arguments, "environment": environment}
        server.stdin.write(json.dumps(asked) + "\n")
        server.stdin.flush()
        return Ending(*json.loads(server.stdout.readline()))

    with server:
        yield measure
        server.stdin.close()
