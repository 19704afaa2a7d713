"""tracegrad: plain Python functions in, gradients as readable, fast Python source out.

>>> import numpy as np
>>> import tracegrad as tg
>>> loss = tg.value_and_grad(lambda w: np.sum(w ** 2))
>>> loss(np.array([1.0, 2.0]))[1]
array([2., 4.])
"""

# ruff: noqa: F401

from types import ModuleType as _Module

from tracegrad import (
    autograd,
    config,
    conversions,
    devices,
    errors,
    fft,
    interop,
    linalg,
    memory,
    methods,
    nn,
    optim,
    pytorch_methods,
    random,
    showing,
    special,
)
from tracegrad.api import (
    compile,
    grad,
    hessian,
    hvp,
    jacfwd,
    jacobian,
    jacrev,
    jvp,
    linearize,
    value_and_grad,
    vjp,
    vmap,
)
from tracegrad.autograd import call_each, inplace
from tracegrad.autograd.engine import backward_source
from tracegrad.autograd.modes import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    no_grad,
    set_grad_enabled,
)
from tracegrad.builtins import dict, isinstance, list, tuple, type
from tracegrad.checkpointing import checkpoint
from tracegrad.counterparts import integration
from tracegrad.custom_rules import custom_jvp, custom_vjp
from tracegrad.devices import device
from tracegrad.differential_operators import *  # noqa: F403
from tracegrad.dtypes import DTYPES, get_default_dtype, set_default_dtype
from tracegrad.extend import primitive
from tracegrad.inspection import *  # noqa: F403
from tracegrad.loading import load
from tracegrad.making import as_tensor, from_dlpack, from_numpy, tensor
from tracegrad.namespace import *  # noqa: F403
from tracegrad.random import *  # noqa: F403
from tracegrad.tensor import Tensor

__version__ = "0.1.0"
__array_api_version__ = "2024.12"

globals().update(DTYPES)  # tg.float32, tg.long, ...; PyTorch's tg.float is no name for this file
devices.install(methods.BINARY, methods.COMPARISONS, methods.UNARY)
conversions.install(Tensor)
pytorch_methods.install()
autograd.load()
memory.keep_what_is_freed()
inplace.install(Tensor)
showing.show_examples(globals())

del DTYPES, call_each, conversions, inplace, integration, interop, memory, methods, pytorch_methods
del showing

_MODULES = ("autograd", "config", "errors", "fft", "linalg", "nn", "optim", "random", "special")
_OF_PYTHON = ("dict", "isinstance", "list", "tuple", "type")  # of HIPS autograd, by name alone
__all__ = sorted(
    name
    for name, value in globals().items()
    if not name.startswith("_") and name not in _OF_PYTHON
    if name in _MODULES or not isinstance(value, _Module)
)


def __dir__() -> "list[str]":
    return [*__all__, "__version__", "__array_api_version__", "__doc__"]
