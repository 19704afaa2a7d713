"""What is known of dtypes and arrays' types, and what this namespace offers."""

# Made by tests/type_stubs.py from the library as it runs.

from typing import Any

import numpy as np

class FloatInfo:
    """What a floating dtype can hold (of a complex one, each component)."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: np.dtype[Any]
    def __eq__(self, other: Any) -> Any: ...
    def __hash__(self) -> Any: ...
    @property
    def resolution(self) -> float:
        """The smallest decimal step that is kept."""
    @property
    def tiny(self) -> float:
        """NumPy's and PyTorch's name of `smallest_normal`."""

class IntegerInfo:
    """What an integer dtype can hold."""

    bits: int
    max: int
    min: int
    dtype: np.dtype[Any]
    def __eq__(self, other: Any) -> Any: ...
    def __hash__(self) -> Any: ...
