# Losses of rows, and the passes over X that every method is made of.

cdef enum:
    # Rows summed before a partial sum is closed: the order of additions depends on nothing else.
    CHUNK = 1024
    # Columns worked on together when a model has several.
    LANE = 8
    # Rows fetched ahead in a sweep: the processor alone stops at the end of each memory page.
    ROWS_AHEAD = 8


cdef inline void prefetch_row(const double *x, Py_ssize_t d) noexcept nogil:
    cdef Py_ssize_t j = 0
    while j < d:
        lrisk_prefetch(x + j)
        j += 8


cdef inline void add_scaled(double *v, double c, const double *x, Py_ssize_t d) noexcept nogil:
    """v += c x."""
    cdef Py_ssize_t j
    for j in range(d):
        v[j] += c * x[j]


cdef extern from "native/lanes.h" nogil:
    double dot(const double *x, const double *v, Py_ssize_t d) noexcept
    double dot_difference(
        const double *x, const double *v, const double *g, double ratio, Py_ssize_t d
    ) noexcept
    void lane_dot(
        const double *x, const double *W, Py_ssize_t d, Py_ssize_t width, double *z
    ) noexcept
    void lane_add(
        double *W, const double *x, const double *q, Py_ssize_t d, Py_ssize_t width
    ) noexcept
    double lane_exp(double *z, double top) noexcept
    double lane_margins(
        double *z, double s, double b, const double *slope, const double *base
    ) noexcept
    void lane_difference(double *z, double share, double weight, const double *p) noexcept


def scores(const double[:, ::1] X, const double[:, ::1] W, double[:, ::1] out):
    """out = X W, every row by itself: no row's score depends on the others. out: (n, k)."""
    cdef Py_ssize_t n = X.shape[0], d = X.shape[1], i
    with nogil:
        for i in range(n):
            if i + ROWS_AHEAD < n:
                prefetch_row(&X[i + ROWS_AHEAD, 0], d)
            if W.shape[1] == 1:
                out[i, 0] = dot(&X[i, 0], &W[0, 0], d)
            else:
                score_row(&X[i, 0], W, &out[i, 0])


cdef inline void score_row(const double *x, const double[:, ::1] W, double *out) noexcept nogil:
    """out = x W for several columns."""
    cdef Py_ssize_t d = W.shape[0], k = W.shape[1], c = 0, j
    while c + LANE <= k:
        lane_dot(x, &W[0, c], d, k, out + c)
        c += LANE
    while c < k:
        out[c] = 0
        for j in range(d):
            out[c] += x[j] * W[j, c]
        c += 1


