/* Vectors of four doubles, and eight of them together: the columns of a model with several
   outputs. The compiler turns each operation into what the processor has (AVX2, or two SSE2). */
#ifndef LRISK_LANES_H
#define LRISK_LANES_H

#include <stdint.h>

typedef double four __attribute__((vector_size(32), aligned(8)));
typedef int64_t four_bits __attribute__((vector_size(32), aligned(8)));

#define LOAD(p) (*(const four *)(p))
#define STORE(p, v) (*(four *)(p) = (v))
#define ALL(a) ((four){(a), (a), (a), (a)})

/* z <- f(z) for each of count numbers; what becomes of one does not depend on the others. */
#define EACH_FOUR(z, count, f)                                      \
    Py_ssize_t j = 0;                                               \
    for (; j + 4 <= count; j += 4) STORE(z + j, f(LOAD(z + j)));    \
    if (j < count) {                                                \
        four last = ALL(0.0);                                       \
        for (Py_ssize_t t = j; t < count; t++) last[t - j] = z[t];  \
        last = f(last);                                             \
        for (Py_ssize_t t = j; t < count; t++) z[t] = last[t - j];  \
    }

static inline double four_sum(const four a) { return (a[0] + a[1]) + (a[2] + a[3]); }

/* x . v by two running vectors and a tail. */
static inline double dot(const double *x, const double *v, Py_ssize_t d) {
    four low = ALL(0.0), high = low;
    double tail = 0.0;
    Py_ssize_t j = 0;
    for (; j + 8 <= d; j += 8) {
        low += LOAD(x + j) * LOAD(v + j);
        high += LOAD(x + j + 4) * LOAD(v + j + 4);
    }
    for (; j < d; j++) tail += x[j] * v[j];
    return four_sum(low + high) + tail;
}

/* ratio (x . g) - x . v in one sweep over x, by two running vectors for each. */
static inline double dot_difference(const double *x, const double *v, const double *g,
                                    double ratio, Py_ssize_t d) {
    four a = ALL(0.0), b = a, e = a, f = a;
    double left = 0.0, right = 0.0;
    Py_ssize_t j = 0;
    for (; j + 8 <= d; j += 8) {
        const four low = LOAD(x + j), high = LOAD(x + j + 4);
        a += low * LOAD(v + j);
        b += high * LOAD(v + j + 4);
        e += low * LOAD(g + j);
        f += high * LOAD(g + j + 4);
    }
    for (; j < d; j++) {
        left += x[j] * v[j];
        right += x[j] * g[j];
    }
    return ratio * (four_sum(e + f) + right) - (four_sum(a + b) + left);
}

/* z[c] = sum_j x[j] W[j * width + c], by four running sums for each c. */
static inline void lane_dot(const double *x, const double *W, Py_ssize_t d, Py_ssize_t width,
                            double *z) {
    four a = ALL(0.0), b = a, e = a, f = a, g = a, h = a, p = a, q = a;
    Py_ssize_t j = 0;
    for (; j + 4 <= d; j += 4) {
        const double *row = W + j * width;
        const four x0 = ALL(x[j]), x1 = ALL(x[j + 1]), x2 = ALL(x[j + 2]), x3 = ALL(x[j + 3]);
        a += x0 * LOAD(row);
        b += x0 * LOAD(row + 4);
        e += x1 * LOAD(row + width);
        f += x1 * LOAD(row + width + 4);
        g += x2 * LOAD(row + 2 * width);
        h += x2 * LOAD(row + 2 * width + 4);
        p += x3 * LOAD(row + 3 * width);
        q += x3 * LOAD(row + 3 * width + 4);
    }
    for (; j < d; j++) {
        a += ALL(x[j]) * LOAD(W + j * width);
        b += ALL(x[j]) * LOAD(W + j * width + 4);
    }
    STORE(z, (a + e) + (g + p));
    STORE(z + 4, (b + f) + (h + q));
}

/* W[j * width + c] += x[j] q[c]. */
static inline void lane_add(double *W, const double *x, const double *q, Py_ssize_t d,
                            Py_ssize_t width) {
    const four low = LOAD(q), high = LOAD(q + 4);
    for (Py_ssize_t j = 0; j < d; j++) {
        double *row = W + j * width;
        STORE(row, LOAD(row) + ALL(x[j]) * low);
        STORE(row + 4, LOAD(row + 4) + ALL(x[j]) * high);
    }
}

