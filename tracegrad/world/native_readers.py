"""What a function of the user's may read that programs call as it is: a rule, a hook.

Nobody follows such a function. So what it may read is looked for from the function itself: its
closure and defaults, the globals and attributes of the names in its code, what objects and classes
on the way hold.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from types import BuiltinMethodType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from tracegrad.errors import TraceError
from tracegrad.tensors.tensor import Tensor
from tracegrad.user_code.closures import inside
from tracegrad.user_code.program_points import at_line
from tracegrad.world.code_origin import is_mutable, is_trusted, slots_of
from tracegrad.world.lengths import Length
from tracegrad.world.number_inputs import FLOATS

LIMIT = 10_000
"""How many objects are looked at."""
_HOLDING_NOTHING = (int, float, complex, np.generic)


def reads_any(thing: Any, holders: Collection[int], names: Mapping[int, Collection[str]]) -> bool:
    """Whether a function may read one of these objects, or a global of these names.

    `holders` are ids of objects, `names` are those of globals by the id of their dictionary. Of
    more than can be looked at the answer is yes.
    """
    for count, x in enumerate(reached(thing)):
        if id(x) in holders or count == LIMIT:
            return True
        if isinstance(x, FunctionType):
            asked = _names_in(x.__code__)
            for scope in (x.__globals__, *map(vars, _modules(x, asked))):
                if not asked.isdisjoint(names.get(id(scope), ())):
                    return True
    return False


def numbers_read(thing: Any) -> Iterator[Any]:
    """The floats and lengths that a function may read, of as much as can be looked at."""
    return (x for x in islice(reached(thing), LIMIT) if type(x) in (*FLOATS, Length))


def reached(thing: Any) -> Iterator[Any]:
    """What can be reached from an object, once each."""
    todo: list[Any] = [thing]
    seen: set[int] = set()
    while todo:
        x = todo.pop()
        if id(x) not in seen and not isinstance(x, str | bytes):
            seen.add(id(x))
            yield x
            if not isinstance(x, _HOLDING_NOTHING):
                todo += held(x)


def refuse_written(thing: Any, name: str, arrays: Sequence[np.ndarray]) -> None:
    """Raises where a function may read an array that has a Tensor in its place by now."""
    if arrays and reads_any(thing, set(map(id, arrays)), {}):
        raise TraceError(
            f"{name} reads an array that the function which calls it has written to: hand it over "
            f"as an argument{at_line()}"
        )


def _names_in(code: CodeType) -> set[str]:
    """The globals and attributes that a code reads, and what is defined in it."""
    inner = [_names_in(x) for x in code.co_consts if isinstance(x, CodeType)]
    return set(code.co_names).union(*inner)


def _modules(function: FunctionType, names: Collection[str]) -> list[ModuleType]:
    """The user's modules that a function may read attributes of."""
    found = [function.__globals__.get(name) for name in names]
    return [x for x in found if isinstance(x, ModuleType) and not is_trusted(vars(x))]


def globals_of(function: FunctionType) -> Iterator[tuple[dict[str, Any], str]]:
    """The globals that a function may read, those of the user's modules too: where, and by name."""
    if not is_trusted(function.__globals__):
        names = _names_in(function.__code__)
        for scope in (function.__globals__, *map(vars, _modules(function, names))):
            yield from ((scope, name) for name in names if name in scope)


def held(x: Any) -> Iterator[Any]:
    """What can be reached from an object in one step."""
    match x:
        case FunctionType():
            yield from (cell for cell in x.__closure__ or ())
            yield from (*(x.__defaults__ or ()), *(x.__kwdefaults__ or {}).values())
            yield from vars(x).values()
            yield from (scope[name] for scope, name in globals_of(x))
        case type():
            if is_mutable(x):
                yield from (*x.__bases__, *vars(x).values())
        case ModuleType() | Tensor():
            pass
        case np.ndarray():
            yield x.base
        case BuiltinMethodType():
            yield x.__self__
        case deque():
            yield from tuple(x)
        case _:
            yield from (value for _, value in inside(x))
            if is_mutable(type(x)):
                yield type(x)
                for slot in slots_of(type(x)):
                    yield getattr(x, slot.__name__, None)
            if isinstance(x, staticmethod | classmethod):
                yield x.__func__
            if isinstance(x, property):
                yield x.fget
