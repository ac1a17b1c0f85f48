/* Squared distances of rows to centres: of one pair, or of a few rows to all centres at once.
   Sums of squared differences, never |x|^2 - 2 x.c + |c|^2: outliers far away would leave nothing
   of the digits that tell near centres apart. */
#ifndef LRISK_PANELS_H
#define LRISK_PANELS_H

#include <math.h>
#include <stdint.h>

#include "_lanes.h"

/* As wide as the registers, and no more running sums than there are registers. */
#ifdef __AVX__
enum { STRIP = 4, PANEL_ROWS = 4 };
#else
enum { STRIP = 2, PANEL_ROWS = 2 };
#endif
enum { PANEL_WIDTH = 8, STRIPS = PANEL_WIDTH / STRIP };

typedef double strip __attribute__((vector_size(8 * STRIP), aligned(8)));
typedef int64_t strip_bits __attribute__((vector_size(8 * STRIP), aligned(8)));

#define LOAD(p) (*(const four *)(p))
#define STRIP_AT(p) (*(const strip *)(p))
#define ALL(a) ((four){(a), (a), (a), (a)})
#define PICK(where, a, b) ((strip)(((strip_bits)(a) & (where)) | ((strip_bits)(b) & ~(where))))

static inline strip strip_of(double a) {
    const strip zero = {0.0};
    return zero + a;
}

/* ||x - c||^2 by two running vectors and a tail: the distance that all results are made of. */
static inline double squared_distance(const double *x, const double *c, Py_ssize_t d) {
    four low = ALL(0.0), high = low;
    double tail = 0.0;
    Py_ssize_t j = 0;
    for (; j + 8 <= d; j += 8) {
        const four a = LOAD(x + j) - LOAD(c + j), b = LOAD(x + j + 4) - LOAD(c + j + 4);
        low += a * a;
        high += b * b;
    }
    for (; j < d; j++) tail += (x[j] - c[j]) * (x[j] - c[j]);
    return four_sum(low + high) + tail;
}

/* For each of PANEL_ROWS rows the least and the second least squared distance to the centres, and
   which is the nearest. A panel holds PANEL_WIDTH centres side by side, the first coordinate of
   each, then the second; each of its places keeps the least two of its own until the end. */
static inline void nearest_of_panels(const double *const *x, const double *panels,
                                     Py_ssize_t n_panels, Py_ssize_t d, double *least,
                                     double *second, int32_t *nearest) {
    strip best[PANEL_ROWS][STRIPS], next[PANEL_ROWS][STRIPS];
    strip_bits at[PANEL_ROWS][STRIPS];
    for (int i = 0; i < PANEL_ROWS; i++)
        for (int v = 0; v < STRIPS; v++) {
            best[i][v] = next[i][v] = strip_of(INFINITY);
            at[i][v] = (strip_bits){0};
        }
    for (Py_ssize_t p = 0; p < n_panels; p++) {
        strip sum[PANEL_ROWS][STRIPS];
        for (int i = 0; i < PANEL_ROWS; i++)
            for (int v = 0; v < STRIPS; v++) sum[i][v] = strip_of(0.0);
        for (Py_ssize_t j = 0; j < d; j++, panels += PANEL_WIDTH)
            for (int i = 0; i < PANEL_ROWS; i++) {
                const strip value = strip_of(x[i][j]);
                for (int v = 0; v < STRIPS; v++) {
                    const strip apart = value - STRIP_AT(panels + v * STRIP);
                    sum[i][v] += apart * apart;
                }
            }
        for (int i = 0; i < PANEL_ROWS; i++)
            for (int v = 0; v < STRIPS; v++) {
                const strip_bits nearer = (strip_bits)(sum[i][v] < best[i][v]);
                const strip other = PICK(nearer, best[i][v], sum[i][v]);
                best[i][v] = PICK(nearer, sum[i][v], best[i][v]);
                at[i][v] = (at[i][v] & ~nearer) | (((strip_bits){0} + p) & nearer);
                next[i][v] = PICK((strip_bits)(other < next[i][v]), other, next[i][v]);
            }
    }
    for (int i = 0; i < PANEL_ROWS; i++) {
        least[i] = second[i] = INFINITY;
        nearest[i] = 0;
        for (int v = 0; v < STRIPS; v++)
            for (int c = 0; c < STRIP; c++) {
                const double own = best[i][v][c], runner_up = next[i][v][c];
                const int nearer = own < least[i];
                const double other = nearer ? least[i] : own;
                nearest[i] = nearer ? at[i][v][c] * PANEL_WIDTH + v * STRIP + c : nearest[i];
                least[i] = nearer ? own : least[i];
                second[i] = other < second[i] ? other : second[i];
                second[i] = runner_up < second[i] ? runner_up : second[i];
            }
    }
}

#undef LOAD
#undef STRIP_AT
#undef ALL
#undef PICK
#endif
