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
from tracegrad.world.native_readers import LIMIT, globals_of, held, reached
from tracegrad.world.number_inputs import FLOATS


class Places(NamedTuple):
    """What a function may reach, at one time."""

    objects: dict[int, Any]  # by id
    contents: dict[Any, Any]  # of each object, and of each global by its dictionary and name


@contextmanager
def noted(thing: Any, lost_by: str, tell: Callable[[Any, str | None], Any]) -> Iterator[None]:
    """Around a call of `thing`, which a program calls as it is.

    `lost_by` is its name, if it is called on values with a history, else empty. `tell` gets each
    object that was changed meanwhile; with a name each dictionary of globals in which that one was
    set. Of more than can be looked at all that can be reached counts as changed.
    """
    before = _places(thing)
    yield
    after = _places(thing)
    whole = max(len(before.objects), len(after.objects)) == LIMIT
    changed = [
        key for key, now in before.contents.items() if whole or after.contents.get(key, now) != now
    ]
    if not changed:
        return
    if STATE.watch is not None and lost_by:
        new = [
            x
            for key, x in after.objects.items()
            if key not in before.objects or (key in changed and isinstance(x, np.ndarray))
        ]
        STATE.watch.read(filter(_has_numbers, new), lost_by)
    for key in changed:
        holder, name = key if type(key) is tuple else (key, None)
        tell(before.objects[holder], name)


def _places(thing: Any) -> Places:
    objects = {id(x): x for x in islice(reached(thing), LIMIT)}
    contents: dict[Any, Any] = {}
    for x in list(objects.values()):
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


def _has_numbers(x: Any) -> bool:
    """Whether a gradient could have flowed through an object."""
    if isinstance(x, Tensor | np.ndarray):
        return x.dtype.kind in "fc" and getattr(x, "_node", None) is None
    return type(x) in (*FLOATS, complex)
