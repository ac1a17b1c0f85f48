/* Rows of p numbers x and c codes: a code stands for a column with a 1. Coefficients come in the
   order of `spread` (rows/mixed.py): those of the p numbers, then one slot for each code. */
#ifndef LRISK_CODES_H
#define LRISK_CODES_H

#include "lanes.h"

#define LOAD(p) (*(const four *)(p))
#define STORE(p, v) (*(four *)(p) = (v))
#define ALL(a) ((four){(a), (a), (a), (a)})

/* The sum of the coefficients that the codes stand for, by four running sums. */
static inline double code_sum(const double *v, const int32_t *codes, Py_ssize_t c) {
    double s0 = 0.0, s1 = 0.0, s2 = 0.0, s3 = 0.0;
    Py_ssize_t j = 0;
    for (; j + 4 <= c; j += 4) {
        s0 += v[codes[j]];
        s1 += v[codes[j + 1]];
        s2 += v[codes[j + 2]];
        s3 += v[codes[j + 3]];
    }
    for (; j < c; j++) s0 += v[codes[j]];
    return (s0 + s1) + (s2 + s3);
}

/* z[o] = x . w for four outputs of `width`, by two running sums for each. */
static inline void four_scores(const double *x, Py_ssize_t p, const int32_t *codes, Py_ssize_t c,
                               const double *W, Py_ssize_t width, double *z) {
    four a = ALL(0.0), b = a;
    Py_ssize_t j = 0;
    for (; j + 2 <= p; j += 2) {
        a += ALL(x[j]) * LOAD(W + j * width);
        b += ALL(x[j + 1]) * LOAD(W + (j + 1) * width);
    }
    if (j < p) a += ALL(x[j]) * LOAD(W + j * width);
    const double *levels = W + p * width;
    for (j = 0; j + 2 <= c; j += 2) {
        a += LOAD(levels + codes[j] * width);
        b += LOAD(levels + codes[j + 1] * width);
    }
    if (j < c) a += LOAD(levels + codes[j] * width);
    STORE(z, a + b);
}

/* total += x' r for four outputs of `width`. */
static inline void four_add(double *total, Py_ssize_t width, const double *x, Py_ssize_t p,
                            const int32_t *codes, Py_ssize_t c, const double *r) {
    const four q = LOAD(r);
    for (Py_ssize_t j = 0; j < p; j++) {
        double *row = total + j * width;
        STORE(row, LOAD(row) + ALL(x[j]) * q);
    }
    double *levels = total + p * width;
    for (Py_ssize_t j = 0; j < c; j++) {
        double *row = levels + codes[j] * width;
        STORE(row, LOAD(row) + q);
    }
}

#undef LOAD
#undef STORE
#undef ALL
#endif
