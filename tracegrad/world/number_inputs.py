"""Numbers from outside are inputs of the program, unless Python looked at them.

A float that is read at a place outside is given to the function as an object of its own, so that it
is known again wherever it goes. Arithmetic of such floats alone is remembered (`Derived`), and is
recorded when the result meets a Tensor. Everything else that is done with one looks at it: then the
guard on its value stays. Ints are looked at, but for those that the function itself counts with
(``self.calls += 1``): from the second trace on they are Tensors, and what they become is stored.
"""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, cycle, islice, starmap, zip_longest
from types import (
    BuiltinFunctionType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    SimpleNamespace,
)
from typing import Any

import numpy as np

from codegen.ir import Origin, Value
from tracegrad.machine import natives
from tracegrad.tensors.tensor import Tensor, wrap
from tracegrad.user_code.lost_gradients import succeeds
from tracegrad.world.array_to_tensor import plain_or_tensor
from tracegrad.world.guards import Guard
from tracegrad.world.joined_containers import joins, sequence_of
from tracegrad.world.lengths import Length
from tracegrad.world.native_tables import ITERATORS

ARITHMETIC = frozenset(
    map(id, (operator.add, operator.sub, operator.mul, operator.truediv, operator.neg))
)
IN_PLACE = {
    id(operator.iadd): operator.add,
    id(operator.isub): operator.sub,
    id(operator.imul): operator.mul,
    id(operator.itruediv): operator.truediv,
}
"""What these are of numbers, which nobody changes."""
COMPARISONS = frozenset(map(id, (operator.lt, operator.le, operator.gt, operator.ge)))
FLOATS = frozenset({float, np.float64, np.float32})
_PLAIN = frozenset({int, bool, *FLOATS})
_TAKING = frozenset({
    *("where", "clip", "array", "asarray", "stack", "full_like", "dot", "multiply"),
    *("tensor", "as_tensor", "Tensor"),
})  # fmt: skip
"""Functions of arrays that take numbers in the places of arrays, beside ufuncs."""


_HOLDING = frozenset({list, tuple, deque, *map(type, ({}.keys(), {}.values(), {}.items()))})
"""Types of what holds numbers for C code that goes through it, beside dicts."""
_KEEPING = frozenset(
    map(
        id,
        (
            *(setattr, object.__setattr__, type.__setattr__, operator.setitem),
            *(list.append, list.insert, deque.append, deque.appendleft, print),
            *(list.extend, deque.extend, dict.update, dict.setdefault),
        ),
    )
)
"""Operations that put a number somewhere, and do not look at it."""
_MOVING = frozenset(
    map(
        id,
        (
            *(list, tuple, dict, deque, enumerate, zip, reversed, next, len, tuple.__new__),
            *(map, starmap, chain, islice, cycle, zip_longest, SimpleNamespace),
            *(natives.unpack_sequence, natives.unpack_starred, natives.list_extend),
            *(natives.list_to_tuple, natives.dict_merge, natives.dict_update),
        ),
    )
)
"""Operations that hand on what a container holds, or count it."""
_ASKING_TYPES = frozenset(map(id, (type, isinstance, callable)))
"""Functions that ask of a number what it is: of what stands at a place, guards hold that fast."""
_ASKING_TRUTH = frozenset(map(id, (bool, operator.truth, operator.not_)))
"""Functions that ask of a container whether it holds anything."""
_SORTING = frozenset(map(id, (sorted, list.sort)))
"""Functions that hand on the items of a list, too, where they compare what a key gives of them."""
_MOVING_METHODS = frozenset({
    *("append", "extend", "insert", "copy", "items", "values", "keys", "get", "pop", "popitem"),
    *("setdefault", "update", "clear", "reverse", "appendleft", "popleft", "extendleft"),
    *("rotate", "__copy__"),
})  # fmt: skip
"""Methods of containers that look at no item."""
_BY_KEY = frozenset({"get", "pop", "setdefault", "insert"})
"""Those that look at what they are given first."""
_CONTAINERS = frozenset({list, dict, deque})


class Count(int):
    """An int as an object of its own."""


