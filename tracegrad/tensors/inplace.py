"""Operations that change a Tensor in place: ``x.add_(y)``, ``x += y``, ``x[i] = v``.

What is written decides how:

* No history is involved (gradients are off, or nothing requires grad): the memory is written, and
  all that share it see it. Tapes that had saved it are refused (`tracegrad.tape.write_checks`).
* The write is recorded: the Tensor goes on with the result of the op, in memory of its own, and
  so do all that look at the same memory (`tracegrad.tape.views`). What tapes have saved stays
  as it was.
* While a function is being traced, it goes on with the new value of the graph, and so do they.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np

from codegen.ir import Trait
from codegen.sizes import Dim
from codegen.spelling import Subscript
from tracegrad import random
from tracegrad.errors import DTypeError, ShapeError
from tracegrad.ops.elementwise import activations
from tracegrad.ops.elementwise import ufuncs as ew
from tracegrad.ops.record import TABLE, OpRecord
from tracegrad.ops.shape.creation import shape_tuple, zeros_in
from tracegrad.ops.shape.indexing import (
    add_at,
    element,
    gather,
    getitem,
    normalize,
    subtract_at,
)
from tracegrad.ops.shape.indexing import setitem as with_items
from tracegrad.ops.shape.joining import concatenate
from tracegrad.ops.shape.memory_order import in_place_of, written_part
from tracegrad.ops.shape.reshaping import apart_from, ravel, reshape
from tracegrad.runtime.array_manners import (
    is_array_to_function,
    is_memory,
    is_number_of_python,
    is_of_caller,
    is_own_leaf,
)
from tracegrad.runtime.thread_state import STATE
from tracegrad.tape import exported_memory, write_checks
from tracegrad.tape.foreign_arrays import memory_of, plain
from tracegrad.tape.functions_apart import refuse_around
from tracegrad.tape.own_leaves import refuse_kept_history, refuse_shared
from tracegrad.tape.tape import LEAF, Node, Output, Shape, read_by_rule
from tracegrad.tape.views import (
    Step,
    base_of,
    disjoint,
    follow,
    memory_at,
    place_of,
    put,
    register,
    same_operands,
    same_place,
    views_of,
)
from tracegrad.tensors import methods
from tracegrad.tensors.added_parts import ADDING, is_alike, is_part, last_added, note_added
from tracegrad.tensors.coercion import copy_with_gaps, laid_out_like, with_memory
from tracegrad.tensors.devices import DeviceArray, DeviceError
from tracegrad.tensors.fast_operators import operand, repeats
from tracegrad.tensors.numpy_words import no_item, refuse_resize
from tracegrad.tensors.refused_writes import (
    leaf_error,
    past_history,
    read_only,
    refuse_mask,
    refuse_recorded,
    refuse_unrecorded,
)
from tracegrad.tensors.tensor import Tensor, explained, node_of, wrap
from tracegrad.values.dispatch import dtype_of, ndim_of, shape_of

NUMBERS = (np.generic, float, complex, int)
"""What no function writes to."""

# -- the three ways -----------------------------------------------------------------------------


def update(tensor: Tensor, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Tensor:
    """``tensor = function(tensor, *args)``, in place."""
    if not _is_recorded(tensor, (*args, *kwargs.values())):
        refuse_around(tensor, *args, *kwargs.values())
        refuse_unrecorded(tensor)
        _write(tensor, function, args, kwargs)
        return tensor
    refuse_recorded(tensor)
    add = ADDING.get(function) if len(args) == 1 and not kwargs else None
    if add is not None and _adds_to_part(tensor, add, args[0]):
        return tensor
    result = _fitted(tensor, function(tensor, *args, **kwargs))
    if STATE.trace is not None and any([_has_order(x, tensor) for x in (*args, *kwargs.values())]):
        result = in_place_of(result, tensor)  # on the tape, `_renew` lays it out
    _succeed(tensor, result)
    return tensor


def _has_order(other: Any, target: Tensor) -> bool:
    """Whether it may decide how what is computed with a target lies in memory."""
    return other is not target and ndim_of(other) > 1


def assign(tensor: Tensor, key: Any, value: Any) -> None:
    """``tensor[key] = value``."""
    if isinstance(tensor._array, NUMBERS) and is_array_to_function(tensor):
        raise no_item(tensor, writes=True)
    added = last_added()
    if type(value) is Tensor:
        if _is_there(tensor, key, value):
            return  # ``y[1:] += v``: the view has written it
        value = _before_write(tensor, key, value)
    write: Callable[[], Tensor] = partial(with_items, tensor, key, value)
    if added is not None and added.result is value:
        write = added.onto(tensor, key) or write
    if _is_recorded(tensor, (value,)):
        refuse_recorded(tensor)
        if type(value) is Tensor and is_array_to_function(tensor):
            refuse_mask(tensor, key, value)
        _succeed(tensor, write() if STATE.trace is not None else _assigned(tensor, write))
    else:
        refuse_around(tensor, value)
        refuse_unrecorded(tensor)
        _assign_memory(tensor, key, value)


def _before_write(tensor: Tensor, key: Any, value: Tensor) -> Tensor:
    """What is written; a copy of a row or column that looks at the memory otherwise than its place.

    NumPy copies ``a[1] = a[:, 2]`` element by element, and reads what it has written.
    """
    array, given = tensor._array, value._array
    if type(given) is not np.ndarray or not given.ndim or memory_of(given) is not memory_of(array):
        return value
    items = key if type(key) is tuple else (key,)
    if not all([type(x) in _BASIC or (type(x) is Tensor and not x.ndim) for x in items]):
        return value  # of what arrays say NumPy has a copy
    numbers = [int(plain(x._array)) if type(x) is Tensor else x for x in items]
    place = array[tuple(numbers)]
    alike = np.ndim(place) != 1 or place.strides[-1] == given.strides[-1]
    return value if alike else ew.copy(value)


_BASIC = (int, slice, type(None), type(Ellipsis))


def _is_recorded(tensor: Tensor, others: Sequence[Any]) -> bool:
    """Whether a write goes into the trace or onto the tape, and not into memory alone.

    So it does in a function of arrays where it takes an array of NumPy's to a device.
    """
    if STATE.trace is not None:
        return True
    every = [x for x in (tensor, *others) if type(x) is Tensor]
    if STATE.grad_enabled and any([x._node is not None for x in every]):
        return True
    return (
        type(tensor._array) is not DeviceArray
        and any([type(x._array) is DeviceArray for x in every])
        and is_array_to_function(tensor)
    )


def stay_equal(one: Sequence[Dim], other: Sequence[Dim], result: Any) -> bool:
    """Whether two shapes are equal; where `result` is traced, in every call of the program."""
    trace: Any = result._traced[0] if result._is_traced else None
    same = operator.eq if trace is None else trace.sizes.same
    return len(one) == len(other) and all(map(same, one, other))


def _fitted(tensor: Tensor, result: Any) -> Any:
    """The result in the Tensor's dtype; raises when its shape, or its kind of dtype, is another."""
    if not stay_equal(shape_of(result), shape_of(tensor), result):
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


