"""What is called in place of ``int(x)``, ``float(x)``, ``round(x)``, ``x.item()`` of a Tensor.

An element that a trace follows is a number of Python's from there on, but none that anybody has
looked at: it is computed with, stored and returned, and is an index, for all calls. What decides by
it, shows it or makes an array of that length looks at it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracegrad.ops.elementwise.python_numbers import number_read, whole_number
from tracegrad.ops.elementwise.ufuncs import stop_gradient
from tracegrad.runtime.array_manners import is_array_to_function
from tracegrad.runtime.values_in_traces import in_trace
from tracegrad.tape.tape import has_slope
from tracegrad.tensors.tensor import Tensor
from tracegrad.user_code.lost_gradients import lost_at
from tracegrad.values.dispatch import type_of


def number_of_array(
    kind: type, operands: tuple[Any, ...], keywords: dict[str, Any]
) -> Callable[[], Any] | None:
    """``float(x)`` and ``int(x)`` of an element that a trace follows: no look, but an operation.

    None where Python has to read the number: where there is no trace, or of an array with axes.
    """
    if [type(x) for x in operands] != [Tensor] or keywords:
        return None
    x = operands[0]
    if x.ndim:
        return (lambda: _of_axes(kind, x)) if is_array_to_function(x) else None
    if in_trace(x) is None or x.dtype.kind not in "fiub":
        return None
    if x.__class__ is kind and not type_of(x).either:
        return lambda: x
    return lambda: _float(x) if kind is float else as_int(x)


def _of_axes(kind: type, x: Tensor) -> Any:
    """``float(x)`` of one element in an array with axes, where NumPy takes that (until 2.3)."""
    kind(np.zeros(x._array.shape))
    return kind(x)


def _float(x: Tensor) -> Tensor:
    """A number as a float of Python's, with which its history does not go on."""
    if has_slope(x):
        number = _as_number(x, number_read(x, lost=lost_at()))
        x._became((number,))
        return number
    if x._node is not None:  # nothing is lost of steps
        return _constant(x)
    return _as_number(x, number_read(x, lost=""))  # JAX may differentiate the program


def _constant(x: Tensor) -> Tensor:
    """A number as a float of Python's, from which no gradient goes back, in turns of loops too."""
    return _as_number(x, number_read(stop_gradient(x), lost=""))


def _as_number(x: Tensor, number: Tensor) -> Tensor:
    """What was read: a number to the function, though `x` may be a Tensor to it; no history."""
    number._traced[0].shown.discard(number._traced[1])
    number._node = None
    return number


def is_traced_index(x: Tensor) -> bool:
    """Whether a Tensor is a whole number that a trace follows."""
    return not x.ndim and x.dtype.kind in "iu" and in_trace(x) is not None


def as_int(x: Any) -> Any:
    """A number as an int of Python's; NaN and infinities raise.

    A function that catches exceptions is asked which there is, so that each is a path of its own.
    """
    traced = in_trace(x)
    if traced is None:
        return int(x)
    trace, number = traced[0], np.asarray(x._array)
    if trace.catches and x.dtype.kind == "f" and not bool(np.isfinite(x)):
        bool(np.isnan(x))  # else it is an infinity
        return int(number)
    try:
        found = _as_number(x, whole_number(x))
    except (ValueError, OverflowError):
        trace.notes_exception("an exception in int(x)")
        raise
    if has_slope(x):
        x._became((found,))
    return found


def rounded(x: Tensor) -> Callable[[], Any] | None:
    """``round(x)`` of a number, which is an int."""
    if not x._is_traced or x.ndim or not is_array_to_function(x):
        return None
    if x.dtype.kind == "f":
        return lambda: as_int(np.rint(x))
    return number_of_array(int, (x,), {})


def item(operands: tuple[Any, ...], keywords: dict[str, Any]) -> Callable[[], Any] | None:
    """``x.item()`` likewise, which is a constant to derivatives."""
    if [type(x) for x in operands] != [Tensor] or keywords:
        return None
    x = operands[0]
    if x.ndim or in_trace(x) is None:
        return None
    if x.dtype.kind == "f":
        return lambda: _constant(x)
    return (lambda: _as_number(x, whole_number(x))) if x.dtype.kind in "iu" else None
