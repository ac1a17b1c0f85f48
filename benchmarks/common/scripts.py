"""Find the benchmarks, and what their docstrings say of them."""

import ast
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1]
GROUPS = ("speed", "memory", "reliability", "papers")
# Guards against regressions that fit into five minutes together, with --quick.
QUICK = (
    "speed/process", "speed/sort", "speed/steps", "speed/newton", "speed/kernels", "speed/clusters",
    "speed/reading", "speed/quantiles", "memory/fit", "memory/scoring",
    "reliability/certificates",
)  # fmt: skip
# Compares two builds of lrisk, so it cannot run without arguments.
ON_DEMAND = ("speed/against",)


@dataclass(frozen=True, slots=True)
class Script:
    """A benchmark. name: group/script; question, bound, data: parts of its docstring."""

    name: str
    question: str
    bound: str
    data: str

    @property
    def module(self) -> str:
        """What `python -m` runs."""
        return f"benchmarks.{self.name.replace('/', '.')}"


def find_scripts() -> list[Script]:
    """All benchmarks, by group and name: modules of the groups, and packages with a __main__."""
    found = []
    for group in GROUPS:
        for path in sorted((FOLDER / group).iterdir()):
            if path.suffix == ".py" and path.stem != "__init__":
                found.append(read_script(f"{group}/{path.stem}", path))
            elif (path / "__main__.py").is_file():
                found.append(read_script(f"{group}/{path.name}", path / "__main__.py"))
    return found


def read_script(name: str, path: Path) -> Script:
    """The parts of a docstring: a question, then paragraphs that begin with Bound: and Data:."""
    text = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    paragraphs = [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]
    parts = {key: value for key, _, value in (each.partition(": ") for each in paragraphs[1:])}
    return Script(name, paragraphs[0], parts.get("Bound", ""), parts.get("Data", ""))
