"""Who a callable is: its name, its module, whether a library of tracegrad's knowing has made it."""

from __future__ import annotations

from types import (
    BuiltinFunctionType,
    FunctionType,
    MethodType,
)
from typing import Any

import numpy as np

from tracegrad.machine import refusal
from tracegrad.world import native_tables
from tracegrad.world.guards import PLAIN

Operands = tuple[Any, ...]
Keywords = dict[str, Any]
_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))


def module_of(callee: Any) -> str:
    return getattr(callee, "__module__", None) or ""


def name_of_callable(callee: Any) -> str:
    name = getattr(callee, "__name__", None) or type(callee).__name__
    module = module_of(callee)
    return name if module in ("", "builtins") else f"{module}.{name}"


def run_natively(callee: Any) -> str:
    """What a run reads or changes by a call that it knows nothing of, and why nothing is known."""
    holds = [callee, *(vars(cls).get("__call__") for cls in type(callee).__mro__)]
    code = next((x.__code__ for x in holds if isinstance(x, FunctionType | MethodType)), None)
    because = "" if code is None else refusal(code)
    return f"{name_of_callable(callee)}()" + (f" ({because})" if because else "")


def name_of_class(x: Any) -> str:
    return f"{type(x).__module__}.{type(x).__name__}"


def read_by_c(text: str, x: Any) -> str:
    """What a run reads or changes where C code has an object that tracegrad does not know."""
    if isinstance(x, np.random.Generator | np.random.RandomState):
        return f"{text}, a random generator of NumPy's, for which there is tg.random.Generator"
    return f"{text}, a {name_of_class(x)}, which C code reads"


def is_library(callee: Any) -> bool:
    if isinstance(callee, np.ufunc):
        return True
    if isinstance(callee, FunctionType):
        module = callee.__globals__.get("__name__") or ""
    elif isinstance(callee, MethodType):
        return is_library(callee.__func__)
    elif isinstance(callee, type | BuiltinFunctionType) or is_of_extension(callee):
        module = callee.__module__ or ""
    else:
        module = type(callee).__module__ or ""
    return type(module) is str and module.partition(".")[0] in native_tables.LIBRARY


def is_of_extension(callee: Any) -> bool:
    return (type(callee).__module__ or "").startswith(("numpy", "_cython"))


def is_known(x: Any) -> bool:
    """Whether an object's C code reads nothing but what Python can read too."""
    return (
        type(x) in native_tables.ATOMS or type(x) in native_tables.CONTAINERS or isinstance(x, type)
    )


def text_of_key(x: Any) -> str:
    plain = all([type(part) in PLAIN for part in (x if type(x) is tuple else (x,))])
    return repr(x) if plain else f"a {type(x).__name__}"
