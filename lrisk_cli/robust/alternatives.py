"""Few rows, some of them off a linear fit -> what explains them better than errors would, if any.

With so few rows regions cannot be told apart as in longer tables (local_scale.py). Five sentences
without a wrong row are compared with "these rows are wrong, the others lie along a plane", by the
Bayesian information criterion BIC = 2 (minus log-likelihood) + k log n, k the number of parameters:

- the logarithm of the target, less a constant, lies along a plane;
- a few bends, steps, squares or products of columns are missing;
- the noise grows with a column, or with the prediction;
- the errors are skewed;
- the errors are normal, and as large as those of all rows.

Letters: A (n, p) rows with their constant, y (n,), e errors, F (n, m) further columns to try.
"""

from dataclasses import dataclass

import numpy as np

from lrisk_cli.types import Array, Flags

# An alternative must be better by so much: very strong evidence (Kass & Raftery 1995).
EVIDENCE = 10.0
# Bends and steps at these quantiles; at most so many terms, and rows for each coefficient.
BENDS, STEPS_AT = np.linspace(0.05, 0.95, 19), np.linspace(0.02, 0.98, 65)
MOST_TERMS, ROWS_PER_TERM = 4, 4
# Products of columns are tried up to so many columns; candidates that are nearly sums of others.
PRODUCT_COLUMNS, DEPENDENT = 15, 1e-6
# Steps of the fits with growing noise, and the largest slope of the logarithm of its deviation.
ROUNDS, STEPS, STEEPEST = 12, 4, 2.5
# Slopes g of skewed errors that are tried, and constants below the smallest value, in deviations.
SKEWED, STARTS = (0.25, 0.5, 0.75, 1.0, 1.25), np.geomspace(0.02, 20.0, 40)
LOG_TWO_PI = float(np.log(2.0 * np.pi))
TINY = 1e-300


@dataclass(frozen=True, slots=True, eq=False)
class Alternative:
    """rows (n, q), y (n,): what lies along a plane if no row is wrong. words: what to say of it.

    skewness: g of the errors, 0 for symmetric ones. refit: robustly, or by least squares, whose
    errors are no larger than those of all rows.
    """

    words: str
    rows: Array
    y: Array
    skewness: float = 0.0
    refit: bool = True


def find_alternative(A: Array, y: Array, wrong: Flags, remote: Flags) -> Alternative | None:
    """The best one, if it is much better than that the rows `wrong` are wrong.

    remote: of these, the rows that need no excuse and have no part in the comparison. (n,).
    """
    part = ~(wrong & remote)
    few, targets, off = A[part], y[part], wrong[part]
    n, p = few.shape
    if not off.any() or n <= p + 2:
        return None
    least = _wrong_rows(few, targets, off) - EVIDENCE
    found = [
        _same_noise(A, y, part),
        *_logarithms(A, y, part),
        _terms(A, y, part, part & ~wrong),
        _growing(A, y, part),
        *_skewed(A, y, part, part & ~wrong),
    ]
    value, best = min((each for each in found if each is not None), key=lambda each: each[0])
    return best if value < least else None


Valued = tuple[float, Alternative]


def deleted_errors(A: Array, y: Array) -> Array:
    """Errors of the fits without the row, in the deviations of these; Student's t. (n,)."""
    n, p = A.shape
    Q = np.linalg.qr(A)[0]
    e = y - Q @ (Q.T @ y)
    rest = np.maximum(1.0 - np.square(Q).sum(axis=1), DEPENDENT)
    others = np.maximum(np.square(e).sum() - np.square(e) / rest, TINY) / max(n - p - 1, 1)
    found: Array = e / np.sqrt(rest * others)
    return found


def _wrong_rows(A: Array, y: Array, wrong: Flags) -> float:
    """BIC of a plane with normal errors, and rows anywhere in the range of y or around a point."""
    (n, p), m = A.shape, int(wrong.sum())
    errors = _errors(A[~wrong], y[~wrong])
    which = float(m * np.log(m / n) + (n - m) * np.log((n - m) / n))
    anywhere = m * float(np.log(max(np.ptp(y), TINY)))
    costs = [anywhere]
    if m > 2:
        beta = np.linalg.lstsq(A[~wrong], y[~wrong], rcond=None)[0]
        apart = y[wrong] - A[wrong] @ beta
        # The centre and the width of a group are two parameters more.
        costs.append(_normal(apart - apart.mean()) + float(np.log(n)))
    surprise: float = _normal(errors) + min(costs) - which
    return 2.0 * surprise + float((p + 2) * np.log(n))


