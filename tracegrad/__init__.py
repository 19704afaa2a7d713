"""tracegrad: plain Python functions in, gradients as readable, fast Python source out.

>>> import numpy as np
>>> import tracegrad as tg
>>> loss = tg.value_and_grad(lambda w: np.sum(w ** 2))
>>> loss(np.array([1.0, 2.0]))[1]
array([2., 4.])
"""

# ruff: noqa: F401

from tracegrad import autograd, config, errors, interop
from tracegrad.api import compile, grad, value_and_grad, vjp
from tracegrad.autograd.engine import backward_source
from tracegrad.autograd.modes import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    no_grad,
    set_grad_enabled,
)
from tracegrad.namespace import *  # noqa: F403
from tracegrad.tensor import Tensor

__version__ = "0.1.0"


def tensor(data, dtype=None, requires_grad=False):
    """A Tensor with a copy of the data; see `Tensor`."""
    return Tensor(data, dtype, requires_grad)


autograd.load()

del interop
