"""Weights of rows in commands: a row of weight 3 is the row three times, whatever is computed."""

import json
from pathlib import Path

import numpy as np
import pytest

from helpers.program import document, read_csv, refusal, run_here
from lrisk_cli.cli import run

N = 120
LETTERS = np.array(list("abc"))


@pytest.fixture(scope="module")
def tables(tmp_path_factory) -> tuple[str, str]:
    """A table with weights 0 to 3, and the same rows repeated."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 3))
    group = LETTERS[rng.integers(0, 3, N)]
    y = X @ [1.0, -2.0, 0.5] + rng.standard_t(3, N) + (group == "b")
    kind = np.where(X[:, 0] + rng.standard_normal(N) > 0.0, "yes", "no")
    level = LETTERS[np.clip(np.round(y - y.mean()), -1, 1).astype(int) + 1]
    weights = rng.integers(0, 4, N)
    lines = [
        ",".join(
            [*map(repr, X[i].tolist()), group[i], kind[i], level[i], repr(float(y[i])), str(w)]
        )
        for i, w in enumerate(weights.tolist())
    ]
    folder, head = tmp_path_factory.mktemp("weights"), "u,v,t,g,kind,level,y,w"
    copies = np.repeat(np.arange(N), weights)
    for name, rows in (("weighed", np.arange(N)), ("repeated", copies)):
        text = "\n".join([head, *(lines[i] for i in rows)])
        (folder / f"{name}.csv").write_text(text + "\n")
    return str(folder / "weighed.csv"), str(folder / "repeated.csv")


def both(capsys, tables, *how) -> tuple[dict, dict]:
    """What the fits of either table say."""
    weighed, repeated = tables
    found = []
    for arguments in (("fit", weighed, "--weight", "w"), ("fit", repeated, "--exclude", "w")):
        run = run_here(capsys, *arguments, *how, "--json", "--quiet")
        found.append(document(run))
    return found[0], found[1]


def same(mine: object, theirs: object, rel: float) -> None:
    """Equal but for rounding."""
    assert isinstance(mine, dict)
    assert isinstance(theirs, dict)
    assert list(mine) == list(theirs)
    for name, value in theirs.items():
        assert mine[name] == pytest.approx(value, rel=rel, abs=1e-9), name


OF_NUMBERS = ("--target", "y", "--exclude", "kind,level")
OF_CLASSES = ("--target", "kind", "--exclude", "y,level")
OF_LEVELS = ("--target", "level", "--exclude", "y,kind")


@pytest.mark.parametrize(
    "how",
    [
        (*OF_NUMBERS, "--risk", "superquantile:0.8"),
        (*OF_NUMBERS, "--risk", "extremile:2", "--loss", "huber:1"),
        (*OF_NUMBERS, "--risk", "esrm:2", "--solver", "lbfgs"),
        (*OF_NUMBERS, "--risk", "mean", "--scaling", "mad"),
        (*OF_NUMBERS, "--risk", "superquantile:0.5", "--pca", "0.95"),
        (*OF_NUMBERS, "--risk", "mean", "--kernel", "rbf"),
        (*OF_CLASSES, "--risk", "superquantile:0.6"),
        (*OF_LEVELS, "--risk", "extremile:2"),
    ],
    ids=lambda how: " ".join(how[4:]) or "mean",
)
def test_a_row_of_weight_three_is_the_row_three_times(capsys, tables, how):
    weighed, repeated = both(capsys, tables, *how, "--tol", "1e-11")
    for bound in ("objective", "lower_bound"):
        assert weighed["fit"][bound] == pytest.approx(repeated["fit"][bound], rel=1e-10)
    assert weighed["fit"]["lower_bound"] <= repeated["fit"]["objective"]
    assert weighed["l2"] == repeated["l2"]
    same(weighed["training"], repeated["training"], 1e-5)
    assert weighed["weight"]["sum"] == repeated["rows"]["used"]
    assert "weight" not in repeated
    assert weighed["rows"]["reasons"]["weight 0"] == N - weighed["rows"]["used"]


def test_theory_refuses_weights(capsys, tables):
    run = run_here(capsys, "fit", tables[0], *OF_NUMBERS, "--weight", "w", "--theory")
    assert "--theory " in refusal(run, 2)


@pytest.mark.parametrize("how", [OF_NUMBERS, (*OF_NUMBERS, "--kernel", "rbf"), OF_CLASSES])
def test_robust_fits_are_those_of_the_copies(capsys, tables, how):
    weighed, repeated = both(capsys, tables, *how, "--robust")
    assert weighed["fit"]["objective"] == pytest.approx(repeated["fit"]["objective"], rel=1e-9)
    same(weighed["training"], repeated["training"], 1e-6)
    assert weighed["weight"]["column"] == "w"
    used = weighed["rows"]["used"]
    assert weighed["fit"]["rows_used"] == used < repeated["rows"]["used"]


def test_robust_fits_count_importances_and_judge_rows_alike(capsys, tables):
    """Equal importances change nothing; others count in the fit, and a note says how."""
    table = Path(tables[1])
    lines = table.read_text().splitlines()
    even = table.with_name("even.csv")
    even.write_text("\n".join([lines[0] + ",e", *(f"{line},7" for line in lines[1:])]) + "\n")
    found = []
    for extra in (("--weight", "e"), ("--exclude", "e")):
        how = (*OF_NUMBERS, "--exclude", "w", "--robust", "--json", "--quiet", *extra)
        kind = ("--weight-kind", "importance") if "--weight" in extra else ()
        found.append(document(run_here(capsys, "fit", str(even), *how, *kind)))
    one, other = found
    assert one["fit"]["objective"] == pytest.approx(other["fit"]["objective"], rel=1e-12)
    assert any("judged with every row alike" in note for note in one["notes"])
    how = (*OF_NUMBERS, "--robust", "--json", "--quiet", "--weight", "w")
    unlike = document(run_here(capsys, "fit", tables[0], *how, "--weight-kind", "importance"))
    copies = document(run_here(capsys, "fit", tables[0], *how))
    mean = unlike["training"]["mean"], copies["training"]["mean"]
    assert mean[0] == pytest.approx(mean[1], rel=0.05)


@pytest.mark.parametrize("how", [("--target", "y"), ("--target", "kind"), ()])
def test_outliers_are_those_of_the_copies(capsys, tables, tmp_path, how):
    weighed, repeated = tables
    how = (*how, "--features", "u,v,t", "--by", "level", "--json", "--quiet", "--top", "400")
    found, rankings = [], []
    for table, extra in ((weighed, ("--weight", "w")), (repeated, ())):
        ranking = tmp_path / f"{len(found)}.csv"
        run = run_here(capsys, "detect-outliers", table, *how, *extra, "-o", str(ranking))
        found.append(document(run))
        rankings.append(read_csv(ranking.read_text()))
    one, other = found
    kinds = {"filled_rows", "missing_fraction", "n_rows", "rows_dropped"}
    same(
        {name: value for name, value in one["metrics"].items() if name not in kinds},
        {name: value for name, value in other["metrics"].items() if name not in kinds},
        1e-6,
    )
    assert one["threshold"] == pytest.approx(other["threshold"], rel=1e-6)
    counted = sum(float(row["row_weight"]) for row in rankings[0])
    assert counted == len(rankings[1])
    rows, copies = ({int(row["row"]): row for row in each} for each in rankings)
    first = 0
    for number in sorted(rows):
        mine, theirs = rows[number], copies[first]
        assert float(mine["score"]) == pytest.approx(float(theirs["score"]), rel=1e-5, abs=1e-6)
        assert mine["kind"] == theirs["kind"]
        first += int(float(mine["row_weight"]))
    for group, copied in zip(one["groups"], other["groups"], strict=True):
        assert group["group"] == copied["group"]
        assert group["uncertain"] == copied["uncertain"]
        same(group["metrics"], copied["metrics"], 1e-6)
        for name, ends in group["intervals"].items():
            assert ends == pytest.approx(copied["intervals"][name], rel=1e-5, abs=1e-9)


def test_weights_of_classes_change_the_fit_and_not_what_figures_are_of(capsys, tables, tmp_path):
    model = tmp_path / "model.json"
    run = run_here(
        capsys, "fit", tables[1], *OF_CLASSES, "--exclude", "w", "--class-weight", "yes=3",
        "--risk", "mean", "--json", "--quiet", "-o", model,
    )  # fmt: skip
    found, saved = document(run), json.loads(model.read_text())
    n_yes = sum(line.split(",")[4] == "yes" for line in Path(tables[1]).read_text().splitlines())
    assert saved["weight"] == found["weight"]
    assert (
        saved["weight"]["sum"]
        == found["rows"]["used"] + 2 * n_yes
        == pytest.approx(1 / saved["l2"])
    )
    assert saved["weight"]["class_weight"] == "yes=3"
    plain = document(run_here(capsys, "evaluate", model, tables[1], "--json", "--quiet"))
    for name, value in found["training"].items():
        assert plain["metrics"].get(name, value) == pytest.approx(value)


def test_weights_of_the_held_out_rows_and_of_folds_count(capsys, tables):
    how = ("--risk", "mean", "--l2", "0.01,1", "--cv", "3", "--holdout", "0.3")
    weighed, _ = both(capsys, tables, *OF_NUMBERS, *how)
    run = run_here(
        capsys, "fit", tables[0], *OF_NUMBERS, "--exclude", "w", *how, "--json", "--quiet"
    )
    plain = document(run)
    assert weighed["holdout"]["mae"] != pytest.approx(plain["holdout"]["mae"], rel=1e-6)
    assert weighed["cross_validation"]["kind"] == "random"


def test_the_files_of_losses_and_folds_have_the_weights(capsys, tables, tmp_path):
    losses, folds = tmp_path / "losses.csv", tmp_path / "oof.csv"
    run = run_here(
        capsys, "fit", tables[0], *OF_NUMBERS, "--weight", "w", "--risk", "superquantile:0.5",
        "--cv", "3", "--losses", losses, "--oof", folds, "--quiet",
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    rows = np.genfromtxt(losses, delimiter=",", names=True)
    assert set(rows["row_weight"]) == {1.0, 2.0, 3.0}
    total = rows["row_weight"].sum()
    assert rows["weight"].sum() == pytest.approx(1.0)
    assert np.max(rows["weight"] / rows["row_weight"]) == pytest.approx(2.0 / total)
    assert "row_weight" in folds.read_text().splitlines()[0]


def test_intervals_and_calibration_count_weights(capsys, tables):
    for how in ((*OF_NUMBERS, "--conformal", "split"), (*OF_LEVELS, "--conformal", "split")):
        weighed, _ = both(capsys, tables, *how, "--risk", "mean", "--holdout", "0.4")
        assert weighed["conformal"]["rows"] > 0.4 * weighed["rows"]["used"]
    both(capsys, tables, *OF_CLASSES, "--calibrate", "platt", "--risk", "mean")
    both(capsys, tables, *OF_LEVELS, "--calibrate", "isotonic", "--risk", "mean")


@pytest.fixture(scope="module")
def models(tables, tmp_path_factory) -> dict[str, str]:
    """A model of numbers and one of classes, both fitted with weights."""
    folder, found = tmp_path_factory.mktemp("models"), {}
    for name, columns in (("numbers", OF_NUMBERS), ("classes", OF_CLASSES)):
        found[name] = str(folder / f"{name}.json")
        run(["fit", tables[0], *columns, "--weight", "w", "--quiet", "-o", found[name]])
    return found


@pytest.fixture(scope="module")
def unnamed(tables, tmp_path_factory) -> str:
    """The repeated rows under another name of the weights, which the models do not know."""
    path = tmp_path_factory.mktemp("unnamed") / "repeated.csv"
    path.write_text(Path(tables[1]).read_text().replace(",y,w\n", ",y,other\n"))
    return str(path)


@pytest.mark.parametrize("kind", ["numbers", "classes"])
def test_evaluate_counts_by_the_weights_of_the_fit(capsys, tables, models, unnamed, kind):
    how = ("--json", "--quiet", "--risk", "superquantile:0.8", "--risk", "lower-extremile:2")
    weighed = document(run_here(capsys, "evaluate", models[kind], tables[0], *how))
    repeated = document(run_here(capsys, "evaluate", models[kind], unnamed, *how))
    same(weighed["metrics"], repeated["metrics"], 1e-10)
    assert weighed.get("confusion") == repeated.get("confusion")
    assert weighed["weight"]["sum"] == repeated["rows"]["used"]
    assert "as in the fit" in weighed["notes"][0]
    assert "which this table lacks" in repeated["notes"][0]
    assert "weight" not in repeated


def test_importances_have_the_same_figures_and_wider_intervals(capsys, tables, models):
    how = (models["classes"], tables[0], "--weight", "w", "--intervals", "--json", "--quiet")
    units = document(run_here(capsys, "evaluate", *how))
    relative = document(run_here(capsys, "evaluate", *how, "--weight-kind", "importance"))
    same(relative["metrics"], units["metrics"], 1e-12)
    n = relative["rows"]["used"]
    assert relative["weight"]["sum"] == n
    assert np.sum(relative["confusion"]["counts"]) == pytest.approx(n)
    assert np.sum(units["confusion"]["counts"]) == units["weight"]["sum"]
    for name, (low, high) in relative["intervals"].items():
        ends = units["intervals"][name]
        assert low < units["metrics"][name] < high
        if name != "superquantile:0.99":
            assert high - low > ends[1] - ends[0]


def test_evaluate_writes_weights_and_refuses_columns_without_numbers(
    capsys, tables, models, tmp_path
):
    losses = tmp_path / "losses.csv"
    how = (models["numbers"], tables[0], "--losses", losses, "--quiet")
    assert run_here(capsys, "evaluate", *how).returncode == 0
    rows = np.genfromtxt(losses, delimiter=",", names=True)
    assert set(rows["row_weight"]) == {1.0, 2.0, 3.0}
    line = refusal(run_here(capsys, "evaluate", models["numbers"], tables[0], "--weight", "g"), 2)
    assert "--weight: 'g' holds no numbers" in line
    line = refusal(run_here(capsys, "evaluate", models["numbers"], tables[0], "--weight", "y"), 2)
    assert "is the target" in line


def test_gates_and_held_out_rows_count_weights(capsys, tables, tmp_path):
    model = tmp_path / "model.json"
    fitted = document(
        run_here(
            capsys, "fit", tables[0], *OF_NUMBERS, "--weight", "w", "--holdout", "0.3",
            "--conformal", "split", "--json", "--quiet", "-o", model,
        )
    )  # fmt: skip
    run = run_here(
        capsys, "evaluate", model, tables[0], "--held-out", "--interval", "0.8", "--json",
        "--quiet", "--fail-on", f"mae>{fitted['holdout']['mae'] * (1 + 1e-9)}",
    )  # fmt: skip
    found = document(run)
    for name, value in fitted["holdout"].items():
        assert found["metrics"].get(name, value) == pytest.approx(value, rel=1e-9)
    assert found["metrics"]["coverage"] > 0.7


def test_clusters_count_weights(capsys, tables, tmp_path):
    """Starts are drawn, so the same centres are compared: those of well separated clouds."""
    rng = np.random.default_rng(3)
    X = np.concatenate([rng.normal(c, 0.3, (40, 2)) for c in ((0, 0), (5, 0), (0, 5))])
    X[:3] = [[40.0, 40.0], [-30.0, 50.0], [60.0, -20.0]]
    counts = rng.integers(0, 4, len(X))
    counts[:3] = 1
    name = np.repeat(["p", "q", "r"], 40)
    weighed, repeated = tmp_path / "weighed.csv", tmp_path / "repeated.csv"
    for path, rows in ((weighed, np.arange(120)), (repeated, np.repeat(np.arange(120), counts))):
        numbers = X[rows].tolist()
        each = zip(numbers, name[rows], counts[rows], strict=True)
        lines = [f"{u!r},{v!r},{label},{count}" for (u, v), label, count in each]
        path.write_text("\n".join(["u,v,name,w", *lines]) + "\n")
    how = ("-k", "3", "--label", "name", "--json", "--quiet")
    found = []
    for path, extra in ((weighed, ("--weight", "w")), (repeated, ("--exclude", "w"))):
        model = str(tmp_path / f"{path.stem}.json")
        run = run_here(capsys, "cluster", str(path), *how, *extra, "-o", model)
        found.append(document(run))
    one, other = found
    model = str(tmp_path / "weighed.json")
    again = run_here(capsys, "evaluate", model, str(weighed), "--label", "name", "--json", "-q")
    evaluated = document(again)
    same(evaluated["metrics"], one["metrics"], 1e-9)
    assert evaluated["weight"] == one["weight"]
    assert one["risk"] == other["risk"] != "mean"
    same(one["metrics"], other["metrics"], 1e-6)
    assert one["weight"]["sum"] == counts.sum()
    for mine, theirs in zip(one["clusters"], other["clusters"], strict=True):
        assert mine["centre"] == pytest.approx(theirs["centre"], rel=1e-6, abs=1e-6)
        assert mine["weight"] == pytest.approx(theirs["weight"], rel=1e-6)
    rows = {each["label"]: sum(each["rows"]) for each in one["labels"]["confusion"]}
    assert rows == {each["label"]: sum(each["rows"]) for each in other["labels"]["confusion"]}


def test_compare_counts_weights_and_leaves_out_rivals_that_take_none(capsys, tables):
    how = ("compare", tables[0], *OF_NUMBERS, "--weight", "w", "--holdout", "0.3", "--quiet")
    found = document(run_here(capsys, *how, "--risk", "mean", "--rival", "erm", "--json"))
    mean, erm = found["methods"]
    for name in ("mean", "superquantile:0.9", "mae", "r2", "median_error"):
        assert erm["figures"][name] == pytest.approx(mean["figures"][name], rel=1e-6)
    assert found["weight"] == {"column": "w", "kind": "frequency"}
    line = refusal(run_here(capsys, *how, "--rival", "huber"), 2)
    assert "huber takes no row weights" in line
    usual = document(run_here(capsys, *how, "--risk", "mean", "--json"))
    assert any("rivals that take no row weights" in note for note in usual["notes"])
    assert [each["method"] for each in usual["methods"]] == ["mean"]


@pytest.mark.parametrize("weight", ["1e300", "1e-300"])
def test_weights_whose_squares_overflow_or_vanish_are_refused(capsys, tmp_path, tables, weight):
    table = tmp_path / "extreme.csv"
    lines = Path(tables[0]).read_text().splitlines()
    rows = [line.rpartition(",")[0] + "," + weight for line in lines[1:]]
    table.write_text("\n".join([lines[0], *rows]) + "\n")
    model = str(tmp_path / "model.json")
    document(
        run_here(capsys, "fit", tables[0], *OF_CLASSES, "--exclude", "w", "-o", model, "--json")
    )
    for command in (
        ("fit", str(table), *OF_CLASSES, "--weight", "w"),
        ("evaluate", model, str(table), "--weight", "w", "--intervals"),
    ):
        line = refusal(run_here(capsys, *command), 3)
        assert f"row 0: the weight is {float(weight):g}; weights are 0 or 1e-100 to 1e+100" in line


def test_frequencies_beyond_whole_numbers_of_64_bits_have_intervals(capsys, tmp_path, tables):
    table, model = tmp_path / "large.csv", str(tmp_path / "model.json")
    lines = Path(tables[0]).read_text().splitlines()
    table.write_text("\n".join([lines[0], *(f"{line}e20" for line in lines[1:])]) + "\n")
    document(
        run_here(capsys, "fit", tables[0], *OF_NUMBERS, "--weight", "w", "-o", model, "--json")
    )
    found = document(run_here(capsys, "evaluate", model, str(table), "--intervals", "--json"))
    low, high = found["intervals"]["mean"]
    assert low <= high
    assert low == pytest.approx(found["metrics"]["mean"], rel=1e-6)


def test_rows_that_are_all_but_left_out_by_weight_0_are_told_apart(capsys, tmp_path, tables):
    table = tmp_path / "one.csv"
    lines = Path(tables[0]).read_text().splitlines()
    rows = [line.rpartition(",")[0] + f",{int(i == 0)}" for i, line in enumerate(lines[1:])]
    table.write_text("\n".join([lines[0], *rows]) + "\n")
    line = refusal(run_here(capsys, "fit", str(table), *OF_NUMBERS, "--weight", "w"), 3)
    assert "weight 0; two are needed, so give more rows a weight greater than 0" in line


def test_clusters_of_rows_of_which_one_has_nearly_all_the_weight(capsys, tmp_path):
    table = tmp_path / "dominated.csv"
    X = np.random.default_rng(0).standard_normal((30, 2))
    rows = [f"{a!r},{b!r},{10**6 if i == 0 else 1}" for i, (a, b) in enumerate(X.tolist())]
    table.write_text("\n".join(["a,b,w", *rows]) + "\n")
    found = document(run_here(capsys, "cluster", str(table), "-k", "2", "--weight", "w", "--json"))
    assert len(found["clusters"]) == 2
