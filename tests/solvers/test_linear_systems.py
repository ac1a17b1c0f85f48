"""Systems by products alone, against NumPy's solution of the whole system."""

import numpy as np
import pytest

from lrisk_cli.solvers.linear_systems import solve_by_products


@pytest.mark.parametrize("spread", [0.0, 3.0])
def test_products_solve_a_system_to_rounding(spread):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((300, 60)) * 10.0 ** (spread * rng.uniform(-1.0, 1.0, 60))
    H, rhs = A.T @ A, A.T @ rng.standard_normal((300, 1))
    found = solve_by_products(lambda V: H @ V, np.diag(H), rhs)
    assert found is not None
    roots = np.sqrt(np.diag(H))[:, None]
    assert np.abs((H @ found - rhs) / roots).max() <= 1e-12 * np.abs(rhs / roots).max()


def test_a_system_that_is_too_nearly_singular_is_left_to_others():
    H = np.vander(np.linspace(0.1, 1.0, 14), increasing=True)
    H = H.T @ H
    assert solve_by_products(lambda V: H @ V, np.diag(H), np.ones((14, 1))) is None
