"""Any command line, settings or gates: a result or a sentence, never a bug, never litter.

Quick in a run of all tests; `make fuzz` goes on for thousands of examples.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helpers.fork_server import Ask, fork_server
from helpers.house_prices import add_house_files
from helpers.program import lrisk
from lrisk_cli.cli import COMMANDS
from lrisk_cli.commands.configuring import known_settings
from lrisk_cli.commands.settings import Setting, check_names, find_effective, read_config
from lrisk_cli.errors import UsageError
from lrisk_cli.evaluation.gates import parse_fraction, parse_gate

ROOT = Path(__file__).parents[2]
KNOWN = known_settings(COMMANDS)
# The same examples in every run of all tests; others in every long run.
IS_LONG = settings.default.max_examples > 100
ANY = settings(deadline=None, suppress_health_check=list(HealthCheck), derandomize=not IS_LONG)
# Each takes a tenth of a second.
SLOW = settings(ANY, max_examples=ANY.max_examples // 3)

# Words that options are given. Paths stay within the folder, whatever is written there.
PATHS = [
    "out.csv",
    "out.json",
    "out.html",
    "out",
    "houses.csv",
    "price.json",
    "k.json",
    "none/x.csv",
    ".",
    "out-absent.csv",
    "odd.csv",
    "empty.csv",
]
COLUMNS = ["price", "kind", "sold", "area", "color", "rooms", "house", "house,kind,sold", "nothing"]
RISKS = [
    "mean",
    "superquantile:0.9",
    "cvar:0.5",
    "extremile:2",
    "esrm:1",
    "subquantile:0.8",
    "worst",
    "superquantile:1",
    "superquantile:nan",
    "lower-extremile:2",
    "mean:1",
    ":",
]
METRICS = [
    "rmse>1",
    "max<0",
    "accuracy<0.9",
    "outlier_fraction>0.1",
    "difference:0.9<0",
    "rmse",
    "x>1",
    "n_rows!=300",
    "superquantile:2>1",
    "gap>=1e-9",
]
NUMBERS = ["0", "1", "2", "5", "-1", "0.1", "0.5", "1.5", "nan", "inf", "1e-300", "ten", "", "auto"]
JUNK = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/\0"), max_size=8)
WORDS = {
    "target": COLUMNS, "features": COLUMNS, "exclude": COLUMNS, "id": COLUMNS, "by": COLUMNS,
    "label": COLUMNS, "risk": RISKS, "fail-on": METRICS, "warn-on": METRICS,
    "dtype": ["area=string", "rooms=category", "color=number", "x", "=", "area=banana"],
    "max-worsening": ["10%", "0", "-1", "ten"], "quantiles": ["0.5", "0.5,1", "2", ","],
    "corrupt": ["label:0.2", "flip:0.1", "feature:2", "x"], "rival": ["erm", "crr", "none", "x:y"],
    "clusters": ["2", "1..3", "0", "3..1", "x"], "select-by": ["rmse", "accuracy", "x"],
    "step": ["0.1", "decay", "-1"], "gamma": ["scale", "median", "0.5", "-1"],
    "max-passes": ["1", "5", "0", "-1"], "repeats": ["1", "2", "0"], "cv": ["2", "1", "500"],
}  # fmt: skip
NAMES_A_FILE = {"output", "losses", "trace", "html", "junit", "save-model", "assignments", "model",
                "baseline", "baseline-metrics", "test"}  # fmt: skip


def words_of(setting: Setting) -> st.SearchStrategy[list[str]]:
    """The option with a value that may or may not do."""
    flag = f"--{setting.key}"
    if setting.kind is bool:
        return st.just([flag])
    if setting.key in NAMES_A_FILE:
        return st.sampled_from(PATHS).map(lambda path: [flag, path])
    known = WORDS.get(
        setting.key, NUMBERS if setting.kind in (int, float, str) else list(setting.kind)
    )
    values = (
        st.sampled_from(known) if setting.kind in (int, float) else st.sampled_from(known) | JUNK
    )
    return values.map(lambda value: [flag, value])


WITHOUT_TABLES = ("schema", "config", "completion", "man")


@st.composite
def command_lines(draw: Callable[..., object]) -> list[str]:
    """A command, tables and models that may or may not be there, and some options."""
    command = draw(st.sampled_from([name for name in COMMANDS if name not in WITHOUT_TABLES]))
    models = ["price.json", "kind.json", "k.json", "houses.csv", "absent.json", "odd.csv"]
    tables = ["houses.csv"] * 5 + ["odd.csv", "empty.csv", "absent.csv", "*.csv", ".", "price.json"]
    arguments = [command]
    if command in ("evaluate", "predict", "show"):
        arguments.append(draw(st.sampled_from(models)))
    if command != "show":
        arguments += draw(st.lists(st.sampled_from(tables), min_size=1, max_size=2))
    if command in ("fit", "compare") and draw(st.integers(0, 5)):
        arguments += ["--target", draw(st.sampled_from(["price", "kind"])), "--exclude", "house"]
    options = st.sampled_from(list(KNOWN[command].values())).flatmap(words_of)
    for words in draw(st.lists(options, max_size=5)):
        arguments += words
    return arguments


@pytest.fixture(scope="module")
def server() -> Iterator[Ask]:
    """Runs command lines in forks."""
    with fork_server() as ask:
        yield ask


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A few houses, models, and tables that are none."""
    folder = add_house_files(tmp_path_factory.mktemp("fuzz"))
    lines = (folder / "houses.csv").read_text().splitlines(keepends=True)
    (folder / "houses.csv").write_text("".join(lines[:41]))
    assert lrisk(folder, "cluster", "houses.csv", "-k", "2", "-o", "k.json").returncode == 0
    (folder / "empty.csv").touch()
    (folder / "odd.csv").write_bytes(b'area,price,color\n1,2,"x\n\xff,,\n')
    return folder


