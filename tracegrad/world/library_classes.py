"""Enters the classes of libraries in the machine's tables, once they are loaded."""

from __future__ import annotations

import sys
from types import MethodType
from typing import Any

from tracegrad.machine.replacement_table import REPLACED, replaces

_METHODS = (("equinox._module._module", "BoundMethod"),)
"""Classes that stand for bound methods, which JAX can take apart besides."""


def enter_libraries() -> None:
    """Has the machine make a method where a library's own class would stand for one."""
    for module, name in _METHODS:
        cls = getattr(sys.modules.get(module), name, None)
        if isinstance(cls, type) and id(cls) not in REPLACED:
            replaces(cls)(_method)


def _method(m: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    return MethodType(*args, **kwargs)
