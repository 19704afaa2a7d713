"""Iteration: `iter`, `next`, unpacking, and iterables of Python on their way into C code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tracegrad.machine import natives, operators
from tracegrad.machine.attribute_lookup import C_KINDS, PLAIN, call_special, in_python, special
from tracegrad.machine.world_protocol import ABSENT, is_a

GENERATOR = type(_ for _ in ())
# Exact types whose iteration is C code.
DIRECT = PLAIN | frozenset(
    map(
        id,
        (
            *map(type, (iter([]), iter(()), iter({}), iter(set()), iter(""), iter(b""))),
            *map(type, (iter(range(0)), iter(range(1 << 70)), iter({}.items()), iter({}.values()))),
            *(GENERATOR, type(reversed([])), zip, enumerate, map, filter),
        ),
    )
)
COUNTED = frozenset(map(type, ([], (), range(0), iter([]), iter(()), iter(range(0)))))
"""What tells how many items it has, or has left."""


def get_iterator(m, x: Any) -> Any:
    """`iter(x)`"""
    if id(type(x)) in DIRECT:
        return m.native(iter, x)
    cls = m.type_of(x)
    method = in_python(m, cls, "__iter__")
    if method is not None:
        result = call_special(m, method, x)
        if m.class_attribute(m.type_of(result), "__next__") is ABSENT:
            name = type(result).__name__
            raise TypeError(f"iter() returned non-iterator of type '{name}'")
        return result
    if m.class_attribute(cls, "__iter__") is ABSENT:
        method = in_python(m, cls, "__getitem__")
        if method is not None and not is_a(x, dict):
            return by_index(m, method, x)
    return m.native(iter, x)


def by_index(m, method: Any, x: Any) -> Iterator[Any]:
    """The old protocol of iteration: `x[0]`, `x[1]`, ... up to an IndexError."""
    i = 0
    while True:
        try:
            value = call_special(m, method, x, i)
        except (IndexError, StopIteration):
            return
        yield value
        i += 1


def advance(m, iterator: Any) -> Any:
    """The next item, or ABSENT where there is none."""
    if id(type(iterator)) in DIRECT:
        return m.native(next, iterator, ABSENT)
    method = special(m, iterator, "__next__")
    if method is None:
        return m.native(next, iterator, ABSENT)
    try:
        return call_special(m, method, iterator)
    except StopIteration:
        return ABSENT


def items(m, x: Any) -> Iterator[Any]:
    """The items of any iterable, one after the other."""
    iterator = get_iterator(m, x)
    while True:
        item = advance(m, iterator)
        if item is ABSENT:
            return
        yield item


def iterated_in_python(m, x: Any) -> bool:
    """Whether iterating over an object runs a method written in Python."""
    if id(type(x)) in DIRECT:
        return False
    cls = m.type_of(x)
    found = m.class_attribute(cls, "__iter__")
    if found is ABSENT:
        return not is_a(x, dict) and in_python(m, cls, "__getitem__") is not None
    if id(type(found)) not in C_KINDS and in_python(m, cls, "__iter__") is not None:
        return True
    return in_python(m, cls, "__next__") is not None


def iterable(m, x: Any) -> Any:
    """An iterable that C code may go through: methods in Python are interpreted on the way."""
    return feed(m, get_iterator(m, x)) if iterated_in_python(m, x) else x


def feed(m, iterator: Any) -> Iterator[Any]:
    while True:
        item = advance(m, iterator)
        if item is ABSENT:
            return
        yield item


def sequence(m, x: Any) -> Any:
    """The same iterable, or the list of its items where Python code gives them."""
    return list(items(m, x)) if iterated_in_python(m, x) else x


def unpack(m, x: Any, count: int) -> Any:
    """The values of `a, b = x`."""
    if not iterated_in_python(m, x):
        return m.native(natives.unpack_sequence, x, count)
    return natives.unpack_sequence(iterable(m, x), count)


def unpack_starred(m, x: Any, before: int, after: int) -> Any:
    """The values of `a, *b, c = x`."""
    if not iterated_in_python(m, x):
        return m.native(natives.unpack_starred, x, before, after)
    return natives.unpack_starred(iterable(m, x), before, after)


def mapping(m, x: Any) -> Any:
    """The same mapping, or a dict of its items where Python code gives them."""
    if type(x) is dict:
        return x
    keys = special(m, x, "keys")
    if is_a(x, dict) and keys is None and special(m, x, "__iter__") is None:
        return x
    if keys is None and special(m, x, "__getitem__") is None:
        return x
    if m.class_attribute(m.type_of(x), "keys") is ABSENT:
        return x
    names = m.call(m.load_attribute(x, "keys"), (), {})
    return {name: operators.get_item(m, x, name) for name in items(m, names)}
