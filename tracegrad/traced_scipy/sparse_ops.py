"""Op records for products and solutions with sparse matrices, given by their CSR arrays.

A record of a matrix A has a partner that is of its transpose, with the same arrays: those of CSR
are the CSC of the transpose. Products, their transposes and the products at single places are
closed under derivatives of any order, and so are solutions with them.

Reference: Giles, Collected matrix derivative results for forward and reverse mode algorithmic
differentiation, 2008.
"""

from __future__ import annotations

from typing import Any

from codegen.sizes import Sizes
from codegen.types import ArrayType, ShapeError, promote
from tracegrad.traced_scipy import sparse_functions
from tracegrad.traced_scipy.op_records import scipy_op
from tracegrad.traced_scipy.sparse_functions import IN_JAX
from tracegrad.values.dispatch import shape_of

CSR = "sparse.csr_array((data, indices, indptr), shape=shape)"
CSC = "sparse.csc_array((data, indices, indptr), shape=shape)"


def _product_type(
    sizes: Sizes,
    data: ArrayType,
    indices: ArrayType,
    indptr: ArrayType,
    x: ArrayType,
    shape: tuple[int, int],
) -> ArrayType:
    if x.ndim not in (1, 2) or not sizes.same(x.shape[0], shape[1]):
        raise ShapeError(f"a sparse matrix of shape {shape} times an array of shape {x.shape}")
    dtype, _ = promote((data, x))
    return ArrayType(dtype, (shape[0], *x.shape[1:]))


def _places_type(
    sizes: Sizes, x: ArrayType, y: ArrayType, indices: ArrayType, indptr: ArrayType
) -> ArrayType:
    dtype, _ = promote((x, y))
    return ArrayType(dtype, indices.shape)


def _csr_vjp(
    ct: Any, y: Any, data: Any, indices: Any, indptr: Any, x: Any, shape: tuple[int, int]
) -> Any:
    pulled = csc_product(data, indices, indptr, ct, shape=shape[::-1])
    return products_at(ct, x, indices, indptr), None, None, pulled


def _csc_vjp(
    ct: Any, y: Any, data: Any, indices: Any, indptr: Any, x: Any, shape: tuple[int, int]
) -> Any:
    pulled = csr_product(data, indices, indptr, ct, shape=shape[::-1])
    return products_at(x, ct, indices, indptr), None, None, pulled


def _places_vjp(ct: Any, found: Any, x: Any, y: Any, indices: Any, indptr: Any) -> Any:
    shape = (_length(x), _length(y))
    to_x = csr_product(ct, indices, indptr, y, shape=shape)
    return to_x, csc_product(ct, indices, indptr, x, shape=shape[::-1]), None, None


def _csr_solve_vjp(
    ct: Any, x: Any, data: Any, indices: Any, indptr: Any, b: Any, shape: tuple[int, int]
) -> Any:
    pulled = csc_solve(data, indices, indptr, ct, shape=shape)
    return -products_at(pulled, x, indices, indptr), None, None, pulled


def _csc_solve_vjp(
    ct: Any, x: Any, data: Any, indices: Any, indptr: Any, b: Any, shape: tuple[int, int]
) -> Any:
    pulled = csr_solve(data, indices, indptr, ct, shape=shape)
    return -products_at(x, pulled, indices, indptr), None, None, pulled


def _length(x: Any) -> Any:
    return shape_of(x)[0]


_OF_MATRIX: dict[str, Any] = {"operands": "data indices indptr x", "attributes": {"shape": ...}}
_SOLVER = "from scipy.sparse.linalg import spsolve"
_OWN_DATA = "(np.ascontiguousarray(data)"

csr_product = scipy_op(
    "csr_product",
    f"{CSR} @ x",
    "sparse",
    jax="csr_product(data, indices, indptr, x, shape=shape)",
    infer=_product_type,
    vjp=_csr_vjp,
    used_in_jax=IN_JAX,
    **_OF_MATRIX,
)
csc_product = scipy_op(
    "csc_product",
    f"{CSC} @ x",
    "sparse",
    jax="csc_product(data, indices, indptr, x, shape=shape)",
    infer=_product_type,
    vjp=_csc_vjp,
    used_in_jax=IN_JAX,
    **_OF_MATRIX,
)
products_at = scipy_op(
    "products_at",
    "products_at(x, y, indices, indptr)",
    "sparse",
    jax="products_at(x, y, indices, indptr)",
    infer=_places_type,
    vjp=_places_vjp,
    operands="x y indices indptr",
    used=(sparse_functions.products_at,),
    used_in_jax=IN_JAX,
)
csr_solve = scipy_op(
    "csr_solve",
    f"spsolve({CSR.replace('(data', _OWN_DATA)}.tocsc(), x).reshape(x.shape)",
    "sparse",
    jax="csr_solve(data, indices, indptr, x)",
    infer=_product_type,
    vjp=_csr_solve_vjp,
    used=(_SOLVER,),
    used_in_jax=IN_JAX,
    **_OF_MATRIX,
)
csc_solve = scipy_op(
    "csc_solve",
    f"spsolve({CSC.replace('(data', _OWN_DATA)}, x).reshape(x.shape)",
    "sparse",
    jax="csc_solve(data, indices, indptr, x)",
    infer=_product_type,
    vjp=_csc_solve_vjp,
    used=(_SOLVER,),
    used_in_jax=IN_JAX,
    **_OF_MATRIX,
)
