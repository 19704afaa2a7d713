"""Weak proxies, of which whatever is asked raises once their objects are no more."""

from __future__ import annotations

from typing import Any
from weakref import ProxyTypes


def is_gone(x: Any) -> bool:
    """Whether a weak proxy stands for an object that is no more."""
    if type(x) not in ProxyTypes:
        return False
    try:
        return x.__class__ is None
    except ReferenceError:
        return True