def _same_noise(A: Array, y: Array, part: Flags) -> Valued:
    n, p = A[part].shape
    value = 2.0 * _normal(_errors(A[part], y[part])) + (p + 1) * float(np.log(n))
    return value, Alternative("all rows have errors of one size", A, y, refit=False)


def _logarithms(A: Array, y: Array, part: Flags) -> list[Valued]:
    """log(y - c) with the likeliest c below all targets, and log(c - y) with one above."""
    n, p = A[part].shape
    Q = np.linalg.qr(A[part])[0]
    found = []
    for sign in (1.0, -1.0):
        starts = float((sign * y).min()) - float(y[part].std()) * STARTS
        logs = np.log(np.maximum((sign * y)[:, np.newaxis] - starts, TINY))
        few = logs[part]
        squares = np.square(few - Q @ (Q.T @ few)).sum(axis=0)
        values = 0.5 * n * np.log(np.maximum(squares / n, TINY)) + few.sum(axis=0)
        at = int(np.argmin(values))
        value = 2.0 * float(values[at]) + n * (LOG_TWO_PI + 1.0) + (p + 2) * float(np.log(n))
        words = "the logarithm of the target, less a constant, is linear"
        found.append((value, Alternative(words, A, logs[:, at])))
    return found


def _terms(A: Array, y: Array, part: Flags, right: Flags) -> Valued | None:
    """Further columns, the best first, while they lower the BIC. Each of m costs 2 log m besides.

    None if they are for few rows that are called wrong, and the others, `right`, do not lie nearer
    to the curve than to a plane: curves pass through a few rows by chance.
    """
    F = _candidates(A, part)
    n, p = A[part].shape
    if F.shape[1] == 0:
        return None
    Q, e = np.linalg.qr(A[part])[0], _errors(A[part], y[part])
    rest = F[part] - Q @ (Q.T @ F[part])
    sizes = np.square(F[part]).sum(axis=0)
    chosen: list[int] = []
    value = np.inf
    most = min(MOST_TERMS, n // ROWS_PER_TERM - p)
    for k in range(1, most + 1):
        norms = np.square(rest).sum(axis=0)
        able = norms > DEPENDENT * np.maximum(sizes, TINY)
        gain = np.where(able, np.square(rest.T @ e) / np.where(able, norms, 1.0), 0.0)
        at = int(np.argmax(gain))
        if gain[at] <= 0.0:
            break
        along = rest[:, at] / float(np.sqrt(norms[at]))
        e = e - along * float(along @ e)
        rest = rest - np.outer(along, along @ rest)
        price = (p + 1 + k) * float(np.log(n)) + 2.0 * k * float(np.log(F.shape[1]))
        now = 2.0 * _normal(e) + price
        if now >= value:
            break
        value = now
        chosen.append(at)
    if not chosen:
        return None
    rows = np.column_stack([F[:, chosen], A])
    q, n_right = len(chosen), int(right.sum())
    if n - n_right <= ROWS_PER_TERM * q:
        curved, plane = _errors(rows[right], y[right]), _errors(A[right], y[right])
        if 2.0 * _normal(curved) + q * float(np.log(n_right)) >= 2.0 * _normal(plane):
            return None
    return value, Alternative("curves or steps of the columns are missing", rows, y)


def _candidates(A: Array, part: Flags) -> Array:
    """Squares, cubes, bends and steps of every column, and products of two. (n, m)."""
    centre, spread = A[part].mean(axis=0), A[part].std(axis=0)
    varies = np.flatnonzero(spread > 0.0)
    Z = (A[:, varies] - centre[varies]) / spread[varies]
    found = [np.empty((len(A), 0))]
    for z in Z.T:
        if len(np.unique(z)) < 3:
            continue
        bends, steps = (np.unique(np.quantile(z[part], at)) for at in (BENDS, STEPS_AT))
        found += [
            np.column_stack([z**2, z**3]),
            np.maximum(z[:, np.newaxis] - bends, 0.0),
            (z[:, np.newaxis] > steps) * 1.0,
        ]
    if 1 < len(varies) <= PRODUCT_COLUMNS:
        first, second = np.triu_indices(len(varies), 1)
        found.append(Z[:, first] * Z[:, second])
    return np.concatenate(found, axis=1)


def _growing(A: Array, y: Array, part: Flags) -> Valued:
    """Normal errors of deviation exp(a + b u), u a column or the prediction, by likelihood."""
    n, p = A[part].shape
    predicted = A @ np.linalg.lstsq(A[part], y[part], rcond=None)[0]
    best = np.inf, np.ones(len(y))
    tried = 0
    for column in (*A.T, predicted):
        spread = float(column[part].std())
        if spread == 0.0:
            continue
        tried += 1
        u = (column - column[part].mean()) / spread
        value, b = _fit_growing(A[part], y[part], u[part])
        if value < best[0]:
            best = value, np.exp(b * u)
    value = 2.0 * (best[0] + float(np.log(max(tried, 1)))) + (p + 2) * float(np.log(n))
    scales = best[1][:, np.newaxis]
    return value, Alternative("the noise grows", A / scales, y / best[1])


def _fit_growing(A: Array, y: Array, u: Array) -> tuple[float, float]:
    """Minus the log-likelihood, and b: weighted fits and Newton steps for b in turns."""
    b, least, at = 0.0, np.inf, 0.0
    for _ in range(ROUNDS):
        scales = np.exp(b * u)
        e = _errors(A / scales[:, np.newaxis], y / scales) * scales
        for _ in range(STEPS):
            ratios = np.square(e / np.exp(b * u))
            ratios /= max(float(ratios.mean()), TINY)
            step = float(u @ (ratios - 1.0)) / max(2.0 * float(np.square(u) @ ratios), TINY)
            b = float(np.clip(b + np.clip(step, -0.5, 0.5), -STEEPEST, STEEPEST))
        value = _normal(e / np.exp(b * u)) + b * float(u.sum())
        if value < least:
            least, at = value, b
    return least, at


def _skewed(A: Array, y: Array, part: Flags, right: Flags) -> list[Valued]:
    """Errors c + a (exp(g u) - 1) / g with u normal: 1 + g (e - c) / a = exp(g u).

    The plane is that of all rows, or of those that are not called wrong: the likelier of the two.
    """
    n, p = A[part].shape
    planes = [np.linalg.lstsq(A[rows], y[rows], rcond=None)[0] for rows in (part, right)]
    found = []
    for beta in planes:
        e = y[part] - A[part] @ beta
        for sign in (1.0, -1.0):
            for g in SKEWED:
                value = _shifted_lognormal(sign * e, g) + (p + 3) * float(np.log(n))
                found.append((value, Alternative("the errors are skewed", A, y, sign * g)))
    return [min(found, key=lambda each: each[0])]


def _shifted_lognormal(e: Array, g: float) -> float:
    """Twice minus the log-likelihood of e = c + b exp(g u), u normal, b by c; least over c."""
    low, spread = float(e.min()), float(e.std())
    starts = low - spread * STARTS
    logs = np.log(e[:, np.newaxis] - starts)
    around = logs - logs.mean(axis=0)
    values = np.sum(np.square(around / g) + 2.0 * logs, axis=0)
    return float(values.min()) + len(e) * (LOG_TWO_PI + 2.0 * float(np.log(g)))


def _errors(A: Array, y: Array) -> Array:
    """Of least squares. (n,)."""
    found: Array = y - A @ np.linalg.lstsq(A, y, rcond=None)[0]
    return found


def _normal(e: Array) -> float:
    """Minus the log-likelihood of normal errors of the likeliest deviation."""
    squares = max(float(np.square(e).mean()), TINY)
    return 0.5 * len(e) * (LOG_TWO_PI + 1.0 + float(np.log(squares)))
