"""Ops on sampled functions: Fourier transforms, convolutions, differences, polynomials."""
