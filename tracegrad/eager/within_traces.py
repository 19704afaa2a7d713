"""What a transform that is called while another function is traced is given, and what it gives.

Its arguments become values of that trace, which are differentiated or mapped over. Its
results are what they are outside of traces: Tensors where it was given one, else arrays.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tracegrad.ops.elementwise.ufuncs import alias
from tracegrad.runtime.array_manners import is_array_to_function
from tracegrad.runtime.thread_state import STATE
from tracegrad.tensors.devices import as_held
from tracegrad.tensors.tensor import Tensor, wrap
from tracegrad.values.dispatch import is_jax_array
from tracegrad.values.pytree import map_tree


def entered(x: Any) -> Tensor:
    """Another Tensor of an argument's value, which gets a history of its own.

    What comes from outside is an input of the program, which reads it at every call.
    """
    trace = STATE.trace
    if is_jax_array(x):
        return wrap(as_held(x))
    if not isinstance(x, Tensor):
        read = trace is not None and isinstance(x, np.ndarray)
        return wrap(x, (trace, trace.lift(x, trace.origin()))) if read else wrap(x)
    if x.requires_grad or (trace is not None and not x._is_traced):
        return alias(x)
    return wrap(x._array, x._traced)


def left(result: Any, given: Iterable[Any]) -> Any:
    """What the caller gets of a transform with these leaves of arguments."""
    trace = STATE.trace
    if trace is None:
        return result
    tensors = [x for x in given if isinstance(x, Tensor)]
    arrays = all(map(is_array_to_function, tensors))

    def leaf(x: Any) -> Any:
        if not isinstance(x, Tensor) or is_array_to_function(x) == arrays:
            return x
        x = alias(x)
        (trace.shown.discard if arrays else trace.shown.add)(x._traced[1])
        return x

    return map_tree(leaf, result)