/* e^x for x in [-inf, 0], to about one unit in the last place: x = m log 2 + r with
   |r| <= log(2)/2, and a polynomial of degree 13 for e^r. Results below e^-600 become 0: nothing
   beside the 1 that the largest margin contributes to a softmax, and never a slow subnormal. */
static inline __attribute__((always_inline)) four four_exp(four x) {
    const four_bits low = (four_bits)(x < ALL(-600.0));
    x = (four)(((four_bits)x & ~low) | ((four_bits)ALL(-600.0) & low));
    /* Adding 1.5 * 2^52 rounds to a whole number and leaves it in the low bits. */
    const four shifted = x * ALL(1.4426950408889634) + ALL(6755399441055744.0);
    const four whole = shifted - ALL(6755399441055744.0);
    const four r = (x - whole * ALL(6.93147180369123816490e-01))
                   - whole * ALL(1.90821492927058770002e-10);
    const four r2 = r * r, r4 = r2 * r2;
    /* Pairs, then pairs of pairs: half the length of Horner's chain. The 1 comes last: what was
       rounded before is small beside it. */
    const four c2 = (ALL(0.5) + r * ALL(1.0 / 6.0)) + r2 * (ALL(1.0 / 24.0) + r * ALL(1.0 / 120.0));
    const four c6 = (ALL(1.0 / 720.0) + r * ALL(1.0 / 5040.0))
                    + r2 * (ALL(1.0 / 40320.0) + r * ALL(1.0 / 362880.0));
    const four c10 = (ALL(1.0 / 3628800.0) + r * ALL(1.0 / 39916800.0))
                     + r2 * (ALL(1.0 / 479001600.0) + r * ALL(1.0 / 6227020800.0));
    const four p = ALL(1.0) + (r + r2 * (c2 + r4 * (c6 + r4 * c10)));
    const four result = p * (four)((((four_bits)shifted) + 1023) << 52);
    return (four)((four_bits)result & ~low);
}

/* z[c] <- e^(z[c] - top); gives their sum. */
static inline double lane_exp(double *z, double top) {
    const four low = four_exp(LOAD(z) - ALL(top)), high = four_exp(LOAD(z + 4) - ALL(top));
    const four both = low + high;
    STORE(z, low);
    STORE(z + 4, high);
    return four_sum(both);
}

/* z <- e^z, for z in [-inf, 0]. */
static inline void exp_all(double *z, Py_ssize_t count) { EACH_FOUR(z, count, four_exp) }

/* log(1 + x) for x in [0, 2^50], to about one unit in the last place, after the C library of
   FreeBSD: 1 + x = 2^e (1 + f) with 1 + f within sqrt(2) of 1, and a polynomial in f / (2 + f).
   What rounding 1 + x lost comes back as c; where e is 0, f is x itself. */
static inline __attribute__((always_inline)) four four_log1p(four x) {
    const four sum = ALL(1.0) + x;
    const four_bits shifted = (four_bits)sum + (0x3ff0000000000000 - 0x3fe6a09e00000000);
    const four_bits small = (four_bits)(shifted < 0x4000000000000000);
    const four_bits e = (shifted >> 52) - 0x3ff;
    const four mantissa = (four)((shifted & 0x000fffffffffffff) + 0x3fe6a09e00000000);
    /* As in four_exp: a whole number in the low bits of 1.5 * 2^52. */
    const four whole = (four)(e + 0x4338000000000000) - ALL(6755399441055744.0);
    const four f = (four)(((four_bits)x & small) | ((four_bits)(mantissa - ALL(1.0)) & ~small));
    const four_bits large = (four_bits)(sum >= ALL(4.0));
    const four lost = (four)(((four_bits)(ALL(1.0) - (sum - x)) & large)
                             | ((four_bits)(x - (sum - ALL(1.0))) & ~large));
    const four c = (four)((four_bits)(lost / sum) & ~small);
    const four half = ALL(0.5) * f * f, s = f / (ALL(2.0) + f), z = s * s, w = z * z;
    const four odd = z * (ALL(6.666666666666735130e-01) + w * (ALL(2.857142874366239149e-01)
                     + w * (ALL(1.818357216161805012e-01) + w * ALL(1.479819860511658591e-01))));
    const four even = w * (ALL(3.999999999940941908e-01) + w * (ALL(2.222219843214978396e-01)
                      + w * ALL(1.531383769920937332e-01)));
    return s * (half + (odd + even)) + (whole * ALL(1.90821492927058770002e-10) + c) - half + f
           + whole * ALL(6.93147180369123816490e-01);
}

