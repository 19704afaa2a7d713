"""Convolutions of images, with the arguments of PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index as as_int
from typing import Any

from codegen import sizes as sz
from codegen.errors import CodegenError
from codegen.sizes import Sizes
from codegen.types import is_inexact, promote
from tracegrad.errors import ArgumentError, ShapeError
from tracegrad.ops.elementwise.activations import as_inexact
from tracegrad.ops.elementwise.ufuncs import astype
from tracegrad.ops.nn.convolution import conv, conv_input
from tracegrad.ops.record import OpRecord
from tracegrad.ops.shape.padding import pad_with
from tracegrad.ops.shape.reshaping import expand_axes, length_of, sizes_of, squeeze_axes
from tracegrad.ops.shape.sliding_windows import span_of
from tracegrad.values.dispatch import HANDLERS, dtype_of, ndim_of, shape_of, type_of


def conv1d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    """The convolution of sequences; as `conv2d`, with one axis of lengths."""
    return _conv("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


def conv2d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    """The convolution (cross-correlation, as everywhere in networks) of images.

    Parameters
    ----------
    input
        Shape ``(batch, channels, height, width)``; the batch axis may be missing.
    weight
        Shape ``(out_channels, channels // groups, kernel_height, kernel_width)``.
    bias
        Shape ``(out_channels,)``, or None.
    stride, dilation
        How far apart windows, and the elements of a window, are: an int or one for each axis.
    padding
        How many zeros surround the image: an int, one for each axis, ``"valid"`` for none or
        ``"same"`` (with ``stride=1``) for as many as keep its size.
    groups
        Channels are convolved in so many groups of their own.

    Returns
    -------
    Shape ``(batch, out_channels, out_height, out_width)`` with ``out_height = (height + 2 * padding
    - dilation * (kernel_height - 1) - 1) // stride + 1``.

    Raises
    ------
    ShapeError
        Channels or groups do not fit, or a kernel is larger than the padded image.

    Examples
    --------
    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.nn.conv2d(np.ones((1, 3, 28, 28)), np.ones((8, 3, 3, 3)), padding="same").shape
    (1, 8, 28, 28)
    """
    return _conv("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


def conv3d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    """The convolution of volumes; as `conv2d`, with three axes of lengths."""
    return _conv("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


def conv_transpose2d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Any:
    """The transpose of `conv2d` in its input: from the shape of a result to that of an input.

    Parameters
    ----------
    input
        Shape ``(batch, channels, height, width)``; the batch axis may be missing.
    weight
        Shape ``(channels, out_channels // groups, kernel_height, kernel_width)``.
    bias
        Shape ``(out_channels,)``, or None.
    stride, padding, dilation, groups
        Those of the convolution that this is the transpose of.
    output_padding
        Rows and columns at the end of the result which that convolution does not read.

    Returns
    -------
    Shape ``(batch, out_channels, out_height, out_width)`` with ``out_height = (height - 1) * stride
    - 2 * padding + dilation * (kernel_height - 1) + 1 + output_padding``.
    """
    name, n = "conv_transpose2d", 2
    x, w = _operands(name, n, input, weight)
    batched = ndim_of(x) == n + 2
    x = x if batched else expand_axes(x, axis=0)
    how = _how(name, n, w, stride, padding, dilation, groups)
    extra = per_axis(name, "output_padding", output_padding, n)
    for e, s, d in zip(extra, how["stride"], how["dilation"], strict=True):
        if not 0 <= e < max(s, d):
            raise ArgumentError(f"{name}: output_padding={e} must be less than stride or dilation")
    beyond = [max(e - s + 1, 0) for e, s in zip(extra, how["stride"], strict=True)]  # no window
    lengths = tuple(
        sz.add(sz.mul([s, sz.add(count, -1)]), span, e - zeros)
        for count, s, span, e, zeros in zip(
            shape_of(x)[2:], how["stride"], how["span"], extra, beyond, strict=True
        )
    )
    sides = how["padding"]
    how["padding"] = tuple((a, max(b - more, 0)) for (a, b), more in zip(sides, beyond))
    y = _checked(name, conv_input, x, w, lengths=lengths, **how)
    width = [(0, max(more - b, 0)) for (_, b), more in zip(sides, beyond, strict=True)]
    if any(after for _, after in width):
        y = pad_with(y, pad_width=((0, 0), (0, 0), *width), mode="constant", value=0.0)
    y = y if bias is None else y + expand_axes(bias, axis=tuple(range(1, n + 1)))
    return y if batched else squeeze_axes(y, axis=0)


def _conv(
    name: str,
    n: int,
    input: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Any:
    x, w = _operands(name, n, input, weight)
    batched = ndim_of(x) == n + 2
    x = x if batched else expand_axes(x, axis=0)
    y = _checked(name, conv, x, w, **_how(name, n, w, stride, padding, dilation, groups))
    if bias is not None:
        y = y + expand_axes(bias, axis=1 if n == 1 else tuple(range(1, n + 1)))
    return y if batched else squeeze_axes(y, axis=0)


def _checked(name: str, op: OpRecord, *arrays: Any, **attributes: Any) -> Any:
    """The op, whose type rule says what is wrong with plain arrays better than NumPy would."""
    if not any(type(x) in HANDLERS for x in arrays):
        try:
            op.infer(Sizes(), *map(type_of, arrays), **attributes)
        except CodegenError as error:
            raise ShapeError(f"{name}: {error}") from None
    return op(*arrays, **attributes)


def _operands(name: str, n: int, input: Any, weight: Any) -> tuple[Any, Any]:
    """Input and weight as arrays of one floating dtype."""
    x, w = as_inexact(input), as_inexact(weight)
    if ndim_of(x) not in (n + 1, n + 2) or ndim_of(w) != n + 2:
        raise ShapeError(
            f"{name}: the input has {ndim_of(x)} axes and the weight {ndim_of(w)}: they need "
            f"{n + 2} each, (batch, channels, {', '.join(['length'] * n)}) and (out_channels, "
            f"channels // groups, {', '.join(['kernel'] * n)})"
        )
    dtype, _ = promote((type_of(x), type_of(w)))
    if not is_inexact(dtype) or dtype_of(x) == dtype_of(w):
        return x, w
    return tuple(v if dtype_of(v) == dtype else astype(v, dtype=dtype) for v in (x, w))  # type: ignore[return-value]


def per_axis(name: str, argument: str, given: Any, n: int, least: int = 0) -> tuple[int, ...]:
    """An int, or one for each axis, as one for each axis."""
    several = tuple(given) if isinstance(given, Sequence) else (given,) * n
    numbers = tuple(as_int(k) for k in (several * n if len(several) == 1 else several))
    if len(numbers) != n or any(k < least for k in numbers):
        raise ArgumentError(f"{name}: {argument}={given!r} must be {n} ints of at least {least}")
    return numbers


def _how(
    name: str, n: int, w: Any, stride: Any, padding: Any, dilation: Any, groups: Any
) -> dict[str, Any]:
    """The attributes of the three ops of a convolution with this weight."""
    steps = per_axis(name, "stride", stride, n, 1)
    apart = per_axis(name, "dilation", dilation, n, 1)
    if as_int(groups) < 1:
        raise ArgumentError(f"{name}: groups={groups} must be positive")
    same = padding == "same"
    if same or any(d > 1 for d in apart):
        kernel: Any = tuple(length_of(w, axis) for axis in range(2, n + 2))
    else:
        kernel = tuple(map(sizes_of([w]).resolve, shape_of(w)[2:]))
    span: tuple[Any, ...] = tuple(map(span_of, kernel, apart))
    if same:
        if any(step > 1 for step in steps):
            raise ArgumentError(f'{name}: padding="same" needs stride=1, not {stride}')
        margins = tuple(((length - 1) // 2, length // 2) for length in span)
    elif isinstance(padding, str):
        if padding != "valid":
            raise ArgumentError(f'{name}: padding={padding!r} must be ints, "same" or "valid"')
        margins = ((0, 0),) * n
    else:
        margins = tuple((k, k) for k in per_axis(name, "padding", padding, n))
    return {
        "span": span,
        "stride": steps,
        "padding": margins,
        "dilation": apart,
        "groups": as_int(groups),
    }
