"""Guards: what a place in the Python state held, as a fact that can be checked again."""

from __future__ import annotations

import pickle
import random
import re
import struct
from array import array as PackedArray
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count, repeat
from operator import is_, length_hint
from types import CellType, CodeType, GetSetDescriptorType, MemberDescriptorType, MethodType
from typing import Any
from weakref import ref

import numpy as np

from tracegrad.machine.world_protocol import HOLDS_VALUES, get_plainly, type_dict, type_mro
from tracegrad.tape.tape import LEAF
from tracegrad.tensors.tensor import Tensor, wrap
from tracegrad.values.dispatch import is_jax_array
from tracegrad.world import native_tables
from tracegrad.world.code_origin import is_mutable

IMMUTABLE = (int, float, complex, str, bytes, bool, type(None), range, type(Ellipsis))
PLAIN = frozenset(IMMUTABLE)


class Missing:
    """What a name is that is not there."""

    def __repr__(self) -> str:
        return "missing"


MISSING = Missing()


class LetGo:
    """What stands for an object of the first call, of which later calls have another one.

    Where it is to be the very object, that is `whose`.
    """

    __slots__ = ("whose",)

    def __init__(self, whose: Callable[[], Any] = lambda: None) -> None:
        self.whose = whose

    def __repr__(self) -> str:
        found = self.whose()
        return "an object of before" if found is None else repr(found)


def weakly(x: Any) -> Callable[[], Any] | None:
    """What gives an object while it lives; None of those of which Python cannot tell."""
    try:
        return ref(x)
    except TypeError:
        return None


def emptied(array: Any) -> Any:
    """What tells the type of an array or Tensor that is not kept alive; one of JAX itself."""
    held = getattr(array, "_array", array)
    if not isinstance(held, np.ndarray):
        return array
    empty = np.empty((0,) * held.ndim, held.dtype)
    if not isinstance(array, Tensor):
        return empty
    tensor = wrap(empty)
    tensor._node = LEAF if array.requires_grad else None
    return tensor


@dataclass(frozen=True, slots=True)
class Seen:
    """An array or Tensor from outside of which code has read more than an input tells."""

    array: Any
    text: str  # as the user would say it
    line: str  # where the function read it first: ``train.py:31``


