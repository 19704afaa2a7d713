"""What HIPS autograd's NumPy has that NumPy cannot do with Tensors: ``r_``, ``c_``, diagonals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracegrad.errors import ArgumentError
from tracegrad.traced_scipy.index_concatenation import joined
from tracegrad.world.interception import holds_tensors

__all__ = ["c_", "make_diagonal", "r_"]


class Joined:
    """``np.r_`` or ``np.c_``, of Tensors too."""

    def __init__(self, theirs: Any) -> None:
        self._theirs = theirs

    def __getitem__(self, key: Any) -> Any:
        if any(map(holds_tensors, key if isinstance(key, tuple) else (key,))):
            return joined(self._theirs, key)
        return self._theirs[key]

    def __len__(self) -> int:
        return 0


r_ = Joined(np.r_)
c_ = Joined(np.c_)


def make_diagonal(D: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """Matrices with the vectors of the last axis on their diagonals: shape ``(..., n, n)``.

    >>> import numpy as np
    >>> import tracegrad.numpy as anp
    >>> anp.make_diagonal(np.array([1.0, 2.0]), axis1=-1, axis2=-2)
    array([[1., 0.],
           [0., 2.]])
    """
    if offset != 0 or axis1 != -1 or axis2 != -2:
        raise ArgumentError("make_diagonal: takes offset=0, axis1=-1, axis2=-2 alone")
    shape: Sequence[int] = np.shape(D)
    return D[..., None] * np.eye(shape[-1])
