"""A process that reads files for the harness, one after the other, as long as it lives.

    python -m outside.child lrisk|peers

Questions come in and answers go out as pickles. A file that ends the process, or takes too long,
costs the harness a new process and nothing else.
"""

import os
import pickle
import resource
import select
import subprocess
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[1]
MEMORY = 4 << 30  # of addresses: a reader that wants more fails, and not the machine
SECONDS = 60


@dataclass(frozen=True, slots=True)
class Answer:
    """What a child made of a file, or how it ended; its CPU time and the peak of its memory."""

    value: Any
    failure: str
    cpu_seconds: float
    peak_bytes: int


class Child:
    """Starts the process when it is first asked, and again after it has ended."""

    def __init__(self, role: str, seconds: float = SECONDS) -> None:
        self._role = role
        self._seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._messages = tempfile.TemporaryFile()  # noqa: SIM115 - as long as the child

    def ask(self, *question: Any) -> Answer:
        """The answer to one question."""
        process = self._process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        started = time.perf_counter()
        pickle.dump(question, process.stdin)
        process.stdin.flush()
        if not select.select([process.stdout], [], [], self._seconds)[0]:
            return self._ended(f"no answer within {self._seconds:.0f} s", started)
        try:
            value, failure, cpu_seconds, peak = pickle.load(process.stdout)
        except (EOFError, pickle.UnpicklingError):
            return self._ended("", started)
        return Answer(value, failure, cpu_seconds, peak)

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def __enter__(self) -> "Child":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        self._messages.close()

    def _start(self) -> "subprocess.Popen[bytes]":
        paths = os.pathsep.join([str(TESTS.parent), str(TESTS)])
        self._process = subprocess.Popen(
            [sys.executable, "-m", "outside.child", self._role],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._messages,
            env={**os.environ, "PYTHONPATH": paths},
        )  # fmt: skip
        return self._process

    def _ended(self, reason: str, started: float) -> Answer:
        """What is known of a child that gave no answer."""
        assert self._process is not None
        if reason:
            self._process.kill()
        code = self._process.wait()
        self._messages.seek(0)
        said = self._messages.read().decode("utf-8", "replace").strip().splitlines()[-3:]
        self._messages.seek(0)
        self._messages.truncate()
        self.close()
        reason = reason or f"ended with {code}"
        return Answer(None, f"{reason} {' '.join(said)}".strip(), time.perf_counter() - started, 0)


def _answer(role: str, question: tuple[Any, ...]) -> Any:
    from outside.peers import read_with_peers
    from outside.readings import read_with_lrisk

    return read_with_lrisk(*question) if role == "lrisk" else read_with_peers(*question)


def _forget_peak() -> None:
    """Have the system measure the peak of memory from here on, where it can."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def _peak() -> int:
    """The peak of memory in bytes."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def serve(role: str) -> None:
    """Answer until nobody asks."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.RLIM_INFINITY))
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print is no answer
    while True:
        try:
            question = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        _forget_peak()
        started, value, failure = time.process_time(), None, ""
        try:
            value = _answer(role, question)
        except BaseException:
            failure = traceback.format_exc()
        spent = time.process_time() - started
        pickle.dump((value, failure, spent, _peak()), answers)
        answers.flush()


if __name__ == "__main__":
    serve(sys.argv[1])
