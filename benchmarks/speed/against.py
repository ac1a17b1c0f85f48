"""Is this build of lrisk as fast as another one, command by command?

Bound: at most 1.03x the CPU time of the other build.

Data: sample_data, and generated.

Whole processes of both builds take turns, and who begins changes from round to round; BLAS has one
thread. `ratio` is that of the least CPU times, which other programs on the machine can only raise,
`median ratio` the median of the ratios within a round; the first must keep the bound.
Build both in the same way: an editable
install starts more slowly. With --base both commits are built from git, HEAD and the other one.
"""

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.common.record import ROOT, make_parser, start
from benchmarks.common.tables import write_regression
from benchmarks.common.timing import ONE_THREAD, Usage, run_process

WINE = str(ROOT / "sample_data" / "wine_quality_red.csv")
# Case -> arguments; the tables and the model are in the current folder.
CASES: Mapping[str, tuple[str, ...]] = {
    "help": ("--help",),
    "help of fit": ("fit", "--help"),
    "fit, wine": ("fit", WINE, "--target", "quality", "--risk", "superquantile:0.9"),
    "fit, wine, mean": ("fit", WINE, "--target", "quality", "--risk", "mean"),
    "fit, 20000x50 CSV, mean": ("fit", "middle.csv", "--target", "y", "--risk", "mean"),
    "fit, 20000x50 CSV, superquantile": (
        "fit", "middle.csv", "--target", "y", "--risk", "superquantile:0.9",
    ),
    "fit, wine, rbf": ("fit", WINE, "--target", "quality", "--kernel", "rbf", "--rank", "100"),
    "fit, wine, subquantile": ("fit", WINE, "--target", "quality", "--risk", "subquantile:0.9"),
    "fit, 1000000x20 Parquet, mean": ("fit", "large.parquet", "--target", "y", "--risk", "mean"),
    "reading, 200000x20 CSV": (
        "fit", "long.csv", "--target", "y", "--risk", "mean", "--max-passes", "1",
    ),
    "evaluate, 1000000x20 Parquet": ("evaluate", "model.json", "large.parquet"),
    "predict, 200000x20 CSV": ("predict", "model.json", "long.csv", "-o", "p.csv", "--force"),
    "detect-outliers, 20000x50 CSV": ("detect-outliers", "middle.csv", "--target", "y"),
    "cluster, wine": ("cluster", WINE, "-k", "3"),
}  # fmt: skip
LARGE = ("large.parquet", "long.csv")
TABLES = {"middle.csv": (20_000, 50), "long.csv": (200_000, 20), "large.parquet": (1_000_000, 20)}
MODEL = ("fit", "long.csv", "--target", "y", "--risk", "mean", "-o", "model.json", "--force")
N_ROUNDS, N_QUICK = 11, 5


def choose(pattern: str, *, quick: bool) -> dict[str, tuple[str, ...]]:
    """Cases with the pattern in their name or command; quick ones read no large table."""
    return {
        name: arguments
        for name, arguments in CASES.items()
        if (pattern in name or pattern in " ".join(arguments))
        and not (quick and any(table in arguments for table in LARGE))
    }


def prepare(folder: Path, cases: Mapping[str, Sequence[str]], program: str) -> None:
    """Write the tables that the cases read, and the model that some of them use."""
    used = {argument for arguments in cases.values() for argument in arguments}
    if "model.json" in used:
        used.add("long.csv")
    for name in used & set(TABLES):
        write_regression(folder / name, *TABLES[name])
    if "model.json" in used:
        run_process([program, *MODEL, "--quiet"], folder)


@dataclass(slots=True)
class Duel:
    """CPU seconds of one command by both builds, a round at a time."""

    arguments: Sequence[str]
    base: str
    program: str
    folder: Path
    seconds: dict[str, list[float]] = field(default_factory=lambda: {"base": [], "this": []})

    def run(self, rounds: int) -> None:
        """Add rounds; who begins changes from one to the next."""
        builds = [("base", self.base), ("this", self.program)]
        for at in range(rounds):
            for name, path in builds[:: -1 if at % 2 else 1]:
                self.seconds[name].append(self._run(path).cpu_seconds)

    def warm_up(self) -> None:
        """Run each build once, uncounted: its modules are compiled, the files are in memory."""
        for path in (self.base, self.program):
            self._run(path)

    @property
    def ratio(self) -> float:
        """Ratio of the least CPU times."""
        return min(self.seconds["this"]) / min(self.seconds["base"])

    @property
    def median_ratio(self) -> float:
        """Median of the ratios within a round."""
        return float(np.median(np.divide(self.seconds["this"], self.seconds["base"])))

    def _run(self, path: str) -> Usage:
        return run_process([path, *self.arguments], self.folder, ONE_THREAD)


def measure(duel: Duel, rounds: int, most: float) -> dict[str, object]:
    """One line of the results. The rounds are fixed beforehand: none are added after a miss."""
    duel.warm_up()
    duel.run(rounds)
    return {
        "base cpu ms": 1e3 * min(duel.seconds["base"]),
        "cpu ms": 1e3 * min(duel.seconds["this"]),
        "rounds": len(duel.seconds["this"]),
        "ratio": duel.ratio,
        "median ratio": duel.median_ratio,
        "at most": most,
        "within": duel.ratio <= most,
    }


def find_builds(options: argparse.Namespace) -> tuple[str, str]:
    """The two programs: paths as given, or commits built from git."""
    if options.base_program is not None:
        program = options.program or ROOT / ".venv" / "bin" / "lrisk"
        return str(options.base_program.absolute()), str(program.absolute())
    # The builds are those of `make same`.
    sys.path.insert(0, str(ROOT / "tests" / "same"))
    from building import build_commit

    program = options.program or build_commit("HEAD")
    return str(build_commit(options.base)), str(program.absolute())


def main() -> None:
    parser = make_parser(__doc__, "no large tables, fewer rounds")
    builds = parser.add_mutually_exclusive_group(required=True)
    builds.add_argument("--base-program", type=Path, help="the lrisk to compare with")
    builds.add_argument("--base", metavar="COMMIT", help="a commit to compare HEAD with")
    parser.add_argument(
        "--program", type=Path, help="the lrisk to judge [HEAD, or .venv/bin/lrisk]"
    )
    parser.add_argument("-k", metavar="TEXT", default="", help="only cases with this text")
    parser.add_argument("--rounds", type=int, help=f"rounds [{N_ROUNDS}, quick {N_QUICK}]")
    parser.add_argument("--most", type=float, default=1.03, help="largest ratio [%(default)s]")
    options = parser.parse_args()
    # A comparison of two builds belongs to no single commit: it is printed only.
    benchmark = start("speed/against", options, whole=False)
    base, program = find_builds(options)
    cases = choose(options.k, quick=options.quick)
    if not cases:
        raise SystemExit(f"no case contains {options.k!r}")
    rounds = options.rounds or (N_QUICK if options.quick else N_ROUNDS)
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder, cases, base)
        for case, arguments in cases.items():
            quiet = () if "--help" in arguments else ("--quiet",)
            duel = Duel((*arguments, *quiet), base, program, folder)
            rows.append({"case": case, **measure(duel, rounds, options.most)})
            print(f"{case}: {duel.ratio:.3f}", file=sys.stderr)
    benchmark.finish(rows)
    if not all(row["within"] for row in rows):
        raise SystemExit("slower than the other build")


if __name__ == "__main__":
    main()
