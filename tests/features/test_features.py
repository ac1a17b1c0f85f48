"""Kernels as feature maps: values, landmarks and random features against outside oracles."""

from types import ModuleType

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist
from sklearn.kernel_approximation import RBFSampler
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from helpers.matrix import matrix
from helpers.problems import RISING, kernel_builds
from lrisk_cli.errors import DataError, UsageError
from lrisk_cli.features import nystroem
from lrisk_cli.features.features import FeatureOptions, Features, build_features, check_features
from lrisk_cli.features.gaussian import GaussianKernel
from lrisk_cli.features.landmarks import pick_landmarks
from lrisk_cli.features.maps import Kernel, LandmarkMap, pack, percentage
from lrisk_cli.features.polynomial import PolynomialKernel
from lrisk_cli.losses.registry import make_loss
from lrisk_cli.names import FeatureMapName, GammaRule, KernelName, SolverName
from lrisk_cli.risk.row_weights import Projection
from lrisk_cli.risk.spectrum import parse_risk
from lrisk_cli.rows.dense import DenseRows
from lrisk_cli.solvers.certificate import weighted_minimiser
from lrisk_cli.solvers.problem import Problem, make_problem
from lrisk_cli.solvers.rowspace import RowCurvature
from lrisk_cli.solvers.select import SolverOptions, choose, solve
from lrisk_cli.solvers.solution import Limits

BUILDS = kernel_builds()
each_build = pytest.mark.parametrize("core", BUILDS, ids=lambda build: build.__name__[10:])
RBF, POLY = KernelName.RBF, KernelName.POLY
FOURIER, NYSTROEM = FeatureMapName.FOURIER, FeatureMapName.NYSTROEM
GAMMA = 0.2


def rows(n: int = 150, d: int = 4, seed: int = 0, *, constant: bool = False) -> np.ndarray:
    X = np.random.default_rng(seed).standard_normal((n, d))
    return np.ascontiguousarray(np.column_stack([X, np.ones(n)])) if constant else X


def targets(X: np.ndarray) -> np.ndarray:
    noise = np.random.default_rng(9).standard_t(3, len(X))
    return np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * noise


def exact(X: np.ndarray, *, constant: bool = False, kernel: KernelName = RBF) -> Features:
    return build_features(DenseRows(X), FeatureOptions(kernel, gamma=GAMMA), constant=constant)


def phi_of(features: Features) -> np.ndarray:
    return features.phi.dense_rows(slice(None))


# Values of kernels


@each_build
@pytest.mark.parametrize("n", [1, 3, 4, 9])
@pytest.mark.parametrize("d", [1, 5, 40])
@pytest.mark.parametrize("m", [1, 8, 13])
def test_values_are_those_of_the_formulas(core: ModuleType, n: int, d: int, m: int) -> None:
    X, Z = rows(n, d), rows(m, d, seed=1)
    out = np.empty((n, m))
    core.gaussian_rows(X, pack(Z), 0.3, out)
    assert out == pytest.approx(rbf_kernel(X, Z, gamma=0.3), rel=1e-13, abs=1e-300)
    core.polynomial_rows(X, pack(Z), 0.5, 1.5, 4, out)
    oracle = polynomial_kernel(X, Z, degree=4, gamma=0.5, coef0=1.5)
    assert out == pytest.approx(oracle, rel=1e-9, abs=1e-9)
    phases = np.zeros(8 * len(pack(Z)))
    phases[:m] = np.linspace(0.0, 6.0, m)
    core.cosine_rows(X, pack(Z), phases, 0.7, out)
    assert out == pytest.approx(0.7 * np.cos(X @ Z.T + phases[:m]), abs=1e-14)


