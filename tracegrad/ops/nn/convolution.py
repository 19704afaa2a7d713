"""Convolution of images, and its derivatives in image and kernel.

A convolution is linear in its input and in its weight, so three ops are closed under derivatives:
`conv` itself, its transpose in the input (`conv_input`) and its transpose in the weight
(`conv_weight`). How NumPy computes them stands in `tracegrad.ops.nn.convolution_kernels`.

Shapes: input ``(batch, channels, *lengths)``, weight ``(out_channels, channels // groups,
*kernel)``; `span` is what a kernel covers of its axis, ``dilation * (kernel - 1) + 1``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from codegen import sizes as sz
from codegen.ir import Trait
from codegen.sizes import Dim, Sizes
from codegen.spelling import Spelling, spell
from codegen.types import ArrayType, ShapeError, promote, shape_text
from tracegrad.ops import batching_rules
from tracegrad.ops.nn.convolution_kernels import (
    correlate,
    correlate_adding,
    correlate_back,
    correlate_input,
    correlate_weight,
    image_buffer,
)
from tracegrad.ops.program_functions import needs
from tracegrad.ops.record import OpRecord, define
from tracegrad.ops.shape.sliding_windows import count_of, kernel_of
from tracegrad.values.dispatch import shape_of


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


# -- source ---------------------------------------------------------------------------------------


def _conv_text(attributes: Mapping[str, Any]) -> Spelling:
    return spell(f"correlate(x, w{_how_text(attributes)})")


def _conv_weight_text(attributes: Mapping[str, Any]) -> Spelling:
    kernel = "span"
    if any(d != 1 for d in attributes["dilation"]):
        kernel = str(tuple(map(kernel_of, attributes["span"], attributes["dilation"])))
    return spell(f"correlate_weight(x, ct, {kernel}{_how_text(attributes)})")


def _conv_input_text(attributes: Mapping[str, Any]) -> Spelling:
    """Where windows start at every element, the transpose is a convolution itself."""
    how = _how_text(attributes)
    if any(step != 1 for step in attributes["stride"]):
        return spell(f"correlate_input(ct, w, lengths{how})")
    return spell(f"correlate_back(ct, w{how})")


def _how_text(attributes: Mapping[str, Any]) -> str:
    """The arguments that say how windows lie, without those that have their defaults."""
    n = len(attributes["stride"])
    plain = {"padding": ((0, 0),) * n, "stride": (1,) * n, "dilation": (1,) * n, "groups": 1}
    given = [name for name, default in plain.items() if attributes[name] != default]
    return "".join(f", {name}={attributes[name]}" for name in given)


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
    traits=(Trait.CONTIGUOUS,),
    needs=needs((image_buffer, correlate)),
    batch=batching_rules.images(0),
    doc="The products of each window of the padded x with each kernel of w, summed.",
)


def _input_memory(ct: ArrayType, w: ArrayType, stride: Any, padding: Any, **_: Any) -> Trait | None:
    """Where windows do not start at every element it is what lies within the margins."""
    starts_apart = any(step != 1 for step in stride)
    return Trait.LOOSE if starts_apart and any(map(any, padding)) else None


conv_input: OpRecord = define(
    "conv_input",
    _conv_input_text,
    jax="conv_input(ct, w, lengths, stride, padding, dilation, groups)",
    operands="ct w",
    infer=_input_type,
    vjp=_conv_input_vjp,
    attributes={"lengths": ..., **HOW},
    memory=_input_memory,
    needs=needs(
        (image_buffer, correlate, correlate_adding, correlate_back, correlate_input),
        (conv_input_jax,),
    ),
    batch=batching_rules.images(0),
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
    traits=(Trait.CONTIGUOUS,),
    needs=needs((image_buffer, correlate_weight), (conv_weight_jax,)),
    doc="The transpose of `conv` in its weight, whose kernel covers `span`.",
)
