"""Keys for values that are part of what is compiled."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import fields
from typing import Any

import numpy as np


class Same:
    """A key that is equal for one object alone: its own ``__eq__`` may leave things out."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


def is_plain(value: Any) -> bool:
    """Immutables that are what their type and value say."""
    return type(value) in (int, str, bytes, bool, type(None), type(Ellipsis), np.dtype)


def is_of_parts(value: Any) -> bool:
    """Ranges and slices, of which equal ones may have other ends."""
    return type(value) in (range, slice)


def parts_of(value: Any) -> tuple[Any, ...]:
    return value.start, value.stop, value.step


def as_key(value: Any) -> Hashable:
    """What stands for a static value in a key: objects by identity, frozen records by fields."""
    if is_plain(value):
        return value
    if type(value) is float:
        return repr(value)
    if is_of_parts(value):
        value = parts_of(value)
    if isinstance(value, np.generic) and type(value).__module__ == "numpy":
        return value.dtype, value.tobytes()
    parameters = getattr(type(value), "__dataclass_params__", None)
    if parameters is not None and parameters.frozen and parameters.eq:
        read = [getattr(value, f.name) for f in fields(value)]
        return tuple((type(item), as_key(item)) for item in read)
    if isinstance(value, tuple | frozenset):
        whole = tuple if isinstance(value, tuple) else frozenset
        return whole((type(item), as_key(item)) for item in value)
    return Same(value)
