"""Read a folder of files with lrisk and with its peers, compare, and run the commands on each.

    python -m outside.corpora FOLDER            # any folder; without one the own corpus
    python -m outside.corpora FOLDER --no-commands -k parquet

Prints a summary, writes build/corpora.json, and exits with 1 if a bound is broken: an exit code
other than 0 to 4, no sentence for an error, 10 s of CPU or 1 GB of memory for a file below 10 MB, a
reading that no other program confirms, or a file of the own corpus that is not read as expected.
"""

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from threading import local
from typing import Any

from outside.checking import DOCUMENTS, Checked, Checker, checker
from outside.conventions import CONVENTIONS
from outside.corpus import Case, all_cases, judge
from outside.peers import absent_peers

ROOT = Path(__file__).parents[2]
TABLES = (".csv", ".tsv", ".tab", ".txt", ".psv", ".parquet", ".pq", ".arrow", ".feather", ".ipc",
          ".arrows", ".stream", ".arrow_file", ".gz", ".zst", ".bz2", ".xz", ".fuzz")  # fmt: skip
SHOWN = 12
WIDTH = 150


@dataclass(frozen=True, slots=True)
class Job:
    """A file to check, and what is expected of it if it is of the own corpus."""

    path: Path
    name: str
    case: Case | None = None


def main() -> int:
    """Check, report; 1 if a bound is broken."""
    asked = _parse(sys.argv[1:])
    for name in absent_peers():
        print(f"NOT COMPARED WITH {name.upper()}: it is not installed; make build installs it")
    with tempfile.TemporaryDirectory() as folder:
        jobs = _jobs_of(asked.corpus) if asked.corpus else _own_jobs(Path(folder))
        jobs = [job for job in jobs if asked.k in job.name]
        checked = _check_all(jobs, asked.jobs, commands=not asked.no_commands)
    asked.report.parent.mkdir(parents=True, exist_ok=True)
    asked.report.write_text(json.dumps(_document(checked), indent=1, default=str))
    _print_summary(checked)
    print(f"\nall files: {asked.report}")
    return int(any(each.broken for each in checked))


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("corpus", nargs="?", type=Path, help="folder [default: the own corpus]")
    parser.add_argument("-k", default="", metavar="TEXT", help="only files with this in the name")
    parser.add_argument("-j", "--jobs", type=int, default=2, help="files at a time [2]")
    parser.add_argument("--no-commands", action="store_true", help="read and compare only")
    parser.add_argument("--report", type=Path, default=ROOT / "build/corpora.json")
    return parser.parse_args(arguments)


def _jobs_of(folder: Path) -> list[Job]:
    """Tables, models and settings below a folder, and files without a suffix."""
    if not folder.is_dir():
        raise SystemExit(f"{folder}: no such folder")
    known = (*TABLES, *DOCUMENTS, "")
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return [
        Job(path.resolve(), str(path.relative_to(folder)))
        for path in paths
        if path.suffix.lower() in known and not path.name.startswith(".")
    ]


def _own_jobs(folder: Path) -> list[Job]:
    return [Job(case.write(folder), case.name, case) for case in all_cases()]


def _check_all(jobs: Sequence[Job], n_threads: int, *, commands: bool) -> list[Checked]:
    """Every file; each thread has processes of its own."""
    mine = local()
    with ExitStack() as stack, ThreadPoolExecutor(n_threads) as pool:

        def check(job: Job) -> Checked:
            if not hasattr(mine, "checker"):
                mine.checker = stack.enter_context(checker(commands=commands))
            return _check_job(mine.checker, job, commands=commands)

        return list(pool.map(check, jobs))


def _check_job(checker: Checker, job: Job, *, commands: bool) -> Checked:
    options = job.case.options if job.case else {}
    checked = checker.check(job.path, job.name, options, run=commands)
    if job.case is not None:
        finding = judge(job.case, checked.answer, checked)
        return replace(checked, broken=(*checked.broken, *([finding] if finding else [])))
    if checked.verdict == "different":
        finding = next(each.findings[0] for each in checked.comparisons.values() if each.findings)
        return replace(checked, broken=(*checked.broken, f"no program confirms it: {finding}"))
    return checked


