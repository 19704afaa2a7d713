"""A Tensor and an op enter, the Tensor leaves changed: ``x.add_(y)``, ``x += y``, ``x[i] = v``.

What is written decides how:

* No history is involved (gradients are off, or nothing requires grad): the memory is written, and
  all that share it see it. Tapes that had saved it are refused (`tracegrad.autograd.writes`).
* The write is recorded: the Tensor goes on with the result of the op, in memory of its own, and so
  do the Tensors made of it by ``detach()`` and ``data``. What tapes have saved stays as it was.
  Where others look at the same memory in ways that cannot follow (the Tensor is a view, or shares
  memory with a NumPy array), the write is refused.
* While a function is being traced, the Tensor goes on with the new value of the graph.
"""

from __future__ import annotations

import gc
import operator
import sys
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from types import FrameType
from typing import Any

import numpy as np

from codegen.ir import Trait
from tracegrad import methods
from tracegrad.arrays import with_memory
from tracegrad.autograd import writes
from tracegrad.autograd.foreign import Foreign, plain
from tracegrad.autograd.tape import LEAF, Node, Output, Shape, read_by_rule
from tracegrad.bytecode import operation, owner
from tracegrad.devices import DeviceArray, DeviceError
from tracegrad.dispatch import dtype_of, is_weak, ndim_of, shape_of
from tracegrad.eager import operand
from tracegrad.errors import DTypeError, GradientError, ShapeError
from tracegrad.ops import activations
from tracegrad.ops import elementwise as ew
from tracegrad.ops.indexing import (
    add_at,
    element,
    getitem,
    getitem_basic,
    normalize,
    subtract_at,
)
from tracegrad.ops.indexing import setitem as with_items
from tracegrad.ops.record import TABLE, OpRecord
from tracegrad.state import STATE
from tracegrad.tensor import Tensor, explained, node_of, wrap

# -- the three ways -----------------------------------------------------------------------------


def update(
    tensor: Tensor,
    function: Callable[..., Any],
    *args: Any,
    stored_back: Callable[[], bool] = lambda: False,
    **kwargs: Any,
) -> Tensor:
    """``tensor = function(tensor, *args)``, in place.

    `stored_back` tells whether the Tensor was made for the place to which it is about to be
    assigned, as in ``y[0] += v``: then it may be a view.
    """
    if STATE.trace is not None:
        return _renew(tensor, _fitted(tensor, function(tensor, *args, **kwargs)))
    if not _is_recorded(tensor, (*args, *kwargs.values())):
        _write(tensor, function, args, kwargs)
        return tensor
    _refuse(tensor, stored_back)
    return _succeed(tensor, _fitted(tensor, function(tensor, *args, **kwargs)))


def assign(tensor: Tensor, key: Any, value: Any) -> None:
    """``tensor[key] = value``."""
    added, _LAST.added = _LAST.added, None
    write: Callable[[], Tensor] = partial(with_items, tensor, key, value)
    if added is not None and added.result is value:
        write = added.onto(tensor, key) or write
    if STATE.trace is not None:
        if tensor._node is LEAF and STATE.grad_enabled:
            raise _leaf_error()
        _renew(tensor, write())
    elif _is_recorded(tensor, (value,)):
        _refuse(tensor, lambda: False)
        _succeed(tensor, _assigned(tensor, write))
    else:
        _assign_memory(tensor, key, value)


def _is_recorded(tensor: Tensor, others: Sequence[Any]) -> bool:
    return STATE.grad_enabled and any(
        [type(x) is Tensor and x._node is not None for x in (tensor, *others)]
    )


def _renew(tensor: Tensor, result: Tensor) -> Tensor:
    """The Tensor, which goes on as `result`."""
    tensor._array, tensor._traced, tensor._node = result._array, result._traced, result._node
    return tensor


def _fitted(tensor: Tensor, result: Any) -> Any:
    """The result in the Tensor's dtype; raises when its shape, or its kind of dtype, is another."""
    if ndim_of(result) != ndim_of(tensor) or np.shape(result._array) != np.shape(tensor._array):
        raise ShapeError(
            f"a result of shape {np.shape(result._array)} does not fit in place into a Tensor of "
            f"shape {np.shape(tensor._array)}"
        )
    given, own = dtype_of(result), dtype_of(tensor)
    if given == own:
        return result
    if not np.can_cast(given, own, "same_kind"):
        raise DTypeError(f"a result of dtype {given} does not fit in place into a Tensor of {own}")
    return ew.astype(result, dtype=own)


