"""Methods of Tensors that convert: to another dtype, to another device, copies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracegrad.errors import GradientError
from tracegrad.ops.dtypes import ALIASES
from tracegrad.ops.elementwise import ufuncs as ew
from tracegrad.ops.shape.reshaping import reshape
from tracegrad.runtime.array_manners import is_array_to_function
from tracegrad.runtime.values_in_traces import in_trace, read_whole
from tracegrad.tensors.coercion import copy_of, without_axes_like
from tracegrad.tensors.devices import (
    CPU,
    GPUS,
    Device,
    DeviceArray,
    DeviceError,
    SeveralDevices,
    device,
    to_device,
    where,
)
from tracegrad.tensors.given_to_jax import refused_by_jax
from tracegrad.tensors.tensor import Tensor, sharing, wrap
from tracegrad.values.dispatch import is_scalar, shape_of

PLACES = ("cpu", "jax", *GPUS)
TYPE_NAMES = {
    "bool": "Bool",
    "complex128": "ComplexDouble",
    "complex64": "ComplexFloat",
    "float32": "Float",
    "float64": "Double",
    "int16": "Short",
    "int32": "Int",
    "int64": "Long",
    "int8": "Char",
    "uint8": "Byte",
}


# -- dtypes and devices -------------------------------------------------------------------------


def to(
    x: Tensor,
    *args: Any,
    dtype: Any = None,
    device: Any = None,
    copy: bool = False,
    non_blocking: bool = False,
) -> Tensor:
    """In another dtype, on another device, or as another Tensor is; itself if it is so already.

    Examples
    --------
    >>> import tracegrad as tg
    >>> tg.ones(2).to("float32").dtype, tg.ones(2).to("cpu").device
    (dtype('float32'), device(type='cpu'))
    """
    for wish in args:
        if isinstance(wish, Tensor):
            device, dtype = wish.device, wish.dtype
        elif isinstance(wish, int) or _names_a_place(wish):
            device = wish
        else:
            dtype = wish
    result = x if device is None else moved(x, device)
    if dtype is not None and np.dtype(dtype) != result.dtype:
        result = ew.astype(result, dtype=np.dtype(dtype).name)
    return clone(result) if copy and result is x else result


def _names_a_place(wish: Any) -> bool:
    return isinstance(wish, str) and wish.partition(":")[0] in PLACES


def moved(x: Tensor, place: Any) -> Tensor:
    """On another device, with its history; itself when it is there."""
    place = place if isinstance(place, Device) else device(place)
    if where(x) == place:
        return x
    if x._is_traced:
        raise DeviceError(
            "inside a compiled function values stay where its backend runs: choose it with "
            'backend="jax", or move the arguments and the result'
        )
    there: Tensor = to_device(x, device=place)
    return there


def cpu(x: Tensor) -> Tensor:
    """On the processor, as a NumPy array."""
    return moved(x, CPU)


def cuda(x: Tensor, index: int = 0) -> Tensor:
    """On a GPU; raises when there is none, naming what was found."""
    return moved(x, f"cuda:{index}")


def to_device_of_standard(x: Tensor, device: Any, /, *, stream: Any = None) -> Tensor:
    """`to`, under the array API standard's name."""
    return moved(x, device)


def type_of_arrays(x: Tensor, dtype: Any = None) -> Any:
    """PyTorch's name of the class of arrays, or the Tensor in another dtype."""
    if dtype is not None:
        return to(x, dtype=dtype)
    return f"tracegrad.{TYPE_NAMES.get(x.dtype.name, x.dtype.name)}Tensor"


def type_as(x: Tensor, other: Tensor) -> Tensor:
    """In the dtype, and on the device, of another Tensor."""
    return to(x, other)


def _in_dtype(name: str, dtype: str) -> Callable[[Tensor], Tensor]:
    def method(self: Tensor) -> Tensor:
        return to(self, dtype=dtype)

    method.__name__ = name
    method.__doc__ = f"In {dtype}."
    return method


# -- memory -------------------------------------------------------------------------------------


