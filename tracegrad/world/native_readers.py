"""What a function of the user's may read that is called as it is: a rule, a hook, a thread.

Nobody follows such a function. So what it may read is looked for from the function itself: its
closure and defaults, the globals and attributes of the names in its code, what objects and classes
on the way hold.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    GeneratorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
)
from typing import Any

import numpy as np

from tracegrad.errors import TraceError
from tracegrad.runtime.weak_proxies import is_gone
from tracegrad.tape.foreign_arrays import memory_of
from tracegrad.tensors.tensor import Tensor
from tracegrad.user_code.closures import inside
from tracegrad.user_code.program_points import at_line
from tracegrad.world.callable_names import name_of_callable
from tracegrad.world.code_origin import is_mutable, is_trusted, slots_of
from tracegrad.world.lengths import Length
from tracegrad.world.number_inputs import FLOATS

LIMIT = 10_000
"""How many objects are looked at."""
_HOLDING_NOTHING = (int, float, complex, np.generic)
_NO_NAMES: dict[int, Collection[str]] = {}
_HELD_IN_C = (partial, memoryview, BuiltinFunctionType, MethodWrapperType, np.vectorize)


def reads_any(
    thing: Any, is_meant: Callable[[Any], bool], names: Mapping[int, Collection[str]] = _NO_NAMES
) -> bool:
    """Whether a function may read an object that is meant, or a global of these names.

    `names` are those of globals by the id of their dictionary. Of more than can be looked at the
    answer is yes.
    """
    for count, x in enumerate(reached(thing)):
        if is_meant(x) or count == LIMIT:
            return True
        if isinstance(x, np.ufunc) and is_vectorized(x):
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
    """What can be reached from an object, once each; what is nearest comes first."""
    todo: deque[Iterable[Any]] = deque([(thing,)])
    seen: set[int] = set()
    while todo:
        for x in todo.popleft():  # of what has many items only so many are taken as are asked for
            if not (id(x) in seen or is_gone(x) or isinstance(x, str | bytes)):
                seen.add(id(x))
                yield x
                if not isinstance(x, _HOLDING_NOTHING):
                    todo.append(held(x))


def refuse_written(thing: Any, name: str, arrays: Sequence[np.ndarray]) -> None:
    """Raises where a function may read an array that has a Tensor in its place by now."""
    holders = {id(memory_of(x)) for x in arrays}
    if arrays and reads_any(thing, lambda x: id(x) in holders):
        raise TraceError(
            f"{name} reads an array that the function which calls it has written to: hand it over "
            f"as an argument{at_line()}"
        )


def refuse_unseen(callee: Any, given: Iterable[Any], arrays: Sequence[np.ndarray]) -> None:
    """The same of what C code is given, or is itself: it may call it, now or in a thread."""
    if not arrays or _root(callee) == "tracegrad":  # which has the machine execute what it calls
        return
    for x in (callee, *given):
        if _may_run(x):
            refuse_written(x, name_of_callable(callee), arrays)


def refuse_values(callee: Any, given: Iterable[Any], is_value: Callable[[Any], bool]) -> None:
    """Raises where C code may run, in a thread say, what has a value of the function that calls."""
    for x in given:
        holds = _may_run(x) and not isinstance(x, BaseException)
        holds |= isinstance(x, list | tuple | dict | set | deque)
        if holds and any(map(is_value, islice(reached(x), LIMIT))):
            raise TraceError(
                f"{name_of_callable(callee)} is given something that holds a value of the function "
                f"which calls it, where nobody follows it: do this in the caller{at_line()}"
            )


def is_of_machine(x: Any) -> bool:
    """Whether it is a generator of a function that the machine executes."""
    return isinstance(x, GeneratorType) and _is_own(x)


def _may_run(x: Any) -> bool:
    """Whether C code that has an object may run code of the user's, or read memory, by it."""
    if isinstance(x, FunctionType | MethodType | GeneratorType):
        return not _is_own(x)
    if isinstance(x, np.ufunc):
        return is_vectorized(x)
    if isinstance(x, _HELD_IN_C):
        return True
    return is_mutable(type(x)) and not isinstance(x, type)


def is_vectorized(x: np.ufunc) -> bool:
    """Whether it calls a function of the user's, which stands in C (``np.frompyfunc``)."""
    return bool(x.__name__.endswith(" (vectorized)"))


def _is_own(x: Any) -> bool:
    """Whether it is tracegrad's: by such a one the machine executes what C code calls."""
    if isinstance(x, GeneratorType):
        names = {} if x.gi_frame is None else x.gi_frame.f_globals
    else:
        names = getattr(x, "__globals__", {})
    return str(names.get("__name__")).partition(".")[0] == "tracegrad"


def _root(callee: Any) -> str:
    module = getattr(callee, "__module__", None) or type(callee).__module__
    return str(module).partition(".")[0]


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


_OF_RUNS = ("tracegrad.runtime.", "tracegrad.tracing.", "tracegrad.world.", "tracegrad.machine.")


def held(x: Any) -> Iterator[Any]:
    """What can be reached from an object in one step."""
    match x:
        case _ if type(x) in (list, tuple, set, frozenset):
            yield from tuple(x)
        case _ if type(x) is dict:
            yield from tuple(x.values())
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
        case deque():
            yield from tuple(x)
        case GeneratorType() if x.gi_frame is not None:
            yield from x.gi_frame.f_locals.values()
            names = _names_in(x.gi_code)
            yield from (v for name, v in x.gi_frame.f_globals.items() if name in names)
        case BuiltinFunctionType() | MethodWrapperType():
            yield x.__self__
        case memoryview():
            yield x.obj
        case _ if type(x).__module__.startswith(_OF_RUNS):
            pass  # what a run keeps, no function reads
        case _:
            yield from (value for _, _, value in inside(x))
            if is_mutable(type(x)):
                yield type(x)
                for slot in slots_of(type(x)):
                    yield getattr(x, slot.__name__, None)
            if isinstance(x, staticmethod | classmethod):
                yield x.__func__
            if isinstance(x, property):
                yield x.fget