def _succeed(tensor: Tensor, result: Tensor) -> None:
    """The Tensor goes on as `result`, and with it all that look at the same memory."""
    base, path = place_of(tensor)
    with past_history(base, path):
        with _CalledLike(base):
            whole = put(base, path, result)
        _go_on(base, whole, path, (tensor, result))


class _CalledLike:
    """What a statement makes of a Tensor beside its own result has the Tensor's name in a graph."""

    def __init__(self, tensor: Tensor) -> None:
        traced: tuple[Any, Any] = tensor._traced if tensor._is_traced else (None, None)
        self.trace, self.value = traced

    def __enter__(self) -> None:
        if self.trace is not None:
            self.before = self.trace.standing
            name = self.value.origin.name
            self.trace.standing = replace(self.trace.origin(), name=name)

    def __exit__(self, *_: object) -> None:
        if self.trace is not None:
            self.trace.standing = self.before


def _go_on(
    base: Tensor, whole: Tensor, path: Sequence[Step], written: tuple[Tensor, Tensor] | None = None
) -> None:
    """A base goes on as `whole`, which differs from it at the end of a path; its views follow.

    `written` is the Tensor that was written to, and its new value. On the tape it is made of the
    whole again, for they share memory; in a graph its cotangents alone take that way.
    """
    refuse_kept_history(base)
    refuse_shared(base)
    if (trace := STATE.trace) is not None:
        (trace.note_write if base._is_traced else trace.note_views_of)(base)
    if not base._is_traced:
        write_checks.succeed(base._array, whole._array)
    _renew(base, whole)
    for view in views_of(base):
        if disjoint(place_of(view).path, path):
            continue
        value = written[1] if written and view is written[0] and view._is_traced else None
        if value is None:
            refuse_kept_history(view)
        with _CalledLike(view):
            part = follow(base, place_of(view).path)
            _renew(view, part if value is None else written_part(value, part))


