# Stochastic epochs: LSVRG in lazy form, minibatch SGD, SRDA. Random numbers: xoshiro256+, whose
# four words of state the caller owns.

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


# factors[i] is step c_i, c_i being n lam_i, or 1 for rows drawn by lam: then one factor serves all.

def lsvrg_squared_steps(const double[:, ::1] X, const double[::1] factors, const double[::1] G,
                        double[::1] V, double[::1] scalars, double step, double l2,
                        const int32_t[::1] rows):
    """Steps of LSVRG on squared losses, one for each entry of rows."""
    cdef Py_ssize_t d = X.shape[1], n_steps = rows.shape[0], t, i
    cdef Py_ssize_t stride = factors.shape[0] > 1
    cdef double s = scalars[0], rho = 1.0 - step * l2, shrink = 1.0 / rho
    # upscale = 1/s and ratio = b/s are kept up without divisions.
    cdef double upscale = 1.0 / s, ratio = scalars[1] / s, factor, c
    with nogil:
        for t in range(n_steps):
            if t + 2 < n_steps:
                prefetch_row(&X[rows[t + 2], 0], d)
            i = rows[t]
            factor = factors[i * stride]
            if factor != 0:
                c = dot_difference(&X[i, 0], &V[0], &G[0], ratio, d)
                add_scaled(&V[0], (factor * shrink) * c, &X[i, 0], d)
            s *= rho
            upscale *= shrink
            ratio += step * upscale
            if s < 1e-100:
                ratio *= s
                settle(&V[0], &s, d)
                upscale = 1.0
    scalars[0] = s
    scalars[1] = ratio * s


def lsvrg_binary_steps(const double[:, ::1] X, const double[::1] factors,
                       const double[:, ::1] records, const double[::1] G, double[::1] V,
                       double[::1] scalars, double step, double l2, const int32_t[::1] rows):
    """Steps of LSVRG on two-class logistic losses; records[i] = (x_i . wbar, its sigmoid)."""
    cdef Py_ssize_t d = X.shape[1], n_steps = rows.shape[0], t, i
    cdef Py_ssize_t stride = factors.shape[0] > 1
    cdef double s = scalars[0], b = scalars[1], rho = 1.0 - step * l2, shrink = 1.0 / rho
    cdef double upscale = 1.0 / s, factor, z
    with nogil:
        for t in range(n_steps):
            if t + 2 < n_steps:
                lrisk_prefetch(&records[rows[t + 2], 0])
                prefetch_row(&X[rows[t + 2], 0], d)
            i = rows[t]
            upscale *= shrink
            factor = factors[i * stride]
            if factor != 0:
                z = records[i, 0] - s * dot_difference(&X[i, 0], &V[0], &G[0], b / s, d)
                add_scaled(&V[0], (factor * upscale) * (records[i, 1] - sigmoid(z)), &X[i, 0], d)
            s *= rho
            b = rho * b + step
            if s < 1e-100:
                settle(&V[0], &s, d)
                upscale = 1.0
    scalars[0] = s
    scalars[1] = b


def lsvrg_margin_steps(const double[:, ::1] X, int loss, double parameter,
                       const double[:, ::1] y, const double[::1] factors,
                       const double[:, ::1] records, const double[::1] G, double[::1] V,
                       double[::1] scalars, double step, double l2, const int32_t[::1] rows):
    """Steps of LSVRG on any loss of one margin; records[i] = (x_i . wbar, the derivative there)."""
    cdef Py_ssize_t d = X.shape[1], n_steps = rows.shape[0], t, i
    cdef Py_ssize_t stride = factors.shape[0] > 1
    cdef double s = scalars[0], b = scalars[1], rho = 1.0 - step * l2, shrink = 1.0 / rho
    cdef double upscale = 1.0 / s, factor, z, change
    with nogil:
        for t in range(n_steps):
            if t + 2 < n_steps:
                prefetch_row(&X[rows[t + 2], 0], d)
            i = rows[t]
            upscale *= shrink
            factor = factors[i * stride]
            if factor != 0:
                z = records[i, 0] - s * dot_difference(&X[i, 0], &V[0], &G[0], b / s, d)
                change = records[i, 1] - margin_derivative(loss, parameter, z, &y[i, 0])
                add_scaled(&V[0], (factor * upscale) * change, &X[i, 0], d)
            s *= rho
            b = rho * b + step
            if s < 1e-100:
                settle(&V[0], &s, d)
                upscale = 1.0
    scalars[0] = s
    scalars[1] = b


