"""Factors of matrices: Cholesky, eigenvalues, singular values, QR.

Batches are all axes but the last two. Derivatives exist where the factors are smooth; what is done
where eigenvalues or singular values coincide is said at
`tracegrad.ops.linear_algebra.shared_rules.over_gaps`.

References: Giles 2008, Collected matrix derivative results for forward and reverse mode AD; Murray
2016, Differentiation of the Cholesky decomposition; Seeger et al. 2017, Auto-differentiating linear
algebra; Walter and Lehmann 2012, Algorithmic differentiation of linear algebra functions; Boeddeker
et al. 2017, On the computation of complex-valued gradients.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from codegen.sizes import Sizes
from codegen.types import ArrayType
from tracegrad.errors import ArgumentError, ArgumentValueError, NotDifferentiableError
from tracegrad.ops import batching_rules
from tracegrad.ops.arguments import as_array
from tracegrad.ops.elementwise.ufuncs import (
    absolute,
    astype,
    imag,
    is_complex,
    logical_and,
    real,
    sign_of,
    where,
)
from tracegrad.ops.linear_algebra.contractions import (
    diagonal_of,
    lower_triangle,
    matmul,
    upper_triangle,
)
from tracegrad.ops.linear_algebra.shared_rules import (
    adjoint,
    columns_times,
    complex_dtype,
    computed_dtype,
    conjugated,
    hermitian_from,
    identity_mask,
    is_known,
    is_of_finite,
    matrix_axes,
    on_diagonal,
    over_gaps,
    real_dtype,
    smaller,
    square_axes,
)
from tracegrad.ops.linear_algebra.solving import solve_of, triangular
from tracegrad.ops.program_functions import needs
from tracegrad.ops.record import define
from tracegrad.ops.reductions.products import cumsum_along
from tracegrad.ops.reductions.sums_and_extremes import max, min, sum_over
from tracegrad.ops.shape.creation import tri_of
from tracegrad.ops.shape.indexing import getitem
from tracegrad.ops.shape.joining import concatenate
from tracegrad.ops.shape.memory_order import row_after_row
from tracegrad.ops.shape.padding import pad
from tracegrad.ops.shape.reshaping import expand_dims, matrix_transpose, squeeze
from tracegrad.values.dispatch import apply_in, dtype_of, ndim_of, shape_of

_ONE = np.eye(1)
EighResult: Any = type(np.linalg.eigh(_ONE))
EigResult: Any = type(np.linalg.eig(_ONE))
QRResult: Any = type(np.linalg.qr(_ONE))
SVDResult: Any = type(np.linalg.svd(_ONE))

# -- Cholesky -----------------------------------------------------------------------------------


def _cholesky_vjp(ct: Any, y: Any, x: Any) -> tuple[Any]:
    """Half of ``inv(L)^H P inv(L)``, P Hermitian with the lower triangle of ``L^H g``."""
    upper = adjoint(y)
    inner = matmul(upper, conjugated(ct))
    inner = _of_lower(inner)
    half = triangular(upper, inner, lower=False, clean=True)
    return (conjugated(0.5 * triangular(upper, adjoint(half), lower=False, clean=True)),)


def _of_lower(x: Any) -> Any:
    """The Hermitian matrix that has the lower triangle of x."""
    if is_complex(x):
        return hermitian_from(lower_triangle(x, k=0), lower_triangle(x, k=-1))
    n = shape_of(x)[-1]
    lower = apply_in(x, tri_of, {"rows": n, "columns": n, "k": 0, "dtype": "bool"})
    return where(lower, x, matrix_transpose(x))


def _square_type(name: str) -> Any:
    def infer(sizes: Sizes, x: ArrayType) -> ArrayType:
        square_axes(name, sizes, x)
        return ArrayType(computed_dtype(name, x), x.shape)

    return infer


cholesky_of = define(
    "cholesky",
    "np.linalg.cholesky(x)",
    jax="jnp.linalg.cholesky(x, symmetrize_input=False)",
    infer=_square_type("cholesky"),
    raises="always",
    vjp=_cholesky_vjp,
    sound=is_known,
    domain="positive_definite",
    batch=batching_rules.leading,
    doc="Lower triangular L with L @ L^H = x, of which the lower triangle is read.",
)


def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    """The lower triangular L with ``L @ L.conj().T == a`` (`upper`: its conjugate transpose).

    `a` is Hermitian and positive definite; of its two triangles one is read, and the gradient is
    Hermitian, that of a function of Hermitian matrices. Raises `numpy.linalg.LinAlgError` where a
    matrix is not positive definite.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.grad(lambda a: tg.linalg.cholesky(a)[0, 0])(np.array([[4.0, 2.0], [2.0, 5.0]]))
    array([[0.25, 0.  ],
           [0.  , 0.  ]])
    """
    a = as_array(a)
    return row_after_row(adjoint(cholesky_of(adjoint(a)))) if upper else cholesky_of(a)


# -- eigenvalues of Hermitian matrices ----------------------------------------------------------


def eigh_type(sizes: Sizes, x: ArrayType, UPLO: str) -> tuple[ArrayType, ArrayType]:
    batch, n = square_axes("eigh", sizes, x)
    dtype = computed_dtype("eigh", x)
    return ArrayType(real_dtype(dtype), (*batch, n)), ArrayType(dtype, (*batch, n, n))


def eigh_vjp(cts: Any, ys: Any, x: Any, UPLO: str) -> tuple[Any]:
    """``V (diag(g_w) + K / gaps) V^H``, K the anti-Hermitian part of ``V^H g_v``."""
    (ct_w, ct_v), (w, v) = cts, ys
    if ct_v is None:
        return (conjugated(matmul(columns_times(v, ct_w), adjoint(v))),)
    turn = matmul(adjoint(v), conjugated(ct_v))
    part = 0.5 * (turn - adjoint(turn))
    gap = expand_dims(w, -2) - expand_dims(w, -1)
    phases = identity_mask(gap) if is_complex(v) else None  # free: vectors of length 1 remain
    inner = matmul(v, over_gaps(part, gap, w, turn, phases, ct_w))
    if ct_w is not None:
        inner = inner + columns_times(v, ct_w)
    return (conjugated(matmul(inner, adjoint(v))),)


def _diagonal(x: Any) -> Any:
    """The diagonal of square matrices."""
    ndim = ndim_of(x)
    return diagonal_of(x, offset=0, axis1=ndim - 2, axis2=ndim - 1)


def eigh_jvp(dots: Any, ys: Any, x: Any, UPLO: str) -> tuple[Any, Any]:
    """The diagonal of ``V^H dX V``, and ``V`` times the rest of it over the gaps."""
    w, v = ys
    moved = matmul(adjoint(v), matmul(dots[0], v))
    moved = 0.5 * (moved + adjoint(moved))
    gap = expand_dims(w, -2) - expand_dims(w, -1)
    turn = over_gaps(moved, gap, w, moved, identity_mask(gap))
    return real(_diagonal(moved)), matmul(v, turn)


eigh_of = define(
    "eigh",
    "np.linalg.eigh(x, UPLO=UPLO)",
    jax="jnp.linalg.eigh(x, UPLO, symmetrize_input=False)",
    infer=eigh_type,
    raises="always",
    vjp=eigh_vjp,
    jvp=eigh_jvp,
    attributes={"UPLO": "L"},
    results="w v",
    partial=True,
    domain="hermitian",
    batch=batching_rules.leading,
    doc="Eigenvalues in ascending order and eigenvectors, the columns, of a Hermitian matrix.",
)


def _eigvalsh_vjp(ct: Any, y: Any, x: Any, UPLO: str) -> tuple[Any]:
    _, v = eigh_of(x, UPLO=UPLO)
    return (conjugated(matmul(columns_times(v, ct), adjoint(v))),)


eigvalsh_of = define(
    "eigvalsh",
    "np.linalg.eigvalsh(x, UPLO=UPLO)",
    jax="jnp.linalg.eigh(x, UPLO, symmetrize_input=False)[0]",
    infer=lambda sizes, x, UPLO: eigh_type(sizes, x, UPLO)[0],
    raises="always",
    vjp=_eigvalsh_vjp,
    attributes={"UPLO": "L"},
    domain="hermitian",
    batch=batching_rules.leading,
    doc="The eigenvalues of a Hermitian matrix in ascending order.",
)


def _triangle(UPLO: str) -> str:
    if UPLO not in ("L", "U", "l", "u"):
        raise ArgumentValueError(f'UPLO={UPLO!r}: the triangle that is read is "L" or "U"')
    return UPLO.upper()


def eigh(a: Any, UPLO: str = "L") -> Any:
    """Eigenvalues (ascending) and eigenvectors (columns) of Hermitian matrices.

    One triangle of `a` is read, and the gradient is Hermitian. An eigenvalue that repeats leaves
    its eigenvectors free within their space: functions of the eigenvalues, and of vectors that do
    not depend on that choice (projections onto the space), have the gradient that mathematics says,
    of others it is infinite. It is also infinite for ``v * f(w) @ v.T`` there, which has a
    derivative, but one that the factors do not tell: write such a function without eigenvectors
    where eigenvalues may repeat (`matrix_power`, `inv`, `solve`, `cholesky`). The phase of complex
    eigenvectors is free as well: a function must not depend on it.
    """
    return EighResult(*eigh_of(as_array(a), UPLO=_triangle(UPLO)))


def eigvalsh(a: Any, UPLO: str = "L") -> Any:
    """The eigenvalues of Hermitian matrices in ascending order.

    The gradient of an eigenvalue that repeats is that of one of its directions; functions that
    treat equal eigenvalues alike have the gradient that mathematics says.
    """
    return eigvalsh_of(as_array(a), UPLO=_triangle(UPLO))


# -- eigenvalues of general matrices ------------------------------------------------------------


def _eig_type(sizes: Sizes, x: ArrayType) -> tuple[ArrayType, ArrayType]:
    batch, n = square_axes("eig", sizes, x)
    dtype = complex_dtype(computed_dtype("eig", x))
    return ArrayType(dtype, (*batch, n)), ArrayType(dtype, (*batch, n, n))


def _eig_vjp(cts: Any, ys: Any, x: Any) -> tuple[Any]:
    """``inv(V)^T (diag(ct_w) + V^T ct_v / gaps) V^T`` for vectors as LAPACK scales them.

    Their length is 1 and their largest component is real: what `ct_v` says of length and phase
    comes back through the other components.
    """
    (ct_w, ct_v), (w, v) = cts, ys
    right = matrix_transpose(v)
    if ct_v is None:
        return (solve_of(right, expand_dims(ct_w, -1) * right),)
    along = sum_over(ct_v * v, axis=ndim_of(v) - 2, keepdims=True)
    size, down = absolute(v), ndim_of(v) - 2
    largest = size == max(size, axis=down, keepdims=True, initial=0.0)
    largest = logical_and(largest, cumsum_along(largest, axis=down) == 1)
    turned = where(largest, 1j * imag(along) / where(largest, v, 1.0), 0.0)
    turn = matmul(right, ct_v - real(along) * conjugated(v) - turned)
    gap = expand_dims(w, -2) - expand_dims(w, -1)
    inner = over_gaps(turn, gap, w, turn, identity_mask(gap))
    if ct_w is not None:
        inner = on_diagonal(ct_w, inner)
    return (solve_of(right, matmul(inner, right)),)


def _eig_jvp(dots: Any, ys: Any, x: Any) -> tuple[Any, Any]:
    """As for `eigh`, with ``inv(V)`` for ``V^H``, and vectors as LAPACK scales them."""
    w, v = ys
    moved = solve_of(v, matmul(astype(dots[0], dtype=dtype_of(v)), v))
    gap = expand_dims(w, -2) - expand_dims(w, -1)
    turned = matmul(v, over_gaps(moved, gap, w, moved, identity_mask(gap)))
    size, down = absolute(v), ndim_of(v) - 2
    along = sum_over(conjugated(v) * turned, axis=down, keepdims=True)
    largest = size == max(size, axis=down, keepdims=True, initial=0.0)
    largest = logical_and(largest, cumsum_along(largest, axis=down) == 1)
    phase = where(largest, imag(turned / where(largest, v, 1.0)), 0.0)
    phase = sum_over(phase, axis=down, keepdims=True)
    return _diagonal(moved), turned - v * real(along) - v * (1j * phase)


def complex_eig(x):
    """What np.linalg.eig gives, as complex numbers where it is real."""
    w, v = np.linalg.eig(x)
    dtype = np.result_type(w.dtype, np.complex64)
    return w.astype(dtype, copy=False), v.astype(dtype, copy=False)


eig_of = define(
    "eig",
    "complex_eig(x)",
    jax="jnp.linalg.eig(x)",
    infer=_eig_type,
    raises="always",
    vjp=_eig_vjp,
    jvp=_eig_jvp,
    sound=is_of_finite,
    results="w v",
    partial=True,
    needs=needs((complex_eig,)),
    domain="square",
    batch=batching_rules.leading,
    doc="Eigenvalues and eigenvectors, the columns, of a square matrix: always complex.",
)


def _eigvals_vjp(ct: Any, y: Any, x: Any) -> tuple[Any]:
    """That of `eig`, which may have the eigenvalues of a large matrix in another order.

    Each takes the cotangent of the one that it is, evenly of those that are one but for rounding.
    """
    w, _ = both = eig_of(x)
    apart = absolute(expand_dims(y, -1) - expand_dims(w, -2))
    rounding = 64.0 * float(np.finfo(dtype_of(y)).eps)
    bound = rounding * max(absolute(w), axis=-1, keepdims=True, initial=0.0)
    nearest = min(apart, axis=-1, keepdims=True, initial=math.inf)
    same = astype(apart <= nearest + expand_dims(bound, -1), dtype=dtype_of(y))
    shares = same / sum_over(same, axis=ndim_of(same) - 1, keepdims=True)
    ct_w = matmul(matrix_transpose(shares), expand_dims(ct, -1))
    return _eig_vjp((squeeze(ct_w, -1), None), both, x)


eigvals_of = define(
    "eigvals",
    "np.linalg.eigvals(x) + 0j",
    infer=lambda sizes, x: _eig_type(sizes, x)[0],
    raises="always",
    vjp=_eigvals_vjp,
    sound=is_of_finite,
    domain="square",
    batch=batching_rules.leading,
    doc="The eigenvalues of a square matrix: always complex.",
)


def eig(a: Any) -> Any:
    """Eigenvalues and eigenvectors (columns, of length 1, the largest component real).

    Both are those of NumPy and complex, also where NumPy gives real ones: whether they are is seen
    only in the values.
    The gradient needs eigenvectors that are independent; where eigenvalues repeat, see `eigh`.
    """
    return EigResult(*eig_of(as_array(a)))


def eigvals(a: Any) -> Any:
    """The eigenvalues of square matrices, complex, in the order of NumPy.

    Equal ones share what is theirs of the gradient; see `eigh`.
    """
    return eigvals_of(as_array(a))


# -- singular values ----------------------------------------------------------------------------


def _svd_type(sizes: Sizes, x: ArrayType, full_matrices: bool) -> tuple[ArrayType, ...]:
    batch, rows, columns = matrix_axes("svd", x)
    dtype, k = computed_dtype("svd", x), smaller(sizes, rows, columns)
    of_u, of_v = (rows, columns) if full_matrices else (k, k)
    return (
        ArrayType(dtype, (*batch, rows, of_u)),
        ArrayType(real_dtype(dtype), (*batch, k)),
        ArrayType(dtype, (*batch, of_v, columns)),
    )


def _svd_vjp(cts: Any, ys: Any, x: Any, full_matrices: bool) -> tuple[Any]:
    """``U M V^H``, and what of `g_u` and `g_v` lies outside of the spaces of U and V.

    With A and B the anti-Hermitian parts of ``U^H g_u`` and ``V^H g_v`` is ``M_ij = (A + B)_ij /
    (s_j - s_i) + (A - B)_ij / (s_j + s_i)``, and the cotangents of the singular values are added to
    its diagonal.
    """
    (ct_u, ct_s, ct_vh), (u, s, vh) = cts, ys
    rows, columns = _sides(x)
    if full_matrices and rows != columns:
        if ct_u is not None or ct_vh is not None:
            raise NotDifferentiableError(
                f"svd: of a matrix of shape ({rows}, {columns}) full_matrices=True adds vectors "
                "that the matrix does not determine: write full_matrices=False"
            )
        u, vh = _first(u, -1, s), _first(vh, -2, s)
    if ct_u is None and ct_vh is None:
        return (conjugated(matmul(columns_times(u, ct_s), vh)),)
    g_u = None if ct_u is None else conjugated(ct_u)
    g_vh = None if ct_vh is None else conjugated(ct_vh)
    p = None if g_u is None else matmul(adjoint(u), g_u)
    r = None if g_vh is None else matmul(vh, adjoint(g_vh))
    left = matmul(u, _turns(p, r, s, is_complex(u), ct_s))
    if ct_s is not None:
        left = left + columns_times(u, ct_s)
    if p is not None and _is_more(rows, columns):
        outside = g_u - matmul(u, p)
        left = left + over_gaps(outside, expand_dims(s, -2), s, g_u)
    whole = matmul(left, vh)
    if r is not None and _is_more(columns, rows):
        outside = g_vh - matmul(adjoint(r), vh)
        whole = whole + matmul(u, over_gaps(outside, expand_dims(s, -1), s, g_vh))
    return (conjugated(whole),)


def _sides(x: Any) -> tuple[Any, Any]:
    """The numbers of rows and columns: equal, or (see `smaller`) known as ints."""
    rows, columns = shape_of(x)[-2:]
    return rows, columns


def _is_more(a: Any, b: Any) -> bool:
    return bool(a != b and a > b)


def _first(x: Any, axis: int, s: Any) -> Any:
    """As many columns (axis -1) or rows (-2) as there are singular values."""
    few = slice(None, shape_of(s)[-1])
    return getitem(x, (Ellipsis, few) if axis == -1 else (Ellipsis, few, slice(None)))


def _turns(p: Any, r: Any, s: Any, phases: bool, ct_s: Any) -> Any:
    """How the singular vectors turn, of U by `p`, of V by `r`, in the bases of both."""
    both = p + r if p is not None and r is not None else r if p is None else p
    other = p - r if p is not None and r is not None else -r if p is None else p
    gap = expand_dims(s, -2) - expand_dims(s, -1)
    free = identity_mask(gap) if phases else None
    same = over_gaps(0.5 * (both - adjoint(both)), gap, s, both, free, ct_s)
    total = expand_dims(s, -2) + expand_dims(s, -1)
    return same + over_gaps(0.5 * (other - adjoint(other)), total, s, other)


def _svd_jvp(dots: Any, ys: Any, x: Any, full_matrices: bool) -> tuple[Any, Any, Any]:
    """The diagonal of ``U^H dX V``, the rest over gaps and sums, and what lies outside."""
    (u, s, vh), dx = ys, dots[0]
    rows, columns = _sides(x)
    if full_matrices and rows != columns:
        raise NotDifferentiableError(
            f"svd: of a matrix of shape ({rows}, {columns}) full_matrices=True adds vectors that "
            "the matrix does not determine: write full_matrices=False"
        )
    of_v = matmul(dx, adjoint(vh))
    moved = matmul(adjoint(u), of_v)
    even, odd = 0.5 * (moved + adjoint(moved)), 0.5 * (moved - adjoint(moved))
    gap = expand_dims(s, -2) - expand_dims(s, -1)
    total = expand_dims(s, -2) + expand_dims(s, -1)
    even = over_gaps(even, gap, s, moved, identity_mask(gap))
    odd = over_gaps(odd, total, s, moved)
    du, dv = matmul(u, even + odd), matmul(adjoint(vh), even - odd)
    if _is_more(rows, columns):
        outside = of_v - matmul(u, moved)
        du = du + over_gaps(outside, expand_dims(s, -2), s, of_v)
    if _is_more(columns, rows):
        of_u = matmul(adjoint(dx), u)
        outside = of_u - matmul(adjoint(vh), adjoint(moved))
        dv = dv + over_gaps(outside, expand_dims(s, -2), s, of_u)
    return du, real(_diagonal(moved)), adjoint(dv)


svd_of = define(
    "svd",
    "np.linalg.svd(x, full_matrices=full_matrices)",
    infer=_svd_type,
    raises="always",
    vjp=_svd_vjp,
    jvp=_svd_jvp,
    sound=is_of_finite,
    attributes={"full_matrices": True},
    results="u s vh",
    partial=True,
    domain="matrix",
    batch=batching_rules.leading,
    doc="u, s, vh with u * s @ vh = x: orthonormal columns, descending numbers, orthonormal rows.",
)


def _svdvals_vjp(ct: Any, y: Any, x: Any) -> tuple[Any]:
    """As of absolute values, the derivative at 0 is 0."""
    u, _, vh = svd_of(x, full_matrices=False)
    return (conjugated(matmul(columns_times(u, ct * sign_of(y)), vh)),)


svdvals_of = define(
    "svdvals",
    "np.linalg.svd(x, compute_uv=False)",
    infer=lambda sizes, x: _svd_type(sizes, x, False)[1],
    raises="always",
    vjp=_svdvals_vjp,
    sound=is_of_finite,
    domain="matrix",
    batch=batching_rules.leading,
    doc="The singular values in descending order.",
)


def svd(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    """``(U, S, Vh)`` with ``a == U * S @ Vh``; only S where `compute_uv` is False.

    `hermitian` says no more of `a` and changes nothing. U and Vh of a matrix that is not square
    have a derivative for ``full_matrices=False``. Singular values that repeat, or are 0, leave
    their vectors free: functions that do not depend on that choice have their gradient, of others
    it is infinite; see `eigh`.
    """
    a = as_array(a)
    if not compute_uv:
        return svdvals_of(a)
    return SVDResult(*svd_of(a, full_matrices=bool(full_matrices)))


def svdvals(x: Any, /) -> Any:
    """The singular values in descending order; the gradient of one that is 0 is 0."""
    return svdvals_of(as_array(x))


# -- QR -----------------------------------------------------------------------------------------


def _qr_type(sizes: Sizes, x: ArrayType, mode: str) -> tuple[ArrayType, ArrayType]:
    batch, rows, columns = matrix_axes("qr", x)
    dtype = computed_dtype("qr", x)
    k = smaller(sizes, rows, columns)
    k = rows if mode == "complete" else k
    return ArrayType(dtype, (*batch, rows, k)), ArrayType(dtype, (*batch, k, columns))


def _qr_vjp(cts: Any, ys: Any, x: Any, mode: str) -> tuple[Any]:
    """``(g_q + Q P) inv(R)^H``, P Hermitian with the upper triangle of ``g_r R^H - Q^H g_q``.

    Of a wide matrix these are the first columns; the others are ``Q @ R`` of the others alone.
    """
    (ct_q, ct_r), (q, r) = cts, ys
    rows, columns = _sides(x)
    tall = _is_more(rows, columns)
    if tall and mode == "complete":
        raise NotDifferentiableError(
            f'qr: of a matrix of shape ({rows}, {columns}) mode="complete" adds columns that the '
            'matrix does not determine: write mode="reduced"'
        )
    g_q = None if ct_q is None else conjugated(ct_q)
    g_r = None if ct_r is None else conjugated(ct_r)
    if rows == columns or tall:
        return (conjugated(_qr_pullback(g_q, g_r, q, r)),)
    first, rest = (Ellipsis, slice(None, rows)), (Ellipsis, slice(rows, None))
    g_rest = None
    if g_r is not None:
        g_rest = getitem(g_r, rest)
        through = matmul(getitem(x, rest), adjoint(g_rest))
        g_q = through if g_q is None else g_q + through
        g_r = getitem(g_r, first)
    g_first = _qr_pullback(g_q, g_r, q, getitem(r, first))
    return (conjugated(_side_by_side(g_first, g_rest, q, x)),)


def _side_by_side(g_first: Any, g_rest: Any, q: Any, x: Any) -> Any:
    """The gradient of the first columns and of the others, which only R depends on."""
    rows, columns = _sides(x)
    if g_rest is None:
        widths = ((0, 0),) * (ndim_of(x) - 1)
        return pad(g_first, (*widths, (0, columns - rows)))
    return concatenate([g_first, matmul(q, g_rest)], axis=-1)


def _qr_pullback(g_q: Any, g_r: Any, q: Any, r: Any) -> Any:
    parts = []
    if g_r is not None:
        parts.append(matmul(g_r, adjoint(r)))
    if g_q is not None:
        parts.append(-matmul(adjoint(q), g_q))
    inner = parts[0] if len(parts) == 1 else parts[0] + parts[1]
    inner = hermitian_from(upper_triangle(inner, k=0), upper_triangle(inner, k=1))
    whole = matmul(q, inner)
    if g_q is not None:
        whole = g_q + whole
    return adjoint(triangular(r, adjoint(whole), lower=False, clean=True))


qr_of = define(
    "qr",
    "np.linalg.qr(x, mode=mode)",
    infer=_qr_type,
    vjp=_qr_vjp,
    attributes={"mode": "reduced"},
    results="q r",
    partial=True,
    domain="matrix",
    batch=batching_rules.leading,
    doc="q with orthonormal columns and upper triangular r with q @ r = x.",
)


def qr(a: Any, mode: str = "reduced") -> Any:
    """``(Q, R)`` with ``a == Q @ R``, Q with orthonormal columns and R upper triangular.

    `mode` is "reduced", "complete" (Q square) or "r" (only R). The gradient needs the first
    columns of `a` to be independent, and of a tall matrix ``mode="reduced"``.
    """
    if mode not in ("reduced", "complete", "r"):
        told = f'qr: mode={mode!r} is none of "reduced", "complete" and "r"'
        raise ArgumentError(told).as_refusal() if mode == "raw" else ArgumentValueError(told)
    q, r = qr_of(as_array(a), mode="reduced" if mode == "r" else mode)
    return r if mode == "r" else QRResult(q, r)


__all__ = ["cholesky", "eig", "eigh", "eigvals", "eigvalsh", "qr", "svd", "svdvals"]
