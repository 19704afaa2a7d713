"""NumPy's random numbers, under the name that HIPS autograd has for them."""

from numpy.random import *  # noqa: F403
