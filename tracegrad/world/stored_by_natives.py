"""What a function of the user's stores that programs call as it is: a rule, a hook.

Nobody follows such a function. What it stores is plain, so no gradient flows through it, and a
program reads what is outside before it calls the function. So places that it may reach are compared
before and after each call: what is new there is lost to a gradient (`Watch`), and a function that
reads such a place itself has no program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from tracegrad.autograd.rule_outcomes import noted_stores
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


@dataclass
class Stored:
    """What a call has stored.

    Each object that was changed; with a name each dictionary of globals in which that one was set.
    """

    places: list[tuple[Any, str | None]] = field(default_factory=list)
    numbers: list[Any] = field(default_factory=list)  # what stands there now that has any

    def tell(self, lost_by: str, tell: Callable[[Any, str | None], Any]) -> None:
        """Gives `tell` the places; a gradient may be lost by a call of that name, if it has one."""
        if STATE.watch is not None and lost_by and self.places:
            STATE.watch.read(self.numbers, lost_by)
        for holder, name in self.places:
            tell(holder, name)


@noted_stores.by
@contextmanager
def noted(thing: Any, limit: int = MOST) -> Iterator[Stored]:
    """Around a call of `thing`, which a program calls as it is: what it stores, once it is over.

    Of more than `limit` objects the nearest are compared.
    """
    found, before = Stored(), _places(thing, limit)
    yield found
    after = _places(thing, limit)
    changed = {key for key, now in before.contents.items() if after.contents.get(key, now) != now}
    if not changed:
        return
    found.numbers += filter(_has_numbers, _new(before, after, changed))
    for key in changed:
        holder, name = key if type(key) is tuple else (key, None)
        found.places.append((before.objects[holder], name))


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


@contextmanager
def telling(
    users: Any, lost_by: str, tell: Callable[[Any, str | None], Any], limit: int = MOST
) -> Iterator[None]:
    """Around a call of a rule: `Stored.tell` of what it stores, or has stored in another run."""
    with noted(users, limit) as found:
        yield
    for stored in [found] if STATE.outcomes is None else STATE.outcomes.stored(found):
        stored.tell(lost_by, tell)


_PLAIN = frozenset({int, float, complex, bool, type(None)})


def _has_numbers(x: Any) -> bool:
    """Whether a gradient could have flowed through an object."""
    if isinstance(x, Tensor | np.ndarray):
        return x.dtype.kind in "fc" and getattr(x, "_node", None) is None
    return type(x) in (*FLOATS, complex)
