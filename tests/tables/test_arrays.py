"""Arrow and numpy share memory correctly, and a buffer keeps its numbers when it is resized."""

import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pyarrow as pa
import pytest

from lrisk_cli.tables import arrays
from lrisk_cli.tables.arrays import (
    Buffer,
    arrow_of,
    arrow_texts,
    distinct,
    null_flags,
    numpy_of,
    true_flags,
)


def test_a_slice_of_an_arrow_column_is_seen_from_its_own_start():
    numbers = pa.array([1.0, 2.0, None, 4.0]).slice(1, 3)
    assert numpy_of(numbers, np.float64)[[0, 2]].tolist() == [2.0, 4.0]
    assert null_flags(numbers).tolist() == [False, True, False]
    assert null_flags(numbers.slice(2, 1)) is None
    assert true_flags(pa.array([True, True, None, False]).slice(1, 3)).tolist() == [
        True, False, False,
    ]  # fmt: skip
    assert numpy_of(pa.array([], pa.float64()), np.float64).tolist() == []


def test_numpy_numbers_become_arrow_with_nan_as_null():
    assert arrow_of(np.array([1.5, np.nan, 3.0] * 4)).to_pylist() == [1.5, None, 3.0] * 4
    assert arrow_of(np.arange(6, dtype=np.int32)[::2]).to_pylist() == [0, 2, 4]
    assert arrow_texts(["é", "", "b"]).to_pylist() == ["é", "", "b"]
    assert arrow_texts([]).to_pylist() == []


@pytest.mark.parametrize(
    "values", [[], [3.0], [2.0, -1.0, 2.0, 5.0, -1.0], [0.0, -0.0], np.array([4, 4, 1], np.int32)]
)
def test_distinct_values_are_those_of_numpy(values):
    np.testing.assert_array_equal(distinct(np.asarray(values)), np.unique(values))


@pytest.mark.parametrize("can_remap", [True, False])
def test_a_resized_buffer_keeps_its_numbers_and_adds_zeros(monkeypatch, can_remap):
    class Rigid(arrays.mmap.mmap):
        def resize(self, size):
            raise SystemError("mmap: resizing not available--no mremap()")

    if not can_remap:
        monkeypatch.setattr(arrays.mmap, "mmap", Rigid)
    buffer = Buffer(3)
    buffer.view()[:] = [1.0, 2.0, 3.0]
    buffer.resize(100_000)
    assert buffer.view()[:3].tolist() == [1.0, 2.0, 3.0]
    assert not buffer.view()[3:].any()
    buffer.resize(2)
    assert buffer.view().tolist() == [1.0, 2.0]
    buffer.resize(0)
    assert buffer.view().tolist() == []


def test_a_buffer_in_use_refuses_to_move():
    buffer = Buffer(3)
    numbers = buffer.view()
    with pytest.raises(BufferError):
        buffer.resize(1 << 20)
    assert numbers.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.skipif(
    find_spec("pandas") is None, reason="pandas is not installed, so never imported"
)
def test_reading_and_writing_tables_does_not_import_pandas(tmp_path):
    program = f"""
import sys
import numpy as np
from lrisk_cli.design.design import DesignOptions, build_design
from lrisk_cli.names import Missing
from lrisk_cli.tables.table import open_table, write_table
rows = {{"x": np.array([1.0, np.nan, 3.0, 4.0]), "t": np.array(["a", "b,c", "a", ""], object)}}
for suffix in (".csv", ".parquet"):
    path = r"{tmp_path}/t" + suffix
    write_table(path, rows | {{"y": np.arange(4.0), "id": np.arange(4)}})
    options = DesignOptions("y", id_column="id", missing=Missing.IMPUTE)
    train, test = build_design(open_table([path]), options, hold_out=lambda n: np.arange(n) == 2)
    assert test.ids.to_pylist() in ([2], ["2"])
assert "pandas" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)