# -- recorded -----------------------------------------------------------------------------------


def _succeed(tensor: Tensor, result: Tensor) -> Tensor:
    """The Tensor, which goes on as `result`, and with it those that share all of its memory."""
    before, retained = tensor._array, _pop_retained(tensor)
    writes.succeed(before, result._array)
    for alias in getattr(tensor, "_aliases", ()):
        other = alias()
        if other is not None and other._array is before:
            other._array = result._array
    _renew(tensor, result)
    if retained:
        tensor.retain_grad()
    return tensor


def _pop_retained(tensor: Tensor) -> bool:
    """Whether the Tensor keeps its gradient, which from now on is another one."""
    node = node_of(tensor)
    if node is None or not tensor.retains_grad or not node.more:
        return False
    index = tensor._node.index if type(tensor._node) is Output else 0
    extras = node.more.get(index, {})
    return extras.pop("retain", None) is not None


def _assigned(tensor: Tensor, write: Callable[[], Tensor]) -> Tensor:
    """The Tensor with items written, in its own memory if nobody else holds that."""
    if not _is_sole_owner(tensor):
        return write()
    observe = STATE.observer

    def run(op: OpRecord, copying: Any, arrays: Sequence[Any], attributes: Any) -> Any:
        chosen = op.inplace_kernel(attributes) if op in WRITING else copying
        if observe is not None:
            return observe(op, chosen, arrays, attributes)
        return chosen(*arrays, **attributes)

    before = STATE.update(observer=run)
    try:
        result = write()
    finally:
        STATE.update(**before)
    node = result._node
    if type(node) is Node:  # its rule needs shapes alone, and holding the memory would share it
        node.values = (Shape(result._array), *node.values[1:])
        node.result = Shape(result._array)
    return result


SET: Any = TABLE["index_set"]
WRITING = (SET, add_at, subtract_at)


# -- what is added to a part ----------------------------------------------------------------------


class _Added:
    """What ``y[i] += v`` has made of ``y[i]``, until it is assigned there in the next instruction.

    Then it is one op, ``v`` added to ``y`` at ``i``, whose rule has nothing to take out of the
    cotangent of ``y`` and to put back.
    """

    __slots__ = ("index", "op", "other", "result", "whole")

    def __init__(self, op: Any, other: Any, whole: Any, index: Any) -> None:
        self.op = op
        self.other = other
        self.whole = whole
        self.index = index
        self.result: Any = None

    def onto(self, tensor: Tensor, key: Any) -> Callable[[], Tensor] | None:
        """What adds it to a Tensor, if that is the one of which the part was taken."""
        if _place_of(tensor) is not self.whole:
            return None
        arrays, at = normalize(tensor, key)
        weak = is_weak(self.other) and not isinstance(self.other, complex)
        alike = weak or dtype_of(self.other) == dtype_of(tensor)
        if arrays or at["index"] != self.index or not alike:
            return None
        return partial(self.op, tensor, self.other, **at)


class _Last(threading.local):
    added: _Added | None = None


_LAST = _Last()
ADDING = {ew.add: add_at, ew.subtract: subtract_at}
PARTS = (getitem_basic, element)


def _place_of(tensor: Tensor) -> Any:
    """What names a Tensor, as it is now, in the trace or on the tape."""
    if tensor._is_traced:
        return tensor._traced[1]
    return tensor._node.node if type(tensor._node) is Output else tensor._node


def _added(part: Tensor, function: Any, other: Any) -> _Added | None:
    """What is about to be added to a part of a Tensor; None where it is none."""
    op = ADDING.get(function)
    made: Any = _place_of(part)
    if op is None or made is None or made is LEAF:
        return None
    if part._is_traced:
        made = STATE.trace.builder.producer.get(made)
        if made is None or getattr(made, "op", None) not in PARTS:
            return None
        return _Added(op, other, made.operands[0], made.attribute("index"))
    if made.op not in PARTS or type(made.parents[0]) is not Node:
        return None
    return _Added(op, other, made.parents[0], made.attributes["index"])


