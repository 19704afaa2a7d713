"""Images and kernels enter, their convolution leaves, and its derivatives in both.

A convolution is linear in its input and in its weight, so three ops are closed under derivatives:
`conv` itself, its transpose in the input (`conv_input`) and its transpose in the weight
(`conv_weight`). In NumPy each is one product of matrices over the windows of the padded input,
which are copied into rows by `np.tensordot`; of the input's gradient the windows are added up.

Shapes: input ``(batch, channels, *lengths)``, weight ``(out_channels, channels // groups,
*kernel)``; `span` is what a kernel covers of its axis, ``dilation * (kernel - 1) + 1``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from codegen import sizes as sz
from codegen.sizes import Dim, Sizes
from codegen.spelling import Spelling, spell
from codegen.types import ArrayType, ShapeError, promote, shape_text
from tracegrad.dispatch import shape_of
from tracegrad.ops.record import OpRecord, define
from tracegrad.ops.windows import (
    add_shifted,
    add_windows,
    count_of,
    kernel_of,
    needs,
    sliding,
)


def tensordot_by_group(a, b, axes, groups, split, join):
    """np.tensordot of each of so many parts of a and b, joined along one axis."""
    parts = zip(np.split(a, groups, split[0]), np.split(b, groups, split[1]))
    return np.concatenate([np.tensordot(p, q, axes) for p, q in parts], join)


def conv_input_jax(ct, w, lengths, stride, padding, dilation, groups):
    """The transpose of a convolution in its input, which has these lengths when padded."""

    def conv(x):
        return jax.lax.conv_general_dilated(  # noqa: F821
            x, w, stride, padding, rhs_dilation=dilation, feature_group_count=groups
        )

    lengths = [length - a - b for length, (a, b) in zip(lengths, padding)]
    shape = (ct.shape[0], groups * w.shape[1], *lengths)
    transpose = jax.linear_transpose(conv, jax.ShapeDtypeStruct(shape, w.dtype))  # noqa: F821
    return transpose(ct)[0]


def conv_weight_jax(x, ct, span, stride, padding, dilation, groups):
    """The transpose of a convolution in its weight, whose kernel covers `span`."""

    def conv(w):
        return jax.lax.conv_general_dilated(  # noqa: F821
            x, w, stride, padding, rhs_dilation=dilation, feature_group_count=groups
        )

    kernel = [-(-length // d) for length, d in zip(span, dilation)]
    shape = (ct.shape[1], x.shape[1] // groups, *kernel)
    transpose = jax.linear_transpose(conv, jax.ShapeDtypeStruct(shape, x.dtype))  # noqa: F821
    return transpose(ct)[0]


# -- text ---------------------------------------------------------------------------------------


def _padded(attributes: Mapping[str, Any]) -> str:
    """Text that pads x with zeros, or x."""
    padding = attributes["padding"]
    return f"np.pad(x, {((0, 0), (0, 0), *padding)})" if any(map(any, padding)) else "x"


def _windows(attributes: Mapping[str, Any], span: str) -> str:
    """Statements after which ``out`` views the windows: (batch, channels, *places, *kernel)."""
    stride, dilation = attributes["stride"], attributes["dilation"]
    padded = _padded(attributes)
    view = sliding(range(2, 2 + len(stride)), span, stride, dilation)
    if padded == "x":
        return f"out = {view.replace('(out,', '(x,', 1)}"
    return f"out = {padded}\nout = {view}"


def _product(a: str, b: str, axes: Any, split: Any, join: int, groups: int) -> str:
    """Text that contracts two arrays, each group of channels on its own."""
    if groups == 1:
        return f"np.tensordot({a}, {b}, {axes})"
    return f"tensordot_by_group({a}, {b}, {axes}, {groups}, {split}, {join})"


def _conv_text(attributes: Mapping[str, Any]) -> Spelling:
    n = len(attributes["stride"])
    plain = all(d == 1 for d in attributes["dilation"])
    kernel, of_windows = tuple(range(2, n + 2)), tuple(range(n + 2, 2 * n + 2))
    axes = ((1, *kernel), (1, *of_windows))
    product = _product("w", "out", axes, (0, 1), 0, attributes["groups"])
    order = (1, 0, *range(2, n + 2))
    view = _windows(attributes, "w.shape[2:]" if plain else "span")
    return spell(f"{view}\nout = {product}.transpose{order}")


def _conv_weight_text(attributes: Mapping[str, Any]) -> Spelling:
    n = len(attributes["stride"])
    axes = ((0, *range(2, n + 2)),) * 2
    product = _product("out", "ct", axes, (1, 1), n + 1, attributes["groups"])
    order = (n + 1, *range(n + 1))
    return spell(f"{_windows(attributes, 'span')}\nout = {product}.transpose{order}")


def _conv_input_text(attributes: Mapping[str, Any]) -> Spelling:
    """Each element of ct adds its multiple of the kernel to the result.

    Windows that start at every element are added up row by row (see `add_shifted`).
    """
    n = len(attributes["stride"])
    everywhere = all(step == 1 for step in attributes["stride"])
    product = _product(
        "w", "out" if everywhere else "ct", ((0,), (1,)), (0, 1), 0, attributes["groups"]
    )
    inner = ""
    if any(map(any, attributes["padding"])):
        sides = [f"{a or ''}:{-b or ''}" for a, b in attributes["padding"]]
        inner = f"[:, :, {', '.join(sides)}]"
    if everywhere:
        spans = zip(attributes["span"], attributes["dilation"], range(2, n + 2))
        ends = [f"(0, w.shape[{i}] - 1)" if d == 1 else f"(0, {span - 1})" for span, d, i in spans]
        return spell(
            f"out = np.pad(ct, ((0, 0), (0, 0), {', '.join(ends)}))\nout = {product}\n"
            f"out = add_shifted(out, dilation){inner}.swapaxes(0, 1)"
        )
    order = (*range(1, n + 1), 0, *range(n + 1, 2 * n + 2))
    return spell(
        f"out = {product}.transpose{order}\n"
        "out = add_windows(out, lengths, stride, dilation)\n"
        f"out = out{inner}.swapaxes(0, 1)"
    )


def _jax_text(attributes: Mapping[str, Any]) -> Spelling:
    more = ""
    if any(d != 1 for d in attributes["dilation"]):
        more += ", rhs_dilation=dilation"
    if attributes["groups"] != 1:
        more += ", feature_group_count=groups"
    return spell(f"jax.lax.conv_general_dilated(x, w, stride, padding{more})")


# -- types --------------------------------------------------------------------------------------


def _shapes(sizes: Sizes, x: ArrayType, w: ArrayType) -> str:
    return f"conv: input {shape_text(sizes, x.shape)}, weight {shape_text(sizes, w.shape)}"


def _conv_type(
    sizes: Sizes,
    x: ArrayType,
    w: ArrayType,
    span: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> ArrayType:
    shapes = _shapes(sizes, x, w)
    n = len(stride)
    if x.ndim != n + 2 or w.ndim != n + 2:
        raise ShapeError(f"{shapes}: both need {n + 2} axes")
    if not sizes.same(x.shape[1], sz.mul([groups, w.shape[1]])):
        raise ShapeError(
            f"{shapes}: axis 1 of the input (its channels) must be {groups} (groups) times axis 1 "
            "of the weight"
        )
    if groups > 1:
        _divisible(sizes, w.shape[0], groups, f"{shapes}: the {groups} groups need out_channels")
    padded = _padded_lengths(x.shape, padding)
    places = [count_of(sizes, *of, shapes) for of in zip(padded, span, stride, strict=True)]
    dtype, _ = promote((x, w))
    return ArrayType(dtype, (x.shape[0], w.shape[0], *places))


def _divisible(sizes: Sizes, length: Dim, by: int, what: str) -> None:
    count = sizes.fix(sizes.resolve(length))
    if count % by:
        raise ShapeError(f"{what} that they divide, not {count}")


def _padded_lengths(shape: tuple[Dim, ...], padding: Any) -> tuple[Dim, ...]:
    return tuple(sz.add(length, *pair) for length, pair in zip(shape[2:], padding, strict=True))


def _input_type(
    sizes: Sizes, ct: ArrayType, w: ArrayType, lengths: Any, padding: Any, groups: int, **_: Any
) -> ArrayType:
    if not sizes.same(ct.shape[1], w.shape[0]):
        raise ShapeError(
            f"conv_transpose: input {shape_text(sizes, ct.shape)}, weight "
            f"{shape_text(sizes, w.shape)}: axis 1 of the input must be axis 0 of the weight"
        )
    dtype, _unused = promote((ct, w))
    inner = (sz.add(n, -a, -b) for n, (a, b) in zip(lengths, padding, strict=True))
    return ArrayType(dtype, (ct.shape[0], sz.mul([groups, w.shape[1]]), *inner))


def _weight_type(
    sizes: Sizes, x: ArrayType, ct: ArrayType, span: Any, dilation: Any, groups: int, **_: Any
) -> ArrayType:
    dtype, _unused = promote((x, ct))
    kernel = map(kernel_of, span, dilation)
    return ArrayType(dtype, (ct.shape[1], sz.quotient(x.shape[1], groups), *kernel))


# -- the three ops ------------------------------------------------------------------------------


def _conv_vjp(ct: Any, y: Any, x: Any, w: Any, **how: Any) -> tuple[Any, Any]:
    lengths = _padded_lengths(shape_of(x), how["padding"])
    return conv_input(ct, w, lengths=lengths, **how), conv_weight(x, ct, **how)


def _conv_input_vjp(g: Any, y: Any, ct: Any, w: Any, lengths: Any, **how: Any) -> tuple[Any, Any]:
    return conv(g, w, **how), conv_weight(g, ct, **how)


def _conv_weight_vjp(g: Any, y: Any, x: Any, ct: Any, **how: Any) -> tuple[Any, Any]:
    lengths = _padded_lengths(shape_of(x), how["padding"])
    return conv_input(ct, g, lengths=lengths, **how), conv(x, g, **how)


HOW: dict[str, Any] = {"span": ..., "stride": ..., "padding": ..., "dilation": ..., "groups": 1}

conv: OpRecord = define(
    "conv",
    _conv_text,
    jax=_jax_text,
    operands="x w",
    infer=_conv_type,
    vjp=_conv_vjp,
    attributes=HOW,
    needs=needs((tensordot_by_group,)),
    doc="The products of each window of the padded x with each kernel of w, summed.",
)
conv_input: OpRecord = define(
    "conv_input",
    _conv_input_text,
    jax="conv_input(ct, w, lengths, stride, padding, dilation, groups)",
    operands="ct w",
    infer=_input_type,
    vjp=_conv_input_vjp,
    attributes={"lengths": ..., **HOW},
    needs=needs((tensordot_by_group, add_shifted, add_windows), (conv_input_jax,)),
    doc="The transpose of `conv` in its input, which has these lengths when it is padded.",
)
conv_weight: OpRecord = define(
    "conv_weight",
    _conv_weight_text,
    jax="conv_weight(x, ct, span, stride, padding, dilation, groups)",
    operands="x ct",
    infer=_weight_type,
    vjp=_conv_weight_vjp,
    attributes=HOW,
    needs=needs((tensordot_by_group,), (conv_weight_jax,)),
    doc="The transpose of `conv` in its weight, whose kernel covers `span`.",
)
