"""Square matrices enter, inverses and solutions of linear equations leave.

Batches are all axes but the last two. A matrix that has no inverse raises
`numpy.linalg.LinAlgError`, as NumPy does.

Reference: Giles 2008, Collected matrix derivative results for forward and reverse mode AD.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from codegen import sizes as sz
from codegen.sizes import Sizes
from codegen.spelling import Spelling, spell
from codegen.types import ArrayType, ShapeError, broadcast, promote, shape_text
from tracegrad.dispatch import HANDLERS, apply_in, ndim_of, shape_of, type_of
from tracegrad.errors import ArgumentError
from tracegrad.ops.activations import as_inexact
from tracegrad.ops.arguments import as_array
from tracegrad.ops.linear import lower_triangle, matmul, upper_triangle
from tracegrad.ops.matrices import adjoint, computed_dtype, square_axes
from tracegrad.ops.record import OpRecord, define
from tracegrad.ops.shape import (
    broadcast_to_shape,
    expand_dims,
    matrix_transpose,
    moveaxis,
    ravel,
    reshape_to,
    sizes_of,
    squeeze,
)

# -- inverse ------------------------------------------------------------------------------------


def _inverse_type(sizes: Sizes, x: ArrayType) -> ArrayType:
    square_axes("inv", sizes, x)
    return ArrayType(computed_dtype("inv", x), x.shape)


def _inverse_vjp(ct: Any, y: Any, x: Any) -> tuple[Any]:
    back = matrix_transpose(y)
    return (-matmul(matmul(back, ct), back),)


inverse_of: OpRecord = define(
    "inv",
    "np.linalg.inv(x)",
    infer=_inverse_type,
    vjp=_inverse_vjp,
    domain="invertible",
    doc="The inverse of a square matrix.",
)


def inv(a: Any) -> Any:
    """The inverses of square matrices; `solve` is the better way to use one."""
    return inverse_of(as_array(a))


# -- linear equations ---------------------------------------------------------------------------


def _solved_type(name: str) -> Any:
    def infer(sizes: Sizes, a: ArrayType, b: ArrayType, **_: Any) -> ArrayType:
        batch, n = square_axes(name, sizes, a)
        dtype = computed_dtype(name, a, b)
        rows = b.shape[-2:-1] if b.ndim > 1 else b.shape
        if not rows or not sizes.same(n, rows[0]):
            shown = " and ".join(shape_text(sizes, x.shape) for x in (a, b))
            raise ShapeError(f"{name}: the equations a @ x = b have no solution x for {shown}")
        if b.ndim == 1:
            return ArrayType(dtype, (*batch, n))
        return ArrayType(dtype, (*broadcast(sizes, [batch, b.shape[:-2]]), n, b.shape[-1]))

    return infer


def _against(ct: Any, y: Any) -> Any:
    """Products of a cotangent of solutions with the solutions, columns with columns."""
    if ndim_of(y) == 1:
        return expand_dims(ct, -1) * y
    return matmul(ct, matrix_transpose(y))


def _solve_vjp(ct: Any, y: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """``inv(a)^T ct`` for b, and its product with the solution for a."""
    back = matrix_transpose(a)
    if ndim_of(b) == 1 and ndim_of(a) > 2:  # of several matrices with one vector
        column = solve_of(back, expand_dims(ct, -1))
        return -matmul(column, expand_dims(y, -2)), squeeze(column, -1)
    ct_b = solve_of(back, ct)
    return -_against(ct_b, y), ct_b


solve_of: OpRecord = define(
    "solve",
    "np.linalg.solve(a, b)",
    operands="a b",
    infer=_solved_type("solve"),
    vjp=_solve_vjp,
    domain="invertible",
    doc="x with a @ x = b; b of one axis is a vector.",
)


def solve(a: Any, b: Any) -> Any:
    """The solution x of ``a @ x == b``: for a vector `b` (one axis), else for every column of it.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> a = np.array([[2.0, 0.0], [0.0, 4.0]])
    >>> tg.grad(lambda b: np.linalg.solve(a, b).sum())(np.array([1.0, 1.0]))
    array([0.5 , 0.25])
    """
    return solve_of(as_array(a), as_array(b))


BLOCK = 64
"""Rows that are solved for together: what they cost beside the matrix products is little."""


def _triangular_text(attributes: Mapping[str, Any]) -> Spelling:
    """Substitution by blocks of rows: NumPy has none, and its `solve` factorizes what it gets."""
    lower, dots = attributes["lower"], "..., " if attributes["batch"] else ""
    half, last = ("np.tril" if lower else "np.triu"), ", :" if attributes["batch"] else ""
    rows = f"i : i + {BLOCK}"
    block = f"a[{dots}{rows}, {rows}]"
    block = block if attributes["clean"] else f"{half}({block})"
    if attributes["unit_diagonal"]:
        length = f"len(a[i : i + {BLOCK}])" if not dots else f"a[{dots}{rows}, :].shape[-2]"
        block = f"{block[:-1]}, {-1 if lower else 1}) + np.eye({length}, dtype=a.dtype)"
    known = ":i" if lower else f"i + {BLOCK} :"
    length = "len(a)" if not dots else "a.shape[-1]"
    blocks = (
        f"0, {length}, {BLOCK}" if lower else f"({length} - 1) // {BLOCK} * {BLOCK}, -1, -{BLOCK}"
    )
    left = f"b[{dots}{rows}{last}] - a[{dots}{rows}, {known}] @ out[{dots}{known}{last}]"
    return spell(
        "out = np.empty(b.shape, dtype=dtype)\n"
        f"for i in range({blocks}):\n"
        f"    out[{dots}{rows}{last}] = np.linalg.solve({block}, {left})"
    )


def _triangular_vjp(
    ct: Any, y: Any, a: Any, b: Any, lower: bool, unit_diagonal: bool, clean: bool, **_: Any
) -> tuple[Any, Any]:
    """As of `solve`; what is not read of `a` gets 0."""
    ct_b = triangular(matrix_transpose(a), ct, not lower, unit_diagonal, clean)
    triangle = lower_triangle if lower else upper_triangle
    strict = (-1 if lower else 1) if unit_diagonal else 0
    return triangle(-_against(ct_b, y), k=strict), ct_b


triangular_solve: OpRecord = define(
    "solve_triangular",
    _triangular_text,
    jax="jax.scipy.linalg.solve_triangular(a, b, lower=lower, unit_diagonal=unit_diagonal)",
    operands="a b",
    infer=_solved_type("solve_triangular"),
    vjp=_triangular_vjp,
    attributes={
        "lower": False,
        "unit_diagonal": False,
        "clean": False,
        "batch": False,
        "dtype": "float64",
    },
    domain="invertible",
    doc="x with a @ x = b, of a one triangle; b is a vector for one matrix, else has its batch. "
    "`clean` says that the other triangle of a is 0.",
)


def triangular(
    a: Any, b: Any, lower: bool, unit_diagonal: bool = False, clean: bool = False
) -> Any:
    """The record, which is written in another way for batches and other dtypes."""
    return triangular_solve(
        a,
        b,
        lower=lower,
        unit_diagonal=unit_diagonal,
        clean=clean,
        batch=ndim_of(a) > 2,
        dtype=promote((type_of(a), type_of(b)))[0],
    )


TRANS = {0: 0, 1: 1, 2: 2, "N": 0, "T": 1, "C": 2}


def solve_triangular(
    a: Any, b: Any, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False
) -> Any:
    """The solution of ``a @ x == b`` where one triangle of `a` counts, as SciPy's.

    trans
        0 or "N", 1 or "T" (``a.T @ x == b``), 2 or "C" (the conjugate transpose).
    lower
        Whether the lower triangle counts; by default the upper.
    unit_diagonal
        Whether the diagonal is taken for ones, whatever stands there.

    In NumPy source it is a loop over blocks of rows; in JAX source JAX's own triangular solve.
    """
    if trans not in TRANS:
        raise ArgumentError(f'solve_triangular: trans={trans!r} is none of 0, 1, 2, "N", "T", "C"')
    a, b = as_inexact(a), as_inexact(b)
    if TRANS[trans]:
        a, lower = adjoint(a) if TRANS[trans] == 2 else matrix_transpose(a), not lower
    how = (bool(lower), bool(unit_diagonal))
    if ndim_of(b) == 1 and ndim_of(a) > 2:
        return squeeze(_of_one_batch(a, expand_dims(b, -1), *how), -1)
    return _of_one_batch(a, b, *how)


def _of_one_batch(a: Any, b: Any, lower: bool, unit_diagonal: bool) -> Any:
    """The record, whose operands have the same batch."""
    of_a, of_b = shape_of(a), shape_of(b)
    if ndim_of(b) > 1 and of_a[:-2] != of_b[:-2]:
        batch = broadcast(sizes_of([a, b]), [of_a[:-2], of_b[:-2]])
        like = a if type(a) in HANDLERS else b
        a = apply_in(like, broadcast_to_shape, {"shape": (*batch, *of_a[-2:])}, a)
        b = apply_in(like, broadcast_to_shape, {"shape": (*batch, *of_b[-2:])}, b)
    return triangular(a, b, lower, unit_diagonal)


def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    """The solution x of ``tensordot(a, x, x.ndim) == b``; `axes` of `a` are first moved last."""
    a, b = as_array(a), as_array(b)
    if axes is not None:
        axes = tuple(axes)
        a = moveaxis(a, axes, tuple(range(-len(axes), 0)))
    known, unknown = shape_of(a)[: ndim_of(b)], shape_of(a)[ndim_of(b) :]
    flat = reshape_to(a, shape=(sz.mul(known), sz.mul(unknown)))
    return reshape_to(solve_of(flat, ravel(b)), shape=unknown)


def tensorinv(a: Any, ind: int = 2) -> Any:
    """The inverse of `a` as a map of tensors: its first `ind` axes are the rows of a matrix."""
    if ind <= 0:
        raise ArgumentError(f"tensorinv: ind={ind} must be positive")
    a = as_array(a)
    shape = shape_of(a)
    rows, columns = shape[:ind], shape[ind:]
    flat = reshape_to(a, shape=(sz.mul(rows), sz.mul(columns)))
    return reshape_to(inverse_of(flat), shape=(*columns, *rows))


__all__ = ["inv", "solve", "solve_triangular", "tensorinv", "tensorsolve"]