def _document(checked: Sequence[Checked]) -> dict[str, Any]:
    return {
        "files": [each.as_document() for each in checked],
        "verdicts": Counter(each.verdict for each in checked),
        "conventions": {name: CONVENTIONS[name] for name in _conventions(checked)},
        "not_compared_with": absent_peers(),
    }


def _conventions(checked: Sequence[Checked]) -> Counter[str]:
    """How many files each convention concerns."""
    return Counter(
        name
        for each in checked
        for name in {name for other in each.comparisons.values() for name in other.conventions}
    )


def _print_summary(checked: Sequence[Checked]) -> None:
    print(f"\n{len(checked)} files")
    words = {
        "same": "read as every program that reads them",
        "conventions": "read as they do but for conventions",
        "disagreed": "read as one of them, not as another",
        "different": "READ DIFFERENTLY FROM ALL",
        "alone": "read by lrisk only",
        "refused": "refused",
        "document": "models and settings",
    }
    verdicts = Counter(each.verdict for each in checked)
    for verdict, meaning in words.items():
        print(f"  {verdicts[verdict]:6d}  {meaning}")
    print("\nfiles with cells, names or rows read by a convention of lrisk")
    for name, count in _conventions(checked).most_common():
        print(f"  {count:6d}  {name}: {CONVENTIONS[name]}")
    _print_refusals(checked)
    _print_list(
        "read differently from some program", [
            f"{each.name}, {name}: {other.findings[0]} ({other.n_findings} in all)"
            for each in checked for name, other in each.comparisons.items() if other.findings
        ],
    )  # fmt: skip
    _print_runs(checked)
    _print_list(
        "BOUNDS BROKEN", [f"{each.name}: {it}" for each in checked for it in each.broken], None
    )


def _print_refusals(checked: Sequence[Checked]) -> None:
    """Sentences of refusals, by how many other programs read the file."""
    refused = [each for each in checked if each.verdict == "refused"]
    print("\nrefused files by the number of other programs that read them")
    for count, files in sorted(Counter(len(each.accepted) for each in refused).items()):
        print(f"  {files:6d}  read by {count}")
    sentences: dict[str, list[Checked]] = {}
    for each in refused:
        if len(each.accepted) >= 2:
            sentences.setdefault(_shape(each), []).append(each)
    ranked = sorted(sentences.items(), key=lambda item: -len(item[1]))
    _print_list(
        "refusals that two or more programs accept",
        [f"{len(files):5d} such as {files[0].name}: {files[0].refusal}" for _, files in ranked],
        30,
    )


def _shape(checked: Checked) -> str:
    """The sentence of a refusal without what is special about the file."""
    _, _, finding = checked.refusal.rpartition(": ")
    return "".join("#" if letter.isdigit() else letter for letter in finding)[:40]


def _print_runs(checked: Sequence[Checked]) -> None:
    runs = [(run, each) for each in checked for run in each.runs]
    if not runs:
        return
    print("\nruns: exit codes; most CPU time; most memory")
    for command in dict.fromkeys(run.command for run, _ in runs):
        mine = [(run, each) for run, each in runs if run.command == command]
        codes = ", ".join(
            f"{code}: {n}" for code, n in sorted(Counter(run.code for run, _ in mine).items())
        )
        slow = max(mine, key=lambda pair: pair[0].cpu_seconds)
        large = max(mine, key=lambda pair: pair[0].peak_bytes)
        print(
            f"  {command:16s} {codes}; {slow[0].cpu_seconds:.2f} s ({slow[1].name}); "
            f"{large[0].peak_bytes / 1e6:.0f} MB ({large[1].name})"
        )


def _print_list(title: str, lines: Sequence[str], most: int | None = SHOWN) -> None:
    if not lines:
        return
    print(f"\n{title}: {len(lines)}")
    for line in lines[:most]:
        shown = line.encode("unicode_escape").decode()
        print(f"  {shown if len(shown) <= WIDTH * 2 else shown[: WIDTH * 2] + '...'}")
    if most is not None and len(lines) > most:
        print(f"  ... and {len(lines) - most} more")


if __name__ == "__main__":
    sys.exit(main())
