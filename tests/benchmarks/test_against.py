"""Two builds of the program are compared by the CPU time of whole processes."""

import sys

import pytest

from benchmarks.speed import against


@pytest.fixture
def programs(tmp_path):
    """Two programs that ignore their arguments; the second computes longer."""
    paths = {}
    for name, rounds in (("quick", 0), ("slow", 6_000_000)):
        path = tmp_path / name
        path.write_text(f"#!{sys.executable} -S\nsum(range({rounds}))\n")
        path.chmod(0o755)
        paths[name] = str(path)
    return paths


def run(monkeypatch, base: str, program: str) -> None:
    flags = ["--base-program", base, "--program", program, "-k", "help of fit", "--rounds", "3"]
    monkeypatch.setattr(sys, "argv", ["against", *flags, "--most", "1.5"])
    against.main()


def test_a_slower_build_is_found(monkeypatch, capsys, programs):
    with pytest.raises(SystemExit, match="slower than the other build"):
        run(monkeypatch, programs["quick"], programs["slow"])
    assert "0 of 1 bounds hold" in capsys.readouterr().out


@pytest.mark.parametrize(("last", "within"), [(1.0, True), (1.2, False)])
def test_the_least_times_decide_and_no_rounds_are_added(tmp_path, monkeypatch, last, within):
    duel = against.Duel((), "base", "this", tmp_path)
    monkeypatch.setattr(duel.__class__, "warm_up", lambda self: None)

    def run(self, rounds: int) -> None:
        self.seconds["base"] += [1.0] * rounds
        self.seconds["this"] += [1.2] * (rounds - 1) + [last]

    monkeypatch.setattr(duel.__class__, "run", run)
    found = against.measure(duel, 3, 1.03)
    assert found["within"] is within
    assert found["rounds"] == 3


def test_a_faster_build_passes(monkeypatch, capsys, programs):
    run(monkeypatch, programs["slow"], programs["quick"])
    assert "1 of 1 bounds hold" in capsys.readouterr().out


def test_quick_cases_read_no_large_table():
    assert "fit, 1000000x20 Parquet, mean" in against.choose("", quick=False)
    quick = against.choose("", quick=True)
    assert quick
    assert not any(set(against.LARGE) & set(arguments) for arguments in quick.values())
