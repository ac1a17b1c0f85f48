"""Symmetric systems beside SciPy's, and what becomes of matrices that are hardly positive."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import linalg

from helpers.problems import kernel_builds
from lrisk_cli.native.cholesky import LinAlgError, cho_factor, cho_factor_lifted, cho_solve


def positive(d: int, seed: int) -> np.ndarray:
    A = np.random.default_rng(seed).standard_normal((d + 3, d))
    return A.T @ A + 0.1 * np.eye(d)


@given(d=st.integers(1, 40), m=st.integers(0, 3), seed=st.integers(0, 10**6))
def test_solutions_agree_with_scipy(d: int, m: int, seed: int) -> None:
    """m right sides; 0 for a vector."""
    H, rng = positive(d, seed), np.random.default_rng(seed)
    B = rng.standard_normal((d, m) if m else d)
    kept = B.copy()
    found = cho_solve(cho_factor(H), B)
    assert found.shape == B.shape
    np.testing.assert_allclose(found, linalg.cho_solve(linalg.cho_factor(H), B), rtol=1e-9)
    np.testing.assert_array_equal(B, kept)


@pytest.mark.parametrize("core", kernel_builds(), ids=lambda core: core.__name__)
def test_both_builds_solve(core) -> None:
    H, B = positive(21, 0), np.random.default_rng(1).standard_normal((2, 21))
    found = B.copy()
    core.cholesky_solve(np.linalg.cholesky(H), found)
    np.testing.assert_allclose(found @ H, B, rtol=1e-10, atol=1e-12)


def test_what_is_not_positive_is_refused_or_lifted() -> None:
    a = np.array([[1.0, 2.0, 3.0]])
    singular = a.T @ a
    with pytest.raises(LinAlgError):
        cho_factor(singular - 1e-3 * np.eye(3))
    L = cho_factor_lifted(singular - 1e-15 * np.eye(3))
    assert abs(L @ L.T - singular).max() <= 1e-9
    with pytest.raises(LinAlgError, match="no lift"):
        cho_factor_lifted(-np.eye(2))


def test_a_positive_matrix_is_not_lifted() -> None:
    H = positive(5, 3)
    np.testing.assert_array_equal(cho_factor_lifted(H), cho_factor(H))
