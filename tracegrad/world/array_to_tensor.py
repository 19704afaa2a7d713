"""An array that the function made becomes a Tensor when it is to hold values that are recorded.

``y = np.zeros(3); y[0] = x[0]``: NumPy's array cannot hold what `x[0]` stands for. So a Tensor
takes its place wherever the function has it: in variables, cells, lists, dictionaries, attributes.
Where that cannot be done (a tuple or a view holds it, or it is not the function's own), the
statement is refused.
"""

from __future__ import annotations

import gc
import operator
from array import array
from collections import deque
from collections.abc import Callable, Sequence
from contextvars import Context, copy_context
from functools import partial
from types import (
    BuiltinFunctionType,
    CellType,
    CodeType,
    FunctionType,
    MethodDescriptorType,
    MethodWrapperType,
    ModuleType,
)
from typing import Any

import numpy as np

from tracegrad.errors import ConversionError
from tracegrad.machine.frames import Frame, Machine
from tracegrad.machine.translation import Program
from tracegrad.machine.world_protocol import set_plainly, type_dict, type_mro
from tracegrad.ops.shape.reshaping import laid_out
from tracegrad.runtime.array_manners import note_arrays
from tracegrad.runtime.own_references import is_referred_to, keeps_programs
from tracegrad.runtime.thread_state import STATE
from tracegrad.runtime.values_in_traces import in_trace
from tracegrad.tape.foreign_arrays import is_sealed, memory_of
from tracegrad.tensors.array_functions import asarray, full, zeros
from tracegrad.tensors.coercion import with_memory
from tracegrad.tensors.devices import DeviceArray
from tracegrad.tensors.flat import Elements
from tracegrad.tensors.tensor import Tensor, wrap
from tracegrad.user_code.lost_conversions import written_into_plain
from tracegrad.values.dispatch import SEQUENCES, is_numeric
from tracegrad.world import native_tables
from tracegrad.world.code_origin import is_mutable, slots_of
from tracegrad.world.lengths import Length
from tracegrad.world.loops.constant_arrays import was_before_turn

Operands = tuple[Any, ...]
Keywords = dict[str, Any]


def is_recorded(x: Any) -> bool:
    """Whether a Tensor is part of a trace, has a history, or is on a device."""
    if type(x) is not Tensor:
        return False
    return x.requires_grad or type(x._array) is DeviceArray or in_trace(x) is not None


def holds_recorded(x: Any) -> bool:
    """Whether an object is a recorded Tensor, or a sequence or a slice that holds one."""
    if type(x) is slice:
        return is_recorded(x.start) or is_recorded(x.stop)
    return is_recorded(x) or (type(x) in SEQUENCES and any(map(holds_recorded, x)))


def received(
    world: Any, operation: Any, operands: Operands, keywords: Keywords
) -> tuple[Any, Operands, Keywords]:
    """An operation that writes recorded values to an array: on a Tensor in its place."""
    out = keywords.get("out")
    if out is not None and any(map(holds_recorded, (*operands, keywords.get("where")))):
        several = out if type(out) is tuple else (out,)
        made = tuple([_plain_swapped(world, x) for x in several])
        keywords = {**keywords, "out": made if type(out) is tuple else made[0]}
    if operation is np.ufunc.at and type(operands[1]) is np.ndarray:
        if any(map(holds_recorded, operands[2:])):
            tensor = world.tensor_in_place_of(operands[1], operands)
            operands = (operands[0], tensor, *operands[2:])
        return operation, operands, keywords
    if operation is operator.setitem and type(operands[0]) is Tensor:
        value = operands[2]
        if type(value) in SEQUENCES and holds_recorded(value):
            operands = (*operands[:2], asarray(value))
        return operation, operands, keywords
    rest = operands[1:]
    if operation is operator.setitem and type(operands[0]) is np.flatiter:
        if any(map(holds_recorded, rest)):
            tensor = world.tensor_in_place_of(operands[0].base, None)
            operands = (tensor.flat, *rest)
        return operation, operands, keywords
    if not operands or type(operands[0]) is not np.ndarray:
        return operation, operands, keywords
    if operation is operator.getitem and _is_updated(world, *operands):
        return operation, (plain_or_tensor(world, operands), *rest), keywords
    if not _writes(operation):
        return operation, operands, keywords
    if any(map(holds_recorded, rest)):
        tensor = world.tensor_in_place_of(operands[0], operands)
    elif (
        _is_used(operation, operands[0])
        or was_before_turn(world.loops, operands[0])
        or (operation is np.ndarray.resize and world.has_made(operands[0]))
    ):
        tensor = plain_or_tensor(world, operands)
        if tensor is operands[0]:
            return operation, operands, keywords
    else:
        return operation, operands, keywords
    if operation is operator.setitem and type(rest[1]) in SEQUENCES:
        rest = (rest[0], asarray(rest[1]))
    if isinstance(operation, MethodDescriptorType):
        return getattr(tensor, operation.__name__), rest, keywords
    return operation, (tensor, *rest), keywords


