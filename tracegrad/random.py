"""Shapes enter, Tensors of random numbers leave: draws from one generator that can be restarted.

The generator serves the whole process, as in PyTorch; `manual_seed` restarts it. Its draws cannot
be part of a compiled function, which would repeat them: there they are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracegrad.dtypes import get_default_dtype
from tracegrad.errors import ArgumentError, DTypeError, TraceError
from tracegrad.state import STATE
from tracegrad.tensor import Tensor, wrap

_generator = np.random.default_rng()


def manual_seed(seed: int) -> None:
    """The draws that follow are the same whenever they follow the same seed.

    Examples
    --------
    >>> import tracegrad as tg
    >>> tg.manual_seed(0)
    >>> first = tg.rand(3)
    >>> tg.manual_seed(0)
    >>> bool((tg.rand(3) == first).all())
    True
    """
    global _generator
    _generator = np.random.default_rng(seed)


def rand(*shape: Any, dtype: Any = None, requires_grad: bool = False, device: Any = None) -> Tensor:
    """Numbers drawn evenly from [0, 1): ``tg.rand(3, 4)`` or ``tg.rand((3, 4))``."""
    drawn = _drawing("rand").random(_shape(shape), dtype=_floating("rand", dtype))
    return _tensor(drawn, requires_grad, device)


def randn(
    *shape: Any, dtype: Any = None, requires_grad: bool = False, device: Any = None
) -> Tensor:
    """Numbers of the standard normal distribution.

    Examples
    --------
    >>> import tracegrad as tg
    >>> tg.randn(3, 4, requires_grad=True).shape
    (3, 4)
    """
    drawn = _drawing("randn").standard_normal(_shape(shape), dtype=_floating("randn", dtype))
    return _tensor(drawn, requires_grad, device)


def rand_like(x: Any, dtype: Any = None, requires_grad: bool = False, device: Any = None) -> Tensor:
    """`rand` of the shape of `x`, and of its dtype and device unless others are given."""
    dtype, device = _like(x, dtype, device)
    return rand(_shape_of(x), dtype=dtype, requires_grad=requires_grad, device=device)


def randn_like(
    x: Any, dtype: Any = None, requires_grad: bool = False, device: Any = None
) -> Tensor:
    """`randn` of the shape of `x`, and of its dtype and device unless others are given."""
    dtype, device = _like(x, dtype, device)
    return randn(_shape_of(x), dtype=dtype, requires_grad=requires_grad, device=device)


def randint(
    low: int,
    high: Any = None,
    size: Any = None,
    *,
    dtype: Any = np.int64,
    requires_grad: bool = False,
    device: Any = None,
) -> Tensor:
    """Integers drawn evenly from ``low, ..., high - 1``; `low` may be left out and is 0 then.

    Examples
    --------
    >>> import tracegrad as tg
    >>> tg.randint(10, (2, 3)).shape, tg.randint(5, 10, (4,)).shape
    ((2, 3), (4,))
    """
    if size is None and isinstance(high, Sequence):
        high, size = None, high
    if size is None:
        raise ArgumentError("randint: give a shape: tg.randint(10, (2, 3))")
    if high is None:
        low, high = 0, low
    drawn = _drawing("randint").integers(low, high, size=_shape((size,)))
    return _tensor(drawn.astype(dtype), requires_grad, device)


def randperm(
    n: int, *, dtype: Any = np.int64, requires_grad: bool = False, device: Any = None
) -> Tensor:
    """The integers ``0, ..., n - 1`` in random order."""
    drawn = _drawing("randperm").permutation(n)
    return _tensor(drawn.astype(dtype), requires_grad, device)


def normal(
    mean: Any = 0.0,
    std: Any = 1.0,
    size: Any = None,
    *,
    dtype: Any = None,
    requires_grad: bool = False,
    device: Any = None,
) -> Tensor:
    """Normal numbers of this mean and standard deviation, which may be Tensors with gradients.

    Without `size` the shape is that to which mean and std broadcast.
    """
    shape = np.broadcast_shapes(_shape_of(mean), _shape_of(std)) if size is None else size
    drawn: Tensor = randn(shape, dtype=dtype, device=device) * std + mean
    return drawn.requires_grad_() if requires_grad else drawn


def _drawing(name: str) -> np.random.Generator:
    if STATE.trace is not None:
        raise TraceError(
            f"tg.{name} in a compiled function would draw once and repeat it on every call: "
            "draw outside and pass the numbers in as an argument"
        )
    return _generator


def _shape(given: tuple[Any, ...]) -> tuple[int, ...]:
    """``3, 4`` or ``(3, 4)``."""
    if len(given) == 1 and isinstance(given[0], Sequence):
        given = tuple(given[0])
    return tuple([int(n) for n in given])


def _shape_of(x: Any) -> tuple[int, ...]:
    return x.shape if isinstance(x, Tensor) else np.shape(x)


def _floating(name: str, dtype: Any) -> Any:
    chosen = get_default_dtype() if dtype is None else np.dtype(dtype)
    if chosen not in (np.float32, np.float64):
        raise DTypeError(f"tg.{name} draws float32 or float64, not {chosen}: use .astype()")
    return chosen


def _like(x: Any, dtype: Any, device: Any) -> tuple[Any, Any]:
    dtype = getattr(x, "dtype", None) if dtype is None else dtype
    return dtype, getattr(x, "device", None) if device is None else device


def _tensor(array: Any, requires_grad: bool, device: Any) -> Tensor:
    tensor = wrap(np.asarray(array))
    if device is not None:
        tensor = tensor.to(device)
    return tensor.requires_grad_() if requires_grad else tensor


__all__ = [
    "manual_seed",
    "normal",
    "rand",
    "rand_like",
    "randint",
    "randn",
    "randn_like",
    "randperm",
]