@dataclass(eq=False)
class Read:
    """A float that stands at a place outside."""

    value: Any
    guard: Guard
    tensor: Tensor | None = None  # once it is an input


@dataclass(eq=False)
class Derived:
    """What arithmetic made of such floats."""

    value: Any
    operation: Callable[..., Any]
    operands: tuple[Any, ...]  # numbers, and `Read`, `Derived` or `Length`
    tensor: Tensor | None = None  # once it is recorded


class Numbers:
    """The floats from outside that one run knows."""

    def __init__(self) -> None:
        self.known: Mapping[Any, float] = {}  # by place, those of the program that goes on
        self._found: dict[int, Read | Derived] = {}
        self._counts: list[Any] = []  # kept alive
        self._looked_at: set[int] = set()  # ids of guards
        self._moved: set[int] = set()  # likewise
        self._sources: dict[int, Guard] = {}
        self.are_arguments = False

    @property
    def any(self) -> bool:
        """Whether there are any."""
        return bool(self._found)

    def enter(self, value: float, place: Any, guard: Guard, moved: bool) -> float:
        """The float as the function has it; what C code reads may be `moved` alone."""
        if moved:
            self._moved.add(id(guard))
        known = self.known.get(place)
        number = own(value) if known is None else known
        self._found[id(number)] = Read(number, guard)
        self._sources[id(number)] = guard
        succeeds(number, value)
        return number

    def count(self, world: Any, value: int, place: Any, guard: Guard) -> Tensor:
        """An int that the function counts with, as the function has it."""
        known = self.known.get(place)
        number = Count(value) if known is None else known
        self._sources[id(number)] = guard
        traced = world.trace.capture(number, world.trace.origin())
        tensor = wrap(value, (world.trace, traced))
        self._counts.append(number)
        world.stands_for(tensor, value)
        return tensor

    def source_of(self, holder: Any) -> Guard | None:
        """Where a float stands that became an input."""
        return self._sources.get(id(holder))

    def is_looked_at(self, guard: Guard) -> bool:
        """Whether the value at a place decided something."""
        return id(guard) in self._looked_at

    def is_moved(self, guard: Guard) -> bool:
        """Whether C code has put the value at a place somewhere, or handed it on."""
        return id(guard) in self._moved

    def look_at(self, guard: Guard) -> None:
        """The value at a place decides what the program does."""
        self._looked_at.add(id(guard))

    def absorb(self, before: Numbers, same_place: Mapping[int, Guard]) -> None:
        """Takes over what an earlier run looked at; its guards, by id, as they are here."""
        self._looked_at |= {id(same_place[key]) for key in before._looked_at}
        self._moved |= {id(same_place[key]) for key in before._moved if key in same_place}
        known = {key: same_place[id(guard)] for key, guard in before._sources.items()}
        for guard in same_place.values():
            if type(guard.value) in _PLAIN and guard.place in self.known:  # not read by this run
                known[id(self.known[guard.place])] = guard
        self._sources = {**known, **self._sources}
        self._found = {**before._found, **self._found}

    def found(self, x: Any) -> Read | Derived | None:
        """What is known of a float."""
        return self._found.get(id(x)) if type(x) in FLOATS else None

    def as_read(self, x: Any) -> Any:
        """The very object that stands at its place, where it is one."""
        known = self.found(x)
        return known.guard.value if isinstance(known, Read) else x

    def computed(self, value: Any, operation: Any, operands: Sequence[Any]) -> Any:
        """A float that is computed of numbers, as the function has it; None for another object."""
        if type(value) not in FLOATS:
            return None
        self._found[id(value)] = Derived(
            value, operation, tuple([self.found(x) or x for x in operands])
        )
        return value

    def look(self, x: Any) -> None:
        """Python, or C code, looks at what an object is worth, or at what a sequence holds."""
        for number in _numbers_in(x):
            if type(number) is Length:
                number.look()
            else:
                self._look(self._found.get(id(number)))

    def _move(self, x: Any) -> None:
        """C code puts a number somewhere, or what a sequence holds, and looks at none."""
        for number in _numbers_in(x):
            known = self._found.get(id(number))
            if isinstance(known, Read):
                self._moved.add(id(known.guard))

    def _look(self, known: Read | Derived | None) -> None:
        if isinstance(known, Read):
            self.look_at(known.guard)
        elif known is not None:
            for x in known.operands:
                if isinstance(x, Read | Derived):
                    self._look(x)
                elif type(x) is Length:
                    x.look()

    @contextmanager
    def as_arguments(self, inputs: bool) -> Iterator[None]:
        """Within this, whether what C code is given are inputs: what is traced computes with it."""
        before, self.are_arguments = self.are_arguments, inputs
        try:
            yield
        finally:
            self.are_arguments = before

    def handed(self, world: Any, x: Any) -> Any:
        """A float as it is given to C code, which looks at it, or to what is traced."""
        if self.are_arguments:
            return self.lifted(world, x)
        self.look(x)
        return x

    def lifted(self, world: Any, x: Any) -> Any:
        """A float as an input of the program, or what is recorded of it; others as they are."""
        if type(x) is Length:
            return x.look()
        known = self.found(x)
        if known is None:
            if type(x) not in (list, tuple):
                return x
            items = [self.lifted(world, item) for item in x]
            return type(x)(items) if any(map(operator.is_not, items, x)) else x
        return self._tensor(world, known)

    def input_of(self, world: Any, x: Any, origin: Origin) -> Value | None:
        """A float from outside as the input that it is, where a value of the program is made of it.

        One that was looked at is a constant. What was computed of such floats is looked at. A
        length is a value of the program too.
        """
        if type(x) is Length and x.lengths is world.lengths:
            return world.lengths.value(x.dim, origin.named(None))  # type: ignore[no-any-return]
        known = self.found(x)
        if isinstance(known, Read) and not self.is_looked_at(known.guard):
            return self._tensor(world, known)._traced[1]  # type: ignore[no-any-return]
        self._look(known)
        return None

    def _tensor(self, world: Any, known: Any) -> Any:
        if not isinstance(known, Read | Derived):
            return world.lengths.tensor(known) if type(known) is Length else known
        if known.tensor is None:
            if isinstance(known, Read):
                value = world.trace.capture(known.value, world.trace.origin())
                known.tensor = wrap(known.value, (world.trace, value))
            else:
                known.tensor = known.operation(*[self._tensor(world, x) for x in known.operands])
            world.stands_for(known.tensor, known.value)
        return known.tensor

    def forget(self, made: Collection[Value]) -> None:
        """What was recorded of numbers is there no more where these values are not."""
        for known in self._found.values():
            traced = getattr(known.tensor, "_traced", None)
            if traced is not None and traced[1] in made:
                known.tensor = None

    def _written(self, world: Any, array: Any, index: Any, value: Any) -> tuple[Any, Any, Any]:
        """What ``array[index] = value`` is of: a Tensor in the array's place takes a number."""
        self.look(index)
        if type(array) is np.ndarray and self.found(value) is not None:
            array = plain_or_tensor(world, (array, index, value))
        if type(array) is Tensor:
            return array, index, self.lifted(world, value)
        self.look(value)
        return array, index, value

    def taken(
        self, world: Any, operation: Any, operands: Sequence[Any], keywords: dict[str, Any]
    ) -> Any:
        """The operands of an operation, with Tensors for floats that it takes; or its result."""
        key = id(operation)
        if key in IN_PLACE and type(operands[0]) in _PLAIN:
            operation = IN_PLACE[key]
            key = id(operation)
        if key in ARITHMETIC and all(type(x) in _PLAIN for x in operands):
            value = self.computed(operation(*operands), operation, operands)
            if value is not None:
                return value
        if operation is operator.setitem and isinstance(operands[0], Tensor | np.ndarray):
            return self._written(world, *operands)
        arrays = key in ARITHMETIC and all(type(x) in _PLAIN or type(x) is Tensor for x in operands)
        compared = key in COMPARISONS and all(
            type(x) in _PLAIN or type(x) is Tensor or type(x) is tuple for x in operands
        )
        changed = key in IN_PLACE and type(operands[0]) is Tensor
        if arrays or compared or changed or takes(operation):
            return tuple([self.lifted(world, x) for x in operands])
        looked_at = _looked_at(world, operation, operands, keywords)
        for x in looked_at:
            self.look(x)
        if len(looked_at) < len(operands):
            self._move((*operands, *keywords.values()))
        return tuple(operands)


