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


cdef inline void batch_margins(
    Batch *batch, CodeRows *of, Py_ssize_t b, const double *x, const double *W
) noexcept nogil:
    """Margins of the b-th row of the batch, x its numbers."""
    cdef const int32_t *codes = of.codes + batch.pool[b] * of.c
    cdef const double *levels = W + batch.d * batch.k
    cdef Py_ssize_t j, c
    cdef double total
    if batch.k == 1:
        batch.margins[b] = dot(x, W, batch.d)
        if of.c:
            batch.margins[b] += code_sum(levels, codes, of.c)
        return
    for c in range(batch.k):
        total = 0
        for j in range(batch.d):
            total += x[j] * W[j * batch.k + c]
        for j in range(of.c):
            total += levels[codes[j] * batch.k + c]
        batch.margins[b * batch.k + c] = total


cdef inline void add_batch_row(
    Batch *batch, CodeRows *of, Py_ssize_t b, const double *x, double *gradient
) noexcept nogil:
    """gradient += x' q, q what stands in place of the margins of the b-th row."""
    cdef const double *q = batch.margins + b * batch.k
    cdef const int32_t *codes = of.codes + batch.pool[b] * of.c
    cdef double *levels = gradient + batch.d * batch.k
    cdef Py_ssize_t j, c
    add_outer(gradient, x, q, batch.d, batch.k)
    for j in range(of.c):
        for c in range(batch.k):
            levels[codes[j] * batch.k + c] += q[c]


cdef void batch_subgradient(
    Batch *batch, const double[:, ::1] X, CodeRows *of, const double *y, const int32_t *labels,
    const double[::1] sigma, const double *W, double *gradient
) noexcept nogil:
    """gradient += sum_j sigma_j grad l_(j)(W) over the batch at the front of the pool."""
    cdef Py_ssize_t b, j
    for b in range(batch.m):
        batch_margins(batch, of, b, &X[batch.pool[b], 0], W)
        batch.losses[b] = row_loss(batch, b, y, labels)
    sort_batch(batch)
    for j in range(batch.m):
        b = batch.order[j]
        if sigma[j] != 0:
            margins_to_slopes(batch, b, sigma[j], y, labels)
            add_batch_row(batch, of, b, &X[batch.pool[b], 0], gradient)
    if of.c:
        memset(gradient + (of.slots - 1) * batch.k, 0, batch.k * sizeof(double))


def sgd_steps(int loss, const double[:, ::1] X, const double[::1] y, const int32_t[::1] labels,
              const double[::1] sigma, double[:, ::1] W, double[:, ::1] average, double step,
              double delay, double l2, Py_ssize_t first, Py_ssize_t n_steps, uint64_t[::1] rng,
              int32_t[::1] pool, double[:, ::1] margins, double[::1] losses,
              int32_t[::1] order, double[:, ::1] gradient, double parameter=0.0,
              const double[::1] keep=None, const int32_t[::1] other=None,
              const int32_t[:, ::1] codes=None):
    """Subgradient steps W <- (1 - eta mu) W - eta v of batches, and the running mean of W.

    eta = step, or 1 / (mu (t + delay)) at step t (from first on) when step is 0. y or labels may be
    empty, as the loss needs the other; parameter: that of the loss, if it has one. keep, other: the
    table to draw rows by (see prepare_draws), if any.
    """
    cdef Py_ssize_t size = W.shape[0] * W.shape[1], t, j
    cdef double eta
    cdef Batch batch = Batch(loss, parameter, y.shape[0] // X.shape[0], X.shape[1], W.shape[1],
                             sigma.shape[0], &margins[0, 0], &losses[0], &order[0], &pool[0],
                             NULL, NULL)
    cdef CodeRows of = code_rows(codes, X.shape[1], W.shape[0])
    cdef const double *targets = &y[0] if y.shape[0] > 0 else NULL
    cdef const int32_t *classes = &labels[0] if labels.shape[0] > 0 else NULL
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
            batch_subgradient(&batch, X, &of, targets, classes, sigma, w, g)
            for j in range(size):
                mean[j] += (w[j] - mean[j]) / t
                w[j] = (1.0 - eta * l2) * w[j] - eta * g[j]


def srda_steps(int loss, const double[:, ::1] X, const double[::1] y, const int32_t[::1] labels,
               const double[::1] sigma, double[:, ::1] W, double[:, ::1] gradient_sum,
               double step, double l2, Py_ssize_t first, Py_ssize_t n_steps,
               uint64_t[::1] rng, int32_t[::1] pool, double[:, ::1] margins,
               double[::1] losses, int32_t[::1] order, double parameter=0.0,
               const double[::1] keep=None, const int32_t[::1] other=None,
               const int32_t[:, ::1] codes=None):
    """Regularised dual averaging: after t steps W = -gradient_sum / (mu t + 1/step)."""
    cdef Py_ssize_t size = W.shape[0] * W.shape[1], t, j
    cdef double factor
    cdef Batch batch = Batch(loss, parameter, y.shape[0] // X.shape[0], X.shape[1], W.shape[1],
                             sigma.shape[0], &margins[0, 0], &losses[0], &order[0], &pool[0],
                             NULL, NULL)
    cdef CodeRows of = code_rows(codes, X.shape[1], W.shape[0])
    cdef const double *targets = &y[0] if y.shape[0] > 0 else NULL
    cdef const int32_t *classes = &labels[0] if labels.shape[0] > 0 else NULL
    if keep is not None and other is not None:
        batch.keep = &keep[0]
        batch.other = &other[0]
    cdef double *w = &W[0, 0]
    cdef double *total = &gradient_sum[0, 0]
    with nogil:
        for t in range(first, first + n_steps):
            draw_batch(&batch, &rng[0], X.shape[0])
            batch_subgradient(&batch, X, &of, targets, classes, sigma, w, total)
            factor = -1.0 / (l2 * t + 1.0 / step)
            for j in range(size):
                w[j] = factor * total[j]
