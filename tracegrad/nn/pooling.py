"""Pooling of images: the largest or the mean element of each window."""

from __future__ import annotations

from typing import Any

from codegen.types import kind
from tracegrad.errors import ArgumentError, ShapeError
from tracegrad.nn.convolution import per_axis
from tracegrad.ops.elementwise.activations import as_inexact
from tracegrad.ops.nn.pooling import max_over_windows, sum_over_windows
from tracegrad.ops.shape.creation import ones_of_shape
from tracegrad.ops.shape.padding import pad_with
from tracegrad.ops.shape.reshaping import expand_axes, length_of, squeeze_axes
from tracegrad.values.dispatch import apply_in, dtype_of, ndim_of, shape_of

N = 2


def max_pool2d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> Any:
    """The largest element of each window; of equal ones the first has the gradient.

    Parameters
    ----------
    input
        Shape ``(batch, channels, height, width)``; the batch axis may be missing.
    kernel_size
        The size of a window: an int or one for each axis.
    stride
        How far apart windows are; by default they touch.
    padding
        How many elements, smaller than all others, surround the image: at most half a window.
    ceil_mode
        Whether windows that begin in the image, or the margin before it, may end beyond it.

    Returns
    -------
    Shape ``(batch, channels, out_height, out_width)``.

    Examples
    --------
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.nn.max_pool2d(np.arange(16.0).reshape(1, 1, 4, 4), 2)
    array([[[[ 5.,  7.],
             [13., 15.]]]])
    """
    name = "max_pool2d"
    x, batched = _image(name, input)
    if kind(dtype_of(x)) == "complex":
        raise ArgumentError(f"{name}: complex numbers have no order: pool x.real or abs(x)")
    kernel, steps, margins = _sizes(name, kernel_size, stride, padding)
    apart = per_axis(name, "dilation", dilation, N, 1)
    after = _beyond(x, kernel, steps, margins, apart, ceil_mode)
    x = _padded(x, margins, after, float("-inf"))
    y = max_over_windows(x, kernel=kernel, stride=steps, dilation=apart)
    return y if batched else squeeze_axes(y, axis=0)


def avg_pool2d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Any:
    """The mean of each window; arguments as for `max_pool2d`.

    count_include_pad
        Whether the zeros of the padding count as elements.
    divisor_override
        What the sum of a window is divided by, instead of the number of its elements.
    """
    name = "avg_pool2d"
    x, batched = _image(name, input)
    kernel, steps, margins = _sizes(name, kernel_size, stride, padding)
    after = _beyond(x, kernel, steps, margins, (1,) * N, ceil_mode)
    total = _sums(_padded(x, margins, after, 0), kernel, steps)
    beyond = after != margins
    if divisor_override is not None:
        y = total / divisor_override
    elif not any((*margins, *after)) or (count_include_pad and not beyond):
        y = total / (kernel[0] * kernel[1])
    else:
        counted = apply_in(
            x, ones_of_shape, {"shape": (1, 1, *shape_of(x)[2:]), "dtype": dtype_of(x)}
        )
        if count_include_pad:
            counted = _padded(counted, margins, margins, 1)
            after = tuple(b - a for a, b in zip(margins, after, strict=True))
            counted = _padded(counted, (0,) * N, after, 0)
        else:
            counted = _padded(counted, margins, after, 0)
        y = total / _sums(counted, kernel, steps)
    return y if batched else squeeze_axes(y, axis=0)


def _image(name: str, input: Any) -> tuple[Any, bool]:
    """The input with a batch axis, and whether it had one."""
    x = as_inexact(input)
    if ndim_of(x) not in (N + 1, N + 2):
        raise ShapeError(
            f"{name}: the input has {ndim_of(x)} axes and needs (batch, channels, height, width)"
        )
    batched = ndim_of(x) == N + 2
    return (x if batched else expand_axes(x, axis=0)), batched


def _sizes(name: str, kernel_size: Any, stride: Any, padding: Any) -> tuple[Any, Any, Any]:
    kernel = per_axis(name, "kernel_size", kernel_size, N, 1)
    steps = kernel if stride is None else per_axis(name, "stride", stride, N, 1)
    margins = per_axis(name, "padding", padding, N)
    if any(2 * margin > k for margin, k in zip(margins, kernel, strict=True)):
        raise ArgumentError(f"{name}: padding={padding} is more than half of {kernel_size}")
    return kernel, steps, margins


def _beyond(
    x: Any, kernel: Any, steps: Any, margins: Any, apart: Any, ceil_mode: bool
) -> tuple[int, ...]:
    """How much is needed after the image: `margins`, more where a last window goes beyond."""
    if not ceil_mode:
        return tuple(margins)
    after = []
    for axis, (k, step, margin, d) in enumerate(zip(kernel, steps, margins, apart), 2):
        length = length_of(x, axis)
        free = length + 2 * margin - (d * (k - 1) + 1)
        count = -(-free // step)  # windows after the first
        if count * step >= length + margin:  # the last would begin beyond the image
            count -= 1
        after.append(margin + max(count * step - free, 0))
    return tuple(after)


def _padded(x: Any, before: Any, after: Any, value: Any) -> Any:
    if not any((*before, *after)):
        return x
    width = ((0, 0), (0, 0), *zip(before, after, strict=True))
    return pad_with(x, pad_width=width, mode="constant", value=value)


def _sums(x: Any, kernel: Any, steps: Any) -> Any:
    return sum_over_windows(x, kernel=kernel, stride=steps, dilation=(1,) * N)
