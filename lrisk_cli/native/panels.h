/* Squared distances of rows to centres: of one pair, or of a few rows to all centres at once.
   Sums of squared differences, never |x|^2 - 2 x.c + |c|^2: outliers far away would leave nothing
   of the digits that tell near centres apart. */
#ifndef LRISK_PANELS_H
#define LRISK_PANELS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "lanes.h"

/* As wide as the registers, and no more running sums than there are registers. */
#ifdef __AVX__
enum { STRIP = 4, PANEL_ROWS = 4 };
#define strip_of(a) ((strip){(a), (a), (a), (a)})
#else
enum { STRIP = 2, PANEL_ROWS = 2 };
#define strip_of(a) ((strip){(a), (a)})
#endif
enum { PANEL_WIDTH = 8, STRIPS = PANEL_WIDTH / STRIP };

typedef double strip __attribute__((vector_size(8 * STRIP), aligned(8)));
typedef int64_t strip_bits __attribute__((vector_size(8 * STRIP), aligned(8)));

#define LOAD(p) (*(const four *)(p))
#define STRIP_AT(p) (*(const strip *)(p))
#define ALL(a) ((four){(a), (a), (a), (a)})

/* The smaller and the larger of two, place by place. */
#if defined(__AVX__)
#define strip_min(a, b) ((strip)__builtin_ia32_minpd256(a, b))
#define strip_max(a, b) ((strip)__builtin_ia32_maxpd256(a, b))
#elif defined(__SSE2__)
#define strip_min(a, b) ((strip)__builtin_ia32_minpd(a, b))
#define strip_max(a, b) ((strip)__builtin_ia32_maxpd(a, b))
#else
#define PICK(where, a, b) ((strip)(((strip_bits)(a) & (where)) | ((strip_bits)(b) & ~(where))))
#define strip_min(a, b) PICK((strip_bits)((a) < (b)), a, b)
#define strip_max(a, b) PICK((strip_bits)((a) < (b)), b, a)
#endif

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
   which is the nearest. A panel holds PANEL_WIDTH centres side by side: what their sums begin
   with, the first coordinate of each, the second, and so on. The number of a centre takes the
   place of the last bits of its distance, as many as `numbers` has ones: one minimum finds both. */
static inline void nearest_of_panels(const double *const *x, const double *panels,
                                     Py_ssize_t n_panels, Py_ssize_t d, int64_t numbers,
                                     double *least, double *second, int32_t *nearest) {
    strip best[PANEL_ROWS][STRIPS], next[PANEL_ROWS][STRIPS];
    strip_bits number[STRIPS];
    for (int v = 0; v < STRIPS; v++)
        for (int c = 0; c < STRIP; c++) number[v][c] = v * STRIP + c;
    for (int i = 0; i < PANEL_ROWS; i++)
        for (int v = 0; v < STRIPS; v++) best[i][v] = next[i][v] = strip_of(INFINITY);
    for (Py_ssize_t p = 0; p < n_panels; p++) {
        strip sum[PANEL_ROWS][STRIPS];
        for (int i = 0; i < PANEL_ROWS; i++)
            for (int v = 0; v < STRIPS; v++) sum[i][v] = STRIP_AT(panels + v * STRIP);
        panels += PANEL_WIDTH;
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
                const strip numbered = (strip)(((strip_bits)sum[i][v] & ~numbers) | number[v]);
                next[i][v] = strip_min(next[i][v], strip_max(best[i][v], numbered));
                best[i][v] = strip_min(best[i][v], numbered);
            }
        for (int v = 0; v < STRIPS; v++) number[v] += PANEL_WIDTH;
    }
    for (int i = 0; i < PANEL_ROWS; i++) {
        for (int v = 1; v < STRIPS; v++) {
            next[i][0] = strip_min(next[i][0], next[i][v]);
            next[i][0] = strip_min(next[i][0], strip_max(best[i][0], best[i][v]));
            best[i][0] = strip_min(best[i][0], best[i][v]);
        }
        double low = best[i][0][0], after = next[i][0][0];
        for (int c = 1; c < STRIP; c++) {
            const double other = best[i][0][c] < low ? low : best[i][0][c];
            low = best[i][0][c] < low ? best[i][0][c] : low;
            after = other < after ? other : after;
            after = next[i][0][c] < after ? next[i][0][c] : after;
        }
        int64_t bits;
        memcpy(&bits, &low, sizeof bits);
        least[i] = low;
        second[i] = after;
        nearest[i] = (int32_t)(bits & numbers);
    }
}

#undef LOAD
#undef STRIP_AT
#undef ALL
#undef PICK
#undef strip_of
#undef strip_min
#undef strip_max
#endif