@dataclass(frozen=True, slots=True)
class Guard:
    """One fact: reading `name` from `holder` gives `value`; `text` is how the user would say it."""

    read: str  # a Python expression over ``holder`` and ``name``
    holder: Any
    name: Any
    value: Any
    text: str
    line: str = ""  # where the function read it first: ``train.py:31``
    of: Guard | None = None  # the place that every call reads the holder from; None: it is this one
    kind: type = Missing  # the class of the value at that moment
    in_dict: bool = False  # of a holder that is let go: its dictionary had the name

    def let_go(self, stand_ins: Mapping[int, Any]) -> None:
        """Keeps nothing of the first call alive; what stands for its objects is told by their id.

        Every call reads the holder again.
        """
        if id(self.holder) in stand_ins:
            object.__setattr__(self, "in_dict", self._is_in_dict())
        for field in ("holder", "value"):
            held = getattr(self, field)
            object.__setattr__(self, field, stand_ins.get(id(held), held))

    def _is_in_dict(self) -> bool:
        if type(self.holder) is LetGo:
            return self.in_dict
        return has_attributes(self.holder) and self.name in get_plainly(self.holder, "__dict__")

    @property
    def holder_kind(self) -> type:
        """The class of the holder, which may have been let go."""
        return type(self.holder) if self.of is None else self.of.kind

    @property
    def outlived(self) -> bool:
        """Whether it asks for an object that is no more."""
        return self.read == GIVEN and type(self.value) is LetGo and self.value.whose() is None

    @property
    def place(self) -> tuple[Any, ...]:
        """What tells the places that guards read apart, in every run of the function."""
        held = id(self.holder) if self.of is None else self.of.place
        return self.read, held, key_of(self.name)

    @property
    def seen(self) -> Seen:
        """What the place held, and where it was read."""
        return Seen(self.value, self.text, self.line)

    def where(self) -> Any:
        """The holder at this moment."""
        return self.holder if self.of is None else self.of.now()

    def now(self) -> Any:
        """What the place holds at this moment."""
        try:
            return READS[self.read](self.where(), self.name)
        except Exception:
            return MISSING

    def in_run(self) -> Any:
        """What the place of the traced run holds: the run may have put another holder there."""
        return replace(self, of=None).now()

    def expression(self, stem: str, names: dict[str, Any]) -> str:
        """The reading as Python, from an object that never changes; over names added to `names`."""
        if self.of is not None:
            return self.over(self.of.expression(stem, names), names)
        if self.read == GIVEN:
            return self.over("", names)
        names[f"holder{stem}"] = self.holder
        return self.over(f"holder{stem}", names)

    def over(self, holder: str, names: dict[str, Any]) -> str:
        """The reading as Python over the source of its holder; a given object is a variable."""
        if self.read == GIVEN:
            return f"given{self.name}"
        literal = self._literal(names)
        if self.read == PACKED:
            names["packed"] = packed
        if self.read == ATTRIBUTE and asks_code(self.holder_kind, self.name):
            if self._is_in_dict():
                return f"{holder}.__dict__[{literal}]"
            names["attribute_of"] = attribute_of
            return f"attribute_of({holder}, {literal})"
        if self.value is not MISSING:
            if self.read == ATTRIBUTE and self.name.isidentifier():
                return f"{holder}.{self.name}"
            if self.read == GLOBAL:
                return f"{holder}[{literal}]"
        text = re.sub(r"\bname\b", lambda _: literal, self.read)
        return re.sub(r"\bholder\b", lambda _: holder, text)

    def _literal(self, names: dict[str, Any]) -> str:
        if self.name is None or type(self.name) in (int, str):
            return repr(self.name)
        literal = f"name_{len(names)}"
        names[literal] = self.name
        return literal

    def condition(self, holder: str, value: str, names: dict[str, Any]) -> str:
        """Python that is true while the fact holds and the value is the same object."""
        if self.value is MISSING and self.read == GLOBAL:  # a third of the time of `get`
            return f"{self._literal(names)} not in {holder}"
        if self.read == KEYS:
            if not _TOLD_BY_TYPE.issuperset(map(type, self.value)):
                names["same"] = same
                return f"same({self.over(holder, names)}, {value})"
            names[kinds := f"{value}_kinds"] = [*map(type, self.value)]
            keys = self.over(holder, names)
            return f"{keys} == {value} and [*map(type, {holder})] == {kinds}"
        if self.read in (APART, APART_OF) and len(self.name) <= FEW:
            places = [holder] * len(self.name)
            if self.read == APART_OF:
                places = [f"(attributes := {holder}.__dict__)", *["attributes"] * len(places)]
            pairs = zip(sorted(self.name), places, strict=False)
            return " and ".join([f"{name!r} not in {place}" for name, place in pairs])
        return f"{self.over(holder, names)} {'==' if self.read in BY_VALUE else 'is'} {value}"

    def __str__(self) -> str:
        return f"{self.text} was {_shown(self.value)} and is {_shown(self.now())}"


def key_of(name: Any) -> Any:
    """What tells names apart, without running a user's ``__hash__``."""
    kind = type(name)
    if kind in PLAIN:
        return kind, name
    if kind is tuple or kind is frozenset:
        return kind, kind(map(key_of, name))
    if kind.__module__ == "numpy" and isinstance(name, np.number | np.bool_):
        return kind, name
    return id(name)


def _shown(value: Any) -> str:
    try:
        text = " ".join(repr(value).split())
    except Exception:
        return f"an object of type {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:57]}..."


