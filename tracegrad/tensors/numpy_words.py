"""Says what an array or number cannot do in NumPy's words, to a function that has no Tensors.

A Tensor that stands for an array is one of tracegrad's own types, which the user's program does
not name. Errors that tracegrad raises have the user's line, and what to write there.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from tracegrad.errors import (
    ArgumentError,
    DTypeError,
    GradientError,
    MemoryAccessError,
    ScalarError,
    ShapeError,
)
from tracegrad.runtime.array_manners import is_array_to_function
from tracegrad.runtime.thread_state import STATE
from tracegrad.tensors.devices import class_in_numpy
from tracegrad.user_code.program_points import at_line


def class_to_function(x: Any) -> str:
    """The class of a Tensor, as errors name the one that the running function knows."""
    return class_named(class_in_numpy(x._array)) if is_array_to_function(x) else "Tensor"


def class_named(kind: type) -> str:
    """A class as NumPy and Python name it in errors."""
    name = kind.__name__
    return f"numpy.{name}" if issubclass(kind, np.ndarray | np.generic) else name


def no_length(x: Any) -> Exception:
    """What has no axes is asked for its length."""
    if is_array_to_function(x):
        return ArgumentError(f"object of type '{class_to_function(x)}' has no len(){at_line()}")
    return ArgumentError(f"len() of a 0-d Tensor: it has no axis to be as long as{at_line()}")


def no_items(x: Any) -> Exception:
    """What has no axes is iterated over."""
    if is_array_to_function(x):
        return ArgumentError(f"'{class_to_function(x)}' object is not iterable{at_line()}")
    return ArgumentError(f"iteration over a 0-d Tensor: it has no axis to go along{at_line()}")


def no_item(x: Any, writes: bool = False) -> Exception:
    """A number is indexed, or written to."""
    what = "does not support item assignment: it is a number" if writes else "is not subscriptable"
    return DTypeError(f"'{class_to_function(x)}' object {what}{at_line()}")


def no_index(x: Any) -> Exception:
    """Python needs an int, and finds an array, or a number that is none."""
    integral = x.dtype.kind in "iu"
    if integral:  # NumPy would take it for an int, and drop its axes
        return DTypeError(
            f"only integer scalar arrays can be converted to a scalar index{at_line()}"
        )
    write = at_line(": write int(...) of it" if not x.ndim else "")
    if is_array_to_function(x):
        kind = class_to_function(x)
        return DTypeError(f"'{kind}' object cannot be interpreted as an integer{write}")
    return DTypeError(f"only integer Tensors can be used as an index, not {x.dtype}{write}")


def no_number(x: Any) -> Exception:
    """Python needs a number, and finds an array of several, or of none."""
    what = "an array" if is_array_to_function(x) else "a Tensor"
    shape = np.shape(x._array)
    return ScalarError(f"only {what} of one element is a number, not one of shape {shape}")


def set_in_place(name: str, instead: str) -> Any:
    """The setter of a property which says how an array lies in memory, or what is there."""

    def refuse(self: Any, value: Any) -> None:
        raise MemoryAccessError(
            f"setting .{name} changes an array in place, for all that have it, which no program "
            f"does{at_line(f': write {instead}')}"
        )

    return refuse


def refuse_resize(x: Any, shared: bool) -> None:
    """Raises where an array that is to have another shape is the caller's, or has views."""
    if STATE.machine is not None and STATE.machine.world.original(x) is not x:
        raise MemoryAccessError(
            "resize changes an array that was there before the function, for all that have it, "
            f"which no program does{at_line(': write x = np.resize(x, shape)')}"
        )
    if shared:
        raise GradientError(
            "resize: another array looks at the memory of this one, or it at another's: write "
            "x = np.resize(x, shape), or resize before views are taken"
        )


def delete_items(self: Any, key: NoReturn) -> None:
    """``del x[i]``, which no array takes."""
    raise ShapeError(f"cannot delete array elements{at_line(': write np.delete(x, i)')}")


def put(error: Exception, operands: Any) -> None:
    """Names the class that the function knows in an error of Python's about one of `operands`."""
    if type(error) not in (TypeError, AttributeError) or not error.args:
        return
    text = error.args[0]
    if type(text) is not str or "Tensor" not in text:
        return
    of = next((x for x in operands if hasattr(x, "_traced") and is_array_to_function(x)), None)
    if of is not None:
        error.args = (text.replace("Tensor", class_to_function(of)), *error.args[1:])