@each_build
def test_values_hold_at_extremes(core: ModuleType) -> None:
    X = np.array([[0.0, 0.0], [1e160, 0.0], [30.0, 0.0], [1e-170, 0.0]])
    out = np.empty((4, 1))
    core.gaussian_rows(X, pack(np.zeros((1, 2))), 1.0, out)
    assert out.tolist() == [[1.0], [0.0], [0.0], [1.0]]
    core.gaussian_rows(X[2:3], pack(np.zeros((1, 2))), 0.5, out[:1])
    assert out[0, 0] == pytest.approx(np.exp(-450.0), rel=1e-12)
    angles = np.linspace(-1e5, 1e5, 20001)[:, None].copy()
    out = np.empty((len(angles), 1))
    core.cosine_rows(angles, pack(np.ones((1, 1))), np.zeros(8), 1.0, out)
    assert out == pytest.approx(np.cos(angles), abs=1e-10)
    assert np.abs(out).max() <= 1.0 + 1e-15


@each_build
def test_a_row_has_the_same_values_alone_and_in_company(core: ModuleType) -> None:
    X, packed, phases = rows(23, 7), pack(rows(21, 7, seed=1)), np.linspace(0.0, 6.0, 24)
    fills = [
        lambda some, out: core.gaussian_rows(some, packed, 0.1, out),
        lambda some, out: core.polynomial_rows(some, packed, 0.1, 1.0, 3, out),
        lambda some, out: core.cosine_rows(some, packed, phases, 1.0, out),
    ]
    for fill in fills:
        together, alone = np.empty((23, 21)), np.empty((1, 21))
        fill(X, together)
        for i in range(23):
            fill(X[i : i + 1], alone)
            assert np.array_equal(alone[0], together[i])


def test_landmarks_ignore_the_columns_they_do_not_have() -> None:
    X = rows(10, 3, constant=True)
    kernel = GaussianKernel(0.4)
    assert np.array_equal(kernel.matrix(X, X[:, :3]), kernel.matrix(X[:, :3].copy(), X[:, :3]))
    assert PolynomialKernel(0.5, 3, 2.0).diagonal(X, 3) == pytest.approx(
        polynomial_kernel(X[:, :3], degree=3, gamma=0.5, coef0=2.0).diagonal()
    )


# Exact landmarks


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("kernel", [RBF, POLY])
def test_products_of_exact_features_are_the_kernel(kernel: KernelName, constant: bool) -> None:
    X = rows(constant=constant)
    found = exact(X, constant=constant, kernel=kernel)
    K = rbf_kernel(X[:, :4], gamma=GAMMA)
    if kernel is POLY:
        K = polynomial_kernel(X[:, :4], degree=3, gamma=GAMMA, coef0=1.0)
    K += constant
    assert phi_of(found) @ phi_of(found).T == pytest.approx(K, abs=1e-9 * K.max())
    assert found.map.explained == pytest.approx(1.0, abs=1e-10)
    if kernel is RBF:
        assert found.outer == pytest.approx(K, abs=1e-14)
    else:
        # All polynomials of degree 3 in 4 variables.
        assert len(found.map.landmarks) == 35
        assert found.outer is None


def test_repeated_rows_are_landmarks_once() -> None:
    X = rows(60)
    found = exact(np.concatenate([X, X[:25], X[:25]]))
    assert sorted(map(tuple, found.map.landmarks)) == sorted(map(tuple, X))
    assert phi_of(found)[:25] == pytest.approx(phi_of(found)[60:85], abs=1e-6)


@pytest.mark.parametrize("kernel", [RBF, POLY])
def test_the_mean_with_exact_landmarks_is_kernel_ridge_regression(kernel: KernelName) -> None:
    X, new, mu = rows(), rows(40, seed=5), 0.003
    y = targets(X)
    found = exact(X, kernel=kernel)
    problem = make_problem(found.phi, y, make_loss("squared"), parse_risk("mean"), mu)
    W = solve(problem, SolverOptions(), Limits(tol=1e-12)).W
    oracle = KernelRidge(alpha=mu * len(X), kernel=kernel.value, gamma=GAMMA, degree=3, coef0=1)
    oracle.fit(X, y)
    scores = found.map.margins(DenseRows(new), found.coefficients(W))[:, 0]
    assert scores == pytest.approx(oracle.predict(new), abs=1e-8)


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("weights", ["all", "some", "few"])
def test_weighted_fits_by_rows_and_by_columns_agree(constant: bool, weights: str) -> None:
    X = rows(constant=constant)
    y, found = targets(X), exact(X, constant=constant)
    rng = np.random.default_rng(3)
    share = {"all": 1.0, "some": 0.6, "few": 0.05}[weights]
    lam = rng.random(len(X)) * (rng.random(len(X)) <= share)
    lam /= lam.sum()
    loss, risk = make_loss("squared"), parse_risk("mean")
    by_columns = make_problem(found.phi, y, loss, risk, 0.01)
    by_rows = make_problem(found.phi, y, loss, risk, 0.01, None, found.outer)
    start = np.zeros(by_rows.shape)
    found_by_rows, _ = weighted_minimiser(by_rows, lam, start, 1e-9)
    found_by_columns, _ = weighted_minimiser(by_columns, lam, start, 1e-9)
    assert found_by_rows == pytest.approx(found_by_columns, abs=1e-9)
    gradient = by_columns.gradient(found_by_rows, by_columns.margins(found_by_rows), lam)
    assert float(np.abs(gradient).max()) < 1e-12


