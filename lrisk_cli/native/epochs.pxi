# Stochastic epochs of LSVRG in lazy form. Random numbers: xoshiro256+, whose four words of state
# the caller owns.

cdef inline uint64_t next_random(uint64_t *s) noexcept nogil:
    cdef uint64_t result = s[0] + s[3], t = s[1] << 17
    s[2] ^= s[0]
    s[3] ^= s[1]
    s[1] ^= s[2]
    s[0] ^= s[3]
    s[2] ^= t
    s[3] = (s[3] << 45) | (s[3] >> 19)
    return result


cdef inline uint32_t random_below(uint64_t *s, uint32_t n) noexcept nogil:
    """A whole number in [0, n), by multiplication (bias below n / 2^32)."""
    return <uint32_t>(((next_random(s) >> 32) * <uint64_t>n) >> 32)


def draw_uniform_rows(Py_ssize_t n, uint64_t[::1] rng, int32_t[::1] rows):
    """Fill rows with independent draws from 0..n-1."""
    cdef Py_ssize_t t
    with nogil:
        for t in range(rows.shape[0]):
            rows[t] = random_below(&rng[0], <uint32_t>n)


def prepare_draws(const double[::1] lam, double[::1] keep, int32_t[::1] other,
                  int32_t[::1] work):
    """The alias table of lam: a row i drawn evenly stays with chance keep[i], else is other[i].

    Rows with less than the average weight hand their spare chance to one with more.
    """
    cdef Py_ssize_t n = lam.shape[0], i, low = 0, high = n, is_low
    cdef double total = 0
    cdef int32_t small, large
    with nogil:
        for i in range(n):
            total += lam[i]
        # work[:low] holds rows below the average, work[high:] the others.
        for i in range(n):
            keep[i] = lam[i] * (n / total)
            other[i] = i
            # Written at both ends, counted at one: no branch to mispredict.
            work[low] = i
            work[high - 1] = i
            is_low = keep[i] < 1.0
            low += is_low
            high -= 1 - is_low
        while low > 0 and high < n:
            small, large = work[low - 1], work[high]
            other[small] = large
            keep[large] -= 1.0 - keep[small]
            low -= 1
            if keep[large] < 1.0:
                high += 1
                work[low] = large
                low += 1
        # What is left is 1 up to rounding.
        for i in range(low):
            keep[work[i]] = 1.0


cdef inline int32_t draw_by_table(
    const double *keep, const int32_t *other, Py_ssize_t n, uint64_t *rng
) noexcept nogil:
    """A row by the table of `prepare_draws`."""
    # The upper half of a random word picks a row, the lower half whether it stays.
    cdef uint64_t word = next_random(rng)
    cdef int32_t row = <int32_t>(((word >> 32) * <uint64_t>n) >> 32)
    cdef int32_t stays = <uint32_t>word < 4294967296.0 * keep[row]
    return other[row] + stays * (row - other[row])


def draw_weighted_rows(const double[::1] keep, const int32_t[::1] other, uint64_t[::1] rng,
                       int32_t[::1] rows):
    """Fill rows with independent draws, row i with probability lam_i (see prepare_draws)."""
    cdef Py_ssize_t n = keep.shape[0], t
    with nogil:
        for t in range(rows.shape[0]):
            rows[t] = draw_by_table(&keep[0], &other[0], n, &rng[0])


# LSVRG. Between checkpoints W = Wbar + delta with delta = s V - b G, where G is the full gradient
# at the checkpoint (penalty included). A step W <- (1 - eta mu) W - eta v then changes the scalars
# s, b and adds one multiple of x to V: the dense part of the step is never written out.
# scalars = (s, b) enters as (1, 0) after a checkpoint, with V = 0.

cdef inline void settle(double *V, double *s, Py_ssize_t size) noexcept nogil:
    """Move the scale s into V before it underflows."""
    cdef Py_ssize_t j
    for j in range(size):
        V[j] *= s[0]
    s[0] = 1.0


# Rows that are numbers beside codes have V, G and W in slots (native/mixed.pxi), the last of which
# stands for no code and stays 0. X holds the numbers; there are no codes if X is all there is.

cdef struct CodeRows:
    const int32_t *codes
    Py_ssize_t c
    # Where the slots of the codes begin, and how many slots there are.
    Py_ssize_t first
    Py_ssize_t slots


cdef CodeRows code_rows(const int32_t[:, ::1] codes, Py_ssize_t first, Py_ssize_t slots):
    if codes is None or codes.shape[1] == 0:
        return CodeRows(NULL, 0, first, slots)
    return CodeRows(&codes[0, 0], codes.shape[1], first, slots)


cdef inline void prefetch_parts(const double *x, Py_ssize_t p, CodeRows *of,
                                Py_ssize_t i) noexcept nogil:
    """Fetch row i, x its numbers."""
    prefetch_row(x, p)
    if of.c:
        prefetch_codes(of.codes + i * of.c, of.c)


