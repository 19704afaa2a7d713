"""Keeps elements of an array that the turns of a loop read and write by fixed places in numbers.

Such is the gradient in a vector of parameters of which a loop reads ``p[0]`` and ``p[2]``, and a
state that is kept in an array. The loop hands on a number for each place; the array gets them
behind it. Numbers are cheap where elements are not: in loops of Python's floats, in XLA. It is what
compilers of C do under this name (Callahan, Carr and Kennedy, PLDI 1990). ::

    %p_bar = full((n0,), 0.0)                     %p_bar = full((n0,), 0.0)
    loop %q = %p_bar for %t as L1                 %b = element(%p_bar, 2)
      turn                                        loop %b.1 = %b for %t as L1
        %q.1 = index_add(%q, %v, (2,))              turn
        again L1 %q.1                                 %b.2 = add(%b.1, %v)
      after                                           again L1 %b.2
        return %q                                   after
                                                      %q = index_set(%p_bar, %b.1, (2,))
                                                      return %q

Every use of the array in turns, in loops and ifs inside too, has to be one of these. A place that
the program might not come to, of an array of any length, is left as it is: it may not be there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from codegen.ir import (
    Again,
    Block,
    Branch,
    Builder,
    Call,
    Graph,
    Join,
    Loop,
    Node,
    Op,
    Value,
    dims_of,
    inner_blocks,
    with_blocks,
    with_operands,
)
from codegen.passes.client import NO_CLIENT, Client
from codegen.sizes import Dim
from codegen.spelling import Subscript
from codegen.types import ArrayType
from tracegrad.ops.elementwise.ufuncs import add, subtract
from tracegrad.ops.shape.creation import zeros_of_shape
from tracegrad.ops.shape.indexing import add_at, element, scattered, set_at, subtract_at
from tracegrad.optimizer.loop_invariants import certain_nodes
from tracegrad.optimizer.numbers_of_turns import begins

MOST_PLACES = 12
COMBINED: Mapping[Op, Op] = {add_at: add, subtract_at: subtract}
AT_PLACES = {element, scattered, set_at, *COMBINED}
Place: TypeAlias = tuple[int, ...]
Existing: TypeAlias = "frozenset[tuple[tuple[Dim, ...], Place]]"


@dataclass(frozen=True, eq=False)
class _Array:
    """An array that a loop hands on from turn to turn, and the places that turns use of it.

    `versions` are the values that it is in turns: the parameter, what writes give, what loops and
    joins inside hand on. `blocks` are those of turns; others in the loop are of ways out of it.
    """

    loop: Loop
    parameter: Value
    places: tuple[Place, ...]
    versions: frozenset[Value]
    blocks: frozenset[Block]

    @property
    def number(self) -> ArrayType:
        return ArrayType(self.parameter.type.dtype)

    def element(self, version: Value, place: Place) -> Value:
        """A number in the place of an element, named after it."""
        name = version.origin.name
        shown = "_".join(str(i) if i >= 0 else f"last{-i - 1 or ''}" for i in place)
        origin = version.origin.named(name and f"{name}_{shown}")
        return Value(self.number, origin)


Arrays: TypeAlias = tuple[_Array, ...]


def scalar_replacement(graph: Graph, client: Client = NO_CLIENT) -> Graph:
    """The graph whose loops hand on numbers instead of arrays of which they use fixed places."""
    found: dict[Value, _Array] = {}
    for loop, there in _loops(graph, graph.block, frozenset()):
        for parameter in loop.parameters:
            array = None if parameter in found else _array(graph, loop, parameter, there)
            if array is not None:
                found.update(dict.fromkeys(array.versions, array))
    if not found:
        return graph
    return graph.with_block(_Rewriting(graph, found).block(graph.block, {}))


def _loops(graph: Graph, block: Block, there: Existing) -> Iterator[tuple[Loop, Existing]]:
    """The loops in a block, outer ones first, and what places there are in arrays before each."""
    *nodes, last = block.nodes or (None,)
    if not isinstance(last, Branch | Loop | Join):
        return
    calls = [node for node in nodes if isinstance(node, Call) and node.op in AT_PLACES]
    there = there.union(found for call in calls if (found := _existing(graph, call)) is not None)
    if isinstance(last, Loop):
        yield last, there
    for inner in last.blocks:
        yield from _loops(graph, inner, there)


def _existing(graph: Graph, call: Call) -> tuple[tuple[Dim, ...], Place] | None:
    """The place that a call uses of an array, and the lengths of the array, which so has it."""
    array = call.results[0] if call.op is scattered else call.operands[0]
    place = _fixed(graph, call.attribute("index"), array.type)
    return None if place is None else (dims_of(graph.sizes, array.type), place)


def _array(graph: Graph, loop: Loop, parameter: Value, there: Existing) -> _Array | None:
    """The array that a parameter is, if all that turns do with it is to use some places of it.

    `there` are places that arrays are known to have, by the lengths of the arrays.
    """
    of = parameter.type
    if not of.shape or of.weak or not of.dtype.startswith(("float", "complex")):
        return None
    blocks = frozenset(_of_turns(graph, loop.turn, {loop.label}))
    inside = {node for block in blocks for node in block.nodes}
    versions, uses = {parameter}, list[Call]()
    waiting = [parameter]
    while waiting:
        version = waiting.pop()
        for reader in graph.users.get(version, ()):
            if reader not in inside:
                continue  # on a way that leaves the loop
            new = _handed(graph, reader, version)
            if new is None:
                return None
            uses += [reader] if isinstance(reader, Call) else []
            waiting += [v for v in new if v not in versions]
            versions.update(new)
    own = set(loop.parameters) & versions == {parameter}
    if not own or not all(_is_known(graph, loop, v, versions) for v in versions):
        return None
    places = dict.fromkeys(p for p in [_place(graph, call) for call in uses] if p is not None)
    if not 0 < len(places) <= MOST_PLACES or not _are_apart([*places]):
        return None
    if all(call.op is element for call in uses):
        return None
    if not all(_is_there(graph, loop, place, uses, there) for place in places):
        return None
    return _Array(loop, parameter, (*places,), frozenset(versions), blocks)


def _of_turns(graph: Graph, block: Block, labels: set[object]) -> Iterator[Block]:
    """The blocks of a turn from which a path leads to another turn of loops with these `labels`."""
    if labels.isdisjoint(graph.leads[block]):
        return
    yield block
    last = block.nodes[-1]
    labels = {*labels, last.label} if isinstance(last, Loop) else labels
    for inner in inner_blocks(last):
        yield from _of_turns(graph, inner, labels)


def _handed(graph: Graph, reader: Node, version: Value) -> tuple[Value, ...] | None:
    """What an array is behind a node that reads it; None where it does more than use a place."""
    if isinstance(reader, Loop | Again):
        parameters = graph.heads[reader.label].parameters
        pairs = zip(parameters, reader.arguments, strict=True)
        return tuple(p for p, given in pairs if given is version)
    if not isinstance(reader, Call) or _place(graph, reader) is None:
        return None
    if reader.operands[0] is not version or version in reader.operands[1:]:
        return None
    return () if reader.op is element else reader.results


def _place(graph: Graph, call: Call) -> Place | None:
    """The element of its first operand that a call reads or writes, if its place is fixed."""
    if call.op is element:
        given = call.operands[1:]
    elif call.op is set_at or call.op in COMBINED:
        given = call.operands[2:]
        if not _is_number_of(graph, call.operands[1], call.operands[0].type):
            return None
        if call.attribute("counts") or call.attribute("repeats"):
            return None
    else:
        return None
    return None if given else _fixed(graph, call.attribute("index"), call.operands[0].type)


def _is_number_of(graph: Graph, value: Value, array: ArrayType) -> bool:
    """Whether a value is a number as an array's elements are, or written as one of Python's."""
    of = value.type
    if of.weak:
        is_real = array.dtype.startswith("float") and of.dtype in ("float64", "int64")
        return is_real and graph.constant(value) is not None
    return not of.shape and not of.either and of.dtype == array.dtype


def _fixed(graph: Graph, index: Any, of: ArrayType) -> Place | None:
    items: tuple[Any, ...] = index.items if isinstance(index, Subscript) else ()
    if len(items) != len(of.shape) or not all(type(item) is int for item in items):
        return None
    return tuple(
        i + n if i < 0 and isinstance(n, int) else i
        for i, n in zip(items, dims_of(graph.sizes, of), strict=True)
    )


def _are_apart(places: list[Place]) -> bool:
    """Whether no two places may be one: each axis is counted from one end."""
    return all(len({i < 0 for i in axis}) == 1 for axis in zip(*places, strict=True))


def _is_known(graph: Graph, loop: Loop, version: Value, versions: set[Value]) -> bool:
    """Whether a version that is a parameter is given versions alone."""
    given = graph.given.get(version, ())
    if version in loop.parameters:
        given = given[1:]
    return versions.issuperset(given)


def _is_there(graph: Graph, loop: Loop, place: Place, uses: list[Call], there: Existing) -> bool:
    """Whether an array is sure to have a place, before the loop and behind it."""
    lengths = dims_of(graph.sizes, uses[0].operands[0].type)
    if all(isinstance(n, int) and i < n for i, n in zip(place, lengths, strict=True)):
        return True
    if (lengths, place) in there:
        return True
    certain = {*certain_nodes(loop.turn)} if begins(graph, loop) else set[Node]()
    return any(_place(graph, call) == place and call in certain for call in uses)


@dataclass
class _Rewriting:
    """Rewrites a graph in one walk.

    `elements` are the numbers that stand for each version, `bases` the arrays that they are put
    into behind the loop, or calls that give `zeros` of such a shape and dtype; `made` are the nodes
    that make the values of the new graph.
    """

    graph: Graph
    found: Mapping[Value, _Array]
    elements: dict[Value, dict[Place, Value]] = field(default_factory=dict)
    bases: dict[_Array, Value] = field(default_factory=dict)
    zeros: dict[_Array, Call] = field(default_factory=dict)
    made: dict[Value, Node] = field(default_factory=dict)

    def block(self, block: Block, now: Mapping[Value, Value], inside: Arrays = ()) -> Block:
        """A block; `now` is what stands for values, `inside` are the arrays of loops around."""
        builder, now = Builder(self.graph.sizes), dict(now)
        for array in inside:
            if block not in array.blocks:
                self._put_back(builder, array, block, now)
        stays = tuple(array for array in inside if block in array.blocks)
        for node in block.nodes:
            self._node(builder, node, now, stays)
        outputs = tuple([now.get(v, v) for v in block.outputs])
        return block.with_nodes(tuple(builder.nodes), outputs)

    def _node(self, builder: Builder, node: Node, now: dict[Value, Value], inside: Arrays) -> None:
        array = self.found.get(node.operands[0]) if node.operands else None
        if isinstance(node, Call) and array in inside:
            self._use(builder, node, now)
            return
        if isinstance(node, Call) and array is not None and node.op is element:
            place, version = _place(self.graph, node), now.get(node.operands[0], node.operands[0])
            known = None if place is None else self._written(builder, array, version, place)
            if known is not None:
                now[node.results[0]] = known
                return
        if isinstance(node, Loop | Again):
            node = self._handing(builder, node, now, inside)
        if isinstance(node, Join):
            node = replace(node, parameters=self._parameters(node.parameters, inside))
        around = (*inside, *self._of_loop(node))
        node = with_operands(node, lambda v: now.get(v, v))
        if isinstance(node, Branch | Loop | Join):
            self._keep(node)
            node = with_blocks(node, tuple([self.block(b, now, around) for b in node.blocks]))
        self._add(builder, node)

    def _of_loop(self, node: Node) -> Arrays:
        """The arrays that begin with a loop."""
        if not isinstance(node, Loop):
            return ()
        return tuple(dict.fromkeys(a for a in self.found.values() if a.loop.label == node.label))

    def _keep(self, node: Node) -> None:
        self.made.update((result, node) for result in node.results)

    def _add(self, builder: Builder, node: Node) -> None:
        builder.append(node)
        self._keep(node)

    def _called(self, builder: Builder, *call: object, **attributes: object) -> Value:
        (result,) = builder.call(*call, **attributes)  # type: ignore[arg-type]
        self._keep(builder.nodes[-1])
        return result

    def _use(self, builder: Builder, call: Call, now: dict[Value, Value]) -> None:
        """A read or a write of an element: of the number that stands for it."""
        array = self.found[call.operands[0]]
        place, result = _place(self.graph, call), call.results[0]
        numbers = self.elements[call.operands[0]]
        assert place is not None
        if call.op is element:
            now[result] = numbers[place]
            return
        value = now.get(call.operands[1], call.operands[1])
        if call.op is not set_at:
            origin = array.element(result, place).origin
            value = self._called(builder, COMBINED[call.op], (numbers[place], value), origin)
        else:
            value = self._number(builder, array, value)
        self.elements[result] = {**numbers, place: value}

    def _parameters(self, parameters: tuple[Value, ...], inside: Arrays) -> tuple[Value, ...]:
        """Parameters, with one for each place of an array in its place."""
        some: list[Value] = []
        for parameter in parameters:
            array = self.found.get(parameter)
            if array is None or array not in inside:
                some.append(parameter)
                continue
            numbers = {place: array.element(parameter, place) for place in array.places}
            self.elements[parameter] = numbers
            some += numbers.values()
        return tuple(some)

    def _handing(
        self, builder: Builder, node: Loop | Again, now: Mapping[Value, Value], inside: Arrays
    ) -> Loop | Again:
        """A node that hands on numbers."""
        head, begun = self.graph.heads[node.label], self._of_loop(node)
        arguments: list[Value] = []
        for parameter, given in zip(head.parameters, node.arguments, strict=True):
            array = self.found.get(parameter)
            if array is not None and array in begun:
                arguments += self._begun(builder, array, now.get(given, given))
            elif array is not None and array in inside:
                arguments += [self.elements[given][place] for place in array.places]
            else:
                arguments.append(given)
        if isinstance(node, Again):
            return replace(node, arguments=tuple(arguments))
        parameters = self._parameters(node.parameters, (*inside, *begun))
        return replace(node, arguments=tuple(arguments), parameters=parameters)

    def _begun(self, builder: Builder, array: _Array, given: Value) -> Iterator[Value]:
        """What the numbers are before the loop; sets what they are put into behind it.

        That is the array as it was before the last writes to these places.
        """
        base, call = given, self._call_of(given)
        while call is not None and call.op is set_at:
            if _place(self.graph, call) not in array.places:
                break
            base, call = call.operands[0], self._call_of(call.operands[0])
        if call is not None and call.op is scattered:
            if _put(self.graph, call) in array.places:
                self.zeros[array] = call
        elif call is not None and call.op is zeros_of_shape:
            self.zeros[array] = call
        self.bases[array] = base
        for place in array.places:
            number = self._written(builder, array, given, place)
            if number is None:
                origin, index = array.element(given, place).origin, Subscript(place)
                number = self._called(builder, element, (base,), origin, index=index)
            yield number

    def _written(
        self, builder: Builder, array: _Array, version: Value, place: Place
    ) -> Value | None:
        """What was written last to a place of an array, if calls tell."""
        call = self._call_of(version)
        while call is not None and call.op is set_at:
            other = _place(self.graph, call)
            if other == place:
                return self._number(builder, array, call.operands[1])
            if other is None or not _are_apart([place, other]):
                return None
            call = self._call_of(call.operands[0])
        if call is not None and call.op is zeros_of_shape:
            return builder.constant(0.0, array.number)
        if call is None or call.op is not scattered or (other := _put(self.graph, call)) is None:
            return None
        if other == place:
            return call.operands[0]
        return builder.constant(0.0, array.number) if _are_apart([place, other]) else None

    def _call_of(self, value: Value) -> Call | None:
        node = self.made.get(value)
        return node if isinstance(node, Call) else None

    def _number(self, builder: Builder, array: _Array, value: Value) -> Value:
        """What is written, as a number of the array's dtype: it may be one of Python's."""
        written = self.graph.constant(value) if value.type.weak else None
        if written is None:
            return value
        return builder.constant(float(written.value), array.number, origin=value.origin)  # type: ignore[arg-type]

    def _put_back(
        self, builder: Builder, array: _Array, block: Block, now: dict[Value, Value]
    ) -> None:
        """The array itself, where a way that leaves the loop reads it."""
        for version in self.graph.reads_in(block):
            if self.found.get(version) is not array:
                continue
            value = self.bases[array]
            if (made := self.zeros.get(array)) is not None:
                at = {name: made.attribute(name) for name in zeros_of_shape.attributes}
                value = self._called(builder, zeros_of_shape, (), version.origin, **at)
            for place, number in self.elements[version].items():
                operands, index = (value, number), Subscript(place)
                places = {"index": index, "counts": (), "repeats": False}
                value = self._called(builder, set_at, operands, version.origin, **places)
            now[version] = value


def _put(graph: Graph, call: Call) -> Place | None:
    """The place of the one element that is not 0 in an array."""
    number, made = call.operands[0].type, call.results[0].type
    if len(call.operands) > 1 or number.shape or number.weak or number.dtype != made.dtype:
        return None
    if call.attribute("counts") or call.attribute("repeats"):
        return None
    return _fixed(graph, call.attribute("index"), made)
