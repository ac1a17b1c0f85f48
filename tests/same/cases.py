"""Read the commands of commands.toml, and the tables that they need."""

import fnmatch
import hashlib
import json
import re
import shlex
import tomllib
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SAMPLES = ROOT / "sample_data"
REAL_DATA = ROOT.parent / "shared" / "data"
COMMANDS = HERE / "commands.toml"


@dataclass(frozen=True, slots=True)
class Step:
    """One run of the program. stdin: a file to read; stdout: a file to write, besides."""

    arguments: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]
    stdin: str | None
    stdout: str | None

    @property
    def prints_table(self) -> bool:
        """Whether standard output is a table: predictions for which no file is named."""
        return self.arguments[0] == "predict" and not {"-o", "--json"} & set(self.arguments)

    @property
    def prints_help(self) -> bool:
        """Whether standard output lists options."""
        return "--help" in self.arguments


@dataclass(frozen=True, slots=True)
class Case:
    """Commands that run one after the other in a scratch folder of their own."""

    name: str
    commands: tuple[str, ...]
    files: tuple[tuple[str, str], ...]

    @property
    def steps(self) -> list[Step]:
        """The commands, parsed."""
        return [parse_step(command) for command in self.commands]

    @property
    def needs_real_data(self) -> bool:
        """Whether a table of the shared data is read."""
        return any(re.search(r"(^|[ =])real/", command) for command in self.commands)

    def key(self) -> str:
        """A hash of all that the recording depends on, except the program."""
        inputs = [self.name, self.commands, self.files, _inputs_key(self.needs_real_data)]
        return hashlib.sha256(json.dumps(inputs).encode()).hexdigest()


def parse_step(command: str) -> Step:
    """`NAME=VALUE ... command --option ... < file > file`, quoted as in a shell."""
    words = shlex.split(command)
    environment = []
    while re.match(r"[A-Z][A-Z0-9_]*=", words[0]):
        name, _, value = words.pop(0).partition("=")
        environment.append((name, value))
    redirected: dict[str, str | None] = {"<": None, ">": None}
    while len(words) > 2 and words[-2] in redirected:
        redirected[words[-2]] = words[-1]
        del words[-2:]
    return Step(tuple(words), tuple(environment), redirected["<"], redirected[">"])


def read_cases(pattern: str | None) -> list[Case]:
    """The cases whose name or commands contain the pattern, in the order of the file."""
    tables = tomllib.loads(COMMANDS.read_text("utf-8"))
    cases = [
        Case(name, tuple(table["run"]), tuple(table.get("files", {}).items()))
        for name, table in tables.items()
    ]
    return [case for case in cases if pattern is None or _matches(case, pattern)]


def _matches(case: Case, pattern: str) -> bool:
    texts = [case.name, *case.commands]
    return any(pattern in text or fnmatch.fnmatch(text, pattern) for text in texts)


def _inputs_key(with_real_data: bool) -> str:
    """A hash of the samples and made tables, and of the names and sizes of the real ones."""
    digest = hashlib.sha256((HERE / "made.py").read_bytes())
    for path in sorted(SAMPLES.glob("*.csv")):
        digest.update(path.read_bytes())
    for path in sorted(REAL_DATA.rglob("*")) if with_real_data else ():
        digest.update(f"{path.relative_to(REAL_DATA)} {path.stat().st_size}".encode())
    return digest.hexdigest()
