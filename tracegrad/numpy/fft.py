"""NumPy's Fourier transforms, under the name that HIPS autograd has for them."""

from numpy.fft import *  # noqa: F403
