"""What C code may read of an object that it is given: what is outside is guarded, and copied."""

from __future__ import annotations

import operator
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields, is_dataclass
from types import (
    FunctionType,
    MappingProxyType,
    MethodType,
)
from typing import Any

import numpy as np

from tracegrad.tensors.tensor import Tensor
from tracegrad.values.dispatch import is_numeric
from tracegrad.values.prng_keys import is_key
from tracegrad.values.pytree import children, is_leaf
from tracegrad.world import native_tables
from tracegrad.world.callable_names import read_by_c, text_of_key
from tracegrad.world.code_origin import is_mutable, is_trusted
from tracegrad.world.equal_keys import rekey
from tracegrad.world.guards import (
    ATTRIBUTE,
    EACH,
    GLOBAL,
    KEYS,
    LENGTH,
    PLAIN,
    STATE_OF,
    TYPED,
    kind_of_items,
    typed,
)
from tracegrad.world.number_inputs import FLOATS
from tracegrad.world.sequence_items import SMALL
from tracegrad.world.world import World

Operands = tuple[Any, ...]
Keywords = dict[str, Any]
_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))


def contents(world: World, x: Any) -> Any:
    """An operand of which C code may read all: what is outside is guarded as a whole, copied."""
    kind = type(x)
    if kind in FLOATS:
        return world.numbers.handed(world, x)
    if kind in PLAIN or kind is Tensor or kind in native_tables.ATOMS or isinstance(x, type):
        return x
    if id(x) in world.within:  # it holds itself
        return x
    world.within.add(id(x))
    try:
        found = _contents(world, x, kind)
    finally:
        world.within.discard(id(x))
    if found is not x:
        world.copies.add(found, x)
        if world.original(x) is not x:
            world.stands_for(found, x)
    return found


def _contents(world: World, x: Any, kind: type) -> Any:
    if kind is tuple:
        whole = world.is_outside(x) or _holds(x) or world.numbers.are_arguments
        return each_of(world, x) if whole else x
    if is_mutable(kind):
        if issubclass(kind, np.ndarray) and world.is_outside(x):  # whose elements no guard tells
            world.effect(read_by_c(world.text_of(x), x))
            world.runs_unseen(x, ())
        if not _by_identity(world, kind):
            world.effect(f"{world.text_of(x)}, which C code reads")
            return x
        with world.numbers.as_arguments(False):  # the object stays the one that holds them
            for name in getattr(kind, "__dataclass_fields__", ()):  # which its methods read
                if hasattr(x, name):
                    value = object.__getattribute__(x, name)
                    if world.is_outside(x):
                        text = f"{world.text_of(x)}.{name}"
                        value = world.read(ATTRIBUTE, x, name, value, text)
                    contents(world, value)
        kind = next(filter(kind.__mro__.__contains__, _COPIED), kind)
        if kind is tuple:
            return tuple.__new__(type(x), each_of(world, x))
        if kind not in _COPIED:
            world.pin(x)
    if not world.is_outside(x):
        if kind in (list, dict) and x:
            return _renewed(world, x)
        if kind is deque:
            items = [*x]
            found = _renewed(world, items)
            return x if found is items else deque(found, x.maxlen)
        return x
    if kind is np.ndarray:  # of objects or texts
        world.reads(x)
        enter_elements(world, x)
        return x
    if kind in (list, deque):
        items = _renewed(world, world.items(x))
        return items if kind is list else deque(items, x.maxlen)
    if kind in (dict, MappingProxyType):
        return _renewed(world, items_of(world, x))
    if kind in _VIEWS:
        held = items_of(world, world.enter(x.mapping, f"the dictionary of {world.text_of(x)}"))
        held = _renewed(world, held)
        return (held.keys(), held.values(), held.items())[_VIEWS.index(kind)]
    if kind in (OrderedDict, Counter):
        return kind(_renewed(world, items_of(world, x)))
    if kind is defaultdict:
        return defaultdict(x.default_factory, _renewed(world, items_of(world, x)))
    if kind in (set, frozenset):
        world.guard(TYPED, x, frozenset(x), typed(x), world.text_of(x))
        enter_keys(world, x)
        return x  # a copy may give its items in another order
    if kind is bytearray:
        world.guard(STATE_OF, x, None, bytes(x), world.text_of(x))
        return x
    if not (is_mutable(kind) or _is_inert(x)):
        world.effect(read_by_c(world.text_of(x), x))
        world.runs_unseen(x, ())
    return x


_COPIED = (tuple, Counter, OrderedDict, defaultdict, dict, list, deque, set, frozenset, bytearray)


