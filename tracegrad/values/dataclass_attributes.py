"""Attributes of dataclass instances that are no fields, which no pytree holds.

``__post_init__`` may set them (``self.half = self.v / 2``), or a method (``self._cache = {}``).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import is_
from typing import Any

from tracegrad.values.pytree import TreeSpec, children, is_leaf, one_level, unflatten


def besides_fields(tree: Any) -> dict[str, Any]:
    """Return the attributes of a dataclass instance that are no fields; of anything else none.

    ```python
    >>> @dataclasses.dataclass
    ... class Point:
    ...     x: float
    >>> point = Point(1.0)
    >>> point.cache = 2.0
    >>> besides_fields(point)
    {'cache': 2.0}

    ```
    """
    if not dataclasses.is_dataclass(tree) or isinstance(tree, type):
        return {}
    names = {field.name for field in dataclasses.fields(tree)}
    return {k: v for k, v in getattr(tree, "__dict__", {}).items() if k not in names}


def with_more_than_fields(tree: Any, spec: TreeSpec) -> Any:
    """Return the first dataclass instance within ``tree`` with attributes that are no fields.

    None where there is none; what is a leaf of ``spec`` is not looked into.
    """
    if spec.type is None:
        return None
    if besides_fields(tree):
        return tree
    pairs = zip(children(tree), spec.children, strict=True) if spec.children else ()
    found = (with_more_than_fields(*pair) for pair in pairs)
    return next((x for x in found if x is not None), None)


def converted(f: Callable[[Any], Any], tree: Any) -> Any:
    """Return ``tree`` with the same values in another form: ``f(leaf)`` for each leaf.

    A container in which nothing is another object by that is that container. A dataclass instance
    keeps the attributes that are no fields.
    """
    if is_leaf(tree):
        return f(tree)
    before = children(tree)
    after = [converted(f, child) for child in before]
    if all(map(is_, before, after)):
        return tree
    made = unflatten(one_level(tree), after)
    for name, value in besides_fields(tree).items():
        object.__setattr__(made, name, value)
    return made
