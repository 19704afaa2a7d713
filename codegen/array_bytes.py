"""Computes how many bytes arrays take, from their types, and says it in words."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from codegen.sizes import Dim, Size, Sizes, substitute
from codegen.types import ArrayType, bits, kind


def length_of(sizes: Sizes, dim: Dim, known: Mapping[str, int]) -> int | None:
    """A length, where it is known."""
    length = substitute(sizes.resolve(dim), known)
    return None if isinstance(length, Size) else length


def bytes_of_one(type: ArrayType) -> int:
    """The bytes of an element."""
    return bits(type.dtype) // 8 * (2 if kind(type.dtype) == "complex" else 1)


def bytes_of(sizes: Sizes, type: ArrayType, known: Mapping[str, int]) -> int | None:
    """The bytes of an array; None for Python numbers and unknown lengths."""
    lengths = [length_of(sizes, dim, known) for dim in type.shape]
    if type.weak or any(n is None for n in lengths):
        return None
    return prod(n for n in lengths if n is not None) * bytes_of_one(type)


def bytes_text(count: int) -> str:
    """A number of bytes for people."""
    amount, units = float(count), ["B", "KB", "MB", "GB", "TB"]
    while amount >= 1000 and len(units) > 1:
        amount /= 1000
        units.pop(0)
    return f"{count} B" if units[0] == "B" else f"{amount:.3g} {units[0]}"
