# Kernels and cosines of rows: what models with landmarks or random frequencies are linear in.
#
# Letters: X rows, Z landmarks (or frequencies) eight at a time: (blocks, d, 8), padded with zeros.

cdef extern from "native/lanes.h" nogil:
    void block_distances(
        const double *const *x, const double *z, Py_ssize_t d, double *out
    ) noexcept
    void block_products(
        const double *const *x, const double *z, Py_ssize_t d, double *out
    ) noexcept
    void block_gaussian(double *v, double gamma) noexcept
    void block_power(double *v, double gamma, double c, int degree) noexcept
    void block_cosine(double *v, const double *phase, double scale) noexcept


cdef enum Similarity:
    GAUSSIAN
    POLYNOMIAL
    COSINE


cdef void fill_rows(
    Similarity kind, const double[:, ::1] X, const double[:, :, ::1] Z, double gamma, double c,
    int degree, const double *phases, double[:, ::1] out
) noexcept nogil:
    """Fill the first columns of out, four rows and eight landmarks at a time.

    A last group of fewer rows repeats its last row: all take the same path, so that a row's values
    depend neither on its neighbours nor on its place.
    """
    cdef Py_ssize_t n = X.shape[0], d = Z.shape[1], i, b, r, width
    cdef const double *x[4]
    cdef double values[32]
    for i in range(0, n, 4):
        for r in range(4):
            x[r] = &X[min(i + r, n - 1), 0]
        for b in range(Z.shape[0]):
            if kind == GAUSSIAN:
                block_distances(x, &Z[b, 0, 0], d, values)
                block_gaussian(values, gamma)
            else:
                block_products(x, &Z[b, 0, 0], d, values)
                if kind == POLYNOMIAL:
                    block_power(values, gamma, c, degree)
                else:
                    block_cosine(values, phases + 8 * b, c)
            width = min(8, out.shape[1] - 8 * b)
            for r in range(min(4, n - i)):
                memcpy(&out[i + r, 8 * b], values + 8 * r, width * sizeof(double))


def gaussian_rows(const double[:, ::1] X, const double[:, :, ::1] Z, double gamma,
                  double[:, ::1] out):
    """out[i, j] = exp(-gamma ||X[i] - Z_j||^2) over the coordinates that Z has. out: (n, m)."""
    with nogil:
        fill_rows(GAUSSIAN, X, Z, gamma, 0.0, 0, NULL, out)


def polynomial_rows(const double[:, ::1] X, const double[:, :, ::1] Z, double gamma, double coef0,
                    int degree, double[:, ::1] out):
    """out[i, j] = (gamma X[i].Z_j + coef0)^degree over the coordinates that Z has. out: (n, m)."""
    with nogil:
        fill_rows(POLYNOMIAL, X, Z, gamma, coef0, degree, NULL, out)


def cosine_rows(const double[:, ::1] X, const double[:, :, ::1] Z, const double[::1] phases,
                double scale, double[:, ::1] out):
    """out[i, j] = scale cos(X[i].Z_j + phases[j]). phases: padded like Z. out: (n, m)."""
    with nogil:
        fill_rows(COSINE, X, Z, 0.0, scale, 0, &phases[0], out)