def check(answer: tuple[int, str, str]) -> None:
    """A result, or a sentence with a code of the contract."""
    code, _, talk = answer
    assert code in range(6), talk
    assert "Traceback" not in talk
    if code > 1:
        assert talk.splitlines()[-1].startswith("lrisk: error: "), talk


@SLOW
@given(arguments=command_lines())
def test_any_command_line_gives_a_result_or_a_sentence(server, folder, arguments):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    check(server(folder, arguments))
    for path in folder.iterdir():
        assert path.name in before or path.name.startswith("out")
        if path.name not in before:
            path.unlink()
    now = {path.name: path.read_bytes() for path in folder.iterdir()}
    # Only --force may replace a file that was there.
    if "--force" not in arguments:
        assert now == before
    for name, contents in before.items():
        (folder / name).write_bytes(contents)


VALUES = st.recursive(
    st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False, allow_infinity=False) | JUNK,
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)
KEYS = st.sampled_from(sorted({key for each in KNOWN.values() for key in each})) | JUNK
TABLES = st.dictionaries(KEYS, VALUES, max_size=3)


def toml(table: dict[str, object]) -> str:
    """Strings of JSON are strings of TOML; DEL alone is not."""
    spell = {True: "true", False: "false"}

    def value(x: object) -> str:
        if isinstance(x, bool):
            return spell[x]
        if isinstance(x, list):
            return f"[{', '.join(map(value, x))}]"
        return json.dumps(x)

    return "".join(f"{json.dumps(key)} = {value(x)}\n" for key, x in table.items())


def hold_or_refuse(path: Path, environment: dict[str, str]) -> None:
    """What commands do with a file and an environment; only a UsageError may come of it."""
    try:
        config = read_config(str(path))
        check_names(config, environment, KNOWN)
        for command, options in KNOWN.items():
            for key, held in find_effective(command, options, config, environment).items():
                kind = options[key].kind if options[key].kind in (bool, int, float) else str
                values = held.value if options[key].many else [held.value]
                assert all(type(value) is kind for value in values)
    except UsageError as error:
        assert len(str(error)) > 10  # noqa: PT017


@ANY
@given(
    shared=TABLES,
    tables=st.dictionaries(st.sampled_from(list(COMMANDS)) | JUNK, TABLES, max_size=2),
)
def test_any_settings_hold_or_are_refused(folder, shared, tables):
    text = toml(shared) + "".join(
        f"[{json.dumps(n)}]\n{toml(table)}" for n, table in tables.items()
    )
    path = folder.parent / "any.toml"
    path.write_text(text, "utf-8")
    hold_or_refuse(path, {})


@ANY
@given(st.binary(max_size=60) | st.text("[]{}=.\"'#\n\t 1ae-_", max_size=40).map(str.encode))
def test_any_bytes_are_settings_or_are_refused(folder, contents):
    path = folder.parent / "any.toml"
    path.write_bytes(contents)
    hold_or_refuse(path, {})


VARIABLES = KEYS.map(lambda key: f"LRISK_{key}".upper().replace("-", "_"))


@ANY
@given(st.dictionaries(VARIABLES, st.sampled_from(NUMBERS) | JUNK, max_size=3))
def test_any_variables_hold_or_are_refused(folder, environment):
    path = folder.parent / "none.toml"
    path.write_text("")
    hold_or_refuse(path, environment)


@ANY
@given(st.text(max_size=20) | st.from_regex(r"[a-z0-9:.]+ *[<>=!]+ *[-+0-9.einfa]+"))
def test_any_text_is_a_gate_or_is_refused(text):
    for parse in (parse_gate, parse_fraction):
        try:
            parse(text)
        except UsageError as error:
            assert repr(text) in str(error)  # noqa: PT017
