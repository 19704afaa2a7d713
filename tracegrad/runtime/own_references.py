"""Tells tracegrad's own references to a user's arrays from those of users, by their class.

Its weak references are no user's. Nor is what compiled functions hold besides the function: their
guards have the arrays that they look at.
"""

from __future__ import annotations

from typing import Any
from weakref import getweakrefs, ref


class OwnReference(ref):
    """A weak reference that no user has: Python hands out plain ones again."""

    __slots__ = ()


def is_referred_to(x: Any) -> bool:
    """Whether a user has a weak reference to an object.

    >>> import numpy as np
    >>> x = np.zeros(3)
    >>> own = OwnReference(x)
    >>> is_referred_to(x)
    False
    >>> users = ref(x)
    >>> is_referred_to(x)
    True
    """
    return any(type(reference) is not OwnReference for reference in getweakrefs(x))


class KeepsPrograms:
    """What holds programs and guards; of the user's it has the function alone, ``__wrapped__``."""

    __slots__ = ()


def keeps_programs(x: Any) -> bool:
    """Whether an object is a compiled function."""
    return issubclass(type(x), KeepsPrograms)
