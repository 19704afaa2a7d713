"""Windows that slide over the last axes, and the way back.

A window of `kernel` elements starts every `stride`; its elements are `dilation` apart. `windows`
copies them to axes of their own in front, ``y[i, j, ..., p, q] = x[..., p * stride + i * dilation,
q * stride + j * dilation]``, so that what is done with a window is one operation on whole arrays.
`overlap_add` is the transpose: what comes from one element of x adds up there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import index as as_int
from typing import Any

import numpy as np

from codegen import sizes as sz
from codegen.sizes import Dim, SizeError, Sizes
from codegen.spelling import Spelling, spell
from codegen.types import ArrayType, ShapeError, shape_text
from tracegrad.errors import ArgumentValueError
from tracegrad.ops import batching_rules
from tracegrad.ops.arguments import as_array
from tracegrad.ops.program_functions import needs
from tracegrad.ops.record import define
from tracegrad.ops.shape.reshaping import moveaxis, one_axis
from tracegrad.values.dispatch import ndim_of, shape_of


def add_windows(windows, lengths, stride, dilation):
    """Windows (*kernel, ..., *places) added up where they were taken from."""
    n = len(lengths)
    out = np.zeros((*windows.shape[n:-n], *lengths), windows.dtype)
    for offset in np.ndindex(windows.shape[:n]):
        steps = zip(offset, windows.shape[-n:], stride, dilation)
        places = [slice(k * d, k * d + count * s, s) for k, count, s, d in steps]
        out[(..., *places)] += windows[offset]
    return out


def add_windows_jax(windows, lengths, stride, dilation):
    """Windows (*kernel, ..., *places) added up where they were taken from."""
    from itertools import product

    n = len(lengths)
    out = jnp.zeros((*windows.shape[n:-n], *lengths), windows.dtype)  # noqa: F821
    for offset in product(*map(range, windows.shape[:n])):
        steps = zip(offset, windows.shape[-n:], stride, dilation)
        places = [slice(k * d, k * d + count * s, s) for k, count, s, d in steps]
        out = out.at[(..., *places)].add(windows[offset])
    return jax.lax.optimization_barrier(out)  # noqa: F821


def take_windows_jax(x, span, stride, dilation):
    """The windows (*kernel, ..., *places) that slide over the last axes."""
    first = x.ndim - len(span)
    for i, (length, step, d) in enumerate(zip(span, stride, dilation)):
        axis = first + 2 * i  # the windows of earlier axes stand in front by now
        starts = jnp.arange(0, x.shape[axis] - length + 1, step)  # noqa: F821
        offsets = jnp.arange(0, length, d)  # noqa: F821
        x = jnp.take(x, offsets[:, None] + starts, axis=axis)  # noqa: F821
        x = jnp.moveaxis(x, axis, i)  # noqa: F821
    return x


# -- lengths ------------------------------------------------------------------------------------


def span_of(kernel: Dim, dilation: int) -> Dim:
    """How many elements lie between the first and the last of a window, both included."""
    return sz.add(sz.mul([dilation, kernel]), 1 - dilation)


def kernel_of(span: Dim, dilation: int) -> Dim:
    """How many elements a window has."""
    return sz.slice_length(span, slice(None, None, dilation))


def count_of(sizes: Sizes, length: Dim, span: Dim, stride: int, shapes: str) -> Dim:
    """How many windows fit into a length; raises where none does."""
    starts = sz.add(sz.minus(length, span), 1)
    try:
        if sizes.value(sizes.resolve(starts)) < 1:
            raise ShapeError(f"{shapes}: a window of {sizes.value(span)} is longer than the axis")
    except SizeError:
        pass  # the lengths have no values here
    return sz.slice_length(sizes.resolve(starts), slice(None, None, stride))


# -- the two ops --------------------------------------------------------------------------------


def sliding(axes: range, span: str, stride: tuple[int, ...], dilation: tuple[int, ...]) -> str:
    """Source that turns ``out`` into a view of its windows: (..., *places, *kernel)."""
    start = axes.start
    text = f"np.lib.stride_tricks.sliding_window_view(out, {span}, axis={tuple(axes)})"
    if any(step != 1 for step in (*stride, *dilation)):
        steps = [f"::{step}" if step != 1 else ":" for step in (*stride, *dilation)]
        while steps[-1] == ":":
            steps.pop()
        text += f"[{', '.join([':'] * start + steps)}]"
    return text


def _windows_text(attributes: Mapping[str, Any]) -> Spelling:
    stride, dilation, ndim = (attributes[name] for name in ("stride", "dilation", "ndim"))
    n = len(stride)
    view = sliding(range(ndim - n, ndim), "span", stride, dilation).replace("(out,", "(x,", 1)
    order = (*range(ndim, ndim + n), *range(ndim))
    return spell(f"out = {view}\nout = out.transpose{order}.copy()")


def _windows_type(
    sizes: Sizes, x: ArrayType, span: Any, stride: Any, dilation: Any, ndim: int
) -> ArrayType:
    n = len(stride)
    kernel = tuple(map(kernel_of, span, dilation))
    shown = f"windows of {span} over {shape_text(sizes, x.shape)}"
    places = (count_of(sizes, *of, shown) for of in zip(x.shape[-n:], span, stride, strict=True))
    return ArrayType(x.dtype, (*kernel, *x.shape[:-n], *places))


def _windows_vjp(ct: Any, y: Any, x: Any, span: Any, stride: Any, dilation: Any, ndim: Any) -> Any:
    lengths = shape_of(x)[-len(stride) :]
    return (overlap_add(ct, lengths=lengths, span=span, stride=stride, dilation=dilation),)


windows = define(
    "windows",
    _windows_text,
    jax="take_windows(x, span, stride, dilation)",
    infer=_windows_type,
    vjp=_windows_vjp,
    attributes={"span": ..., "stride": ..., "dilation": ..., "ndim": ...},
    needs=needs(jax=(take_windows_jax,)),
    batch=batching_rules.over_windows,
    doc="The windows that slide over the last axes, their elements on new axes in front.",
)


def _added_type(
    sizes: Sizes, x: ArrayType, lengths: Any, span: Any, stride: Any, dilation: Any
) -> ArrayType:
    n = len(stride)
    return ArrayType(x.dtype, (*x.shape[n:-n], *lengths))


def _added_vjp(
    ct: Any, y: Any, x: Any, lengths: Any, span: Any, stride: Any, dilation: Any
) -> tuple[Any]:
    ndim = len(shape_of(ct))
    return (windows(ct, span=span, stride=stride, dilation=dilation, ndim=ndim),)


overlap_add = define(
    "overlap_add",
    "add_windows(x, lengths, stride, dilation)",
    infer=_added_type,
    vjp=_added_vjp,
    attributes={"lengths": ..., "span": ..., "stride": ..., "dilation": ...},
    needs=needs((add_windows,), (add_windows_jax,)),
    batch=batching_rules.adding_windows,
    doc="The transpose of `windows`: each element added where it was taken from.",
)


def sliding_window_view(x: Any, window_shape: Any, axis: Any = None) -> Any:
    """The windows that slide over axes of `x`, their elements on new axes behind.

    Unlike NumPy's it is a copy, through which gradients flow: what comes from one element adds up.

    Examples
    --------
    >>> import tracegrad as tg
    >>> tg.sliding_window_view(tg.arange(4.0), 3)
    tensor([[0., 1., 2.],
            [1., 2., 3.]])
    """
    return windows_of(as_array(x), window_shape, axis, lambda found, *_: found)


def windows_of(x: Any, window_shape: Any, axis: Any, linked: Callable[..., Any]) -> Any:
    """The same; `linked` is given the windows, the array that they were taken of, and how."""
    ndim = ndim_of(x)
    lengths = tuple(window_shape) if isinstance(window_shape, tuple | list) else (window_shape,)
    named = range(ndim) if axis is None else axis if isinstance(axis, tuple | list) else (axis,)
    axes = tuple(one_axis(a, ndim) for a in named)
    if len(axes) != len(lengths):
        raise ArgumentValueError(
            f"sliding_window_view: {len(lengths)} lengths for {len(axes)} axes"
        )
    n = len(axes)
    last = tuple(range(ndim - n, ndim))
    span = tuple(map(as_int, lengths))
    how = {"span": span, "stride": (1,) * n, "dilation": (1,) * n, "ndim": ndim}
    moved = moveaxis(x, axes, last)
    found = linked(windows(moved, **how), moved, how)
    found = moveaxis(found, tuple(range(n)), tuple(range(ndim, ndim + n)))
    return moveaxis(found, last, axes)


__all__ = ["sliding_window_view"]