def is_contiguous(x: Tensor) -> bool:
    """True when the elements lie in memory in the order of the axes."""
    if x._is_traced and x.ndim:
        x._traced[0].read("how an array lies in memory")
    read_whole(x)
    flags = getattr(x._array, "flags", None)
    return flags is None or bool(flags.c_contiguous)


def contiguous(x: Tensor) -> Tensor:
    """The Tensor, or a copy of it whose elements lie in the order of the axes."""
    if in_trace(x) is None and is_contiguous(x):
        return x
    row: Tensor = reshape(x, -1)  # a copy, in the order of the axes
    return reshape(row, shape_of(x))  # type: ignore[no-any-return]


def dlpack(
    x: Tensor,
    *,
    stream: Any = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[Any, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """The memory for other libraries, by the DLPack protocol, whose arguments these are."""
    array = x._array.value if type(x._array) is DeviceArray else x.__array__()
    return array.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)


def dlpack_device(x: Tensor) -> Any:
    """Where that memory is."""
    array = x._array.value if type(x._array) is DeviceArray else np.asarray(x._array)
    return array.__dlpack_device__()


# -- copies -------------------------------------------------------------------------------------


def clone(x: Tensor) -> Tensor:
    """The same values in memory of their own; gradients flow through."""
    copied: Tensor = ew.copy(x)
    return copied


def deep_copy(x: Tensor, memo: dict[int, Any]) -> Tensor:
    """A leaf with values and gradient of its own; an array's copy, which gradients flow through.

    Of a number it is that number.
    """
    if is_array_to_function(x):
        number = is_scalar(x._array)
        memo[id(x)] = copied = x if number else x.copy()  # type: ignore[attr-defined]
        return copied
    if not x.is_leaf:
        raise GradientError(
            "only leaves can be copied by deepcopy, and this Tensor was made by an op: "
            "use x.detach().clone(), or x.clone() to keep its history"
        )
    if x._is_traced:
        if x.requires_grad:
            raise GradientError(
                "deepcopy of a value that is being differentiated would lose its gradient: "
                "use x.clone(), or x.detach().clone() where the gradient is to end"
            )
        memo[id(x)] = clone(x)
    elif id(x) not in memo:
        read_whole(x)
        copied = memo[id(x)] = wrap(without_axes_like(x._array, copy_of(x._array)))
        copied._node = x._node
        copied._grad = None if x._grad is None else deep_copy(x._grad, memo)
    found: Tensor = memo[id(x)]
    return found


def shallow_copy(x: Tensor) -> Tensor:
    """Another Tensor of the same memory and history; of a number that number."""
    if is_scalar(x._array) and is_array_to_function(x):
        return x
    if not x._is_traced and in_trace(x) is not None:
        looking: Tensor = ew.alias(x)
        return looking
    copied = sharing(x)
    copied._node = x._node
    return copied


def reduce(x: Tensor) -> tuple[Any, ...]:
    """What pickle keeps: the values, whether they require grad, and the device."""
    if x._is_traced:
        x._traced[0].read("the bytes of an array")
    read_whole(x)
    place = x.device
    name = place.type if isinstance(place, SeveralDevices) else str(place)
    return (unpickled, (np.array(x._array), x.requires_grad, name))


def unpickled(array: np.ndarray, requires_grad: bool, place: str) -> Tensor:
    """A leaf as pickle kept it."""
    made = moved(wrap(array), place)
    return made.requires_grad_() if requires_grad else made


METHODS: dict[str, Callable[..., Any]] = {
    "__copy__": shallow_copy,
    "__deepcopy__": deep_copy,
    "__dlpack__": dlpack,
    "__dlpack_device__": dlpack_device,
    "__reduce__": reduce,
    "clone": clone,
    "contiguous": contiguous,
    "cpu": cpu,
    "cuda": cuda,
    "is_contiguous": is_contiguous,
    "to": to,
    "to_device": to_device_of_standard,
    "type": type_of_arrays,
    "type_as": type_as,
    **{name: _in_dtype(name, dtype) for name, dtype in {**ALIASES, "bool": "bool"}.items()},
}


def install(cls: Any) -> None:
    """Gives Tensors these methods."""
    for name, function in METHODS.items():
        setattr(cls, name, function)
    cls.__jax_array__ = property(refused_by_jax)