# -- who else sees the memory -------------------------------------------------------------------


def _references(tensor: Tensor) -> int:
    array = tensor._array
    return sys.getrefcount(array)


ALONE = _references(wrap(np.zeros(1)))


def _is_sole_owner(tensor: Tensor) -> bool:
    """Whether the array is a Tensor's own and held by nobody else, its history included."""
    if type(tensor._array) is not np.ndarray or tensor._array.base is not None:
        return False
    node = node_of(tensor)
    if node is not None and node.result is tensor._array:
        read = read_by_rule(node)
        if read is None or len(node.values) in read:
            return False
        node.result = Shape(tensor._array)
    return _references(tensor) <= ALONE


def _is_seen_by_others(tensor: Tensor) -> bool:
    """Whether another Tensor looks at the memory that a view looks at.

    What the view and its own history hold is known by counting; nodes of others may hold the memory
    too. Only then all Tensors are asked, once: after a write the Tensor has memory of its own.
    """
    if max(_unexplained_references(tensor)) <= EXPLAINED:
        return False
    memory = writes.memory_of(tensor._array)
    return any(
        type(other) is Tensor and other is not tensor and writes.memory_of(other._array) is memory
        for other in gc.get_objects()
    )


def _unexplained_references(tensor: Tensor) -> list[int]:
    """Of each array that a view's history knows: by how many more it is held than by that."""
    arrays = _arrays_along(tensor)
    holders = Counter(map(id, arrays))
    distinct = {id(array): array for array in arrays}
    del arrays
    holders.update(id(array.base) for array in distinct.values())
    memory = writes.memory_of(tensor._array)
    distinct[id(memory)] = memory
    del memory
    return [sys.getrefcount(distinct[key]) - holders[key] for key in distinct]


def _arrays_along(tensor: Tensor) -> list[np.ndarray]:
    """A view and what the nodes that made it hold of its memory: an array once for each holder."""
    memory = writes.memory_of(tensor._array)
    found = [tensor._array]
    node = node_of(tensor)
    while node is not None:
        results = node.result if type(node.result) is tuple else (node.result,)
        held = (*node.values, *results)
        found += [x for x in held if isinstance(x, np.ndarray) and writes.memory_of(x) is memory]
        if Trait.VIEW not in node.op.traits or not node.parents:
            break
        parent = node.parents[0]
        node = parent.node if type(parent) is Output else parent if type(parent) is Node else None
    return found


EXPLAINED = max(_unexplained_references(wrap(np.zeros(4)[1:3])))


def _refuse(tensor: Tensor, stored_back: Callable[[], bool]) -> None:
    """Raises where a recorded write would change what others see behind their histories."""
    if tensor._node is LEAF:
        raise _leaf_error()
    array = tensor._array
    if type(array) is Foreign:
        raise GradientError(
            "this Tensor shares the memory of a NumPy array, where a recorded in-place operation "
            "cannot write: change a copy (x = x.clone())"
        )
    if tensor._node is None:
        for alias in getattr(tensor, "_aliases", ()):
            other = alias()
            if other is not None and other._array is array and other._node is not None:
                raise GradientError(
                    "this Tensor shares memory with the one that it was detached from, whose "
                    "history would not know of the in-place operation: change a copy "
                    "(x = x.detach().clone())"
                )
    if not stored_back() and _is_part(tensor):
        raise GradientError(
            "a view is being used in an in-place operation, and another Tensor looks at the same "
            "memory, whose history would not know of it: write to that one (y[0] += v, and not "
            "row = y[0]; row += v), or to a copy (row = y[0].clone())"
        )


def _is_part(tensor: Tensor) -> bool:
    """Whether a Tensor stands for a part of another one that is still there."""
    array = tensor._array
    if isinstance(array, np.ndarray) and array.base is not None:
        return _is_seen_by_others(tensor)
    node = node_of(tensor)
    if node is None or node.op.name != "getitem" or not node.parents:
        return False
    whole = node.parents[0]
    return type(whole) is Node and whole.op is SET  # a part in memory of its own (`item`)


def _leaf_error() -> GradientError:
    return GradientError(
        "a leaf Tensor that requires grad is being used in an in-place operation: write under "
        "tg.no_grad(), or change a copy (x = x.clone())"
    )


