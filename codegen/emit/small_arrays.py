"""Rewrites what turns do with small arrays as loops over their elements.

Every array that a kernel makes has a place of its own, made before its loops, or a row of what is
kept for the way back. Elementwise operations of one shape stand in one loop; functions, sums and
products of matrices are calls between these. What only shows others (``x.T``, ``saved[t]``) is read
where it lies. What follows is a graph of numbers and elements, which is written as any other.

Before::                                 After::

    loop %q = %x for %t in range(...)        %q = empty(), %sin = empty()
      turn                                   loop %i in range(...)
        %a = sin(%q)                           %q = store(%q, element(%x, %i), %i)
        %b = multiply(%a, %k)                loop %t in range(...)
        %q.1 = add(%q, %b)                     %sin = function(%sin, %q)
        again %q.1                             loop %i in range(...)
                                                 %q = store(%q, ... element(%sin, %i) ..., %i)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from codegen.emit import array_calls as ac
from codegen.emit.array_calls import made
from codegen.emit.array_code import ArrayCode
from codegen.emit.array_lists import APPEND, COPIED, ITEM, NEW, REPEATED, Saved, text_of
from codegen.emit.array_room import Room, is_array
from codegen.emit.array_units import Entry, Nest, Shape, Straight, Unit
from codegen.emit.buffer_versions import with_versions
from codegen.emit.element_loops import INDICES
from codegen.emit.elements import (
    FLOATS,
    Given,
    Index,
    Literal,
    Operand,
    Step,
    UnspokenError,
    behind,
    given,
    read,
)
from codegen.emit.places import Axis, Item, Place, index_of, turns_axes
from codegen.ir import (
    Again,
    Block,
    Branch,
    Call,
    Check,
    Constant,
    Counter,
    Graph,
    Join,
    Loop,
    Node,
    Origin,
    Trait,
    Value,
)
from codegen.sizes import Dim
from codegen.spelling import spell
from codegen.types import ArrayType, weak

UPDATES = {
    **{f"out = np.array(x)\nout[index] {symbol}= value": symbol for symbol in ("", "+", "-")},
    **{f"out = np.array(x)\npart = out[index]\npart {symbol}= value": symbol for symbol in "+-"},
    "out = rows.copy()\nout[k] = value": "",
}
"""Calls that write to places of an array, and what they do to what is there."""

FILLED = {"np.zeros(shape, dtype=dtype)": 0.0, "np.ones(shape, dtype=dtype)": 1.0}
FULL = "np.full(shape, value, dtype=dtype)"
EXTREMES = {
    f"x.{name}(axis=axis, keepdims=keepdims, initial=initial)": f"{name}_of"
    for name in ("max", "min")
}
STACK = "np.stack(arrays, axis=axis)"
NORM = "np.linalg.norm(x, axis=axis, keepdims=keepdims)"
EYE = "np.eye(rows, k=k, dtype=dtype)"
PUT = "out = np.zeros(shape, dtype=dtype)\nout[index] = ct"


def speaks_of_arrays(graph: Graph, node: Node) -> bool:
    """Whether a kernel may contain a call that makes or reads arrays."""
    if not isinstance(node, Call) or len(node.results) != 1 or Trait.EFFECT in node.op.traits:
        return False
    if Trait.UNSET in node.op.traits:
        return True
    text = text_of(node)
    arrays = [v.type for v in (*node.operands, *node.results) if v.type.shape]
    if any(type.dtype not in (*FLOATS, "int64", "bool", "list") for type in arrays):
        return False
    if text in (NEW, APPEND, ITEM, EYE, PUT, *UPDATES, *FILLED):
        return True
    if text in (FULL, REPEATED):
        return not node.operands[0].type.shape
    if not arrays:  # the sum of a number, as NumPy has it
        return False
    if text == STACK:
        return not arrays[1:] and len({v.type.dtype for v in (*node.operands, *node.results)}) == 1
    if text == NORM:
        whole = dict(node.attributes).get("axis") is None and not node.results[0].type.shape
        return whole and arrays[0].ndim == 1 and arrays[0].dtype in FLOATS
    if turns_axes(node) or index_of(node, graph) is not None:
        return True
    if Trait.TOTAL in node.op.traits:
        attributes = dict(node.attributes)
        whole = attributes.get("axis") is None and not attributes.get("keepdims")
        along = arrays[0].ndim in (2, 3) and type(attributes.get("axis")) is int
        one = arrays[0].dtype == node.results[0].type.dtype and arrays[0].dtype in FLOATS
        return (one and (whole or along)) or (arrays[0].dtype == "bool" and whole)
    if text in EXTREMES:
        attributes = dict(node.attributes)
        whole = [attributes.get(name) for name in ("axis", "initial")] == [None, None]
        return whole and not attributes.get("keepdims") and arrays[0].dtype in FLOATS
    if text in ("a @ b", "np.outer(a, b)"):
        return {v.type.dtype for v in (*node.operands, *node.results)} in [{d} for d in FLOATS]
    if Trait.ELEMENTWISE not in node.op.traits or not node.results[0].type.shape:
        return False
    try:
        read(node, [given(graph, value) for value in node.operands])
    except UnspokenError:
        return False
    return True


def with_elements(kernel: Graph) -> Graph | None:
    """The graph of numbers and elements.

    None where something is not known well enough for NumPy's bits.
    """
    try:
        return Lowering(kernel).graph_of_elements()
    except UnspokenError:
        return None


class Lowering:
    """Rewrites a kernel; see the module's first lines."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.room = Room(graph)
        self.code = ArrayCode(graph, self.room)
        self.unset: set[Value] = set()  # what some paths hand on that they have no array for
        self.turns: dict[object, Value] = {}  # how many turns loops have made, by label

    # -- the whole ------------------------------------------------------------------------------

    def graph_of_elements(self) -> Graph:
        """The graph of numbers and elements."""
        block = self._block(self.graph.block)
        top = sorted(self.room.top, key=lambda node: node in self.room.makers)
        block = block.with_nodes((*top, *block.nodes))
        block = with_versions(block, self.room.buffers)
        frame = self.graph.frame
        frame = replace(frame, returns=block.returns, names=block.names, origin=block.origin)
        return self.graph.replace(frame=frame).with_block(block)

    def _block(self, block: Block) -> Block:
        straight = Straight(block)
        for node in straight.nodes:
            self._read(straight, node)
        straight.arrange()
        self.room.make(straight)
        entries: list[Entry] = []
        for group in straight.groups:
            entries += self.code.written(group)
        outputs = block.outputs
        match straight.end:
            case Loop() as loop:
                entries += self._moves(loop.parameters, loop.arguments, loop.origin)
                entries.append(self._loop(loop))
            case Join() as join:
                blocks = tuple(map(self._block, join.blocks))
                entries.append(replace(join, parameters=self._carried(join), blocks=blocks))
            case Branch() as branch:
                entries.append(replace(branch, blocks=tuple(map(self._block, branch.blocks))))
            case Again() as again:
                head = self.room.heads[again.label]
                entries += self._moves(head.parameters, again.arguments, again.origin)
                entries += self._again(again)
            case None:
                pairs = [(v, self._result(entries, v)) for v in dict.fromkeys(outputs)]
                found = dict(pairs)
                outputs = tuple(found[v] for v in outputs)
        return self._folded(entries, block.with_nodes((), outputs))

    def _carried(
        self, head: Loop | Join, values: Sequence[Value] | None = None
    ) -> tuple[Value, ...]:
        """Of a value for each parameter those that stay parameters: numbers, and lists of them."""
        pairs = zip(head.parameters, values or head.parameters, strict=True)
        return tuple(v for p, v in pairs if not is_array(p) and p not in self.room.lists)

    def _loop(self, loop: Loop) -> Loop:
        """A loop whose arrays are no parameters; one counts its turns, where rows need that."""
        lists = [self.room.lists[p] for p in loop.parameters if p in self.room.lists]
        parameters, arguments = self._carried(loop), self._carried(loop, loop.arguments)
        if any(saved.grows for saved in lists):
            turn = self.turns[loop.label] = Value(weak("int"), Origin("turn"))
            parameters, arguments = (*parameters, turn), (*arguments, self.room.zero)
        blocks = tuple(map(self._block, loop.blocks))
        return replace(loop, parameters=parameters, arguments=arguments, blocks=blocks)

    def _again(self, again: Again) -> list[Entry]:
        """The next turn, with what stays a parameter."""
        carried = self._carried(self.room.heads[again.label], again.arguments)
        if again.label not in self.turns:
            return [replace(again, arguments=carried)]
        one = self.room.number_at_top(1)
        call = made(ac.PLUS, (self.turns[again.label], one), weak("int"), Origin("turn", True))
        return [call, replace(again, arguments=(*carried, *call.results))]

    def _moves(
        self, parameters: Sequence[Value], arguments: Sequence[Value], origin: Origin
    ) -> list[Entry]:
        """Copies the arrays that parameters are given."""
        given = zip(parameters, arguments, strict=True)
        there = [(p, v) for p, v in given if is_array(p) and v not in self.unset]
        return self.code.moves(there, origin)

    def _result(self, entries: list[Entry], value: Value) -> Value:
        """What is returned for an output: an array of its own."""
        if not is_array(value):
            return value
        place = self.room.place(value)
        if place.is_all and place.root in self.room.own:
            return place.root
        new = self.room.new(value, value.origin.name or "value")
        entries += self.code.copies([(new, place, self.room.dims(value))], value.origin)
        return new.root

    def _folded(self, entries: Sequence[Entry], tail: Block) -> Block:
        """A block in which the entries come one after the other."""
        nodes: list[Node] = []
        block = tail
        for entry in reversed(entries):
            if isinstance(entry, Nest):
                after = block.with_nodes((*reversed(nodes), *block.nodes))
                nest = self._nest(entry, 0, after)
                nodes, block = [nest], Block(())
            else:
                nodes.append(entry)
        return block.with_nodes((*reversed(nodes), *block.nodes))

    def _nest(self, nest: Nest, axis: int, after: Block) -> Loop:
        """The loop over an axis, with those over the next ones in it."""
        label = (nest, axis)
        again = Again(label, ())
        if axis + 1 < len(nest.shape):
            turn = Block((self._nest(nest, axis + 1, Block((again,))),))
        else:
            turn = Block((*nest.nodes, again))
        counter = Counter(nest.indices[axis], self.room.zero, self.room.length(nest.shape[axis]))
        origin = nest.origin if axis == 0 else Origin(section=nest.origin.section)
        return Loop(label, (), (), (turn, after), counter, origin)

    # -- reading --------------------------------------------------------------------------------

    def _read(self, straight: Straight, node: Node) -> None:
        """Adds the units of a node."""
        if not isinstance(node, Call):
            assert isinstance(node, Constant | Check)
            origin = node.origin if isinstance(node, Check) else Origin()
            self._add_alone(straight, node, lambda: [node], origin)
            return
        text = text_of(node)
        if text in (NEW, APPEND, ITEM) and self._read_list(straight, node, text):
            return
        if not any(map(is_array, (*node.operands, *node.results))):
            self._add_alone(straight, node, lambda: [node])
        elif node.results[0] in self.room.shows:
            pass  # it is read where it lies
        elif Trait.UNSET in node.op.traits:
            self.unset.update(node.results)
        elif text in EXTREMES:
            self._add_alone(straight, node, partial(self.code.extreme, node, EXTREMES[text]))
        elif text == COPIED and is_array(node.results[0]):
            self._read_copy(straight, node)
        elif (index := index_of(node, self.graph)) is not None:
            self._add_alone(straight, node, partial(self.code.element_at, node, *index))
        elif Trait.TOTAL in node.op.traits:
            unit = self._add_alone(straight, node, partial(self.code.sum, node))
            unit.value = node.results[0] if is_array(node.results[0]) else None
        elif text == PUT:
            unit = self._add_alone(straight, node, partial(self.code.put, node))
            unit.value = node.results[0]
        elif text == "a @ b":
            unit = self._add_alone(straight, node, partial(self.code.product, node))
            unit.value = node.results[0] if is_array(node.results[0]) else None
        elif text == STACK:
            unit = self._add_alone(straight, node, partial(self.code.stack, node))
            unit.value = node.results[0]
        elif text == NORM:
            self._add_alone(straight, node, partial(self.code.norm, node))
        elif text == "np.outer(a, b)":
            self._read_outer(straight, node)
        elif text in UPDATES:
            self._read_update(straight, node, UPDATES[text])
        elif text in FILLED:
            number = Literal(FILLED[text], ArrayType(node.results[0].type.dtype))
            self._read_steps(straight, node, _same(number))
        elif text == FULL:
            x = given(self.graph, node.operands[0])
            if x.type.dtype != node.results[0].type.dtype:
                raise UnspokenError("a number of another dtype")
            self._read_steps(straight, node, _same(x))
        elif text == EYE:
            self._read_steps(straight, node, _unit(node))
        else:
            operands = self._operands(straight, node)
            root = read(node, operands)
            assert isinstance(root, Step)
            self._read_steps(straight, node, root, operands)

    def _add_alone(
        self,
        straight: Straight,
        node: Node,
        entries: Callable[[], list[Entry]],
        origin: Origin | None = None,
    ) -> Unit:
        reads = {key: False for v in node.operands for key in self._waits(straight, v)}
        origin = origin or (node.results[0].origin if node.results else Origin())
        unit = Unit(tuple(node.results) or (node,), reads, origin, entries=entries)
        straight.add(unit)
        return unit

    def _waits(self, straight: Straight, value: Value) -> Iterator[object]:
        """The keys of what a value needs."""
        if value in straight.steps:
            yield straight.steps[value]
        elif value in self.room.shows:
            base, _, operands = self.room.shows[value]
            if base is not value:
                yield from self._waits(straight, base)
            yield from operands
        else:
            yield value

    def _operands(self, straight: Straight, call: Call) -> list[Operand]:
        """The operands of an elementwise call; of an array of one number that number, if it may."""
        found = [self._operand(straight, call, value) for value in call.operands]
        shape = self.room.dims(call.results[0])
        whole = [v for v in call.operands if self.room.dims(v) == shape]
        for i, value in enumerate(call.operands):
            step = straight.steps.get(value)
            others = [v for v in whole if v is not value and straight.varies(v)]
            if step is not None and not step.varies and others and step.spelling.text == "x":
                found[i] = step.operands["x"]
        return found

    def _operand(self, straight: Straight, call: Call, value: Value) -> Operand:
        step = straight.steps.get(value)
        same = self.room.dims(value) == self.room.dims(call.results[0])
        if step is not None and step.varies and same:
            return step
        return given(self.graph, value)

    def _read_steps(
        self, straight: Straight, call: Call, root: Step, operands: Sequence[Operand] = ()
    ) -> None:
        """Adds what an elementwise call computes."""
        result = call.results[0]
        shape = self.room.dims(result)
        if len(shape) > len(INDICES):
            raise UnspokenError("many axes")
        known = {x for x in operands if isinstance(x, Step)}
        for step in dict.fromkeys([*behind(root, known), root]):
            reads = dict(self._reads_of(straight, step, shape))
            of = shape if not step.function else None
            value = result if step is root else None
            unit = Unit((step,), reads, result.origin, of, result, step, value)
            if step.function:
                unit.entries = partial(self.code.function, unit, result)
            straight.add(unit)
        straight.steps[result] = root

    def _reads_of(
        self, straight: Straight, step: Step, shape: Shape
    ) -> Iterator[tuple[object, bool]]:
        for x in step.operands.values():
            if isinstance(x, Step) and x.varies:
                yield x, not step.function
            elif isinstance(x, Step):
                yield from self._reads_of(straight, x, shape)
            elif isinstance(x, Given):
                each = not step.function and self.room.dims(x.value) == shape
                for key in self._waits(straight, x.value):
                    yield key, each and key is x.value

    def _read_copy(self, straight: Straight, call: Call) -> None:
        """``x[index].copy()``."""
        index = index_of(call, self.graph)
        if index is None:
            raise UnspokenError("an index")
        result = call.results[0]
        shown = Value(result.type, result.origin)
        numbers = tuple(v for v in index[1] if isinstance(v, Value))
        show = partial(Place.at, index=index[0], operands=index[1])
        self.room.shows[shown] = call.operands[0], show, numbers
        self._read_steps(straight, call, _same(Given(shown)))

    def _read_outer(self, straight: Straight, call: Call) -> None:
        """``np.outer(a, b)`` as a product of a column and a row."""
        if any(v.type.ndim != 1 for v in call.operands):
            raise UnspokenError("an outer product of matrices")
        shown = []
        for value, index in zip(call.operands, ((slice(None), None), (None,)), strict=True):
            dims: list[Dim] = [1, 1]
            dims[1 if index == (None,) else 0] = self.room.dims(value)[0]
            new = Value(value.type.with_shape(dims), value.origin)
            self.room.shows[new] = value, partial(Place.at, index=index, operands=()), ()
            shown.append(Given(new))
        operands = dict(zip("ab", shown, strict=True))
        step = Step(spell("a * b"), operands, ArrayType(call.results[0].type.dtype))
        self._read_steps(straight, call, step)

    def _read_list(self, straight: Straight, call: Call, text: str) -> bool:
        """Lists of arrays; whether this is one."""
        result = call.results[0]
        saved = self.room.lists.get(result if text == NEW else call.operands[0])
        if saved is None or saved.root is None:
            return False
        if text == ITEM:
            return True
        axes = tuple(Axis(axis) for axis in saved.order)
        if text == NEW:
            for k, value in enumerate(call.operands):
                place = Place(saved.root, (k, *axes), value.type.ndim)
                self._add_row(straight, value, place, value.origin, (value, "row", k))
            return True
        index, node = self._row_of_turn(saved)
        keys: list[object] = []
        if node is not None:
            self._add_alone(straight, node, partial(list, [node]))
            keys += node.results
        if saved.grows:
            assert isinstance(index, Value)
            origin = Origin(saved.root.origin.name, True)
            grown = made(ac.GROWN, (saved.root, index), saved.root.type, origin, helper="with_row")
            keys.append(grown)
            reads = {key: False for key in self._waits(straight, index)}
            straight.add(Unit((grown,), reads, origin, entries=partial(list, [grown])))
        place = Place(saved.root, (index, *axes), saved.type.ndim)
        value = call.operands[1]
        self._add_row(straight, value, place, value.origin, result, keys)
        return True

    def _row_of_turn(self, saved: Saved) -> tuple[Item, Call | None]:
        """The row of a turn, and the call that computes it, if one does."""
        loop, first = saved.loop, len(saved.created.operands)
        assert loop is not None
        counter = loop.counter
        if saved.grows:
            turn, by = self.turns[loop.label], first
        else:
            assert counter is not None
            turn = counter.index
            start = self.graph.constant(counter.start)
            if counter.step == -1:
                call = made(ac.MINUS, (counter.start, turn), weak("int"))
                return call.results[0], call
            assert isinstance(start, Constant) and isinstance(start.value, int)
            by = first - start.value
        if by == 0:
            return turn, None
        op = ac.PLUS if by > 0 else ac.MINUS
        call = made(op, (turn, self.room.number_at_top(abs(by))), weak("int"))
        return call.results[0], call

    def _add_row(
        self,
        straight: Straight,
        value: Value,
        place: Place,
        origin: Origin,
        key: object,
        waits: Sequence[object] = (),
    ) -> None:
        """A unit that copies an array to a row."""
        if value in self.unset:
            return
        shape = self.room.dims(value)
        step = straight.steps.get(value)
        x: Operand = step or Given(value)
        each = step is not None
        reads: dict[object, bool] = {key: each for key in self._waits(straight, value)}
        reads |= dict.fromkeys(waits, False)
        straight.add(Unit((key,), reads, origin, shape, row=(place, x)))

    def _read_update(self, straight: Straight, call: Call, symbol: str) -> None:
        """A unit that writes to an array, behind all that read what was there before."""
        array, value, *_ = call.operands
        if value.type.dtype != array.type.dtype and self.graph.constant(value) is None:
            raise UnspokenError("a number of another dtype")
        unit = self._add_alone(straight, call, partial(self.code.update, call, symbol))
        unit.over = tuple(self._waits(straight, array))
        before = set(unit.over)
        for other in straight.units[:-1]:
            if before & other.reads.keys():
                unit.reads |= dict.fromkeys(other.keys, False)


def _same(x: Operand) -> Step:
    return Step(spell("x"), {"x": x}, ArrayType(x.type.dtype))


def _unit(call: Call) -> Step:
    """An element of ``np.eye``."""
    k = dict(call.attributes).get("k", 0)
    spelling = spell("1.0 if i == j else 0.0" if k == 0 else f"1.0 if i + {k} == j else 0.0")
    operands: dict[str, Operand] = {"i": Index(0), "j": Index(1)}
    return Step(spelling, operands, ArrayType(call.results[0].type.dtype))