def plain_or_tensor(world: Any, operands: Operands) -> Any:
    """A Tensor in the place of the first operand; that itself, where none can be there.

    The run is no program, then.
    """
    try:
        return world.tensor_in_place_of(operands[0], operands, recorded=False)
    except ConversionError:
        return operands[0]


def _is_updated(world: Any, array: np.ndarray, key: Any) -> bool:
    """Whether a slice between numbers that a loop counts is read to be written back.

    So it is in ``y[i : i + 4] += v``, which copies what it reads the slice of, and by.
    """
    items = key if type(key) is tuple else (key,)
    counted = any(type(item) is slice and holds_recorded(item) for item in items)
    if not counted or world.is_outside(array):
        return False
    frame = world.machine.frame
    return frame is not None and frame.program.instructions[frame.index - 1].name == "COPY"


def _writes(operation: Any) -> bool:
    """Whether an operation writes to its first operand."""
    key = id(operation)
    if (
        key in native_tables.IN_PLACE
        or key in native_tables.CHANGES_FIRST
        or key in native_tables.MUTATORS
    ):
        return True
    return isinstance(getattr(operation, "__self__", None), np.ufunc) and (
        operation.__name__ == "at"
    )


def written_by(operation: Any, operands: Operands, keywords: Keywords) -> list[Any]:
    """The arrays, and other memory of numbers, that an operation writes to."""
    of_array = operands and issubclass(type(operands[0]), (*_OF_NUMBERS, np.ufunc))
    if not (keywords or of_array or isinstance(operation, np.ufunc)):
        return []
    out = keywords.get("out")
    found = [*out] if type(out) is tuple else [out]
    if operation is np.ufunc.at:
        found += operands[1:2]
    elif isinstance(operation, np.ufunc):
        found += operands[operation.nin :]
    elif operands and _writes(operation):
        found += operands[:1]
    return [x for x in found if issubclass(type(x), _OF_NUMBERS)]


_OF_NUMBERS = (np.ndarray, np.void, np.flatiter, memoryview, array)


def _is_used(operation: Any, array: np.ndarray) -> bool:
    """Whether a program, or a tape, has the numbers of an array that is written now.

    A Tensor in its place would be written to in new memory.
    """
    if isinstance(operation, MethodDescriptorType) and operation.__name__ not in _WRITING:
        return False
    if STATE.trace is None:
        return STATE.standing and is_sealed(array)
    return STATE.trace.has_used(array)  # type: ignore[no-any-return]


_WRITING = frozenset({"fill", "put"})


def _plain_swapped(world: Any, x: Any) -> Any:
    return world.tensor_in_place_of(x, None) if type(x) is np.ndarray else x


