# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, embedsignature=True
"""Compiled kernels: arrays enter, arrays leave. No allocation, no Python objects, no GIL inside.

Letters: X (n, d) rows, W (d, k) weights, lam (n,) row weights, sigma (n,) their sorted values.
This source is built twice, see native/kernels.py; sums run in an order fixed by the row numbers.
"""

from libc.math cimport INFINITY, NAN, exp, expm1, fabs, log, log1p, sqrt  # no-cython-lint (for the parts)
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t  # no-cython-lint
from libc.string cimport memcmp, memcpy, memset  # no-cython-lint

cdef extern from *:
    """
    #if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))
    static int lrisk_cpu_has_avx2(void) {
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    }
    #define lrisk_prefetch(p) __builtin_prefetch(p)
    #elif defined(__GNUC__)
    static int lrisk_cpu_has_avx2(void) { return 0; }
    #define lrisk_prefetch(p) __builtin_prefetch(p)
    #else
    static int lrisk_cpu_has_avx2(void) { return 0; }
    #define lrisk_prefetch(p) ((void)(p))
    #endif
    """
    bint lrisk_cpu_has_avx2() noexcept nogil
    void lrisk_prefetch(const void *) noexcept nogil


def cpu_has_avx2() -> bool:
    """Whether this processor runs the AVX2 build."""
    return lrisk_cpu_has_avx2()


include "native/reading.pxi"
include "native/numerals.pxi"
include "native/number_columns.pxi"
include "native/dates.pxi"
include "native/passes.pxi"
include "native/softmax.pxi"
include "native/huber.pxi"
include "native/pinball.pxi"
include "native/poisson.pxi"
include "native/margins.pxi"
include "native/gram.pxi"
include "native/mixed.pxi"
include "native/kernels.pxi"
include "native/sort.pxi"
include "native/pav.pxi"
include "native/isotonic.pxi"
include "native/simplex.pxi"
include "native/weighted.pxi"
include "native/mass_thresholds.pxi"
include "native/epochs.pxi"
include "native/batches.pxi"
include "native/clusters.pxi"
