"""Transforms that are made anew for each call: `grad(f)(x)`, written in a loop.

A callable that nobody holds any more is handed out once more, with its versions, where the same is
made of the same function: once a few of them were called one time each, and nobody asked them for
what they have done. So two that are held have nothing in common, and what one learns or gives up is
its own; and who makes one to call it often, or to look at it, has a new one.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from operator import is_
from types import FunctionType, MethodType
from typing import Any
from weakref import ref

import numpy as np

from tracegrad import config
from tracegrad.arguments.signature import defaults_of, name_of, shown_signature
from tracegrad.runtime.own_references import OwnReference
from tracegrad.runtime.thread_state import STATE
from tracegrad.tracing.outputs import Transform
from tracegrad.transforms.compiled_callable import Compiled
from tracegrad.transforms.vector_products import made_so, writes_cells

MOST = 128
"""Of so many functions and settings callables are known."""

FEW = 3
"""So many are made anew, before one is handed out again."""

OWN = f"{config.__name__.split('.')[0]}."
"""What the names of this library's modules begin with."""

AT_ONCE = 8
"""So many callables of one function are known, which threads may use at the same time."""

_KNOWN: OrderedDict[Any, list[ref[Compiled]]] = OrderedDict()
_LASTING: OrderedDict[int, Compiled] = OrderedDict()
_CALLED_ONCE: dict[Any, int] = {}  # how many of a kind were, one after the other
_LOCK = threading.RLock()  # what users write may run meanwhile, and make others


def made(
    f: Callable[..., Any], transform: Transform, backend: str | None, static: Sequence[str]
) -> Compiled:
    """The callable that a transform makes of a function: one that nobody holds, or a new one.

    One of a function that holds no data of its own lasts until others come. Any other one is there
    until Python collects garbage, for its function may hold much.
    """
    names = frozenset((static,) if isinstance(static, str) else static)
    key: Any = (_identity(f), transform, backend, names)
    try:
        hash(key)
    except TypeError:  # shardings in a list, and the like
        key = None
    if key is None or STATE.machine is not None or STATE.trace is not None:
        return Compiled(f, transform, backend, static)
    with _LOCK:
        for reference in reversed(_KNOWN.get(key, ())):
            if _is_held(reference):
                continue
            found = reference()
            if found is not None and _serves(found, f):
                if not _comes_again(key, found):
                    break
                if key in _KNOWN:
                    _KNOWN.move_to_end(key)
                if id(found) in _LASTING:
                    _LASTING.move_to_end(id(found))
                functools.update_wrapper(found, f, updated=())
                found.__name__ = name_of(f)
                return found
    new = Compiled(f, transform, backend, static)
    with _LOCK:
        others = [r for r in _KNOWN.get(key, ()) if r() is not None]
        _KNOWN[key] = [*others[1 - AT_ONCE :], OwnReference(new)]
        _KNOWN.move_to_end(key)
        if len(_KNOWN) > MOST:
            _CALLED_ONCE.pop(_KNOWN.popitem(last=False)[0], None)
        if _holds_nothing(f):
            _LASTING[id(new)] = new
            if len(_LASTING) > MOST:
                _LASTING.popitem(last=False)
    return new


def forget() -> None:
    """From now on each is a new one."""
    with _LOCK:
        _KNOWN.clear()
        _CALLED_ONCE.clear()
        _LASTING.clear()


def _comes_again(key: Any, found: Compiled) -> bool:
    """Whether the same is made for one call, again and again; `found` is the last one."""
    calls = found._hits + found._misses
    single = calls - found._calls_before <= 1 and not found._looked_at
    _CALLED_ONCE[key] = _CALLED_ONCE.get(key, 0) + 1 if single else 0
    if _CALLED_ONCE[key] < FEW:
        return False
    found._calls_before = calls
    return True


def _identity(f: Any) -> Any:
    """What functions that may be the same have in common."""
    if type(f) is MethodType:
        return MethodType, _identity(f.__func__)
    if type(f) is FunctionType:
        return f.__code__, id(f.__globals__)
    return (Compiled, *_made_of(f)) if type(f) is Compiled else id(f)


def _made_of(f: Compiled) -> tuple[Any, ...]:
    return _identity(f._function), *made_so(f)


def _same(one: Any, other: Any) -> bool:
    """Whether two functions are one, or have all in common: a lambda that is written in a loop.

    They read the same variables of the function around them; which values these have then, a call
    looks at. Variables of this library's own functions are bound once, so that they may be others
    with the same values.
    """
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if type(one) is MethodType:
        return one.__self__ is other.__self__ and _same(one.__func__, other.__func__)
    if type(one) is Compiled:
        return _made_of(one) == _made_of(other) and _same(one._function, other._function)
    if type(one) is not FunctionType or one.__code__ is not other.__code__:
        return False
    if _has_more(one) or _has_more(other) or writes_cells(one.__code__):
        return False
    if one.__globals__ is not other.__globals__:
        return False
    cells, others = one.__closure__ or (), other.__closure__ or ()
    if all(map(is_, cells, others)):
        return True
    values = [[cell.cell_contents for cell in of] for of in (cells, others)]
    of_library = str(one.__globals__.get("__name__")).startswith(OWN)  # `exec` need not name it
    return of_library and all(map(_same, *values))


def _has_more(f: FunctionType) -> bool:
    """Whether a function has what can be set for it alone."""
    return bool(f.__defaults__ or f.__kwdefaults__ or f.__dict__)


def _holds_nothing(f: Any) -> bool:
    """Whether a function refers to no data besides what its module has."""
    if type(f) is Compiled:
        return _holds_nothing(f._function)
    if type(f) is FunctionType:
        return not (_has_more(f) or f.__closure__)
    return isinstance(f, np.ufunc)


def _serves(found: Compiled, f: Any) -> bool:
    """Whether a callable is as a new one of this function would be, but for what it has learnt."""
    defaults = defaults_of(f)
    return (
        _same(found._function, f)
        and len(defaults) == len(found._defaults)
        and all(map(_same, defaults, found._defaults))
        and (found._shown is None or found._shown == shown_signature(f))
        and len(found._every) < config.versions  # another one may make as many
        and all(name.startswith("_") for name in vars(found))  # what users set is not known
    )


def _references(reference: ref[Any]) -> int:
    found = reference()
    return 0 if found is None else sys.getrefcount(found)


def _is_held(reference: ref[Compiled]) -> bool:
    """Whether a callable is referred to by more than itself and what is here."""
    found = reference()
    if found is None:
        return True
    own = (2 if found._directs else 1) + (id(found) in _LASTING)
    del found
    return _references(reference) - _LOOKING > own


class _Sample:
    pass


_sample = _Sample()
_LOOKING = _references(ref(_sample)) - 1
