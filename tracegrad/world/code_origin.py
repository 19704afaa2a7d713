"""Whose code a function or class is: the user's, Python's, or a library's that tracegrad knows."""

from __future__ import annotations

import sys
from collections import Counter, OrderedDict, defaultdict, deque
from enum import Enum
from types import FunctionType, MemberDescriptorType, ModuleType, SimpleNamespace
from typing import Any

from tracegrad.machine.world_protocol import type_dict, type_mro
from tracegrad.world import native_tables

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
        known = root in native_tables.LIBRARY or (
            root in sys.stdlib_module_names and root not in ("__main__", "test")
        )
        _ROOTS[name] = known
    return known


def is_of_library(x: Any) -> bool:
    """Whether a function, class or module is one that such a module defines, and no user's."""
    if isinstance(x, FunctionType):
        return is_trusted(x.__globals__)
    if isinstance(x, ModuleType):
        return is_trusted(vars(x))
    return isinstance(x, type) and is_trusted({"__name__": x.__module__})


def is_of_tracegrad(names: dict[str, Any]) -> bool:
    """Whether these are globals of tracegrad's own, which is told that a Tensor is one."""
    return _root(names).startswith("tracegrad.")


def is_interpreted(names: dict[str, Any]) -> bool:
    """Whether functions with these globals are the user's, or any others that a user may call."""
    name = _root(names)
    return name.partition(".")[0] not in native_tables.LIBRARY or name.startswith(
        native_tables.HOLDING
    )


def is_renewable(cls: type) -> bool:
    """Whether what an object of this class holds is all that it is, and reads as it always does.

    Containers, and objects of classes in Python on top of them; no classes, members of enums or
    exceptions, which are known by who they are.
    """
    if id(cls) in _HOLDING:
        return True
    if not is_mutable(cls) or issubclass(cls, type | Enum | BaseException):
        return False
    of_python = [base for base in type_mro(cls) if is_mutable(base)]
    of_c = [base for base in type_mro(cls) if not is_mutable(base)]
    reads = _READS if len(of_c) > 1 else ("__getattribute__",)
    return all(id(base) in _HOLDING or base is object for base in of_c) and not any(
        name in type_dict(base) for base in of_python for name in reads
    )


_HOLDING = frozenset(
    id(cls)
    for cls in (list, dict, tuple, OrderedDict, SimpleNamespace, deque, defaultdict, Counter, set)
)
_READS = ("__getattribute__", "__getitem__", "__iter__", "__len__", "__contains__", "__eq__") + (
    *("get", "keys", "values", "items", "__missing__", "__reversed__"),
)

_IMMUTABLE_TYPE = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE


def is_mutable(cls: type) -> bool:
    """Whether a class may get other attributes: one that a class statement has made."""
    return (
        not cls.__flags__ & _IMMUTABLE_TYPE
        and (type.__dict__["__module__"].__get__(cls) or "").partition(".")[0]
        not in native_tables.LIBRARY
    )


def slots_of(cls: type) -> list[Any]:
    """The descriptors of a class's slots."""
    scopes = [vars(owner) for owner in cls.__mro__ if is_mutable(owner)]
    return [x for scope in scopes for x in scope.values() if type(x) is MemberDescriptorType]
