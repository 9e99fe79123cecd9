"""Numba kernels over flat arrays: driven by data, no code made per query."""
