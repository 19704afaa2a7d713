"""The type rules that op records share."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np

from codegen import sizes as sz
from codegen.sizes import Dim, SizeError, Sizes
from codegen.types import (
    BFLOAT16,
    ArrayType,
    ShapeError,
    broadcast,
    is_inexact,
    kind,
    promote,
    shape_text,
    weak,
)

Axis = int | tuple[int, ...] | None


def real_part(sizes: Sizes, x: ArrayType) -> ArrayType:
    """The same shape; complex dtypes give their float."""
    dtype = {"complex64": "float32", "complex128": "float64"}.get(x.dtype, x.dtype)
    return ArrayType(dtype, x.shape, x.weak)


def same(sizes: Sizes, x: ArrayType, **_: Any) -> ArrayType:
    """The operand's own type."""
    return ArrayType(x.dtype, x.shape)


def select(sizes: Sizes, condition: ArrayType, *types: ArrayType) -> ArrayType:
    """``where``: promoted dtype of the choices, broadcast with the condition."""
    dtype, _ = promote(types)
    return ArrayType(dtype, broadcast(sizes, [condition.shape, *(t.shape for t in types)]))


def axes_of(axis: Axis, ndim: int) -> tuple[int, ...]:
    """The axes that a canonical `axis` attribute means."""
    if axis is None:
        return tuple(range(ndim))
    return (axis,) if isinstance(axis, int) else axis


def reduced(shape: tuple[Dim, ...], axis: Axis, keepdims: bool) -> tuple[Dim, ...]:
    """The shape after a reduction."""
    axes = axes_of(axis, len(shape))
    if keepdims:
        return tuple(1 if i in axes else dim for i, dim in enumerate(shape))
    return tuple(dim for i, dim in enumerate(shape) if i not in axes)


def reduction(dtype_of: Callable[[str], str] = lambda dtype: dtype) -> Callable[..., ArrayType]:
    """A type rule that drops (or keeps as 1) the reduced axes and maps the dtype."""

    def infer(sizes: Sizes, x: ArrayType, axis: Axis = None, keepdims: bool = False) -> ArrayType:
        return ArrayType(dtype_of(x.dtype), reduced(x.shape, axis, keepdims))

    return infer


def sum_dtype(dtype: str) -> str:
    """The dtype in which NumPy sums: small integers and bool widen."""
    match kind(dtype):
        case "bool" | "int" if not dtype.startswith("u"):
            return "int64"
        case "int":
            return "uint64"
    return dtype


def mean_dtype(dtype: str) -> str:
    """Integers have a float64 mean."""
    return dtype if is_inexact(dtype) else "float64"


def reshaped(sizes: Sizes, x: ArrayType, shape: tuple[Dim, ...]) -> ArrayType:
    """The shape asked for (without -1), which must hold as many elements."""
    old, new = (sizes.resolve(sz.mul(dims)) for dims in (x.shape, shape))
    apart = sz.without_common(old, new)  # n0 * n1 and n0 * 4: n1 is 4, or n0 is 0
    if not (sizes.same(*apart) or sizes.same(old, new)):
        raise ShapeError(
            f"cannot reshape {shape_text(sizes, x.shape)} into {shape_text(sizes, shape)}"
        )
    return x.with_shape(shape).with_dtype(x.dtype)


def broadcast_shape(sizes: Sizes, x: ArrayType, shape: tuple[Dim, ...]) -> ArrayType:
    """The shape asked for, to which the operand's must broadcast."""
    result = broadcast(sizes, [x.shape, shape])
    if len(result) != len(shape) or not all(map(sizes.same, result, shape)):
        raise ShapeError(
            f"cannot broadcast {shape_text(sizes, x.shape)} to {shape_text(sizes, shape)}"
        )
    return ArrayType(x.dtype, tuple(shape))


def permuted(sizes: Sizes, x: ArrayType, axes: tuple[int, ...] | None) -> ArrayType:
    """The axes in a new order (None reverses them)."""
    order = axes if axes is not None else tuple(reversed(range(x.ndim)))
    return ArrayType(x.dtype, tuple(x.shape[i] for i in order))