def _is_stored_back(frame: FrameType) -> bool:
    """Whether a frame is at the operator of ``y[i] += v``, whose result is assigned to ``y[i]``."""
    code, at = frame.f_code, frame.f_lasti
    if operation(code, at) != "BINARY_OP":
        return False
    start = owner(code, at)
    while owner(code, at) == start or operation(code, at) == "SWAP":
        at += 2
    return operation(code, at) in ("STORE_SUBSCR", "STORE_SLICE")


def _references_of_a_temporary() -> int:
    """How often the operand of an in-place operator is held that nothing but ``y[i] += v`` holds.

    Asked where `_operator` asks, for Pythons count what a running expression holds differently.
    """

    class Part:
        def __iadd__(self, other: Any) -> int:
            return sys.getrefcount(self)

    class Whole(dict[int, Any]):
        def __missing__(self, key: int) -> Any:
            return Part()

    whole = Whole()
    whole[0] += 1
    count: int = whole[0]
    return count


TEMPORARY = _references_of_a_temporary()


def item(tensor: Tensor, key: Any) -> Tensor:
    """``tensor[key]``, which looks at the memory of the whole, also where it is one element.

    A small part of a Tensor that is being filled gets memory of its own, so that it does not keep
    the whole, and the next write needs no copy of the whole.
    """
    part: Tensor = getitem(tensor, key)
    if part._traced is not None:
        return part
    array, node = part._array, tensor._node
    if type(node) is Node and node.op is SET and part._node is not None:
        if _is_small_part(array, tensor._array):
            _hold(part, array.copy())
    elif isinstance(array, np.generic) and isinstance(tensor._array, np.ndarray):
        places: Any = map(operator.index, key if type(key) is tuple else (key,))
        _hold(part, tensor._array[(*places, Ellipsis)])
    return part


def _hold(part: Tensor, array: np.ndarray) -> None:
    """Gives a part, and the node that made it, other memory with the same numbers."""
    part._array = array
    if type(part._node) is Node:
        part._node.result = array


def _is_small_part(array: Any, whole: Any) -> bool:
    is_view = isinstance(array, np.ndarray) and array.base is not None
    return is_view and 4 * array.nbytes <= whole.nbytes


# -- not recorded: memory -----------------------------------------------------------------------

UFUNCS: dict[Any, np.ufunc] = {
    operator.add: np.add,
    operator.and_: np.bitwise_and,
    operator.floordiv: np.floor_divide,
    operator.lshift: np.left_shift,
    operator.matmul: np.matmul,
    operator.mod: np.remainder,
    operator.mul: np.multiply,
    operator.or_: np.bitwise_or,
    operator.rshift: np.right_shift,
    operator.sub: np.subtract,
    operator.truediv: np.true_divide,
    operator.xor: np.bitwise_xor,
}
"""The ufuncs of the operators that kernels are."""


