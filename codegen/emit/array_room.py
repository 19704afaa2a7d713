"""Where the arrays of a kernel lie: in arrays of the kernel's own, made before its loops.

A value that a parameter becomes is written to the parameter's array at once, where nobody reads
that any more. What is read in one block alone shares its array with others of its name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import partial

from codegen.emit import array_calls as ac
from codegen.emit.array_calls import made
from codegen.emit.array_lists import COPIED, ITEM, REPEATED, find_lists, note_order_of_rows, text_of
from codegen.emit.array_units import Shape, Straight, Unit
from codegen.emit.elements import Given, Literal, Step, UnspokenError
from codegen.emit.places import Axis, Item, Place, index_of, turns_axes
from codegen.ir import (
    Again,
    Call,
    Constant,
    Graph,
    Join,
    Loop,
    Node,
    Origin,
    Value,
    dims_of,
    ends,
)
from codegen.sizes import Dim
from codegen.types import LIST, ArrayType, weak


def is_array(value: Value) -> bool:
    """Whether a value has axes, and is no list."""
    return bool(value.type.shape) and value.type != LIST


def _same(place: Place, _: Place) -> Place:
    return place


class Room:
    """The arrays of a kernel; see the module's first lines.

    `top` are the nodes that make them. `places` are where values, and steps of what calls compute,
    lie; `shows` tells of values that only show another one, how, and by which numbers.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.lists = find_lists(graph)
        self.known = note_order_of_rows(graph, self.lists)
        self.heads = {n.label: n for n in graph.all_nodes if isinstance(n, Loop | Join)}
        self.outputs = {v for end in ends(graph.block) for v in end.outputs}
        self.top: list[Node] = []
        self.lengths: dict[Dim, Value] = {}
        self.zero = self.number_at_top(0)
        self.places: dict[object, Place] = {}
        self.shows: dict[Value, tuple[Value, Callable[[Place], Place], tuple[Value, ...]]] = {}
        self.buffers: dict[Value, None] = {}
        self.makers: set[Node] = set()  # the calls that make them
        self.own: set[Value] = set()  # arrays for values, not rows of them
        self.spare: dict[tuple[str, str, Shape], list[tuple[Place, Straight, int]]] = {}
        for value in graph.inputs:
            if value.type.shape:
                self.places[value] = Place.of(value)
        self._make_rows()
        self._find_shown()
        for head in self.heads.values():
            for parameter in filter(is_array, head.parameters):
                self.places[parameter] = self.new(parameter, self._name_of(parameter))

    def _make_rows(self) -> None:
        """Arrays for what turns keep."""
        for saved in dict.fromkeys(self.lists.values()):
            dims = self.dims(saved.values[0])
            shape = (saved.rows, *(dims[axis] for axis in saved.order))
            name = saved.created.results[0].origin.name or "saved"
            saved.root = self.buffer(shape, saved.type.dtype, name)

    def _find_shown(self) -> None:
        """Finds the values that only show others."""
        for node in self.graph.all_nodes:
            if not isinstance(node, Call) or not any(map(is_array, node.results)):
                continue
            result, index = node.results[0], index_of(node, self.graph)
            if turns_axes(node):
                self.shows[result] = node.operands[0], Place.turned, ()
            elif text_of(node) == ITEM:
                self._show_row(node)
            elif text_of(node) == REPEATED:
                place = Place(node.operands[0], (), result.type.ndim)
                self.shows[result] = result, partial(_same, place), node.operands
                self.places[result] = place
            elif index is not None and text_of(node) != COPIED:
                numbers = tuple(v for v in index[1] if isinstance(v, Value))
                show = partial(Place.at, index=index[0], operands=index[1])
                self.shows[result] = node.operands[0], show, numbers

    def _show_row(self, call: Call) -> None:
        """A row of what turns keep."""
        saved, row = self.lists[call.operands[0]], self.item(call.operands[1])
        assert saved.root is not None
        if isinstance(row, int) and row < 0:
            raise UnspokenError("a row from the end")
        axes = tuple(Axis(axis) for axis in saved.order)
        place = Place(saved.root, (row, *axes), saved.type.ndim)
        result = call.results[0]
        self.shows[result] = result, partial(_same, place), (call.operands[1],)
        self.places[result] = place

    # -- places ---------------------------------------------------------------------------------

    def number_at_top(self, number: int) -> Value:
        value = Value(weak("int"))
        self.top.append(Constant(number, value))
        return value

    def length(self, dim: Dim) -> Value:
        """A length, which is a variable of the kernel."""
        if dim not in self.lengths:
            if isinstance(dim, int):
                self.lengths[dim] = self.number_at_top(dim)
            else:
                call = made(ac.LENGTH, (), weak("int"), Origin("n", True), size=dim)
                self.top.append(call)
                self.lengths[dim] = call.results[0]
        return self.lengths[dim]

    def dims(self, value: Value) -> Shape:
        return dims_of(self.graph.sizes, value.type)

    def buffer(self, shape: Shape, dtype: str, name: str) -> Value:
        """A new array of the kernel's own."""
        origin = Origin(name if name.isidentifier() else "value", True)
        call = made(ac.EMPTY, (), ArrayType(dtype, shape), origin, shape=shape, dtype=dtype)
        self.top.append(call)
        self.makers.add(call)
        self.buffers[call.results[0]] = None
        return call.results[0]

    def new(self, value: Value, name: str, dtype: str = "") -> Place:
        """A new array for a value."""
        if value.type.ndim > 1 and value not in self.known.dense:
            raise UnspokenError("an array in nobody knows which order")
        root = self.buffer(self.dims(value), dtype or value.type.dtype, name)
        self.own.add(root)
        return Place.of(root)

    def _name_of(self, parameter: Value) -> str:
        """What the array of a parameter is called."""
        values = [parameter, *self.graph.given[parameter]]
        return next((v.origin.name for v in values if v.origin.name), "value")

    def place(self, value: Value) -> Place:
        """Where an array lies."""
        if value not in self.places:
            base, show, _ = self.shows[value]
            self.places[value] = show(self.place(base))
        return self.places[value]

    def base(self, value: Value) -> Value:
        """The array that a value shows, itself where it shows no other."""
        while value in self.shows and self.shows[value][0] is not value:
            value = self.shows[value][0]
        return value

    def users(self, value: Value) -> Iterator[Node]:
        """The nodes that read an array, or read what shows it."""
        for node in self.graph.users.get(value, ()):
            shown = node.results[0] if isinstance(node, Call) and node.results else None
            if shown in self.shows and self.base(shown) is not shown:
                yield from self.users(shown)
            else:
                yield node

    def is_returned(self, value: Value) -> bool:
        shown = (v for v in self.outputs if is_array(v))
        return any(self.base(v) is value for v in shown)

    # -- room -----------------------------------------------------------------------------------

    def make(self, straight: Straight) -> None:
        """Finds what lies in arrays of what a block makes, and a place for each."""
        kept = {u.keys[0]: u for u in straight.units if u.shape is None and u.makes_array}
        outside = {key for unit in straight.units for key in unit.over}
        for unit in straight.units:
            for key, each in unit.reads.items():
                maker = straight.maker.get(key)
                if maker is None or maker.step is None:
                    continue
                if not each or straight.group[maker] != straight.group[unit]:
                    kept[key] = maker
        inside = set(straight.nodes)
        for unit in straight.units:
            value = unit.value
            if value is None:
                continue
            if self.is_returned(value) or any(n not in inside for n in self.users(value)):
                kept[unit.keys[0]] = unit
                outside.add(unit.keys[0])
        until = self._last_reads(straight, kept.keys() - outside)
        for key, unit in sorted(kept.items(), key=lambda item: straight.order[item[1]]):
            root = self._target(straight, unit, unit.value)
            if root is not None:
                place = Place.of(root)
            else:
                place = self._room(straight, unit, self._name(straight, unit), until.get(key))
            self.places[key] = place
            if unit.value is not None:
                self.places[unit.value] = place

    def _last_reads(self, straight: Straight, keys: Collection[object]) -> dict[object, int]:
        """The groups that read something last."""
        found = {key: straight.group[straight.maker[key]] for key in keys}
        for unit in straight.units:
            for key in unit.reads:
                if key in found:
                    found[key] = max(found[key], straight.group[unit])
        return found

    def _room(self, straight: Straight, unit: Unit, name: str, until: int | None) -> Place:
        """An array for what a unit makes; one that had this name, where nobody reads that.

        With `until` nobody reads this after that group.
        """
        like = unit.result or unit.value
        assert like is not None
        dtype = unit.step.type.dtype if unit.step else like.type.dtype
        key = name, dtype, self.dims(like)
        here = straight.group[unit]
        spare = self.spare.setdefault(key, [])
        free = (
            i for i, (_, block, last) in enumerate(spare) if block is not straight or last < here
        )
        found = next(free, None)
        place = self.new(like, name, dtype) if found is None else spare.pop(found)[0]
        if until is not None:
            spare.append((place, straight, until))
        return place

    def _name(self, straight: Straight, unit: Unit) -> str:
        """What the array is called that a unit makes."""
        name = unit.value.origin.name if unit.value else None
        step = unit.step
        if step is None or not step.function:
            return name or ("product" if step is None else "t")
        if name and unit.value and unit.value.origin.final:
            return name
        of = {s: value for value, s in straight.steps.items()}
        x = next((x for x in step.operands.values() if not isinstance(x, Literal)), None)
        value = x.value if isinstance(x, Given) else of.get(x) if isinstance(x, Step) else None
        stem = self.base(value).origin.name if value else None
        return f"{step.function}_{stem}" if stem else step.function

    def _target(self, straight: Straight, unit: Unit, value: Value | None) -> Value | None:
        """The array of the parameter that a value becomes, if it may be written there at once."""
        end = straight.end
        if value is None or not isinstance(end, Loop | Again):
            return None
        if self.is_returned(value) or any(
            node is not end and node not in straight.nodes for node in self.users(value)
        ):
            return None
        head = end if isinstance(end, Loop) else self.heads[end.label]
        pairs = zip(head.parameters, end.arguments, strict=True)
        goal = next((p for p, argument in pairs if argument is value), None)
        if goal is None:
            return None
        if end is not head and not self._may_be_overwritten(straight, unit, goal, end):
            return None
        root = self.places[goal].root
        same = root.type.dtype == value.type.dtype and self.dims(root) == self.dims(value)
        return root if same else None

    def _may_be_overwritten(
        self, straight: Straight, unit: Unit, goal: Value, end: Loop | Again
    ) -> bool:
        """Whether nobody reads a parameter after a unit has run."""
        if any(is_array(v) and self.base(v) is goal for v in end.arguments):
            return False
        for other in straight.units:
            if goal not in other.reads:
                continue
            if straight.order[other] > straight.order[unit]:
                return False
            if straight.group[other] == straight.group[unit] and not other.reads[goal]:
                return False
        return True

    def item(self, value: Value) -> Item:
        """An operand of an index: a number that is known, or the value."""
        constant = self.graph.constant(value)
        if isinstance(constant, Constant) and type(constant.value) is int:
            return constant.value
        return value
