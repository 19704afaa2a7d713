"""Devices of Tensors: moves arrays there and runs ops on them with JAX.

``"cpu"`` holds NumPy arrays. ``"jax"`` (JAX's default device), ``"cuda"``, ``"gpu"`` and
``"cuda:1"`` hold JAX arrays, each in a `DeviceArray`, on which ops run by their JAX spelling: so
Tensors, the tape and derivative rules work on them as on NumPy arrays. 64-bit types stay exact,
whatever the process has chosen for JAX.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from codegen.ir import Trait
from codegen.keys import attribute_key
from codegen.load import kernel
from codegen.sizes import Sizes
from codegen.spelling import Spelling, spell
from codegen.types import ArrayType, is_inexact
from tracegrad.errors import TracegradError
from tracegrad.ops.record import KERNEL_NAMES, TABLE, OpRecord
from tracegrad.tape.foreign_arrays import plain
from tracegrad.values.dispatch import (
    HANDLERS,
    TYPES,
    JaxArray,
    is_jax_array,
    is_jax_tracer,
    is_numeric,
    type_of,
)


class DeviceError(TracegradError, RuntimeError):
    """A device that is not there, or arrays of several devices in one operation."""


# -- names of devices ---------------------------------------------------------------------------

GPUS = ("cuda", "gpu")


class Device(str):
    """Where an array is: a string such as ``"cpu"``, ``"jax"`` or ``"cuda:0"``.

    Examples
    --------
    >>> import tracegrad as tg
    >>> tg.ones(3).device
    device(type='cpu')
    >>> tg.ones(3).device == "cpu"
    True
    """

    __slots__ = ()

    @property
    def type(self) -> str:
        """The kind of device: ``"cpu"``, ``"jax"`` or ``"cuda"``."""
        return str(self).partition(":")[0]

    @property
    def index(self) -> int | None:  # type: ignore[override]
        """Which of them; None where there is one."""
        index = str(self).partition(":")[2]
        return int(index) if index else None

    def __repr__(self) -> str:
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type={self.type!r}{index})"


CPU = Device("cpu")


class SeveralDevices(Device):
    """Where an array is that is spread over devices of JAX: ``"jax:0,1,2,3"``."""

    __slots__ = ("whole",)
    whole: Any  # how an array lies there that each of them has as a whole

    @property
    def index(self) -> int | None:  # type: ignore[override]
        """None: there are several."""
        return None


def device(type: Any, index: int | None = None) -> Device:
    """The device of a name: ``device("cuda:0")``, ``device("cuda", 0)``; raises if it is absent."""
    if isinstance(type, int):
        type, index = "cuda", type
    name = str(type) if index is None else f"{type}:{index}"
    kind, _, number = name.partition(":")
    if kind == "cpu" and number in ("", "0"):
        return CPU
    if kind not in ("jax", *GPUS) or not (number.isdigit() or not number):
        raise DeviceError(f"no device is called {name!r}: there are {found()}")
    return _name_of(_jax_device(name, kind, int(number or 0)))


def found() -> str:
    """The devices of this machine, for messages."""
    try:
        jax = _jax()
    except ImportError:
        return '"cpu" (NumPy); JAX, which GPUs need, is not installed'
    names = [f'"{_name_of(d)}" (JAX on {d.device_kind})' for d in jax.devices()]
    return " and ".join(['"cpu" (NumPy)', *names])


def all_devices() -> list[Device]:
    """Every device of this machine: the processor, and what JAX finds where it is installed."""
    try:
        jax = _jax()
    except ImportError:
        return [CPU]
    return [CPU, *map(_name_of, jax.devices())]


def _jax_device(name: str, kind: str, index: int) -> Any:
    try:
        jax = _jax()
        several = jax.devices("gpu") if kind in GPUS else jax.devices()
    except (ImportError, RuntimeError) as error:
        raise DeviceError(f"there is no device {name!r} here: found {found()}") from error
    if index >= len(several):
        raise DeviceError(f"there is no device {name!r} here: found {found()}")
    return several[index]


def _name_of(jax_device: Any) -> Device:
    index = _jax().devices(jax_device.platform).index(jax_device)
    if jax_device.platform in GPUS:
        return Device(f"cuda:{index}")
    return Device(f"jax:{index}" if index else "jax")


def _library() -> Any:
    from tracegrad.values import jax_library  # JAX is imported when it is asked for

    return jax_library


def _jax() -> Any:
    return _library().jax


def device_array_of(x: Any) -> DeviceArray:
    """An array of another library, on a device that JAX knows, by the DLPack protocol."""
    return DeviceArray(_jax().numpy.from_dlpack(x))


# -- arrays on devices --------------------------------------------------------------------------


class DeviceArray:
    """A JAX array that ops take like a NumPy array; a write puts another JAX array in its place.

    Its operators are made from the op table (`install`).
    """

    __slots__ = ("__weakref__", "value")
    __array_priority__ = 2000
    __hash__ = object.__hash__

    def __init__(self, value: Any) -> None:
        self.value = _of_its_dtype(value) if getattr(value, "weak_type", False) else value

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.value.shape)

    @property
    def ndim(self) -> int:
        return len(self.value.shape)

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(self.value.dtype)

    @property
    def size(self) -> int:
        return int(self.value.size)

    @property
    def nbytes(self) -> int:
        return int(self.value.nbytes)

    def copy(self) -> DeviceArray:
        """The same values in a place of their own; the JAX array itself cannot change."""
        return DeviceArray(self.value)

    def item(self) -> Any:
        """The only element as a Python number."""
        return np.asarray(self.value).item()

    def __bool__(self) -> bool:
        return bool(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __len__(self) -> int:
        return len(self.value)

    def __repr__(self) -> str:
        return f"DeviceArray({np.asarray(self)!r}, {where(self)!r})"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """The numbers, brought to the processor."""
        return np.array(self.value, dtype=dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        op = TABLE.get(ufunc.__name__)
        if method != "__call__":
            return NotImplemented
        if op is not None and not kwargs:
            return run(op, inputs, {})
        return _by_name(ufunc.__name__, "numpy", (inputs, kwargs))

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return _by_name(func.__name__, func.__module__, (args, kwargs))

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """NumPy's methods, as kernels call them: the op of this name."""
        op = TABLE.get(name)
        if op is None or op.operands != ("x",):
            raise AttributeError(f"an array on a device has no {name!r}: bring it with .cpu()")

        def method(*args: Any, **kwargs: Any) -> Any:
            given = dict(zip(op.attributes, args, strict=False))
            return run(op, (self,), {**op.attributes, **given, **kwargs})

        return method

    @property
    def T(self) -> Any:
        return run(TABLE["transpose"], (self,), {"axes": None})

    def __getitem__(self, key: Any) -> Any:
        return _in_jax(lambda: self.value[_values(key)], (self,))

    def __setitem__(self, key: Any, value: Any) -> None:
        self.value = _in_jax(lambda: self.value.at[_values(key)].set(_values(value)), (self,)).value