def _renew(tensor: Tensor, result: Tensor) -> None:
    """The Tensor goes on as `result`."""
    retained = _pop_retained(tensor)
    tensor._array = laid_out_like(tensor._array, result._array)
    if STATE.trace is not None and result._is_traced:
        STATE.trace.goes_on(tensor, result._traced[1])
    tensor._traced = result._traced
    if STATE.grad_enabled or tensor._node is not LEAF:  # under no_grad a leaf stays one
        tensor._node = result._node
    if STATE.losing:
        STATE.watch.succeeds(tensor, result)
    if retained:
        tensor.retain_grad()


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


def _adds_to_part(part: Tensor, add: OpRecord, other: Any) -> bool:
    """Adds to a view ``y[1:]`` as one op on `y`, whose rule has nothing to take out and put back.

    False where the Tensor is no such view.
    """
    base, path = place_of(part)
    if len(path) != 1 or not is_part(*path[0][:2]) or not is_alike(part, other):
        return False
    shape = np.shape(getattr(other, "_array", other))
    if np.broadcast_shapes(shape, np.shape(part._array)) != np.shape(part._array):
        return False
    with _CalledLike(base):
        whole = add(base, other, *path[0].others, **{**ONCE, **path[0].attributes})
    _go_on(base, whole, path)
    return True


ONCE: dict[str, Any] = {"counts": (), "repeats": False}


def _is_there(tensor: Tensor, key: Any, value: Tensor) -> bool:
    """Whether a value is the view ``tensor[key]`` itself."""
    if value._view is None or base_of(value) is not base_of(tensor):
        return False
    path, view = place_of(tensor).path, place_of(value)
    if len(view.path) != len(path) + 1:
        return False
    arrays, at = normalize(tensor, key)
    last = view.path[-1]
    if not is_part(last.op, last.others) or last.attributes["index"] != at["index"]:
        return False
    return same_operands(last.others, arrays) and same_place(view.path[:-1], path)


# -- who else sees the memory -------------------------------------------------------------------


def _references(tensor: Tensor) -> int:
    array = tensor._array
    return sys.getrefcount(array)


ALONE = _references(wrap(np.zeros(1)))


def _is_sole_owner(tensor: Tensor) -> bool:
    """Whether the array is a Tensor's own and held by nobody else, its history included."""
    if type(tensor._array) is not np.ndarray or tensor._array.base is not None:
        return False
    if tensor._view is not None:
        return False
    node = node_of(tensor)
    if node is not None and node.result is tensor._array:
        read = read_by_rule(node)
        if read is None or len(node.values) in read:
            return False
        node.result = Shape(tensor._array)
    return _references(tensor) <= ALONE


