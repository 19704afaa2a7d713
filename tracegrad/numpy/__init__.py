"""NumPy's own functions and names, as code written for HIPS autograd imports them.

``import tracegrad.numpy as np`` in the place of ``import autograd.numpy as np``. The functions are
NumPy's: in a function that tracegrad differentiates or compiles they compute on traced values, and
everywhere else they are what they always were.

>>> import tracegrad.numpy as np
>>> from tracegrad import grad
>>> grad(lambda x: np.sum(np.array([x, x**2])))(3.0)
np.float64(7.0)
"""

# ruff: noqa: F401

import numpy as _numpy

from tracegrad.numpy import fft, linalg, numpy_boxes, numpy_vjps, random
from tracegrad.numpy.joined import c_, make_diagonal, r_

__version__ = _numpy.__version__
_theirs = {name: value for name, value in vars(_numpy).items() if not name.startswith("_")}
globals().update({name: value for name, value in _theirs.items() if name not in globals()})
del _theirs


def __getattr__(name: str) -> object:
    """What NumPy loads when it is asked for."""
    return getattr(_numpy, name)
