"""Lengths that Python reads are numbers of the program, as long as nothing but loops asks for them.

``len(x)`` and ``x.shape[0]`` give a `Length`: the int, and what is known of it (`codegen.sizes`).
Sums, differences and products of such are such; a range of them counts turns. Whatever else is done
with one looks at it: from there on it is an int, and the program is for that length alone.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from codegen.ir import Call, Origin, Value
from codegen.sizes import (
    Atom,
    Dim,
    Size,
    SliceLength,
    add,
    minus,
    mul,
    quotient,
    size_of,
    slice_length,
    symbol,
    symbols,
)
from codegen.types import weak
from tracegrad.machine import natives
from tracegrad.machine.own_generators import Endless
from tracegrad.ops.elementwise import ufuncs
from tracegrad.ops.python_lists import handed, length
from tracegrad.tensors.tensor import Tensor, wrap
from tracegrad.values.pytree import flatten, map_tree
from tracegrad.world.arrays_of_lengths import MAKERS, made
from tracegrad.world.row_iterators import Items, Rows, rows_in
from tracegrad.world.shapes_of_lengths import TAKING, shaped

INT = weak("int")
FEWEST = 8  # turns of a loop that is worth a loop
MOST_FACTORS = 4  # of a power of a length that is a length


class Length(int):
    """An int that is a length: nobody has looked at it yet."""

    dim: Dim
    lengths: Lengths
    line: str

    def look(self) -> int:
        """Python looks at it: it is a constant from here on."""
        self.lengths.fix(self.dim, self.line)
        return int.__index__(self)


Length.__name__ = Length.__qualname__ = "int"  # as errors name it


def _looking(name: str) -> Callable[..., Any]:
    plain = getattr(int, name)

    def method(self: Length, *operands: Any) -> Any:
        return plain(self.look(), *operands)

    method.__name__ = name
    return method


for _name in (
    *("bool", "eq", "ne", "lt", "le", "gt", "ge", "hash", "repr", "str", "format", "int", "index"),
    *("float", "add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "floordiv"),
    *("rfloordiv", "mod", "rmod", "pow", "rpow", "neg", "divmod", "rdivmod"),
):
    setattr(Length, f"__{_name}__", _looking(f"__{_name}__"))


COMBINING: dict[Any, Callable[..., Dim]] = {
    handed: lambda a: a,
    ufuncs.add: add,
    ufuncs.subtract: minus,
    ufuncs.multiply: lambda a, b: mul((a, b)),
    ufuncs.negative: lambda a: mul((-1, a)),
}
"""The ops that make a length of lengths, and how."""


def _where_any(dim: Dim) -> Dim:
    """A length where it is not 0: that of ``x[1:]`` is one less than that of x."""
    if not isinstance(dim, Size):
        return dim
    return add(*(mul([factor, *map(_atom_where_any, atoms)]) for atoms, factor in dim.terms))


def _atom_where_any(atom: Atom) -> Dim:
    if type(atom) is SliceLength and atom.step in (None, 1):
        start, stop = atom.start or 0, atom.stop or 0
        if start >= 0 >= stop:
            return add(atom.of, stop - start)
    return size_of(atom)


_SUMS: dict[int, tuple[Callable[[int, int], int], Callable[[Dim, Dim], Dim]]] = {
    id(op): (plain, of)
    for ops, plain, of in (
        ((operator.add, operator.iadd), operator.add, add),
        ((operator.sub, operator.isub), operator.sub, minus),
        ((operator.mul, operator.imul), operator.mul, lambda a, b: mul([a, b])),
    )
    for op in ops
}
_MEETING = frozenset(
    map(
        id,
        (
            *(operator.add, operator.sub, operator.mul, operator.truediv),
            *(operator.iadd, operator.isub, operator.imul, operator.itruediv),
            *(operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne),
        ),
    )
)
"""What Tensors and lengths are given together."""
_READING = {id(len): "len", id(getattr): "", id(np.shape): "shape", id(np.size): "size"}
"""What tells lengths."""
_DIVIDING = frozenset(map(id, (operator.floordiv, operator.mod, divmod)))
_EQUALITIES = frozenset(map(id, (operator.eq, operator.ne)))
_COMPARING = _EQUALITIES | {id(operator.contains)}
_ORDERS = _EQUALITIES.union(map(id, (operator.lt, operator.le, operator.gt, operator.ge)))
_LENGTHS = frozenset({Length, int})
_UNPACKING = frozenset(map(id, (natives.unpack_sequence, natives.unpack_starred)))
"""Operations that see how many there are."""
_JOINING = frozenset(map(id, (operator.add, natives.list_extend)))
"""Operations that put what tuples hold one behind the other."""
_MOVING = frozenset(
    map(
        id,
        (
            *(natives.unpack_sequence, natives.unpack_starred, natives.list_extend),
            *(natives.list_to_tuple, list.append, iter, next),
        ),
    )
)
"""Operations that hand on what a container holds."""


class Lengths:
    """The lengths that one run has read."""

    def __init__(self, loops: Any) -> None:
        self.loops = loops
        self.trace = loops.trace
        self.world = loops.world
        self.any = False
        self.made = False  # an array of a length that is not looked at
        self.ranges: dict[int, tuple[Any, Dim, Dim]] = {}  # by id, and iterators over them

    def of(self, dim: Dim, number: int) -> int:
        """The int that Python gets for a length."""
        dim = self.trace.sizes.resolve(dim)
        if not isinstance(dim, Size):
            return number
        found = Length(number)
        found.dim, found.lengths, self.any = dim, self, True
        found.line = self.world.line()
        return found

    def fix(self, dim: Dim, line: str = "") -> None:
        """A length is a constant from here on, where the function looks at it."""
        if not self.trace.finished:
            self.settle(dim, line)

    def settle(self, dim: Dim, line: str = "") -> None:
        """A length is a constant of the program."""
        dim = self.trace.sizes.resolve(dim)
        if isinstance(dim, Size):
            self.trace.looked_at[str(dim)] = line or self.world.line()
            self.trace.sizes.fix(dim)

    def looked(self, x: Any) -> Any:
        """The object with ints in place of its lengths."""
        kind = type(x)
        if kind is Length:
            return x.look()
        if kind is tuple and any(type(item) in _HOLDING for item in x):
            return tuple(map(self.looked, x))
        if kind is slice and Length in (type(x.start), type(x.stop), type(x.step)):
            return slice(*map(self.looked, (x.start, x.stop, x.step)))
        if kind is list:
            for i, item in enumerate(x):
                if type(item) is Length:
                    x[i] = item.look()
        elif kind is dict:
            for key, item in x.items():
                if type(item) is Length:
                    x[key] = item.look()
        else:
            self.fix_range(x.numbers if kind is Rows else x)
        return x

    def fix_range(self, x: Any) -> None:
        """How many numbers a range, or what goes through it, has is looked at."""
        _, start, stop = self.ranges.get(id(x), (None, 0, 0))
        self.fix(start)
        self.fix(stop)

    def fix_turns(self, x: Any, step: int) -> None:
        """A loop makes so many turns as now: its end may be another, where it goes in steps."""
        _, start, stop = self.ranges.get(id(x), (None, 0, 0))
        of = minus(stop, start)
        counted = step > 1 and not isinstance(self.trace.sizes.resolve(start), Size)
        if counted and isinstance(of, Size) and self.trace.sizes.value(of) > 0:
            self.fix(slice_length(of, slice(None, None, step)))
        else:
            self.fix_range(x)

    def has_next(self, iterator: Any, left: range) -> bool:
        """Whether an iterator over a range gives one more number, in this run and in all others."""
        _, start, stop = self.ranges.get(id(iterator), (None, left.start, left.stop))
        sizes = self.trace.sizes
        start, of = sizes.resolve(start), sizes.resolve(minus(stop, start))
        if not left or left.step != 1 or not isinstance(start, int) or self._is_of_data(of):
            return False
        if isinstance(of, Size):
            number = left.start - start + 1
            self._assume(size_of(SliceLength(of, None, number, None)), number)
        return True

    def _begins(self, start: Dim, stop: Dim) -> None:
        """A loop may begin whose turns only data tell: whether it has enough of them is looked at.

        No guard can be about such a length, for it is known when the program has run so far.
        """
        sizes = self.trace.sizes
        turns = sizes.resolve(minus(stop, start))
        if not self._is_of_data(turns):
            return
        count: Any = wrap(sizes.value(turns), (self.trace, self.value(turns)))
        if not count >= FEWEST:
            self.fix(start)
            self.fix(stop)

    def _is_of_data(self, dim: Dim) -> bool:
        """Whether a length depends on how many elements a mask selects."""
        return not symbols(dim).isdisjoint(self.trace.sizes.data)

    # -- operations -------------------------------------------------------------------------------

    def taken(
        self, operation: Any, operands: Sequence[Any], keywords: dict[str, Any]
    ) -> tuple[Any, Any] | None:
        """The operands of an operation and its keywords, or its result and None."""
        if id(operation) in _READING:
            found = self._read(operation, operands)
            if found is not None:
                return found, None
        if operation is range or id(operation) in MAKERS:
            operands = [*map(self._of_number, operands)]
        if operation is range or operation is reversed:
            numbers = None if keywords else self.loops.counted.made(operation, operands)
            if numbers is not None:
                return numbers, None
        if not self.any:
            return None
        if operation is operator.getitem or operation is operator.setitem:
            found = self._from_the_end(*operands[:2])
            if found is not operands[1]:
                operands = (operands[0], found, *operands[2:])
                return self.taken(operation, operands, keywords) or (operands, keywords)
        key, kinds = id(operation), [type(x) for x in operands]
        if key in _JOINING and kinds[-1] is tuple and kinds[0] in (tuple, list):
            return None
        if key in _COMPARING and not any(map(self.world.is_outside, operands)):
            outcome = self._told(operation, *operands)
            if outcome is not None:
                return outcome, None
        if key in _ORDERS and Length in kinds and _LENGTHS.issuperset(kinds):
            outcome = self._compared(operation, *operands)
            if outcome is not None:
                return outcome, None
        if Length in kinds:
            if key in _SUMS and all(kind is Length or kind is int for kind in kinds):
                plain, of = _SUMS[key]
                a, b = (getattr(x, "dim", x) for x in operands)
                return self.of(of(a, b), plain(*map(int.__index__, operands))), None
            if key in _DIVIDING and _LENGTHS.issuperset(kinds):
                found = self._divided(operation, *operands)
                if found is not None:
                    return found, None
            if operation is range and not keywords:
                return self._range(operands), None
            if (
                operation is operator.pow
                and kinds == [Length, int]
                and 0 < operands[1] <= MOST_FACTORS
            ):
                power = mul([operands[0].dim] * operands[1])
                return self.of(power, operation(*map(int.__index__, operands))), None
            if key in _OF_NUMBERS and not keywords and _NUMBERS.issuperset(kinds):
                number = self._number(operation, operands)
                if number is not None:
                    return number, None
            if key in _MEETING and all(map(self._meets, operands)) and self._fits(key, operands):
                return [self.tensor(x) for x in operands], keywords
        if key in MAKERS and any(map(self._tells, (*operands, *keywords.values()))):
            array = made(self, operation, operands, keywords)
            if array is not None:
                return array, None
        if key in TAKING and any(map(self._tells, (*operands, *keywords.values()))):
            given = shaped(self, operation, operands, keywords)
            if given is not None:
                return given
        if operation is reversed and id(operands[0]) in self.ranges:
            return self._reversed(operands[0]), None
        if operation is zip or operation is enumerate or operation is slice:
            return None  # loops go through these, an index is made of it
        if operation is operator.getitem and self.loops.lists.filled(operands[0]) is not None:
            return None
        if key in _UNPACKING and kinds[0] not in (tuple, list):
            self.looked(operands[0])
        elif operation is operator.setitem and kinds[1] is slice:
            self.looked(operands[2])
        if key in _MOVING or (operation is operator.getitem and kinds[0] in (tuple, list, dict)):
            return [*operands[:1], *map(self.looked, operands[1:])], keywords
        puts = operation is operator.setitem and kinds[0] in (list, dict)
        if puts and not self.world.is_outside(operands[0]):
            return [operands[0], self.looked(operands[1]), operands[2]], keywords
        if any(kind in _HOLDING for kind in kinds) or keywords:
            named = {name: self.looked(x) for name, x in keywords.items()}
            return [*map(self.looked, operands)], named
        return None

    def _of_number(self, x: Any) -> Any:
        """A whole number that is an input as a length, where it may be one; others as they are."""
        if type(x) is tuple and Tensor in map(type, x):
            return tuple(map(self._of_number, x))
        if not self.loops.counts(x) or x._array < 0:
            return x
        dim = self._dim_of(x._traced[1])
        if dim is None or not self.assume_some(dim):
            return x
        return self.of(dim, int(x._array))

    def _dim_of(self, value: Value) -> Dim | None:
        """A number of the program as a length, where inputs alone tell it."""
        builder = self.trace.builder
        constant, made = builder.constant_of(value), builder.producer.get(value)
        if constant is not None:
            return constant.value if type(constant.value) is int else None
        if isinstance(made, Call) and made.op in COMBINING:
            parts = [self._dim_of(v) if v.type == INT else None for v in made.operands]
            return None if None in parts else COMBINING[made.op](*parts)
        return self.of_input(value)

    def of_input(self, value: Value) -> Dim | None:
        """A whole number among the inputs as a length; None for others, and below 0."""
        sizes = self.trace.sizes
        if (name := sizes.name_of_input(value)) is not None:
            return symbol(name)
        number = None if self.trace.static_lengths else self._number_given(value)
        if number is None or number < 0:
            return None
        found: Dim = sizes.new(number)
        sizes.given[str(found)] = value
        self._assume(size_of(SliceLength(add(found, 1), None, 1, None)), 1)
        return found

    def _number_given(self, value: Value) -> int | None:
        """The whole number that an input is in this run; None for what is none."""
        if value.type != INT:
            return None
        given = dict(zip(self.trace.inputs, self.world.given, strict=True))
        if value in given:
            x: Any = given[value]
            return int(getattr(x, "_array", x))
        found = (holder for holder, known in self.trace.captured.values() if known is value)
        return next(map(int, found), None)

    def _told(self, operation: Any, a: Any, b: Any) -> bool | None:
        """Whether lengths, or shapes, are equal, or among some numbers; None where they are looked
        at. Those that come from outside may be others in another call: the gate guards them.
        """
        if operation is operator.contains:
            return False if self._is_none_of(a, b) else None
        if self._are_equal(a, b):
            return operation is operator.eq
        return operation is operator.ne if self._differ(a, b) else None

    def _are_equal(self, a: Any, b: Any) -> bool:
        """Whether lengths, or shapes, are equal, in this call and in all others."""
        if (type(a) is tuple) is not (type(b) is tuple):
            return False
        pairs = [*zip(a, b, strict=False)] if type(a) is tuple and len(a) == len(b) else [(a, b)]
        kinds = {type(n) for pair in pairs for n in pair}
        if Length not in kinds or not kinds <= {Length, int}:
            return False
        if any(int.__index__(n) != int.__index__(m) for n, m in pairs):
            return False
        return all(self._is_same(n, m) for n, m in pairs)

    def _differ(self, a: Any, b: Any) -> bool:
        """Whether two shapes are not equal, in this call and in all others."""
        if not (type(a) is type(b) is tuple and {type(n) for n in (*a, *b)} <= _LENGTHS):
            return False
        if len(a) != len(b):
            return True
        pairs = [(n, m) for n, m in zip(a, b, strict=True) if int.__index__(n) != int.__index__(m)]
        known = any(Length not in (type(n), type(m)) for n, m in pairs)
        return known or any(self._compared(operator.ne, n, m) for n, m in pairs[:1])

    def _is_none_of(self, numbers: Any, x: Any) -> bool:
        """Whether a length is none of some numbers, in this call and in all others."""
        if type(x) is not Length or type(numbers) not in (tuple, frozenset):
            return False
        number = int.__index__(x)
        if not all(type(n) is int and n != number for n in numbers):
            return False
        below = max((n for n in numbers if n < number), default=None)
        above = min((n for n in numbers if n > number), default=None)
        near = [n for n in (below, above) if n is not None]
        return all(self._compared(operator.ne, x, n) for n in near)

    def _is_same(self, a: int, b: int) -> bool:
        """Whether equal lengths are so in all other calls; one that is to be a number is that."""
        if type(a) is Length is type(b):
            same: bool = self.trace.sizes.are_same(a.dim, b.dim)
            return same
        self.looked(a)
        self.looked(b)
        return True

    def is_some(self, x: Length) -> bool:
        """Whether a length is not 0, in this call and in all others."""
        found = self._compared(operator.ne, x, 0)
        return bool(x.look()) if found is None else found

    def _compared(self, operation: Any, a: int, b: int) -> bool | None:
        """How two lengths compare, in this call and in all others; None where no guard says it.

        Of those that are not equal it is assumed which is the larger one.
        """
        sizes = self.trace.sizes
        dims = [sizes.resolve(getattr(x, "dim", x)) for x in (a, b)]
        known = all(symbols(d) <= sizes.seen.keys() and not sizes.counts(d) for d in dims)
        if self.trace.finished or not known or any(map(self._is_of_data, dims)):
            return None
        found = operator.sub(*map(int.__index__, (a, b)))
        outcome: bool = operation(found, 0)
        at_least = found > 0 or (found == 0 and operation(1, 0) is outcome)
        at_most = found < 0 or (found == 0 and operation(-1, 0) is outcome)
        if at_least is at_most:  # they are equal, and what is known of that is less than a number
            return None
        large, small = dims if at_least else dims[::-1]
        more = 1 if operation(0, 0) is not outcome else 0
        sizes.require_at_least(large, add(small, more))
        return outcome

    def _divided(self, operation: Any, a: int, b: int) -> Any:
        """A length divided by another one, which is above 0, and what is left."""
        sizes = self.trace.sizes
        of, by = (sizes.resolve(getattr(x, "dim", x)) for x in (a, b))
        if any(self._is_of_data(d) or sizes.counts(d) for d in (of, by)):
            return None
        if not (self.assume_some(add(by, -1)) and self.assume_some(of)):
            return None
        whole = quotient(of, by)
        found = divmod(int.__index__(a), int.__index__(b))
        both = tuple(map(self.of, (whole, minus(of, mul((by, whole)))), found))
        return both if operation is divmod else both[operation is not operator.floordiv]

    def _number(self, operation: Any, operands: Sequence[Any]) -> Any:
        """What is computed of lengths and numbers, as a float; None where they are looked at."""
        least = _OF_NUMBERS[id(operation)]
        dims = [self.trace.sizes.resolve(x.dim) for x in operands if type(x) is Length]
        if any(map(self._is_of_data, dims)):
            return None
        if least is not None and not all(self.assume_some(add(dim, -least)) for dim in dims):
            return None
        value = operation(*(int.__index__(x) if type(x) is Length else x for x in operands))
        known: Any = self.world.numbers
        return known.computed(value, partial(self.world.perform, operation), operands)

    def _from_the_end(self, x: Any, key: Any) -> Any:
        """An index in which lengths are counted from the end of their axis, where they can be.

        Of x of length n, ``x[n - 1]`` is ``x[-1]``, and ``x[: n - 2]`` is ``x[:-2]``.
        """
        several = key if type(key) is tuple else (key,)
        told = any(
            type(i) is Length or (type(i) is slice and Length in (type(i.start), type(i.stop)))
            for i in several
        )
        if not told or type(x) is not Tensor or not self.loops.is_recorded(x):
            return key
        shape, parts, axis = x._traced[1].type.shape, [], 0
        for i in several:
            if i is not None and (type(i) not in (int, slice, Length) or axis == len(shape)):
                return key
            parts.append(None if i is None else self._part_from_the_end(shape[axis], i))
            axis += i is not None
        if all(map(operator.is_, parts, several)):
            return key
        return tuple(parts) if type(key) is tuple else parts[0]

    def _part_from_the_end(self, dim: Dim, i: Any) -> Any:
        if type(i) is Length:
            at = self._behind(dim, i, i)
            return self._at(dim, i) if at is i else at
        if type(i) is not slice or i.step not in (None, 1):
            return i
        start, stop = self._behind(dim, i.start, i.start), self._behind(dim, i.stop, None)
        if type(start) is Length or type(stop) is Length:
            return self._between(dim, start, stop) or i
        return i if start is i.start and stop is i.stop else slice(start, stop, i.step)

    def _at(self, dim: Dim, i: Length) -> Any:
        """An index as a number of the program; the length where there may be no such place."""
        known = self.trace.sizes.resolve(i.dim)
        if self._is_of_data(known) or not isinstance(known, Size):
            return i
        within = known, add(dim, mul((-1, known)), -1)
        return self.tensor(i) if all(map(self.assume_some, within)) else i

    def _between(self, dim: Dim, start: Any, stop: Any) -> slice | None:
        """A slice between lengths as numbers of the program; None where it may be cut off."""
        ends = self.tensor(start), self.tensor(stop)
        return None if self.loops.span_of(*ends, None, dim) is None else slice(*ends)

    def _behind(self, dim: Dim, i: Any, all_of_it: Any) -> Any:
        """A length as a negative number; `all_of_it` where it is that of the axis."""
        if type(i) is not Length or int.__index__(i) < 0:
            return i
        sizes = self.trace.sizes
        left = sizes.resolve(minus(dim, sizes.resolve(i.dim)))
        if all_of_it is None and sizes.value(left) < 0 and self.assume_some(mul((-1, left))):
            return None
        if not isinstance(left, int) or left < 0 or not isinstance(sizes.resolve(dim), Size):
            return i
        if left:  # so many there are
            sizes.guards.append((size_of(SliceLength(dim, None, left, None)), left))
        return -left if left else all_of_it

    def _tells(self, x: Any) -> bool:
        """Whether a length is handed on, or is part of a shape."""
        return type(x) is Length or (
            type(x) in (tuple, list) and any(type(item) is Length for item in x)
        )

    def _read(self, operation: Any, operands: Sequence[Any]) -> Any:
        """The length, or the shape, of a Tensor; None for others."""
        x: Any = operands[0] if operands else None
        if not self.loops.is_recorded(x) or self.world.is_outside_tensor(x):
            return None
        dims: tuple[Dim, ...] = x._traced[1].type.shape
        if operation is len and dims:
            return self.of(dims[0], x._array.shape[0])
        what = _READING[id(operation)]
        if operation is getattr and len(operands) == 2:
            what = operands[1]
        elif len(operands) > 1:
            return None
        if what == "shape" and dims:
            return tuple(map(self.of, dims, x._array.shape))
        return self.of(mul(dims), x._array.size) if what == "size" and dims else None

    def _range(self, operands: Sequence[Any]) -> range:
        numbers = [int.__index__(x) for x in operands if issubclass(type(x), int)]
        if len(numbers) < len(operands):
            return range(*map(self.looked, operands))
        dims = [getattr(x, "dim", x) for x in operands]
        step = numbers[2] if len(numbers) > 2 else 1
        if (step < 1 and step != -1) or (type(operands[-1]) is Length and len(operands) > 2):
            return range(*map(self.looked, operands))
        told = any(map(self._is_of_data, map(self.trace.sizes.resolve, dims[:2])))
        if step > 1 and (told or self.trace.static_lengths):
            return range(*map(self.looked, operands))
        made = range(*numbers)
        start, stop = (0, dims[0]) if len(dims) == 1 else dims[:2]
        self._begins(*((start, stop) if step > 0 else (stop, start)))
        self.ranges[id(made)] = made, start, stop
        return made

    def _reversed(self, x: range) -> Any:
        if x.step > 1:
            self.fix_range(x)
            return reversed(x)
        _, start, stop = self.ranges[id(x)]
        made = reversed(x)
        self.ranges[id(made)] = made, add(stop, -x.step), add(start, -x.step)
        return made

    def go_along(self, rows: Rows, counted: bool) -> None:
        """An iterator over rows was made; where they are `counted` by the first item."""
        sizes: Any = self.trace.sizes
        found = [self._rows_in(x) for x in rows.given[counted:] if type(x) is not Endless]
        fewest = self._fewest(found, rows.down or rows.strict)
        alike = fewest is not None and sizes.value(fewest) == rows.length
        alike = alike and all(type(x) is not Rows or x.down is rows.down for x in rows.given)
        if fewest is not None and alike:
            self._begins(0, fewest)
            ends = (add(fewest, -1), -1) if rows.down else (0, fewest)
            self.ranges[id(rows.numbers)], self.any = (rows.numbers, *ends), True
        else:
            for dim in found:
                self.fix(dim)

    def _fewest(self, found: Sequence[Dim], all_alike: bool) -> Dim | None:
        """The least of some lengths, where it is so in every call: ``zip(x, x[1:])``."""
        sizes = self.trace.sizes
        values = [sizes.value(dim) for dim in found]
        fewest = found[values.index(min(values))]
        for dim, value in zip(found, values, strict=True):
            if value == min(values):
                known = sizes.same(fewest, dim)
            else:
                more = minus(*(_where_any(sizes.resolve(d)) for d in (dim, fewest)))
                known = not all_alike and isinstance(sizes.resolve(more), int)
            if not known:
                return None
        return fewest

    def _rows_in(self, x: Any) -> Any:
        """How many rows there are."""
        known = self.ranges.get(id(x.numbers if type(x) is Rows else x))
        if known is not None:
            _, start, stop = known
            step = (-1 if x.down else 1) if type(x) is Rows else x.step
            return self.turns(start, stop, step)
        if type(x) is Items:
            return x.length
        return x._traced[1].type.shape[0] if type(x) is Tensor else rows_in(x)

    def goes_through(self, iterator: Any, x: Any) -> None:
        """An iterator was made over something."""
        if id(x) in self.ranges:
            _, start, stop = self.ranges[id(x)]
            self.ranges[id(iterator)] = iterator, start, stop

    def _meets(self, x: Any) -> bool:
        return type(x) is Length or self.loops.is_recorded(x)

    def _fits(self, key: int, operands: Sequence[Any]) -> bool:
        """Whether lengths are numbers of the dtypes that they meet: where not, NumPy raises."""
        dtypes = {x._traced[1].type.dtype for x in operands if type(x) is not Length}
        return not (key in _SUMS and self.trace.static_lengths and dtypes & _SHORT)

    def returned(self, x: Any) -> Any:
        """What the function returns has ints in place of lengths, and ranges of looked-at ones."""
        self.loops.lists.returns(x)
        if not self.any or not any(type(leaf) in TELLING for leaf in flatten(x)[0]):
            return x
        return map_tree(self.looked, x)

    def tensor(self, x: Any) -> Any:
        """A length as a number that Tensors meet; anything else as it is."""
        return wrap(int.__index__(x), (self.trace, self.value(x.dim))) if type(x) is Length else x

    def value(self, dim: Dim, origin: Origin | None = None) -> Value:
        """A length as a value of the program."""
        dim = self.trace.sizes.resolve(dim)
        if not isinstance(dim, Size):
            return self.trace.builder.constant(dim, INT)  # type: ignore[no-any-return]
        origin = origin or self.trace.origin().named(None)
        (value,) = self.trace.builder.call(length, (), origin, size=dim)
        self.loops.walk.tensors[value] = self.trace.sizes.value(dim)
        return value  # type: ignore[no-any-return]

    # -- turns ------------------------------------------------------------------------------------

    def ends(self, iterator: Any, numbers: range) -> tuple[Dim, Dim] | None:
        """The first number of a loop and the one behind the last, where lengths tell them."""
        known = self.ranges.get(id(iterator))
        if known is None:
            return None
        _, start, stop = known
        sizes = self.trace.sizes
        whole = sizes.value(start), sizes.value(stop)
        passed = (numbers.start - whole[0]) // numbers.step
        return add(start, passed * numbers.step), stop

    def assume_some(self, dim: Dim) -> bool:
        """Whether a length is not below 0, in this run and in all that its program is for."""
        sizes = self.trace.sizes
        dim = sizes.resolve(dim)
        if not isinstance(dim, Size) or sizes.value(dim) < 0:
            return not isinstance(dim, Size) and dim >= 0
        if all(factor > 0 for _, factor in dim.terms):
            return True
        if self._is_of_data(dim):
            return False
        self._assume(size_of(SliceLength(add(dim, 1), None, 1, None)), 1)
        return True

    def _assume(self, dim: Dim, number: int) -> None:
        guards = self.trace.sizes.guards
        if (dim, number) not in guards:
            guards.append((dim, number))

    def assume_some_turns(self, ends: tuple[Dim, Dim] | None, step: int) -> bool:
        """Whether a loop makes enough turns to be one, in this call and in all others."""
        if ends is None or any(map(self._is_of_data, map(self.trace.sizes.resolve, ends))):
            return False
        self.assume_turns(*ends, step)
        return True

    def assume_turns(self, start: Dim, stop: Dim, step: int) -> None:
        """A loop makes enough turns to be one."""
        sizes, fewest = self.trace.sizes, (FEWEST - 1) * abs(step) + 1
        of = sizes.resolve(minus(stop, start) if step > 0 else minus(start, stop))
        if isinstance(of, Size) and not self._is_of_data(of):
            self._assume(size_of(SliceLength(of, None, fewest, None)), fewest)

    def turns(self, start: Dim, stop: Dim, step: int) -> Dim:
        """How many numbers a range has that is not empty."""
        whole = minus(stop, start) if step > 0 else minus(start, stop)
        return quotient(add(whole, abs(step) - 1), abs(step))


_OF_NUMBERS: dict[int, int | None] = {
    **dict.fromkeys(map(id, (operator.mul, operator.add, operator.sub, float, np.float64)), None),
    **dict.fromkeys(map(id, (operator.imul, operator.iadd, operator.isub)), None),
    **dict.fromkeys(map(id, (np.sqrt, math.sqrt)), 0),
    **dict.fromkeys(map(id, (operator.truediv, operator.itruediv)), 1),
    **dict.fromkeys(map(id, (operator.pow, np.log, math.log)), 1),
}
"""Operations that give floats, and the least length for which they do."""
_NUMBERS = frozenset({Length, int, float, np.float64})
_SHORT = frozenset({"int8", "uint8", "int16", "uint16"})
"""Dtypes that lengths may be too large for."""
TELLING = frozenset({Length, range, slice})
"""What tells lengths when it has left the function."""
_HOLDING = frozenset({*TELLING, tuple, list, dict, Rows, type(iter(range(0)))})
