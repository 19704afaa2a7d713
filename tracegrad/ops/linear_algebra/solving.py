"""Inverses, and solutions of linear equations.

Batches are all axes but the last two. A matrix that has no inverse raises
`numpy.linalg.LinAlgError`, as NumPy does.

Reference: Giles 2008, Collected matrix derivative results for forward and reverse mode AD.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from codegen import sizes as sz
from codegen.sizes import Sizes
from codegen.spelling import Spelling, spell
from codegen.types import ArrayType, ShapeError, broadcast, shape_text
from tracegrad.errors import ArgumentError, ArgumentValueError
from tracegrad.ops import batching_rules
from tracegrad.ops.arguments import as_array
from tracegrad.ops.elementwise.activations import as_inexact
from tracegrad.ops.linear_algebra.contractions import lower_triangle, matmul, upper_triangle
from tracegrad.ops.linear_algebra.shared_rules import (
    adjoint,
    computed_dtype,
    is_finite,
    square_axes,
)
from tracegrad.ops.program_functions import needs
from tracegrad.ops.record import OpRecord, define
from tracegrad.ops.shape.reshaping import (
    broadcast_to_shape,
    expand_dims,
    matrix_transpose,
    moveaxis,
    ravel,
    reshape_to,
    sizes_of,
    squeeze,
)
from tracegrad.values.dispatch import HANDLERS, apply_in, ndim_of, shape_of

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
    raises="always",
    vjp=_inverse_vjp,
    sound=is_finite,
    domain="invertible",
    batch=batching_rules.leading,
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
    raises="always",
    vjp=_solve_vjp,
    sound=is_finite,
    domain="invertible",
    batch=batching_rules.solving,
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


def inverted_blocks(a, clean=False, unit_diagonal=False):
    """Lower triangles with the blocks of 64 rows on their diagonals inverted, 0 elsewhere.

    `clean` says that the upper triangle is 0.
    """
    out = np.zeros_like(a)
    for i in range(0, a.shape[-1], 64):
        rows = (..., slice(i, i + 64), slice(i, i + 64))
        block = a[rows] if clean else np.tril(a[rows])
        if unit_diagonal:
            block = np.tril(block, -1) + np.eye(block.shape[-1], dtype=a.dtype)
        out[rows] = np.linalg.inv(block)
    return out


def substituted(a, inverses, b, lower=False):
    """The solution of a @ x = b, of one triangle of a: 64 rows after the other.

    `inverses` are those of the blocks of 64 rows on the diagonal of a.
    """
    n, columns = a.shape[-1], b[:, None] if b.ndim == 1 else b
    out = np.empty(columns.shape, np.result_type(a, b))
    for i in range(0, n, 64) if lower else reversed(range(0, n, 64)):
        rows, known = slice(i, i + 64), slice(0, i) if lower else slice(i + 64, n)
        left = columns[..., rows, :]
        if known.start < known.stop:
            left = left - a[..., rows, known] @ out[..., known, :]
        out[..., rows, :] = inverses[..., rows, rows] @ left
    return out[:, 0] if b.ndim == 1 else out


def inverted_blocks_jax(a, clean=False, unit_diagonal=False):
    """Lower triangles with the blocks of 64 rows on their diagonals inverted, 0 elsewhere."""
    out = jnp.zeros_like(a)  # noqa: F821
    for i in range(0, a.shape[-1], 64):
        rows = (..., slice(i, i + 64), slice(i, i + 64))
        block = jnp.tril(a[rows])  # noqa: F821
        if unit_diagonal:
            block = jnp.tril(block, -1) + jnp.eye(block.shape[-1], dtype=a.dtype)  # noqa: F821
        out = out.at[rows].set(jnp.linalg.inv(block))  # noqa: F821
    return jax.lax.optimization_barrier(out)  # noqa: F821


def _blocks_text(attributes: Mapping[str, Any], a: str) -> str:
    given = [f", {name}=True" for name in ("clean", "unit_diagonal") if attributes[name]]
    return f"inverted_blocks({a}{''.join(given)})"


def _triangular_text(attributes: Mapping[str, Any]) -> Spelling:
    """NumPy has no substitution, and its `solve` factorizes the triangle that it gets."""
    lower = attributes["lower"]
    blocks = _blocks_text(attributes, "a") if lower else _blocks_text(attributes, "a.mT") + ".mT"
    return spell(f"substituted(a, {blocks}, b{', lower=True' if lower else ''})")


def _triangular_vjp(
    ct: Any, y: Any, a: Any, b: Any, lower: bool, unit_diagonal: bool, clean: bool
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
    raises="always",
    vjp=_triangular_vjp,
    attributes={"lower": False, "unit_diagonal": False, "clean": False},
    needs=needs((inverted_blocks, substituted)),
    domain="invertible",
    batch=batching_rules.solving_alike,
    doc="x with a @ x = b, of a one triangle; b is a vector for one matrix, else has its batch. "
    "`clean` says that the other triangle of a is 0.",
)
blocks_of: OpRecord = define(
    "inverted_blocks",
    lambda attributes: spell(_blocks_text(attributes, "a")),
    operands="a",
    infer=lambda sizes, a, **_: ArrayType(a.dtype, a.shape),
    raises="always",
    attributes={"clean": False, "unit_diagonal": False},
    needs=needs((inverted_blocks,), (inverted_blocks_jax,)),
    differentiable=False,
    domain="invertible",
    batch=batching_rules.leading,
    doc="The blocks of 64 rows on the diagonals of lower triangles, inverted, and 0 elsewhere.",
)
substituted_of: OpRecord = define(
    "substituted",
    "substituted(a, inverses, b, lower=lower)",
    jax="jax.scipy.linalg.solve_triangular(a, b, lower=lower)",
    operands="a inverses b",
    infer=lambda sizes, a, inverses, b, lower: _solved_type("substituted")(sizes, a, b),
    attributes={"lower": False},
    needs=needs((substituted,)),
    differentiable=False,
    domain="invertible",
    batch=batching_rules.solving_alike,
    doc="`solve_triangular` of NumPy programs, with the `inverted_blocks` that several share.",
)


def triangular(
    a: Any, b: Any, lower: bool, unit_diagonal: bool = False, clean: bool = False
) -> Any:
    """The record, by position."""
    return triangular_solve(a, b, lower=lower, unit_diagonal=unit_diagonal, clean=clean)


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

    In NumPy source it is products with the inverses of blocks of 64 rows, which all solutions with
    one triangle have in common, derivatives included; in JAX source JAX's own triangular solve.
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
        raise ArgumentValueError(f"tensorinv: ind={ind} must be positive")
    a = as_array(a)
    shape = shape_of(a)
    rows, columns = shape[:ind], shape[ind:]
    flat = reshape_to(a, shape=(sz.mul(rows), sz.mul(columns)))
    return reshape_to(inverse_of(flat), shape=(*columns, *rows))


__all__ = ["inv", "solve", "solve_triangular", "tensorinv", "tensorsolve"]
