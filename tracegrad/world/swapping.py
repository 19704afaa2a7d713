"""An array that the function made becomes a Tensor when it is to hold values that are recorded.

``y = np.zeros(3); y[0] = x[0]``: NumPy's array cannot hold what `x[0]` stands for. So a Tensor
takes its place wherever the function has it: in variables, cells, lists, dictionaries, attributes.
Where that cannot be done (a tuple or a view holds it, or it is not the function's own), the
statement is refused.
"""

from __future__ import annotations

import gc
import operator
from collections import deque
from collections.abc import Callable
from functools import partial
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FrameType,
    FunctionType,
    MethodDescriptorType,
    ModuleType,
)
from typing import Any

import numpy as np

from tracegrad.machine.frames import Machine
from tracegrad.machine.programs import Program
from tracegrad.namespace import asarray, full, zeros
from tracegrad.state import STATE
from tracegrad.tensor import Tensor, wrap, written_into_plain
from tracegrad.world import tables

Operands = tuple[Any, ...]
Keywords = dict[str, Any]


def is_recorded(x: Any) -> bool:
    """Whether a Tensor is part of a trace, or has a history."""
    return type(x) is Tensor and (x._is_traced or x.requires_grad)


def holds_recorded(x: Any) -> bool:
    """Whether an object is a recorded Tensor, or a sequence that holds one."""
    return is_recorded(x) or (type(x) in (list, tuple) and any(map(holds_recorded, x)))


def received(
    world: Any, operation: Any, operands: Operands, keywords: Keywords
) -> tuple[Any, Operands, Keywords]:
    """An operation that writes recorded values to an array: on a Tensor in its place."""
    out = keywords.get("out")
    if out is not None and any(map(holds_recorded, operands)):
        several = out if type(out) is tuple else (out,)
        made = tuple([_plain_swapped(world, x) for x in several])
        keywords = {**keywords, "out": made if type(out) is tuple else made[0]}
    if operation is np.ufunc.at and type(operands[1]) is np.ndarray:
        if any(map(holds_recorded, operands[2:])):
            tensor = swapped(world, operands[1])
            operands = (operands[0], tensor, *operands[2:])
        return operation, operands, keywords
    if operation is operator.setitem and type(operands[0]) is Tensor:
        value = operands[2]
        if type(value) in (list, tuple) and holds_recorded(value):
            operands = (*operands[:2], asarray(value))
        return operation, operands, keywords
    if not operands or type(operands[0]) is not np.ndarray or not _writes(operation):
        return operation, operands, keywords
    rest = operands[1:]
    if not any(map(holds_recorded, rest)):
        return operation, operands, keywords
    tensor = swapped(world, operands[0])
    if operation is operator.setitem:
        rest = (rest[0], rest[1] if type(rest[1]) is Tensor else asarray(rest[1]))
    if isinstance(operation, MethodDescriptorType):
        return getattr(tensor, operation.__name__), rest, keywords
    return operation, (tensor, *rest), keywords


def _writes(operation: Any) -> bool:
    """Whether an operation writes to its first operand."""
    key = id(operation)
    if key in tables.IN_PLACE or key in tables.CHANGES_FIRST or key in tables.MUTATORS:
        return True
    return isinstance(getattr(operation, "__self__", None), np.ufunc) and (
        operation.__name__ == "at"
    )


def _plain_swapped(world: Any, x: Any) -> Any:
    return swapped(world, x, False) if type(x) is np.ndarray else x


def swapped(world: Any, array: np.ndarray, held: bool = True) -> Tensor:
    """The Tensor in the place of an array, from here on; `held` is one that something holds."""
    if (
        world.made.get(id(array)) is not array
        or world.is_outside(array)
        or id(array) in world.viewed
    ):
        raise written_into_plain()
    places = [put for holder in _holders(world, array) for put in _places(holder, array)]
    if held and not places:  # what holds it was there before the function
        raise written_into_plain()
    tensor = _as_tensor(array)
    for put in places:
        put(tensor)
    return tensor


def _holders(world: Any, array: np.ndarray) -> list[Any]:
    """The objects of the function's own that hold an array, found from the frames that run."""
    waiting: list[Any] = []
    frame = STATE.machine.frame
    while frame is not None:
        waiting += [frame.fast, frame.stack, frame.closure, frame.names]
        frame = frame.back
    seen: dict[int, Any] = {}
    found = []
    while waiting:
        x = waiting.pop()
        if id(x) in seen or type(x) in _CLOSED or world.is_outside(x) or isinstance(x, type):
            continue
        if len(seen) > _MOST:
            raise written_into_plain()
        seen[id(x)] = x
        if type(x) is FunctionType:
            inner: list[Any] = [x.__closure__, x.__defaults__, x.__kwdefaults__]
        else:
            inner = gc.get_referents(x)
        if any(y is array for y in inner):
            found.append(x)
        waiting += inner
    return found


_MOST = 100_000
_CLOSED = frozenset({
    *(Tensor, np.ndarray, ModuleType, CodeType, int, float, complex, str, bytes, bool),
    *(type(None), Machine, Program, BuiltinFunctionType, np.ufunc, np.dtype, FrameType),
})  # fmt: skip


def _places(holder: Any, array: np.ndarray) -> list[Callable[[Tensor], None]]:
    """What puts a Tensor in an array's place in an object that holds it; raises where none can."""
    if isinstance(holder, list | deque):
        found = [i for i, x in enumerate(holder) if x is array]
        return [partial(holder.__setitem__, i) for i in found]
    if isinstance(holder, CellType):
        return [partial(setattr, holder, "cell_contents")]
    scope = holder if isinstance(holder, dict) else getattr(holder, "__dict__", None)
    names = [name for name, x in scope.items() if x is array] if isinstance(scope, dict) else []
    if not names:
        raise written_into_plain()
    assert isinstance(scope, dict)
    return [partial(scope.__setitem__, name) for name in names]


def _as_tensor(array: np.ndarray) -> Tensor:
    """A Tensor with an array's numbers, as the function would have made it."""
    kind = array.dtype
    if array.size and not array.any() and not np.signbit(array).any():
        return zeros(array.shape, dtype=kind)
    if array.size and (array == array.flat[0]).all():
        return full(array.shape, array.flat[0].item(), dtype=kind)
    return asarray(wrap(array.copy()))