def swapped(world: Any, array: np.ndarray, operands: Operands | None) -> Tensor:
    """The Tensor in the place of an array, from here on.

    Where no object of the function's holds it, none at all may but the `operands` at hand; None
    where that does not matter.
    The array that owns the memory becomes a Tensor, and each view of it a view of that Tensor.
    """
    if not array.flags.writeable:
        error = ValueError("assignment destination is read-only")
        if STATE.trace is not None:
            STATE.trace.blame_for(error)  # it is what C code was given: the run is no program
        raise error
    root = array if array.base is None else array.base
    if type(root) is not np.ndarray or not world.has_made(root):
        raise written_into_plain()
    if not is_numeric(root.dtype):
        raise written_into_plain()
    holders = held_by_function(world)
    shown = [x for _, inner in holders for x in inner if may_look_at(x, root)]
    if any(shows_memory(x, root) for _, inner in holders for x in inner):
        raise written_into_plain()
    views = {id(x): x for x in (*world.views_of(root), *shown, array) if x is not root}
    family = [root, *views.values()]
    if any(map(world.is_outside, family)) or not all(x.flags.writeable for x in family):
        raise written_into_plain()
    if any(map(is_referred_to, family)):
        raise written_into_plain()  # a weak reference finds no Tensor
    held = {id(x) for _, inner in holders for x in inner} | set(map(id, world.written()))
    used = held | {id(root), id(array)}
    own = frozenset({id(family), id(views)})
    gone = {id(x) for x in family if id(x) not in used and _is_recorded_alone(x, own)}
    family = [x for x in family if id(x) not in gone]
    for x in family:
        shows = x is root and len(family) > 1  # its views hold it
        if not (id(x) in held or shows or (x is array and _passes(x, operands, family))):
            raise written_into_plain()  # what holds it was there before the function
    puts = _puts(holders, set(map(id, family)))
    ways = [(view, way_to(root, view)) for view in family[1:]]
    whole = _as_tensor(root)
    if STATE.trace is not None:
        STATE.trace.filled.append(whole)  # so its views stand for arrays, too
    tensors = {id(root): whole, **{id(view): way(whole) for view, way in ways}}
    if STATE.trace is None:
        note_arrays(tensors.values())
    renewed: dict[int, Any] = {**tensors}
    for x in {id(x): x for x in (*family, *world.written())}.values():
        other = renewed_of(x, renewed)
        if other is not x:
            world.swaps(x, other)
    for put, x in puts:
        put(renewed_of(x, renewed))
    return tensors[id(array)]


def may_look_at(x: Any, root: np.ndarray) -> bool:
    """Whether an object is a plain array that may show the memory of another one."""
    return type(x) is np.ndarray and x is not root and np.may_share_memory(x, root)


def shows_memory(x: Any, root: np.ndarray) -> bool:
    """Whether an object shows the memory of an array in a way that no Tensor's can take.

    It is a Tensor (`tg.as_tensor(y)`), an array of another class, or holds one in C (`memoryview`).
    """
    if type(x) is Tensor:
        return memory_of(x._array) is root
    if type(x) in _LOOKING:
        return any(shows_memory(y, root) or y is root or may_look_at(y, root) for y in _parts(x))
    return isinstance(x, np.ndarray) and type(x) is not np.ndarray and np.may_share_memory(x, root)


def _passes(array: np.ndarray, operands: Operands | None, family: list[np.ndarray]) -> bool:
    """Whether nothing but the operation at hand has an array, as in ``y[0][1] = v``."""
    if operands is None:
        return True
    return all(x is operands or x is family for x in gc.get_referrers(array))


def _is_recorded_alone(x: Any, known: frozenset[int], depth: int = 4) -> bool:
    """Whether only what was recorded has an object: the function has used it, and let it go.

    The objects that are `known`, by id, do not count. No cell or generator of Python's may hold
    the object here: only plain variables do.
    """
    holders = gc.get_referrers(x)
    known |= {id(holders)}
    for holder in holders:
        kind = type(holder)
        if id(holder) in known or (kind.__module__.startswith("tracegrad") and kind is not Frame):
            continue
        if kind not in (tuple, list, dict) or not depth:
            return False
        if not _is_recorded_alone(holder, known, depth - 1):
            return False
    return True


