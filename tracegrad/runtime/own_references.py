"""Weak references of tracegrad's own to arrays, told from those of users by their class."""

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