/* z <- log(1 + z), for z in [0, 2^50]. */
static inline void log1p_all(double *z, Py_ssize_t count) { EACH_FOUR(z, count, four_log1p) }

/* z <- s z - b slope + base; gives the largest. */
static inline double lane_margins(double *z, double s, double b, const double *slope,
                                  const double *base) {
    const four low = ALL(s) * LOAD(z) + (LOAD(base) - ALL(b) * LOAD(slope));
    const four high = ALL(s) * LOAD(z + 4) + (LOAD(base + 4) - ALL(b) * LOAD(slope + 4));
    const four_bits above = (four_bits)(high > low);
    const four most = (four)(((four_bits)high & above) | ((four_bits)low & ~above));
    const double left = most[0] > most[1] ? most[0] : most[1];
    const double right = most[2] > most[3] ? most[2] : most[3];
    STORE(z, low);
    STORE(z + 4, high);
    return left > right ? left : right;
}

/* z <- weight p - share z. */
static inline void lane_difference(double *z, double share, double weight, const double *p) {
    STORE(z, ALL(weight) * LOAD(p) - ALL(share) * LOAD(z));
    STORE(z + 4, ALL(weight) * LOAD(p + 4) - ALL(share) * LOAD(z + 4));
}

/* X' diag(weights) X for a few dozen columns: six by eight entries at a time stay in registers,
   where general libraries spend half of their time on packing such narrow matrices. */
enum { GRAM_DOWN = 6, GRAM_ACROSS = 8 };

/* total[i * width + j] += sum over rows r of a[r * wide_a + i] b[r * wide_b + j], 6 x 8 of them. */
static inline void gram_block(const double *a, Py_ssize_t wide_a, const double *b,
                              Py_ssize_t wide_b, Py_ssize_t rows, double *total,
                              Py_ssize_t width) {
    four low[GRAM_DOWN], high[GRAM_DOWN];
    for (int i = 0; i < GRAM_DOWN; i++) {
        low[i] = LOAD(total + i * width);
        high[i] = LOAD(total + i * width + 4);
    }
    for (Py_ssize_t r = 0; r < rows; r++, a += wide_a, b += wide_b) {
        const four b_low = LOAD(b), b_high = LOAD(b + 4);
        for (int i = 0; i < GRAM_DOWN; i++) {
            const four x = ALL(a[i]);
            low[i] += x * b_low;
            high[i] += x * b_high;
        }
    }
    for (int i = 0; i < GRAM_DOWN; i++) {
        STORE(total + i * width, low[i]);
        STORE(total + i * width + 4, high[i]);
    }
}

/* All blocks that touch the upper triangle; a and b are padded with zeros to whole blocks. */
static inline void gram_blocks(const double *a, Py_ssize_t wide_a, const double *b,
                               Py_ssize_t wide_b, Py_ssize_t rows, double *total) {
    for (Py_ssize_t j = 0; j < wide_b; j += GRAM_ACROSS)
        for (Py_ssize_t i = 0; i < wide_a && i < j + GRAM_ACROSS; i += GRAM_DOWN)
            gram_block(a + i, wide_a, b + j, wide_b, rows, total + i * wide_b + j, wide_b);
}

/* As wide as the processor's own vectors: running sums of wider ones would live in memory. */
#ifdef __AVX__
typedef four wide;
#define WIDTH 4
#define WIDE(a) ALL(a)
#else
typedef double wide __attribute__((vector_size(16), aligned(8)));
#define WIDTH 2
#define WIDE(a) ((wide){(a), (a)})
#endif
#define LOAD_WIDE(p) (*(const wide *)(p))
#define STORE_WIDE(p, v) (*(wide *)(p) = (v))

/* Four rows x against eight landmarks, whose coordinates lie side by side: z[8 j + c] is number j of
   landmark c. Every pair has a running sum of its own: its value depends on no other pair. */
