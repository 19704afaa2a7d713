"""Whose a function or class is: the user's, Python's own, or a library's that tracegrad knows."""

from __future__ import annotations

import sys
from typing import Any

from tracegrad.world import tables

_ROOTS: dict[str, bool] = {}


def _root(names: dict[str, Any]) -> str:
    module = names.get("__name__")
    return module if type(module) is str else ""


def is_trusted(names: dict[str, Any]) -> bool:
    """Whether these are globals of Python's own, or of a library that tracegrad knows.

    What such modules define is taken as it is; the state that they keep is guarded.
    """
    name = _root(names)
    known = _ROOTS.get(name)
    if known is None:
        root = name.partition(".")[0]
        known = root in tables.LIBRARY or (
            root in sys.stdlib_module_names and root not in ("__main__", "test")
        )
        _ROOTS[name] = known
    return known


def is_interpreted(names: dict[str, Any]) -> bool:
    """Whether functions with these globals are the user's, or any others that a user may call."""
    name = _root(names)
    return name.partition(".")[0] not in tables.LIBRARY or name.startswith(tables.HOLDING)


_IMMUTABLE_TYPE = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE


def is_mutable(cls: type) -> bool:
    """Whether a class may get other attributes: one that a class statement has made."""
    return (
        not cls.__flags__ & _IMMUTABLE_TYPE
        and (type.__dict__["__module__"].__get__(cls) or "").partition(".")[0] not in tables.LIBRARY
    )
