"""Show that two builds of lrisk give the same results, by running both and comparing all.

    python tests/same/same.py --base 64e8142                 # a commit, built from git
    python tests/same/same.py --base-program OTHER/bin/lrisk
    python tests/same/same.py -k fit-kernel                  # only these cases

The cases are in commands.toml, differences that are meant in allowed.toml. What must agree, what
is left out and what counts as wording is stated at the top of comparing.py. Exits with 1 if
anything else differs.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

from building import FOLDER, build_commit
from recording import Program, describe_program, record

from cases import HERE, REAL_DATA, ROOT, Case, read_cases
from comparing import SHOWN, Allowance, Difference, compare_case, read_allowances

BASE = "64e8142"
WIDTH = 160


def main() -> int:
    """Record both programs, compare, report."""
    options = _parse(sys.argv[1:])
    cases = _wanted_cases(options.k)
    if options.list:
        for case in cases:
            print(case.name, *(f"    lrisk {command}" for command in case.commands), sep="\n")
        return 0
    base = describe_program(options.base_program or build_commit(options.base))
    other = describe_program(options.program)
    _warn_of_libraries(base, other)
    folders = FOLDER / "recordings" / base.identity, FOLDER / "recordings" / "tree"
    _record("base", base, cases, folders[0], options.jobs, reuse=not options.again)
    _record("program", other, cases, folders[1], options.jobs, reuse=False)
    found = [
        difference
        for case in cases
        for difference in compare_case(case, folders[0] / case.name, folders[1] / case.name)
    ]
    return _report(cases, found, read_allowances(HERE / "allowed.toml"), options.words)


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--base", default=BASE, help="commit to compare with [%(default)s]")
    parser.add_argument("--base-program", type=Path, help="an lrisk to compare with instead")
    parser.add_argument(
        "--program", type=Path, default=ROOT / ".venv/bin/lrisk", help="the lrisk to check"
    )
    parser.add_argument("-k", metavar="PATTERN", help="only cases with this in name or command")
    parser.add_argument("-j", "--jobs", type=int, default=2, help="commands at a time [2]")
    parser.add_argument("--again", action="store_true", help="record the base again")
    parser.add_argument("--words", action="store_true", help="show every difference of wording")
    parser.add_argument("--list", action="store_true", help="list the cases, run nothing")
    return parser.parse_args(arguments)


def _wanted_cases(pattern: str | None) -> list[Case]:
    cases = read_cases(pattern)
    if not cases:
        sys.exit(f"no case matches {pattern!r}; --list shows them")
    if REAL_DATA.is_dir():
        return cases
    absent = [case.name for case in cases if case.needs_real_data]
    if absent:
        print(f"REAL DATA ABSENT: {REAL_DATA.name} is not beside the project. NOT COMPARED:")
        print(*(f"  {name}" for name in absent), sep="\n")
    return [case for case in cases if not case.needs_real_data]


def _warn_of_libraries(base: Program, other: Program) -> None:
    for one, two in zip(base.libraries, other.libraries, strict=True):
        if one != two:
            print(f"WARNING: base has {one}, program {two}: results may differ for that reason")


def _record(
    label: str, program: Program, cases: Sequence[Case], folder: Path, n_jobs: int, *, reuse: bool
) -> None:
    print(f"{label}: {program.path}", flush=True)
    began = perf_counter()
    record(program, cases, folder, n_jobs=n_jobs, reuse=reuse)
    print(f"  {sum(len(case.commands) for case in cases)} commands, {perf_counter() - began:.0f} s")


def _report(
    cases: Sequence[Case],
    found: Sequence[Difference],
    allowances: Sequence[Allowance],
    words: bool,
) -> int:
    allowed = [each for each in found if any(entry.covers(each) for entry in allowances)]
    meant = set(map(id, allowed))
    wording = [each for each in found if each.wording and id(each) not in meant]
    wrong = [each for each in found if not each.wording and id(each) not in meant]
    for entry in allowances:
        n_covered = sum(map(entry.covers, allowed))
        print(f"allowed: {n_covered} of {entry.command} {entry.key}: {entry.reason}")
    if wording:
        print(f"\nwording differs in {len(wording)} places:")
        _print_differences(wording, sys.maxsize if words else 1)
    if wrong:
        print(f"\nDIFFERENT: {len(wrong)} results in {len({each.case for each in wrong})} cases:")
        _print_differences(wrong, SHOWN)
        return 1
    n_commands = sum(len(case.commands) for case in cases)
    print(f"\nthe same: {n_commands} commands of {len(cases)} cases")
    return 0


def _print_differences(differences: Sequence[Difference], most: int) -> None:
    """By case and file, at most so many of each file."""
    groups: dict[tuple[str, str], list[Difference]] = defaultdict(list)
    for each in differences:
        groups[each.case, each.key.partition(":")[0]].append(each)
    for (case, _), group in groups.items():
        for each in group[:most]:
            print(f"  {case}  {each.key}")
            print(f"    - {_cut(each.base)}\n    + {_cut(each.other)}")
        if len(group) > most:
            print(f"    ... and {len(group) - most} more there")


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= WIDTH else line[: WIDTH - 4] + " ..."


if __name__ == "__main__":
    sys.exit(main())
