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

def cond(x: Any, p: Any = None) -> Any:
    """The condition numbers of matrices: the `p`-norm times that of the inverse.

    For `p` None or 2 the largest singular value over the smallest, -2 the other way round; infinite
    for singular matrices.

    >>> import tracegrad as tg
    >>> tg.linalg.cond(tg.tensor([[2.0, 0.0], [0.0, 0.5]]))
    tensor(4.)
    """

@overload
def cross(x1: Tensor, x2: Any, /, *, axis: int = -1) -> Tensor: ...
@overload
def cross(x1: Any, x2: Tensor, /, *, axis: int = -1) -> Tensor: ...
@overload
def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The cross products of vectors of 3 components along `axis`.

    >>> import tracegrad as tg
    >>> tg.linalg.cross(tg.tensor([1.0, 0.0, 0.0]), tg.tensor([0.0, 1.0, 0.0]))
    tensor([0., 0., 1.])
    """

def det(a: Any) -> Any:
    """The determinants of square matrices; the gradient is finite for singular ones, too.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> tg.grad(np.linalg.det)(np.array([[1.0, 2.0], [2.0, 4.0]])).round(12)
    array([[ 4., -2.],
           [-2.,  1.]])
    """

@overload
def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor: ...
@overload
def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """A diagonal of the matrices along the last two axes, as the last axis.

    >>> import tracegrad as tg
    >>> tg.linalg.diagonal(tg.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([1., 4.])
    """

def eig(a: Any) -> Any:
    """Eigenvalues and eigenvectors (columns, of length 1, the largest component real).

    Both are those of NumPy and complex, also where NumPy gives real ones: whether they are is seen
    only in the values.
    The gradient needs eigenvectors that are independent; where eigenvalues repeat, see `eigh`.

    >>> import tracegrad as tg
    >>> tg.linalg.eig(tg.tensor([[2.0, 0.0], [0.0, 3.0]])).eigenvalues.real
    tensor([2., 3.])
    """

def eigh(a: Any, UPLO: str = "L") -> Any:
    """Eigenvalues (ascending) and eigenvectors (columns) of Hermitian matrices.

    One triangle of `a` is read, and the gradient is Hermitian. An eigenvalue that repeats leaves
    its eigenvectors free within their space: functions of the eigenvalues, and of vectors that do
    not depend on that choice (projections onto the space), have the gradient that mathematics says,
    of others it is infinite. It is also infinite for ``v * f(w) @ v.T`` there, which has a
    derivative, but one that the factors do not tell: write such a function without eigenvectors
    where eigenvalues may repeat (`matrix_power`, `inv`, `solve`, `cholesky`). The phase of complex
    eigenvectors is free as well: a function must not depend on it.

    >>> import tracegrad as tg
    >>> tg.linalg.eigh(tg.tensor([[2.0, 1.0], [1.0, 2.0]])).eigenvalues
    tensor([1., 3.])
    """

def eigvals(a: Any) -> Any:
    """The eigenvalues of square matrices, complex, in the order of NumPy.

    Equal ones share what is theirs of the gradient; see `eigh`.

    >>> import tracegrad as tg
    >>> tg.linalg.eigvals(tg.tensor([[2.0, 0.0], [0.0, 3.0]])).real
    tensor([2., 3.])
    """

def eigvalsh(a: Any, UPLO: str = "L") -> Any:
    """The eigenvalues of Hermitian matrices in ascending order.

    The gradient of an eigenvalue that repeats is that of one of its directions; functions that
    treat equal eigenvalues alike have the gradient that mathematics says.

    >>> import tracegrad as tg
    >>> tg.linalg.eigvalsh(tg.tensor([[2.0, 1.0], [1.0, 2.0]]))
    tensor([1., 3.])
    """

def inv(a: Any) -> Any:
    """The inverses of square matrices; `solve` is the better way to use one.

    >>> import tracegrad as tg
    >>> tg.linalg.inv(tg.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """

def lstsq(a: Any, b: Any, rcond: Any = None) -> tuple[Any, Any, Any, Any]:
    """``(x, residuals, rank, s)``: the shortest x with the least norm of ``a @ x - b``.

    The residuals are the sums of squares of ``b - a @ x`` for every column (NumPy's are empty where
    `a` has not full rank or not more rows than columns). The gradient is that for a constant rank.

    >>> import tracegrad as tg
    >>> tg.linalg.lstsq(tg.tensor([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]]), tg.tensor([3.0, 4.0, 5.0]))[0]
    tensor([3., 2.])
    """

@overload
def matmul(a: Tensor, b: ArrayLike, /) -> Tensor: ...
@overload
def matmul(a: ArrayLike, b: Tensor, /) -> Tensor: ...
@overload
def matmul(a: ArrayLike, b: ArrayLike, /) -> Any:
    """The matrix product over the last two axes, batches broadcast.

    Shapes ``(..., m, k)`` and ``(..., k, n)`` give ``(..., m, n)``; a vector as `a` is a row, as
    `b` a column, and its axis is not in the result. Raises ShapeError where the k differ.

    Dtypes: bool, int64, float32, float64, complex128.

    >>> import tracegrad as tg
    >>> tg.matmul(tg.tensor([[1.0, 2.0], [3.0, 4.0]]), tg.tensor([1.0, -1.0]))
    tensor([-1., -1.])
    """

def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """The norms of the matrices along the last two axes; see `norm`.

    >>> import tracegrad as tg
    >>> tg.linalg.matrix_norm(tg.tensor([[1.0, 2.0], [2.0, 4.0]]))
    tensor(5.)
    """

def matrix_power(a: Any, n: int) -> Any:
    """The square matrices multiplied `n` times; the inverses where `n` is negative.

    By repeated squaring, in the order of ``np.linalg.matrix_power``.

    >>> import tracegrad as tg
    >>> tg.linalg.matrix_power(tg.tensor([[1.0, 1.0], [0.0, 1.0]]), 3)
    tensor([[1., 3.],
            [0., 1.]])
    """

def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """The number of singular values above `tol`, or above `rtol` times the largest.

    By default `rtol` is the larger length times the machine precision. Either may be an array with
    one for each matrix.

    >>> import tracegrad as tg
    >>> tg.linalg.matrix_rank(tg.tensor([[1.0, 2.0], [2.0, 4.0]]))
    tensor(1)
    """

@overload
def matrix_transpose(x: Tensor) -> Tensor: ...
@overload
def matrix_transpose(x: Any) -> Any:
    """`x` with its last two axes exchanged.

    >>> import tracegrad as tg
    >>> tg.matrix_transpose(tg.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[1., 3.],
            [2., 4.]])
    """

def multi_dot(arrays: Any, *, out: None = None) -> Any:
    """The product of matrices in the order that costs least; the first and last may be vectors.

    >>> import tracegrad as tg
    >>> tg.linalg.multi_dot([tg.ones((2, 3)), tg.ones((3, 4)), tg.ones(4)])
    tensor([12., 12.])
    """

def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """A norm as ``np.linalg.norm``: of vectors along one axis, of matrices along two.

    ord
        Of vectors: any number, `inf`, `-inf`, 0 (how many elements are not 0). Of matrices: "fro",
        "nuc" (the sum of singular values), 2 and -2 (the largest, the smallest one), 1, -1, `inf`,
        `-inf`. Without it the root of the sum of squares.

    >>> import tracegrad as tg
    >>> tg.norm(tg.tensor([3.0, 4.0]))
    tensor(5.)
    """

@overload
def outer(x1: Tensor, x2: Any, /) -> Tensor: ...
@overload
def outer(x1: Any, x2: Tensor, /) -> Tensor: ...
@overload
def outer(x1: Any, x2: Any, /) -> Any:
    """All products of an element of the vector `x1` with one of `x2`: a matrix.

    >>> import tracegrad as tg
    >>> tg.linalg.outer(tg.tensor([1.0, 2.0]), tg.tensor([1.0, 10.0]))
    tensor([[ 1., 10.],
            [ 2., 20.]])
    """

def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = 1e-15) -> Any:
    """The pseudoinverses of matrices of any shape and rank.

    Singular values below `rcond` (or `rtol`) times the largest count as 0; ``rtol=None`` stands for
    the larger length times the machine precision, and an array has one for each matrix. The
    gradient is that for a constant rank. `hermitian` says no more of `a` and changes nothing.

    >>> import tracegrad as tg
    >>> tg.linalg.pinv(tg.tensor([[2.0, 0.0], [0.0, 4.0], [0.0, 0.0]]))
    tensor([[0.5000, 0.0000, 0.0000],
            [0.0000, 0.2500, 0.0000]])
    """

def qr(a: Any, mode: str = "reduced") -> Any:
    """``(Q, R)`` with ``a == Q @ R``, Q with orthonormal columns and R upper triangular.

    `mode` is "reduced", "complete" (Q square) or "r" (only R). The gradient needs the first
    columns of `a` to be independent, and of a tall matrix ``mode="reduced"``.

    >>> import tracegrad as tg
    >>> q, r = tg.linalg.qr(tg.tensor([[3.0, 1.0], [4.0, 2.0]]))
    >>> tg.allclose(q @ r, [[3.0, 1.0], [4.0, 2.0]])
    True
    """

def slogdet(a: Any) -> Any:
    """``(sign, logabsdet)``: the determinant is ``sign * exp(logabsdet)``.

    >>> import tracegrad as tg
    >>> tg.linalg.slogdet(tg.tensor([[2.0, 0.0], [0.0, -1.0]])).sign
    tensor(-1.)
    """

def solve(a: Any, b: Any) -> Any:
    """The solution x of ``a @ x == b``: for a vector `b` (one axis), else for every column of it.

    >>> import numpy as np
    >>> import tracegrad as tg
    >>> a = np.array([[2.0, 0.0], [0.0, 4.0]])
    >>> tg.grad(lambda b: np.linalg.solve(a, b).sum())(np.array([1.0, 1.0]))
    array([0.5 , 0.25])
    """

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

    >>> import tracegrad as tg
    >>> a = tg.tensor([[2.0, 0.0], [1.0, 1.0]])
    >>> tg.linalg.solve_triangular(a, tg.tensor([2.0, 3.0]), lower=True)
    tensor([1., 2.])
    """

