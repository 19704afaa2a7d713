"""What is added to a part of an array, ``x[i] += v``: one op on the array, whoever has the number.

An element of an array is a number. What was added to it is known until it is assigned: where that
is to its place in the array, it is one op, ``v`` added to ``x`` at ``i``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from codegen.ir import Value
from tracegrad.ops.elementwise import ufuncs as ew
from tracegrad.ops.record import OpRecord
from tracegrad.ops.shape.indexing import (
    add_at,
    element,
    gather,
    getitem_basic,
    normalize,
    subtract_at,
)
from tracegrad.runtime.thread_state import STATE
from tracegrad.tape.tape import LEAF, Node, Output
from tracegrad.tensors.tensor import Tensor
from tracegrad.values.dispatch import dtype_of, is_weak, ndim_of

ADDING: dict[Any, OpRecord] = {ew.add: add_at, ew.subtract: subtract_at}


def is_part(op: Any, others: Sequence[Any]) -> bool:
    """Whether an op takes a part out of an array that numbers and slices name, each place once.

    The order in which cotangents are added up is one, whoever has the numbers: the user, a loop
    that counts, an array.
    """
    if op is gather:
        return all([ndim_of(x) == 0 and dtype_of(x) != "bool" for x in others])
    return op is getitem_basic or op is element


def is_alike(x: Tensor, other: Any) -> bool:
    """Whether adding the other keeps the dtype."""
    weak = is_weak(other) and not isinstance(other, complex)
    return weak or dtype_of(other) == dtype_of(x)


class _Added:
    """What ``y[i] += v`` has made of a number ``y[i]``, until it is assigned there.

    Then it is one op, ``v`` added to ``y`` at ``i``.
    """

    __slots__ = ("index", "numbers", "op", "other", "result", "whole")

    def __init__(
        self, op: Any, other: Any, whole: Any, index: Any, numbers: Sequence[Any], result: Any
    ) -> None:
        self.op = op
        self.other = other
        self.whole = whole
        self.index = index
        self.numbers = numbers  # in the slots of the index: values of a graph, or numbers
        self.result = result

    def onto(self, tensor: Tensor, key: Any) -> Callable[[], Tensor] | None:
        """What adds it to a Tensor, if that is the one of which the part was taken."""
        if _made_by(tensor) is not self.whole:
            return None
        arrays, at = normalize(tensor, key)
        if at["index"] != self.index or not is_alike(tensor, self.other):
            return None
        if len(arrays) != len(self.numbers) or not all(map(_is_number, arrays, self.numbers)):
            return None
        return partial(self.op, tensor, self.other, *arrays, **at)


def _is_number(x: Any, number: Any) -> bool:
    """Whether what stands in an index is known to be a number, which may be a value of a graph."""
    traced, held = getattr(x, "_traced", None), getattr(x, "_array", x)
    if type(number) is Value:
        return traced is not None and traced[1] is number
    plain = isinstance(held, np.ndarray | np.generic)
    return traced is None and (held is number or (plain and bool(held == number)))


class _Last(threading.local):
    added: _Added | None = None


_LAST = _Last()


def last_added() -> _Added | None:
    """What was added last to a number, which is forgotten from here on."""
    added, _LAST.added = _LAST.added, None
    return added


def _made_by(tensor: Tensor) -> Any:
    """What names a Tensor, as it is now, in the trace or on the tape."""
    if tensor._is_traced:
        return tensor._traced[1]
    return tensor._node.node if type(tensor._node) is Output else tensor._node


def note_added(part: Tensor, function: Any, other: Any, result: Any) -> None:
    """Remembers what was added to a number that was taken out of a Tensor."""
    op, made = ADDING.get(function), _made_by(part)
    if op is None or made is None or made is LEAF:
        return
    if part._is_traced:
        made = STATE.trace.builder.producer.get(made)
        if made is not None and is_part(getattr(made, "op", None), made.operands[1:]):
            whole, *numbers = made.operands
            _LAST.added = _Added(op, other, whole, made.attribute("index"), numbers, result)
    elif is_part(made.op, made.values[1:]) and type(made.parents[0]) is Node:
        whole, numbers = made.parents[0], made.values[1:]
        _LAST.added = _Added(op, other, whole, made.attributes["index"], numbers, result)