# Solvers see a matrix


def rising_problem(loss: str, risk: str, *, outer: bool = True, n: int = 150) -> Problem:
    X = rows(n, constant=True)
    y = targets(X)
    found = exact(X, constant=True)
    goal = y if loss == "squared" else (y > 0.2).astype(np.int32)
    known = found.outer if outer else None
    risk_found = parse_risk(risk)
    return make_problem(found.phi, goal, make_loss(loss, 2), risk_found, 1.0 / n, None, known)


@pytest.mark.parametrize("risk", [*RISING, "superquantile:0.99", "extremile:10"])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_newton_by_rows_proves_what_other_ways_attain(loss: str, risk: str) -> None:
    limits = Limits(tol=1e-8, max_passes=1e5)
    newton, lbfgs = SolverOptions(SolverName.NEWTON), SolverOptions(SolverName.LBFGS)
    by_rows = solve(rising_problem(loss, risk), newton, limits)
    by_columns = solve(rising_problem(loss, risk, outer=False), newton, limits)
    by_gradients = solve(rising_problem(loss, risk, outer=False), lbfgs, Limits(1e-6, 1e5))
    assert by_rows.converged
    assert by_columns.converged
    for other in (by_columns, by_gradients):
        best, bound = other.certificate.objective, other.certificate.lower_bound
        assert by_rows.certificate.lower_bound <= best
        assert bound <= by_rows.certificate.objective
    assert float(np.abs(by_rows.W - by_columns.W).max()) < 1e-2


@pytest.mark.parametrize("risk", ["superquantile:0.8", "extremile:3"])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_curvature_in_the_space_of_rows_is_that_of_columns(loss: str, risk: str) -> None:
    problem = rising_problem(loss, risk, n=90)
    rng = np.random.default_rng(4)
    W = 0.3 * rng.standard_normal(problem.shape)
    Z, nu = problem.margins(W), 20.0
    losses = problem.loss.values(Z, problem.y)
    lam, tied = Projection(problem.spectrum, problem.sigma)(problem.sigma.mean() + losses / nu)
    assert len(tied.rows) > 3
    slopes = problem.loss.derivatives(Z, problem.y)
    M = np.diag(lam * problem.loss.curvature(Z, problem.y))
    for block in np.split(tied.rows, np.cumsum(tied.sizes)[:-1]):
        centred = np.eye(len(block)) - 1.0 / len(block)
        q = np.diag(slopes[block, 0])
        M[np.ix_(block, block)] += q @ centred @ q / nu
    H = matrix(problem).T @ M @ matrix(problem) + problem.mu * np.eye(len(W))
    G = rng.standard_normal((2, *problem.shape))
    found = RowCurvature(problem, Z, lam, tied, nu).solve(G)
    expected = np.linalg.solve(H, G[:, :, 0].T).T[:, :, None]
    assert found == pytest.approx(expected, rel=1e-7, abs=1e-9)
    assert RowCurvature(problem, Z, lam).solve(G[0]) == pytest.approx(
        np.linalg.solve(problem.hessian(Z, lam), G[0]), rel=1e-7, abs=1e-9
    )


