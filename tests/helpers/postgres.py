"""A PostgreSQL server of its own: on loopback, in a temporary folder, as an unprivileged user."""

import os
import pwd
import shutil
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

# The server refuses to run as root.
UNPRIVILEGED = ("postgres", "nobody")


@dataclass(frozen=True)
class Postgres:
    """A running server."""

    programs: Path
    port: int
    folder: Path

    def run(self, statements: Sequence[str]) -> str:
        """What the statements print, as psql prints CSV."""
        psql = shutil.which("psql") or self.programs / "psql"
        command = [psql, "-X", "-q", "--csv", "-v", "ON_ERROR_STOP=1"]
        command += ["-h", "127.0.0.1", "-p", str(self.port), "-U", "tester", "-d", "postgres"]
        for statement in statements:
            command += ["-c", statement]
        done = subprocess.run(command, capture_output=True, text=True, env=clean())
        assert done.returncode == 0, done.stderr
        return done.stdout


def clean() -> dict[str, str]:
    return {**{k: v for k, v in os.environ.items() if not k.startswith("PG")}, "TZ": "UTC"}


def find_programs() -> Path | None:
    """The folder of initdb and pg_ctl; None where there is no server."""
    found = shutil.which("initdb")
    folders = [Path(found).parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((each for each in folders if (each / "initdb").exists()), None)


@contextmanager
def server(folder: Path) -> Iterator[Postgres]:
    """The server, while the context lasts. folder: a new one that others may enter."""
    programs = find_programs()
    assert programs is not None
    data = folder / "data"
    user = None
    if os.getuid() == 0:
        known = {each.pw_name for each in pwd.getpwall()}
        user = next(name for name in UNPRIVILEGED if name in known)
        shutil.chown(folder, user)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def run(*command: object) -> None:
        how = {"user": user, "extra_groups": []} if user else {}
        done = subprocess.run(
            list(map(str, command)), capture_output=True, text=True, cwd=folder, env=clean(), **how
        )
        assert done.returncode == 0, done.stdout + done.stderr

    run(programs / "initdb", "-D", data, "-U", "tester", "-A", "trust", "-E", "UTF8", "-N",
        "--no-instructions")  # fmt: skip
    settings = f"-p {port} -c listen_addresses=127.0.0.1 -k '' -c fsync=off"
    run(programs / "pg_ctl", "-D", data, "-w", "-o", settings, "-l", folder / "log", "start")
    try:
        yield Postgres(programs, port, folder)
    finally:
        run(programs / "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