def item(tensor: Tensor, key: Any) -> Tensor:
    """``tensor[key]``, which looks at the memory of the whole, also where it is one element.

    In functions of arrays an element is a number. A small part of a Tensor that is being filled
    gets memory of its own, so that it does not keep the whole, and the next write needs no copy of
    the whole.
    """
    if is_number_of_python(tensor):
        raise no_item(tensor)
    part: Tensor = getitem(tensor, key)
    array, node = part._array, tensor._node
    is_element = isinstance(array, np.generic) and isinstance(
        tensor._array, np.ndarray | np.generic
    )
    is_array = is_array_to_function(tensor)
    if is_element and is_array:
        return part
    if is_array and getattr(part, "_view", None) is not None and _is_by_array(key):
        return apart_from(part)  # type: ignore[no-any-return]
    if part._traced is not None:
        items = key if type(key) is tuple else (key,)
        if is_element and any([type(x) is Tensor for x in items]):  # whose numbers nobody looks at
            arrays, at = normalize(tensor, key)
            register((part,), tensor, gather, arrays, at)
        elif is_element:
            _look_at_element(part, tensor, key)
        return part
    if type(node) is Node and node.op is SET and part._node is not None:
        if is_element:
            _look_at_element(part, tensor, key)
        if _is_small_part(array, tensor._array):
            _hold(part, copy_with_gaps(array))
    elif is_element:
        places = _look_at_element(part, tensor, key)
        _hold(part, tensor._array[(*places, Ellipsis)])
    return part


def _is_by_array(key: Any) -> bool:
    """Whether an index holds an array, if only one of no axes: NumPy copies then."""
    items = key if type(key) is tuple else (key,)
    return any([isinstance(getattr(item, "_array", item), np.ndarray) for item in items])


def _look_at_element(part: Tensor, tensor: Tensor, key: Any) -> tuple[int, ...]:
    """Says that an element looks at the memory of the whole; its place there."""
    items = key if type(key) is tuple else (key,)
    places = tuple(operator.index(item) for item in items if item is not Ellipsis)
    register((part,), tensor, element, (), {"index": Subscript(places)})
    return places


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
    _has_written(tensor)


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
    try:
        ufunc(memory := plain(target), *operands, out=memory)
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
    base = base_of(tensor)
    own = is_own_leaf(base) or is_of_caller(base)
    if base._node is LEAF and is_array_to_function(base) and not own:
        raise leaf_error(base, tensor)  # it is an argument that is differentiated
    base._array = with_memory(base._array)
    if base is not tensor and not _shares(tensor, base):
        tensor._array = memory_at(base._array, place_of(tensor).path)
    array = tensor._array
    if isinstance(array, np.ndarray) and not array.flags.writeable:
        raise read_only()
    if STATE.grad_enabled and is_array_to_function(base):
        write_checks.keep_before_write(array)
    return array


def _has_written(tensor: Tensor) -> None:
    """The memory of a Tensor was written: what looks at it elsewhere looks there again."""
    base = base_of(tensor)
    if base is not tensor or base._views:
        path = place_of(tensor).path
        if type(base._array) is DeviceArray:
            _has_written_on_device(tensor, base, path)
        else:
            for view in views_of(base):
                if not _shares(view, base) and not disjoint(place_of(view).path, path):
                    view._array = memory_at(base._array, place_of(view).path)
    write_checks.stamp(base._array)
    exported_memory.note_own_write(base._array)


def _has_written_on_device(tensor: Tensor, base: Tensor, path: Sequence[Step]) -> None:
    """The same where arrays share no memory."""
    before = STATE.update(grad_enabled=False)
    try:
        if path:
            base._array.value = put(bare(base), path, bare(tensor))._array.value
        for view in views_of(base):
            if view is not tensor and not disjoint(place_of(view).path, path):
                view._array.value = follow(bare(base), place_of(view).path)._array.value
    finally:
        STATE.update(**before)


def bare(tensor: Tensor) -> Tensor:
    """What a Tensor holds, as one that nobody looks at."""
    return wrap(tensor._array)