def _numbers_in(x: Any) -> Iterator[Any]:
    """A float or length, or those that a sequence or dictionary holds, and those within it."""
    waiting, held = [x], set()  # containers, which may hold themselves
    while waiting:
        x = waiting.pop()
        if type(x) in FLOATS or type(x) is Length:
            yield x
        elif (type(x) in _HOLDING or isinstance(x, dict)) and id(x) not in held:
            held.add(id(x))
            waiting += dict.values(x) if isinstance(x, dict) else x


def moves(world: Any, operation: Any, operands: Sequence[Any]) -> bool:
    """Whether C code puts some of what it is given somewhere, or hands it on, and looks at none."""
    return len(_looked_at(world, operation, operands, {})) < len(operands)


def _looked_at(
    world: Any, operation: Any, operands: Sequence[Any], keywords: dict[str, Any]
) -> Sequence[Any]:
    """What C code looks at of what it is given; the rest it puts somewhere, or hands on."""
    key = id(operation)
    if key in _KEEPING or key in _MOVING or key in _ASKING_TYPES:
        return ()
    if key in _SORTING and keywords.get("key") is not None:
        return ()
    if operation is iter and len(operands) == 1:
        return ()
    if operation is id and world.copies_deeply:
        return ()
    if is_of_transforms(operation):  # it gets Tensors for them (`native_calls.py`)
        return ()
    if operation is operator.getitem and type(operands[0]) in (list, tuple, dict, deque):
        return operands[1:]
    if operation is operator.contains and isinstance(operands[0], dict):
        return operands[1:]
    if key in _ASKING_TRUTH or joins(operation, operands):
        return [x for x in operands if sequence_of(x) is None and type(x) is not dict]
    every = [*operands, *keywords.values()]
    if isinstance(operation, MethodDescriptorType) and operation.__objclass__ in _CONTAINERS:
        name = operation.__name__
        return every if name not in _MOVING_METHODS else operands[1 : 1 + (name in _BY_KEY)]
    if isinstance(operation, BuiltinFunctionType) and operation.__name__ not in _MOVING_METHODS:
        every.append(operation.__self__)
    return every


