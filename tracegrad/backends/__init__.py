"""The libraries that run programs: JAX and numba."""