cdef inline double difference_of_parts(
    const double *x, Py_ssize_t p, CodeRows *of, Py_ssize_t i, const double *v, const double *g,
    double ratio
) noexcept nogil:
    """ratio (x_i . g) - x_i . v."""
    cdef double total = dot_difference(x, v, g, ratio, p)
    cdef const int32_t *codes
    if of.c == 0:
        return total
    codes = of.codes + i * of.c
    return total + (ratio * code_sum(g + p, codes, of.c) - code_sum(v + p, codes, of.c))


cdef inline void add_parts(
    double *v, double a, const double *x, Py_ssize_t p, CodeRows *of, Py_ssize_t i
) noexcept nogil:
    """v += a x_i."""
    cdef Py_ssize_t j
    add_scaled(v, a, x, p)
    if of.c:
        for j in range(of.c):
            v[p + of.codes[i * of.c + j]] += a
        v[of.slots - 1] = 0.0


cdef inline void lane_codes(
    CodeRows *of, Py_ssize_t i, const double *W, Py_ssize_t width, double *z
) noexcept nogil:
    """z += what the codes of row i give, for eight outputs."""
    cdef Py_ssize_t j, o
    cdef const double *row
    for j in range(of.c):
        row = W + (of.first + of.codes[i * of.c + j]) * width
        for o in range(LANE):
            z[o] += row[o]


cdef inline void lane_add_codes(
    CodeRows *of, Py_ssize_t i, double *W, Py_ssize_t width, const double *q
) noexcept nogil:
    """W += x_i' q for the codes of row i and eight outputs."""
    cdef Py_ssize_t j, o
    cdef double *row
    for j in range(of.c):
        row = W + (of.first + of.codes[i * of.c + j]) * width
        for o in range(LANE):
            row[o] += q[o]
    memset(W + (of.slots - 1) * width, 0, LANE * sizeof(double))


# factors[i] is step c_i, c_i being n lam_i, or 1 for rows drawn by lam: then one factor serves all.

def lsvrg_squared_steps(const double[:, ::1] X, const double[::1] factors, const double[::1] G,
                        double[::1] V, double[::1] scalars, double step, double l2,
                        const int32_t[::1] rows, const int32_t[:, ::1] codes=None):
    """Steps of LSVRG on squared losses, one for each entry of rows."""
    cdef Py_ssize_t d = X.shape[1], n_steps = rows.shape[0], t, i
    cdef Py_ssize_t stride = factors.shape[0] > 1
    cdef CodeRows of = code_rows(codes, d, V.shape[0])
    cdef double s = scalars[0], rho = 1.0 - step * l2, shrink = 1.0 / rho
    # upscale = 1/s and ratio = b/s are kept up without divisions.
    cdef double upscale = 1.0 / s, ratio = scalars[1] / s, factor, c
    with nogil:
        for t in range(n_steps):
            if t + 2 < n_steps:
                prefetch_parts(&X[rows[t + 2], 0], d, &of, rows[t + 2])
            i = rows[t]
            factor = factors[i * stride]
            if factor != 0:
                c = difference_of_parts(&X[i, 0], d, &of, i, &V[0], &G[0], ratio)
                add_parts(&V[0], (factor * shrink) * c, &X[i, 0], d, &of, i)
            s *= rho
            upscale *= shrink
            ratio += step * upscale
            if s < 1e-100:
                ratio *= s
                settle(&V[0], &s, of.slots)
                upscale = 1.0
    scalars[0] = s
    scalars[1] = ratio * s


def lsvrg_binary_steps(const double[:, ::1] X, const double[::1] factors,
                       const double[:, ::1] records, const double[::1] G, double[::1] V,
                       double[::1] scalars, double step, double l2, const int32_t[::1] rows,
                       const int32_t[:, ::1] codes=None):
    """Steps of LSVRG on two-class logistic losses; records[i] = (x_i . wbar, its sigmoid)."""
    cdef Py_ssize_t d = X.shape[1], n_steps = rows.shape[0], t, i
    cdef Py_ssize_t stride = factors.shape[0] > 1
    cdef CodeRows of = code_rows(codes, d, V.shape[0])
    cdef double s = scalars[0], b = scalars[1], rho = 1.0 - step * l2, shrink = 1.0 / rho
    cdef double upscale = 1.0 / s, factor, z, change
    with nogil:
        for t in range(n_steps):
            if t + 2 < n_steps:
                lrisk_prefetch(&records[rows[t + 2], 0])
                prefetch_parts(&X[rows[t + 2], 0], d, &of, rows[t + 2])
            i = rows[t]
            upscale *= shrink
            factor = factors[i * stride]
            if factor != 0:
                z = records[i, 0] - s * difference_of_parts(
                    &X[i, 0], d, &of, i, &V[0], &G[0], b / s
                )
                change = records[i, 1] - sigmoid(z)
                add_parts(&V[0], (factor * upscale) * change, &X[i, 0], d, &of, i)
            s *= rho
            b = rho * b + step
            if s < 1e-100:
                settle(&V[0], &s, of.slots)
                upscale = 1.0
    scalars[0] = s
    scalars[1] = b