def way_to(root: np.ndarray, view: np.ndarray) -> Callable[[Any], Any]:
    """What gives a view of an array: an index, then an order of axes; raises where they cannot.

    Where they cannot as the array is, they may once it has other axes: ``y.reshape(2, 3)[:, 1:]``.
    """
    if root.flags.c_contiguous and view.flags.c_contiguous and root.dtype == view.dtype:
        return _part_in_order(root, view)
    if root.flags.f_contiguous and not root.flags.c_contiguous:
        of_turned = way_to(root.T, view)
        return lambda x: of_turned(x.transpose())
    shapes = _other_shapes(root, view) if root.flags.c_contiguous else []
    for shape in (root.shape, *shapes):
        part = _part_of(root.reshape(shape), view)
        if part is not None:
            return part if shape == root.shape else partial(_after_reshape, part, shape)
    raise written_into_plain()


def _after_reshape(part: Callable[[Any], Any], shape: tuple[int, ...], x: Any) -> Any:
    return part(x.reshape(shape))


def _other_shapes(root: np.ndarray, view: np.ndarray) -> list[tuple[int, ...]]:
    """Shapes of an array in which a view may be a part: in one row, or with the view's strides."""
    steps = {abs(s) // root.itemsize for s, n in zip(view.strides, view.shape) if n > 1}
    lengths, whole = [], root.size
    for step in sorted(steps - {0}, reverse=True):
        if whole % step:
            return [(root.size,)]
        lengths.append(whole // step)
        whole = step
    return [(root.size,), (*lengths, whole)]


def _part_of(root: np.ndarray, view: np.ndarray) -> Callable[[Any], Any] | None:
    """What gives a view by an index and an order of axes; None where that is no way."""
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
            return None
        stop = last + (1 if step > 0 else -1)
        index.append(slice(starts[axis], None if stop < 0 else stop, step))
        axis += 1
    place = (*index, *starts[axis:])
    axes = sorted(range(view.ndim), key=order.__getitem__)

    def go(x: Any) -> Any:
        return x[place] if axes == list(range(view.ndim)) else x[place].transpose(axes)

    try:
        return go if _is_same(go(root), view) else None
    except IndexError:  # it begins before or behind the array
        return None


def _part_in_order(root: np.ndarray, view: np.ndarray) -> Callable[[Any], Any]:
    """What gives a view that has elements in the order of memory, one after the other."""
    if root.shape == view.shape:
        return lambda x: x[...]
    left = view.__array_interface__["data"][0] - root.__array_interface__["data"][0]
    start = left // max(root.itemsize, 1)
    part = slice(start, start + view.size)
    return lambda x: x.reshape(-1)[part].reshape(view.shape)


def _is_same(x: np.ndarray, y: np.ndarray) -> bool:
    """Whether two arrays have the same numbers at the same places."""
    if (x.shape, x.dtype) != (y.shape, y.dtype) or not x.size:
        return False
    pairs = zip(x.shape, x.strides, y.strides, strict=True)
    start = x.__array_interface__["data"][0] == y.__array_interface__["data"][0]
    return start and all(n == 1 or a == b for n, a, b in pairs)


Holders = list[tuple[Any, list[Any]]]


def held_by_function(world: Any) -> Holders:
    """What the function has that holds something, with what it holds; from the frames that run."""
    waiting: list[Any] = [*world.written(), copy_context()]
    frame = STATE.machine.frame
    while frame is not None:
        waiting += _of_frame(frame)
        frame = frame.back
    found: dict[int, tuple[Any, list[Any]]] = {}
    while waiting:
        x = waiting.pop()
        if id(x) in found or _is_closed(x) or world.is_outside(x):
            continue
        if len(found) > _MOST:
            raise written_into_plain()
        inner: list[Any]
        if type(x) is FunctionType:
            shared = (id(x.__globals__), id(x.__builtins__))  # there before, and lead to all else
            inner = [held for held in gc.get_referents(x) if id(held) not in shared]
        elif isinstance(x, type):
            inner = [*type_dict(x).values(), *type_mro(x), type(x)]
        elif type(x) is Frame:  # of a generator
            inner = _of_frame(x)
        elif type(x) is np.ndarray:  # of objects
            inner = x.ravel().tolist()
        elif type(x) in _IN_C:
            inner = [*_parts(x)]
        elif keeps_programs(x):
            inner = [x.__wrapped__]
        else:
            inner = gc.get_referents(x)
        found[id(x)] = x, inner
        waiting += inner
    return [*found.values()]


def _of_frame(frame: Frame) -> list[Any]:
    """What a frame holds of the function's; its globals were there before, and lead to all else."""
    return [frame.fast, frame.stack, frame.closure, frame.names, frame.local, frame.error]


def _is_closed(x: Any) -> bool:
    """Whether an object holds none of the function's."""
    if isinstance(x, type):
        return not is_mutable(x)
    return x.dtype.kind != "O" if type(x) is np.ndarray else type(x) in _CLOSED


def _puts(holders: Holders, among: set[int]) -> list[tuple[Callable[[Any], None], Any]]:
    """What puts other objects where the function has some, which are given by id; with these.

    What cannot be changed and holds one of them is one of them as well.
    """
    fixed = [(holder, _parts(holder)) for holder, _ in holders if type(holder) in _REBUILT]
    before = 0
    while len(among) > before:
        before = len(among)
        among |= {id(holder) for holder, parts in fixed if not among.isdisjoint(map(id, parts))}
    return [
        (put, x)
        for holder, inner in holders
        if type(holder) not in _REBUILT and type(holder) not in _REUSING
        for x in {id(x): x for x in inner if id(x) in among}.values()
        for put in _places_in(holder, x)
    ]


def iterators_over(
    holders: Holders, family: set[int]
) -> list[tuple[Callable[[Tensor], None], Any]]:
    """What puts others in place of the iterators that go through arrays, which are given by id.

    Raises where something else in C has such an array, which would go on with its numbers.
    """
    own = (*_REBUILT, *_REUSING)
    for holder, inner in holders:
        if type(holder) not in own and not isinstance(holder, tuple):
            for x in inner:
                if id(x) in family:
                    _places_in(holder, x)
    within = set(family)
    fixed = [(x, _parts(x)) for x, _ in holders if type(x) in _REBUILT and type(x) is not tuple]
    before = 0
    while len(within) > before:
        before = len(within)
        within |= {id(x) for x, parts in fixed if not within.isdisjoint(map(id, parts))}
    return _puts(holders, within - family) if len(within) > len(family) else []


def renewed_of(x: Any, renewed: dict[int, Any]) -> Any:
    """An object with others in place of what it holds, and cannot change; they are added to."""
    if id(x) not in renewed and type(x) in _REBUILT:
        parts = _parts(x)
        found = [renewed_of(part, renewed) for part in parts]
        if any(map(operator.is_not, found, parts)):
            renewed[id(x)] = _REBUILT[type(x)](x, found)
    return renewed.get(id(x), x)


def _parts(x: Any) -> Sequence[Any]:
    """What an object holds that cannot be given anything else."""
    if type(x) is tuple:
        return x
    return _IN_C[type(x)](x) if type(x) in _IN_C else x.__reduce__()[1]


def _operands(x: np.nditer) -> Sequence[Any]:
    try:
        return x.operands
    except ValueError:  # it is closed
        return ()


_IN_C: dict[Any, Callable[[Any], Sequence[Any]]] = {
    np.flatiter: lambda x: (x.base,),
    np.nditer: _operands,
    np.broadcast: lambda x: [part.base for part in x.iters],
    memoryview: lambda x: (x.obj,),
    Context: lambda x: [*x.values()],
    BuiltinFunctionType: lambda x: (x.__self__,),
    MethodWrapperType: lambda x: (x.__self__,),
}
"""What objects hold of which Python's collector of garbage is not told, or not all."""
_LOOKING = frozenset({np.nditer, np.broadcast, memoryview, MethodWrapperType})
"""Those that show an array's memory, and cannot be made anew for a Tensor."""


def _rows_left(x: Any, parts: list[Any]) -> Any:
    """The iterator over what is left of an array's rows, over those of its Tensor.

    A row is taken when its turn comes: elements that are written until then are seen.
    """
    (rows,), place = parts, x.__reduce__()[2]
    return map(rows.__getitem__, range(place, len(rows)))


def _as_far(x: Any, parts: list[Any]) -> Any:
    """An iterator over other parts, which has come as far as this one."""
    made, states = x.__reduce__()[0](*parts), x.__reduce__()[2:]
    for state in states:
        made.__setstate__(state)
    return made


_REBUILT: dict[Any, Callable[[Any, list[Any]], Any]] = {
    tuple: lambda x, parts: tuple(parts),
    **dict.fromkeys((type(iter(())), reversed, enumerate, zip, map, filter), _as_far),
    type(iter(np.zeros(1))): _rows_left,
    np.flatiter: lambda x, parts: Elements(parts[0], x.index),
    BuiltinFunctionType: lambda x, parts: getattr(parts[0], x.__name__),  # ``y.sum``
}
"""Makes objects that cannot be changed anew, of other parts."""
_REUSING: frozenset[Any] = frozenset({type(iter({}.items()))})
"""Types that keep the tuple which they gave last, to use it again."""


_MOST = 100_000
_CLOSED = frozenset({
    *(Tensor, ModuleType, CodeType, int, float, complex, str, bytes, bool),
    *(type(None), Machine, Program, np.ufunc, np.dtype),
    Length,  # an int that knows what the run has read, which is not the function's
})  # fmt: skip


def _places_in(holder: Any, array: np.ndarray) -> list[Callable[[Tensor], None]]:
    """What puts a Tensor in an array's place in an object that holds it; raises where none can."""
    if isinstance(holder, list | deque):
        found = [i for i, x in enumerate(holder) if x is array]
        return [partial(holder.__setitem__, i) for i in found]
    if isinstance(holder, CellType):
        return [partial(setattr, holder, "cell_contents")]
    if type(holder) is np.ndarray:
        return [partial(holder.__setitem__, i) for i, x in np.ndenumerate(holder) if x is array]
    if type(holder) is FunctionType and holder.__defaults__ is array:
        return [partial(setattr, holder, "__defaults__")]
    if isinstance(holder, type):
        own = [name for name, x in type_dict(holder).items() if x is array]
        return [partial(set_plainly, holder, name) for name in own]
    slots = [slot for slot in slots_of(type(holder)) if _standing(slot, holder) is array]
    if slots:
        return [partial(slot.__set__, holder) for slot in slots]
    scope = holder if isinstance(holder, dict) else getattr(holder, "__dict__", None)
    names = [name for name, x in scope.items() if x is array] if isinstance(scope, dict) else []
    if not names:
        raise written_into_plain()
    assert isinstance(scope, dict)
    return [partial(scope.__setitem__, name) for name in names]


def _standing(slot: Any, holder: Any) -> Any:
    """What stands in a slot of an object; None where nothing does."""
    try:
        return slot.__get__(holder)
    except AttributeError:
        return None


def _as_tensor(array: np.ndarray) -> Tensor:
    """A Tensor with an array's numbers, as the function would have made it."""
    kind, in_columns = array.dtype, array.flags.fnc
    dense = array.size and (array.flags.c_contiguous or in_columns)
    if dense and not array.any() and not array.tobytes().strip(b"\0"):  # no -0.0 either
        made = zeros(array.shape, dtype=kind)
    elif dense and array.any() and (array == array.flat[0]).all():
        made = full(array.shape, array.flat[0].item(), dtype=kind)
    else:
        made, in_columns = asarray(wrap(array.copy(order="K"))), False
    made = laid_out(made, "F", copy=True) if in_columns else made
    made._array = with_memory(made._array)  # one without axes too is written to
    if STATE.trace is not None and made._traced is not None:
        STATE.trace.shown.discard(made._traced[1])  # what the function leaves somewhere is an array
    return made
