"""Run benchmarks one after the other: `python -m benchmarks [--quick] [NAME ...]`.

A name is that of a group (speed) or of a script (speed/sort); without names all of them run. One
that fails does not stop the others; the exit code is 1 in the end.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence

from benchmarks.common.record import ROOT, clean_commit
from benchmarks.common.scripts import ON_DEMAND, QUICK, Script, find_scripts


def choose(scripts: Sequence[Script], names: Sequence[str], *, quick: bool) -> list[Script]:
    """The scripts to run; ends with a sentence if a name is unknown."""
    by_name = {script.name: script for script in scripts}
    if quick:
        return [by_name[name] for name in QUICK]
    groups = {name.partition("/")[0] for name in by_name}
    unknown = [name for name in names if name not in by_name and name not in groups]
    if unknown:
        raise SystemExit(f"no benchmark is called {', '.join(unknown)}; see benchmarks/README.md")
    return [
        script
        for name, script in by_name.items()
        if name in names
        or ((not names or name.partition("/")[0] in names) and name not in ON_DEMAND)
    ]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="groups or scripts [all]")
    parser.add_argument(
        "--quick", action="store_true", help="guards against regressions; records nothing"
    )
    parser.add_argument("--no-record", action="store_true", help="print the results only")
    options = parser.parse_args()
    if not (options.quick or options.no_record):
        clean_commit()
    flags = ["--quick"] * options.quick + ["--no-record"] * options.no_record
    failed = []
    began = time.perf_counter()
    for script in choose(find_scripts(), options.names, quick=options.quick):
        print(f"== {script.name}: {script.question}", flush=True)
        start = time.perf_counter()
        if subprocess.run([sys.executable, "-m", script.module, *flags], cwd=ROOT).returncode:
            failed.append(script.name)
        print(f"{time.perf_counter() - start:.0f} s", flush=True)
    print(f"all: {time.perf_counter() - began:.0f} s")
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
