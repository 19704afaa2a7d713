"""What is known of dtypes and arrays' types, and what this namespace offers.

The functions on data types of the Python array API standard, and its inspection API. None of them
reads a value, so while a function is traced they guard nothing but dtypes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from codegen.types import DTYPES
from tracegrad.errors import ArgumentError, DTypeError
from tracegrad.ops.dtypes import COMPLEX, get_default_dtype
from tracegrad.tensors import devices

API_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")
"""Versions of the standard whose names and behaviour this namespace has; the last is followed."""


# -- types of numbers ---------------------------------------------------------------------------


def _dtype(x: Any) -> np.dtype:
    """The dtype of an array, or the one that is named."""
    found = getattr(x, "dtype", None)
    return np.dtype(x) if found is None or isinstance(x, type) else np.dtype(found)


def _number_or_dtype(x: Any) -> Any:
    """What NumPy's promotion takes: dtypes of arrays, Python numbers as they are."""
    if isinstance(x, bool | int | float | complex) and not isinstance(x, np.generic):
        return x
    return _dtype(x)


def result_type(*arrays_and_dtypes: Any) -> np.dtype:
    """The dtype that an operation on these arrays, numbers and dtypes has.

    Examples
    --------
    >>> import tracegrad as tg
    >>> tg.result_type(tg.float32, tg.ones(2, dtype=tg.int16), 1.5)
    dtype('float32')
    """
    if not arrays_and_dtypes:
        raise ArgumentError("result_type: give one array or dtype at least")
    return np.result_type(*map(_number_or_dtype, arrays_and_dtypes))


def promote_types(type1: Any, type2: Any) -> np.dtype:
    """The smallest dtype to which both are cast safely."""
    return np.promote_types(_dtype(type1), _dtype(type2))


def can_cast(from_: Any, to: Any, casting: str = "safe") -> bool:
    """Whether an array, or a dtype, can be cast to a dtype (by default without loss)."""
    return bool(np.can_cast(_dtype(from_), np.dtype(to), casting))  # type: ignore[arg-type]


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is another, or of a kind, or of one of several.

    kind
        A dtype, ``"bool"``, ``"signed integer"``, ``"unsigned integer"``, ``"integral"``,
        ``"real floating"``, ``"complex floating"``, ``"numeric"``, or a tuple of such.
    """
    kinds = kind if isinstance(kind, tuple) else (kind,)
    asked = tuple(k if isinstance(k, str) and k in KINDS else np.dtype(k) for k in kinds)
    return bool(np.isdtype(np.dtype(dtype), asked))


KINDS = (
    *("bool", "signed integer", "unsigned integer", "integral"),
    *("real floating", "complex floating", "numeric"),
)


@dataclass(frozen=True)
class FloatInfo:
    """What a floating dtype can hold (of a complex one, each component)."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: np.dtype

    @property
    def tiny(self) -> float:
        """NumPy's and PyTorch's name of `smallest_normal`."""
        return self.smallest_normal

    @property
    def resolution(self) -> float:
        """The smallest decimal step that is kept."""
        return float(np.finfo(self.dtype).resolution)


@dataclass(frozen=True)
class IntegerInfo:
    """What an integer dtype can hold."""

    bits: int
    max: int
    min: int
    dtype: np.dtype


def finfo(type: Any) -> FloatInfo:
    """The limits of a floating or complex dtype, or of an array's, as Python numbers.

    Examples
    --------
    >>> import tracegrad as tg
    >>> tg.finfo(tg.float32).bits, tg.finfo(tg.float64).eps
    (32, 2.220446049250313e-16)
    """
    dtype = _dtype(type)
    if dtype.kind not in "fc":
        raise DTypeError(f"finfo: {dtype} is no floating dtype: use iinfo for integers")
    found = np.finfo(dtype)
    return FloatInfo(
        bits=int(found.bits),
        eps=float(found.eps),
        max=float(found.max),
        min=float(found.min),
        smallest_normal=float(found.smallest_normal),
        dtype=np.dtype(found.dtype),
    )


def iinfo(type: Any) -> IntegerInfo:
    """The limits of an integer dtype, or of an array's, as Python numbers."""
    dtype = _dtype(type)
    if dtype.kind not in "iu":
        raise DTypeError(f"iinfo: {dtype} is no integer dtype: use finfo for floats")
    found = np.iinfo(dtype)
    return IntegerInfo(int(found.bits), int(found.max), int(found.min), dtype)


# -- what the namespace offers ------------------------------------------------------------------


class NamespaceInfo:
    """What `__array_namespace_info__` gives: capabilities, devices and dtypes."""

    def capabilities(self) -> dict[str, Any]:
        """Masks as indices, shapes that depend on data, and the most axes of an array."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> devices.Device:
        """Where arrays are made unless a device is named."""
        return devices.CPU

    def devices(self) -> list[devices.Device]:
        """Every device on which arrays can be."""
        return devices.all_devices()

    def default_dtypes(self, *, device: Any = None) -> dict[str, np.dtype]:
        """The dtypes of what is made without one."""
        real = get_default_dtype()
        return {
            "real floating": real,
            "complex floating": COMPLEX[real.name],
            "integral": np.dtype(np.int64),
            "indexing": np.dtype(np.int64),
        }

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, np.dtype]:
        """The dtypes of a kind (see `isdtype`), or all, by name."""
        every = {name: np.dtype(name) for name in DTYPES if name != "float16"}
        return {n: d for n, d in every.items() if kind is None or isdtype(d, kind)}


def __array_namespace_info__() -> NamespaceInfo:
    """What this namespace offers, as the array API standard's inspection functions tell it."""
    return NamespaceInfo()


__all__ = [
    "__array_namespace_info__",
    "can_cast",
    "finfo",
    "iinfo",
    "isdtype",
    "promote_types",
    "result_type",
]
