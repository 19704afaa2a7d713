"""Normalization layers: mean 0 and variance 1 over some axes."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index as as_int
from typing import Any

import numpy as np

from codegen import sizes as sz
from codegen.types import is_inexact
from tracegrad.errors import ArgumentError, ShapeError
from tracegrad.ops.arguments import as_array
from tracegrad.ops.elementwise.activations import as_inexact
from tracegrad.ops.elementwise.ufuncs import sqrt, stop_gradient
from tracegrad.ops.reductions.row_normalization import standardize
from tracegrad.ops.reductions.sums_and_extremes import mean
from tracegrad.ops.shape.creation import count
from tracegrad.ops.shape.reshaping import expand_axes, length_of, one_or_many, reshape_to, sizes_of
from tracegrad.values.dispatch import HANDLERS, dtype_of, ndim_of, shape_of

EPSILON = {"bfloat16": 2.0**-7, "float16": 2.0**-10, "float32": 2.0**-23, "float64": 2.0**-52}
EPSILON |= {"complex64": EPSILON["float32"], "complex128": EPSILON["float64"]}
"""The spacing of a dtype at 1."""


def layer_norm(
    input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    """`input` with mean 0 and variance 1 over its last axes, times `weight`, plus `bias`.

    Parameters
    ----------
    input
        Shape ``(..., *normalized_shape)``.
    normalized_shape
        The lengths of the last axes: an int or a tuple.
    weight, bias
        Shape `normalized_shape`, or None.
    eps
        What is added to the variance.
    """
    x = as_inexact(input)
    axes = _last_axes("layer_norm", x, normalized_shape)
    return _scaled(_standardized(x, len(axes), eps), weight, bias)


def rms_norm(
    input: Any, normalized_shape: Any, weight: Any = None, eps: float | None = None
) -> Any:
    """`input` over the root of its mean square over the last axes, times `weight`.

    Arguments as for `layer_norm`; `eps` is by default the spacing of the dtype at 1.
    """
    x = as_inexact(input)
    axes = _last_axes("rms_norm", x, normalized_shape)
    eps = EPSILON[dtype_of(x)] if eps is None else eps
    y = x / sqrt(mean(x * x, axis=axes, keepdims=True) + eps)
    return _scaled(y, weight, None)


def group_norm(
    input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    """`input` with mean 0 and variance 1 over each of so many groups of channels.

    Shapes: input ``(batch, channels, *lengths)``, weight and bias ``(channels,)``.
    """
    x, groups = as_inexact(input), as_int(num_groups)
    ndim, shape = ndim_of(x), shape_of(x)
    if ndim < 2:
        raise ShapeError(f"group_norm: the input needs (batch, channels, ...), not {ndim} axes")
    channels = length_of(x, 1)
    if groups < 1 or channels % groups:
        raise ArgumentError(f"group_norm: {channels} channels are not {num_groups} equal groups")
    rows = reshape_to(x, shape=(shape[0], groups, sz.mul((channels // groups, *shape[2:]))))
    y = reshape_to(_standardized(rows, 1, eps), shape=shape)
    return _scaled(y, *(_for_channels(p, ndim) for p in (weight, bias)))


def batch_norm(
    input: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """`input` with mean 0 and variance 1 for each channel.

    Parameters
    ----------
    input
        Shape ``(batch, channels, *lengths)``.
    running_mean, running_var
        What is subtracted, and what is divided by the root of, when not training: Tensors or
        arrays of shape ``(channels,)``. When training they are written to: a part of the batch's
        mean and (unbiased) variance enters them, through which no gradient flows.
    weight, bias
        Shape ``(channels,)``, or None.
    training
        Whether to take mean and variance from the batch.
    momentum
        How much of the batch's statistics enters the running ones.
    eps
        What is added to the variance.

    Raises
    ------
    ShapeError
        The input has no axis of channels.
    ArgumentError
        There are no running statistics and `training` is False, or they cannot be written to.

    Examples
    --------
    >>> import tracegrad as tg
    >>> mean, variance = tg.zeros(1), tg.ones(1)
    >>> tg.nn.batch_norm(tg.tensor([[1.0], [3.0]]), mean, variance, training=True, eps=0.0)
    tensor([[-1.],
            [ 1.]])
    >>> mean, variance
    (tensor([0.2000]), tensor([1.1000]))
    """
    x = as_inexact(input)
    ndim = ndim_of(x)
    if ndim < 2:
        raise ShapeError(f"batch_norm: the input needs (batch, channels, ...), not {ndim} axes")
    weight, bias = (_for_channels(p, ndim) for p in (weight, bias))
    if not training:
        if running_mean is None or running_var is None:
            raise ArgumentError(
                "batch_norm: give running_mean and running_var, or training=True to take mean and "
                "variance from the batch"
            )
        centre, spread = (_for_channels(as_array(r), ndim) for r in (running_mean, running_var))
        return _scaled((x - centre) / sqrt(spread + eps), weight, bias)
    axes = (0, *range(2, ndim))
    centre = mean(x, axis=axes, keepdims=True)
    centred = x - centre
    spread = mean(centred * centred, axis=axes, keepdims=True)
    if running_mean is not None:
        _enter("running_mean", running_mean, centre, momentum)
    if running_var is not None:
        shape = shape_of(x)
        n = count((sz.quotient(sz.mul(shape), shape[1]),), x)
        _enter("running_var", running_var, spread * (n / (n - 1.0)), momentum)
    return _scaled(centred / sqrt(spread + eps), weight, bias)


def _enter(name: str, running: Any, of_batch: Any, momentum: float) -> None:
    """Writes a running statistic, into which a part of the batch's enters."""
    if not (isinstance(running, np.ndarray) or type(running) in HANDLERS):
        raise ArgumentError(
            f"batch_norm: {name} is written to when training: pass a Tensor or an array, not "
            f"{type(running).__name__}"
        )
    batch = reshape_to(stop_gradient(of_batch), shape=(shape_of(of_batch)[1],))
    running[...] = (1.0 - momentum) * running + momentum * batch


