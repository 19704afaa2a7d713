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
            tensor = swapped(world, operands[1], operands)
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
    tensor = swapped(world, operands[0], operands)
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
    return swapped(world, x, None) if type(x) is np.ndarray else x


def swapped(world: Any, array: np.ndarray, operands: Operands | None) -> Tensor:
    """The Tensor in the place of an array, from here on.

    Where no object of the function's holds it, none at all may but the `operands` at hand; None
    where that does not matter.
    The array that owns the memory becomes a Tensor, and each view of it a view of that Tensor.
    """
    root = array if array.base is None else array.base
    if type(root) is not np.ndarray or world.made.get(id(root)) is not root:
        raise written_into_plain()
    family = [root, *world.views_of(root)]
    if any(map(world.is_outside, family)):
        raise written_into_plain()
    places = _places(world, family)
    for x in family:
        if not (places[id(x)] or (x is array and _passes(x, operands, family))):
            raise written_into_plain()  # what holds it was there before the function
    ways = [(view, _way_to(root, view)) for view in family[1:]]
    tensors = {id(root): _as_tensor(root)}
    tensors.update((id(view), way(tensors[id(root)])) for view, way in ways)
    for x in family:
        for put in places[id(x)]:
            put(tensors[id(x)])
    return tensors[id(array)]


def _passes(array: np.ndarray, operands: Operands | None, family: list[np.ndarray]) -> bool:
    """Whether nothing but the operation at hand has an array, as in ``y[0][1] = v``."""
    if operands is None:
        return True
    return all(x is operands or x is family for x in gc.get_referrers(array))


def _way_to(root: np.ndarray, view: np.ndarray) -> Callable[[Any], Any]:
    """What gives a view of an array: an index, then an order of axes; raises where they cannot."""
    left = view.__array_interface__["data"][0] - root.__array_interface__["data"][0]
    starts = []
    for stride in root.strides:
        start, left = divmod(left, stride) if stride else (0, left)
        starts.append(start)
    order = sorted(range(view.ndim), key=lambda i: view.shape[i] > 1 and -abs(view.strides[i]))
    index: list[Any] = []
    axis = 0
    for length, stride in [(view.shape[i], view.strides[i]) for i in order]:
        if length == 1:
            index.append(None)
            continue
        while axis < root.ndim:
            step, rest = divmod(stride, root.strides[axis])
            last = starts[axis] + step * (length - 1)
            if step and not rest and 0 <= last < root.shape[axis]:
                break
            index.append(starts[axis])
            axis += 1
        else:
            raise written_into_plain()
        stop = last + (1 if step > 0 else -1)
        index.append(slice(starts[axis], None if stop < 0 else stop, step))
        axis += 1
    place = (*index, *starts[axis:])
    axes = sorted(range(view.ndim), key=order.__getitem__)

    def go(x: Any) -> Any:
        return x[place] if axes == list(range(view.ndim)) else x[place].transpose(axes)

    if not _is_same(go(root), view):
        raise written_into_plain()
    return go


def _is_same(x: np.ndarray, y: np.ndarray) -> bool:
    """Whether two arrays have the same numbers at the same places."""
    if (x.shape, x.dtype) != (y.shape, y.dtype) or not x.size:
        return False
    pairs = zip(x.shape, x.strides, y.strides, strict=True)
    start = x.__array_interface__["data"][0] == y.__array_interface__["data"][0]
    return start and all(n == 1 or a == b for n, a, b in pairs)


def _places(world: Any, arrays: list[np.ndarray]) -> dict[int, list[Callable[[Tensor], None]]]:
    """What puts a Tensor where the function has each array, by its id; from the frames that run."""
    waiting: list[Any] = []
    frame = STATE.machine.frame
    while frame is not None:
        waiting += [frame.fast, frame.stack, frame.closure, frame.names]
        frame = frame.back
    seen: dict[int, Any] = {}
    found: dict[int, list[Callable[[Tensor], None]]] = {id(array): [] for array in arrays}
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
        for array in arrays:
            if any(y is array for y in inner):
                found[id(array)] += _places_in(x, array)
        waiting += inner
    return found


_MOST = 100_000
_CLOSED = frozenset({
    *(Tensor, np.ndarray, ModuleType, CodeType, int, float, complex, str, bytes, bool),
    *(type(None), Machine, Program, BuiltinFunctionType, np.ufunc, np.dtype, FrameType),
})  # fmt: skip


def _places_in(holder: Any, array: np.ndarray) -> list[Callable[[Tensor], None]]:
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
    if array.size and not array.any() and not array.tobytes().strip(b"\0"):  # no -0.0 either
        made = zeros(array.shape, dtype=kind)
    elif array.size and array.any() and (array == array.flat[0]).all():
        made = full(array.shape, array.flat[0].item(), dtype=kind)
    else:
        made = asarray(wrap(array.copy()))
    if STATE.trace is not None and made._traced is not None:
        STATE.trace.shown.discard(made._traced[1])  # what the function leaves somewhere is an array
    return made
