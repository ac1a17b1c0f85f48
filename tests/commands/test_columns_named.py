"""Columns as options, settings and variables name them, and those that have another use."""

import json
from pathlib import Path

import numpy as np
import pytest

from helpers.program import refusal, run_here

ODD = {"a,b": '"a,b"', " sp ": '" sp "', 'say "hi"': '"say ""hi"""'}
NAMES = ["x", "z", *ODD, "*star", "xstar", "[q]", "g", "t", "years"]


@pytest.fixture
def features(tmp_path, monkeypatch, capsys):
    """What a fit to the table takes for features, or its sentence."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    columns = {name: rng.normal(size=60) for name in NAMES}
    columns |= {"g": rng.integers(0, 4, 60), "t": np.arange(60), "years": rng.uniform(1, 2, 60)}
    columns["y"] = rng.poisson(2.0, 60)
    lines = [",".join(ODD.get(name, name) for name in columns)]
    lines += [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    Path("t.csv").write_text("\n".join(lines) + "\n")

    def fit(*arguments, code=0):
        run = run_here(
            capsys, "fit", "t.csv", "--target", "y", "-o", "m.json", "--force", "--quiet",
            "--no-reference", *arguments,
        )  # fmt: skip
        if code:
            return refusal(run, code)
        assert run.returncode == 0, run.stderr
        model = json.loads(Path("m.json").read_text())
        return [each["name"] for each in model["encoding"]["features"]]

    return fit


def but(*names):
    return [name for name in NAMES if name not in names]


@pytest.mark.parametrize(
    ("text", "left_out"),
    [
        ("*star", ["*star"]),  # a name before it is a pattern
        ("?star", ["*star", "xstar"]),
        ("[q]", ["[q]"]),
        ("[gt]", ["g", "t"]),
        ('"a,b"," sp ","say ""hi"""', list(ODD)),
        ('say "hi"', ['say "hi"']),
        (" x , z ", ["x", "z"]),
        ("x,,z", ["x", "z"]),
        ("x*,z", ["x", "xstar", "z"]),
    ],
)
def test_names_come_before_lists_and_lists_before_patterns(text, left_out, features):
    assert features("--exclude", text) == but(*left_out)


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--exclude", "nothing*"], 3, "no column matches 'nothing*'; it has x, z, \"a,b\", "),
        (["--exclude", "X"], 3, "did you mean 'x'?"),
        (["--exclude", '"a,b'], 3, "no column '\"a'"),
        (["--exclude", "*"], 2, "no features are left; exclude fewer columns"),
        (["--exclude", "x", "--exclude", "x"], 2, "--exclude: 'x' is named twice"),
        (["--features", "y"], 2, "--features: 'y' is the target"),
        (["--features", "x,t", "--id", "t"], 2, "--features: 't' is the --id column"),
    ],
)
def test_what_names_no_feature_is_refused(arguments, code, says, features):
    assert says in features(*arguments, code=code)


@pytest.mark.parametrize(
    ("settings", "variables", "flags", "left_out"),
    [
        ('exclude = ["a,b", " sp ", "x*"]', {}, [], ["a,b", " sp ", "x", "xstar"]),
        ('exclude = "x,z"', {}, [], ["x", "z"]),
        ('exclude = ["x"]', {"LRISK_EXCLUDE": "z,g"}, [], ["z", "g"]),
        ('exclude = ["x"]', {"LRISK_EXCLUDE": "z"}, ["--exclude", "t"], ["t"]),
        ("", {"LRISK_FIT_EXCLUDE": '"a,b",*star', "LRISK_EXCLUDE": "x"}, [], ["a,b", "*star"]),
    ],
)
def test_flags_override_variables_and_these_override_settings(
    settings, variables, flags, left_out, features, monkeypatch
):
    Path("lrisk.toml").write_text(f"[fit]\n{settings}\n")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert features(*flags) == but(*left_out)


@pytest.mark.parametrize(
    ("option", "column"), [("--cv-groups", "g"), ("--cv-time", "t"), ("--exposure", "years")]
)
def test_a_column_with_another_use_is_a_feature_only_if_it_is_named(option, column, features):
    use = [option, column]
    use += ["--loss", "poisson"] if option == "--exposure" else ["--cv", "2"]
    assert features(*use) == but(column)
    assert features(*use, "--exclude", f"{column},z") == but(column, "z")
    assert features(*use, "--features", f"x,{column}") == ["x", column]
    # A pattern that matches everything does not name it.
    assert features(*use, "--features", "*") == but(column)


def test_groups_of_a_report_are_no_features_unless_they_are_named(features, capsys):
    report = ("quantile-report", "t.csv", "--target", "y", "--repeats", "1", "--quiet")

    def n_features(*arguments):
        run = run_here(capsys, *report, *arguments)
        assert run.returncode == 0, run.stderr
        return int(run.stdout.partition(" features")[0].split()[-1])

    assert n_features() == len(NAMES)
    for by in ("g", "a,b", " sp "):
        assert n_features("--by", by) == len(NAMES) - 1
    assert n_features("--by", "g", "--exclude", "g") == len(NAMES) - 1
    assert n_features("--by", "g", "--features", "x,g") == 2
    assert n_features("--by", "g", "--by", "x") == len(NAMES) - 2