def _of_its_dtype(array: Any) -> Any:
    """An array that JAX made of Python's numbers, which would take the dtype of what it meets."""
    with _library().wide_types(True):
        return _jax().numpy.asarray(array, array.dtype)


def install(
    binary: Mapping[str, Callable[..., Any]],
    comparisons: Mapping[str, Callable[..., Any]],
    unary: Mapping[str, Callable[..., Any]],
) -> None:
    """Gives arrays on devices their operators, from the tables of `tracegrad.tensors.methods`."""
    for name, function in (*binary.items(), *comparisons.items(), *unary.items()):
        setattr(DeviceArray, f"__{name}__", _method(function))
    for name, function in binary.items():
        setattr(DeviceArray, f"__r{name}__", _method(function, reflected=True))


def _method(function: Callable[..., Any], reflected: bool = False) -> Callable[..., Any]:
    if reflected:
        return lambda self, other: function(other, self)
    return lambda self, *other: function(self, *other)


def where(array: Any) -> Device:
    """The device of an array, a Tensor or a number."""
    array = getattr(array, "_array", array)
    if type(array) is not DeviceArray:
        return CPU
    if is_jax_tracer(array.value):
        return Device("jax")
    sharding = array.value.sharding
    if len(sharding.device_set) > 1:
        return _several(sharding)
    (jax_device,) = sharding.device_set
    return _name_of(jax_device)