def lsvrg_multinomial_steps(const double[:, ::1] X, const double[::1] factors,
                            const double[:, :, ::1] records, const double[:, ::1] G,
                            double[:, ::1] V, double[::1] scalars, double step, double l2,
                            const int32_t[::1] rows, double[:, ::1] z):
    """Steps of LSVRG on multinomial losses; G, V (d, width), width a multiple of 8.

    records[i] = (x_i Wbar, softmax(x_i Wbar)), each padded to width; z: (2, width) scratch.
    """
    cdef Py_ssize_t d = X.shape[1], width = V.shape[1], n_steps = rows.shape[0], t, i, c
    cdef Py_ssize_t stride = factors.shape[0] > 1, lane
    cdef double s = scalars[0], b = scalars[1], rho = 1.0 - step * l2, shrink = 1.0 / rho
    cdef double upscale = 1.0 / s, weight, top, total
    with nogil:
        for t in range(n_steps):
            if t + 2 < n_steps:
                prefetch_row(&records[rows[t + 2], 0, 0], 2 * width)
                prefetch_row(&X[rows[t + 2], 0], d)
            i = rows[t]
            upscale *= shrink
            weight = factors[i * stride] * upscale
            if weight != 0:
                top = -INFINITY
                for lane in range(width // LANE):
                    c = lane * LANE
                    lane_dot(&X[i, 0], &V[0, c], d, width, &z[0, c])
                    lane_dot(&X[i, 0], &G[0, c], d, width, &z[1, c])
                    top = max(top, lane_margins(&z[0, c], s, b, &z[1, c], &records[i, 0, c]))
                total = 0
                for lane in range(width // LANE):
                    total += lane_exp(&z[0, lane * LANE], top)
                for lane in range(width // LANE):
                    c = lane * LANE
                    lane_difference(&z[0, c], weight / total, weight, &records[i, 1, c])
                    lane_add(&V[0, c], &X[i, 0], &z[0, c], d, width)
            s *= rho
            b = rho * b + step
            if s < 1e-100:
                settle(&V[0, 0], &s, d * width)
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


# Minibatch methods: m rows without replacement, weighed by the spectrum of m bins; where rows have
# masses, m independent draws in proportion to these.

# Where a target takes several numbers, those of row i begin at i * width.

cdef struct Batch:
    int loss
    double parameter
    Py_ssize_t width
    Py_ssize_t d
    Py_ssize_t k
    Py_ssize_t m
    double *margins
    double *losses
    int32_t *order
    int32_t *pool
    const double *keep
    const int32_t *other


cdef inline void draw_batch(Batch *batch, uint64_t *rng, Py_ssize_t n) noexcept nogil:
    """Put m rows, drawn without replacement or by the table, at the front of the pool."""
    cdef Py_ssize_t t, other
    cdef int32_t kept
    if batch.keep != NULL:
        for t in range(batch.m):
            batch.pool[t] = draw_by_table(batch.keep, batch.other, n, rng)
        return
    for t in range(batch.m):
        other = t + random_below(rng, <uint32_t>(n - t))
        kept = batch.pool[t]
        batch.pool[t] = batch.pool[other]
        batch.pool[other] = kept


cdef inline double row_loss(
    Batch *batch, Py_ssize_t b, const double *y, const int32_t *labels
) noexcept nogil:
    """Loss of the b-th row of the batch from its margins."""
    cdef int32_t i = batch.pool[b]
    cdef double *z = batch.margins + b * batch.k
    if batch.loss == MULTINOMIAL:
        return multinomial_loss(z, batch.k, labels[i])
    return margin_loss(batch.loss, batch.parameter, z[0], y + i * batch.width)


cdef inline void margins_to_slopes(
    Batch *batch, Py_ssize_t b, double weight, const double *y, const int32_t *labels
) noexcept nogil:
    """Margins of the b-th row <- weight times the slope of its loss."""
    cdef int32_t i = batch.pool[b]
    cdef double *z = batch.margins + b * batch.k
    cdef Py_ssize_t c
    if batch.loss == MULTINOMIAL:
        softmax(z, z, batch.k)
        z[labels[i]] -= 1.0
        for c in range(batch.k):
            z[c] *= weight
        return
    z[0] = weight * margin_derivative(batch.loss, batch.parameter, z[0], y + i * batch.width)


cdef inline void sort_batch(Batch *batch) noexcept nogil:
    """order <- positions of the batch by ascending loss (insertion: batches are small)."""
    cdef Py_ssize_t b, at
    for b in range(batch.m):
        at = b
        while at > 0 and batch.losses[batch.order[at - 1]] > batch.losses[b]:
            batch.order[at] = batch.order[at - 1]
            at -= 1
        batch.order[at] = b


cdef void batch_subgradient(
    Batch *batch, const double[:, ::1] X, const double *y, const int32_t *labels,
    const double[::1] sigma, const double *W, double *gradient
) noexcept nogil:
    """gradient += sum_j sigma_j grad l_(j)(W) over the batch at the front of the pool."""
    cdef Py_ssize_t b, j, c
    cdef const double *x
    cdef double total
    for b in range(batch.m):
        x = &X[batch.pool[b], 0]
        if batch.k == 1:
            batch.margins[b] = dot(x, W, batch.d)
        else:
            for c in range(batch.k):
                total = 0
                for j in range(batch.d):
                    total += x[j] * W[j * batch.k + c]
                batch.margins[b * batch.k + c] = total
        batch.losses[b] = row_loss(batch, b, y, labels)
    sort_batch(batch)
    for j in range(batch.m):
        b = batch.order[j]
        if sigma[j] != 0:
            margins_to_slopes(batch, b, sigma[j], y, labels)
            add_outer(gradient, &X[batch.pool[b], 0], batch.margins + b * batch.k,
                      batch.d, batch.k)


def sgd_steps(int loss, const double[:, ::1] X, const double[::1] y, const int32_t[::1] labels,
              const double[::1] sigma, double[:, ::1] W, double[:, ::1] average, double step,
              double delay, double l2, Py_ssize_t first, Py_ssize_t n_steps, uint64_t[::1] rng,
              int32_t[::1] pool, double[:, ::1] margins, double[::1] losses,
              int32_t[::1] order, double[:, ::1] gradient, double parameter=0.0,
              const double[::1] keep=None, const int32_t[::1] other=None):
    """Subgradient steps W <- (1 - eta mu) W - eta v of batches, and the running mean of W.

    eta = step, or 1 / (mu (t + delay)) at step t (from first on) when step is 0. y or labels may be
    empty, as the loss needs the other; parameter: that of the loss, if it has one. keep, other: the
    table to draw rows by (see prepare_draws), if any.
    """
    cdef Py_ssize_t size = W.shape[0] * W.shape[1], t, j
    cdef double eta
    cdef Batch batch = Batch(loss, parameter, y.shape[0] // X.shape[0], W.shape[0], W.shape[1],
                             sigma.shape[0], &margins[0, 0], &losses[0], &order[0], &pool[0],
                             NULL, NULL)
    cdef const double *targets = &y[0] if y.shape[0] > 0 else NULL
    cdef const int32_t *codes = &labels[0] if labels.shape[0] > 0 else NULL
    if keep is not None and other is not None:
        batch.keep = &keep[0]
        batch.other = &other[0]
    cdef double *w = &W[0, 0]
    cdef double *mean = &average[0, 0]
    cdef double *g = &gradient[0, 0]
    with nogil:
        for t in range(first, first + n_steps):
            eta = step if step > 0 else 1.0 / (l2 * (t + delay))
            draw_batch(&batch, &rng[0], X.shape[0])
            memset(g, 0, size * sizeof(double))
            batch_subgradient(&batch, X, targets, codes, sigma, w, g)
            for j in range(size):
                mean[j] += (w[j] - mean[j]) / t
                w[j] = (1.0 - eta * l2) * w[j] - eta * g[j]


def srda_steps(int loss, const double[:, ::1] X, const double[::1] y, const int32_t[::1] labels,
               const double[::1] sigma, double[:, ::1] W, double[:, ::1] gradient_sum,
               double step, double l2, Py_ssize_t first, Py_ssize_t n_steps,
               uint64_t[::1] rng, int32_t[::1] pool, double[:, ::1] margins,
               double[::1] losses, int32_t[::1] order, double parameter=0.0,
               const double[::1] keep=None, const int32_t[::1] other=None):
    """Regularised dual averaging: after t steps W = -gradient_sum / (mu t + 1/step)."""
    cdef Py_ssize_t size = W.shape[0] * W.shape[1], t, j
    cdef double factor
    cdef Batch batch = Batch(loss, parameter, y.shape[0] // X.shape[0], W.shape[0], W.shape[1],
                             sigma.shape[0], &margins[0, 0], &losses[0], &order[0], &pool[0],
                             NULL, NULL)
    cdef const double *targets = &y[0] if y.shape[0] > 0 else NULL
    cdef const int32_t *codes = &labels[0] if labels.shape[0] > 0 else NULL
    if keep is not None and other is not None:
        batch.keep = &keep[0]
        batch.other = &other[0]
    cdef double *w = &W[0, 0]
    cdef double *total = &gradient_sum[0, 0]
    with nogil:
        for t in range(first, first + n_steps):
            draw_batch(&batch, &rng[0], X.shape[0])
            batch_subgradient(&batch, X, targets, codes, sigma, w, total)
            factor = -1.0 / (l2 * t + 1.0 / step)
            for j in range(size):
                w[j] = factor * total[j]
