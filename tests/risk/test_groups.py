"""Risks of groups against their definition, group by group, and against copies of rows."""

import numpy as np
import pytest

from lrisk_cli.errors import UsageError
from lrisk_cli.risk.groups import GroupedRisk, Groups, parse_fit_risk, repair_groups
from lrisk_cli.risk.spectrum import parse_risk
from lrisk_cli.risk.value import spectral_risk
from lrisk_cli.risk.weighted import make_masses
from lrisk_cli.solvers.certificate import repair_weights

RISKS = [
    "worst-group", "worst-group:superquantile:0.7", "worst-group:extremile:3", "worst-group:esrm:2",
    "group-extremile:2", "group-extremile:5.5",
]  # fmt: skip


def by_definition(risk: str, losses: np.ndarray, groups: np.ndarray) -> float:
    """The risk of each group by its sorted losses, then the largest, or the extremile of means."""
    of, parts = parse_fit_risk(risk), [losses[groups == g] for g in range(groups.max() + 1)]
    risks = np.array([spectral_risk(np.sort(part), of.within) for part in parts])
    if of.over is None:
        return float(risks.max())
    repeated = np.repeat(risks, [len(part) for part in parts])
    return spectral_risk(np.sort(repeated), of.over)


def draw(seed: int, n_groups: int = 4, n_rows: int = 37) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    groups = np.concatenate([np.arange(n_groups), rng.integers(0, n_groups, n_rows - n_groups)])
    return np.round(rng.exponential(size=n_rows), 1), groups


@pytest.mark.parametrize("risk", RISKS)
@pytest.mark.parametrize("seed", range(4))
def test_the_value_is_that_of_the_definition_and_the_weights_attain_it(risk, seed):
    losses, groups = draw(seed)
    weighed = GroupedRisk(parse_fit_risk(risk), Groups(groups)).weigher().weigh(losses)
    expected = by_definition(risk, losses, groups)
    assert weighed.value == pytest.approx(expected, rel=1e-13)
    assert weighed.lam @ losses == pytest.approx(expected, rel=1e-13)
    assert weighed.lam.min() >= 0.0
    assert weighed.lam.sum() == pytest.approx(1.0, rel=1e-13)


@pytest.mark.parametrize("risk", RISKS)
def test_a_row_of_mass_three_is_the_row_three_times(risk):
    losses, groups = draw(5)
    counts = np.random.default_rng(6).integers(1, 4, len(losses))
    of = parse_fit_risk(risk)
    weighted = Groups(groups, make_masses(counts.astype(float)))
    copied = Groups(np.repeat(groups, counts))
    one = GroupedRisk(of, weighted).weigher().weigh(losses)
    other = GroupedRisk(of, copied).weigher().weigh(np.repeat(losses, counts))
    assert one.value == pytest.approx(other.value, rel=1e-12)
    starts = np.cumsum(counts) - counts
    np.testing.assert_allclose(one.lam, np.add.reduceat(other.lam, starts), atol=1e-15)


@pytest.mark.parametrize("risk", RISKS)
def test_weights_do_not_depend_on_the_order_of_the_rows(risk):
    losses, groups = draw(7)
    order = np.random.default_rng(8).permutation(len(losses))
    of = parse_fit_risk(risk)
    one = GroupedRisk(of, Groups(groups)).weigher().weigh(losses).lam
    other = GroupedRisk(of, Groups(groups[order])).weigher().weigh(losses[order]).lam
    np.testing.assert_allclose(one[order], other, rtol=1e-13)


def test_groups_of_equal_risk_share_the_weight():
    groups = np.array([0, 0, 1, 1, 2])
    weighed = GroupedRisk(parse_fit_risk("worst-group"), Groups(groups)).weigher()
    lam = weighed.weigh(np.array([1.0, 3.0, 2.0, 2.0, 0.5])).lam
    np.testing.assert_allclose(lam, [0.25, 0.25, 0.25, 0.25, 0.0])


@pytest.mark.parametrize("risk", RISKS)
@pytest.mark.parametrize("seed", range(6))
def test_repaired_weights_promise_no_more_than_the_risk(risk, seed):
    """For any weights and any losses, which is what makes a lower bound of them."""
    _, groups = draw(seed)
    rng = np.random.default_rng(seed + 100)
    of = GroupedRisk(parse_fit_risk(risk), Groups(groups))
    for raw in (rng.standard_normal(len(groups)), np.eye(len(groups))[3], np.zeros(len(groups))):
        lam, excess = repair_groups(raw, of, repair_weights)
        assert 0.0 <= excess < 1e-13
        assert lam.sum() == pytest.approx(1.0, rel=1e-12)
        for _ in range(20):
            losses = rng.exponential(size=len(groups)) ** rng.integers(1, 6)
            assert lam @ losses <= (1.0 + excess + 1e-14) * of.weigher().weigh(losses).value


def test_admissible_weights_are_hardly_changed_by_the_repair():
    losses, groups = draw(3)
    for risk in RISKS:
        of = GroupedRisk(parse_fit_risk(risk), Groups(groups))
        lam = of.weigher().weigh(losses).lam
        repaired, _ = repair_groups(lam, of, repair_weights)
        np.testing.assert_allclose(repaired, lam, atol=1e-14)


@pytest.mark.parametrize("risk", [*RISKS, "group-extremile:1"])
def test_a_spelling_reads_back_as_the_same_risk(risk):
    assert str(parse_fit_risk(risk)) == risk


def test_a_risk_of_rows_is_read_as_such():
    assert parse_fit_risk("cvar:0.9") == parse_risk("superquantile:0.9")


@pytest.mark.parametrize(
    ("risk", "sentence"),
    [
        ("worst-group:subquantile:0.9", "falls with the loss"),
        ("worst-group:superquantil:0.9", "superquantile"),
        ("worst-group:worst-group", "no groups of their own"),
        ("group-extremile", "needs its power"),
        ("group-extremile:0.5", "at least 1"),
        ("worst-grop:mean", "worst-group"),
    ],
)
def test_a_wrong_risk_is_answered_with_what_is_near(risk, sentence):
    with pytest.raises(UsageError, match=sentence):
        parse_fit_risk(risk)
