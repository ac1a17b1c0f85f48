"""The Arrow functions of `compute` against those of pyarrow.compute, which it must not load."""

import subprocess
import sys

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from helpers.program import unmeasured
from lrisk_cli.tables import compute

DASH = pa.scalar("-")
TEXTS = pa.array([" a1", None, "b.0", "", "a1 ", "1.0"])
FLAGS = pa.array([True, None, False, True, False, True])
FIT = """
import sys
from lrisk_cli.design.design import DesignOptions, build_design
from lrisk_cli.names import Missing
from lrisk_cli.tables.table import open_table
build_design(open_table("t.csv"), DesignOptions("y", missing=Missing.DROP))
heavy = {"pyarrow.compute", "pyarrow.parquet", "pandas", "scipy"} & set(sys.modules)
print(sorted(heavy))
"""


@pytest.mark.parametrize("arrow", [compute.arrow, pc], ids=["private", "public"])
def test_the_functions_are_those_of_pyarrow(arrow, monkeypatch):
    monkeypatch.setattr(compute, "arrow", arrow)
    coded = TEXTS.dictionary_encode()
    pairs = [
        (compute.is_null(TEXTS), pc.is_null(TEXTS)),
        (compute.invert(FLAGS), pc.invert(FLAGS)),
        (compute.keep(TEXTS, FLAGS), pc.filter(TEXTS, FLAGS)),
        (compute.take(TEXTS, pa.array([2, None, 0])), pc.take(TEXTS, pa.array([2, None, 0]))),
        (compute.drop_null(TEXTS), pc.drop_null(TEXTS)),
        (compute.unique(TEXTS), pc.unique(TEXTS)),
        (compute.dictionary_encode(TEXTS), coded),
        (compute.dictionary_decode(coded), TEXTS),
        (compute.dictionary_decode(TEXTS), TEXTS),
        (compute.trim(TEXTS), pc.utf8_trim_whitespace(TEXTS)),
        (compute.clip(TEXTS, 2), pc.utf8_slice_codeunits(TEXTS, 0, 2)),
        (compute.starts_with(TEXTS, "b"), pc.starts_with(TEXTS, "b")),
        (compute.matches(TEXTS, r"\d$"), pc.match_substring_regex(TEXTS, r"\d$")),
        (compute.is_in(TEXTS, pa.array(["b.0"])), pc.is_in(TEXTS, pa.array(["b.0"]))),
        (compute.replace(TEXTS, ".", "_"), pc.replace_substring(TEXTS, ".", "_")),
        (
            compute.replace_pattern(TEXTS, r"(\d)$", r"<\1>"),
            pc.replace_substring_regex(TEXTS, r"(\d)$", r"<\1>"),
        ),
        (compute.both(FLAGS, compute.is_null(TEXTS)), pc.and_(FLAGS, pc.is_null(TEXTS))),
        (compute.choose(FLAGS, TEXTS, TEXTS), pc.if_else(FLAGS, TEXTS, TEXTS)),
        (
            compute.join(TEXTS, TEXTS, DASH),
            pc.binary_join_element_wise(TEXTS, TEXTS, DASH),
        ),
        (
            compute.join(TEXTS, TEXTS, DASH, nulls="replace"),
            pc.binary_join_element_wise(TEXTS, TEXTS, DASH, null_handling="replace"),
        ),
        (
            compute.cast(pa.array([1.5, None]), pa.int64(), safe=False),
            pc.cast(pa.array([1.5, None]), pa.int64(), safe=False),
        ),
    ]
    for ours, theirs in pairs:
        assert ours.equals(theirs)


def test_the_design_of_a_text_file_loads_no_heavy_module(tmp_path):
    (tmp_path / "t.csv").write_text("x,c,y\n" + "1,a,2.5\n,b, 3\n2,a,1e3\n" * 9)
    done = subprocess.run(
        [sys.executable, "-c", FIT],
        cwd=tmp_path, capture_output=True, text=True, check=True, env=unmeasured(),
    )  # fmt: skip
    assert done.stdout == "[]\n"