def contraction(sizes: Sizes, a: ArrayType, b: ArrayType) -> ArrayType:
    """``a @ b``: the last axis of `a` with the last but one of `b`, batch axes broadcast."""
    dtype, _ = promote((a, b))
    if not a.shape or not b.shape:
        raise ShapeError("matmul: operands need at least one axis; use * with numbers")
    inner = b.shape[-2] if b.ndim > 1 else b.shape[0]
    if not sizes.same(a.shape[-1], inner):
        left, right = shape_text(sizes, a.shape), shape_text(sizes, b.shape)
        hint = ""
        if a.ndim == b.ndim == 2:
            with suppress(SizeError):  # lengths without values make no hint
                if sizes.value(a.shape[-1]) == sizes.value(b.shape[1]):
                    hint = " Did you mean a @ b.T?"
                elif sizes.value(a.shape[0]) == sizes.value(b.shape[0]):
                    hint = " Did you mean a.T @ b?"
        raise ShapeError(
            f"matmul: cannot contract {left} with {right}: axis {a.ndim - 1} of the first is "
            f"{shape_text(sizes, a.shape[-1:])[1:-2]}, axis {max(b.ndim - 2, 0)} of the second is "
            f"{shape_text(sizes, (inner,))[1:-2]}.{hint}"
        )
    batch = broadcast(sizes, [a.shape[:-2], b.shape[:-2]])
    rows = a.shape[-2:-1] if a.ndim > 1 else ()
    columns = b.shape[-1:] if b.ndim > 1 else ()
    return ArrayType(dtype, (*batch, *rows, *columns))


# -- NumPy's own word on dtypes -----------------------------------------------------------------

_PYTHON: dict[str, Any] = {"bool": np.dtype(bool), "int": int, "float": float, "complex": complex}


@cache
def ufunc_dtype(name: str, operands: tuple[tuple[str, bool], ...]) -> str:
    """The dtype that ``np.<name>`` gives for operands given as ``(dtype, weak)``."""
    if any(dtype == BFLOAT16 for dtype, _ in operands):
        return of_bfloat16(partial(ufunc_dtype, name), operands)
    alone = all(weak for _, weak in operands)  # Python numbers among themselves have dtypes
    dtypes = [
        _PYTHON[kind(dtype)] if weak and not alone else np.dtype(dtype) for dtype, weak in operands
    ]
    try:
        return str(getattr(np, name).resolve_dtypes((*dtypes, None))[-1].name)
    except TypeError as error:
        shown = " and ".join(kind(dtype) if weak else dtype for dtype, weak in operands)
        raise TypeError(f"{name} is not defined for {shown}") from error


Operands = tuple[tuple[str, bool], ...]


def of_bfloat16(resolve: Callable[[Operands], str], operands: Operands) -> str:
    """A dtype as JAX has it: bfloat16 among integers and Python's numbers, else what that becomes.

    `resolve` gives NumPy's for operands of other dtypes.
    """
    common, _ = promote([ArrayType(dtype, (), weak) for dtype, weak in operands])
    inside = "float32" if common == BFLOAT16 else common
    floats = tuple([(inside if d == BFLOAT16 else d, weak) for d, weak in operands])
    try:
        found = resolve(tuple([(d if weak else inside, weak) for d, weak in floats]))
    except TypeError:  # it takes an integer beside
        found = resolve(floats)
    return common if found == inside else found


def ufunc(name: str) -> Callable[..., ArrayType]:
    """A type rule: broadcast shape and the dtype that NumPy's ufunc itself says."""

    def infer(sizes: Sizes, *types: ArrayType) -> ArrayType:
        dtype = ufunc_dtype(name, tuple((t.dtype, t.weak) for t in types))
        return ArrayType(dtype, broadcast(sizes, [t.shape for t in types]))

    return infer


ON_BOOLS = {"bitwise_and", "bitwise_or", "bitwise_xor"}
OF_PYTHON = ArrayType("bool", (), weak=True)
"""The type of a bool of Python's, as its comparisons give."""


def operator(name: str) -> Callable[..., ArrayType]:
    """As `ufunc`, for one that is spelled by an operator: Python numbers stay Python numbers."""
    whole = ufunc(name)
    counts_bools = name not in ON_BOOLS  # True + True is 2 in Python, True in NumPy

    def infer(sizes: Sizes, *types: ArrayType) -> ArrayType:
        if not all(t.weak for t in types):
            return whole(sizes, *types)
        if counts_bools:
            types = tuple(weak("int") if t.dtype == "bool" else t for t in types)
        return replace(whole(sizes, *types), weak=True)

    return infer


def float_like(sizes: Sizes, x: ArrayType) -> ArrayType:
    """The same shape and dtype; integers give float64."""
    return ArrayType(mean_dtype(x.dtype), x.shape)


def clipped(sizes: Sizes, x: ArrayType, low: ArrayType, high: ArrayType) -> ArrayType:
    """What ``np.clip`` gives."""
    dtype, _ = promote((replace(x, weak=False), low, high))
    return ArrayType(dtype, broadcast(sizes, [x.shape, low.shape, high.shape]))


def rounded(sizes: Sizes, x: ArrayType, decimals: int) -> ArrayType:
    """What ``np.round`` gives: the operand's own dtype (of bool the float that holds it)."""
    return ArrayType("float16" if x.dtype == "bool" else x.dtype, x.shape)


def angular(sizes: Sizes, x: ArrayType, **_: Any) -> ArrayType:
    """What ``np.angle`` gives."""
    if kind(x.dtype) == "complex":
        return real_part(sizes, replace(x, weak=False))
    return ufunc("arctan2")(sizes, weak("int"), x)