def test_auto_takes_newton_where_products_of_rows_are_known() -> None:
    problem = rising_problem("squared", "extremile:2")
    chosen = choose(problem, SolverOptions())
    assert (chosen.solver, chosen.reason) == (SolverName.NEWTON, "150 rows are few enough for it")


# Fewer landmarks than rows


@pytest.mark.parametrize("kernel", [GaussianKernel(0.2), PolynomialKernel(0.2, 3, 1.0)])
@pytest.mark.parametrize("rank", [1, 20, 70])
def test_the_residual_is_exact_and_never_negative(kernel: Kernel, rank: int) -> None:
    X = rows(200, 5)
    options = FeatureOptions(KernelName(kernel.name), gamma=kernel.gamma, rank=rank)
    found = build_features(DenseRows(X), options, constant=False)
    Z, K = found.map.landmarks, kernel.matrix(X, X)
    C, scale = kernel.matrix(X, Z), K.diagonal().max()
    # The best that these landmarks can do, by pseudo-inverse instead of Cholesky.
    spanned = C @ np.linalg.pinv(kernel.matrix(Z, Z), hermitian=True, rcond=1e-14) @ C.T
    assert phi_of(found) @ phi_of(found).T == pytest.approx(spanned, abs=1e-7 * scale)
    left = K - phi_of(found) @ phi_of(found).T
    assert np.linalg.eigvalsh(left).min() > -1e-9 * scale
    assert 1.0 - found.map.explained == pytest.approx(np.trace(left) / np.trace(K), abs=1e-10)
    at = [int(np.flatnonzero((z == X).all(axis=1))[0]) for z in Z]
    assert left.diagonal()[at] == pytest.approx(0.0, abs=1e-9 * scale)
    assert len(set(at)) == len(Z) <= rank


def test_landmarks_span_nearly_what_as_many_eigenvectors_do() -> None:
    X = rows(400, 3)
    K = rbf_kernel(X, gamma=GAMMA)
    eigenvalues = np.linalg.eigvalsh(K)
    for rank in (10, 40, 100):
        found = build_features(
            DenseRows(X), FeatureOptions(RBF, gamma=GAMMA, rank=rank), constant=False
        )
        best = eigenvalues[:-rank].sum() / eigenvalues.sum()
        assert best - 1e-9 <= 1.0 - found.map.explained <= 6.0 * best + 1e-9


def test_landmarks_of_full_rank_are_exact() -> None:
    X, y, new = rows(80), targets(rows(80)), rows(30, seed=5)
    scores = []
    for options in (FeatureOptions(RBF, rank=80), FeatureOptions(RBF)):
        found = build_features(DenseRows(X), options, constant=False)
        problem = make_problem(found.phi, y, make_loss("squared"), parse_risk("mean"), 0.01)
        W = solve(problem, SolverOptions(), Limits(tol=1e-12)).W
        scores.append(found.map.margins(DenseRows(new), found.coefficients(W)))
    assert np.array_equal(*scores)
    # The drawn pivots end at the same span.
    kernel = GaussianKernel(0.25)
    picked = pick_landmarks(kernel, X, 4, 80, 0.0, np.random.default_rng(0))
    assert sorted(map(tuple, picked.Z)) == sorted(map(tuple, X))
    factor = np.tril(picked.L)
    assert factor @ factor.T == pytest.approx(kernel.matrix(picked.Z, picked.Z), abs=1e-12)


def test_many_rows_are_spanned_by_landmarks_from_a_part(monkeypatch) -> None:
    monkeypatch.setattr(nystroem, "SAMPLE_ROWS", 500)
    X = rows(3000, 2, constant=True)
    found = build_features(DenseRows(X), FeatureOptions(RBF, rank=60), constant=True)
    C = found.map.kernel.matrix(X, found.map.landmarks)
    inner = np.linalg.pinv(
        found.map.kernel.matrix(found.map.landmarks, found.map.landmarks), hermitian=True
    )
    explained = np.einsum("ij,jk,ik->", C, inner, C) / 3000
    assert found.map.explained == pytest.approx(explained, abs=1e-8)
    assert (phi_of(found)[:, -1] == 1.0).all()


