# Gram matrices of narrow tables, and systems of equations with them.

cdef extern from "native/lanes.h" nogil:
    enum: GRAM_DOWN
    enum: GRAM_ACROSS
    void gram_blocks(const double *a, Py_ssize_t wide_a, const double *b, Py_ssize_t wide_b,
                     Py_ssize_t rows, double *total)


def gram_widths(Py_ssize_t d) -> tuple[int, int]:
    """Rows and columns, in whole blocks, of what `weighted_gram` fills for d columns."""
    return (
        (d + GRAM_DOWN - 1) // GRAM_DOWN * GRAM_DOWN,
        (d + GRAM_ACROSS - 1) // GRAM_ACROSS * GRAM_ACROSS,
    )


def weighted_gram(const double[:, ::1] X, const double[::1] weights, double[:, ::1] total,
                  double[:, ::1] scaled, double[:, ::1] plain):
    """total = X' diag(weights) X above the diagonal; rows without weight are not read.

    total has the shape of `gram_widths`, scaled and plain as many columns as its sides and room
    for the rows taken at a time; all three begin as zeros.
    """
    cdef Py_ssize_t n = X.shape[0], d = X.shape[1], chunk, first, size, i, j, t, n_found, kept = 0
    cdef int32_t found[CHUNK]
    cdef Py_ssize_t room = plain.shape[0], down = scaled.shape[1], across = plain.shape[1]
    with nogil:
        for chunk in range((n + CHUNK - 1) // CHUNK):
            first = chunk * CHUNK
            size = min(<Py_ssize_t>CHUNK, n - first)
            n_found = find_filled(&weights[first], size, found)
            for t in range(n_found):
                i = first + (found[t] if n_found < size else t)
                if n_found < size and t + ROWS_AHEAD < n_found:
                    prefetch_row(&X[first + found[t + ROWS_AHEAD], 0], d)
                for j in range(d):
                    plain[kept, j] = X[i, j]
                    scaled[kept, j] = weights[i] * X[i, j]
                kept += 1
                if kept == room:
                    gram_blocks(&scaled[0, 0], down, &plain[0, 0], across, kept, &total[0, 0])
                    kept = 0
        if kept:
            gram_blocks(&scaled[0, 0], down, &plain[0, 0], across, kept, &total[0, 0])


def cholesky_solve(const double[:, ::1] L, double[:, ::1] B):
    """Each row b of B becomes (L L')^-1 b, L lower triangular. L: (d, d), B: (m, d)."""
    cdef Py_ssize_t d = L.shape[0], m = B.shape[0], i, r
    with nogil:
        for i in range(d):
            for r in range(m):
                B[r, i] = (B[r, i] - dot(&L[i, 0], &B[r, 0], i)) / L[i, i]
        for i in range(d - 1, -1, -1):
            for r in range(m):
                B[r, i] /= L[i, i]
                add_scaled(&B[r, 0], -B[r, i], &L[i, 0], i)