def _several(sharding: Any) -> Device:
    """The devices that an array is spread over, which a mesh names."""
    jax = _jax()
    if not isinstance(sharding, jax.sharding.NamedSharding):
        raise DeviceError(f"an array is spread over devices by no mesh, {sharding}: put it on one")
    names = [_name_of(jax_device) for jax_device in sharding.mesh.devices.flat]
    place = SeveralDevices(names[0].type + ":" + ",".join(str(n.index or 0) for n in names))
    place.whole = jax.sharding.NamedSharding(sharding.mesh, jax.sharding.PartitionSpec())
    return place


def bare(leaf: Any) -> Any:
    """A Tensor's array, one of JAX where it is on a device; anything else as it is."""
    array = getattr(leaf, "_array", leaf)
    return array.value if type(array) is DeviceArray else plain(array)


def class_in_numpy(array: Any) -> type:
    """The class that what a Tensor holds has in NumPy: without axes it is a number there."""
    if type(array) is not DeviceArray:
        return type(array)
    return np.ndarray if array.ndim else array.dtype.type


def in_numpy(array: Any) -> Any:
    """What a Tensor holds as an array or number of NumPy's, brought from a device."""
    return np.asarray(array)[()] if type(array) is DeviceArray else array


def one_place(named: Iterable[tuple[str, Any]]) -> None:
    """Raises where arguments, given with their names, are on several devices.

    Numbers and arrays without axes are at home everywhere.
    """
    places: dict[Device, str] = {}
    for name, leaf in named:
        array = getattr(leaf, "_array", leaf)
        if type(array) is DeviceArray or (isinstance(array, np.ndarray) and array.ndim):
            places.setdefault(where(array), name)
    if len(places) > 1:
        shown = " and ".join(f'{name} on "{place}"' for place, name in places.items())
        raise DeviceError(
            f"arguments are on different devices, {shown}: move them to one with .to(device), "
            ".cpu() or .cuda()"
        )


def move(array: Any, place: Device) -> Any:
    """The array, on another device (itself where it is there already)."""
    if where(array) == place:
        return array
    if place == CPU:
        brought = np.array(array.value)
        return brought if brought.ndim else brought[()]
    several = isinstance(place, SeveralDevices)
    target = place.whole if several else _jax_device(place, place.type, place.index or 0)
    value = array.value if type(array) is DeviceArray else np.array(plain(array))  # JAX may share
    with _library().wide_types(True):
        return DeviceArray(_jax().device_put(value, target))


KERNEL_NAMES["_moved"] = lambda x, device: move(x, device)

to_device: OpRecord = OpRecord(
    name="to_device",
    operands=("x",),
    infer=lambda sizes, x, device: x,
    spelling={"numpy": spell("_moved(x, device)")},
    attributes={"device": ...},
    vjp=lambda ct, y, x, device: (to_device(ct, device=where(x)),),
    jvp=lambda dots, y, x, device: to_device(dots[0], device=device),
    traits=frozenset({Trait.ELEMENTWISE}),
    opaque=True,
    doc="x on another device.",
)
"""Not in the table: what a compiled function computes with stays on one device."""


# -- ops ----------------------------------------------------------------------------------------

_kernels: dict[tuple[OpRecord, Spelling], Callable[..., Any]] = {}
_dtypes: dict[Any, Any] = {}
MOST_KNOWN = 20_000  # of these, which are told by shapes
_NO_SIZES = Sizes()


