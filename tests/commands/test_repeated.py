"""Options that repeat accumulate; those that take one value are given once."""

import json

import pytest

from helpers.program import document, lrisk, refusal

HEADER = '"p,H", acid %,fixed acid,citric acid,y'


@pytest.fixture
def folder(tmp_path):
    rows = [f"{i % 7},{i % 5},{i % 3},{i * i % 11},{i % 7 + i % 3}" for i in range(60)]
    (tmp_path / "t.csv").write_text("\n".join([HEADER, *rows]) + "\n")
    return tmp_path


def features(folder, *flags: str) -> list[str]:
    words = ("fit", "t.csv", "--target", "y", "--dry-run", "--json")
    return [each["name"] for each in document(lrisk(folder, *words, *flags))["features"]]


@pytest.mark.parametrize(
    ("flags", "left"),
    [
        (["--exclude", "fixed acid", "--exclude", "citric acid"], ["p,H", " acid %"]),
        (["--exclude", "fixed acid,citric acid"], ["p,H", " acid %"]),
        (["--exclude", "* acid"], ["p,H", " acid %"]),
        (["--exclude", "p,H", "--exclude", " acid %"], ["fixed acid", "citric acid"]),
        (["--exclude", '"p,H"," acid %"'], ["fixed acid", "citric acid"]),
        (["--features", "p,H", "--features", "fixed acid"], ["p,H", "fixed acid"]),
        (["--features", "*", "--exclude", "*acid*"], ["p,H"]),
        (["--features", "fixed*,fixed acid"], ["fixed acid"]),
    ],
)
def test_every_time_that_a_list_is_given_counts(folder, flags, left):
    assert features(folder, *flags) == left


def test_a_list_of_a_settings_file_holds_names_as_they_are(folder):
    (folder / "lrisk.toml").write_text('[fit]\nexclude = ["p,H", " acid %"]\n')
    assert features(folder) == ["fixed acid", "citric acid"]
    (folder / "lrisk.toml").write_text('[fit]\nexclude = ["fixed acid,citric acid"]\n')
    run = lrisk(folder, "fit", "t.csv", "--target", "y")
    assert "no column 'fixed acid,citric acid'" in refusal(run, 3)
    # A text is what one would type.
    (folder / "lrisk.toml").write_text('[fit]\nexclude = "fixed acid,citric acid"\n')
    assert features(folder) == ["p,H", " acid %"]


@pytest.mark.parametrize(
    ("flags", "finding"),
    [
        (["--target", "acid"], "--target takes one value and is given twice, 'y' and 'acid'"),
        (["--target=y"], "--target takes one value and is given twice, 'y' and 'y'"),
        (["-o", "a.json", "--output=b.json"], "--output takes one value and is given twice"),
        (["-oa.json", "-o", "b.json"], "-o takes one value and is given twice, 'a.json' and"),
        (["--seed", "1", "--seed", "1"], "--seed takes one value and is given twice"),
        (["--config", "a.toml", "--config", "b.toml"], "--config takes one value"),
        (["--dtype", "y=number", "--dtype", "y=string"], "'y' is named as number and as string"),
    ],
)
def test_one_value_given_twice_is_refused(folder, flags, finding):
    assert finding in refusal(lrisk(folder, "fit", "t.csv", "--target", "y", *flags), 2)


def test_a_value_that_looks_like_an_option_is_not_counted(folder):
    (folder / "t.csv").write_text((folder / "t.csv").read_text().replace("citric acid", "--seed"))
    left = features(folder, "--exclude", "--seed", "--seed", "1", "--json")
    assert left == ["p,H", " acid %", "fixed acid"]


def test_risks_and_levels_are_listed_or_repeated(folder):
    words = ("fit", "t.csv", "--target", "y", "--json", "--risk")
    both = document(lrisk(folder, *words, "mean,extremile:3", "--risk", "esrm:1"))
    assert [fit["risk"] for fit in both["fits"]] == ["mean", "extremile:3", "esrm:1"]
    words = ("quantile-report", "t.csv", "--target", "y", "--repeats", "1", "--json")
    report = lrisk(folder, *words, "--quantiles", "0.5", "--quantiles", "0.9,1")
    assert json.loads(report.stdout)["quantiles"] == [0.5, 0.9, 1.0]
