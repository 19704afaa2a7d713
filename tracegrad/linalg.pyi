"""Linear algebra: what ``np.linalg`` computes, as ``tg.linalg``."""

# Made by tests/type_stubs.py from the library as it runs.

from typing import Any, overload

from numpy.linalg import LinAlgError as LinAlgError
from numpy.typing import ArrayLike

from tracegrad.tensors.tensor import Tensor

__all__ = [
    "LinAlgError",
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "solve_triangular",
    "svd",
    "svdvals",
    "tensordot",
    "tensorinv",
    "tensorsolve",
    "trace",
    "vecdot",
    "vector_norm",
]

def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    """The lower triangular L with ``L @ L.conj().T == a`` (`upper`: its conjugate transpose)."""

def cond(x: Any, p: Any = None) -> Any:
    """The condition numbers of matrices: the `p`-norm times that of the inverse."""

@overload
def cross(x1: Tensor, x2: Any, /, *, axis: int = -1) -> Tensor: ...
@overload
def cross(x1: Any, x2: Tensor, /, *, axis: int = -1) -> Tensor: ...
@overload
def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The cross products of vectors of 3 components along `axis`."""

def det(a: Any) -> Any:
    """The determinants of square matrices; the gradient is finite for singular ones, too."""

@overload
def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor: ...
@overload
def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """A diagonal of the matrices along the last two axes, as the last axis."""

def eig(a: Any) -> Any:
    """Eigenvalues and eigenvectors (columns, of length 1, the largest component real)."""

def eigh(a: Any, UPLO: str = "L") -> Any:
    """Eigenvalues (ascending) and eigenvectors (columns) of Hermitian matrices."""

def eigvals(a: Any) -> Any:
    """The eigenvalues of square matrices, complex, in the order of NumPy."""

def eigvalsh(a: Any, UPLO: str = "L") -> Any:
    """The eigenvalues of Hermitian matrices in ascending order."""

def inv(a: Any) -> Any:
    """The inverses of square matrices; `solve` is the better way to use one."""

def lstsq(a: Any, b: Any, rcond: Any = None) -> tuple[Any, Any, Any, Any]:
    """``(x, residuals, rank, s)``: the shortest x with the least norm of ``a @ x - b``."""

@overload
def matmul(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def matmul(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def matmul(a: ArrayLike, b: ArrayLike, /) -> Any:
    """The matrix product over the last two axes, batches broadcast."""

def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """The norms of the matrices along the last two axes; see `norm`."""

def matrix_power(a: Any, n: int) -> Any:
    """The square matrices multiplied `n` times; the inverses where `n` is negative."""

def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """The number of singular values above `tol`, or above `rtol` times the largest."""

@overload
def matrix_transpose(x: Tensor) -> Tensor: ...
@overload
def matrix_transpose(x: Any) -> Any:
    """`x` with its last two axes exchanged."""

def multi_dot(arrays: Any, *, out: None = None) -> Any:
    """The product of matrices in the order that costs least; the first and last may be vectors."""

def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """A norm as ``np.linalg.norm``: of vectors along one axis, of matrices along two."""

@overload
def outer(x1: Tensor, x2: Any, /) -> Tensor: ...
@overload
def outer(x1: Any, x2: Tensor, /) -> Tensor: ...
@overload
def outer(x1: Any, x2: Any, /) -> Any:
    """All products of an element of the vector `x1` with one of `x2`: a matrix."""

def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = 1e-15) -> Any:
    """The pseudoinverses of matrices of any shape and rank."""

def qr(a: Any, mode: str = "reduced") -> Any:
    """``(Q, R)`` with ``a == Q @ R``, Q with orthonormal columns and R upper triangular."""

def slogdet(a: Any) -> Any:
    """``(sign, logabsdet)``: the determinant is ``sign * exp(logabsdet)``."""

def solve(a: Any, b: Any) -> Any:
    """The solution x of ``a @ x == b``: for a vector `b` (one axis), else for every column of it."""

def solve_triangular(
    a: Any, b: Any, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False
) -> Any:
    """The solution of ``a @ x == b`` where one triangle of `a` counts, as SciPy's."""

def svd(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    """``(U, S, Vh)`` with ``a == U * S @ Vh``; only S where `compute_uv` is False."""

def svdvals(x: Any, /) -> Any:
    """The singular values in descending order; the gradient of one that is 0 is 0."""

@overload
def tensordot(x1: Tensor, x2: Any, /, *, axes: Any = 2) -> Tensor: ...
@overload
def tensordot(x1: Any, x2: Tensor, /, *, axes: Any = 2) -> Tensor: ...
@overload
def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    """Sums of products over `axes`: a number (last of `x1`, first of `x2`) or a list for each."""

def tensorinv(a: Any, ind: int = 2) -> Any:
    """The inverse of `a` as a map of tensors: its first `ind` axes are the rows of a matrix."""

def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    """The solution x of ``tensordot(a, x, x.ndim) == b``; `axes` of `a` are first moved last."""

@overload
def trace(x: Tensor, /, *, offset: int = 0, dtype: Any = None) -> Tensor: ...
@overload
def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """The sum of a diagonal of the matrices along the last two axes."""

@overload
def vecdot(x1: Tensor, x2: Any, axis: int = -1) -> Tensor: ...
@overload
def vecdot(x1: Any, x2: Tensor, axis: int = -1) -> Tensor: ...
@overload
def vecdot(x1: Any, x2: Any, axis: int = -1) -> Any:
    """The products of vectors along `axis`, the first conjugated, batches broadcast."""

def vector_norm(x: Any, axis: Any = None, keepdims: bool = False, ord: float = 2) -> Any:
    """The `ord`-norm over `axis`, all elements as one vector; 0 has the gradient 0."""
