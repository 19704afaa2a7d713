"""Convolution and correlation of vectors."""

from __future__ import annotations

from typing import Any

from codegen import sizes as sz
from codegen.sizes import Sizes
from codegen.types import ArrayType, promote, shape_text
from codegen.types import ShapeError as ShapeMismatch
from tracegrad.errors import ArgumentValueError
from tracegrad.ops.arguments import as_array
from tracegrad.ops.elementwise.ufuncs import conj, is_complex
from tracegrad.ops.record import OpRecord, define
from tracegrad.ops.shape.indexing import getitem
from tracegrad.ops.shape.reshaping import flip_axes, length_of
from tracegrad.values.dispatch import ndim_of

# -- convolution --------------------------------------------------------------------------------


def _vectors(sizes: Sizes, a: ArrayType, b: ArrayType) -> str:
    if a.ndim != 1 or b.ndim != 1:
        shapes = " and ".join(shape_text(sizes, x.shape) for x in (a, b))
        raise ShapeMismatch(f"convolve takes two vectors, not {shapes}")
    return promote((a, b))[0]


def _full_type(sizes: Sizes, a: ArrayType, v: ArrayType) -> ArrayType:
    dtype = _vectors(sizes, a, v)
    return ArrayType(dtype, (sz.add(a.shape[0], v.shape[0], -1),))


def _inner_type(sizes: Sizes, a: ArrayType, v: ArrayType) -> ArrayType:
    dtype = _vectors(sizes, a, v)
    return ArrayType(dtype, (sz.add(sz.minus(a.shape[0], v.shape[0]), 1),))


def _reversed(x: Any) -> Any:
    return flip_axes(x, axes=(0,))


convolved: OpRecord = define(
    "convolve",
    "np.convolve(a, v)",
    jax="jnp.convolve(a, v, preferred_element_type=jnp.result_type(a, v))",
    operands="a v",
    infer=_full_type,
    vjp=lambda ct, y, a, v: (
        convolved_inside(ct, _reversed(v)),
        convolved_inside(ct, _reversed(a)),
    ),
    domain="vectors",
    doc="Sums of products of two vectors, one reversed, wherever they overlap.",
)
convolved_inside: OpRecord = define(
    "convolve_inside",
    'np.convolve(a, v, mode="valid")',
    jax='jnp.convolve(a, v, mode="valid", preferred_element_type=jnp.result_type(a, v))',
    operands="a v",
    infer=_inner_type,
    vjp=lambda ct, y, a, v: (
        convolved(ct, _reversed(v)),
        _reversed(convolved_inside(a, _reversed(ct))),
    ),
    domain="vectors",
    doc="The same where `v`, which is no longer than `a`, lies within `a`.",
)


def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """The convolution of two vectors: sums of products, one of them reversed.

    mode
        ``"full"``: wherever they overlap, n + m - 1 elements; ``"same"``: as many as the longer
        has, from the middle; ``"valid"``: where they overlap wholly. The last two compare the
        lengths, which are fixed by that while tracing.
    """
    return _in_mode(as_array(a), as_array(v), mode, False)


def _in_mode(a: Any, v: Any, mode: str, correlated: bool) -> Any:
    if mode not in ("full", "same", "valid"):
        raise ArgumentValueError(f'mode={mode!r}: must be "full", "same" or "valid"')
    if mode == "full" or not ndim_of(a) == ndim_of(v) == 1:
        return convolved(a, v)
    n, m = length_of(a, 0), length_of(v, 0)
    swapped = n < m
    if swapped:
        a, v, n, m = v, a, m, n
    if mode == "valid":
        return convolved_inside(a, v)
    start = m // 2 if swapped and correlated else (m - 1) // 2
    return getitem(convolved(a, v), slice(start, start + n))


def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    """The correlation of two vectors: sums of products of one with the other conjugated, shifted.

    `mode` as for `convolve`.
    """
    a, v = as_array(a), as_array(v)
    return _in_mode(a, _reversed(conj(v) if is_complex(v) else v), mode, True)


__all__ = [
    "convolve",
    "correlate",
]
