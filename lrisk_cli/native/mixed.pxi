# Rows of numbers beside codes: X (n, d) is D (n, p), some of its columns, and codes (n, c), each of
# which is a column of X with a 1, or d for none. Coefficients are spread to p + d + 1 slots: those
# of the numbers, of all columns, and of none (rows/mixed.py).

cdef enum:
    # Outputs that are worked on together.
    SOME = 4


cdef extern from "native/codes.h" nogil:
    double code_sum(const double *v, const int32_t *codes, Py_ssize_t c) noexcept
    void four_scores(
        const double *x, Py_ssize_t p, const int32_t *codes, Py_ssize_t c, const double *W,
        Py_ssize_t width, double *z
    ) noexcept
    void four_add(
        double *total, Py_ssize_t width, const double *x, Py_ssize_t p, const int32_t *codes,
        Py_ssize_t c, const double *r
    ) noexcept


cdef inline void prefetch_codes(const int32_t *codes, Py_ssize_t c) noexcept nogil:
    cdef Py_ssize_t j = 0
    while j < c:
        lrisk_prefetch(codes + j)
        j += 16


def mixed_scores(const double[:, ::1] D, const int32_t[:, ::1] codes, const double[:, ::1] W,
                 double[:, ::1] out):
    """out = X W, every row by itself. out: (n, k); W: (slots, k), or a multiple of 4 if k > 1."""
    cdef Py_ssize_t n = out.shape[0], k = out.shape[1], p = D.shape[1], c = codes.shape[1]
    cdef Py_ssize_t width = W.shape[1], i, o, group, first
    cdef double z[SOME]
    with nogil:
        for i in range(n):
            if i + ROWS_AHEAD < n:
                prefetch_row(&D[i + ROWS_AHEAD, 0], p)
                prefetch_codes(&codes[i + ROWS_AHEAD, 0], c)
            if k == 1:
                out[i, 0] = dot(&D[i, 0], &W[0, 0], p) + code_sum(&W[0, 0] + p, &codes[i, 0], c)
                continue
            for group in range((k + SOME - 1) // SOME):
                first = group * SOME
                four_scores(&D[i, 0], p, &codes[i, 0], c, &W[0, first], width, z)
                for o in range(min(<Py_ssize_t>SOME, k - first)):
                    out[i, first + o] = z[o]


cdef inline bint take_coefs(
    const double *coefs, Py_ssize_t k, bint magnitudes, double *r
) noexcept nogil:
    """r = coefs, or their magnitudes; whether one of them is not 0."""
    cdef Py_ssize_t o
    cdef bint some = False
    for o in range(k):
        r[o] = fabs(coefs[o]) if magnitudes else coefs[o]
        some = some or r[o] != 0
    return some


def mixed_sums(const double[:, ::1] D, const int32_t[:, ::1] codes, const double[:, ::1] coefs,
               bint magnitudes, double[:, ::1] out, double[:, ::1] partial, double[::1] r,
               double[::1] sizes):
    """out = X' coefs, or |X|' |coefs|, summed in chunks of rows of fixed length.

    Rows without a coefficient are left out. coefs: (n, k); out, partial: (slots, k), or a multiple
    of 4 if k > 1; r, zeros: as many as out has columns; sizes: (p,) scratch.
    """
    cdef Py_ssize_t n = coefs.shape[0], k = coefs.shape[1], p = D.shape[1], c = codes.shape[1]
    cdef Py_ssize_t width = out.shape[1], size = out.shape[0] * width, chunk, i, j
    cdef double *total = &partial[0, 0]
    cdef const double *x
    with nogil:
        memset(&out[0, 0], 0, size * sizeof(double))
        for chunk in range((n + CHUNK - 1) // CHUNK):
            memset(total, 0, size * sizeof(double))
            for i in range(chunk * CHUNK, min((chunk + 1) * CHUNK, n)):
                if not take_coefs(&coefs[i, 0], k, magnitudes, &r[0]):
                    continue
                x = &D[i, 0]
                if magnitudes:
                    for j in range(p):
                        sizes[j] = fabs(x[j])
                    x = &sizes[0]
                if k == 1:
                    add_scaled(total, r[0], x, p)
                    for j in range(c):
                        total[p + codes[i, j]] += r[0]
                    continue
                for j in range(width // SOME):
                    four_add(total + j * SOME, width, x, p, &codes[i, 0], c, &r[j * SOME])
            for j in range(size):
                (&out[0, 0])[j] += total[j]


def unusual_pairs(const double[:, ::1] D, const int32_t[:, ::1] codes, const int32_t[::1] usual,
                  Py_ssize_t d, const double[::1] weights, int32_t[::1] held,
                  double[:, ::1] pairs):
    """Sums of weights over pairs of codes that are not the usual ones of their code columns.

    Here "none" of code column j is d + j. usual: (c,); held: (c,) scratch. pairs: (d + c,
    d + c + p), zeros: the sums of pairs of codes, each pair once, then those of weighted numbers.
    """
    cdef Py_ssize_t p = D.shape[1], c = codes.shape[1], i, j, m, s, t
    cdef double w
    cdef double *row
    cdef int32_t code
    with nogil:
        for i in range(weights.shape[0]):
            w = weights[i]
            if w == 0:
                continue
            m = 0
            for j in range(c):
                code = codes[i, j]
                if code == d:
                    code += <int32_t>j
                held[m] = code
                m += code != usual[j]
            for s in range(m):
                row = &pairs[held[s], 0]
                for t in range(s, m):
                    row[held[t]] += w
                add_scaled(row + d + c, w, &D[i, 0], p)


def count_codes(const int32_t[:, ::1] codes, int64_t[::1] counts):
    """counts[a] += how many codes are a. counts: (d + 1,)."""
    cdef Py_ssize_t i, j
    with nogil:
        for i in range(codes.shape[0]):
            for j in range(codes.shape[1]):
                counts[codes[i, j]] += 1


def mark_codes(const int32_t[:, ::1] codes, double[:, ::1] X):
    """X[i, a] = 1 for every code a of row i, if X has such a column."""
    cdef Py_ssize_t width = X.shape[1], i, j
    with nogil:
        for i in range(codes.shape[0]):
            for j in range(codes.shape[1]):
                if codes[i, j] < width:
                    X[i, codes[i, j]] = 1.0


def mixed_block_sums(const double[:, ::1] D, const int32_t[:, ::1] codes,
                     const double[::1] coefs, const int64_t[::1] rows, const int64_t[::1] sizes,
                     double[:, ::1] out):
    """out[b] = sum of coefs[i] X[i] over the rows of block b, over the root of its size.

    out: (blocks, slots).
    """
    cdef Py_ssize_t p = D.shape[1], c = codes.shape[1], slots = out.shape[1], b, t, i, j, at = 0
    cdef double share
    with nogil:
        for b in range(sizes.shape[0]):
            memset(&out[b, 0], 0, slots * sizeof(double))
            for t in range(at, at + sizes[b]):
                i = rows[t]
                add_scaled(&out[b, 0], coefs[i], &D[i, 0], p)
                for j in range(c):
                    out[b, p + codes[i, j]] += coefs[i]
            at += sizes[b]
            share = 1.0 / sqrt(<double>sizes[b])
            for j in range(slots):
                out[b, j] *= share


def add_shared_codes(const int32_t[:, ::1] codes, int32_t none, double[:, ::1] products):
    """products[i, t] += how many code columns hold the same code in both rows, `none` aside."""
    cdef Py_ssize_t n = codes.shape[0], c = codes.shape[1], i, t, j
    cdef int32_t shared
    with nogil:
        for i in range(n):
            for t in range(i + 1):
                shared = 0
                for j in range(c):
                    shared += (codes[i, j] == codes[t, j]) & (codes[i, j] != none)
                products[i, t] += shared
                if t < i:
                    products[t, i] += shared


def mixed_quadratic_forms(const double[:, ::1] D, const int32_t[:, ::1] codes,
                          const double[:, ::1] A, double[::1] y, double[::1] out):
    """out[i] = x_i' A x_i, A symmetric. A: (slots, slots); y: (p,) scratch."""
    cdef Py_ssize_t p = D.shape[1], c = codes.shape[1], i, j, t
    cdef const double *row
    cdef double total, twice
    with nogil:
        for i in range(out.shape[0]):
            # x' A x = x_D' (A_DD x_D + 2 sum of A_D,code) + sum over pairs of codes.
            for j in range(p):
                y[j] = dot(&A[j, 0], &D[i, 0], p)
            total = 0
            for j in range(c):
                row = &A[p + codes[i, j], 0]
                add_scaled(&y[0], 2.0, row, p)
                twice = 0
                for t in range(j):
                    twice += row[p + codes[i, t]]
                total += 2.0 * twice + row[p + codes[i, j]]
            out[i] = total + dot(&y[0], &D[i, 0], p)