def run(op: Any, arrays: Sequence[Any], attributes: Mapping[str, Any], like: Any = None) -> Any:
    """One op on arrays of which one (or else `like`) is on a device: it runs there."""
    if op.opaque:
        return op.kernel(attributes)(*arrays, **attributes)
    place = _common_device(op, [] if like is None else [like], arrays)
    made = _in_jax(lambda: _computed(op, arrays, attributes), arrays)
    if not any(type(x) is DeviceArray for x in arrays):  # a constant, made on JAX's own choice
        several = made if isinstance(made, tuple) else (made,)
        moved = tuple(move(x, place) for x in several)
        return moved if isinstance(made, tuple) else moved[0]
    return made


def run_on_jax(like: Any, op: Any, arrays: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    """One op on JAX's own arrays, or on its tracers: what it gives is JAX's own as well."""
    given = [DeviceArray(x) if is_jax_array(x) else x for x in arrays]
    made = _in_jax(lambda: _computed(op, given, attributes), given)
    if isinstance(made, tuple):
        return tuple(map(bare, made))
    return bare(made)


HANDLERS[JaxArray] = run_on_jax


def beside_jax(operands: Sequence[Any], as_numpy: bool) -> list[Any]:
    """Operands that hold arrays of JAX beside Tensors: as Tensors, all of them on one device.

    `as_numpy`: in a function of NumPy's arrays they are read as such.
    """
    found = [as_held(x) if is_jax_array(x) else x for x in operands]
    held = [getattr(x, "_array", x) for x in found]
    given = [a for a, x in zip(held, operands, strict=True) if is_jax_array(x)]
    if as_numpy and sum(type(a) is DeviceArray for a in held) == len(given):
        return [np.asarray(x) if type(x) is DeviceArray else x for x in found]
    if any(is_jax_tracer(a.value) for a in given):
        return found
    place = _meeting_place(held if as_numpy else given)
    return [
        _brought(x, a, place) if hasattr(x, "_array") or not _is_committed(a) else x
        for x, a in zip(found, held, strict=True)
    ]


def brought_together(op: Any, operands: Sequence[Any]) -> list[Any]:
    """Operands of an op in a function of arrays, of which one is on a device: NumPy's go there.

    So it is in JAX: what a function closes over, or makes with NumPy, meets what it is called with.
    """
    held = [getattr(x, "_array", x) for x in operands]
    place = _meeting_place(held)
    if place == CPU:  # a tracer: where it runs is up to JAX
        return list(operands)
    indexed = "index" in op.attributes
    return [
        x if indexed and not is_inexact(type_of(array).dtype) else _brought(x, array, place)
        for x, array in zip(operands, held, strict=True)
    ]


def with_numbers_there(operands: Sequence[Any], there: DeviceArray) -> list[Any]:
    """Operands of an op on a device: numbers of the processor that have a history go there first.

    Others are at home everywhere. The gradient of these comes back by the step that took them.
    """
    return [
        to_device(x, device=where(there)) if getattr(x, "_node", None) and is_number_here(x) else x
        for x in operands
    ]


def is_number_here(x: Any) -> bool:
    """Whether a Tensor, or what it holds, is one number in the memory of the processor."""
    array = getattr(x, "_array", x)
    return isinstance(array, np.ndarray | np.generic) and array.ndim == 0


def _meeting_place(held: Sequence[Any]) -> Device:
    """Where the arrays of an op come together: where one is committed, as in JAX."""
    there = [a for a in held if type(a) is DeviceArray]
    if any(is_jax_tracer(a.value) for a in there):
        return CPU
    return where(next(filter(_is_committed, there), there[0]))


def _is_committed(array: Any) -> bool:
    """Whether an array is on a device because somebody has put it there."""
    return type(array) is DeviceArray and getattr(array.value, "committed", True)


def _brought(x: Any, array: Any, place: Device) -> Any:
    """An operand at the meeting place; one that was put elsewhere stays, and is told by name."""
    if type(array) is DeviceArray:
        stays = _is_committed(array) or where(array) == place
    else:
        stays = not (isinstance(array, np.ndarray) and array.ndim)
    if stays:
        return x
    return to_device(x, device=place) if hasattr(x, "_array") else move(array, place)


def refuse_devices(op: Any, operands: Sequence[Any]) -> None:
    """Raises when a function that is being traced meets a Tensor on a device."""
    for x in operands:
        if type(getattr(x, "_array", None)) is DeviceArray:
            raise DeviceError(
                f'{op.name}: a function that is being compiled met a Tensor on "{where(x)}"; '
                "programs take NumPy arrays (backend= says where they run): bring it with .cpu()"
            )


def as_held(array: Any) -> DeviceArray:
    """An array of JAX as Tensors hold it; raises for numbers that NumPy has not."""
    if not is_numeric(array.dtype):
        raise DeviceError(f"a Tensor holds numbers that NumPy has, not {array.dtype} of JAX")
    return DeviceArray(array)


def _computed(op: Any, arrays: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    """What the JAX spelling of an op gives, in the dtype of the type rule."""
    function = _kernel(op, attributes)
    dtype = _result_dtype(op, arrays, attributes)
    values = [x.value if type(x) is DeviceArray else x for x in arrays]
    if Trait.NUMERIC in op.traits and dtype is not None and is_inexact(dtype):
        values = [_as_number(value) for value in values]
    result = function(*values, **attributes)
    if not _is_sound(op, result, arrays, attributes):
        return _of_numpy(op, arrays, attributes)
    if isinstance(result, tuple | list) or dtype is None or _dtype(result) == dtype:
        return result
    joins = op.operands[:1] and op.operands[0].startswith("*")
    if joins or (is_inexact(dtype) and Trait.ELEMENTWISE in op.traits):
        values = [_widened(value, dtype) for value in values]
        result = function(*values, **attributes)
    return _jax().numpy.asarray(result, dtype=dtype)


def _as_number(value: Any) -> Any:
    """A mask as 0 and 1: XLA takes its product with nan for 0 (`codegen.emit.jax.casts`)."""
    return value.astype("int8") if _dtype(value) == "bool" else value


def _is_sound(op: Any, result: Any, arrays: Sequence[Any], attributes: Mapping[str, Any]) -> bool:
    """Whether NumPy raises nothing for what JAX has gone on with: an index, a matrix."""
    if op.sound is None or any(type(x) is DeviceArray and is_jax_tracer(x.value) for x in arrays):
        return True
    several = isinstance(result, tuple | list)
    y = tuple(map(_wrapped, result)) if several else _wrapped(result)
    return all(map(bool, op.sound(y, *arrays, **attributes)))


def _of_numpy(op: Any, arrays: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    """What NumPy gives, or raises, for arrays that are brought to the processor."""
    plain_arrays = [np.asarray(x) if type(x) is DeviceArray else x for x in arrays]
    result = op.kernel(attributes)(*plain_arrays, **attributes)
    place = next(where(x) for x in arrays if type(x) is DeviceArray)
    several = isinstance(result, tuple | list)
    moved = [move(np.asarray(x), place).value for x in (result if several else (result,))]
    return tuple(moved) if several else moved[0]


def _run_here(like: DeviceArray, op: Any, operands: Sequence[Any], attributes: Any) -> Any:
    """The op on the device, unless a Tensor, or what else has rules, is among its operands."""
    for operand in operands:
        handler = HANDLERS.get(type(operand))
        if handler is not None and handler is not _run_here:
            return handler(operand, op, operands, attributes)
    return run(op, operands, attributes, like)


def first_on_device(arrays: Sequence[Any]) -> DeviceArray | None:
    """The first of these arrays that lies on a device."""
    for array in arrays:
        if type(array) is DeviceArray:
            return array
    return None


def kernel_where(like: Any, op: Any, attributes: Mapping[str, Any]) -> Callable[..., Any]:
    """The function that runs an op where an array is."""
    if type(like) is DeviceArray:
        return lambda *arrays, **attributes: run(op, arrays, attributes, like)
    kernel: Callable[..., Any] = op.kernel(attributes)
    return kernel


def _common_device(op: Any, deciding: Sequence[Any], arrays: Sequence[Any]) -> Device:
    """The one device of the operands; numbers and arrays without axes are at home everywhere."""
    if "index" in op.attributes:  # arrays of indices may come from anywhere
        arrays = [x for x in arrays if is_inexact(type_of(x).dtype)]
    every = [x for x in (*deciding, *arrays) if np.ndim(x) or type(x) is DeviceArray]
    if any(type(x) is DeviceArray and is_jax_tracer(x.value) for x in every):
        return CPU  # where it runs is up to JAX
    places = {where(x): x for x in every}
    if len(places) != 1:
        shown = " and ".join(f'"{p}" (shape {np.shape(x)})' for p, x in places.items())
        raise DeviceError(
            f"{op.name}: its operands are on different devices, {shown}: move them to one with "
            ".to(device), .cpu() or .cuda()"
        )
    (place,) = places
    return place


def _kernel(op: OpRecord, attributes: Mapping[str, Any]) -> Callable[..., Any]:
    spelling = op.spelled("jax", attributes)
    found = _kernels.get((op, spelling))
    if found is None:
        jax = _jax()
        names = {"jax": jax, "jnp": jax.numpy, "lax": jax.lax}
        names |= op.needed("jax", spelling, names)
        found = kernel(spelling, op.operands, tuple(op.attributes), names)
        _kernels[op, spelling] = found
    return found


def _result_dtype(op: Any, arrays: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    """The dtype that NumPy gives the result, by the type rule; None for several results.

    The rule raises what NumPy does for shapes that the op does not take, where JAX may not.
    """
    types = tuple(map(type_of, arrays))
    shown = tuple((name, attribute_key(_NO_SIZES, value)) for name, value in attributes.items())
    key = (op, types, shown)
    if key not in _dtypes:
        if len(_dtypes) > MOST_KNOWN:
            _dtypes.clear()
        inferred = op.infer(Sizes(), *types, **attributes)
        _dtypes[key] = inferred.dtype if isinstance(inferred, ArrayType) else None
    return _dtypes[key]


def _widened(value: Any, dtype: str) -> Any:
    """An operand in the dtype of the result, where JAX would compute in a narrower one."""
    if not hasattr(value, "dtype") or value.dtype == bool:
        return value
    return value.astype(dtype)


def _dtype(result: Any) -> str | None:
    return getattr(getattr(result, "dtype", None), "name", None)


def _in_jax(compute: Callable[[], Any], arrays: Sequence[Any] = ()) -> Any:
    """What `compute` gives, with 64-bit types, its JAX arrays as arrays of ours.

    Of tracers among the `arrays` JAX makes what it lowers in the types that it has itself.
    """
    traced = any(type(x) is DeviceArray and is_jax_tracer(x.value) for x in arrays)
    with _library().own_types() if traced else _library().wide_types(True):
        result = compute()
    if isinstance(result, tuple | list):
        return tuple(_wrapped(x) for x in result)
    return _wrapped(result)


def zeros_beside(x: Any) -> Any:
    """Zeros like an array of JAX, on its devices and laid out there as it is."""
    return bare(_in_jax(lambda: _jax().numpy.zeros_like(x), (DeviceArray(x),)))


def _wrapped(x: Any) -> Any:
    return DeviceArray(x) if isinstance(x, _jax().Array) else x


def _by_name(name: str, module: str, given: Any) -> Any:
    """NumPy's function of this name, run by JAX's of the same name."""
    scope = _jax().numpy
    for part in module.split(".")[1:]:
        scope = getattr(scope, part, scope)
    function = getattr(scope, name, None)
    if function is None:
        raise DeviceError(f"np.{name} cannot run on a device: move the Tensor with .cpu() first")
    args, kwargs = _values(given)
    return _in_jax(lambda: function(*args, **kwargs), given[0])


def _values(x: Any) -> Any:
    """A structure with JAX arrays in place of ours."""
    if type(x) is DeviceArray:
        return x.value
    if isinstance(x, tuple | list):
        return type(x)([_values(item) for item in x])
    return {key: _values(item) for key, item in x.items()} if isinstance(x, dict) else x


HANDLERS[DeviceArray] = _run_here
TYPES[DeviceArray] = lambda x: ArrayType(x.dtype.name, x.shape)