def _by_identity(world: World, cls: type) -> bool:
    """Whether C code finds no method in Python on the objects of a class."""
    for owner in cls.__mro__:
        if not is_mutable(owner):
            continue
        held = vars(owner)
        found = world.special & held.keys()
        if not all(_is_known_method(held, name) for name in found):
            return False
        for name in world.special - found:
            world.lacks(GLOBAL, world.scope_of(owner), name, f"{owner.__name__}.{name}")
    return True


def _is_known_method(held: Mapping[str, Any], name: str) -> bool:
    found = held[name]
    if type(found) is FunctionType:
        made = "__dataclass_fields__" in held and _is_generated(found)  # it reads the fields
        return made or is_trusted(found.__globals__)
    return found is None or type(found) in native_tables.ATOMS


def _is_generated(method: FunctionType) -> bool:
    """Whether `dataclass` has written a method."""
    inner = getattr(method, "__wrapped__", method)  # of `__repr__`
    return inner.__code__.co_filename == "<string>"


def _is_inert(x: Any) -> bool:
    """Whether C code that is given an object can read nothing of it but who it is."""
    return isinstance(x, type | np.generic | np.dtype | MethodType) or (
        # generators tell the trace themselves, compiled functions ask the machine
        type(x).__module__ in ("tracegrad.random", "tracegrad.transforms.compiled_callable")
        or (type(x).__module__ == "numpy" and not is_in_python(type(x)))
        or is_key(x)
    )


def is_in_python(cls: type) -> bool:
    """Whether a class of a library is written in Python: its objects hold more than C shows."""
    return any(type(x) is FunctionType for x in vars(cls).values())


def _holds(x: tuple[Any, ...]) -> bool:
    return any(type(item) not in PLAIN and type(item) is not Tensor for item in x)


def each_of(world: World, x: tuple[Any, ...]) -> Any:
    outside = world.is_outside(x)
    found = [
        contents(world, world.item_of_tuple(x, i) if outside else item) for i, item in enumerate(x)
    ]
    return x if all(map(operator.is_, found, x)) else tuple(found)


def _renewed(world: World, x: Any) -> Any:
    """A container that the function made, with what is outside in it copied."""
    if isinstance(x, list):
        found = [contents(world, item) for item in x]
        return x if all(map(operator.is_, found, x)) else found
    held = {key: contents(world, item) for key, item in x.items()}
    return x if all(held[key] is x[key] for key in x) else held


MANY = 1000  # floats of a list that are inputs one by one


def keys_of(world: World, x: Mapping[Any, Any]) -> None:
    """The keys of a dictionary from outside, as a whole."""
    world.guard(KEYS, x, None, tuple(x), f"the keys of {world.text_of(x)}")
    enter_keys(world, x)


def enter_keys(world: World, x: Collection[Any]) -> None:
    """The keys of a dictionary, or the items of a set, from outside: a guard holds them fast."""
    for key in x:
        if type(key) not in PLAIN:
            world.enter(key, f"a {type(key).__name__} in {world.text_of(x)}")


def enter_elements(world: World, x: np.ndarray) -> None:
    """The objects in an array from outside: a guard holds them fast."""
    if not x.dtype.hasobject:
        return
    text = world.text_of(x)
    for element in x.flat:
        if type(element) in (np.ndarray, Tensor):
            world.effect(f"{text}, an array of arrays, which C code reads")
        elif type(element) not in PLAIN:
            world.enter(element, f"a {type(element).__name__} in {text}")


def items_of(world: World, x: Mapping[Any, Any]) -> dict[Any, Any]:
    """The items of a dictionary from outside, each guarded."""
    text = world.text_of(x)
    keys_of(world, x)
    if len(x) > SMALL and not (world.has_changed(x) or world.is_by_path(x)):
        items = list(x.values())
        world.guard(EACH, x.values(), items, True, text)
        return {k: world.enter(v, f"{text}[{text_of_key(k)}]") for k, v in x.items()}
    return {k: world.read(GLOBAL, x, k, v, f"{text}[{text_of_key(k)}]") for k, v in x.items()}


World.contents_of = contents  # type: ignore[attr-defined]


def items_alone(world: World, x: Any) -> Any:
    """A container whose items C code hands on as they are; each place outside is guarded."""
    kind = type(x)
    if not world.is_outside(x):
        return x
    if kind in (list, deque):
        return world.items(x, MANY if kind_of_items(x) in FLOATS else SMALL)
    if isinstance(x, tuple):  # of a class that iterates as tuples do: else Python was asked
        items = tuple([world.item_of_tuple(x, i) for i in range(len(x))])
        return x if all(map(operator.is_, items, x)) else items
    if kind in (dict, OrderedDict, MappingProxyType):
        return items_of(world, x)
    return contents(world, x)


