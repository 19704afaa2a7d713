"""Transforms that are made anew for each call: `grad(f)(x)`, written in a loop or a function.

A callable that nobody holds any more is handed out once more, with its versions, where the same is
made of the same function: once a few of them were made one after the other, and nobody asked them
for what they have done. So two that are held have nothing in common, and what one learns or gives
up is its own.

It is handed out for another function of the same code as well (a lambda over other data) from the
second one on: the programs of that one have the function by its place (`world/functions.py`), where
the other comes to stand. Nobody holds it, so that no call of it can be under way.

Where many callables of one function were each called a few times alone, and none could be handed
out, calls of further ones run eagerly until they have cost what it takes to compile one.
"""

from __future__ import annotations

import gc
import sys
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from dis import get_instructions
from functools import lru_cache, partial
from inspect import Parameter, Signature
from itertools import takewhile
from operator import is_
from types import CodeType, FunctionType, MethodType
from typing import Any
from weakref import ref

import numpy as np

from tracegrad import config
from tracegrad.arguments.signature import are_one, defaults_of, shown_signature
from tracegrad.errors import warn_caller
from tracegrad.runtime.own_references import OwnReference, is_referred_to
from tracegrad.runtime.thread_state import STATE
from tracegrad.tracing.compile_budget import Budget
from tracegrad.tracing.outputs import Transform
from tracegrad.transforms.compiled_callable import Compiled
from tracegrad.world.code_origin import is_renewable
from tracegrad.world.functions import FunctionPlace, has_defaults, is_made_anew

MOST = 128
"""Of so many functions and settings callables are known."""

FEW = 3
"""So many are made anew, before one is handed out again."""

OWN = f"{config.__name__.split('.')[0]}."
"""What the names of this library's modules begin with."""

AT_ONCE = 8
"""So many callables of one function are known, which threads may use at the same time."""


@dataclass(frozen=True)
class Known:
    """A callable that was made, and what another function must have to stand in its function's."""

    reference: ref[Compiled]
    text: Any


class Alike:
    """The callables of functions that may be the same, of one code, by one transform."""

    def __init__(self) -> None:
        self.known: list[Known] = []
        self.budgets: deque[Budget] = deque(maxlen=AT_ONCE)  # of the last ones that were made
        self.let_go = 0  # how many were, one after the other, without being looked at
        self.told = False

    def lost(self, text: Any) -> bool:
        """Whether the last one, of such a function, is no more."""
        last = self.known[-1] if self.known else None
        return last is not None and last.text == text and last.reference() is None

    def enter(self, new: Compiled, text: Any) -> None:
        """One more is known; it compiles late where the last ones did in vain."""
        known = [one for one in self.known if one.reference() is not None]
        self.known = [*known[1 - AT_ONCE :], Known(OwnReference(new), text)]
        in_vain = len(self.budgets) == AT_ONCE and all(b.in_vain for b in self.budgets)
        new._budget.owed = max(max(b.spent, b.owed) for b in self.budgets) if in_vain else 0.0
        self.budgets.append(new._budget)
        if in_vain and not self.told:
            self.told = True
            warn_caller(
                f"{new.__name__}: transforms of it are made again and again, and each is called a "
                "few times alone. From here on calls of one run eagerly until they have cost as "
                "much as to compile it: make one, and pass what changes as arguments"
            )


_KNOWN: OrderedDict[Any, Alike] = OrderedDict()
_LASTING: OrderedDict[int, Compiled] = OrderedDict()
_HOLDING: dict[int, ref[Compiled]] = {}  # those of them that have functions which may hold much
_LOCK = threading.RLock()  # what users write may run meanwhile, and make others


def made(
    f: Callable[..., Any], transform: Transform, backend: str | None, static: Sequence[str] = ()
) -> Compiled:
    """The callable that a transform makes of a function: one that nobody holds, or a new one.

    One of a function that holds no data of its own lasts until others come, and so does one whose
    programs are for others of its code: it lets go of its function when Python collects garbage.
    Any other one is there until then.
    """
    names = frozenset((static,) if isinstance(static, str) else static)
    key: Any = (_identity(f), transform, backend, names)
    try:
        hash(key)
    except TypeError:  # shardings in a list, and the like
        key = None
    if key is None or STATE.trace is not None:
        return Compiled(f, transform, backend, static)
    text = _text(f)
    with _LOCK:
        alike = _KNOWN.setdefault(key, Alike())
        _KNOWN.move_to_end(key)
        found, same = _let_go(alike, f, text)
        again = found is not None and _comes_again(alike, found)
        lost = found is None and text is not None and alike.lost(text)
        alike.let_go += lost
        anew = lost or (found is not None and not same)
        if found is not None and again and (same or found._stead is not None):
            found._hand_to(f)
            if id(found) in _LASTING:
                _LASTING.move_to_end(id(found))
                _holds(found)
            return found
    new = Compiled(f, transform, backend, static)
    with _LOCK:
        if anew:
            new._stead = FunctionPlace(f)
        alike.enter(new, text if _reads_defaults(new) else None)
        while len(_KNOWN) > MOST:
            _KNOWN.popitem(last=False)
        if new._stead is not None or _holds_nothing(f):
            _LASTING[id(new)] = new
            _holds(new)
            while len(_LASTING) > MOST:
                _HOLDING.pop(_LASTING.popitem(last=False)[0], None)
    return new


def _let_go(alike: Alike, f: Any, text: Any) -> tuple[Compiled | None, bool]:
    """One that nobody holds, and whether it is of this very function, or of one of its code."""
    other = None
    for known in reversed(alike.known):
        reference = known.reference
        if _is_held(reference) or (found := reference()) is None or not _serves(found, f):
            continue
        if _is_of(found, f):
            return found, True
        agree = text is not None and known.text == text
        if agree and (other is None or other._stead is None):
            other = found
    return other, False


