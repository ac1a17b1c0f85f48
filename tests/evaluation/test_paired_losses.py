"""Losses side by side: groups are what a mask would give, whatever the batches."""

import numpy as np
import pytest

from lrisk_cli.errors import UsageError
from lrisk_cli.evaluation.paired_losses import MAX_GROUPS, Group, PairedLosses, average_groups
from lrisk_cli.evaluation.quantiles import compare
from lrisk_cli.tables.cells import Texts

LEVELS = np.array([0.5, 0.9, 1.0])
N_ROWS = 1000


def collected(batches: int, codes: np.ndarray, values: list[str]) -> PairedLosses:
    losses = made_losses()
    pairs = PairedLosses(2, "color")
    for rows in np.array_split(np.arange(N_ROWS), batches):
        # Every batch brings codes of its own.
        turned = Texts(np.where(codes[rows] < 0, -1, len(values) - 1 - codes[rows]), values[::-1])
        pairs.add(rows, [each[rows] for each in losses], turned)
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
    assert {group.name for group in groups} == {"(missing)", *values}
    thresholds = [np.sort(each)[900 - 1] for each in losses]
    for group in groups:
        mask = codes == (values.index(group.name) if group.name in values else -1)
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


def test_too_many_groups_are_refused():
    pairs = PairedLosses(1, "id")
    n = MAX_GROUPS + 1
    texts = Texts(np.arange(n, dtype=np.int32), [f"row {i}" for i in range(n)])
    with pytest.raises(UsageError, match="by='id': more than 1000 different values"):
        pairs.add(np.arange(n), [np.ones(n)], texts)


def test_a_group_that_a_split_lacks_has_no_share_there():
    losses = made_losses()
    comparison = compare([each.copy() for each in losses], losses, LEVELS)
    here = Group("a", 0.5, np.array([0.4, 0.2]), comparison)
    other = Group("b", 0.5, np.array([0.6, 0.8]), comparison)
    alone = Group("b", 1.0, np.array([1.0, 1.0]), comparison)
    b, a = average_groups([[here, other], [alone]], 0.25)
    assert (a.name, a.row_share, a.tail_shares.tolist()) == ("a", 0.25, [0.2, 0.1])
    assert (b.name, b.row_share, b.tail_shares.tolist()) == ("b", 0.75, [0.8, 0.9])