World.items_alone = items_alone  # type: ignore[assignment]


def sequence_alone(world: World, x: Any) -> Any:
    """The same; a deque stays one."""
    items = items_alone(world, x)
    return deque(items, x.maxlen) if type(x) is deque and items is not x else items


def followed(world: World, x: Any) -> Any:
    """The same, of a container that is gone through step by step, while it may change."""
    items = items_alone(world, x)
    if items is x:
        return x
    if type(x) is deque:
        items = deque(items)
    world.copies.follow(items, x)
    return items


def with_plain_keys(world: World, made: Any) -> Any:
    """What C code has made: a dictionary or set that Python has hashed, as the caller has it."""
    if isinstance(made, dict):
        rekey(made, world.hashed)
    if type(made) not in (set, frozenset):
        return made
    keys = list(map(world.hashed, made))
    return made if all(map(operator.is_, keys, made)) else type(made)(keys)


def guard_returned(world: World, x: Any) -> None:
    """What the function returns: calls return what stands in containers from outside then."""
    if is_leaf(x):
        world.pin(x)
        if type(x) is np.ndarray and not is_numeric(x.dtype):
            world.effect(f"an array of {x.dtype}, which it returns,")
        if not (world.is_outside(x) or _is_returned(x)):
            world.effect(f"a new {type(x).__name__}, which it returns,")
        return
    if world.is_outside(x):
        if is_dataclass(x):
            for field in fields(x):
                world.numbers.look(world.own_attribute(x, field.name))
        elif isinstance(x, dict | list | tuple):
            world.numbers.look(items_alone(world, x))
        else:
            world.effect(f"{world.text_of(x)}, which it returns,")
    world.reads_key_order |= world.is_given_dict(x)
    for item in children(x):
        guard_returned(world, item)


def _is_returned(x: Any) -> bool:
    """Whether an object that the run made can be what every call returns."""
    if type(x) is FunctionType:
        return is_trusted(x.__globals__)
    atom = type(x) in PLAIN or type(x) in native_tables.ATOMS or isinstance(x, type | np.generic)
    return atom or isinstance(x, Tensor | np.ndarray | np.dtype)


def compared(world: World, operands: Operands) -> Operands:
    """Operands of which C code compares the items: of NaN, who it is decides, as the caller has it.

    Of all else the values tell, at which it looks. So it is beside an array, and of two numbers.
    """
    kinds = [type(x) for x in operands]
    if np.ndarray in kinds or not any(kind in (*_COMPARED, *_MAPPINGS) for kind in kinds):
        return operands
    held = [item for x in operands for item in _leaves(x)]
    if not (any(map(is_nan, held)) and any(type(item) is Tensor for item in held)):
        return operands
    world.effect("which of several NaN it has")
    return tuple([_as_given(world, x) for x in operands])


def _as_given(world: World, x: Any) -> Any:
    """What the caller has given, in nested containers too."""
    if type(x) is Tensor:
        return world.original(x)
    if type(x) in _MAPPINGS:
        return {key: _as_given(world, item) for key, item in x.items()}
    return type(x)(_as_given(world, item) for item in x) if type(x) in _COMPARED else x


def is_nan(x: Any) -> bool:
    """Whether it is a number that is not equal to itself."""
    return isinstance(x, float | complex | np.inexact) and bool(x != x)


def _leaves(x: Any) -> Iterator[Any]:
    """What nested containers hold."""
    waiting, seen = [x], set()  # those that hold themselves end
    for x in waiting:
        if id(x) in seen:
            continue
        seen.add(id(x))
        if type(x) in _COMPARED:
            waiting += x
        elif type(x) in _MAPPINGS:
            waiting += x.values()
        else:
            yield x


_COMPARED = (list, tuple, deque)
_MAPPINGS = (dict, OrderedDict, defaultdict)
_SIZED = (*native_tables.CONTAINERS, tuple)


def guard_length(world: World, x: Any) -> None:
    """``len(x)`` or ``bool(x)``, which no method in Python answers."""
    kept = type(x) in native_tables.ATOMS or (isinstance(x, tuple) and not world.is_by_path(x))
    if not kept and isinstance(x, _SIZED) and world.is_outside(x):
        world.guard(LENGTH, x, None, len(x), f"len({world.text_of(x)})")
