"""The largest element, or the sum, of each window over the last axes.

A window of `kernel` elements starts every `stride`; its elements are `dilation` apart. For one
offset in all windows the elements are a slice of the array (`window_parts`), so that pooling is as
many operations on slices as a window has elements, and no window is copied.

The largest element has the gradient, of equal ones the first. Its two maps, from windows to their
largest elements and back, are linear and each other's transpose, so derivatives of any order close.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from codegen.ir import Trait
from codegen.sizes import Dim, Sizes
from codegen.spelling import Spelling, SpellingOf, spell
from codegen.types import ArrayType, shape_text
from tracegrad.ops import batching_rules
from tracegrad.ops.program_functions import needs
from tracegrad.ops.record import OpRecord, define
from tracegrad.ops.shape.sliding_windows import count_of, span_of
from tracegrad.values.dispatch import shape_of


def window_parts(x, kernel, stride, dilation):
    """For each offset in the windows over the last axes: where their elements are."""
    stride, dilation = stride or kernel, dilation or (1,) * len(kernel)
    axes = list(zip(x.shape[-len(kernel) :], kernel, stride, dilation))
    for offset in np.ndindex(kernel):
        of_axes = ((i, m - d * (k - 1), s, d) for i, (m, k, s, d) in zip(offset, axes))
        yield (..., *(slice(i * d, i * d + m, s) for i, m, s, d in of_axes))


def max_of_windows(x, kernel, stride=None, dilation=None):
    """The largest element of each window over the last axes."""
    first, *others = window_parts(x, kernel, stride, dilation)
    out = x[first].copy()
    for part in others:
        np.maximum(out, x[part], out=out)
    return out


def largest_at(x, y, kernel, stride=None, dilation=None):
    """The number of the first element of each window that is its largest, y, or nan."""
    out = np.zeros(y.shape, np.min_scalar_type(np.prod(kernel)))
    before, defined = np.ones(y.shape, bool), not np.isnan(y).any()
    for part in window_parts(x, kernel, stride, dilation):
        before &= x[part] != y if defined else (x[part] != y) & (x[part] == x[part])
        out += before
    return out


def to_largest(ct, at, lengths, kernel, stride=None, dilation=None):
    """ct added to the element of each window whose number is `at`; 0 elsewhere."""
    out = np.zeros((*ct.shape[: -len(kernel)], *lengths), ct.dtype)
    bits = ct.view(f"u{ct.itemsize}")  # times True or False: exact, and no branches
    apart = stride is None  # windows that touch and do not overlap
    for i, part in enumerate(window_parts(out, kernel, stride, dilation)):
        chosen = (bits * (at == i)).view(ct.dtype)
        if apart:
            out[part] = chosen
        else:
            out[part] += chosen
    return out


def of_largest(x, at, kernel, stride=None, dilation=None):
    """The element of each window of x whose number is `at`."""
    out, bits = np.zeros(at.shape, x.dtype), x.view(f"u{x.itemsize}")
    for i, part in enumerate(window_parts(x, kernel, stride, dilation)):
        out += (bits[part] * (at == i)).view(x.dtype)
    return out


def sum_of_windows(x, kernel, stride=None, dilation=None):
    """The sum of each window over the last axes."""
    first, *others = window_parts(x, kernel, stride, dilation)
    out = x[first].copy()
    for part in others:
        out += x[part]
    return out


def to_windows(ct, lengths, kernel, stride=None, dilation=None):
    """ct added to each element of its window, of an array whose last axes have these lengths."""
    out = np.zeros((*ct.shape[: -len(kernel)], *lengths), ct.dtype)
    for part in window_parts(out, kernel, stride, dilation):
        out[part] += ct
    return out


# -- the same in JAX ----------------------------------------------------------------------------


def window_parts_jax(x, kernel, stride, dilation):
    """For each offset in the windows over the last axes: where their elements are."""
    from itertools import product

    stride, dilation = stride or kernel, dilation or (1,) * len(kernel)
    axes = list(zip(x.shape[-len(kernel) :], kernel, stride, dilation))
    for offset in product(*map(range, kernel)):
        of_axes = ((i, m - d * (k - 1), s, d) for i, (m, k, s, d) in zip(offset, axes))
        yield (..., *(slice(i * d, i * d + m, s) for i, m, s, d in of_axes))


def max_of_windows_jax(x, kernel, stride=None, dilation=None):
    """The largest element of each window over the last axes."""
    first, *others = window_parts(x, kernel, stride, dilation)
    out = x[first]
    for part in others:
        out = jnp.maximum(out, x[part])  # noqa: F821
    return out


def largest_at_jax(x, y, kernel, stride=None, dilation=None):
    """The number of the first element of each window that is its largest, y, or nan."""
    out, before, n = jnp.zeros(y.shape, int), jnp.ones(y.shape, bool), 1  # noqa: F821
    for part in window_parts(x, kernel, stride, dilation):
        before &= (x[part] != y) & (x[part] == x[part])
        out, n = out + before, n + 1
    for dtype in ("uint32", "uint16", "uint8"):
        out = out.astype(dtype) if n - 1 <= jnp.iinfo(dtype).max else out  # noqa: F821
    return out


def to_largest_jax(ct, at, lengths, kernel, stride=None, dilation=None):
    """ct added to the element of each window whose number is `at`; 0 elsewhere."""
    out = jnp.zeros((*ct.shape[: -len(kernel)], *lengths), ct.dtype)  # noqa: F821
    for i, part in enumerate(window_parts(out, kernel, stride, dilation)):
        out = out.at[part].add(jnp.where(at == i, ct, 0))  # noqa: F821
    return jax.lax.optimization_barrier(out)  # noqa: F821


def of_largest_jax(x, at, kernel, stride=None, dilation=None):
    """The element of each window of x whose number is `at`."""
    out = jnp.zeros(at.shape, x.dtype)  # noqa: F821
    for i, part in enumerate(window_parts(x, kernel, stride, dilation)):
        out = out + jnp.where(at == i, x[part], 0)  # noqa: F821
    return out


def sum_of_windows_jax(x, kernel, stride=None, dilation=None):
    """The sum of each window over the last axes."""
    first, *others = window_parts(x, kernel, stride, dilation)
    out = x[first]
    for part in others:
        out = out + x[part]
    return out


def to_windows_jax(ct, lengths, kernel, stride=None, dilation=None):
    """ct added to each element of its window, of an array whose last axes have these lengths."""
    out = jnp.zeros((*ct.shape[: -len(kernel)], *lengths), ct.dtype)  # noqa: F821
    for part in window_parts(out, kernel, stride, dilation):
        out = out.at[part].add(ct)
    return jax.lax.optimization_barrier(out)  # noqa: F821


# -- the ops ------------------------------------------------------------------------------------

HOW: dict[str, Any] = {"kernel": ..., "stride": ..., "dilation": ...}


def _text(call: str) -> SpellingOf:
    """A call with the windows; those that touch each other need no more than their kernel."""

    def text(attributes: Mapping[str, Any]) -> Spelling:
        apart = attributes["stride"] == attributes["kernel"]
        given = "" if apart else ", stride=stride"
        if any(d != 1 for d in attributes["dilation"]):
            given = ", stride=stride, dilation=dilation"
        return spell(f"{call}, kernel{given})")

    return text


def _pooled_type(sizes: Sizes, x: ArrayType, kernel: Any, stride: Any, dilation: Any) -> ArrayType:
    n = len(kernel)
    shown = f"windows of {kernel} over {shape_text(sizes, x.shape)}"
    spans = map(span_of, kernel, dilation)
    lengths: list[Dim] = [
        count_of(sizes, *of, shown) for of in zip(x.shape[-n:], spans, stride, strict=True)
    ]
    return ArrayType(x.dtype, (*x.shape[:-n], *lengths))


def _number_type(sizes: Sizes, x: ArrayType, y: ArrayType, kernel: Any, **_: Any) -> ArrayType:
    return ArrayType(str(np.min_scalar_type(prod(kernel))), y.shape)


def _max_vjp(ct: Any, y: Any, x: Any, **how: Any) -> tuple[Any]:
    lengths = shape_of(x)[-len(how["kernel"]) :]
    return (to_largest_of(ct, number_of_largest(x, y, **how), lengths=lengths, **how),)


def _to_largest_vjp(g: Any, y: Any, ct: Any, at: Any, lengths: Any, **how: Any) -> Any:
    return of_largest_of(g, at, **how), None


def _of_largest_vjp(ct: Any, y: Any, x: Any, at: Any, **how: Any) -> Any:
    return to_largest_of(ct, at, lengths=shape_of(x)[-len(how["kernel"]) :], **how), None


max_over_windows = define(
    "max_of_windows",
    _text("max_of_windows(x"),
    infer=_pooled_type,
    vjp=_max_vjp,
    attributes=HOW,
    traits=(Trait.CONTIGUOUS,),
    needs=needs((window_parts, max_of_windows), (window_parts_jax, max_of_windows_jax)),
    domain="nonempty",
    batch=batching_rules.leading,
    doc="The largest element of each window; the first of equal ones has the gradient.",
)
number_of_largest = define(
    "largest_at",
    _text("largest_at(x, y"),
    operands="x y",
    infer=_number_type,
    differentiable=False,
    attributes=HOW,
    traits=(Trait.CONTIGUOUS,),
    needs=needs((window_parts, largest_at), (window_parts_jax, largest_at_jax)),
    domain="nonempty",
    batch=batching_rules.fronted,
    doc="The number of the first element of each window that is its largest, y.",
)
to_largest_of: OpRecord = define(
    "to_largest",
    _text("to_largest(ct, at, lengths"),
    operands="ct at",
    infer=lambda sizes, ct, at, lengths, kernel, stride, dilation: ArrayType(
        ct.dtype, (*ct.shape[: -len(kernel)], *lengths)
    ),
    vjp=_to_largest_vjp,
    attributes={"lengths": ..., **HOW},
    traits=(Trait.CONTIGUOUS,),
    needs=needs((window_parts, to_largest), (window_parts_jax, to_largest_jax)),
    domain="nonempty",
    batch=batching_rules.fronted,
    doc="An array where each window has one number added, to its element of number `at`.",
)
of_largest_of: OpRecord = define(
    "of_largest",
    _text("of_largest(x, at"),
    operands="x at",
    infer=lambda sizes, x, at, **how: ArrayType(x.dtype, at.shape),
    vjp=_of_largest_vjp,
    attributes=HOW,
    traits=(Trait.CONTIGUOUS,),
    needs=needs((window_parts, of_largest), (window_parts_jax, of_largest_jax)),
    domain="nonempty",
    batch=batching_rules.fronted,
    doc="The element of number `at` of each window.",
)


def _sum_vjp(ct: Any, y: Any, x: Any, kernel: Any, **how: Any) -> tuple[Any]:
    lengths = shape_of(x)[-len(kernel) :]
    return (to_windows_of(ct, lengths=lengths, kernel=kernel, **how),)


sum_over_windows: OpRecord = define(
    "sum_of_windows",
    _text("sum_of_windows(x"),
    infer=_pooled_type,
    vjp=_sum_vjp,
    attributes=HOW,
    traits=(Trait.CONTIGUOUS,),
    needs=needs((window_parts, sum_of_windows), (window_parts_jax, sum_of_windows_jax)),
    batch=batching_rules.leading,
    doc="The sum of each window over the last axes.",
)
to_windows_of: OpRecord = define(
    "to_windows",
    _text("to_windows(ct, lengths"),
    operands="ct",
    infer=lambda sizes, ct, lengths, kernel, stride, dilation: ArrayType(
        ct.dtype, (*ct.shape[: -len(kernel)], *lengths)
    ),
    vjp=lambda g, y, ct, lengths, **how: (sum_over_windows(g, **how),),
    attributes={"lengths": ..., **HOW},
    traits=(Trait.CONTIGUOUS,),
    needs=needs((window_parts, to_windows), (window_parts_jax, to_windows_jax)),
    batch=batching_rules.leading,
    doc="The transpose of `sum_of_windows`.",
)