READS: dict[str, Callable[[Any, Any], Any]] = {
    "holder.get(name, MISSING)": lambda holder, name: holder.get(name, MISSING),
    "getattr(holder, name, MISSING)": lambda holder, name: attribute_of(holder, name),
    "holder.cell_contents": lambda holder, name: _cell(holder),
    "len(holder)": lambda holder, name: len(holder),
    "holder[name]": lambda holder, name: holder[name],
    "holder == name": lambda holder, name: holder == name,
    "(*holder,)": lambda holder, name: (*holder,),
    "all(map(is_, holder, name))": lambda holder, name: all(map(is_, holder, name)),
    "state_of(holder)": lambda holder, name: state_of(holder),
    "typed(holder)": lambda holder, name: typed(holder),
    "packed(holder, name)": lambda holder, name: packed(holder, name),
    "type(holder)": lambda holder, name: type(holder),
    "name in holder": lambda holder, name: name in holder,
    "holder.keys().isdisjoint(name)": lambda holder, name: holder.keys().isdisjoint(name),
    "holder.__dict__.keys().isdisjoint(name)": lambda holder, name: (
        holder.__dict__.keys().isdisjoint(name)
    ),
    "holder": lambda holder, name: holder,
    "holder(*name)": lambda holder, name: holder(*name),
    "holder.objects[name]": lambda holder, name: holder.objects[name],
    "holder.__closure__[name]": lambda holder, name: holder.__closure__[name],
}
GLOBAL, ATTRIBUTE, CELL, LENGTH, ITEM, SAME, KEYS, EACH, STATE_OF, TYPED = [*READS][:10]
FEW = 6  # names that are looked for one by one
PACKED, CLASS, PRESENT, APART, APART_OF, ITSELF, CALLED, GIVEN, CLOSURE = [*READS][10:]
_TOLD_BY_TYPE = frozenset({str, int, bool, bytes, type(None)})  # equal ones are the same
BY_VALUE = frozenset({LENGTH, SAME, KEYS, EACH, STATE_OF, TYPED})


def asks_code(cls: type, name: str) -> bool:
    """Whether Python runs code of the user's for an attribute that objects of a class lack."""
    if not is_mutable(cls):
        return False
    scopes = [type_dict(owner) for owner in type_mro(cls) if is_mutable(owner)]
    found = next((scope[name] for scope in scopes if name in scope), None)
    binds = hasattr(type(found), "__get__") and type(found) not in native_tables.ATOMS
    return binds or any("__getattr__" in scope for scope in scopes)


def attribute_of(x: Any, name: str) -> Any:
    """What an object itself has under a name; no code of the user's runs."""
    if asks_code(type(x), name):
        if has_attributes(x) and name in (held := get_plainly(x, "__dict__")):
            return held[name]
        scopes = [type_dict(owner) for owner in type_mro(type(x))]
        found = next((scope[name] for scope in scopes if name in scope), None)
        if not isinstance(found, MemberDescriptorType | GetSetDescriptorType):
            return MISSING
        return found.__get__(x)  # raises where a slot is empty
    return getattr(x, name, MISSING)


def has_attributes(x: Any) -> bool:
    """Whether an object has a dictionary of attributes; no code of a user's runs."""
    if type(x).__flags__ & HOLDS_VALUES:
        return True
    try:
        return isinstance(get_plainly(x, "__dict__"), dict)
    except AttributeError:
        return False


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


def place_of(holder: Any, name: Any) -> Place:
    """What tells places apart in one run."""
    return id(holder), key_of(name)


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
    if type(a) is range or type(a) is slice:
        return same((a.start, a.stop, a.step), (b.start, b.stop, b.step))
    if type(a) in PLAIN:
        return bool(a == b)
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.generic) and type(a).__module__ == "numpy" and a.dtype.kind != "O":
        return a.tobytes() == b.tobytes() and a.dtype == b.dtype
    if type(a) is CodeType:  # equal code is that of one text, evaluated again
        return bool(a == b)
    if isinstance(a, MethodType):
        return a.__self__ is b.__self__ and a.__func__ is b.__func__
    return False


def typed(value: Any) -> Any:
    """A set, or what it holds, as something that is equal for the same alone: 1 is not True.

    The order in which a set gives its items is told as well.
    """
    if isinstance(value, set | frozenset):
        return tuple(map(typed, value))
    if type(value) is tuple:
        return tuple, *map(typed, value)
    return (type(value), repr(value)) if type(value) in PLAIN else id(value)


# -- numbers in a list ----------------------------------------------------------------------------

_PACKED = (float, np.float64, int)


def kind_of_items(items: Any) -> type | None:
    """The type of the numbers in a list or tuple that are all of one; else None."""
    kinds = {*map(type, items)}
    kind = kinds.pop() if len(kinds) == 1 else None
    return kind if kind in _PACKED else None


def packed(items: Any, kind: type) -> np.ndarray:
    """The array that NumPy makes of numbers of one type; raises OverflowError for large ints."""
    return np.fromiter(items, kind, len(items))


def is_array(value: Any) -> bool:
    """Whether a value is an array, of NumPy or of JAX, or a Tensor."""
    return isinstance(value, Tensor | np.ndarray) or is_jax_array(value)
