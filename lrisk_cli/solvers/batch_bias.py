"""What the risk of a random batch is on average: the bias of methods that are built on batches."""

import numpy as np

from lrisk_cli.types import Array


def expected_batch_risk(losses: Array, sigma: Array) -> float:
    """E[sum_j sigma_j l_(j)] of m of n rows drawn without replacement. losses: sorted (n,).

    The j-th smallest of a batch is the k-th smallest of all with the probability
    C(k-1, j-1) C(n-k, m-j) / C(n, m). sigma: (m,).
    """
    from scipy.special import gammaln

    n, m = len(losses), len(sigma)
    log_factorials = gammaln(np.arange(n + 1) + 1.0)
    log_all = log_factorials[n] - log_factorials[m] - log_factorials[n - m]
    total = 0.0
    for j in range(1, m + 1):
        if sigma[j - 1] == 0.0:
            continue
        k = np.arange(j, n - m + j + 1)
        below = log_factorials[k - 1] - log_factorials[j - 1] - log_factorials[k - j]
        above = log_factorials[n - k] - log_factorials[m - j] - log_factorials[n - k - m + j]
        chances = np.exp(below + above - log_all)
        total += float(sigma[j - 1]) * float(chances @ losses[k - 1]) / float(chances.sum())
    return total
