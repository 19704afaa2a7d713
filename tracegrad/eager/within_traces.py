"""What a transform that is called while another function is traced is given, and what it gives.

Its arguments become values of that trace, which are differentiated or mapped over. Its
results are what they are outside of traces: Tensors where it was given one, else arrays.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from tracegrad.autograd import engine
from tracegrad.errors import warn_caller
from tracegrad.ops.elementwise.ufuncs import alias, stop_gradient
from tracegrad.runtime.array_manners import is_array_to_function
from tracegrad.runtime.thread_state import STATE
from tracegrad.tensors.devices import as_held
from tracegrad.tensors.tensor import Tensor, wrap
from tracegrad.values.dispatch import is_jax_array
from tracegrad.values.pytree import flatten, map_tree


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
    """What the caller gets of a transform with these leaves of arguments.

    Of arrays alone it is arrays, without a history of Tensors from outside, unless a derivative is
    taken around it.
    """
    trace = STATE.trace
    if trace is None:
        return result
    tensors = [x for x in given if isinstance(x, Tensor)]
    arrays = all(map(is_array_to_function, tensors))
    ends = arrays and STATE.watch is not None and STATE.watch.compiles
    if ends and all(x._node is None for x in tensors) and _goes_outside(result, trace):
        if not trace.world.mode_is_own:  # the caller records
            warn_of_lost_history("a function reads a Tensor")
        result = map_tree(partial(_without_history, trace), result)

    def leaf(x: Any) -> Any:
        if not isinstance(x, Tensor) or is_array_to_function(x) == arrays:
            return x
        x = alias(x)
        (trace.shown.discard if arrays else trace.shown.add)(x._traced[1])
        return x

    return map_tree(leaf, result)


def _goes_outside(result: Any, trace: Any) -> bool:
    """Whether a result has a history of Tensors that stand outside."""
    roots = [x for x in flatten(result)[0] if isinstance(x, Tensor) and x._node is not None]
    nodes = engine.left_behind(roots)
    known = {*map(id, nodes), *map(id, engine.leaves_of(nodes, roots))}
    holders = [x for x, _ in trace.captured.values() if getattr(x, "requires_grad", False)]
    return any(id(x) in known or id(engine.node_of(x._node)) in known for x in holders)


def _without_history(trace: Any, x: Any) -> Any:
    """A value that no node of a tape goes back from; JAX may differentiate a program for it."""
    if not isinstance(x, Tensor) or x._node is None:
        return x
    if not trace.static_lengths:
        return stop_gradient(x)
    x = alias(x)
    x._node = None
    return x


def warn_of_lost_history(reads: str) -> None:
    """Warns where a call with arrays is of Tensors that require grad: it returns arrays."""
    warn_caller(
        f"{reads}, which requires grad, and is called without a Tensor: it returns arrays, through "
        "which no gradient goes. Pass Tensors (tg.as_tensor(x)), or call it under tg.no_grad()",
        UserWarning,
    )
