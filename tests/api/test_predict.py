"""Predictions are written while rows are read: files, memory, types of ids."""

import gc
import io
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from helpers.house_prices import N_ROWS, add_house_files
from lrisk_cli.api import predict
from lrisk_cli.errors import DataError
from lrisk_cli.models.scored import ScoredBatch
from lrisk_cli.names import Ragged
from lrisk_cli.progress import silent
from lrisk_cli.tables.inputs import Inputs, Layout, make_inputs
from lrisk_cli.tables.table import open_table


@pytest.fixture
def folder(tmp_path):
    return add_house_files(tmp_path)


def job(folder, model="price", data="houses.csv", output=None, **changes) -> predict.Job:
    inputs = Inputs((str(folder / data),))
    path = None if output is None else str(folder / output)
    given = {"id_column": None, "missing": None, "unseen": None, **changes}
    return predict.Job(str(folder / f"{model}.json"), inputs, path, **given)


class Watched(io.BytesIO):
    """A stream that counts, whenever it is written to, the batches whose scores are alive."""

    def __init__(self) -> None:
        super().__init__()
        self.alive: list[int] = []

    def writelines(self, lines) -> None:
        for line in lines:
            self.write(line)
            self.alive.append(sum(isinstance(each, ScoredBatch) for each in gc.get_objects()))


def test_one_batch_of_predictions_is_alive_at_a_time(folder, monkeypatch):
    whole, watched = io.BytesIO(), Watched()
    predict.run(job(folder), whole, silent, force=False)
    monkeypatch.setattr(predict, "open_table", partial(open_table, batch_rows=7))
    done = predict.run(job(folder), watched, silent, force=False)
    assert watched.getvalue() == whole.getvalue()
    assert done.counts.used == N_ROWS
    assert len(watched.alive) == 1 + -(-N_ROWS // 7)
    assert max(watched.alive) == 1


@pytest.mark.parametrize("model", ["price", "kind"])
@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet"])
def test_files_do_not_depend_on_batches(folder, monkeypatch, model, suffix):
    predict.run(job(folder, model, output=f"whole.{suffix}"), io.BytesIO(), silent, force=False)
    monkeypatch.setattr(predict, "open_table", partial(open_table, batch_rows=7))
    predict.run(job(folder, model, output=f"parts.{suffix}"), io.BytesIO(), silent, force=False)
    whole, parts = ((folder / f"{name}.{suffix}").read_bytes() for name in ("whole", "parts"))
    assert whole == parts


def test_row_groups_are_bounded(folder, monkeypatch):
    monkeypatch.setattr(predict, "open_table", partial(open_table, batch_rows=7))
    monkeypatch.setattr(predict, "GROUP_CELLS", 30)
    predict.run(job(folder, output="p.parquet"), io.BytesIO(), silent, force=False)
    file = pq.ParquetFile(folder / "p.parquet")
    sizes = [file.metadata.row_group(k).num_rows for k in range(file.num_row_groups)]
    assert sizes == [10] * (N_ROWS // 10) + ([N_ROWS % 10] if N_ROWS % 10 else [])
    assert file.read()["row"].to_pylist() == list(range(N_ROWS))


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_ids_of_files_that_differ_in_type_are_texts(folder, suffix):
    columns = {"area": [50.0, 60.0], "color": ["red", "blue"], "rooms": [2.0, 3.0]}
    (folder / "parts").mkdir()
    pa.csv.write_csv(pa.table({**columns, "id": ["a", None]}), folder / "parts/1.csv")
    pq.write_table(pa.table({**columns, "id": pa.array([7, 8])}), folder / "parts/2.parquet")
    asked = job(folder, data="parts", output=f"p.{suffix}", id_column="id")
    predict.run(asked, io.BytesIO(), silent, force=False)
    if suffix == "csv":
        ids = [line.split(",")[3] for line in (folder / "p.csv").read_text().splitlines()[1:]]
        assert ids == ["a", "", "7", "8"]
    else:
        ids = pq.read_table(folder / "p.parquet")["id"]
        assert (ids.type, ids.to_pylist()) == (pa.string(), ["a", None, "7", "8"])


def test_whole_numbers_stay_numbers_as_ids(folder):
    columns = {"area": [50.0], "color": ["red"], "rooms": [2.0], "id": pa.array([7], pa.int16())}
    pq.write_table(pa.table(columns), folder / "new.parquet")
    asked = job(folder, data="new.parquet", output="p.parquet", id_column="id")
    predict.run(asked, io.BytesIO(), silent, force=False)
    assert pq.read_table(folder / "p.parquet")["id"].type == pa.int16()


def test_a_row_that_cannot_be_scored_leaves_no_file(folder, monkeypatch):
    table = pa.csv.read_csv(folder / "houses.csv")
    area = table["area"].to_numpy().copy()
    area[-1] = np.nan
    at = table.column_names.index("area")
    pa.csv.write_csv(
        table.set_column(at, "area", pa.array(area, from_pandas=True)), folder / "late.csv"
    )
    before = sorted(path.name for path in folder.iterdir())
    monkeypatch.setattr(predict, "open_table", partial(open_table, batch_rows=7))
    with pytest.raises(DataError, match="area"):
        predict.run(job(folder, data="late.csv", output="p.csv"), io.BytesIO(), silent, force=False)
    assert sorted(path.name for path in folder.iterdir()) == before


def test_the_memory_limit_bounds_a_batch(folder):
    data = make_inputs([str(folder / "houses.csv")], None, ".", None, "100B")
    asked = predict.Job(str(folder / "price.json"), data, None, None, None, None)
    with pytest.raises(DataError, match=r"to score a batch of \d+ rows x \d+ columns takes"):
        predict.run(asked, io.BytesIO(), silent, force=False)


def test_views_of_text_are_written_as_text(folder):
    rows = open_table(str(folder / "houses.csv"))
    assert rows.arrow_type("house") == pa.string()
    table = pa.csv.read_csv(folder / "houses.csv")
    views = table.set_column(0, "house", table["house"].cast(pa.string_view()))
    with pa.ipc.new_file(str(folder / "houses.arrow"), views.schema) as file:
        file.write_table(views)
    assert open_table(str(folder / "houses.arrow")).arrow_type("house") == pa.large_string()


@pytest.mark.parametrize(
    ("policy", "n_scored"), [(Ragged.PAD, N_ROWS - 1), (Ragged.SKIP, N_ROWS - 2)]
)
def test_ragged_rows_are_counted_where_rows_are_scored(folder, policy, n_scored):
    lines = (folder / "houses.csv").read_text().splitlines()
    lines[3] += ","
    lines[5] += ",surplus"
    (folder / "ragged.csv").write_text("\n".join(lines))
    with pytest.raises(DataError, match=r"row 2: .* in line 4, or pass ragged='pad'"):
        predict.run(job(folder, data="ragged.csv"), io.BytesIO(), silent, force=False)
    inputs = Inputs((str(folder / "ragged.csv"),), Layout(ragged=policy))
    asked = replace(job(folder), data=inputs)
    counts = predict.run(asked, io.BytesIO(), silent, force=False).counts
    assert (counts.read, counts.used) == (N_ROWS, n_scored)
    assert counts.dropped == {"ragged": N_ROWS - n_scored}
    assert counts.padded == (policy is Ragged.PAD)
    assert len(counts.ragged) == 2