def _holds(found: Compiled) -> None:
    if found._stead is not None:
        _HOLDING[id(found)] = OwnReference(found)


def _collects(phase: str, info: dict[str, int]) -> None:
    """When Python is about to collect garbage: who is not held lets go of its function.

    Of the youngest objects it does so often that it would take long.
    """
    if phase != "start" or not info["generation"] or not _LOCK.acquire(blocking=False):
        return
    try:
        for key, reference in [*_HOLDING.items()]:
            if not _is_held(reference) and (found := reference()) is not None:
                _HOLDING.pop(key, None)
                found._hand_to(None)
    finally:
        _LOCK.release()


gc.callbacks.append(_collects)


def forget() -> None:
    """From now on each is a new one."""
    with _LOCK:
        _KNOWN.clear()
        _LASTING.clear()
        _HOLDING.clear()


def _comes_again(alike: Alike, found: Compiled) -> bool:
    """Whether the same is made again and again; `found` is the last one."""
    alike.let_go = 0 if found._looked_at else alike.let_go + 1
    return alike.let_go >= FEW


def _identity(f: Any) -> Any:
    """What functions that may be the same, or of one code, have in common."""
    if type(f) is MethodType:
        return MethodType, _identity(f.__func__)
    if type(f) is FunctionType:
        return f.__code__
    if type(f) is partial:
        return partial, _identity(f.func), len(f.args), tuple(f.keywords)
    if type(f) is Compiled:
        return Compiled, *_made_of(f)
    return id(type(f) if is_renewable(type(f)) else f)


def _made_of(f: Compiled) -> tuple[Any, ...]:
    return _identity(f._function), *made_so(f)


def made_so(f: Compiled) -> tuple[Any, ...]:
    """How a callable was made of its function."""
    return f._transform, f._backend, f._static


@lru_cache(maxsize=1024)
def writes_cells(code: CodeType) -> bool:
    """Whether a function binds variables of the one around it."""
    return any(
        i.opname in ("STORE_DEREF", "DELETE_DEREF", "MAKE_CELL") and i.argval in code.co_freevars
        for i in get_instructions(code)
    )


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
    if not str(one.__globals__.get("__name__")).startswith(OWN):  # `exec` need not name it
        return False
    values = [[cell.cell_contents for cell in of] for of in (cells, others)]
    return all(map(_same, *values))


def _is_of(found: Compiled, f: Any) -> bool:
    """Whether a callable is of this function, with these defaults, or of one that is the same."""
    defaults = defaults_of(f)
    alike = len(defaults) == len(found._defaults) and all(map(_same, defaults, found._defaults))
    return _same(found._function, f) and (found._stead is not None or alike)


def _reads_defaults(new: Compiled) -> bool:
    """Whether a function can read its own defaults: it is not differentiated by one of these."""
    if new._shown is not None and any(p.default is not p.empty for p in _of(new._shown)):
        return False
    parameters, transform = _of(new._signature), new._transform
    needed = [*takewhile(lambda p: p.default is p.empty, parameters)]
    if len(needed) == len(parameters) or not transform.differentiates:
        return True
    return not transform.is_beyond(len(needed)) and min(transform.positions, default=0) >= 0


def _of(signature: Signature) -> list[Parameter]:
    return [*signature.parameters.values()]


def _text(f: Any) -> Any:
    """What functions have in common that may stand in one place; None where another may not.

    They differ in what a call reads of them alone: what cells, defaults and objects hold.
    """
    match f:
        case FunctionType():
            wrapped = vars(f).get("__wrapped__")
            inner = None if wrapped is None else _text(wrapped)
            plain = vars(f).keys() == (set() if inner is None else {"__wrapped__"})
            if not (plain and is_made_anew(f)) or writes_cells(f.__code__):
                return None
            given = len(f.__defaults__ or ()), (*(f.__kwdefaults__ or ()),)
            return f.__code__, id(f.__globals__), given, inner
        case MethodType():
            return _with(f.__func__, "method", id(type(f.__self__)))
        case partial():
            plain = not vars(f)
            return _with(f.func, len(f.args), (*f.keywords,)) if plain else None
        case Compiled():
            inner = None if has_defaults(f) else _text(f._function)
            return None if inner is None else (inner, *made_so(f))
    holds_all = is_renewable(type(f)) and not isinstance(f, list | dict | tuple)
    return id(type(f)) if holds_all else None


def _with(function: Any, *more: Any) -> Any:
    """The same, of what holds a function, which may be one that stays who it is."""
    inner = _text(function)
    return (id(function) if inner is None else inner, *more)


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
    if any(not name.startswith("_") for name in vars(found)):  # what users set is not known
        return False
    if found._shown is not None:
        shown = shown_signature(f)
        if shown is None or not are_one(found._shown, shown):
            return False
    return found._stead is not None or len(found._every) < config.versions  # another makes as many


def _references(reference: ref[Any]) -> int:
    found = reference()
    return 0 if found is None else sys.getrefcount(found)


def _is_held(reference: ref[Compiled]) -> bool:
    """Whether a callable is referred to by more than itself and what is here.

    So it is where somebody has the function that its calls run, or could ask what became of it.
    """
    found = reference()
    if found is None or is_referred_to(found):
        return True
    directs = len(found._directs)  # of which each hands on to the next, and the last one to it
    if sys.getrefcount(found.__call__) > (3 if directs else 2):
        return True
    own = directs + 1 + (id(found) in _LASTING)
    del found
    return _references(reference) - _LOOKING > own


class _Sample:
    pass


_sample = _Sample()
_LOOKING = _references(ref(_sample)) - 1
