"""Lengths and numbers enter, new arrays leave."""

from __future__ import annotations

from typing import Any

import numpy as np

from codegen import sizes as sz
from codegen.ir import Trait
from codegen.sizes import Dim, Sizes
from codegen.types import ArrayType
from tracegrad.dispatch import apply_in, dtype_of, shape_of
from tracegrad.ops.record import KERNEL_NAMES, define

extent = define(
    "extent",
    "_number_of_elements(size, dtype)",
    jax="size",
    operands="",
    infer=lambda sizes, size, dtype: ArrayType(dtype),
    attributes={"size": ..., "dtype": ...},
    traits=(Trait.EXTENT,),
    differentiable=False,
    doc="A number of elements, as a scalar of `dtype`; known from types alone.",
)


def _number_of_elements(size: int, dtype: str) -> Any:
    return np.dtype(dtype).type(size)


KERNEL_NAMES["_number_of_elements"] = _number_of_elements


def count(dims: tuple[Dim, ...], like: Any) -> Any:
    """The product of lengths, as a number to divide values of `like`'s dtype by."""
    size = sz.mul(dims)
    dtype = dtype_of(like)
    dtype = {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)
    return extent_like(like, size, dtype)


def extent_like(like: Any, size: Dim, dtype: str) -> Any:
    """`extent` in the algebra of `like` (an op without operands belongs to none by itself)."""
    return apply_in(like, extent, {"size": size, "dtype": dtype})


def _filled(sizes: Sizes, value: ArrayType, shape: tuple[Dim, ...], dtype: str) -> ArrayType:
    return ArrayType(dtype, tuple(shape))


full_of = define(
    "full",
    "np.full(shape, value, dtype=dtype)",
    operands="value",
    infer=_filled,
    vjp=lambda ct, y, value, shape, dtype: (ct,),
    attributes={"shape": ..., "dtype": ...},
    traits=(Trait.C_ORDER,),
    doc="An array of one number.",
)


def zeros_of(x: Any) -> Any:
    """Zeros of the shape and dtype of `x`, in the algebra of `x`."""
    return apply_in(x, full_of, {"shape": shape_of(x), "dtype": dtype_of(x)}, 0.0)


__all__ = [
]
