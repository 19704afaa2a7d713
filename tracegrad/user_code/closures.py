"""Finds the traced Tensors that a function reads from around it.

A hook may read Tensors of the function that registered it. In a program they have other values on
every call, so the hook must be handed them: `released` takes out those that it has captured. Those
that lie elsewhere (in an object, a global) are refused, for the program would go on reading the
values of its trace.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from tracegrad.errors import TraceError
from tracegrad.machine.world_protocol import attributes_of
from tracegrad.runtime.thread_state import STATE
from tracegrad.runtime.weak_proxies import is_gone
from tracegrad.user_code.captures import taken_out
from tracegrad.user_code.program_points import at_line

_LIMIT = 10_000  # objects looked at
_EMPTY = CellType()


def released(function: Any, trace: Any, name: str) -> tuple[Callable[..., Any], list[Any]]:
    """The function as something that takes its traced Tensors and gives it; and these Tensors."""
    filled, found = taken_out(function, lambda x: is_traced_by(x, trace))
    refuse_hidden(function if filled is None else filled, trace, name)
    if filled is None:
        return lambda: function, found
    for _, value in _globals_read(function):
        refuse_hidden(value, trace, name)
    return lambda *tensors: filled(iter(tensors)), found


def is_traced_by(x: Any, trace: Any) -> bool:
    """True for a Tensor whose value is one of the trace's graph."""
    traced = getattr(x, "_traced", None)
    return isinstance(traced, tuple) and traced[0] is trace


def refuse_hidden(thing: Any, trace: Any, name: str) -> None:
    """Raises when a Tensor of the trace can be reached from what `name` reads.

    A program will call it as it is, which the world of the run is told.
    """
    tell(thing, name)
    where = _path_to_traced(thing, trace)
    if where is not None:
        raise TraceError(
            f"{name} reads {where or 'a Tensor'} of the function that is being compiled, which has "
            "another value on every call: hand it over as an argument (to a solver of SciPy's with "
            "args=), or let a hook read it as a variable of its own (no list, object or global)"
            + at_line()
        )


def tell(thing: Any, name: str) -> None:
    """Tells the world of the run that something is called as it is, which nobody follows."""
    if STATE.machine is not None:
        STATE.machine.world.calls_natively(thing, name)


def storing(rule: Any, users: Any, operands: Sequence[Any]) -> AbstractContextManager[None]:
    """Around a call of a rule on Tensors: the world of the run is told what `users` store."""
    if STATE.machine is None:
        return nullcontext()
    history = STATE.grad_enabled and any(getattr(x, "_node", None) is not None for x in operands)
    told: AbstractContextManager[None] = STATE.machine.world.stores_natively(rule, users, history)
    return told


def _path_to_traced(thing: Any, trace: Any) -> str | None:
    todo: list[tuple[Any, Any]] = [(thing, None)]
    seen: set[int] = set()
    while todo and len(seen) < _LIMIT:
        x, steps = todo.pop()
        if id(x) in seen or is_gone(x) or isinstance(x, type | ModuleType | str | bytes):
            continue
        seen.add(id(x))
        if is_traced_by(x, trace):
            return _written(steps)
        if isinstance(x, FunctionType) and _is_of_tracegrad(x):
            continue  # it reads no Tensor of the run but by way of the run's own record
        todo += [(inner, (steps, form, name)) for form, name, inner in inside(x)]
    return None


def _written(steps: Any) -> str:
    """A way through objects as text: the last step, and those before it."""
    path = ""
    while steps is not None:
        steps, form, name = steps
        path = form.format(name) + path
        if path[:1] not in ("", ".", "["):
            break
    return path


def _is_of_tracegrad(x: Any) -> bool:
    return (getattr(x, "__module__", None) or "").partition(".")[0] == "tracegrad"


def reads_history(function: Any) -> bool:
    """Whether a function is called where another one runs on the tape, and may see its Tensors.

    Where that one is differentiated it always may: nothing says what a function reads. That one
    runs natively where no machine executes it.
    """
    if STATE.trace is not None or not STATE.grad_enabled:
        return False
    if STATE.watch is not None:
        return True
    return STATE.machine is not None and (STATE.rewritten or holds_history(function))


def holds_history(function: Any) -> bool:
    """Whether a Tensor that requires grad can be reached from what a function holds.

    What it holds are its closure, its defaults and, of a method, the object; no globals. Of more
    than can be looked at in a millisecond the answer is yes.
    """
    todo: list[Any] = [function]
    seen: set[int] = set()
    while todo:
        x = todo.pop()
        if id(x) in seen or is_gone(x) or isinstance(x, _HOLDING_NOTHING):
            continue
        if getattr(x, "requires_grad", False) is True or len(seen) == _FEW:
            return True
        seen.add(id(x))
        if _is_of_tracegrad(type(x)):
            todo.append(getattr(x, "_function", None))
        elif isinstance(x, FunctionType):
            todo += [*(x.__closure__ or ()), *(x.__defaults__ or ())]
            todo += (x.__kwdefaults__ or {}).values()
        else:
            todo += [inner for _, _, inner in inside(x)]
    return False


_FEW = 2_000  # objects looked at at every call
_HOLDING_NOTHING = (int, float, complex, str, bytes, type, ModuleType, np.ndarray, np.generic)


def inside(x: Any) -> Iterator[tuple[str, Any, Any]]:
    """What can be reached from an object in one step: how it is written, its name, and it itself.

    The name is put into the text only where somebody reads it: keys may be long, or write long.
    """
    match x:
        case FunctionType():
            cells = zip(x.__code__.co_freevars, x.__closure__ or (), strict=True)
            yield from (("{}", name, cell) for name, cell in cells)
            yield from (("", "", value) for value in x.__defaults__ or ())
            yield from (("{}", *named) for named in (x.__kwdefaults__ or {}).items())
            yield from (("{}", *named) for named in _globals_read(x))
        case MethodType():
            yield "", "", x.__func__
            yield "self", "", x.__self__
        case functools.partial():
            yield from (("", "", value) for value in (x.func, *x.args))
            yield from (("{}", *named) for named in x.keywords.items())
        case CellType():
            if x != _EMPTY:
                yield "", "", x.cell_contents
        case dict():
            yield from (("[{!r}]", *item) for item in list(x.items()))
        case list() | tuple() | set() | frozenset():
            yield from (("[{}]", *item) for item in enumerate(list(x)))
        case _:
            yield from ((".{}", *named) for named in list(attributes_of(x).items()))


def _globals_read(function: FunctionType) -> Iterator[tuple[str, Any]]:
    for name in function.__code__.co_names:
        if name in function.__globals__:
            yield name, function.__globals__[name]
