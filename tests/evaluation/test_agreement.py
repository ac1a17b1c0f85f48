"""Clusters compared with labels, against exhaustive relabelling and scikit-learn."""

from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import average_precision_score

from lrisk_cli.errors import DataError, UsageError
from lrisk_cli.evaluation.agreement import Agreement, LabelTally, average_precision
from lrisk_cli.tables.cells import Texts


def texts(labels: list[str | None]) -> Texts:
    values = sorted({label for label in labels if label is not None})
    return Texts(np.array([values.index(x) if x else -1 for x in labels], np.int32), values)


def compare(
    labels: list[str | None],
    clusters: list[int],
    k: int,
    inliers: tuple[str, ...] = (),
    losses: np.ndarray | None = None,
    cuts: tuple[int, ...] = (),
) -> Agreement:
    """The agreement of rows that arrive in the batches that the cuts make."""
    tally = LabelTally("t.csv, column 'g'", k, inliers)
    ends = [0, *cuts, len(labels)]
    for start, stop in pairwise(ends):
        tally.add(texts(labels[start:stop]), np.array(clusters[start:stop], np.int32))
    return tally.agreement(np.arange(len(labels), dtype=float) if losses is None else losses)


@settings(deadline=None)
@given(
    rows=st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 4)), min_size=1, max_size=30),
    cut=st.integers(0, 30),
)
def test_accuracy_is_the_best_over_all_relabellings(rows, cut):
    labels, clusters = [row[0] for row in rows], [row[1] for row in rows]
    result = compare(labels, clusters, 5, cuts=(min(cut, len(rows)),))
    names = ["a", "b", "c", "d", None]
    best = max(
        np.mean([pairing[c] == label for label, c in zip(labels, clusters, strict=True)])
        for pairing in permutations(names)
    )
    assert result.accuracy == pytest.approx(best)
    hits = [result.pairing[c] == label for label, c in zip(labels, clusters, strict=True)]
    assert np.mean(hits) == pytest.approx(best)
    purest = sum(
        max(labels_of.count(x) for x in "abcd")
        for labels_of in ([x for x, c in rows if c == j] for j in range(5))
    )
    assert result.purity == pytest.approx(purest / len(rows))


def test_planted_labels_do_not_count_but_stand_in_the_table():
    labels = ["a", "a", "b", "x", "x", None]
    losses = np.array([0.1, 0.2, 0.3, 5.0, 0.25, 9.0])
    result = compare(labels, [0, 0, 1, 0, 1, 1], 2, ("a", "b"), losses)
    assert (result.accuracy, result.purity) == (1.0, 1.0)
    assert result.labels == ("a", "b", "x")
    assert result.inliers == (True, True, False)
    assert result.table.tolist() == [[2, 0], [0, 1], [1, 1]]
    assert result.n_unlabelled == 1
    # Ranked: x, b, x: (1/1 + 2/3) / 2; the row without a label is left out.
    assert result.average_precision == pytest.approx(5 / 6)
    assert set(result.figures) == {"accuracy", "purity", "average_precision"}


def test_without_planted_labels_nothing_is_said_of_precision():
    result = compare(["a", "b"], [0, 1], 2)
    assert result.average_precision is None
    assert set(result.figures) == {"accuracy", "purity"}


def test_numbers_are_labels_in_the_order_of_their_value():
    tally = LabelTally("t.csv, column 'g'", 2, ("10", "9"))
    tally.add(np.array([10.0, 9.0, 2.5, np.nan]), np.array([0, 1, 0, 0], np.int32))
    result = tally.agreement(np.ones(4))
    assert result.labels == ("2.5", "9", "10")
    assert result.inliers == (False, True, True)
    assert result.n_unlabelled == 1


def test_more_labels_than_clusters_leave_some_without_one():
    result = compare(["a", "b", "c", "c"], [0, 0, 0, 0], 1)
    assert result.pairing == ("c",)
    assert result.accuracy == 0.5
    assert compare(["a", "a"], [0, 1], 3).pairing in {("a", None, None), (None, "a", None)}


@settings(deadline=None)
@given(data=st.data(), n=st.integers(1, 50))
def test_average_precision_agrees_with_scikit_learn(data, n):
    scores = data.draw(arrays(np.float64, n, elements=st.sampled_from([0.0, 1.0, 2.0, 3.5])))
    positives = data.draw(arrays(np.bool_, n))
    ours = average_precision(scores, positives)
    if not positives.any():
        assert ours is None
    else:
        assert ours == pytest.approx(average_precision_score(positives, scores))


def test_columns_without_such_labels_are_refused():
    with pytest.raises(DataError, match="no row has a label"):
        compare([None, None], [0, 0], 1)
    with pytest.raises(UsageError, match=r"inlier_labels: no row has such a label; .* has a, b"):
        compare(["a", "b"], [0, 0], 1, ("z",))
