"""Groups of rows on the command line: fits for the worst one, figures, gates, sentences."""

import json

import numpy as np
import pytest

from helpers.program import read_csv, run_here, write_csv

ROWS = 240


def write_groups(folder) -> None:
    """Numbers whose slope differs between regions; one cell of the region is missing."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(ROWS)
    region = rng.choice(["north", "south", "west"], ROWS, p=[0.6, 0.3, 0.1])
    y = np.where(region == "west", -1.0, 1.0) * x + 0.3 * rng.standard_normal(ROWS)
    region[np.flatnonzero(region == "north")[np.argmin(np.abs(x[region == "north"]))]] = ""
    years = (rng.integers(0, 2, ROWS) + 2020).tolist()
    columns = {"x": x.tolist(), "region": region.tolist(), "year": years, "y": y.tolist()}
    write_csv(folder / "rows.csv", columns)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    write_groups(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def fit(capsys, *arguments: str) -> dict:
    command = ["fit", "rows.csv", "--target", "y", "--features", "x", "--json", "--force"]
    run = run_here(capsys, *command, *arguments)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def evaluate(capsys, *arguments: str, code: int = 0) -> dict:
    run = run_here(capsys, "evaluate", "m.json", "rows.csv", "--json", *arguments)
    assert run.returncode == code, run.stderr
    return json.loads(run.stdout)


def sentence(capsys, *arguments: str, code: int = 2) -> str:
    run = run_here(capsys, *arguments)
    assert run.returncode == code
    return run.stderr


def test_a_fit_for_the_worst_group_is_proved_and_helps_it(folder, capsys):
    plain = fit(capsys, "--risk", "mean", "--by", "region")
    fair = fit(capsys, "--risk", "worst-group", "--by", "region", "-o", "m.json")
    assert fair["fit"]["gap"] <= 1e-6
    assert plain["groups"]["training"]["group_spread"]["mean"]["worst"] == {"region": "west"}

    def largest(run: dict) -> float:
        return max(each["metrics"]["mean"] for each in run["groups"]["training"]["groups"])

    assert largest(fair) < 0.8 * largest(plain)
    assert fair["training"]["worst-group"] == pytest.approx(largest(fair))
    assert fair["reference"]["training"]["worst-group"] == pytest.approx(largest(plain))


def test_a_model_keeps_its_columns_of_groups_and_predicts_without_them(folder, capsys):
    fit(capsys, "--risk", "worst-group:superquantile:0.8", "--by", "region,year", "-o", "m.json")
    stored = json.loads((folder / "m.json").read_text())
    assert stored["risk"] == "worst-group:superquantile:0.8"
    assert stored["group_columns"] == ["region", "year"]
    write_csv(folder / "new.csv", {"x": [0.5, 1.0]})
    assert run_here(capsys, "predict", "m.json", "new.csv").returncode == 0
    found = evaluate(capsys)
    assert "groups" not in found
    assert "--by region,year" in found["notes"][0]


def test_every_group_is_evaluated_as_a_table_of_its_own(folder, capsys):
    fit(capsys, "--risk", "worst-group", "--by", "region", "-o", "m.json")
    found = evaluate(capsys, "--by", "region", "--intervals")
    assert [each["group"]["region"] for each in found["groups"]] == [
        "(missing)", "north", "south", "west",
    ]  # fmt: skip
    assert sum(each["rows"] for each in found["groups"]) == ROWS
    assert [each["uncertain"] for each in found["groups"]] == [True, False, True, True]
    rows = [row for row in read_csv((folder / "rows.csv").read_text()) if row["region"] == "south"]
    write_csv(folder / "south.csv", {name: [row[name] for row in rows] for name in rows[0]})
    run = run_here(capsys, "evaluate", "m.json", "south.csv", "--json")
    alone = json.loads(run.stdout)["metrics"]
    south = found["groups"][2]
    assert south["metrics"] == alone
    low, high = south["intervals"]["rmse"]
    assert low < south["metrics"]["rmse"] < high
    assert found["metrics"]["worst-group"] == max(
        each["metrics"]["mean"] for each in found["groups"]
    )


def test_gates_on_groups_fail_as_they_say(folder, capsys):
    fit(capsys, "--risk", "mean", "-o", "m.json")
    run = run_here(
        capsys, "evaluate", "m.json", "rows.csv", "--by", "region", "--json",
        "--fail-on", "worst:rmse>0.5", "--fail-on", "gap:rmse>100",
        "--warn-on", "group[region=south]:rmse>0", "--fail-on", "group-extremile:2>100",
    )  # fmt: skip
    assert run.returncode == 1
    gates = {each["metric"]: each for each in json.loads(run.stdout)["gates"]}
    found = {each["group"]["region"]: each["metrics"] for each in json.loads(run.stdout)["groups"]}
    assert gates["worst:rmse"]["value"] == max(each["rmse"] for each in found.values())
    assert gates["worst:rmse"]["failed"]
    assert not gates["gap:rmse"]["failed"]
    assert gates["group[region=south]:rmse"]["value"] == found["south"]["rmse"]
    assert gates["group[region=south]:rmse"]["warned"]
    assert not gates["group-extremile:2"]["failed"]


def test_a_fit_takes_gates_on_groups(folder, capsys):
    run = run_here(
        capsys, "fit", "rows.csv", "--target", "y", "--by", "region", "--fail-on", "worst:rmse>0.01"
    )
    assert run.returncode == 1
    assert "worst:rmse" in run.stdout


def test_columns_of_groups_are_no_features_unless_named(folder, capsys):
    without = fit(capsys, "--by", "region", "-o", "m.json")
    assert without["groups"]["holdout"] is None
    run = run_here(capsys, "fit", "rows.csv", "--target", "y", "--by", "region", "-o", "n.json")
    assert run.returncode == 0
    features = json.loads((folder / "n.json").read_text())["encoding"]["features"]
    assert [each["name"] for each in features] == ["x", "year"]


def test_a_holdout_and_a_test_table_have_groups_too(folder, capsys):
    held = fit(capsys, "--by", "region", "--risk", "worst-group", "--holdout", "0.3")
    assert {each["group"]["region"] for each in held["groups"]["holdout"]["groups"]} >= {"north"}
    tested = fit(capsys, "--by", "region", "--risk", "worst-group", "--test", "rows.csv")
    assert tested["groups"]["holdout"]["groups"] == tested["groups"]["training"]["groups"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--risk", "worst-group"], "add --by COLUMN"),
        (["--risk", "worst-group:subquantile:0.9", "--by", "region"], "falls with the loss"),
        (["--risk", "worst-group", "--by", "region", "--solver", "lsvrg"], "one of groups"),
        (["--risk", "worst-group", "--by", "region", "--smoothing", "l2"], "--smoothing"),
        (["--risk", "worst-group", "--by", "region", "--theory"], "--theory"),
        (["--risk", "worst-group", "--by", "region", "--cv", "3"], "--select-by"),
        (["--by", "region", "--by", "region"], "named twice"),
        (["--fail-on", "worst:rmse>1"], "add --by COLUMN"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_with_the_remedy(folder, capsys, arguments, words):
    assert words in sentence(capsys, "fit", "rows.csv", "--target", "y", *arguments)


def test_a_column_that_is_not_there_is_answered_with_the_nearest(folder, capsys):
    run = sentence(capsys, "fit", "rows.csv", "--target", "y", "--by", "regio", code=3)
    assert "did you mean 'region'" in run


def test_other_commands_say_that_a_risk_is_of_groups(folder, capsys):
    for command in (["quantile-report", "--target", "y"], ["cluster", "-k", "2"]):
        run = sentence(capsys, *command, "rows.csv", "--risk", "worst-group")
        assert "risk of groups" in run


def test_candidates_can_be_chosen_by_another_metric(folder, capsys):
    found = fit(
        capsys, "--risk", "worst-group", "--by", "region", "--l2", "0.01,1", "--cv", "3",
        "--select-by", "mean", "-o", "m.json",
    )  # fmt: skip
    assert found["risk"] == "worst-group"


def test_many_groups_are_shown_worst_first_and_the_rest_counted(folder, capsys):
    rng = np.random.default_rng(1)
    write_csv(
        folder / "many.csv",
        {"x": rng.standard_normal(300).tolist(), "g": [f"g{k % 15}" for k in range(300)],
         "y": rng.standard_normal(300).tolist()},
    )  # fmt: skip
    fitting = ("fit", "many.csv", "--target", "y", "--features", "x", "-o", "m.json")
    assert run_here(capsys, *fitting).returncode == 0
    run = run_here(capsys, "evaluate", "m.json", "many.csv", "--by", "g")
    lines = run.stdout.splitlines()
    (start,) = [at for at, line in enumerate(lines) if line.startswith("by g")]
    means = [float(line.split()[3]) for line in lines[start + 1 : start + 11]]
    assert means == sorted(means, reverse=True)
    assert lines[start + 11].startswith("and 5 groups more")
    assert max(map(len, lines[start:])) <= 80 or "few:" in run.stdout


def test_a_comparison_has_the_groups_of_every_method_as_evaluate_has_them(folder, capsys):
    lines = (folder / "rows.csv").read_text().splitlines()
    (folder / "other.csv").write_text("\n".join(lines[:151]) + "\n")
    fit(capsys, "--risk", "mean", "-o", "m.json")
    run = run_here(capsys, "evaluate", "m.json", "other.csv", "--by", "region", "--json")
    alone = json.loads(run.stdout)
    how = ["--target", "y", "--features", "x", "--by", "region", "--rival", "none", "--json"]
    how += ["--risk", "mean", "--risk", "worst-group"]
    gates = ["worst:superquantile:0.9>1e-3", "gap:rmse>1e3", "worst-group:extremile:2>1e-3"]
    flags = [flag for gate in gates for flag in ("--fail-on", gate)]
    run = run_here(capsys, "compare", "rows.csv", *how, "--test", "other.csv", *flags)
    assert run.returncode == 1, run.stderr
    found = json.loads(run.stdout)
    of_mean, of_groups = found["methods"]
    for mine, theirs in zip(of_mean["groups"], alone["groups"], strict=True):
        assert (mine["group"], mine["rows"]) == (theirs["group"], theirs["rows"])
        assert mine["uncertain"] == theirs["uncertain"]
        for name, value in theirs["metrics"].items():
            assert mine["metrics"][name] == pytest.approx(value, rel=1e-9), name
    assert of_mean["group_spread"]["mean"]["worst"] == {"region": "west"}
    assert [gate["failed"] for gate in found["gates"]] == [True, False, True] * 2
    values = [gate["value"] for gate in found["gates"]]
    tails = [
        max(each["metrics"]["superquantile:0.9"] for each in method["groups"])
        for method in (of_mean, of_groups)
    ]
    assert [values[0], values[3]] == pytest.approx(tails)


def test_a_comparison_on_folds_has_the_mean_figures_of_the_groups(folder, capsys):
    how = ["--target", "y", "--features", "x", "--by", "region", "--rival", "none"]
    run = run_here(capsys, "compare", "rows.csv", *how, "--risk", "mean", "--cv", "2", "--json")
    (mean,) = json.loads(run.stdout)["methods"]
    assert sum(each["rows"] for each in mean["groups"]) == ROWS
    shown = run_here(capsys, "compare", "rows.csv", *how, "--risk", "mean", "--cv", "2", "-q")
    assert "mean loss by region" in shown.stdout
    assert "rmse by group" in shown.stdout
