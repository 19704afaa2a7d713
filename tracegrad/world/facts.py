"""A place in the Python state enters; what it holds leaves, as a fact that can be checked again."""

from __future__ import annotations

import pickle
import random
import re
import struct
from array import array as PackedArray
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count, repeat
from operator import is_, length_hint
from types import CellType, MethodType
from typing import Any

import numpy as np

from tracegrad.tensor import Tensor

IMMUTABLE = (int, float, complex, str, bytes, bool, type(None), range, type(Ellipsis))
PLAIN = frozenset(IMMUTABLE)


class Missing:
    """What a name is that is not there."""

    def __repr__(self) -> str:
        return "missing"


MISSING = Missing()


@dataclass(frozen=True, slots=True)
class Guard:
    """One fact: reading `name` from `holder` gives `value`; `text` is how the user would say it."""

    read: str  # a Python expression over ``holder`` and ``name``
    holder: Any
    name: Any
    value: Any
    text: str
    line: str = ""  # where the function read it first: ``train.py:31``

    def now(self) -> Any:
        """What the place holds at this moment."""
        try:
            return READS[self.read](self.holder, self.name)
        except Exception:
            return MISSING

    def expression(self, stem: str, names: dict[str, Any]) -> str:
        """The reading as Python over names that are added to `names`."""
        names[f"holder{stem}"] = self.holder
        if type(self.name) in (int, str):
            literal = repr(self.name)
        else:
            literal, names[f"name{stem}"] = f"name{stem}", self.name
        if self.value is not MISSING:
            if self.read == ATTRIBUTE and self.name.isidentifier():
                return f"holder{stem}.{self.name}"
            if self.read == GLOBAL:
                return f"holder{stem}[{literal}]"
        text = re.sub(r"\bname\b", lambda _: literal, self.read)
        return re.sub(r"\bholder\b", f"holder{stem}", text)

    def condition(self, stem: str, value: str, names: dict[str, Any]) -> str:
        """Python that is true while the fact holds and the value is the same object."""
        if self.value is MISSING and self.read == GLOBAL:  # a third of the time of `get`
            missing = self.expression(stem, names)
            return re.sub(r"^(\w+)\.get\((.*), MISSING\)$", r"\2 not in \1", missing)
        if self.read in (APART, APART_OF) and len(self.name) <= FEW:
            names[f"holder{stem}"] = self.holder
            places = [f"holder{stem}"] * len(self.name)
            if self.read == APART_OF:
                places = [f"(attributes := holder{stem}.__dict__)", *["attributes"] * len(places)]
            pairs = zip(sorted(self.name), places, strict=False)
            return " and ".join([f"{name!r} not in {place}" for name, place in pairs])
        return f"{self.expression(stem, names)} {'==' if self.read in BY_VALUE else 'is'} {value}"

    def __str__(self) -> str:
        return f"{self.text} was {_shown(self.value)} and is {_shown(self.now())}"


def _shown(value: Any) -> str:
    try:
        text = " ".join(repr(value).split())
    except Exception:
        return f"an object of type {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}..."


READS: dict[str, Callable[[Any, Any], Any]] = {
    "holder.get(name, MISSING)": lambda holder, name: holder.get(name, MISSING),
    "getattr(holder, name, MISSING)": lambda holder, name: getattr(holder, name, MISSING),
    "holder.cell_contents": lambda holder, name: _cell(holder),
    "len(holder)": lambda holder, name: len(holder),
    "holder[name]": lambda holder, name: holder[name],
    "holder == name": lambda holder, name: holder == name,
    "(*holder,)": lambda holder, name: (*holder,),
    "all(map(is_, holder, name))": lambda holder, name: all(map(is_, holder, name)),
    "state_of(holder)": lambda holder, name: state_of(holder),
    "type(holder)": lambda holder, name: type(holder),
    "name in holder": lambda holder, name: name in holder,
    "holder.keys().isdisjoint(name)": lambda holder, name: holder.keys().isdisjoint(name),
    "holder.__dict__.keys().isdisjoint(name)": lambda holder, name: (
        holder.__dict__.keys().isdisjoint(name)
    ),
    "holder": lambda holder, name: holder,
    "holder(*name)": lambda holder, name: holder(*name),
}
GLOBAL, ATTRIBUTE, CELL, LENGTH, ITEM, SAME, KEYS, EACH, STATE_OF, CLASS = [*READS][:10]
FEW = 6  # names that are looked for one by one
PRESENT, APART, APART_OF, ITSELF, CALLED = [*READS][10:]
BY_VALUE = frozenset({LENGTH, SAME, KEYS, EACH, STATE_OF})


def _cell(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING


# -- state that is not in attributes or elements --------------------------------------------------

_ITERATORS: tuple[Any, ...] = (
    *map(type, (iter(()), iter([]), iter({}), iter({}.values()), iter({}.items()), iter(set()))),
    *map(type, (iter(range(0)), iter(""), iter(b""), reversed([]), reversed({}))),
)
STATEFUL: tuple[Any, ...] = (
    np.random.Generator,
    np.random.BitGenerator,
    np.random.RandomState,
    random.Random,
    bytearray,
    memoryview,
    PackedArray,
    count,
    repeat,
    *_ITERATORS,
)


def state_of(value: Any) -> Any:
    """What reading a stateful object of Python or NumPy moves: equal while it was not read."""
    match value:
        case np.random.Generator():
            return pickle.dumps(value.bit_generator.state)
        case np.random.BitGenerator():
            return pickle.dumps(value.state)
        case np.random.RandomState():
            return pickle.dumps(value.get_state(legacy=False))
        case random.Random():
            return value.getstate()
        case bytearray() | PackedArray() | memoryview():
            return bytes(value)
        case Iterator() if isinstance(value, _ITERATORS):
            return length_hint(value, -1)
    return repr(value)


# -- places ---------------------------------------------------------------------------------------

Place = tuple[int, Any]


def place_read(guard: Guard) -> tuple[str, Place]:
    """What tells apart the places that guards read."""
    return guard.read, place_of(guard.holder, guard.name)


def place_of(holder: Any, name: Any) -> Place:
    """What tells places apart, without running a user's ``__hash__``."""
    if type(name) in PLAIN or (type(name) is tuple and all(type(x) in PLAIN for x in name)):
        return id(holder), (type(name), name)
    return id(holder), id(name)


# -- comparing ------------------------------------------------------------------------------------


def same(a: Any, b: Any) -> bool:
    """Equal as a guarded value: identical, or immutables of one type and value."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if type(a) is float:
        return struct.pack("d", a) == struct.pack("d", b)
    if type(a) is complex:
        return struct.pack("dd", a.real, a.imag) == struct.pack("dd", b.real, b.imag)
    if type(a) in PLAIN:
        return bool(a == b)
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.generic) and type(a).__module__ == "numpy" and a.dtype.kind != "O":
        return a.tobytes() == b.tobytes() and a.dtype == b.dtype
    if isinstance(a, MethodType):
        return a.__self__ is b.__self__ and a.__func__ is b.__func__
    return False


def is_array(value: Any) -> bool:
    """Whether a value is an array or Tensor."""
    return isinstance(value, Tensor | np.ndarray)
