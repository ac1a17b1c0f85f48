"""Losses side by side: groups are what a mask would give, whatever the batches."""

import numpy as np
import pytest

from lrisk_cli.errors import UsageError
from lrisk_cli.evaluation.paired_losses import MAX_GROUPS, Group, PairedLosses, average_groups
from lrisk_cli.evaluation.quantiles import compare
from lrisk_cli.models.scoring import ScoredTogether
from lrisk_cli.tables.cells import Texts
from lrisk_cli.tables.table import Batch

LEVELS = np.array([0.5, 0.9, 1.0])
N_ROWS = 1000


def collected(
    batches: int, codes: np.ndarray, values: list[str], weights: np.ndarray | None = None
) -> PairedLosses:
    losses, first = made_losses(), 0
    pairs = PairedLosses(2, ["color"])
    for rows in np.array_split(np.arange(N_ROWS), batches):
        # Every batch brings codes of its own.
        turned = Texts(np.where(codes[rows] < 0, -1, len(values) - 1 - codes[rows]), values[::-1])
        batch = Batch(first, len(rows), {"color": turned}, "rows.csv", first)
        some = [each[rows] for each in losses]
        of_rows = None if weights is None else weights[rows]
        pairs.add(ScoredTogether(batch, np.arange(len(rows)), some, of_rows))
        first += len(rows)
    return pairs


def made_losses() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    first = rng.exponential(size=N_ROWS)
    return first, first * rng.lognormal(0.0, 0.2, N_ROWS)


def made_codes() -> np.ndarray:
    return np.random.default_rng(1).integers(-1, 3, N_ROWS).astype(np.int32)


@pytest.mark.parametrize("batches", [1, 7])
def test_groups_are_compared_as_if_they_were_alone(batches):
    codes, values = made_codes(), ["blue", "green", "red"]
    whole, groups = collected(batches, codes, values).compare(LEVELS)
    losses = made_losses()
    alone = compare([each.copy() for each in losses], losses, LEVELS)
    assert whole.losses.values.tolist() == alone.losses.values.tolist()
    assert {group.name[0] for group in groups} == {"(missing)", *values}
    thresholds = [np.sort(each)[900 - 1] for each in losses]
    for group in groups:
        mask = codes == (values.index(group.name[0]) if group.name[0] in values else -1)
        own = [each[mask] for each in losses]
        expected = compare([each.copy() for each in own], own, LEVELS)
        found = group.comparison
        assert found.losses.values.tolist() == expected.losses.values.tolist()
        for k in ("values", "low", "high"):
            assert np.array_equal(
                getattr(found.models[0].difference, k),
                getattr(expected.models[0].difference, k),
                equal_nan=True,
            )
        assert group.row_share == mask.mean()
        for k, (each, threshold) in enumerate(zip(losses, thresholds, strict=True)):
            in_tail = each > threshold
            assert group.tail_shares[k] == pytest.approx((in_tail & mask).sum() / in_tail.sum())
    shares = [group.tail_shares[0] for group in groups]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) == pytest.approx(1.0)


def test_the_answer_does_not_depend_on_the_batches():
    codes, values = made_codes(), ["blue", "green", "red"]
    one, many = (collected(k, codes, values).compare(LEVELS) for k in (1, 13))
    lows = [found[0].models[0].difference.low for found in (one, many)]
    assert np.array_equal(*lows, equal_nan=True)
    assert [group.name for group in one[1]] == [group.name for group in many[1]]


def test_a_row_of_weight_3_is_three_rows_in_every_figure_and_interval():
    weights = np.random.default_rng(2).integers(0, 4, N_ROWS).astype(np.float64)
    weights[:2] = 1.0
    codes, values, losses = made_codes(), ["blue", "green", "red"], made_losses()
    some = np.flatnonzero(weights)
    copies = np.repeat(np.arange(N_ROWS), weights.astype(int))

    def of_rows(rows, masses):
        pairs = PairedLosses(2, ["color"])
        texts = Texts(codes[rows], values)
        batch = Batch(0, len(rows), {"color": texts}, "rows.csv", 0)
        own = [each[rows] for each in losses]
        pairs.add(ScoredTogether(batch, np.arange(len(rows)), own, masses))
        return pairs.compare(LEVELS)

    weighted, repeated = of_rows(some, weights[some]), of_rows(copies, None)
    each = zip(
        [weighted[0], *(group.comparison for group in weighted[1])],
        [repeated[0], *(group.comparison for group in repeated[1])],
        strict=True,
    )
    for one, other in each:
        assert one.effective == other.n_rows
        assert (one.mean, one.tail) == pytest.approx((other.mean, other.tail), rel=1e-10)
        for mine, theirs in (
            (one.losses, other.losses),
            (one.models[0].losses, other.models[0].losses),
            (one.models[0].difference, other.models[0].difference),
        ):
            for name in ("values", "low", "high"):
                found = getattr(mine, name)
                assert found == pytest.approx(getattr(theirs, name), rel=1e-12, nan_ok=True), name
    for one, other in zip(weighted[1], repeated[1], strict=True):
        assert one.name == other.name
        assert one.row_share == pytest.approx(other.row_share)
        assert one.tail_shares == pytest.approx(other.tail_shares)


def test_too_many_groups_are_refused():
    pairs = PairedLosses(1, ["id"])
    n = MAX_GROUPS + 1
    texts = Texts(np.arange(n, dtype=np.int32), [f"row {i}" for i in range(n)])
    batch = ScoredTogether(
        Batch(0, n, {"id": texts}, "rows.csv", 0), np.arange(n), [np.ones(n)], None
    )
    with pytest.raises(UsageError, match="by='id': more than 1,000 groups"):
        pairs.add(batch)


def test_a_group_that_a_split_lacks_has_no_share_there():
    losses = made_losses()
    comparison = compare([each.copy() for each in losses], losses, LEVELS)
    here = Group(("a",), 0.5, np.array([0.4, 0.2]), comparison)
    other = Group(("b",), 0.5, np.array([0.6, 0.8]), comparison)
    alone = Group(("b",), 1.0, np.array([1.0, 1.0]), comparison)
    b, a = average_groups([[here, other], [alone]], 0.25)
    assert (a.name, a.row_share, a.tail_shares.tolist()) == (("a",), 0.25, [0.2, 0.1])
    assert (b.name, b.row_share, b.tail_shares.tolist()) == (("b",), 0.75, [0.8, 0.9])