def svd(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    """``(U, S, Vh)`` with ``a == U * S @ Vh``; only S where `compute_uv` is False.

    `hermitian` says no more of `a` and changes nothing. U and Vh of a matrix that is not square
    have a derivative for ``full_matrices=False``. Singular values that repeat, or are 0, leave
    their vectors free: functions that do not depend on that choice have their gradient, of others
    it is infinite; see `eigh`.

    >>> import tracegrad as tg
    >>> u, s, vh = tg.linalg.svd(tg.tensor([[0.0, 2.0], [3.0, 0.0]]))
    >>> s
    tensor([3., 2.])
    """

def svdvals(x: Any, /) -> Any:
    """The singular values in descending order; the gradient of one that is 0 is 0.

    >>> import tracegrad as tg
    >>> tg.linalg.svdvals(tg.tensor([[0.0, 2.0], [3.0, 0.0]]))
    tensor([3.0000, 2.0000])
    """

@overload
def tensordot(x1: Tensor, x2: Any, /, *, axes: Any = 2) -> Tensor: ...
@overload
def tensordot(x1: Any, x2: Tensor, /, *, axes: Any = 2) -> Tensor: ...
@overload
def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    """Sums of products over `axes`: a number (last of `x1`, first of `x2`) or a list for each.

    >>> import tracegrad as tg
    >>> tg.linalg.tensordot(tg.ones((2, 3)), tg.ones((3, 4)), axes=1).shape
    (2, 4)
    """

def tensorinv(a: Any, ind: int = 2) -> Any:
    """The inverse of `a` as a map of tensors: its first `ind` axes are the rows of a matrix.

    >>> import tracegrad as tg
    >>> tg.linalg.tensorinv(tg.eye(6).reshape(2, 3, 6), ind=2).shape
    (6, 2, 3)
    """

def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    """The solution x of ``tensordot(a, x, x.ndim) == b``; `axes` of `a` are first moved last.

    >>> import tracegrad as tg
    >>> tg.linalg.tensorsolve(tg.eye(6).reshape(2, 3, 6), tg.ones((2, 3)))
    tensor([1., 1., 1., 1., 1., 1.])
    """

@overload
def trace(x: Tensor, /, *, offset: int = 0, dtype: Any = None) -> Tensor: ...
@overload
def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """The sum of a diagonal of the matrices along the last two axes.

    >>> import tracegrad as tg
    >>> tg.linalg.trace(tg.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor(5.)
    """

@overload
def vecdot(x1: Tensor, x2: Any, axis: int = -1) -> Tensor: ...
@overload
def vecdot(x1: Any, x2: Tensor, axis: int = -1) -> Tensor: ...
@overload
def vecdot(x1: Any, x2: Any, axis: int = -1) -> Any:
    """The products of vectors along `axis`, the first conjugated, batches broadcast.

    The vectors have one length, which is not broadcast, and the result has the dtype to which both
    are promoted.

    >>> import tracegrad as tg
    >>> tg.vecdot(tg.tensor([[1.0, 2.0], [3.0, 4.0]]), tg.tensor([1.0, 10.0]))
    tensor([21., 43.])
    """

def vector_norm(x: Any, axis: Any = None, keepdims: bool = False, ord: float = 2) -> Any:
    """The `ord`-norm over `axis`, all elements as one vector; 0 has the gradient 0.

    >>> import tracegrad as tg
    >>> tg.vector_norm(tg.tensor([[3.0, 4.0], [6.0, 8.0]]), axis=1)
    tensor([ 5., 10.])
    """
