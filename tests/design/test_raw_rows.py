"""Every row of a table is accounted for, those that the reader pads or skips included."""

from lrisk_cli.design.design import DesignOptions, read_design
from lrisk_cli.design.planning import plan_design
from lrisk_cli.names import Missing, Ragged
from lrisk_cli.reports.facts import describe_rows, rows_document
from lrisk_cli.tables.inputs import Inputs, Layout
from lrisk_cli.tables.table import open_table

TEXT = ",x,y\n1,1.5,2\n2,2.5\n3,0.5,4,\n4,3.5,5,surplus\n5,1,1\n6,2,3\n7\n8,1,2,,\n9,,1\n"


def open_ragged(folder, policy: Ragged):
    (folder / "t.csv").write_text(TEXT)
    return open_table(Inputs((str(folder / "t.csv"),), Layout(ragged=policy)))


def test_padded_and_skipped_rows_are_counted_by_a_fit_and_by_its_plan(tmp_path):
    options = DesignOptions(target="y", missing=Missing.DROP)
    expected = {
        Ragged.PAD: (9, 5, {"ragged": 1, "missing y": 2, "missing x": 1}, 4),
        Ragged.SKIP: (9, 3, {"ragged": 5, "missing x": 1}, 0),
    }
    for policy, (n_read, n_used, dropped, n_padded) in expected.items():
        table = open_ragged(tmp_path, policy)
        counts = read_design(table, options).usable.counts
        assert (counts.read, counts.used, counts.dropped) == (n_read, n_used, dropped)
        assert counts.padded == n_padded
        assert counts == plan_design(table, options, flat=True).counts


def test_ragged_rows_are_named_in_words_and_in_json(tmp_path):
    options = DesignOptions(target="y", missing=Missing.IMPUTE)
    table = open_ragged(tmp_path, Ragged.PAD)
    counts = read_design(table, options).usable.counts
    path = tmp_path / "t.csv"
    named = [
        f"{path}, line 3: 2 fields, padded",
        f"{path}, line 4: 4 fields, cut",
        f"{path}, line 5: 4 fields, skipped",
    ]
    assert describe_rows(counts) == (
        "9 read, 6 used, 3 dropped (1 ragged, 2 missing y); 1 cells filled in (1 x); 4 padded; "
        f"ragged: {'; '.join(named)} and 2 more"
    )
    document = rows_document(counts)
    assert document["reasons"] == {"ragged": 1, "missing y": 2}
    assert (document["padded"], document["ragged"]) == (4, named)


def test_a_fit_has_notes_on_names_that_are_not_those_of_the_file(tmp_path):
    options = DesignOptions(target="y", missing=Missing.DROP)
    notes = read_design(open_ragged(tmp_path, Ragged.SKIP), options).usable.notes
    assert notes[0].startswith("1 column has no name and is read as 'column_1': an index that")
