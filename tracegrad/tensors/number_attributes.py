"""Attributes of ops that are numbers of a trace: an axis, a length, an exponent of the program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def with_known_numbers(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes with Python's ints for Tensors that stand for such: the trace looks at each."""
    return {name: _known(x) for name, x in attributes.items()}


def _known(x: Any) -> Any:
    if type(getattr(x, "_array", None)) is int:
        return int(x)
    if type(x) in (tuple, list):
        found = [_known(item) for item in x]
        same = all(one is other for one, other in zip(found, x, strict=True))
        return x if same else type(x)(found)
    return x
