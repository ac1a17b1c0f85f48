"""A fit replaces no file that it was not given, also none that appears while it works."""

import os

import pytest

from helpers.house_prices import add_house_files
from lrisk_cli.api import fit as api
from lrisk_cli.cli import run

FIT = ["fit", "houses.csv", "--target", "price", "--features", "area,rooms", "--quiet"]


@pytest.mark.parametrize(
    ("output", "made"), [("m.json", "m.json"), ("models/{risk}.json", "models/mean.json"),
                         ("models/", "models/mean.json")],
)  # fmt: skip
@pytest.mark.parametrize("force", [False, True])
def test_a_model_that_appears_during_the_run_is_kept_unless_forced(
    tmp_path, monkeypatch, capsys, output, made, force
):
    monkeypatch.chdir(add_house_files(tmp_path))
    if "{" in output:
        os.mkdir("models")
    solve = api._solve

    def solve_and_wait(*arguments):
        solved = solve(*arguments)
        os.makedirs(os.path.dirname(made) or ".", exist_ok=True)
        with open(made, "w") as file:
            file.write("of another")
        return solved

    monkeypatch.setattr(api, "_solve", solve_and_wait)
    risks = ["--risk", "mean", *(["--risk", "esrm:1"] if made != output else [])]
    code = run([*FIT, *risks, "-o", output, *(["--force"] if force else [])])
    said = capsys.readouterr().err
    with open(made) as file:
        contents = file.read()
    if force:
        assert (code, said) == (0, "")
        assert contents.startswith("{")
    else:
        assert code == 2
        assert f"{made}: appeared during the run; it was not replaced: pass --force" in said
        assert contents == "of another"
    assert not [name for name in os.listdir(os.path.dirname(made) or ".") if name[0] == "."]