def test_auto_stops_when_little_is_left_or_at_its_limits(monkeypatch) -> None:
    X, auto = rows(600, 2), FeatureOptions(RBF, rank="auto")
    found = build_features(DenseRows(X), auto, constant=False)
    assert 10 <= len(found.map.landmarks) <= 100
    assert 0.9985 <= found.map.explained < 1.0
    assert found.notes == ()
    same = build_features(DenseRows(X), FeatureOptions(RBF, feature_map=NYSTROEM), constant=False)
    assert np.array_equal(phi_of(same), phi_of(found))
    monkeypatch.setattr(nystroem, "AUTO_RANK", 7)
    (note,) = build_features(DenseRows(X), auto, constant=False).notes
    assert note == "rank='auto' stopped at 7 landmarks, the most it takes; a number may be larger"
    monkeypatch.setattr(nystroem, "AUTO_BYTES", 8 * 600 * 5)
    (note,) = build_features(DenseRows(X), auto, constant=False).notes
    assert note.startswith("rank='auto' stopped at 5 landmarks, a GiB of features")
    (note,) = build_features(DenseRows(X), FeatureOptions(RBF, rank=3), constant=False).notes
    assert "of the kernel; raise rank" in note


def test_drawn_landmarks_depend_on_the_seed_and_nothing_else() -> None:
    X, options = rows(300), FeatureOptions(RBF, rank=20)
    first, again, other = (
        build_features(DenseRows(X), options, constant=False, seed=seed).map.landmarks
        for seed in (0, 0, 1)
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


# Random Fourier features


def test_random_fourier_features_converge_to_the_kernel() -> None:
    X = rows(60, 3)
    K = rbf_kernel(X, gamma=0.3)
    errors, peers = [], []
    for m in (250, 4000, 64000):
        options = FeatureOptions(RBF, gamma=0.3, rank=m, feature_map=FOURIER)
        found = build_features(DenseRows(X), options, constant=False, seed=1)
        errors.append(np.sqrt(np.mean((phi_of(found) @ phi_of(found).T - K) ** 2)))
        peer = RBFSampler(gamma=0.3, n_components=m, random_state=0).fit_transform(X)
        peers.append(np.sqrt(np.mean((peer @ peer.T - K) ** 2)))
        assert found.map.frequencies.var() == pytest.approx(0.6, rel=5.0 / np.sqrt(m))
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.3)
    assert errors[1] / errors[2] == pytest.approx(4.0, rel=0.3)
    assert errors == pytest.approx(peers, rel=0.3)


def test_fourier_features_are_repeated_on_new_rows() -> None:
    X = rows(50, constant=True)
    found = build_features(
        DenseRows(X), FeatureOptions(RBF, rank=33, feature_map=FOURIER), constant=True
    )
    W = np.random.default_rng(2).standard_normal((34, 2))
    assert found.coefficients(W) is W
    assert found.map.margins(DenseRows(X), W) == pytest.approx(phi_of(found) @ W, abs=1e-12)


# gamma


def test_gamma_by_scale_and_by_median() -> None:
    X = rows(300, constant=True)
    features = X[:, :4]
    scale = build_features(DenseRows(X), FeatureOptions(RBF), constant=True).map.kernel.gamma
    assert scale == pytest.approx(1.0 / (4 * features.var()))
    options = FeatureOptions(RBF, gamma=GammaRule.MEDIAN)
    median = build_features(DenseRows(X), options, constant=True).map.kernel.gamma
    assert median == pytest.approx(1.0 / np.median(pdist(features, "sqeuclidean")))
    many = rows(5000)
    options = FeatureOptions(RBF, gamma=GammaRule.MEDIAN, rank=5)
    gamma = build_features(DenseRows(many), options, constant=False).map.kernel.gamma
    all_pairs = np.median(cdist(many[:2500], many[2500:], "sqeuclidean"))
    assert gamma == pytest.approx(1.0 / all_pairs, rel=0.05)
    poly = build_features(DenseRows(X), FeatureOptions(POLY), constant=True).map.kernel
    assert poly == PolynomialKernel(1.0, 3, 1.0)