def lsvrg_margin_steps(const double[:, ::1] X, int loss, double parameter,
                       const double[:, ::1] y, const double[::1] factors,
                       const double[:, ::1] records, const double[::1] G, double[::1] V,
                       double[::1] scalars, double step, double l2, const int32_t[::1] rows,
                       const int32_t[:, ::1] codes=None):
    """Steps of LSVRG on any loss of one margin; records[i] = (x_i . wbar, the derivative there)."""
    cdef Py_ssize_t d = X.shape[1], n_steps = rows.shape[0], t, i
    cdef Py_ssize_t stride = factors.shape[0] > 1
    cdef CodeRows of = code_rows(codes, d, V.shape[0])
    cdef double s = scalars[0], b = scalars[1], rho = 1.0 - step * l2, shrink = 1.0 / rho
    cdef double upscale = 1.0 / s, factor, z, change
    with nogil:
        for t in range(n_steps):
            if t + 2 < n_steps:
                prefetch_parts(&X[rows[t + 2], 0], d, &of, rows[t + 2])
            i = rows[t]
            upscale *= shrink
            factor = factors[i * stride]
            if factor != 0:
                z = records[i, 0] - s * difference_of_parts(
                    &X[i, 0], d, &of, i, &V[0], &G[0], b / s
                )
                change = records[i, 1] - margin_derivative(loss, parameter, z, &y[i, 0])
                add_parts(&V[0], (factor * upscale) * change, &X[i, 0], d, &of, i)
            s *= rho
            b = rho * b + step
            if s < 1e-100:
                settle(&V[0], &s, of.slots)
                upscale = 1.0
    scalars[0] = s
    scalars[1] = b


def lsvrg_multinomial_steps(const double[:, ::1] X, const double[::1] factors,
                            const double[:, :, ::1] records, const double[:, ::1] G,
                            double[:, ::1] V, double[::1] scalars, double step, double l2,
                            const int32_t[::1] rows, double[:, ::1] z,
                            const int32_t[:, ::1] codes=None):
    """Steps of LSVRG on multinomial losses; G, V (d, width), width a multiple of 8.

    records[i] = (x_i Wbar, softmax(x_i Wbar)), each padded to width; z: (2, width) scratch.
    """
    cdef Py_ssize_t d = X.shape[1], width = V.shape[1], n_steps = rows.shape[0], t, i, c
    cdef Py_ssize_t stride = factors.shape[0] > 1, lane
    cdef CodeRows of = code_rows(codes, d, V.shape[0])
    cdef double s = scalars[0], b = scalars[1], rho = 1.0 - step * l2, shrink = 1.0 / rho
    cdef double upscale = 1.0 / s, weight, top, total
    with nogil:
        for t in range(n_steps):
            if t + 2 < n_steps:
                prefetch_row(&records[rows[t + 2], 0, 0], 2 * width)
                prefetch_parts(&X[rows[t + 2], 0], d, &of, rows[t + 2])
            i = rows[t]
            upscale *= shrink
            weight = factors[i * stride] * upscale
            if weight != 0:
                top = -INFINITY
                for lane in range(width // LANE):
                    c = lane * LANE
                    lane_dot(&X[i, 0], &V[0, c], d, width, &z[0, c])
                    lane_dot(&X[i, 0], &G[0, c], d, width, &z[1, c])
                    if of.c:
                        lane_codes(&of, i, &V[0, c], width, &z[0, c])
                        lane_codes(&of, i, &G[0, c], width, &z[1, c])
                    top = max(top, lane_margins(&z[0, c], s, b, &z[1, c], &records[i, 0, c]))
                total = 0
                for lane in range(width // LANE):
                    total += lane_exp(&z[0, lane * LANE], top)
                for lane in range(width // LANE):
                    c = lane * LANE
                    lane_difference(&z[0, c], weight / total, weight, &records[i, 1, c])
                    lane_add(&V[0, c], &X[i, 0], &z[0, c], d, width)
                    if of.c:
                        lane_add_codes(&of, i, &V[0, c], width, &z[0, c])
            s *= rho
            b = rho * b + step
            if s < 1e-100:
                settle(&V[0, 0], &s, of.slots * width)
                upscale = 1.0
    scalars[0] = s
    scalars[1] = b


def yardstick_steps(const double[:, ::1] X, double[::1] v, double factor, const int32_t[::1] rows):
    """The least a step can do, to measure the others by: v -= factor (x_i . v) x_i, row by row."""
    cdef Py_ssize_t d = X.shape[1], n_steps = rows.shape[0], t
    with nogil:
        for t in range(n_steps):
            if t + 2 < n_steps:
                prefetch_row(&X[rows[t + 2], 0], d)
            add_scaled(&v[0], -factor * dot(&X[rows[t], 0], &v[0], d), &X[rows[t], 0], d)
