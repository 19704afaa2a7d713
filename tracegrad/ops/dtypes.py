"""Names of dtypes, and the default float dtype.

``tg.float`` and its like are PyTorch's names (``float`` is float32 there). Python floats become the
default float dtype, which is NumPy's float64 unless `set_default_dtype` says otherwise.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracegrad.errors import DTypeError
from tracegrad.ops.shape import creation

ALIASES: dict[str, str] = {
    "cdouble": "complex128",
    "cfloat": "complex64",
    "double": "float64",
    "float": "float32",
    "int": "int32",
    "long": "int64",
    "short": "int16",
}
"""PyTorch's names; each is also a method of Tensors, ``x.double()``."""

NAMES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float32", "float64", "complex64", "complex128"),
)

DTYPES: dict[str, np.dtype] = {name: np.dtype(name) for name in NAMES}
DTYPES |= {alias: DTYPES[name] for alias, name in ALIASES.items()}
"""What stands in the namespace: ``tg.float32``, ``tg.long``."""

DEFAULT: list[np.dtype] = [np.dtype(np.float64)]
COMPLEX: dict[str, np.dtype] = {
    "float32": np.dtype(np.complex64),
    "float64": np.dtype(np.complex128),
}


def get_default_dtype() -> np.dtype:
    """The dtype that Python floats get.

    Examples
    --------
    >>> import tracegrad as tg
    >>> tg.get_default_dtype()
    dtype('float64')
    """
    return DEFAULT[0]


def set_default_dtype(dtype: Any) -> None:
    """Python floats, and arrays made without a dtype, get this float dtype from here on."""
    chosen = np.dtype(dtype)
    if chosen.name not in COMPLEX:
        raise DTypeError(f"the default dtype is float32 or float64, not {chosen}")
    DEFAULT[0] = chosen
    creation.DEFAULT_FLOAT = chosen.name  # type: ignore[attr-defined]


def usual_dtypes() -> tuple[np.dtype, ...]:
    """The dtypes of what Python numbers become, the float one first: prints leave them out."""
    chosen = DEFAULT[0]
    return (chosen, np.dtype(np.int64), np.dtype(np.bool_), COMPLEX[chosen.name])


def natural_dtype(array: np.ndarray) -> np.dtype:
    """The dtype of an array that was made of Python numbers."""
    if array.dtype == np.float64:
        return DEFAULT[0]
    return COMPLEX[DEFAULT[0].name] if array.dtype == np.complex128 else array.dtype
