"""Functions of `scipy.linalg` on Tensors, with SciPy's arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from codegen.sizes import Sizes
from codegen.spelling import spell
from codegen.types import ArrayType
from tracegrad import linalg
from tracegrad.errors import ShapeError
from tracegrad.ops.elementwise.activations import as_inexact
from tracegrad.ops.elementwise.arrays_and_scalars import as_scalar
from tracegrad.ops.elementwise.ufuncs import is_complex
from tracegrad.ops.linear_algebra import decompositions
from tracegrad.ops.linear_algebra.shared_rules import computed_dtype, square_axes
from tracegrad.ops.record import OpRecord
from tracegrad.ops.shape.reshaping import reshape_to
from tracegrad.tensors import array_functions as tg
from tracegrad.traced_scipy.op_records import scipy_op
from tracegrad.traced_scipy.refusals import refused
from tracegrad.values.dispatch import shape_of

Table = dict[str, Callable[..., Any]]


def _solve(
    a: Any, b: Any, lower: bool = False, assume_a: str | None = None, transposed: bool = False
) -> Any:
    """Of a matrix that is said to be symmetric, one triangle is read."""
    if assume_a in ("pos", "positive definite"):
        return _cho_solve(_cho_factor(a, lower), b)
    if assume_a in ("sym", "symmetric", "her", "hermitian"):
        strict = tg.tril(a, -1) if lower else tg.triu(a, 1)
        turned = tg.matrix_transpose(strict)
        half = tg.tril(a) if lower else tg.triu(a)
        a = half + (turned if assume_a.startswith("sym") else tg.conj(turned))
    elif assume_a not in (None, "gen", "general"):
        raise refused(f"scipy.linalg.solve with assume_a={assume_a!r}")
    return linalg.solve(tg.matrix_transpose(a) if transposed else a, b)


def _cholesky(a: Any, lower: bool = False) -> Any:
    return linalg.cholesky(a, upper=not lower)


def _cho_factor(a: Any, lower: bool = False) -> Any:
    """The factor, with zeros where SciPy leaves what stood there."""
    return linalg.cholesky(a, upper=not lower), lower


def _cho_solve(c_and_lower: Any, b: Any) -> Any:
    factor, lower = c_and_lower
    first, second = (0, 2) if lower else (2, 0)
    half = linalg.solve_triangular(factor, b, trans=first, lower=lower)
    return linalg.solve_triangular(factor, half, trans=second, lower=lower)


def _solve_triangular(
    a: Any, b: Any, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False
) -> Any:
    return linalg.solve_triangular(a, b, trans=trans, lower=lower, unit_diagonal=unit_diagonal)


def _inv(a: Any) -> Any:
    return linalg.inv(a)


def _det(a: Any) -> Any:
    """In double precision, as SciPy gives it."""
    a = as_inexact(a)
    return linalg.det(tg.astype(a, tg.complex128 if is_complex(a) else tg.float64))


def _svdvals(a: Any) -> Any:
    return linalg.svdvals(a)


def _norm(a: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    found = linalg.norm(a, ord, axis, keepdims)
    return as_scalar(found) if axis is None and not keepdims else found


eigh_of: OpRecord = scipy_op(
    "eigh_of_scipy",
    lambda attributes: spell(
        "linalg.eigh(x)" if attributes["UPLO"] == "L" else "linalg.eigh(x, lower=False)"
    ),
    "linalg",
    infer=decompositions.eigh_type,
    vjp=decompositions.eigh_vjp,
    jvp=decompositions.eigh_jvp,
    jax="jnp.linalg.eigh(x, UPLO, symmetrize_input=False)",
    attributes={"UPLO": "L"},
    results="w v",
)


def _eigh(a: Any, *, lower: bool = True, eigvals_only: bool = False) -> Any:
    """By SciPy's routine, of which the eigenvectors have other signs than those of NumPy's."""
    triangle = "L" if lower else "U"
    if eigvals_only:
        return linalg.eigvalsh(a, triangle)
    return tuple(eigh_of(as_inexact(a), UPLO=triangle))


def _eigvalsh(a: Any, *, lower: bool = True) -> Any:
    return linalg.eigvalsh(a, "L" if lower else "U")


def _svd(a: Any, full_matrices: bool = True, compute_uv: bool = True) -> Any:
    found = linalg.svd(a, full_matrices, compute_uv)
    return tuple(found) if compute_uv else found


def _qr(a: Any, mode: str = "full", lwork: Any = None) -> Any:
    if mode not in ("full", "economic"):
        raise refused(f"scipy.linalg.qr with mode={mode!r}")
    return tuple(linalg.qr(a, {"full": "complete", "economic": "reduced"}[mode]))


# -- functions of matrices ------------------------------------------------------------------------


def _same_square(sizes: Sizes, x: ArrayType, **_: Any) -> ArrayType:
    batch, n = square_axes("a function of a matrix", sizes, x)
    return ArrayType(computed_dtype("a function of a matrix", x), (*batch, n, n))


def _pulled_through(record: Callable[..., Any], ct: Any, x: Any) -> Any:
    """The derivative of a function of matrices: a block of it at a matrix twice as large.

    Reference: Mathias 1996, A chain rule for matrix functions and applications.
    """
    back = tg.matrix_transpose(x)
    top = tg.concat([back, ct], axis=-1)
    bottom = tg.concat([back * 0.0, back], axis=-1)
    *batch, n, _ = shape_of(x)
    found = record(tg.concat([top, bottom], axis=-2))
    return reshape_to(found, shape=(*batch, 2, n, 2, n))[..., 0, :, 1, :]


expm_of: OpRecord = scipy_op(
    "expm",
    "linalg.expm(x)",
    "linalg",
    infer=_same_square,
    vjp=lambda ct, y, x: (_pulled_through(expm_of, ct, x),),
    jax="jax.scipy.linalg.expm(x)",
)


def in_dtype(found, x):  # type: ignore[no-untyped-def]
    """What a function of a matrix gives, in the dtype of the matrix; raises where that has none."""
    if np.iscomplexobj(found) and not np.iscomplexobj(x):
        if np.abs(found.imag).max() > 1e-8 * np.abs(found).max():
            raise ValueError("this matrix function of a real matrix is complex: pass a complex one")
        found = found.real
    return found.astype(x.dtype)


logm_of: OpRecord = scipy_op(
    "logm",
    "in_dtype(linalg.logm(x), x)",
    "linalg",
    infer=_same_square,
    vjp=lambda ct, y, x: (_pulled_through(logm_of, ct, x),),
    used=(in_dtype,),
)


def _sqrtm_vjp(ct: Any, y: Any, x: Any) -> tuple[Any]:
    back = tg.matrix_transpose(y)
    return (sylvester_of(back, back, ct),)


sqrtm_of: OpRecord = scipy_op(
    "sqrtm",
    "in_dtype(linalg.sqrtm(x), x)",
    "linalg",
    infer=_same_square,
    vjp=_sqrtm_vjp,
    used=(in_dtype,),
)


def _sylvester_type(sizes: Sizes, a: ArrayType, b: ArrayType, q: ArrayType) -> ArrayType:
    if a.ndim != 2 or b.ndim != 2 or q.ndim != 2:
        raise ShapeError("solve_sylvester: a, b and q must be matrices")
    dtypes = [computed_dtype("solve_sylvester", x) for x in (a, b, q)]
    return ArrayType(np.result_type(*dtypes).name, q.shape)


def _sylvester_vjp(ct: Any, y: Any, a: Any, b: Any, q: Any) -> tuple[Any, Any, Any]:
    z = sylvester_of(tg.matrix_transpose(a), tg.matrix_transpose(b), ct)
    back = tg.matrix_transpose(y)
    return -(z @ back), -(back @ z), z


sylvester_of: OpRecord = scipy_op(
    "solve_sylvester",
    "linalg.solve_sylvester(a, b, q)",
    "linalg",
    infer=_sylvester_type,
    vjp=_sylvester_vjp,
    operands="a b q",
)


def _of_matrix(record: OpRecord, name: str, batch: bool = False) -> Callable[..., Any]:
    def function(A: Any) -> Any:
        x = as_inexact(A)
        if np.ndim(x) != 2 and not batch:
            raise ShapeError(f"{name}: takes one matrix, not an array of shape {np.shape(x)}")
        return record(x)

    return function


def _solve_sylvester(a: Any, b: Any, q: Any) -> Any:
    return sylvester_of(as_inexact(a), as_inexact(b), as_inexact(q))


def _block_diag(*arrs: Any) -> Any:
    """Matrices along the diagonal, zeros around them."""
    blocks = [x if np.ndim(x) > 1 else tg.reshape(x, (1, -1)) for x in map(tg.asarray, arrs)]
    batch = np.broadcast_shapes(*[np.shape(x)[:-2] for x in blocks])
    width = sum(np.shape(x)[-1] for x in blocks)
    rows, start = [], 0
    for x in blocks:
        n = np.shape(x)[-1]
        x = tg.broadcast_to(x, (*batch, *np.shape(x)[-2:])) if batch else x
        around = [*[(0, 0)] * (len(batch) + 1), (start, width - start - n)]
        rows.append(tg.pad(x, around))
        start += n
    return tg.concat(rows, axis=-2)


def _solve_banded(l_and_u: Any, ab: Any, b: Any) -> Any:
    """By the whole matrix, of which SciPy keeps the diagonals as rows."""
    lower, upper = l_and_u
    n = np.shape(ab)[1]
    whole: Any = 0.0
    for row in range(lower + upper + 1):
        k = upper - row  # which diagonal
        part = ab[row, k:] if k >= 0 else ab[row, :k]
        whole = whole + tg.diagflat(part, k)
    if np.shape(whole) != (n, n):
        raise ShapeError(f"solve_banded: {lower} and {upper} diagonals do not fit {np.shape(ab)}")
    return linalg.solve(whole, b)


TABLE: Table = {
    "solve": _solve,
    "cholesky": _cholesky,
    "cho_factor": _cho_factor,
    "cho_solve": _cho_solve,
    "solve_triangular": _solve_triangular,
    "inv": _inv,
    "det": _det,
    "norm": _norm,
    "eigh": _eigh,
    "eigvalsh": _eigvalsh,
    "svd": _svd,
    "svdvals": _svdvals,
    "qr": _qr,
    "expm": _of_matrix(expm_of, "expm", batch=True),
    "logm": _of_matrix(logm_of, "logm"),
    "sqrtm": _of_matrix(sqrtm_of, "sqrtm"),
    "solve_sylvester": _solve_sylvester,
    "solve_banded": _solve_banded,
    "block_diag": _block_diag,
}