def _write(
    tensor: Tensor, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> None:
    """The result goes into the memory of the Tensor."""
    target = _memory_to_write(tensor)
    if not _write_directly(target, function, tensor, args, kwargs):
        result = _fitted(tensor, function(tensor, *args, **kwargs))._array
        if type(target) is DeviceArray:
            target.value = result.value
        else:
            np.copyto(plain(target), result)
    writes.stamp(target)


def _write_directly(
    target: Any, op: Any, tensor: Tensor, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> bool:
    """Lets NumPy write the result where it belongs, if the op is one ufunc."""
    if kwargs or not isinstance(op, OpRecord) or type(target) is DeviceArray:
        return False
    ufunc = _ufunc_of(op)
    operands = [x._array if type(x) is Tensor else x for x in args]
    if ufunc is None or DeviceArray in map(type, operands):
        return False
    memory = plain(target)
    try:
        ufunc(memory, *operands, out=memory)
    except (ValueError, TypeError) as error:
        raise explained(op, (tensor, *args), {}, error) from error
    return True


@cache
def _ufunc_of(op: OpRecord) -> np.ufunc | None:
    """The one ufunc that an op is, if it is one."""
    if op.attributes:
        return None
    run = op.kernel({})
    return run if isinstance(run, np.ufunc) else UFUNCS.get(run)


def _memory_to_write(tensor: Tensor) -> Any:
    array = tensor._array = with_memory(tensor._array)
    if isinstance(array, np.ndarray) and not array.flags.writeable:
        raise GradientError(
            "this Tensor is a read-only view (of broadcast_to, say), whose elements share memory, "
            "which no in-place operation can change: take a copy (x = x.clone())"
        )
    return array


def _assign_memory(tensor: Tensor, key: Any, value: Any) -> None:
    target = _memory_to_write(tensor)
    array = getattr(value, "_array", value)
    if type(target) is DeviceArray:
        target.value = with_items(tensor, key, value)._array.value
    else:
        if type(array) is DeviceArray:
            raise DeviceError(f'cannot write values on "{value.device}" into a Tensor on "cpu"')
        if np.iscomplexobj(array) and target.dtype.kind != "c":
            raise DTypeError(f"cannot write complex numbers into a Tensor of {target.dtype}")
        try:
            plain(target)[_plain_key(key)] = array
        except (ValueError, TypeError, IndexError) as error:
            raise explained(SET, (), {}, error) from error
    writes.stamp(target)


def _plain_key(key: Any) -> Any:
    """What stands between brackets, with arrays for Tensors."""
    if isinstance(key, tuple | list):
        return type(key)([_plain_key(item) for item in key])
    if isinstance(key, slice):
        parts = (key.start, key.stop, key.step)
        return slice(*(None if part is None else operator.index(part) for part in parts))
    return getattr(key, "_array", key)


# -- methods ------------------------------------------------------------------------------------

NAMES: dict[str, tuple[str, ...]] = {
    "absolute": ("abs_", "absolute_"),
    "arccos": ("acos_", "arccos_"),
    "arccosh": ("acosh_", "arccosh_"),
    "arcsin": ("asin_", "arcsin_"),
    "arcsinh": ("asinh_", "arcsinh_"),
    "arctan": ("atan_", "arctan_"),
    "arctan2": ("atan2_", "arctan2_"),
    "arctanh": ("atanh_", "arctanh_"),
    "divide": ("div_", "divide_", "true_divide_"),
    "equal": ("eq_",),
    "greater": ("gt_", "greater_"),
    "greater_equal": ("ge_", "greater_equal_"),
    "less": ("lt_", "less_"),
    "less_equal": ("le_", "less_equal_"),
    "multiply": ("mul_", "multiply_"),
    "negative": ("neg_", "negative_"),
    "not_equal": ("ne_", "not_equal_"),
}
"""PyTorch's names where they are not the op's name and ``_``."""

APART = frozenset(
    {"add", "alias", "copy", "imag", "positive", "power", "real", "relu", "sigmoid", "softplus"}
    | {"stop_gradient", "strengthen", "subtract"}
)
"""Ops that are no in-place methods, or whose method does more than the op."""


def _method(name: str, function: Callable[..., Any], doc: str) -> Callable[..., Tensor]:
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return update(self, function, *args, **kwargs)

    method.__name__, method.__qualname__, method.__doc__ = name, f"Tensor.{name}", doc
    return method


def _operator(function: Callable[..., Any]) -> Callable[[Tensor, Any], Any]:
    def method(self: Tensor, other: Any) -> Any:
        other = operand(other, self)
        if other is NotImplemented:
            return NotImplemented
        if STATE.trace is not None and not self._is_traced:  # the name is bound, outer values stay
            return function(self, other)
        frame, is_new = sys._getframe(1), sys.getrefcount(self) <= TEMPORARY
        added = _added(self, function, other) if is_new else None
        kept = added is not None and _is_stored_back(frame)
        result = update(
            self, function, other, stored_back=lambda: is_new and _is_stored_back(frame)
        )
        if kept and added is not None:
            added.result, _LAST.added = result, added
        return result

    return method


FUNCTIONS: dict[str, tuple[Callable[..., Any], str]] = {
    "addcdiv_": (lambda x, a, b, *, value=1: x + value * (a / b), "``x + value * a / b``"),
    "addcmul_": (lambda x, a, b, *, value=1: x + value * (a * b), "``x + value * a * b``"),
    "clamp_": (ew.clip, "`clip`"),
    "clamp_max_": (lambda x, max: ew.clip(x, max=max), "the smaller of x and a bound"),
    "clamp_min_": (lambda x, min: ew.clip(x, min=min), "the larger of x and a bound"),
    "clip_": (ew.clip, "`clip`"),
    "lerp_": (lambda x, end, weight: x + weight * (end - x), "from x a part of the way to `end`"),
    "masked_fill_": (lambda x, mask, value: ew.where(mask, value, x), "`value` under the mask"),
    "pow_": (methods.power, "`power`"),
    "relu_": (activations.relu, "`relu`"),
    "rsqrt_": (lambda x: 1.0 / ew.sqrt(x), "``1 / sqrt(x)``"),
    "sigmoid_": (activations.sigmoid, "`sigmoid`"),
    "sinc_": (ew.sinc, "`sinc`"),
}


def _add_(self: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """``x + alpha * other``, in place."""
    return update(self, ew.add, other if _is_one(alpha) else other * alpha)


def _sub_(self: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """``x - alpha * other``, in place."""
    return update(self, ew.subtract, other if _is_one(alpha) else other * alpha)


def _is_one(number: Any) -> bool:
    return isinstance(number, int | float) and number == 1


def _fill_(self: Tensor, value: Any) -> Tensor:
    """Every element becomes `value`."""
    assign(self, Ellipsis, value)
    return self


def _zero_(self: Tensor) -> Tensor:
    """Every element becomes 0."""
    assign(self, Ellipsis, 0)
    return self


def _copy_(self: Tensor, source: Any, non_blocking: bool = False) -> Tensor:
    """The elements become those of `source`, which is broadcast and cast."""
    assign(self, Ellipsis, source.to(self.device) if isinstance(source, Tensor) else source)
    return self


def _drawn(name: str, draw: Callable[..., Any], doc: str) -> Callable[..., Tensor]:
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        from tracegrad import random  # makes Tensors

        drawn = draw(random.process_generator, shape_of(self), *args, **kwargs)
        return _copy_(self, drawn)

    method.__name__, method.__qualname__, method.__doc__ = name, f"Tensor.{name}", doc
    return method


def _normal(generator: Any, shape: Any, mean: float = 0.0, std: float = 1.0) -> Any:
    return generator.normal(mean, std, shape)


def _uniform(generator: Any, shape: Any, low: float = 0.0, high: float = 1.0) -> Any:
    return generator.uniform(low, high, shape)


def _bernoulli(generator: Any, shape: Any, p: float = 0.5) -> Any:
    return generator.random(shape) < p


def _exponential(generator: Any, shape: Any, lambd: float = 1.0) -> Any:
    return generator.exponential(1.0 / lambd, shape)


DRAWN = {
    "bernoulli_": _drawn("bernoulli_", _bernoulli, "Draws 1 with probability `p`, else 0."),
    "exponential_": _drawn("exponential_", _exponential, "Draws of rate `lambd`."),
    "normal_": _drawn("normal_", _normal, "Draws of this mean and standard deviation."),
    "uniform_": _drawn("uniform_", _uniform, "Draws evenly between the bounds."),
}


def _is_elementwise(op: OpRecord) -> bool:
    simple = op.operands in (("x",), ("a", "b")) and ... not in op.attributes.values()
    return simple and Trait.ELEMENTWISE in op.traits and op.name not in APART


def install(cls: Any) -> None:
    """Gives Tensors their in-place operators and methods."""
    for name, function in methods.BINARY.items():
        if name != "divmod":
            setattr(cls, f"__i{name}__", _operator(function))
    for op in list(TABLE.values()):
        if _is_elementwise(op):
            for name in NAMES.get(op.name, (f"{op.name}_",)):
                setattr(cls, name, _method(name, op, f"`{op.name}`, in place."))
    for name, (function, doc) in FUNCTIONS.items():
        setattr(cls, name, _method(name, function, f"{doc[0].upper()}{doc[1:]}, in place."))
    cls.add_, cls.sub_, cls.subtract_ = _add_, _sub_, _sub_
    cls.fill_, cls.zero_, cls.copy_ = _fill_, _zero_, _copy_
    for name, method in DRAWN.items():
        setattr(cls, name, method)
    cls.__getitem__, cls.__setitem__ = item, assign