static inline void block_distances(const double *const *x, const double *z, Py_ssize_t d,
                                   double *out) {
    for (int c = 0; c < 8; c += 2 * WIDTH) {
        wide low[4] = {WIDE(0.0), WIDE(0.0), WIDE(0.0), WIDE(0.0)};
        wide high[4] = {WIDE(0.0), WIDE(0.0), WIDE(0.0), WIDE(0.0)};
        for (Py_ssize_t j = 0; j < d; j++) {
            const double *at = z + 8 * j + c;
            for (int r = 0; r < 4; r++) {
                const wide a = WIDE(x[r][j]) - LOAD_WIDE(at);
                const wide b = WIDE(x[r][j]) - LOAD_WIDE(at + WIDTH);
                low[r] += a * a;
                high[r] += b * b;
            }
        }
        for (int r = 0; r < 4; r++) {
            STORE_WIDE(out + 8 * r + c, low[r]);
            STORE_WIDE(out + 8 * r + c + WIDTH, high[r]);
        }
    }
}

/* The same with dot products. */
static inline void block_products(const double *const *x, const double *z, Py_ssize_t d,
                                  double *out) {
    for (int c = 0; c < 8; c += 2 * WIDTH) {
        wide low[4] = {WIDE(0.0), WIDE(0.0), WIDE(0.0), WIDE(0.0)};
        wide high[4] = {WIDE(0.0), WIDE(0.0), WIDE(0.0), WIDE(0.0)};
        for (Py_ssize_t j = 0; j < d; j++) {
            const double *at = z + 8 * j + c;
            for (int r = 0; r < 4; r++) {
                low[r] += WIDE(x[r][j]) * LOAD_WIDE(at);
                high[r] += WIDE(x[r][j]) * LOAD_WIDE(at + WIDTH);
            }
        }
        for (int r = 0; r < 4; r++) {
            STORE_WIDE(out + 8 * r + c, low[r]);
            STORE_WIDE(out + 8 * r + c + WIDTH, high[r]);
        }
    }
}

/* v <- e^(-gamma v) for v >= 0, 32 of them. */
static inline void block_gaussian(double *v, double gamma) {
    for (int i = 0; i < 32; i += 4) STORE(v + i, four_exp(ALL(-gamma) * LOAD(v + i)));
}

/* v <- (gamma v + c)^degree. */
static inline void block_power(double *v, double gamma, double c, int degree) {
    for (int i = 0; i < 32; i += 4) {
        const four base = ALL(gamma) * LOAD(v + i) + ALL(c);
        four power = base;
        for (int k = 1; k < degree; k++) power *= base;
        STORE(v + i, power);
    }
}

/* cos x to about 1e-16 (1 + |x|): x = m pi + r with |r| <= pi/2, a polynomial of degree 20 for
   cos r, and the sign from m. */
static inline __attribute__((always_inline)) four four_cos(const four x) {
    const four shifted = x * ALL(0.31830988618379067) + ALL(6755399441055744.0);
    const four whole = shifted - ALL(6755399441055744.0);
    const four r = ((x - whole * ALL(3.1415926534682512)) - whole * ALL(1.215420100718692e-10))
                   - whole * ALL(5.825464112186712e-20);
    const four s = r * r;
    four p = ALL(1.0 / 2432902008176640000.0);
    p = p * s - ALL(1.0 / 6402373705728000.0);
    p = p * s + ALL(1.0 / 20922789888000.0);
    p = p * s - ALL(1.0 / 87178291200.0);
    p = p * s + ALL(1.0 / 479001600.0);
    p = p * s - ALL(1.0 / 3628800.0);
    p = p * s + ALL(1.0 / 40320.0);
    p = p * s - ALL(1.0 / 720.0);
    p = p * s + ALL(1.0 / 24.0);
    p = p * s - ALL(0.5);
    p = p * s + ALL(1.0);
    return (four)((four_bits)p ^ ((four_bits)shifted << 63));
}

/* v[8 r + c] <- scale cos(v[8 r + c] + phase[c]). */
static inline void block_cosine(double *v, const double *phase, double scale) {
    for (int i = 0; i < 32; i += 4)
        STORE(v + i, ALL(scale) * four_cos(LOAD(v + i) + LOAD(phase + i % 8)));
}

#undef LOAD
#undef STORE
#undef ALL
#undef EACH_FOUR
#undef WIDTH
#undef WIDE
#undef LOAD_WIDE
#undef STORE_WIDE
#endif
