"""Keys that are one in a dictionary: the first of them stands for all.

``d[1]``, ``d[1.0]`` and ``d[np.int64(1)]`` are one place, and the key of ``d[S.A, S.A]`` is another
object in each turn.
"""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Callable
from types import FunctionType, MappingProxyType, WrapperDescriptorType
from typing import Any

from tracegrad.machine.world_protocol import type_dict, type_mro
from tracegrad.world.code_origin import is_mutable, is_trusted
from tracegrad.world.guards import PLAIN

HASHING = (dict, set, frozenset, MappingProxyType)
"""What finds what it holds by keys."""
PARTS = (tuple, frozenset)
"""What is equal where its items are."""


def rekey(x: Any, as_given: Callable[[Any], Any]) -> None:
    """Gives a dictionary that C code has filled its keys as the caller has them, in their order."""
    kind = OrderedDict if isinstance(x, OrderedDict) else dict
    before = [*kind.__iter__(x)]
    keys = list(map(as_given, before))
    if all(map(operator.is_, keys, before)):
        return
    held = [*kind.values(x)]
    kind.clear(x)
    for key, value in zip(keys, held, strict=True):
        kind.__setitem__(x, key, value)


class EqualKeys:
    """The first key of a run that is equal to one, by what a dictionary asks of keys."""

    def __init__(self) -> None:
        self._first: dict[Any, Any] = {}
        self._others: dict[int, Any] = {}  # kept alive: they are told apart by who they are

    def first(self, key: Any) -> Any:
        """The first that was equal to a key, which may be that itself."""
        try:
            if compares_in_c(key):
                if isinstance(key, str):
                    return str.__str__(key)
                return self._first.setdefault(key, key)
        except TypeError:  # no dictionary takes it
            pass
        self._others[id(key)] = key
        return key


def compares_in_c(x: Any) -> bool:
    """Whether a dictionary finds a key without code of the user's."""
    kind = type(x)
    if kind in PLAIN:
        return True
    if isinstance(x, PARTS) and not all(map(compares_in_c, x)):
        return False
    return not is_mutable(kind) or all(_is_in_c(kind, name) for name in ("__hash__", "__eq__"))


def _is_in_c(cls: type, name: str) -> bool:
    scopes = map(type_dict, type_mro(cls))
    found = next(scope[name] for scope in scopes if name in scope)
    if type(found) is FunctionType:
        return is_trusted(found.__globals__)
    return type(found) is WrapperDescriptorType
