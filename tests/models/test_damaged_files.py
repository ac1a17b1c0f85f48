"""Model files of any shape are refused with a sentence, within a second and 200 MB."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers.house_prices import add_house_files, made_files
from helpers.program import PROGRAM, lrisk, refusal, unmeasured
from lrisk_cli.errors import ModelError
from lrisk_cli.models import model_text as modeltext
from lrisk_cli.models.loading import load_model

PRICE = made_files()["price.json"]
MODEL = json.loads(PRICE)
SPACES = 99_000_000
FEATURE = MODEL["encoding"]["features"][0]


def with_text(key: str, text: bytes) -> bytes:
    """The model with a placeholder at the end of a path of keys replaced by any text."""
    contents = json.loads(PRICE)
    *path, last = [int(word) if word.isdigit() else word for word in key.split(".")]
    node = contents
    for word in path:
        node = node[word]
    node[last] = "PLACEHOLDER"
    return json.dumps(contents).encode().replace(b'"PLACEHOLDER"', text)


def numbers(n_bytes: int) -> bytes:
    return b"[" + b"1," * (n_bytes // 2) + b"1]"


def texts(n_bytes: int) -> bytes:
    return b'["a"' + b',"b"' * (n_bytes // 4) + b"]"


def rbf(landmarks: bytes) -> bytes:
    return b'{"kernel": "rbf", "gamma": 1.0, "explained": 1.0, "landmarks": ' + landmarks + b"}"


HOSTILE = {
    "spaces": lambda: b" " * SPACES,
    "deep arrays": lambda: b"[" * SPACES,
    "a deep coefficient": lambda: with_text("coefficients", b"[" * 30_000_000),
    "coefficients": lambda: with_text("coefficients", numbers(SPACES)),
    "fewer coefficients": lambda: with_text("coefficients", numbers(3_900_000)),
    "whole features": lambda: with_text(
        "encoding.features", b"[" + b",".join([json.dumps(FEATURE).encode()] * 100_000) + b"]"
    ),
    "features": lambda: with_text("encoding.features", b"[{}" + b",{}" * 33_000_000 + b"]"),
    "classes": lambda: with_text("classes", texts(SPACES)),
    "a format": lambda: with_text("format", b'"' + b"a" * SPACES + b'"'),
    "reasons": lambda: with_text("fit.drop_reasons", b'{"a":1' + b',"a":1' * 16_000_000 + b"}"),
    "landmarks": lambda: with_text("feature_map", rbf(b"[" + numbers(SPACES) + b"]")),
    "short landmarks": lambda: with_text("feature_map", rbf(b"[[]" + b",[]" * 32_000_000 + b"]")),
    "brackets in a string": lambda: with_text(
        "feature_map", rbf(b'"' + b"[" * 40_000_000 + b'", "x": ' + numbers(50_000_000))
    ),
}  # fmt: skip


# A small process in between: what a child uses at most counts from what its parent held.
MEASURE = """
import resource, subprocess, sys
run = subprocess.run(sys.argv[1:], capture_output=True, text=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(run.returncode, used.ru_utime + used.ru_stime, used.ru_maxrss)
print(run.stderr, end="")
"""


def show(folder: Path) -> tuple[float, int, str]:
    """Seconds of the processor (others may be busy), kilobytes, and words of a refusal."""
    command = [sys.executable, "-c", MEASURE, *PROGRAM, "show", "evil.json"]
    settings = {"capture_output": True, "text": True, "timeout": 60, "env": unmeasured()}
    run = subprocess.run(command, cwd=folder, **settings)
    first, line = run.stdout.split("\n", 1)
    code, seconds, kilobytes = first.split()
    assert code == "4", line
    return float(seconds), int(kilobytes), line


@pytest.fixture(scope="module")
def base(tmp_path_factory) -> tuple[float, int]:
    """Seconds and kilobytes that it takes this interpreter to refuse nothing much."""
    folder = tmp_path_factory.mktemp("base")
    (folder / "evil.json").write_text("{}")
    return show(folder)[:2]


@pytest.mark.parametrize("shape", HOSTILE)
def test_a_hostile_file_is_refused_quickly_and_in_little_memory(tmp_path, shape, base):
    n_bytes = (tmp_path / "evil.json").write_bytes(HOSTILE[shape]())
    seconds, kilobytes, line = show(tmp_path)
    assert re.fullmatch(r"lrisk: error: evil\.json: (damaged|not a) model file.*\n", line)
    assert len(line) < 300
    assert seconds < base[0] + 1.0
    # The file itself is held, and hardly more.
    assert kilobytes < base[1] + n_bytes / 1000 + 21_000


def test_a_gigabyte_is_not_even_read(tmp_path):
    with open(tmp_path / "evil.json", "wb") as file:
        file.truncate(1_000_000_000)
    sentence = refusal(lrisk(tmp_path, "show", "evil.json"), 4)
    assert "evil.json: not a model file; no model has more than 100,000,000 bytes" in sentence
    assert "no model has more" in refusal(lrisk(tmp_path, "show", "/dev/zero"), 4)


@pytest.mark.parametrize(
    ("found", "put"),
    [
        (b'"l2":', b'"l2": 1.0, "l2":'),
        (b'"l2":', b'"l\\u0032": 1.0, "l2":'),
        (b'"seed":', b'"seed": 1, "seed":'),
        (b'"drop_reasons": {}', b'"drop_reasons": {"a": 1, "a": 2}'),
        (b'"coefficients":', b'"coefficients": [1.0, 2.0], "coefficients":'),
        (b'"name":', b'"name": "x", "name":'),
    ],
)
def test_a_key_that_appears_twice_is_refused(tmp_path, found, put):
    assert PRICE.count(found) >= 1
    (tmp_path / "twice.json").write_bytes(PRICE.replace(found, put, 1))
    with pytest.raises(ModelError, match=r"damaged model file \(the key '\w+' appears twice\)"):
        load_model(tmp_path / "twice.json")


def test_names_that_look_like_arrays_are_not_confused(tmp_path):
    reasons = {"missing x[1]": 1, "missing x[2]": 2, 'missing "[3]': 3, "\\": 4}
    contents = MODEL | {"fit": MODEL["fit"] | {"drop_reasons": reasons}}
    (tmp_path / "model.json").write_text(json.dumps(contents))
    assert load_model(tmp_path / "model.json").fit.drop_reasons == reasons


def test_a_long_model_that_agrees_with_itself_is_read(tmp_path, monkeypatch):
    """Limits are lowered, so that a small model counts as a long one."""
    folder = add_house_files(tmp_path)
    monkeypatch.setattr(modeltext, "_SMALL_VALUES", 120)
    monkeypatch.setattr(modeltext, "_TINY_BYTES", 1000)
    kernels = {"rbf": ["--kernel", "rbf"], "poly": ["--kernel", "poly", "--degree", "2"]}
    kernels["fourier"] = ["--kernel", "rbf", "--feature-map", "fourier"]
    for name, flags in kernels.items():
        for target in ("price", "kind"):
            output = f"{name}-{target}.json"
            arguments = ["--target", target, "--exclude", "house", "--rank", "40", "-o", output]
            run = lrisk(folder, "fit", "houses.csv", *arguments, *flags, "--max-passes", "3")
            assert run.returncode == 0, run.stderr
            assert (folder / output).read_bytes().count(b",") > 300
            load_model(folder / output)
            text = (folder / output).read_bytes()
            text = re.sub(rb'("coefficients": \[)', rb"\1" + b"[1.0]," * 500, text)
            (folder / "long.json").write_bytes(text)
            with pytest.raises(ModelError, match="its numbers are not as many"):
                load_model(folder / "long.json")


POLY = {"kernel": "poly", "gamma": 1.0, "coef0": 1.0, "degree": 101, "explained": 1.0}


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        ({"feature_map": POLY | {"landmarks": [[1.0, 1.0, 1.0, 1.0, 1.0]]}}, "<= 100"),
        ({"feature_map": POLY | {"degree": 2**70, "landmarks": [[1.0]]}}, "degree"),
        ({"encoding": MODEL["encoding"] | {"missing": "impute"}}, "has no fill"),
    ],
)
def test_a_model_that_disagrees_with_itself_is_refused(tmp_path, change, finding):
    (tmp_path / "odd.json").write_text(json.dumps(MODEL | change))
    with pytest.raises(ModelError, match=finding):
        load_model(tmp_path / "odd.json")


def test_a_number_has_no_other_categories(tmp_path):
    contents = json.loads(PRICE)
    numeric = next(each for each in contents["encoding"]["features"] if each["kind"] == "number")
    numeric["other"] = True
    (tmp_path / "odd.json").write_text(json.dumps(contents))
    with pytest.raises(ModelError, match="its kind and its categories disagree"):
        load_model(tmp_path / "odd.json")


def test_words_of_a_model_cannot_move_the_cursor(tmp_path):
    folder = add_house_files(tmp_path)
    words = {"status": "\x1b[2Jdone", "solver": "a\nb\u202e", "solver_reason": "\x9b31m"}
    contents = MODEL | {"fit": MODEL["fit"] | words}
    (folder / "odd.json").write_text(json.dumps(contents))
    shown = lrisk(folder, "show", "odd.json")
    assert shown.returncode == 0
    assert all(line.isprintable() for line in shown.stdout.splitlines())
    assert "\\x1b[2Jdone" in shown.stdout


def test_predictions_that_are_no_numbers_are_not_written(tmp_path):
    folder = add_house_files(tmp_path)
    contents = MODEL | {"coefficients": [1e308] * len(MODEL["coefficients"])}
    (folder / "odd.json").write_text(json.dumps(contents))
    for command in ("predict", "evaluate"):
        sentence = refusal(lrisk(folder, command, "odd.json", "houses.csv", "--quiet"), 3)
        assert "houses.csv: a prediction is too large for a number" in sentence


def test_a_long_model_with_marked_holes_is_read(tmp_path, monkeypatch):
    """Each column with holes has one more of them in the design."""
    rows = "".join(f"{k % 7 or ''},{k % 5 or ''},{k % 3 or ''},{k % 11}\n" for k in range(60))
    (tmp_path / "holes.csv").write_text("a,b,c,y\n" + rows)
    flags = ["--target", "y", "--missing", "impute", "-o", "m.json"]
    assert lrisk(tmp_path, "fit", "holes.csv", *flags).returncode == 0
    monkeypatch.setattr(modeltext, "_TINY_BYTES", 100)
    model = load_model(tmp_path / "m.json")
    assert [feature.indicator for feature in model.encoding.features] == [True] * 3


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)


def places(node: object, path: tuple = ()) -> list[tuple]:
    """The paths of all parts of a document."""
    inner = (
        node.items()
        if isinstance(node, dict)
        else enumerate(node if isinstance(node, list) else ())
    )
    return [path, *(place for key, part in inner for place in places(part, (*path, key)))]


PLACES = [place for place in places(MODEL) if place]


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.sampled_from(PLACES), value=JSON)
def test_any_value_anywhere_is_read_or_refused(tmp_path, place, value):
    contents = json.loads(PRICE)
    node = contents
    for key in place[:-1]:
        node = node[key]
    node[place[-1]] = value
    (tmp_path / "odd.json").write_text(json.dumps(contents))
    load_or_refuse(tmp_path / "odd.json")


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_any_bytes_anywhere_are_read_or_refused(tmp_path, data):
    start = data.draw(st.integers(0, len(PRICE)))
    stop = data.draw(st.integers(start, min(len(PRICE), start + 20)))
    put = data.draw(
        st.binary(max_size=12) | st.sampled_from([b"NaN", b"1e999", b"-0", b"[[", b"}"])
    )
    (tmp_path / "odd.json").write_bytes(PRICE[:start] + put + PRICE[stop:])
    load_or_refuse(tmp_path / "odd.json")


def load_or_refuse(path: Path) -> None:
    """A model, or a ModelError about this file; never anything else."""
    said = str(path)
    try:
        load_model(path)
    except ModelError as error:
        said = str(error)
    assert said.startswith(str(path))
