"""Compiled kernels, the choice of their build, threads and Cholesky factors."""
