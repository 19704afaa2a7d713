"""Writes loops over the elements of small arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from codegen.emit import array_calls as ac
from codegen.emit.array_calls import made
from codegen.emit.array_room import Room
from codegen.emit.array_units import Entry, Nest, Shape
from codegen.emit.elements import FLOATS, Given, Index, Literal, Operand, Step, UnspokenError
from codegen.emit.places import Axis, Item, Place
from codegen.ir import Call, Constant, Node, Op, Origin, Trait, Value
from codegen.spelling import Spelling
from codegen.types import ArrayType, weak

INDICES = ("i", "j", "k", "l")
"""What places along the axes of an array are called."""


class Elements:
    """Writes the nodes of the innermost of loops over the elements of arrays of one shape."""

    def __init__(self, room: Room, shape: Shape, origin: Origin) -> None:
        self.room, self.shape = room, shape
        self.first = self.origin = origin
        self.indices = tuple(Value(weak("int"), Origin(name)) for name in INDICES[: len(shape)])
        self.nodes: list[Node] = []
        self.now: dict[Step, Value] = {}

    def nest(self) -> Nest:
        """The loops."""
        return Nest(self.shape, self.indices, tuple(self.nodes), self.first)

    def entries(self) -> list[Entry]:
        """The loops, or what stands alone where there are no axes."""
        return [self.nest()] if self.shape else list(self.nodes)

    def _add(self, call: Call) -> Value:
        self.nodes.append(call)
        return call.results[0]

    def call(self, spelling: Spelling, operands: Mapping[str, Value], dtype: str) -> Value:
        """An operation of numbers."""
        op = _op(spelling, tuple(operands))
        origin = self.origin.named(None)
        return self._add(made(op, tuple(operands.values()), ArrayType(dtype), origin))

    def element(self, x: Operand) -> Value:
        """An operand of an element."""
        match x:
            case Literal():
                constant = constant_of(x)
                self.nodes.append(constant)
                return constant.result
            case Index(axis):
                return self.indices[axis]
            case Given(value):
                if not x.varies:
                    return value
                return self.at(self.room.place(value), self.room.dims(value))
            case Step():
                if x in self.now:
                    return self.now[x]
                if not x.varies:
                    return self.compute(x, self.origin.named(None))
                return self.at(self.room.places[x], self.shape)

    def at(self, place: Place, dims: Shape) -> Value:
        """The element of an array, whose axes of length 1 are repeated, or a number."""
        if not place.root.type.shape:
            return place.root
        return self._read(place.root, self._items(place, dims))

    def _read(self, root: Value, items: Sequence[Item]) -> Value:
        index, operands = ac.subscript(items)
        type_ = ArrayType(root.type.dtype)
        origin = self.origin.named(None)
        return self._add(made(ac.ELEMENT, (root, *operands), type_, origin, index=index))

    def _items(self, place: Place, dims: Shape) -> list[Item]:
        offset = len(self.shape) - place.ndim
        items: list[Item] = []
        for item in place.items:
            if not isinstance(item, Axis):
                items.append(item)
                continue
            repeated = dims[item.axis] == 1 and self.shape[item.axis + offset] != 1
            if repeated:
                items.append(item.start)
                continue
            index = self.indices[item.axis + offset]
            if item.start:
                number = Constant(item.start, Value(weak("int")))
                self.nodes.append(number)
                index = self._add(made(ac.PLUS, (index, number.result), weak("int")))
            items.append(index)
        return items

    def total(self, place: Place, dtype: str) -> Value:
        """The sum of a vector."""
        type_ = ArrayType(dtype)
        shown = ac.shown(place, type_, self.origin.named(None))
        array = self._add(shown) if shown else place.root
        return self._add(made(ac.TOTAL, (array,), type_, self.origin.named(None)))

    def add_rows(self, place: Place, part: Place, x: Value, origin: Origin) -> None:
        """Writes the sums along the first axis of a part of an array."""
        shown = ac.shown(part, ArrayType(x.type.dtype, x.type.shape), self.origin.named(None))
        array = self._add(shown) if shown else part.root
        order = [item for item in place.items if not isinstance(item, Axis)]
        if [*order, *place.axes] != [*place.items]:
            raise UnspokenError("a part of an array")
        index, operands = ac.subscript(order)
        root, named = place.root, origin.named(place.root.origin.name, True)
        operands = [root, array, *operands]
        helper = "sum_of_rows"
        self._add(made(ac.ROWS, operands, root.type, named, index=index, helper=helper))

    def compute(self, step: Step, origin: Origin) -> Value:
        """What a step computes."""
        operands = {name: self.element(x) for name, x in step.operands.items()}
        if step.spelling.text == "x":
            return operands["x"]
        op = _op(step.spelling, tuple(operands))
        return self._add(made(op, tuple(operands.values()), step.type, origin))

    def store(self, place: Place, value: Value, origin: Origin) -> None:
        """Writes an element."""
        root = place.root
        items = self._items(place, self.shape)
        index, operands = ac.subscript(items)
        named = origin.named(root.origin.name, True)
        self._add(made(ac.STORE, (root, value, *operands), root.type, named, index=index))


def constant_of(x: Literal) -> Constant:
    """A number in the source."""
    number = float(x.number.real) if x.type.dtype in FLOATS else x.number
    return Constant(number, Value(x.type))


@cache
def _op(spelling: Spelling, names: tuple[str, ...]) -> Op:
    """An operation of numbers, written so."""
    traits = frozenset({Trait.ELEMENTWISE})
    return Op("step", names, lambda sizes, *types: types[0], {"numpy": spelling}, traits=traits)
