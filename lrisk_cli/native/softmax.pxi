# Losses and probabilities of several classes: margins z, one for each class, and class codes.

cdef extern from "native/lanes.h" nogil:
    void exp_all(double *z, Py_ssize_t count) noexcept
    void log1p_all(double *z, Py_ssize_t count) noexcept

cdef enum:
    # Rows whose exponentials are taken together: their margins stay in the nearest cache.
    SOFTMAX_ROWS = 64


cdef inline double multinomial_loss(const double *z, Py_ssize_t k, Py_ssize_t label) noexcept nogil:
    """log sum_c e^(z_c - z_label), the largest margin taken out first."""
    cdef Py_ssize_t c, top = 0
    cdef double rest = 0
    for c in range(1, k):
        if z[c] > z[top]:
            top = c
    for c in range(k):
        if c != top:
            rest += exp(z[c] - z[top])
    return log1p(rest) + (z[top] - z[label])


cdef inline void softmax(const double *z, double *p, Py_ssize_t k) noexcept nogil:
    """p_c = e^(z_c) / sum e^z."""
    cdef Py_ssize_t c
    cdef double top = z[0], total = 0
    for c in range(1, k):
        if z[c] > top:
            top = z[c]
    for c in range(k):
        p[c] = exp(z[c] - top)
        total += p[c]
    for c in range(k):
        p[c] /= total


cdef inline void exp_rows(
    const double *z, double *e, Py_ssize_t rows, Py_ssize_t k, Py_ssize_t *tops, double *rests
) noexcept nogil:
    """e[i, c] = e^(z[i, c] - largest of row i), which stands in column tops[i] and gives 1.

    rests[i] is the sum of the others.
    """
    cdef Py_ssize_t i, c, top
    for i in range(rows):
        top = 0
        for c in range(1, k):
            top = c if z[i * k + c] > z[i * k + top] else top
        tops[i] = top
        for c in range(k):
            e[i * k + c] = z[i * k + c] - z[i * k + top]
    exp_all(e, rows * k)
    for i in range(rows):
        rests[i] = 0
        for c in range(k):
            rests[i] += e[i * k + c] if c != tops[i] else 0.0


def softmax_rows(const double[:, ::1] z, double[:, ::1] out):
    """out_i = softmax(z_i)."""
    cdef Py_ssize_t n = z.shape[0], k = z.shape[1], chunk, start, rows, i, c
    cdef Py_ssize_t tops[SOFTMAX_ROWS]
    cdef double rests[SOFTMAX_ROWS]
    with nogil:
        for chunk in range((n + SOFTMAX_ROWS - 1) // SOFTMAX_ROWS):
            start = chunk * SOFTMAX_ROWS
            rows = min(SOFTMAX_ROWS, n - start)
            exp_rows(&z[start, 0], &out[start, 0], rows, k, tops, rests)
            for i in range(rows):
                for c in range(k):
                    out[start + i, c] /= 1.0 + rests[i]


def multinomial_pass(const double[:, ::1] z, const int32_t[::1] labels, double[::1] losses,
                     double[:, ::1] slopes):
    """losses_i = -log softmax(z_i)[label_i], slopes_i = softmax(z_i) - e_(label_i).

    Small losses and slopes are as exact as large ones.
    """
    cdef Py_ssize_t n = z.shape[0], k = z.shape[1], chunk, start, rows, i, c, label
    cdef Py_ssize_t tops[SOFTMAX_ROWS]
    cdef double others, share
    with nogil:
        for chunk in range((n + SOFTMAX_ROWS - 1) // SOFTMAX_ROWS):
            start = chunk * SOFTMAX_ROWS
            rows = min(SOFTMAX_ROWS, n - start)
            exp_rows(&z[start, 0], &slopes[start, 0], rows, k, tops, &losses[start])
            for i in range(start, start + rows):
                label = labels[i]
                # Of all but the label's: at least 1 where that is not the largest.
                others = losses[i]
                if tops[i - start] != label:
                    others = 1.0 + (losses[i] - slopes[i, label])
                share = 1.0 / (1.0 + losses[i])
                for c in range(k):
                    slopes[i, c] *= share
                slopes[i, label] = -others * share
            log1p_all(&losses[start], rows)
            for i in range(start, start + rows):
                losses[i] += z[i, tops[i - start]] - z[i, labels[i]]
