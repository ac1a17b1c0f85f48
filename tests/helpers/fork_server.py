"""Command lines run by helpers/forks.py in another process, a few dozen a second."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

TESTS = Path(__file__).parents[1]
Ask = Callable[..., tuple[int, str, str]]


@contextmanager
def fork_server(**variables: str) -> Iterator[Ask]:
    """Yields ask(folder, arguments, **environment) -> exit code, standard output and error.

    variables: added to the environment, from which those of lrisk are removed.
    """
    kept = {name: text for name, text in os.environ.items() if not name.startswith("LRISK_")}
    paths = os.pathsep.join([str(TESTS.parent), str(TESTS)])
    server = subprocess.Popen(
        [sys.executable, TESTS / "helpers/forks.py"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**kept, "PYTHONPATH": paths, **variables},
    )  # fmt: skip

    def ask(folder: Path, arguments: list[str], **environment: str) -> tuple[int, str, str]:
        asked = {"folder": str(folder), "arguments": arguments, "environment": environment}
        server.stdin.write(json.dumps(asked) + "\n")
        server.stdin.flush()
        code, printed, messages = json.loads(server.stdout.readline())
        return code, printed, messages

    with server:
        yield ask
        server.stdin.close()
