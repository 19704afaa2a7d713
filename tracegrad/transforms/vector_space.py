"""The vector space that an array, number or pytree is an element of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tracegrad.errors import ArgumentError
from tracegrad.tensors.tensor import Tensor
from tracegrad.values.pytree import flatten, map_tree, unflatten


def dtype_of_leaf(leaf: Any) -> np.dtype:
    """The dtype of an array or number."""
    return np.dtype(getattr(leaf, "dtype", None) or np.asarray(leaf).dtype)


def is_complex(value: Any) -> bool:
    """Whether an array in a pytree is complex."""
    return any(dtype_of_leaf(leaf).kind == "c" for leaf in flatten(value)[0])


def vspace(value: Any) -> VSpace:
    """The vector space of a value: HIPS autograd's name for `VSpace`.

    >>> import numpy as np
    >>> from tracegrad.extend import vspace
    >>> vspace({"w": np.ones(2), "b": 1.0}).zeros()
    {'w': array([0., 0.]), 'b': array(0.)}
    """
    return VSpace(value)


class VSpace:
    """The real vector space of all values of one structure, with these shapes and dtypes.

    A complex array counts twice: its real and imaginary parts.

    Attributes
    ----------
    shape, dtype
        Of an array or number; of a pytree these are trees.
    size
        The dimension.
    iscomplex
        Whether an array in it is complex.
    """

    def __init__(self, value: Any) -> None:
        leaves, self._spec = flatten(value)
        for leaf in leaves:
            if not isinstance(leaf, Tensor | np.ndarray | np.generic | int | float | complex):
                raise ArgumentError(
                    f"vspace: {leaf!r} of type {type(leaf).__name__} is no array, number or pytree"
                )
        self._shapes = tuple([tuple(np.shape(leaf)) for leaf in leaves])
        self._dtypes = tuple([dtype_of_leaf(leaf) for leaf in leaves])

    @property
    def shape(self) -> Any:
        return unflatten(self._spec, self._shapes)

    @property
    def dtype(self) -> Any:
        return unflatten(self._spec, self._dtypes)

    @property
    def iscomplex(self) -> bool:
        return any(dtype.kind == "c" for dtype in self._dtypes)

    @property
    def size(self) -> int:
        pairs = zip(self._shapes, self._dtypes, strict=True)
        return sum(int(np.prod(shape)) * (1 + (dtype.kind == "c")) for shape, dtype in pairs)

    def _made(self, make: Any) -> Any:
        """An element, of one array a leaf."""
        pairs = zip(self._shapes, self._dtypes, strict=True)
        return unflatten(self._spec, [make(shape, dtype) for shape, dtype in pairs])

    def zeros(self) -> Any:
        """The element of zeros."""
        return self._made(np.zeros)

    def ones(self) -> Any:
        """The sum of the standard basis: ones, and ``1 + 1j`` in complex arrays."""
        return self._made(lambda s, d: np.ones(s, d) * (1 + 1j if d.kind == "c" else 1))

    def randn(self) -> Any:
        """A draw of the standard normal distribution from NumPy's global generator."""

        def draw(shape: tuple[int, ...], dtype: np.dtype) -> Any:
            drawn = np.asarray(np.random.standard_normal(shape))
            if dtype.kind == "c":
                drawn = drawn + 1j * np.random.standard_normal(shape)
            return drawn.astype(dtype)

        return self._made(draw)

    def standard_basis(self) -> Iterator[Any]:
        """The elements with a single 1 (of complex arrays also 1j), and 0 elsewhere."""
        for k, (shape, dtype) in enumerate(zip(self._shapes, self._dtypes, strict=True)):
            for place in np.ndindex(*shape):
                for one in (1, 1j) if dtype.kind == "c" else (1,):
                    leaves, spec = flatten(self.zeros())
                    leaves[k][place] = one
                    yield unflatten(spec, leaves)

    def add(self, x: Any, y: Any) -> Any:
        """The sum of two elements."""
        return map_tree(lambda a, b: a + b, x, y)

    def mut_add(self, x: Any, y: Any) -> Any:
        """The sum of two elements; None stands for zeros."""
        return y if x is None else self.add(x, y)

    def scalar_mul(self, x: Any, a: Any) -> Any:
        """An element times a number."""
        return map_tree(lambda leaf: leaf * a, x)

    def inner_prod(self, x: Any, y: Any) -> Any:
        """The real inner product of two elements."""

        def product(a: Any, b: Any) -> Any:
            return np.real(np.sum(np.conj(a) * b)) if is_complex(a) else np.sum(a * b)

        total: Any = 0.0
        for a, b in zip(flatten(x)[0], flatten(y)[0], strict=True):
            total = total + product(a, b)
        return total

    def covector(self, x: Any) -> Any:
        """The cotangent that stands for an element: its conjugate."""
        return map_tree(lambda leaf: np.conj(leaf) if is_complex(leaf) else leaf, x)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, VSpace):
            return NotImplemented
        mine, others = (self._spec, self._shapes), (other._spec, other._shapes)
        return mine == others and self._dtypes == other._dtypes

    def __hash__(self) -> int:
        return hash((self._spec, self._shapes, self._dtypes))

    def __repr__(self) -> str:
        return f"VSpace(shape={self.shape}, dtype={self.dtype})"