def _standardized(x: Any, count: int, eps: float) -> Any:
    """The last `count` axes with mean 0 and variance 1."""
    if count == 1:
        return standardize(x, eps=eps)[0]
    shape = shape_of(x)
    lead, last = shape[: len(shape) - count], shape[len(shape) - count :]
    rows = reshape_to(x, shape=(*lead, sz.mul(last)))
    return reshape_to(standardize(rows, eps=eps)[0], shape=shape)


def _scaled(y: Any, weight: Any, bias: Any) -> Any:
    y = y if weight is None else y * as_array(weight)
    return y if bias is None else y + as_array(bias)


def _for_channels(parameter: Any, ndim: int) -> Any:
    """A number for each channel as it broadcasts against the input."""
    if parameter is None or ndim == 2:
        return parameter
    return expand_axes(as_array(parameter), axis=one_or_many(tuple(range(1, ndim - 1))))


def _last_axes(name: str, x: Any, normalized_shape: Any) -> tuple[int, ...]:
    """The last axes, whose lengths must be those given."""
    if not is_inexact(dtype_of(x)):
        raise ArgumentError(f"{name}: the input has dtype {dtype_of(x)}")
    lengths = (
        tuple(normalized_shape) if isinstance(normalized_shape, Sequence) else (normalized_shape,)
    )
    n, ndim, sizes = len(lengths), ndim_of(x), sizes_of([x])
    shape = shape_of(x)[ndim - n :]
    if n > ndim or not all(sizes.same(a, as_int(b)) for a, b in zip(shape, lengths, strict=True)):
        raise ShapeError(
            f"{name}: normalized_shape={normalized_shape} are not the last lengths of an input of "
            f"shape {tuple(map(sizes.value, shape_of(x)))}"
        )
    return tuple(range(ndim - n, ndim))
