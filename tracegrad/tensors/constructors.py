"""Makes Tensors of data: copied (`tensor`), or sharing their memory (`as_tensor`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracegrad.errors import DTypeError
from tracegrad.ops.arguments import holds_tensors, stacked
from tracegrad.ops.dtypes import get_default_dtype
from tracegrad.ops.record import TABLE
from tracegrad.ops.shape.creation import dtype_name, tensor_of
from tracegrad.runtime.array_manners import note_results
from tracegrad.runtime.thread_state import STATE
from tracegrad.tensors.coercion import (
    array_for,
    constant_for,
    refuse_subclass,
    shared_array_for,
)
from tracegrad.tensors.devices import device_array_of
from tracegrad.tensors.tensor import Tensor, wrap
from tracegrad.values.dispatch import HANDLERS, SEQUENCES, dtype_of, is_jax_array

DLPACK_CPU = 1
"""What `__dlpack_device__` calls the processor."""


def tensor(data: Any, dtype: Any = None, requires_grad: bool = False, device: Any = None) -> Tensor:
    """A Tensor with a copy of the data.

    Examples
    --------
    >>> import tracegrad as tg
    >>> tg.tensor([1, 2]), tg.tensor([1, 2], requires_grad=True)
    (tensor([1, 2]), tensor([1., 2.], requires_grad=True))
    """
    made = _copied(data, dtype)
    if requires_grad and dtype is None and made.dtype.kind in "biu":
        made = made.to(dtype=get_default_dtype())
    if device is not None:
        made = made.to(device=device)
    return made.requires_grad_() if requires_grad else made


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """A Tensor of the data, which shares the memory of a NumPy array of the same dtype.

    What NumPy writes into the array is seen by the Tensor. A backward that needs what the array
    held before raises; it is never silently wrong.

    Examples
    --------
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> array = np.zeros(2)
    >>> shared = tg.as_tensor(array)
    >>> array[0] = 1.0
    >>> shared
    tensor([1., 0.])
    """
    if isinstance(data, Tensor):
        made = data
    elif isinstance(data, SEQUENCES):
        made = _copied(data, dtype)
    else:
        made = _noted(wrap(shared_array_for(data, dtype)), data)
    return made.to(dtype=dtype, device=device)


def _copied(data: Any, dtype: Any) -> Tensor:
    """A Tensor with a copy of the data, which is no array of NumPy's to anybody."""
    made: Tensor | None = constant_for(data, dtype)
    if made is None:
        made = wrap(array_for(data, dtype))
        note_results((), (made,))
    return made


@tensor_of.by
def asarray(data: Any, dtype: Any = None, copy: bool | None = None, device: Any = None) -> Any:
    """The data as a Tensor, sharing memory where it can (never with ``copy=True``).

    Lists of Tensors, nested or beside numbers, are stacked, so gradients flow to them.

    Examples
    --------
    >>> import tracegrad as tg
    >>> x = tg.tensor([1.0, 2.0], requires_grad=True)
    >>> tg.asarray([x[0] * x[1], 3.0]).sum().backward()
    >>> x.grad
    tensor([2., 1.])
    """
    if isinstance(data, SEQUENCES) and holds_tensors(data):
        data = stacked(data)
    if type(data) in HANDLERS:
        if dtype is not None and dtype_name(dtype) != dtype_of(data):
            if copy is False:
                raise ValueError("asarray: another dtype takes a copy, and copy=False is given")
            return TABLE["astype"](data, dtype=dtype_name(dtype))
        return TABLE["copy"](data) if copy else data
    if copy is False and not isinstance(data, np.ndarray):
        raise ValueError("asarray: a copy cannot be avoided here")
    if is_jax_array(data):
        made = wrap(array_for(data, dtype))
        return made if device is None else made.to(device=device)
    if isinstance(data, np.ma.MaskedArray):
        refuse_subclass(data, "the data")
    own = copy or isinstance(data, (*SEQUENCES, complex, float, int))
    made = _noted(Tensor(np.asarray(data, dtype=dtype), copy=bool(own)), data)
    return made if device is None else made.to(device=device)


def _noted(made: Tensor, data: Any) -> Tensor:
    """A Tensor that a function makes of data: it stands for an array from outside, or for none."""
    world = None if STATE.machine is None else STATE.machine.world
    if type(data) is not np.ndarray or (world is not None and world.has_made(data)):
        note_results((), (made,))
    return made


def from_numpy(array: np.ndarray) -> Tensor:
    """A Tensor that shares the memory of a NumPy array; see `as_tensor`."""
    if not isinstance(array, np.ndarray):
        raise DTypeError(f"from_numpy takes a NumPy array, not {type(array).__name__}")
    return as_tensor(array)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A Tensor of the array of another library, by the DLPack protocol.

    It shares the array's memory where that is possible (never with ``copy=True``), and stays where
    the array is unless a `device` is named.

    Examples
    --------
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.from_dlpack(np.arange(3))
    tensor([0, 1, 2])
    """
    if isinstance(x, Tensor):
        made = x.detach()
        made = made.clone() if copy else made
    elif x.__dlpack_device__()[0] == DLPACK_CPU:
        made = as_tensor(np.from_dlpack(x, copy=copy))
    else:
        made = wrap(device_array_of(x))
    return made if device is None else made.to(device=device)
