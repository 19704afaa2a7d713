"""Sparse matrices of SciPy beside Tensors: products and solutions, with gradients in both parts.

A matrix is known by the arrays that SciPy keeps of it in the formats CSR and CSC. Those of a matrix
from outside are read anew by every call, as any array. A matrix that is made of traced numbers is a
`Sparse`. The gradient in the numbers is that of the stored elements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracegrad.errors import ArgumentError
from tracegrad.runtime.thread_state import call
from tracegrad.tensors.array_functions import asarray
from tracegrad.tensors.tensor import Tensor
from tracegrad.traced_scipy.refusals import refused
from tracegrad.traced_scipy.sparse_ops import csc_product, csc_solve, csr_product, csr_solve

FORMATS = ("csr", "csc")


class Sparse:
    """A sparse matrix of traced numbers: its products, and solutions with it, are Tensors."""

    def __init__(self, format: str, data: Any, indices: Any, indptr: Any, shape: Any) -> None:
        self._format = format
        self.data = data
        self.indices = indices
        self.indptr = indptr
        self._shape = shape

    @property
    def shape(self) -> tuple[int, int]:
        return self._shape

    @property
    def T(self) -> Sparse:
        other = "csc" if self._format == "csr" else "csr"
        return Sparse(other, self.data, self.indices, self.indptr, self._shape[::-1])

    def transpose(self) -> Sparse:
        return self.T

    def dot(self, x: Any) -> Any:
        return product(self, x)

    def __matmul__(self, x: Any) -> Any:
        return product(self, x)

    def __rmatmul__(self, x: Any) -> Any:
        return product(x, self)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise refused(f"scipy.sparse.{self._format}_array.{name} of traced values")

    def _no_operator(self, *others: Any) -> Any:
        raise refused(f"an operator but @ of a scipy.sparse.{self._format}_array of traced values")

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _no_operator
    __truediv__ = __neg__ = __abs__ = __pow__ = __getitem__ = _no_operator

    def __array_ufunc__(self, function: Any, method: str, *operands: Any, **keywords: Any) -> Any:
        if function is np.matmul and method == "__call__" and not keywords:
            return product(*operands)
        raise refused(f"np.{function.__name__} of a scipy.sparse.{self._format}_array")

    def __array_function__(self, function: Any, types: Any, args: Any, keywords: Any) -> Any:
        raise refused(f"np.{function.__name__} of a scipy.sparse.{self._format}_array")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise refused(f"a plain array of a scipy.sparse.{self._format}_array")


def is_sparse(x: Any) -> bool:
    """Whether x is a sparse matrix."""
    return type(x) is Sparse or type(x).__module__.startswith("scipy.sparse.")


def _parts(a: Any) -> tuple[Any, Any, Any, tuple[int, int], bool]:
    """The arrays of a matrix, its shape, and whether they are of its rows."""
    if a._format not in FORMATS:
        raise ArgumentError(
            f"a sparse matrix in the format {a._format} beside a traced value: convert it outside "
            "with .tocsr()"
        )
    data = a.data if isinstance(a.data, Tensor) else asarray(a.data)
    return data, asarray(a.indices), asarray(a.indptr), a._shape, a._format == "csr"


def product(a: Any, b: Any) -> Any:
    """``a @ b`` where one of the two is sparse, and the other an array of one or two axes."""
    if not is_sparse(a):
        if np.ndim(a) == 0:
            raise refused("scipy.sparse.multiply")
        b, turned = asarray(a), b
        data, indices, indptr, shape, by_rows = _parts(turned)
        of_transpose = csc_product if by_rows else csr_product
        found = of_transpose(data, indices, indptr, b.T, shape=shape[::-1])
        return found.T
    if is_sparse(b):
        raise ArgumentError(
            "the product of two sparse matrices of traced values is not known: write A @ (B @ x)"
        )
    if np.ndim(b) == 0:
        raise refused("scipy.sparse.multiply")
    data, indices, indptr, shape, by_rows = _parts(a)
    op = csr_product if by_rows else csc_product
    return op(data, indices, indptr, asarray(b), shape=shape)


def spsolve(A: Any, b: Any, permc_spec: Any = None, use_umfpack: bool = True) -> Any:
    """`scipy.sparse.linalg.spsolve` with a matrix in CSR or CSC and a dense right side."""
    data, indices, indptr, shape, by_rows = _parts(A)
    op = csr_solve if by_rows else csc_solve
    return op(data, indices, indptr, asarray(b), shape=shape)


def _made(format: str, given: Any, shape: Any, keywords: dict[str, Any]) -> Sparse:
    if not isinstance(given, tuple) or shape is None or set(keywords) - {"copy", "dtype"}:
        raise ArgumentError(
            f"{format}_array of traced values takes (data, (rows, columns)) or (data, indices, "
            "indptr), and the shape"
        )
    shape = (int(shape[0]), int(shape[1]))
    data, *places = given
    if keywords.get("dtype") is not None:
        data = asarray(data).astype(keywords["dtype"])
    if len(given) == 3:
        indices, indptr = places
        return Sparse(format, data, indices, indptr, shape)
    rows, columns = places[0]
    if format == "csc":
        rows, columns = columns, rows
    lines, width = shape if format == "csr" else shape[::-1]
    rows, columns = np.asarray(rows), np.asarray(columns)
    _check_places((rows, columns) if format == "csr" else (columns, rows), shape)
    order = np.argsort(rows * width + columns, kind="stable")
    ends = np.searchsorted(rows[order], np.arange(lines + 1))
    return Sparse(format, asarray(data)[order], columns[order], ends, shape)


def _check_places(places: tuple[Any, Any], shape: tuple[int, int]) -> None:
    """Raises as SciPy does for places that are not in a matrix; its products would not look."""
    for axis, (where, length) in enumerate(zip(places, shape, strict=True)):
        if np.size(where) and bool(np.max(where) >= length):
            raise ValueError(
                f"axis {axis} index {int(np.max(where))} exceeds matrix dimension {length}"
            )
        if np.size(where) and bool(np.min(where) < 0):
            raise ValueError(f"negative axis {axis} index: {int(np.min(where))}")


def csr_array(arg1: Any, shape: Any = None, **keywords: Any) -> Sparse:
    """`scipy.sparse.csr_array` of traced numbers."""
    return _made("csr", arg1, shape, keywords)


def csc_array(arg1: Any, shape: Any = None, **keywords: Any) -> Sparse:
    """`scipy.sparse.csc_array` of traced numbers."""
    return _made("csc", arg1, shape, keywords)


def _read(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that reads objects of the user's: their state is looked at as they would."""
    return lambda *args, **kwargs: call(function, args, kwargs)


TABLE: dict[str, Callable[..., Any]] = {
    "csr_array": _read(csr_array),
    "csr_matrix": _read(csr_array),
    "csc_array": _read(csc_array),
    "csc_matrix": _read(csc_array),
}
SOLVERS: dict[str, Callable[..., Any]] = {"spsolve": _read(spsolve)}
times = _read(product)
