"""Few passes over rows that are only swept, and bounds that hold."""

import numpy as np
import pytest

from helpers.sweeping import KINDS, many_rows, objective, solved, sweep
from lrisk_cli.engines import reduction
from lrisk_cli.risk.spectrum import parse_risk
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.rows.sweeps import Part
from lrisk_cli.solvers.binned_distinct import distinct_rows
from lrisk_cli.solvers.binned_plan import density_slopes, lay_smooth, quantiles_of
from lrisk_cli.solvers.binned_sums import Kept, Look, look
from lrisk_cli.solvers.binned_zone import Zone

# Only the intercept is not 0, and the spectrum has no jump: the gap that is proved is large.
HONEST = {("constant", "extremile:2"), ("constant", "esrm:1")}
RISKS = ("superquantile:0.5", "superquantile:0.95", "extremile:2", "esrm:1")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("risk", RISKS)
def test_the_gap_is_proved_in_few_passes_and_the_bounds_enclose_the_optimum(kind, risk):
    many = many_rows(kind, risk)
    found, passes, _ = sweep(many)
    proved = found.certificate
    other = solved(many, 1e-6)
    if (kind, risk) not in HONEST:
        assert found.converged, found.status
        assert passes <= 6
    assert proved.lower_bound <= other.objective
    assert proved.objective >= other.certificate.lower_bound
    assert objective(many, found.W) <= proved.objective * (1.0 + 1e-15)


@pytest.mark.parametrize("risk", ["superquantile:0.9", "extremile:2"])
def test_passes_do_not_grow_with_the_rows(risk):
    few = [sweep(many_rows("plain", risk, n=n, seed=n), sample=5000).passes
           for n in (20_000, 80_000, 320_000)]  # fmt: skip
    assert max(few) <= 5


@pytest.mark.parametrize("kind", ["plain", "tails", "scales"])
def test_a_gap_of_a_billionth_takes_few_passes_more(kind):
    many = many_rows(kind, "superquantile:0.9")
    found, passes, _ = sweep(many, tol=1e-9)
    other = solved(many, 1e-7)
    assert found.converged
    assert passes <= 8
    assert found.certificate.lower_bound <= other.objective
    assert found.certificate.objective >= other.certificate.lower_bound


@pytest.mark.parametrize("kind", ["plain", "logistic", "classes"])
def test_the_fit_of_the_mean_shares_the_sweeps(kind):
    many = many_rows(kind, "extremile:2")
    mean = sweep(many, tol=1e-8).mean
    other = solved(many._replace(risk="mean"))
    assert mean.done
    value = objective(many._replace(risk="mean"), mean.W_seen)
    assert value - other.objective <= 2e-6 * (np.log(4.0) if kind == "classes" else 0.5)


def test_a_run_that_may_not_go_on_says_so_and_keeps_its_bounds():
    many = many_rows("plain", "superquantile:0.9")
    found, passes, _ = sweep(many, tol=1e-15, most=3.0)
    assert not found.converged
    assert passes == 3
    assert found.status == "stopped after 3 passes"
    assert found.certificate.lower_bound <= solved(many).objective


def test_sums_do_not_depend_on_how_parts_are_divided_over_calls(monkeypatch):
    many = many_rows("plain", "extremile:2", n=10_000)
    monkeypatch.setattr(reduction, "PART_ROWS", 1 << 10)
    one = sweep(many, sample=2000).found
    two = sweep(many, sample=2000).found
    assert (one.W == two.W).all()
    assert one.certificate == two.certificate


def test_what_leaves_a_part_is_what_its_rows_say():
    """Counts, sums and gradients of bins against loops over the rows."""
    many = many_rows("logistic", "esrm:1", n=500, d=3)
    W = 0.3 * np.ones((4, 1))
    losses, g = many.loss.values_and_derivatives(np.ascontiguousarray(many.X @ W), many.y)
    plan = lay_smooth(quantiles_of(losses), parse_risk("esrm:1"), 500, 1e-3, 4, 1)
    seen = look(Part(DenseRows(many.X), many.y), Look(many.loss, W, plan))
    lows = plan.lows
    for k in range(len(lows)):
        high = lows[k + 1] if k + 1 < len(lows) else np.inf
        own = (losses >= lows[k]) & (losses < high)
        assert seen.count[k] == own.sum()
        assert seen.above[k] == pytest.approx((losses[own] - lows[k]).sum(), abs=1e-13)
        assert seen.G[k][:, 0] == pytest.approx(many.X[own].T @ g[own, 0], abs=1e-12)
    curvature = many.loss.curvature(np.ascontiguousarray(many.X @ W), many.y)
    assert seen.grams.sum(axis=0)[0] == pytest.approx(many.X.T @ (many.X * curvature[:, None]))


def test_weights_of_the_zone_are_the_nearest_that_are_allowed():
    """Against the projection by a general solver (SLSQP)."""
    from scipy import optimize

    rng = np.random.default_rng(3)
    times, v, cap, mass = rng.integers(1, 4, 12).astype(float), rng.standard_normal(12), 0.4, 3.0
    zone = Zone(DenseRows(np.zeros((12, 1))), np.zeros(12), times, mass, cap)
    lam, within = zone.project(v)
    assert times @ lam == pytest.approx(mass, rel=1e-14)
    found = optimize.minimize(
        lambda x: 0.5 * times @ (x - v) ** 2, np.full(12, mass / times.sum()),
        constraints={"type": "eq", "fun": lambda x: times @ x - mass}, bounds=[(0.0, cap)] * 12,
        method="SLSQP", options={"ftol": 1e-14, "maxiter": 500},
    )  # fmt: skip
    assert lam == pytest.approx(found.x, abs=1e-6)
    assert (within == ((lam > 0.0) & (lam < cap))).all()


def test_equal_rows_are_kept_once_with_their_number():
    X = np.array([[1.0, 0.0], [2.0, 5.0], [1.0, -0.0], [1.0, 0.0]])
    kept = Kept(X, np.array([1.0, 1.0, 1.0, 0.0]), np.ones(4)).compressed()
    assert kept.cells.tolist() == [[1.0, 0.0], [2.0, 5.0], [1.0, 0.0]]
    assert kept.y.tolist() == [1.0, 1.0, 0.0]
    assert kept.times.tolist() == [2.0, 1.0, 1.0]


def test_different_rows_of_a_table_are_found_in_their_order():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (10_000, 2)).astype(float)
    y = rng.integers(0, 2, 10_000).astype(float)
    kept = distinct_rows(DenseRows(X), y)
    rows, counts = np.unique(np.column_stack([X, y]), axis=0, return_counts=True)
    order = np.lexsort(np.column_stack([kept.cells, kept.y]).T[::-1])
    assert (np.column_stack([kept.cells, kept.y])[order] == rows).all()
    assert (kept.times[order] == counts).all()


@pytest.mark.parametrize(
    ("risk", "slope"),
    [("extremile:3", lambda t: 6.0 * t), ("esrm:2", lambda t: 4.0 * np.exp(2.0 * t) / np.expm1(2))],
)
def test_slopes_of_densities_are_their_derivatives(risk, slope):
    t = np.linspace(0.05, 0.95, 19)
    assert density_slopes(parse_risk(risk), t) == pytest.approx(slope(t), rel=1e-3)
