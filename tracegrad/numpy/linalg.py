"""NumPy's linear algebra, under the name that HIPS autograd has for it."""

from numpy.linalg import *  # noqa: F403
