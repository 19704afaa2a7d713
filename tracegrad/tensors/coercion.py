"""Makes arrays that a Tensor can hold of data of any kind."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracegrad.errors import ArgumentError, DTypeError
from tracegrad.ops.arguments import holds_tensors, stacked
from tracegrad.ops.dtypes import get_default_dtype, natural_dtype
from tracegrad.ops.elementwise.ufuncs import astype
from tracegrad.runtime.thread_state import STATE
from tracegrad.runtime.values_in_traces import in_trace
from tracegrad.tape.foreign_arrays import Foreign, foreign, plain
from tracegrad.tensors.devices import DeviceArray, as_held, bare
from tracegrad.values.dispatch import SEQUENCES, is_jax_array, is_number


def refuse_subclass(array: np.ndarray, what: str) -> None:
    """Raises for an array with rules of its own, which no op knows: a mask, products by ``*``.

    `what` names the array in the message.
    """
    kind = type(array)
    if kind in (np.ndarray, Foreign):
        return
    if isinstance(array, np.ma.MaskedArray):  # np.ma is imported when it is named
        raise ArgumentError(
            f"{what} is a {kind.__name__}, whose mask a program would lose: pass its .data and "
            ".mask, or .filled(...)"
        )
    raise ArgumentError(
        f"{what} is a {kind.__name__}, a subclass of ndarray with rules of its own: pass "
        "np.asarray(...) of it"
    )


def constant_for(data: Any, dtype: Any = None) -> Any:
    """A recorded copy of what is in the trace that runs, through which no gradient flows.

    That is a value, one from outside as well, or nested numbers with values among them. None of
    other data. It is a Tensor to everybody, as the function itself makes one.
    """
    of_python = not tells_dtype(data)
    if isinstance(data, SEQUENCES) and STATE.trace is not None and holds_tensors(data):
        data = stacked(data)
    elif not hasattr(data, "_traced") or in_trace(data) is None:
        return None
    made = (data if data._is_traced else data.detach())._as_constant()
    dtype = natural_dtype(made) if dtype is None and of_python else dtype
    made = made if dtype is None else astype(made, dtype=np.dtype(dtype).name)
    STATE.trace.shown.add(made._traced[1])
    return made


def floats_for(data: Any, dtype: Any, copy: bool) -> tuple[Any, Any]:
    """An array for the data, and its value in the trace that runs, if it has one there.

    Whole numbers of Python's become floats.
    """
    made = found = constant_for(data, dtype)
    if found is None:
        found = array_for(data, dtype) if copy else shared_array_for(data, dtype)
    if dtype is None and found.dtype.kind in "biu" and not tells_dtype(data):
        found = found.astype(get_default_dtype())
    return (found, None) if made is None else (found._array, found._traced)


def tells_dtype(data: Any) -> bool:
    """Whether data have a dtype of their own, which numbers of Python's and lists have not."""
    return hasattr(data, "dtype") and not is_number(getattr(data, "_array", data))


def array_for(data: Any, dtype: Any = None) -> Any:
    """A copy of the data: of nested numbers, an array or what a Tensor holds."""
    data = as_held(data) if is_jax_array(data) else getattr(data, "_array", data)
    if isinstance(data, np.ma.MaskedArray):
        refuse_subclass(data, "the data")
    if type(data) is DeviceArray:
        if dtype is None or np.dtype(dtype) == data.dtype:
            return data.copy()
        return astype(data, dtype=np.dtype(dtype).name)
    array = np.array(data, dtype=dtype)
    if dtype is None and not hasattr(data, "dtype"):
        array = array.astype(natural_dtype(array), copy=False)
    return _of_numbers(array)


def shared_array_for(data: Any, dtype: Any = None) -> Any:
    """The memory of a NumPy array of this dtype, watched; a copy of anything else."""
    if not isinstance(data, np.ndarray) or isinstance(data, np.ma.MaskedArray):
        return array_for(data, dtype)
    array = _of_numbers(np.asarray(data, dtype=dtype))
    return foreign(array) if np.may_share_memory(array, data) else array


def _of_numbers(array: np.ndarray) -> np.ndarray:
    if array.dtype.kind not in "biufc":
        raise DTypeError(f"a Tensor holds numbers, not {array.dtype}").as_refusal()
    return array


def with_memory(array: Any) -> Any:
    """A number or NumPy scalar as an array, which others can share and writes can change."""
    return array if isinstance(array, np.ndarray | DeviceArray) else np.asarray(array)


def bare_memory(leaf: Any) -> Any:
    """As `bare`; a number's array is one without axes, which can be written to."""
    if isinstance(getattr(leaf, "_array", None), np.generic):
        leaf._array = with_memory(leaf._array)
    return bare(leaf)


def copy_of(array: Any) -> Any:
    """The same numbers in memory of their own."""
    return array.copy() if type(array) is DeviceArray else np.array(plain(array))


def laid_out_like(before: Any, array: Any) -> Any:
    """An array that stands for another one from now on, and lies in memory as that did.

    The layout decides which reshape of it is a view. An array without axes stays an array, which
    others may hold, where what is computed of it is a number.
    """
    before, array = plain(before), without_axes_like(before, array)
    if not isinstance(array, np.ndarray) or not isinstance(before, np.ndarray):
        return array
    strides = before.strides
    if array.shape != before.shape or array.strides == strides or array.size < 2:
        return array
    spans = [step * (n - 1) for step, n in zip(strides, before.shape, strict=True)]
    start = sum(span for span in spans if span < 0)
    size = sum(map(abs, spans)) + array.itemsize
    of_type = not size % array.itemsize  # else its fields lie in those of another array
    memory = np.empty(size // array.itemsize, array.dtype) if of_type else np.empty(size, np.uint8)
    laid = np.ndarray(array.shape, array.dtype, memory, -start, strides)
    laid[...] = plain(array)
    return laid


def without_axes_like(before: Any, array: Any) -> Any:
    """What has no axes as an array or as a NumPy scalar, as what it stands for now is one."""
    if isinstance(before, np.ndarray) and isinstance(array, np.generic):
        return with_memory(array)
    if isinstance(before, np.generic) and isinstance(array, np.ndarray) and not array.ndim:
        return plain(array)[()]
    return array


def copy_with_gaps(array: Any) -> Any:
    """A copy that has gaps where a part had them, which decide whether its `ravel` is a view."""
    if type(array) is not np.ndarray or array.flags.c_contiguous:
        return array.copy()
    if array.ndim > 1:
        return laid_out_like(array, array.copy())
    made = np.empty((len(array), 2), array.dtype)[:, 0]
    made[...] = array
    return made
