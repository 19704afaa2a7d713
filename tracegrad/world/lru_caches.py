"""Helpers under ``functools.lru_cache``: what they know already is read, and never computed unseen.

A helper of which the answer is known runs no code of the user's. So the check asks only for answers
that are in its cache at that moment; where one is not (it was cleared, or others pushed it out),
the call is another trace, in which the helper computes it where the function calls it.
"""

from __future__ import annotations

import enum
import gc
import operator
import sys
from types import FunctionType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from tracegrad.tensors.tensor import Tensor
from tracegrad.world.callable_names import name_of_callable
from tracegrad.world.code_origin import is_mutable, is_of_tracegrad
from tracegrad.world.guards import CALLED, MISSING, PLAIN
from tracegrad.world.native_tables import CACHED
from tracegrad.world.world import World, rule_for


class Known:
    """Gives what a helper under a cache knows for arguments; `MISSING` for what it does not."""

    def __init__(self, helper: Any, keywords: dict[str, Any]) -> None:
        parts = gc.get_referents(helper)  # nothing else tells what a cache holds
        caches = [x for x in parts if type(x) is dict and x is not helper.__dict__]
        marks = [x for x in parts if type(x) is object]
        self._helper, self._keywords = helper, keywords
        self._cache = caches[0] if len(caches) == 1 else {}
        self._tail: tuple[Any, ...] = ()
        if keywords and marks:
            self._tail = (marks[0], *(x for pair in keywords.items() for x in pair))
        self._typed = helper.cache_parameters()["typed"]

    def __call__(self, *operands: Any) -> Any:
        if not self.knows(operands):
            return MISSING
        return self._helper(*operands, **self._keywords)

    def knows(self, operands: tuple[Any, ...]) -> bool:
        """Whether the answer is in the cache."""
        key: Any = (*operands, *self._tail)
        if self._typed:
            key += tuple(map(type, (*operands, *self._keywords.values())))
        elif len(key) == 1 and type(key[0]) in (int, str):
            key = key[0]
        return key in self._cache


_ASKED: WeakKeyDictionary[Any, set[int]] = WeakKeyDictionary()
"""Of helpers, the hashes of calls for whose results a run had to end."""


def ask(world: World, helper: Any, operands: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """A call of a helper under a cache; every call of the program asks it again.

    Not one of tracegrad's own, which only spare it work.
    """
    if is_of_tracegrad(vars(sys.modules[helper.__module__])):
        return helper(*operands, **keywords)
    operands = tuple([_looked_at(world, x) for x in operands])
    keywords = {name: _looked_at(world, x) for name, x in keywords.items()}
    text = f"{name_of_callable(helper)}()"
    telling = all(_tells_itself(world, x) for x in (*operands, *keywords.values()))
    if not telling or not world.is_outside(helper):
        world.effect(text)
        return helper(*operands, **keywords)
    known = world.helper(helper, keywords, Known)
    if not known.knows(operands) and (world.may_stop or any(world.marks)):
        # It may raise, and see, or change, what the run has changed. Later calls find its result,
        # but for one that raises, and where a cache is too small.
        asked = _ASKED.setdefault(helper, set())
        key = hash((operands, tuple(keywords.items())))
        lasts = key in asked
        asked.add(key)
        world.effect(f"{text}, which computes", lasts)
    try:
        value = helper(*operands, **keywords)
    except BaseException:
        world.effect(f"{text}, which raises")
        raise
    if not known.knows(operands):
        world.effect(f"{text}, which keeps no result")
    world.guard(CALLED, known, operands, value, text)
    return world.enter(value, text)


def _looked_at(world: World, x: Any) -> Any:
    """An argument as Python hashes it."""
    if type(x) is Tensor and world.loops is not None and world.loops.counts(x):
        return operator.index(x)
    return world.hashed(x)  # the helper computes with that: no gradient goes through it


def _tells_itself(world: World, x: Any) -> bool:
    """Whether an argument is the same on every call: by its value, or by who it is."""
    if type(x) in PLAIN or isinstance(x, np.dtype | np.generic | enum.Enum | type):
        return True
    if type(x) is tuple:
        return all(_tells_itself(world, item) for item in x)
    if type(x) is FunctionType or (is_mutable(type(x)) and type(x).__hash__ is object.__hash__):
        world.pin(x)
        return world.is_outside(x)
    return False


@rule_for(CACHED.__get__)  # type: ignore[attr-defined]
def bind(world: World, operation: Any, operands: tuple[Any, ...], keywords: Any) -> Any:
    """A method under a cache."""
    return operation(*operands)
