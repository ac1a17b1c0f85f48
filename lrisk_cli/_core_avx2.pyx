# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, embedsignature=True
"""The kernels of _core.pyx once more, compiled for AVX2 and FMA."""

include "_core.pyx"
