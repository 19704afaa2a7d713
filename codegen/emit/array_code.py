"""Writes what kernels do with whole small arrays, between loops over elements.

Functions, sums and products are calls of NumPy's own loops, which are given arrays as NumPy's lie
there. What writes to places of an array, or copies one, is a loop over the elements that changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from codegen.emit import array_calls as ac
from codegen.emit.array_calls import made
from codegen.emit.array_lists import ITEM, text_of
from codegen.emit.array_room import Room, is_array
from codegen.emit.array_units import Entry, Shape, Unit
from codegen.emit.element_loops import Elements, constant_of
from codegen.emit.elements import Given, Literal, Step, UnspokenError, given
from codegen.emit.places import Axis, Item, Place
from codegen.ir import Call, Graph, Origin, Value
from codegen.sizes import Dim
from codegen.spelling import Slot, spell
from codegen.types import ArrayType


class ArrayCode:
    """Writes units of a kernel; `room` says where its arrays are."""

    def __init__(self, graph: Graph, room: Room) -> None:
        self.graph = graph
        self.room = room

    def written(self, group: Sequence[Unit]) -> list[Entry]:
        """The loops of a group, or what stands alone."""
        first = group[0]
        if first.shape is None:
            assert first.entries is not None
            return first.entries()
        writer = Elements(self.room, first.shape, first.origin)
        for unit in group:
            writer.origin = unit.origin
            if unit.row is not None:
                place, x = unit.row
                writer.store(place, writer.element(x), unit.origin)
                continue
            assert unit.step is not None
            kept = self.room.places.get(unit.step)
            origin = unit.value.origin if unit.value else unit.origin.named(None)
            value = writer.compute(unit.step, origin.named(None) if kept else origin)
            if kept is None:
                writer.now[unit.step] = value
            else:
                writer.store(kept, value, unit.origin)
        return [writer.nest()]

    def _shown(self, entries: list[Entry], value: Value, flat: bool = False) -> Value:
        """An array as a function takes it, as NumPy's own lies there."""
        base = self.room.base(value)
        place = self.room.place(value)
        if base.type.ndim > 1 and base not in self.room.known.dense and base not in self.room.shows:
            raise UnspokenError("an array in nobody knows which order")
        return self._shown_at(entries, place, value, flat)

    def _shown_at(self, entries: list[Entry], place: Place, value: Value, flat: bool) -> Value:
        if flat and place.ndim > 1:
            leading = [isinstance(item, Axis) for item in place.items]
            if place.order != tuple(range(place.ndim)) or leading != sorted(leading):
                raise UnspokenError("elements that do not lie one after the other")
        call = ac.shown(place, value.type, value.origin.named(None))
        if call is None:
            return place.root
        entries.append(call)
        return call.results[0]

    def function(self, unit: Unit, result: Value) -> list[Entry]:
        """A function, called for all elements."""
        entries: list[Entry] = []
        step, shape = unit.step, self.room.dims(result)
        assert step is not None
        if result.type.ndim > 1 and result not in self.room.known.dense:
            raise UnspokenError("an array in nobody knows which order")
        operands: list[Value] = []
        for x in step.operands.values():
            if isinstance(x, Literal):
                constant = constant_of(x)
                entries.append(constant)
                operands.append(constant.result)
            elif isinstance(x, Given) and not x.varies:
                operands.append(x.value)
            elif isinstance(x, Given):
                if self.room.dims(x.value) != shape:
                    raise UnspokenError("a function of arrays of several shapes")
                operands.append(self._shown(entries, x.value, flat=True))
            else:
                assert isinstance(x, Step)
                operands.append(self.room.places[x].root)
        op = ac.ONE if len(operands) == 1 else ac.TWO
        root = self.room.places[step].root
        helper = f"{step.function}_of"
        entries.append(
            made(op, (root, *operands), root.type, _named(root, unit.origin), helper=helper)
        )
        return entries

    def sum(self, call: Call) -> list[Entry]:
        """A sum of all elements, of each row, or of all rows."""
        entries: list[Entry] = []
        array = self._shown(entries, call.operands[0], flat=True)
        result, axis = call.results[0], dict(call.attributes).get("axis")
        if not is_array(result):
            helper = "count_of" if call.operands[0].type.dtype == "bool" else "sum_of"
            total = made(ac.TOTAL, (array,), result.type, helper=helper)
            return [*entries, replace(total, results=call.results)]
        x, out, last = call.operands[0], self.room.place(result), call.operands[0].type.ndim - 1
        assert isinstance(axis, int)
        if dict(call.attributes).get("keepdims"):
            out = out.at((*[slice(None)] * axis, 0), ())
        before = self.room.dims(x)[:axis]
        writer = Elements(self.room, before, result.origin)
        slots = tuple(Slot(k) for k in range(axis))
        part = self.room.place(x).at(slots, writer.indices)
        if axis == last:
            writer.store(out, writer.total(part, result.type.dtype), result.origin)
        else:
            writer.add_rows(out.at(slots, writer.indices), part, x, result.origin)
        return [*entries, *writer.entries()] if before else writer.entries()

    def extreme(self, call: Call, helper: str) -> list[Entry]:
        """The largest or the smallest element."""
        entries: list[Entry] = []
        array = self._shown(entries, call.operands[0], flat=True)
        found = made(ac.TOTAL, (array,), call.results[0].type, helper=helper)
        return [*entries, replace(found, results=call.results)]

    def norm(self, call: Call) -> list[Entry]:
        """The length of a vector, as NumPy computes it."""
        entries: list[Entry] = []
        array, result = self._shown(entries, call.operands[0]), call.results[0]
        dot = made(ac.DOT, (array, array), result.type, result.origin.named(None))
        root = made(ac.ROOT, dot.results, result.type)
        return [*entries, dot, replace(root, results=call.results)]

    def stack(self, call: Call) -> list[Entry]:
        """A vector of numbers."""
        root = self.room.place(call.results[0]).root
        writer = Elements(self.room, (), call.results[0].origin)
        for k, value in enumerate(call.operands):
            x = writer.element(given(self.graph, value))
            writer.store(Place(root, (k,), 0), x, call.results[0].origin)
        return writer.entries()

    def put(self, call: Call) -> list[Entry]:
        """Zeros, but for what is written to some places."""
        result = call.results[0]
        value, *places = call.operands
        place = self.room.place(result)
        fill = Elements(self.room, self.room.dims(result), result.origin)
        zero = fill.element(Literal(0.0, ArrayType(result.type.dtype)))
        fill.store(place, zero, result.origin)
        return [fill.nest(), *self._written_to(call, place, value, places, "")]

    def product(self, call: Call) -> list[Entry]:
        """A product of matrices and vectors."""
        entries: list[Entry] = []
        a, b = call.operands
        if not (a.type.ndim in (1, 2) and b.type.ndim in (1, 2)):
            raise UnspokenError("products of stacks of matrices")
        if a.type.ndim == b.type.ndim == 2 and self._may_be_one(a, b):
            raise UnspokenError("a product of a matrix and, perhaps, its own transpose")
        shown = [self._shown(entries, value) for value in (a, b)]
        result = call.results[0]
        if not result.type.shape:
            dot = made(ac.DOT, shown, result.type)
            return [*entries, replace(dot, results=call.results)]
        root = self.room.places[result].root
        origin = _named(root, result.origin)
        entries.append(made(ac.TWO, (root, *shown), root.type, origin, helper="matmul_of"))
        return entries

    def _may_be_one(self, a: Value, b: Value) -> bool:
        """Whether matrices, of which one is turned, may be one in NumPy and are two here.

        NumPy computes ``x @ x.T`` otherwise than a product of two matrices.
        """
        first, second = self.room.base(a), self.room.base(b)
        if self.room.place(a).order == self.room.place(b).order or first is second:
            return False
        one, two = self._memory_of(first), self._memory_of(second)
        given = [any(v in self.graph.inputs for v in memory) for memory in (one, two)]
        return not one.isdisjoint(two) or all(given)

    def _memory_of(self, value: Value) -> set[Value]:
        """The values that were the first to be in memory that an array may be in."""
        found, waiting, seen = set[Value](), [value], set[Value]()
        while waiting:
            at = self.room.base(waiting.pop())
            if at in seen:
                continue
            seen.add(at)
            call = self.graph.producer.get(at)
            if at in self.graph.given:
                waiting += self.graph.given[at]
            elif isinstance(call, Call) and text_of(call) == ITEM:
                waiting += self.room.lists[call.operands[0]].values
            else:
                found.add(at)
                if isinstance(call, Call) and call.reuse is not None:
                    waiting.append(call.operands[call.reuse])
        return found

    def update(self, call: Call, symbol: str) -> list[Entry]:
        """Writes to places of an array."""
        entries: list[Entry] = []
        array, value, *places = call.operands
        result = call.results[0]
        old = self.room.place(array)
        if call.reuse == 0 and old.is_all and old.root in self.room.own:
            place = old
        else:
            place = self.room.new(result, result.origin.name or "value")
            entries += self.copies([(place, old, self.room.dims(array))], result.origin)
        self.room.places[result] = place
        return [*entries, *self._written_to(call, place, value, places, symbol)]

    def _written_to(
        self, call: Call, place: Place, value: Value, places: Sequence[Value], symbol: str
    ) -> list[Entry]:
        """Loops that write a value to places of an array, or add it to what is there."""
        index = dict(call.attributes).get("index")
        result = call.results[0]
        items = index.items if index is not None else None
        slots = tuple(self.room.item(v) for v in places)
        if items is None:
            if len(slots) != 1:
                raise UnspokenError("an update")
            items = (Slot(0),)
        region = place.at(items, slots)
        shape = self._dims_of_region(region, value)
        if is_array(value) and self.room.place(value).root is place.root:
            raise UnspokenError("an array that is written to itself")
        writer = Elements(self.room, shape, result.origin)
        x = writer.element(Given(value))
        if symbol:
            there = writer.at(region, shape)
            x = writer.call(spell(f"a {symbol} b"), {"a": there, "b": x}, result.type.dtype)
        writer.store(region, x, result.origin)
        return writer.entries()

    def _dims_of_region(self, region: Place, value: Value) -> Shape:
        dims = self.room.dims(region.root)
        found: list[Dim] = []
        for axis in range(region.ndim):
            at = next((k for k, i in enumerate(region.items) if _along(i, axis)), None)
            if at is None:
                raise UnspokenError("an axis of length 1")
            item = region.items[at]
            assert isinstance(item, Axis)
            if not item.whole:
                raise UnspokenError("a part of an array")
            found.append(dims[at])
        shape = self.room.dims(value)
        if len(shape) > len(found) or shape not in ((), tuple(found[len(found) - len(shape) :])):
            raise UnspokenError("a value of another shape")
        return tuple(found)

    def moves(self, given: Sequence[tuple[Value, Value]], origin: Origin) -> list[Entry]:
        """Copies what parameters are given to their arrays, all at once."""
        moves = []
        for parameter, argument in given:
            target, source = self.room.places[parameter], self.room.place(argument)
            if source != target:
                moves.append((target, source, self.room.dims(parameter)))
        written = {target.root for target, _, _ in moves}
        before, after = [], []
        for target, source, dims in moves:
            if source.root in written:
                type_ = target.root.type
                name = f"next_{target.root.origin.name}"
                new = Place.of(self.room.buffer(dims, type_.dtype, name))
                before.append((new, source, dims))
                source = new
            after.append((target, source, dims))
        return [*self.copies(before, origin), *self.copies(after, origin)]

    def copies(self, moves: Sequence[tuple[Place, Place, Shape]], origin: Origin) -> list[Entry]:
        """Loops that copy arrays, one for each shape."""
        writers: dict[Shape, Elements] = {}
        for target, source, dims in moves:
            writer = writers.setdefault(dims, Elements(self.room, dims, origin))
            writer.store(target, writer.at(source, dims), origin)
        return [writer.nest() for writer in writers.values()]

    def element_at(self, call: Call, index: Sequence[object], slots: Sequence[Item]) -> list[Entry]:
        """An element, ``x[i]``."""
        place = self.room.place(call.operands[0]).at(index, slots)
        shown, operands = ac.subscript([_number(item) for item in place.items])
        read = made(ac.ELEMENT, (place.root, *operands), call.results[0].type, index=shown)
        return [replace(read, results=call.results)]


def _number(item: Item) -> int | Value:
    """The place along an axis that is no axis of what is shown."""
    if isinstance(item, Axis):
        raise UnspokenError("an array where a number is expected")
    return item


def _along(item: Item, axis: int) -> bool:
    return isinstance(item, Axis) and item.axis == axis


def _named(root: Value, origin: Origin) -> Origin:
    """Where what is written to an array comes from."""
    return origin.named(root.origin.name, True)