def hands_on(operation: Any) -> bool:
    """Whether C code hands on what functions and iterators give it, and does not look at it."""
    key = id(operation)
    if key in _KEEPING or key in _MOVING or operation is iter:
        return True
    if isinstance(operation, type):
        return operation in ITERATORS
    kinds = BuiltinFunctionType, MethodDescriptorType
    return isinstance(operation, kinds) and operation.__name__ in _MOVING_METHODS


def own(value: Any) -> Any:
    """The same number as a new object."""
    return value - 0.0 if type(value) is float else type(value)(value)


def is_number_read(holder: Any) -> bool:
    """Whether what a program reads from outside is a number."""
    return isinstance(holder, int | float | np.generic)


_CALLING = frozenset({"vjp", "jvp", "linearize", "hvp"})
"""Transforms that call the function that they are given."""


def is_of_transforms(callee: Any) -> bool:
    """Whether it is a function that a transform has made, or a transform that calls one."""
    of = callee.__func__ if isinstance(callee, MethodType) else callee
    if not isinstance(of, FunctionType):
        return type(of).__module__.startswith("tracegrad.transforms")
    module = str(of.__globals__.get("__name__"))
    return module.startswith("tracegrad.transforms") and of.__name__ in _CALLING


def takes(operation: Any) -> bool:
    """Whether a function takes numbers where it takes arrays."""
    if isinstance(operation, np.ufunc):
        return True
    module = getattr(operation, "__module__", None)
    return (
        type(module) is str
        and module.partition(".")[0] in ("numpy", "tracegrad")
        and getattr(operation, "__name__", "") in _TAKING
    )
