"""JSON files given as models and TOML files given as settings; the first command's exit decides."""

from collections.abc import Iterator
from pathlib import Path

from outside.corpus.case import Case, Refused

MODEL = Path(__file__).parents[2] / "fixtures/models/linear/model.json"
ACCEPTED: dict[str, list[object]] = {}


def cases() -> Iterator[Case]:
    """Models, then settings."""
    yield from _models()
    yield from _settings()


def _models() -> Iterator[Case]:
    """A good model, and what is no model: exit code 4."""
    good = MODEL.read_bytes()
    yield Case("model.json", good, ACCEPTED)
    no_model = Refused(code=4)
    for name, contents in {
        "empty": b"", "space": b" ", "null": b"null", "number": b"1", "string": b'"model"',
        "list": b"[]", "object": b"{}", "open": b"{", "open-list": b"[" * 200,
        "deep": b"[" * 100_000 + b"]" * 100_000,
        "deep-object": b'{"a":' * 5000 + b"1" + b"}" * 5000,
        "trailing-comma": b'{"a": 1,}', "single-quotes": b"{'a': 1}", "comment": b'{"a": 1} // c',
        "nan": b'{"a": NaN}', "infinity": b'{"a": -Infinity}', "huge": b'{"a": 1e99999}',
        "long-integer": b'{"a": ' + b"9" * 5000 + b"}", "leading-zero": b'{"a": 012}',
        "lone-surrogate": b'{"a": "\\ud800"}', "bad-escape": b'{"a": "\\x41"}',
        "control": b'{"a": "\x01"}', "latin-1": b'{"a": "\xe9"}',
        "utf-16": '{"a": 1}'.encode("utf-16"),
        "bom": b"\xef\xbb\xbf{}", "nul": b"{}\0", "two": b"{}{}", "text": b"model",
        "csv": b"x,y\n1,2\n",
        "repeated-key": b'{"a": 1, "a": 2}', "zeros": bytes(1000),
    }.items():  # fmt: skip
        yield Case(f"{name}.json", contents, no_model)
    for cut in (3, 10, len(good) // 2, len(good) - 1):
        yield Case(f"model-cut-{cut}.json", good[:-cut].rstrip(), no_model)
    yield Case("model-with-tail.json", good.rstrip() + b"x", no_model)
    yield Case("model-twice.json", good + good, no_model)


def _settings() -> Iterator[Case]:
    for name, text in {
        "empty": "", "comment": "# nothing\n", "fit": '[fit]\nrisk = "mean"\nl2 = "0.5"\n',
        "crlf": '[fit]\r\nrisk = "mean"\r\n', "literal": "[fit]\nrisk = 'mean'\n",
        "quoted-key": '["fit"]\n"risk" = "mean"\n', "dotted": 'fit.risk = "mean"\n',
        "inline": 'fit = {risk = "mean"}\n', "multi-line": '[fit]\nrisk = """mean"""\n',
        "unicode-escape": '[fit]\nrisk = "\\u006dean"\n',
    }.items():  # fmt: skip
        yield Case(f"settings-{name}.toml", text.encode(), ACCEPTED)
    refused = Refused(code=2)
    for name, contents in {
        "no-value": b"[fit]\nrisk =\n", "no-quotes": b"[fit]\nrisk = mean\n", "open": b"[fit\n",
        "open-text": b'[fit]\nrisk = "mean\n', "twice": b'[fit]\nrisk = "a"\nrisk = "b"\n',
        "table-twice": b"[fit]\n[fit]\n", "unknown-option": b"[fit]\nrisks = 1\n",
        "unknown-command": b"[fits]\nrisk = 1\n", "latin-1": b'[fit]\nrisk = "\xe9"\n',
        "utf-16": "[fit]\n".encode("utf-16"), "nul": b"[fit]\0",
        "control": b'[fit]\nrisk = "\x01"\n',
        "array-of-tables": b'[[fit]]\nrisk = "mean"\n', "key-only": b"fit\n",
        "json": b'{"fit": {}}',
        "deep": b"fit = " + b"[" * 5000 + b"]" * 5000 + b"\n", "bare-cr": b"# a\rb\n",
    }.items():  # fmt: skip
        yield Case(f"settings-{name}.toml", contents, refused)
