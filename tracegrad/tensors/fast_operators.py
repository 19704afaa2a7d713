"""Writes the plain case of unary and binary ops out, as fast as Python can run them on Tensors.

These are the plain case, written out: no trace, gradients on, one result. Anything else goes to the
general way (`tracegrad.values.dispatch.apply`), which does the same; a test holds the two against
each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from codegen.types import DTYPES
from tracegrad.differentiation.batched_values import Lane
from tracegrad.errors import DTypeError
from tracegrad.ops.shape.creation import beside
from tracegrad.ops.staging import Staged
from tracegrad.runtime.array_manners import (
    OF_PYTHON,
    is_array_to_function,
    is_number_of_python,
)
from tracegrad.runtime.thread_state import STATE
from tracegrad.tape.tape import EMPTY, LEAF, SMALL, Node, next_stamp, slim
from tracegrad.tensors.devices import DeviceArray, DeviceError, class_in_numpy, is_number_here
from tracegrad.tensors.numpy_words import class_to_function
from tracegrad.tensors.tensor import Tensor, explained
from tracegrad.tensors.unknown_operands import compared, computed
from tracegrad.user_code.program_points import at_line
from tracegrad.values.dispatch import FLOATING, SEQUENCES, Repeated, apply, dtype_of, is_jax_array

NUMBERS = frozenset({float, int, np.float64, np.float32, bool, np.int64})
"""Operands that nobody can change afterwards; arrays go the general way, which copies them."""

_new_tensor = Tensor.__new__
_new_node = Node.__new__


def binary(op: Any, name: str, reflected: bool = False) -> Callable[[Any, Any], Any]:
    """``f(tensor, other)`` for the op, without attributes, of an operator that has this name."""
    kernel, recorded = op.kernel(EMPTY), op.differentiable
    multiplies = op.name == "multiply"

    def method(self: Any, other: Any) -> Any:
        kind = type(other)
        if kind is Tensor:
            b, nb = other._array, other._node
        elif kind in NUMBERS:
            b, nb = other, None
        else:
            known = operand(other, self, multiplies)
            if known is NotImplemented:
                return beside_unknown(self, other, name, op)
            return apply(op, (self, known), EMPTY)
        if STATE.special:
            return apply(op, (self, other), EMPTY)
        a = self._array
        try:
            array = kernel(a, b)
        except DeviceError:  # which the general way raises too, or brings the two together
            return apply(op, (self, other), EMPTY)
        except (ValueError, TypeError) as error:
            raise explained(op, (self, other), EMPTY, error) from error
        if type(array) is DeviceArray and (is_number_here(a) or is_number_here(b)):
            return apply(op, (self, other), EMPTY)  # whose gradient is to come back
        tensor: Any = _new_tensor(Tensor)
        tensor._array = array
        tensor._traced = tensor._hooks = tensor._grad = tensor._view = tensor._views = None
        na = self._node
        if not recorded or (na is None and nb is None):
            tensor._node = None
            return tensor
        node: Any = _new_node(Node)
        node.op = op
        node.attributes = EMPTY
        node.parents = (self if na is LEAF else na, other if nb is LEAF else nb)
        node.values = (a, b)
        node.result = array
        node.stamp = next_stamp()
        node.traced = node.more = None
        if type(array) not in OF_PYTHON and array.nbytes > SMALL:
            slim(node)
        tensor._node = node
        return tensor

    def reflected_method(self: Any, other: Any) -> Any:
        kind = type(other)
        if kind not in NUMBERS:
            known = operand(other, self, multiplies)
            if known is NotImplemented:
                return beside_unknown(self, other, name, op, True)
            return apply(op, (known, self), EMPTY)
        if STATE.special:
            return apply(op, (other, self), EMPTY)
        a = self._array
        try:
            array = kernel(other, a)
        except (ValueError, TypeError) as error:
            raise explained(op, (other, self), EMPTY, error) from error
        tensor: Any = _new_tensor(Tensor)
        tensor._array = array
        tensor._traced = tensor._hooks = tensor._grad = tensor._view = tensor._views = None
        na = self._node
        if not recorded or na is None:
            tensor._node = None
            return tensor
        node: Any = _new_node(Node)
        node.op = op
        node.attributes = EMPTY
        node.parents = (None, self if na is LEAF else na)
        node.values = (other, a)
        node.result = array
        node.stamp = next_stamp()
        node.traced = node.more = None
        if type(array) not in OF_PYTHON and array.nbytes > SMALL:
            slim(node)
        tensor._node = node
        return tensor

    return reflected_method if reflected else method


def unary(op: Any, general: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """``f(tensor)`` for an op of one operand without attributes; `general` is the general way.

    That goes for views as well, which are linked with what they look at. A general way that is not
    the op itself may choose another one for numbers of Python's.
    """
    if op.looks:
        return general
    kernel, chosen = op.kernel(EMPTY), EMPTY if general is op else OF_PYTHON

    def method(self: Any) -> Any:
        a = self._array
        if STATE.special or type(a) in chosen:
            return general(self)
        try:
            array = kernel(a)
        except (ValueError, TypeError) as error:
            raise explained(op, (self,), EMPTY, error) from error
        tensor: Any = _new_tensor(Tensor)
        tensor._array = array
        tensor._traced = tensor._hooks = tensor._grad = tensor._view = tensor._views = None
        na = self._node
        if na is None:
            tensor._node = None
            return tensor
        node: Any = _new_node(Node)
        node.op = op
        node.attributes = EMPTY
        node.parents = (self if na is LEAF else na,)
        node.values = (a,)
        node.result = array
        node.stamp = next_stamp()
        node.traced = node.more = None
        if type(array) not in OF_PYTHON and array.nbytes > SMALL:
            slim(node)
        tensor._node = node
        return tensor

    return method


def without_arguments(op: Any, attributes: Mapping[str, Any], general: Any) -> Callable[..., Any]:
    """``f(tensor)`` for an op with its default attributes; with arguments the general function."""
    kernel = op.kernel(attributes)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if args or kwargs or STATE.special:
            return general(self, *args, **kwargs)
        a = self._array
        array = kernel(a, **attributes)
        tensor: Any = _new_tensor(Tensor)
        tensor._array = array
        tensor._traced = tensor._hooks = tensor._grad = tensor._view = tensor._views = None
        na = self._node
        if na is None or array.dtype.kind not in FLOATING:
            tensor._node = None
            return tensor
        node: Any = _new_node(Node)
        node.op = op
        node.attributes = attributes
        node.parents = (self if na is LEAF else na,)
        node.values = (a,)
        node.result = array
        node.stamp = next_stamp()
        node.traced = node.more = None
        if type(a) not in OF_PYTHON and a.nbytes > SMALL:
            slim(node)
        tensor._node = node
        return tensor

    return method


def repeats(other: Any, like: Any) -> bool:
    """Whether ``other * like`` is a list: one repeated, as often as a number says, if it can."""
    if not (isinstance(other, SEQUENCES) and is_array_to_function(like)):
        return False
    return issubclass(class_in_numpy(like._array), int | float | complex | np.generic)


OTHERS = (Tensor, Staged, Lane, Repeated, np.ndarray, np.generic, bool, int, float, complex)
TEXTS = (np.str_, np.bytes_)


def beside_unknown(
    x: Any, other: Any, name: str, function: Callable[[Any, Any], Any], reflected: bool = False
) -> Any:
    """What an operator says of an object that is no operand; `NotImplemented`, as a rule."""
    if name in ("eq", "ne"):
        return compared(x, other, name == "ne")
    return computed(x, other, name, function, reflected)


def operand(other: Any, like: Any, multiplies: bool = False) -> Any:
    """What stands beside a Tensor: lists of numbers are arrays there; `NotImplemented` if none.

    Beside a number of Python's they are lists.
    """
    if isinstance(other, OTHERS) or is_jax_array(other):
        return NotImplemented if isinstance(other, TEXTS) else other
    if is_number_of_python(like):
        return NotImplemented
    if type(other) is range and is_array_to_function(like):
        return beside(list(other), like)
    if not isinstance(other, SEQUENCES):
        return NotImplemented
    if multiplies and repeats(other, like):
        kind = class_to_function(like)
        if like.dtype.kind not in "iu" and kind != "bool":
            raise DTypeError(f"can't multiply sequence by non-int of type '{kind}'{at_line()}")
        return NotImplemented  # Python asks the list
    try:
        array = beside(other, like)
    except (ValueError, TypeError):  # lists of different lengths
        return NotImplemented
    return array if dtype_of(array) in DTYPES else NotImplemented