def weighted_rows(const double[:, ::1] X, const double[:, ::1] coefs, double[:, ::1] out,
                  double[:, ::1] partial):
    """out = X' coefs, summed in chunks of rows of fixed length. out, partial: (d, k).

    Rows without a coefficient are left out. The last chunk comes first: a sweep to the end of X
    usually went before, and left it in the cache.
    """
    cdef Py_ssize_t n = X.shape[0], d = X.shape[1], k = coefs.shape[1], chunk, i, j, stop
    with nogil:
        memset(&out[0, 0], 0, d * k * sizeof(double))
        for chunk in range((n - 1) // CHUNK, -1, -1):
            stop = min((chunk + 1) * CHUNK, n)
            memset(&partial[0, 0], 0, d * k * sizeof(double))
            if k == 1:
                add_rows(X, coefs, &partial[0, 0], chunk * CHUNK, stop)
            else:
                for i in range(chunk * CHUNK, stop):
                    add_outer(&partial[0, 0], &X[i, 0], &coefs[i, 0], d, k)
            for j in range(d * k):
                (&out[0, 0])[j] += (&partial[0, 0])[j]


cdef inline Py_ssize_t find_filled(
    const double *coefs, Py_ssize_t count, int32_t *found
) noexcept nogil:
    """found = the places of coefficients other than 0; how many there are. found: (count,).

    If none is 0, found is left as it was.
    """
    cdef Py_ssize_t i, n_found = 0
    for i in range(count):
        n_found += coefs[i] != 0
    if n_found == count:
        return count
    n_found = 0
    for i in range(count):
        # Without a branch, which would be mispredicted.
        found[n_found] = <int32_t>i
        n_found += coefs[i] != 0
    return n_found


cdef inline void add_rows(
    const double[:, ::1] X, const double[:, ::1] coefs, double *total, Py_ssize_t start,
    Py_ssize_t stop
) noexcept nogil:
    """total += sum of coefs[i] X[i], four rows at a time; mostly empty chunks skip empty rows."""
    cdef Py_ssize_t d = X.shape[1], i, j, t, held = 0, n_found
    cdef const double *x[4]
    cdef double c[4]
    cdef int32_t found[CHUNK]
    n_found = find_filled(&coefs[start, 0], stop - start, found)
    if 4 * n_found >= stop - start:
        n_found = stop - start
        for t in range(n_found):
            found[t] = <int32_t>t
    for t in range(n_found):
        i = start + found[t]
        if t + ROWS_AHEAD < n_found:
            prefetch_row(&X[start + found[t + ROWS_AHEAD], 0], d)
        x[held] = &X[i, 0]
        c[held] = coefs[i, 0]
        held += 1
        if held == 4:
            for j in range(d):
                total[j] += (c[0] * x[0][j] + c[1] * x[1][j]) + (c[2] * x[2][j] + c[3] * x[3][j])
            held = 0
    for i in range(held):
        add_scaled(total, c[i], x[i], d)


cdef inline void add_outer(
    double *total, const double *x, const double *q, Py_ssize_t d, Py_ssize_t k
) noexcept nogil:
    """total[j, c] += x[j] q[c]."""
    cdef Py_ssize_t j, c = 0
    while c + LANE <= k:
        lane_add(total + c, x, q + c, d, k)
        c += LANE
    while c < k:
        if q[c] != 0:
            for j in range(d):
                total[j * k + c] += x[j] * q[c]
        c += 1


cdef inline void add_compensated(double *total, double *lost, double term) noexcept nogil:
    """total + lost += term, by Neumaier."""
    cdef double new = total[0] + term
    if fabs(total[0]) >= fabs(term):
        lost[0] += (total[0] - new) + term
    else:
        lost[0] += (term - new) + total[0]
    total[0] = new


def compensated_dot(const double[::1] a, const double[::1] b) -> float:
    """sum_i a_i b_i with Neumaier's correction: the error of summing does not grow with n."""
    cdef Py_ssize_t i
    cdef double total = 0, lost = 0
    with nogil:
        for i in range(a.shape[0]):
            add_compensated(&total, &lost, a[i] * b[i])
    return total + lost


def row_norms(const double[:, ::1] X, double[::1] out):
    """out[i] = ||X[i]||^2."""
    cdef Py_ssize_t i, d = X.shape[1]
    with nogil:
        for i in range(X.shape[0]):
            out[i] = dot(&X[i, 0], &X[i, 0], d)


def scale_rows(const double[:, ::1] X, const double[::1] roots, double[:, ::1] out) -> int:
    """Put roots[i] X[i] into out, row after row, leaving out those with no root; their number."""
    cdef Py_ssize_t n = X.shape[0], d = X.shape[1], i, j, kept = 0
    with nogil:
        for i in range(n):
            if roots[i] == 0:
                continue
            for j in range(d):
                out[kept, j] = roots[i] * X[i, j]
            kept += 1
    return kept


def block_sums(const double[:, ::1] X, const double[::1] coefs, const int64_t[::1] rows,
               const int64_t[::1] sizes, double[:, ::1] out):
    """out[b] = sum of coefs[i] X[i] over the rows of block b, over the root of its size."""
    cdef Py_ssize_t d = X.shape[1], b, t, j, at = 0
    cdef double share
    with nogil:
        for b in range(sizes.shape[0]):
            memset(&out[b, 0], 0, d * sizeof(double))
            for t in range(at, at + sizes[b]):
                add_scaled(&out[b, 0], coefs[rows[t]], &X[rows[t], 0], d)
            at += sizes[b]
            share = 1.0 / sqrt(<double>sizes[b])
            for j in range(d):
                out[b, j] *= share


# Losses of one row: margins z (what the model says), target y or class code.

cdef inline double binary_loss(double z, double y) noexcept nogil:
    """log(1 + e^z) - y z without overflow, for y in {0, 1}."""
    return log1p(exp(-fabs(z))) + ((z if z > 0 else 0.0) - y * z)


cdef inline double sigmoid(double z) noexcept nogil:
    """1 / (1 + e^-z) without overflow."""
    cdef double e = exp(-fabs(z))
    return 1.0 / (1.0 + e) if z >= 0 else e / (1.0 + e)


def squared_losses(const double[::1] z, const double[::1] y, double[::1] out):
    """out = (y - z)^2 / 2."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(z.shape[0]):
            out[i] = 0.5 * (y[i] - z[i]) * (y[i] - z[i])


def squared_slopes(const double[::1] z, const double[::1] y, double[::1] out):
    """out = z - y."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(z.shape[0]):
            out[i] = z[i] - y[i]


def binary_losses(const double[::1] z, const double[::1] y, double[::1] out):
    """out = log(1 + e^z) - y z, y in {0, 1}."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(z.shape[0]):
            out[i] = binary_loss(z[i], y[i])


def binary_slopes(const double[::1] z, const double[::1] y, double[::1] out):
    """out = sigmoid(z) - y, y in {0, 1}, small slopes as exact as large ones."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(z.shape[0]):
            out[i] = -sigmoid(-z[i]) if y[i] > 0.5 else sigmoid(z[i])


def weighted_magnitudes(const double[:, ::1] X, const double[::1] coefs, double[::1] out):
    """out = |X|' |coefs|: times a rounding, what it may do to X' coefs. out: (d,)."""
    cdef Py_ssize_t n = X.shape[0], d = X.shape[1], chunk, first, size, i, j, t, n_found
    cdef int32_t found[CHUNK]
    cdef double c
    with nogil:
        memset(&out[0], 0, d * sizeof(double))
        for chunk in range((n + CHUNK - 1) // CHUNK):
            first = chunk * CHUNK
            size = min(<Py_ssize_t>CHUNK, n - first)
            n_found = find_filled(&coefs[first], size, found)
            for t in range(n_found):
                i = first + (found[t] if n_found < size else t)
                if n_found < size and t + ROWS_AHEAD < n_found:
                    prefetch_row(&X[first + found[t + ROWS_AHEAD], 0], d)
                c = fabs(coefs[i])
                for j in range(d):
                    out[j] += c * fabs(X[i, j])


def mixing_share(const double[::1] ascending, const double[::1] sigma) -> float:
    """The least share of 1/n that must be mixed into lam to bring it into P(sigma).

    lam (sorted, `ascending`) lies there when for every k its k largest entries sum to no more than
    those of sigma. An excess of a few units in the last place of such a sum is left to
    `excess_share`.
    """
    cdef Py_ssize_t n = sigma.shape[0], k
    cdef double excess = 0, lost = 0, above = 0, above_lost = 0, top = 0, share = 0, over
    with nogil:
        for k in range(n - 1, -1, -1):
            # Sums over the entries from k up: lam - sigma, lam - 1/n, lam.
            add_compensated(&excess, &lost, ascending[k] - sigma[k])
            add_compensated(&above, &above_lost, ascending[k] - 1.0 / n)
            top += ascending[k]
            over = excess + lost
            if over > 1e-15 * top:
                share = max(share, min(1.0, over / max(above + above_lost, over)))
    return share


def excess_share(const double[::1] ascending, const double[::1] sigma) -> float:
    """The least e, from above, with: the k largest of lam sum to at most (1 + e) times sigma's k.

    Losses are not negative, so lam . l <= (1 + e) max over P(sigma) of lam . l follows. A
    compensated sum of 2n terms, whose magnitudes add up to 2, is off by at most a rounding of
    itself and 2 (2n u)^2, u = 2^-53.
    """
    cdef Py_ssize_t n = sigma.shape[0], k
    cdef double excess = 0, lost = 0, allowed = 0, share = 0, over
    cdef double rounding = 1e-31 * <double>n * <double>n
    with nogil:
        for k in range(n - 1, -1, -1):
            add_compensated(&excess, &lost, ascending[k])
            add_compensated(&excess, &lost, -sigma[k])
            allowed += sigma[k]
            over = (excess + lost) + rounding
            if over > share * allowed:
                share = 1.000001 * over / allowed
    return share
