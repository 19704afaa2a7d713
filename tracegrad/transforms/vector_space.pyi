"""The vector space that an array, number or pytree is an element of."""

# Made by tests/type_stubs.py from the library as it runs.

from collections.abc import Iterator
from typing import Any

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
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...
    def __init__(self, value: Any) -> None: ...
    def add(self, x: Any, y: Any) -> Any:
        """The sum of two elements."""
    def covector(self, x: Any) -> Any:
        """The cotangent that stands for an element: its conjugate."""
    @property
    def dtype(self) -> Any: ...
    def inner_prod(self, x: Any, y: Any) -> Any:
        """The real inner product of two elements."""
    @property
    def iscomplex(self) -> bool: ...
    def mut_add(self, x: Any, y: Any) -> Any:
        """The sum of two elements; None stands for zeros."""
    def ones(self) -> Any:
        """The sum of the standard basis: ones, and ``1 + 1j`` in complex arrays."""
    def randn(self) -> Any:
        """A draw of the standard normal distribution from NumPy's global generator."""
    def scalar_mul(self, x: Any, a: Any) -> Any:
        """An element times a number."""
    @property
    def shape(self) -> Any: ...
    @property
    def size(self) -> int: ...
    def standard_basis(self) -> Iterator[Any]:
        """The elements with a single 1 (of complex arrays also 1j), and 0 elsewhere."""
    def zeros(self) -> Any:
        """The element of zeros."""
