"""What a function of the user's stores that programs call as it is: a rule, a hook.

Nobody follows such a function. What it stores is plain, so no gradient flows through it, and a
program reads what is outside before it calls the function. So places that it may reach are compared
before and after each call: what is new there is lost to a gradient (`Watch`), and a function that
reads such a place itself has no program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from tracegrad.runtime.thread_state import STATE
from tracegrad.tape.foreign_arrays import digest
from tracegrad.tensors.tensor import Tensor
from tracegrad.world.native_readers import globals_of, held, reached
from tracegrad.world.number_inputs import FLOATS

MOST = 2_000
"""How many objects are compared around a call of a run that makes a program."""
NEAREST = 100
"""The same of a run that makes none, where each call pays for it."""


class Places(NamedTuple):
    """What a function may reach, at one time."""

    objects: dict[int, Any]  # by id
    contents: dict[Any, Any]  # of each object, and of each global by its dictionary and name


@contextmanager
def noted(
    thing: Any, lost_by: str, tell: Callable[[Any, str | None], Any], limit: int = MOST
) -> Iterator[None]:
    """Around a call of `thing`, which a program calls as it is.

    `lost_by` is its name, if it is called on values with a history, else empty. `tell` gets each
    object that was changed meanwhile; with a name each dictionary of globals in which that one was
    set. Of more than `limit` objects the nearest are compared.
    """
    before = _places(thing, limit)
    yield
    after = _places(thing, limit)
    changed = {key for key, now in before.contents.items() if after.contents.get(key, now) != now}
    if STATE.watch is not None and lost_by and changed:
        STATE.watch.read(filter(_has_numbers, _new(before, after, changed)), lost_by)
    for key in changed:
        holder, name = key if type(key) is tuple else (key, None)
        tell(before.objects[holder], name)


def _new(before: Places, after: Places, changed: set[Any]) -> Iterator[Any]:
    """What stands where something else stood, and what an array has become."""
    roots = []
    for key in changed:
        now, known = after.contents[key], before.contents[key]
        if isinstance(now, tuple):
            roots += [after.objects[x] for x in now if x not in known and x in after.objects]
        elif type(key) is tuple:
            roots += [after.objects[now]] if now in after.objects else []
        else:
            yield after.objects[key]
    for x in islice(reached(roots), MOST):
        if id(x) not in before.objects:
            yield x


def _places(thing: Any, limit: int) -> Places:
    objects = {id(x): x for x in islice(reached(thing), limit)}
    contents: dict[Any, Any] = {}
    for x in list(objects.values()):
        if type(x) in _PLAIN:
            continue
        if type(x) is np.ndarray and x.flags.writeable and x.dtype != object:
            contents[id(x)] = digest(x)
        elif isinstance(x, FunctionType):
            for scope, name in globals_of(x):
                objects[id(scope)] = scope
                contents[id(scope), name] = id(scope.get(name))
            contents[id(x)] = tuple(map(id, vars(x).values()))
        else:
            contents[id(x)] = tuple(map(id, held(x)))
    return Places(objects, contents)


_PLAIN = frozenset({int, float, complex, bool, type(None)})


def _has_numbers(x: Any) -> bool:
    """Whether a gradient could have flowed through an object."""
    if isinstance(x, Tensor | np.ndarray):
        return x.dtype.kind in "fc" and getattr(x, "_node", None) is None
    return type(x) in (*FLOATS, complex)