def _shares(tensor: Tensor, base: Tensor) -> bool:
    return write_checks.memory_of(tensor._array) is write_checks.memory_of(base._array)


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
    _has_written(tensor)


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
    {"add", "alias", "copy", "imag", "numpy_i0", "positive", "power", "real", "relu", "sigmoid"}
    | {"softplus", "stop_gradient", "strengthen", "subtract"}
)
"""Ops that are no in-place methods, or whose method does more than the op."""


def _method(
    name: str, function: Callable[..., Any], doc: str, like: Any = None
) -> Callable[..., Tensor]:
    """A method that writes what the function gives; `like` is what has its arguments."""

    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return update(self, function, *args, **kwargs)

    method.__name__, method.__qualname__, method.__doc__ = name, f"Tensor.{name}", doc
    method.__wrapped__ = like or function  # type: ignore[attr-defined]
    return method


def _operator(function: Callable[..., Any]) -> Callable[[Tensor, Any], Any]:
    multiplies = getattr(function, "name", "") == "multiply"

    def method(self: Tensor, other: Any) -> Any:
        if multiplies and repeats(other, self):
            return other * operator.index(self)
        other = operand(other, self)
        if other is NotImplemented:
            return NotImplemented
        if is_array_to_function(self) and not is_memory(self):
            result = function(self, other)
            note_added(self, function, other, result)
            return result
        return update(self, function, other)

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


def _resize(self: Tensor, *lengths: Any, refcheck: bool = True) -> None:
    """Goes on in another shape, as ndarray's: the elements row after row, then zeros."""
    shape = shape_tuple(lengths[0] if len(lengths) == 1 else lengths)
    if shape == np.shape(self._array):
        return
    refuse_resize(self, bool(place_of(self).path) or any(True for _ in views_of(self)))
    row, size = ravel(self), int(np.prod(np.array(shape)))
    missing = max(size - int(np.size(self._array)), 0)
    if missing:
        row = concatenate([row, zeros_in(row, (missing,), dtype_of(row))])
    _renew(self, reshape(row[:size], shape))


def _fill_(self: Tensor, value: Any) -> Tensor:
    """Every element becomes `value`."""
    assign(self, Ellipsis, value)
    return self


def _zero_(self: Tensor) -> Tensor:
    """Every element becomes 0."""
    return _fill_(self, 0)


def _copy_(self: Tensor, source: Any, non_blocking: bool = False) -> Tensor:
    """The elements become those of `source`, which is broadcast and cast."""
    assign(self, Ellipsis, source.to(self.device) if isinstance(source, Tensor) else source)
    return self


def _drawn(name: str, draw: Callable[..., Any], doc: str) -> Callable[..., Tensor]:
    def method(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        drawn = draw(random.process_generator, shape_of(self), *args, **kwargs)
        return _copy_(self, drawn)

    method.__name__, method.__qualname__, method.__doc__ = name, f"Tensor.{name}", doc
    method.__wrapped__ = partial(draw, None)  # type: ignore[attr-defined]
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


def _outside(name: str) -> Callable[..., Any]:
    """The method that makes a new Tensor, which knows what users write for an op's attributes."""
    return lambda x, *args, **kwargs: getattr(x, name)(*args, **kwargs)


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
            function = _outside(op.name) if op.attributes else op
            like = getattr(cls, op.name) if op.attributes else op
            for name in NAMES.get(op.name, (f"{op.name}_",)):
                setattr(cls, name, _method(name, function, f"`{op.name}`, in place.", like))
    for name, (function, doc) in FUNCTIONS.items():
        setattr(cls, name, _method(name, function, f"{doc[0].upper()}{doc[1:]}, in place."))
    cls.add_, cls.sub_, cls.subtract_ = _add_, _sub_, _sub_
    cls.resize = _resize
    cls.fill_, cls.zero_, cls.copy_ = _fill_, _zero_, _copy_
    for name, method in DRAWN.items():
        setattr(cls, name, method)
    cls.__getitem__, cls.__setitem__ = item, assign
