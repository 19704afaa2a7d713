"""tracegrad: plain Python functions in, gradients as readable, fast Python source out.

>>> import numpy as np
>>> import tracegrad as tg
>>> loss = tg.value_and_grad(lambda w: np.sum(w ** 2))
>>> loss(np.array([1.0, 2.0]))[1]
array([2., 4.])
"""

# ruff: noqa: F401

from types import ModuleType as _Module

import numpy as _numpy

from tracegrad import autograd, config, errors, fft, linalg, nn, optim, random, special
from tracegrad.autograd import python_call_batching
from tracegrad.autograd.engine import backward_source
from tracegrad.builtins import dict, isinstance, list, tuple, type
from tracegrad.differential_operators import *  # noqa: F403
from tracegrad.examples import docstrings
from tracegrad.extend import primitive
from tracegrad.ops.dtypes import DTYPES, get_default_dtype, set_default_dtype
from tracegrad.random import *  # noqa: F403
from tracegrad.runtime import malloc
from tracegrad.runtime.missing_names import missing_names_of as _missing_names_of
from tracegrad.tape.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    no_grad,
    set_grad_enabled,
)
from tracegrad.tensors import conversions, devices, inplace, methods, numpy_protocols, torch_methods
from tracegrad.tensors.array_functions import *  # noqa: F403
from tracegrad.tensors.constructors import as_tensor, from_dlpack, from_numpy, tensor
from tracegrad.tensors.devices import device
from tracegrad.tensors.tensor import Tensor
from tracegrad.tensors.type_info import *  # noqa: F403
from tracegrad.transforms import scipy_solvers
from tracegrad.transforms.checkpoint import checkpoint
from tracegrad.transforms.custom_rules import custom_jvp, custom_vjp
from tracegrad.transforms.load import load
from tracegrad.transforms.public import (
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

__version__ = "0.1.0"
__array_api_version__ = "2024.12"

globals().update(DTYPES)  # tg.float32, tg.long, ...; PyTorch's tg.float is no name for this file
devices.install(methods.BINARY, methods.COMPARISONS, methods.UNARY)
conversions.install(Tensor)
torch_methods.install()
malloc.keep_what_is_freed()
inplace.install(Tensor)
docstrings.show_examples(globals())

del (
    DTYPES,
    python_call_batching,
    conversions,
    inplace,
    scipy_solvers,
    numpy_protocols,
    malloc,
    methods,
    torch_methods,
)
del docstrings

_MODULES = ("autograd", "config", "errors", "fft", "linalg", "nn", "optim", "random", "special")
_OF_PYTHON = ("dict", "isinstance", "list", "tuple", "type")  # of HIPS autograd, by name alone
__all__ = sorted(
    name
    for name, value in globals().items()
    if not name.startswith("_") and name not in _OF_PYTHON
    if name in _MODULES or not isinstance(value, _Module)
)


def _another_place(name: str) -> str:
    """Where a name is that is not here: in a module of tracegrad, on a Tensor, in NumPy."""
    for module in (linalg, nn, special):
        if name in module.__all__:
            return f"it is {module.__name__.replace('tracegrad', 'tg')}.{name}"
    if hasattr(Tensor, name):
        return f"a Tensor has it, x.{name}" + "(...)" * callable(getattr(Tensor, name))
    return f"NumPy has it, np.{name}" if name in _numpy.__all__ else ""


__getattr__ = _missing_names_of(__name__, _another_place)


def __dir__() -> "list[str]":
    return [*__all__, "__version__", "__array_api_version__", "__doc__"]