# What is refused


@pytest.mark.parametrize(
    ("options", "finding"),
    [
        (FeatureOptions(gamma=0.5), "gamma is not used by kernel='linear'"),
        (FeatureOptions(rank=5), "(only by poly and rbf)"),
        (FeatureOptions(feature_map=NYSTROEM), "feature_map='nystroem' is not used by"),
        (FeatureOptions(RBF, degree=2), "degree is not used by kernel='rbf'"),
        (FeatureOptions(RBF, coef0=0.0), "coef0 is not used by kernel='rbf'"),
        (
            FeatureOptions(POLY, feature_map=FOURIER),
            "='fourier' is not used by kernel='poly'",
        ),
        (FeatureOptions(RBF, gamma=0.0), "gamma must be greater than 0; got 0"),
        (FeatureOptions(RBF, gamma=-1.0), "gamma must be greater than 0; got -1"),
        (FeatureOptions(RBF, gamma=np.inf), "gamma must be greater than 0; got inf"),
        (FeatureOptions(RBF, gamma=np.nan), "gamma must be greater than 0; got nan"),
        (FeatureOptions(POLY, coef0=-1.0), "coef0 must be at least 0; got -1"),
        (FeatureOptions(RBF, rank="auto", feature_map=FOURIER), "pass a number"),
    ],
)
def test_contradictory_options_are_refused(options: FeatureOptions, finding: str) -> None:
    with pytest.raises(UsageError) as refusal:
        check_features(options)
    assert finding in str(refusal.value)


def test_ranks_and_tables_that_do_not_fit_are_refused(monkeypatch) -> None:
    X = rows(30)
    with pytest.raises(UsageError, match=r"rank=31: .* there are 30; lower it"):
        build_features(DenseRows(X), FeatureOptions(RBF, rank=31), constant=False)
    monkeypatch.setattr(nystroem, "EXACT_ROWS", 29)
    with pytest.raises(UsageError, match=r"30 rows are too many .*; pass rank='auto', or rank='N'"):
        build_features(DenseRows(X), FeatureOptions(POLY), constant=False)
    for options in (FeatureOptions(RBF, rank=30), FeatureOptions(RBF, rank="auto")):
        build_features(DenseRows(X), options, constant=False)


def test_rows_without_scale_or_distance_are_refused() -> None:
    same = np.zeros((20, 3))
    with pytest.raises(DataError, match=r"gamma='scale': no feature varies"):
        build_features(DenseRows(same), FeatureOptions(RBF), constant=False)
    nearly = np.concatenate([np.zeros((20, 3)), rows(2, 3)])
    with pytest.raises(DataError, match=r"gamma='median': more than half of all pairs"):
        build_features(
            DenseRows(nearly), FeatureOptions(RBF, gamma=GammaRule.MEDIAN), constant=False
        )
    with pytest.raises(DataError, match=r"too far from 1 in size; standardise"):
        build_features(DenseRows(1e200 * rows(20)), FeatureOptions(RBF), constant=False)
    with pytest.raises(DataError, match=r"is 0 for every row; pass another coef0"):
        build_features(DenseRows(same), FeatureOptions(POLY, coef0=0.0), constant=False)
    with pytest.raises(DataError, match=r"too large for numbers in double precision"):
        build_features(DenseRows(1e120 * rows(20)), FeatureOptions(POLY), constant=False)
    one = build_features(DenseRows(same), FeatureOptions(RBF, gamma=1.0), constant=False)
    assert len(one.map.landmarks) == 1


def test_shares_are_told_without_rounding_up() -> None:
    told = [percentage(share) for share in (1.0, 0.9999, 0.99996, 0.9, 0.1234, 1.0 - 1e-7)]
    assert told == ["all", "99.99 %", "99.996 %", "90.0 %", "12.3 %", "99.99999 %"]
    small = LandmarkMap(PolynomialKernel(0.5, 2, 1.0), np.zeros((3, 2)), 0.5)
    assert small.describe() == "polynomial kernel (0.5 x.z + 1)^2; 3 landmarks span 50.0 % of it"
