"""Objects that are no more than what they hold by name: dictionaries, short lists, instances.

Where each turn of a loop makes such an object anew, or moves what it holds, that goes from turn to
turn; where frames are put back, one that a turn has made is made again.
"""

from __future__ import annotations

import weakref
from abc import ABCMeta
from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from tracegrad.machine.world_protocol import get_plainly, set_plainly, type_dict, type_mro

MOST_ITEMS = 32  # in a list that goes item by item
MOVING: dict[type, frozenset[str]] = {
    list: frozenset({"append", "clear", "extend", "insert", "pop"}),
    deque: frozenset({"append", "appendleft", "clear", "extend", "pop", "popleft"}),
    dict: frozenset({"pop", "clear"}),
}
"""Methods that change which names there are in an object, or what is where."""

_MADE_IN_PYTHON = 1 << 9  # a flag of classes: Py_TPFLAGS_HEAPTYPE


def names_in(x: Any) -> tuple[Any, ...] | None:
    """The names, or numbers, of what such an object holds; None of other objects."""
    if type(x) is dict:
        names = tuple(x)
        return names if all(type(name) in (str, int) for name in names) else None
    if type(x) in (list, deque):
        return tuple(range(len(x))) if len(x) <= MOST_ITEMS else None
    return tuple(get_plainly(x, "__dict__")) if is_instance(x) else None


def holds_by_name(x: Any) -> bool:
    """Whether an object may be one of these."""
    return type(x) in MOVING or is_instance(x)


def is_instance(x: Any) -> bool:
    """Whether an object is one of a class written in Python, and holds attributes alone."""
    kind = type(x)
    if type(kind) not in (type, ABCMeta) or not kind.__dictoffset__ or not kind.__weakrefoffset__:
        return False
    scopes = []
    for cls in type_mro(kind)[:-1]:
        if not cls.__flags__ & _MADE_IN_PYTHON:
            return False
        scopes.append(type_dict(cls))
    if any(scope.get("__slots__") or "__del__" in scope for scope in scopes):
        return False
    return not weakref.getweakrefcount(x)


def item_of(x: Any, name: Any) -> Any:
    """What such an object holds under a name."""
    return x[name] if type(x) in MOVING else get_plainly(x, "__dict__")[name]


def contents(x: Any) -> dict[Any, Any]:
    """All that such an object holds, by name."""
    return {name: item_of(x, name) for name in names_in(x) or ()}


def put_item(x: Any, name: Any, value: Any) -> None:
    """Has such an object hold something else under a name."""
    if type(x) in MOVING:
        x[name] = value
    else:
        set_plainly(x, name, value)


def maker_like(x: Any) -> Callable[..., Any]:
    """What makes an object of what it holds; no code of a user runs."""
    if type(x) is deque:
        return partial(deque, maxlen=x.maxlen)
    return partial(_instance, type(x))


def _instance(kind: type, attributes: Mapping[str, Any]) -> Any:
    made: Any = object.__new__(kind)
    for name, value in attributes.items():
        set_plainly(made, name, value)
    return made
