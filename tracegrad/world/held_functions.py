"""The user's functions that objects of tracegrad's hold, such as what `tg.vectorize` returns.

Such an object calls what it holds in a way that no world sees. So where it comes from outside and
is called, the functions in it are entered first, as things from outside that the run has come by:
what they read is guarded then, as for any function.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from types import CellType, FunctionType, MethodType
from typing import Any

from tracegrad.machine.world_protocol import attributes_of
from tracegrad.world.callable_names import is_library, name_of_callable
from tracegrad.world.code_origin import is_mutable

_NESTED = (list, tuple, dict)
_EMPTY = CellType()


def enter_held(world: Any, callee: Any) -> None:
    """Enters the functions that a callable of tracegrad's holds, if it was there before the run."""
    if isinstance(callee, MethodType):
        callee = callee if world.is_outside(callee) else callee.__self__
    if not world.is_outside(callee):
        return
    todo, seen = [(callee, world.is_by_path(callee))], set()
    while todo:
        x, by_path = todo.pop()
        if id(x) in seen or isinstance(x, type):
            continue
        seen.add(id(x))
        held = world.inside(x) if by_path else None
        if held is not None:
            todo += [(inner, world.is_by_path(inner)) for inner in held]
        elif type(x) in _NESTED:
            todo += [(inner, False) for inner in (x.values() if type(x) is dict else x)]
        elif by_path:  # its parts are read when it is called
            continue
        elif _is_users(x):
            world.enter(x, name_of_callable(x))
        elif callable(x):
            todo += [(inner, False) for inner in _inside(x)]


def _is_users(x: Any) -> bool:
    """Whether it is a callable that may read what is the user's."""
    if isinstance(x, MethodType):
        return _is_users(x.__func__) or _is_users(x.__self__)
    if isinstance(x, partial):
        return _is_users(x.func) or any(map(_is_users, (*x.args, *x.keywords.values())))
    if isinstance(x, FunctionType):
        return not is_library(x)
    return callable(x) and is_mutable(type(x))


def _inside(x: Any) -> Iterable[Any]:
    """What a callable of a library's holds."""
    match x:
        case MethodType():
            return x.__func__, x.__self__
        case partial():
            return x.func, *x.args, *x.keywords.values()
        case FunctionType():
            cells = [cell.cell_contents for cell in x.__closure__ or () if cell != _EMPTY]
            return *cells, *(x.__defaults__ or ()), *(x.__kwdefaults__ or {}).values()
    return attributes_of(x).values()
