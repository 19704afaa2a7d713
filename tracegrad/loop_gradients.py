"""A graph with loops enters, the graph with gradients at each of its returns leaves.

A path to a return goes through loops: whole turns, then the part of a turn in which it leaves (or
none, where the counter was used up). Its backward goes the same way back: the straight code behind
the loop, the part of a turn, then all whole turns in a loop that counts down, then what was before.
A turn's backward is staged once. What it reads of the turn is computed again where that costs
nothing (``x[t]``), else each turn appends it to a list, and the backward reads it there.

What a turn's backward begins with are cotangents of the loop's parameters and, growing, of what it
reads from before the loop. "No cotangent" is not zero (0 * inf would be nan): where nothing flows
to a parameter at first and something does after a turn, that turn is written by itself, before the
loop over the rest. Order and bits are those of the same loop walked by the tape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeAlias

from codegen.ir import (
    Again,
    Block,
    Branch,
    Builder,
    Call,
    Constant,
    Counter,
    Graph,
    Loop,
    Node,
    Origin,
    Value,
    ends,
    inner_blocks,
    renamed,
    walk,
)
from codegen.sizes import Dim, mul
from codegen.sizes import add as add_dims
from codegen.spelling import Slot, Subscript
from codegen.types import LIST, is_inexact, weak
from tracegrad.differentiate import Reverse
from tracegrad.errors import TraceError
from tracegrad.loop_tapes import INT, Facts, Stretch, Tapes, made_by
from tracegrad.ops.creation import full_of, length, zeros_of
from tracegrad.ops.elementwise import (
    add,
    floor_divide,
    greater,
    multiply,
    negative,
    remainder,
    subtract,
)
from tracegrad.ops.indexing import (
    add_at,
    element,
    gather,
    getitem_basic,
    scattered,
    set_at,
    subtract_at,
)
from tracegrad.ops.tapes import collected, item
from tracegrad.staging import Stage

FREE = frozenset({getitem_basic, element, gather})
"""Ops that are computed again in the backward, where what they read is at hand."""
COUNTING = frozenset({add, subtract, multiply, floor_divide, remainder})
"""Ops on numbers of turns, which are free as well."""
ADDED_UP = frozenset({scattered, add_at, subtract_at, set_at})
"""Ops that put a cotangent together of those of rows."""
MOST_PEELED = 4  # turns that stand by themselves before the loop over the rest

Cotangents: TypeAlias = "dict[Value, Value]"
Seeds: TypeAlias = "Callable[[Stage, int], Cotangents]"
Finish: TypeAlias = "Callable[[Cotangents], Block]"


class Unrollable(TraceError):
    """A loop whose backward cannot be written as a loop."""


def with_gradients(graph: Graph, wanted: Sequence[Value], seeds: Seeds | None = None) -> Graph:
    """The graph whose every return gives the cotangents of `wanted` besides.

    `seeds` writes the cotangents of what a return gives, by its number in the order of the text;
    without it that of the first output is 1.
    Raises `Unrollable` where a loop has no such form.
    """
    return numbered_gradients(graph, wanted, seeds)[0]


def numbered_gradients(
    graph: Graph, wanted: Sequence[Value], seeds: Seeds | None = None
) -> tuple[Graph, list[int]]:
    """As `with_gradients`; and for each return of the new graph the number of that in the old one.

    Where whole turns may have been made or none, the backward of a return goes two ways.
    """
    writer = _Writer(graph, wanted, seeds)
    whole = writer.whole()
    several = [len(list(ends(block))) for block in writer.ends.values()]
    return whole, [i for i, count in enumerate(several) for _ in range(count)]


class _Writer:
    def __init__(self, graph: Graph, wanted: Sequence[Value], seeds: Seeds | None = None) -> None:
        self.graph = graph
        self.seeds = seeds
        self.wanted = tuple(wanted)
        self.reverse = Reverse(graph)
        self.facts: dict[object, Facts] = {}
        self.ends: dict[Block, Block] = {}  # the backward behind each return
        self.rows: set[Value] = set()  # cotangents that were put together of rows
        self.empty: set[Value] = set()  # cotangents that are zeros throughout
        self.indices: set[Value] = set()  # numbers of counters, in a turn's backward
        self.dry = False  # nothing is kept that a look at a turn's backward asks for
        self._learn(graph.block, ())
        self.active = self._active()

    def whole(self) -> Graph:
        paths: list[tuple[Block, tuple[Stretch, ...]]] = []
        self._collect(self.graph.block, (), [], {}, paths)
        self._refuse_single_rows()
        for number, (end, path) in enumerate(paths):
            with self._writing() as builder:
                if self.seeds is None:
                    cts = {end.outputs[0]: self.reverse.one(end.outputs[0])}
                else:
                    cts = self.seeds(self.reverse.stage, number)
                block = self._sweep(path, len(path) - 1, cts, self._returning(end))
                block = replace(block, nodes=(*builder.nodes, *block.nodes))
                self.ends[end] = _giving(block, end)
        block = Tapes(self.graph, self.facts, self.ends).rebuilt(self.graph.block, {})
        block = renamed(block, self._renamed())
        return self.graph.with_block(block)

    def _refuse_single_rows(self) -> None:
        """Items of lists that are read one by one: no cotangent of a row is not zeros."""
        read = {v for node in walk(self.graph.nodes) for v in node.operands}
        read.update(v for end in ends(self.graph.block) for v in end.outputs)
        for facts in self.facts.values():
            for parameter in facts.loop.parameters:
                if not any(self._is_collected(v) for v in self.graph.given[parameter][1:]):
                    continue
                for node in self.graph.users.get(parameter, ()):
                    single = isinstance(node, Call) and node.op in FREE
                    if single and not read.isdisjoint(node.results):
                        raise Unrollable("items of a list that turns fill are read one by one")

    def _is_collected(self, value: Value) -> bool:
        made = self.graph.producer.get(value)
        return isinstance(made, Call) and made.op is collected

    def _renamed(self) -> dict[Value, Value]:
        return {v: Value(v.type, origin) for v, origin in self.reverse.names.items()}

    def _learn(self, block: Block, around: tuple[Facts, ...]) -> None:
        """Finds the loops of a block, which stands in turns of those around."""
        for node in block.nodes:
            if isinstance(node, Loop):
                facts = Facts(node, set(made_by(node)), around=around)
                self.facts[node.label] = facts
                self._learn(node.turn, (*around, facts))
                if node.after:
                    self._learn(node.after, around)
            elif isinstance(node, Branch):
                for inner in node.blocks:
                    self._learn(inner, around)

    # -- what there is ----------------------------------------------------------------------------

    def _collect(
        self,
        block: Block,
        before: tuple[Stretch, ...],
        nodes: list[Node],
        heads: dict[object, int],
        paths: list[tuple[Block, tuple[Stretch, ...]]],
    ) -> None:
        """Finds the paths to all returns, and through each turn of each loop."""
        last = block.nodes[-1] if block.nodes else None
        match last:
            case Branch():
                nodes = [*nodes, *block.nodes[:-1]]
                for inner in last.blocks:
                    self._collect(inner, before, nodes, heads, paths)
            case Loop():
                here = tuple([*nodes, *block.nodes[:-1]])
                for inner in last.blocks:
                    in_turn = inner is last.turn
                    path = (*before, Stretch(here, last, in_turn))
                    known = {**heads, last.label: len(path)} if in_turn else heads
                    self._collect(inner, path, [], known, paths)
            case Again():
                path = (*before, Stretch((*nodes, *block.nodes[:-1])))
                self.facts[last.label].turns.append((last, path[heads[last.label] :]))
            case _:
                paths.append((block, (*before, Stretch((*nodes, *block.nodes)))))

    def _active(self) -> set[Value]:
        """The values that depend on what is wanted by a differentiable path."""
        active = set(self.wanted)
        size = -1
        while size != len(active):
            size = len(active)
            for node in walk(self.graph.nodes):
                if isinstance(node, Call) and node.op.differentiable:  # type: ignore[attr-defined]
                    if not active.isdisjoint(node.operands):
                        active.update(node.results)
                elif isinstance(node, Loop | Again):
                    loop = self.facts[node.label].loop
                    for p, a in zip(loop.parameters, node.arguments, strict=True):
                        if a in active and is_inexact(p.type.dtype):
                            active.add(p)
        return active

    # -- going back -------------------------------------------------------------------------------

    @contextmanager
    def _writing(self) -> Iterator[Builder]:
        """Nodes are appended to a builder of their own."""
        before = self.reverse.stage.builder
        builder = Builder(self.graph.sizes)
        builder.producer = dict(before.producer)
        self.reverse.stage.builder = builder
        try:
            yield builder
        finally:
            self.reverse.stage.builder = before

    def _returning(self, end: Block) -> Finish:
        def finish(cts: Cotangents) -> Block:
            found = {value: self.reverse.staged(ct) for value, ct in cts.items()}
            gradients = self.reverse.gradients(found, self.wanted)
            return Block((), tuple(gradients))

        return finish

    def _sweep(self, path: Sequence[Stretch], at: int, cts: Cotangents, finish: Finish) -> Block:
        """The block that goes back from the end of a stretch to the beginning of the path."""
        cts = self._through(path[at].nodes, cts)
        if at == 0:
            return finish(cts)
        loop, in_turn = path[at - 1].loop, path[at - 1].in_turn
        assert loop is not None

        def before_the_loop(cts: Cotangents) -> Block:
            return self._sweep(path, at - 1, self._entered(loop, cts), finish)

        return self._turns(loop, self._count(loop, in_turn), cts, before_the_loop, 0)

    def _through(self, nodes: Sequence[Node], cts: Cotangents) -> Cotangents:
        """Cotangents before straight code, of those after it."""
        made = {result for node in nodes for result in node.results}
        read = [v for node in nodes if isinstance(node, Call) for v in node.operands]
        asked = [v for v in dict.fromkeys((*cts, *read)) if v not in made and v in self.active]
        seeds = {value: self.reverse.staged(ct) for value, ct in cts.items()}
        found = self.reverse.run(nodes, seeds, asked)
        return {value: ct.value for value, ct in found.items()}

    def _entered(self, loop: Loop, cts: Cotangents) -> Cotangents:
        """Cotangents of parameters go to the first arguments."""
        return self._handed(loop, loop.arguments, cts)

    def _handed(self, loop: Loop, arguments: Sequence[Value], cts: Cotangents) -> Cotangents:
        """Cotangents of a loop's parameters as those of what they were given."""
        kept = {v: ct for v, ct in cts.items() if v not in loop.parameters}
        for parameter, argument in zip(loop.parameters, arguments, strict=True):
            if parameter in cts and self._is_collected(argument):
                self._uncollect(parameter, argument, cts[parameter], kept)
        for parameter, argument in zip(loop.parameters, arguments, strict=True):
            ct = cts.get(parameter)
            if ct is None or argument not in self.active or self._is_collected(argument):
                continue
            if argument in kept:
                ct = self._call(add, kept[argument], ct, origin=kept[argument].origin)
            kept[argument] = ct
        return kept

    def _uncollect(self, rows: Value, array: Value, ct: Value, kept: Cotangents) -> None:
        """Cotangents of what stands in the rows of an array, as of items of a list: first of all.

        They come from behind the loop, where the list is read.
        """
        made = self.graph.producer.get(array)
        while isinstance(made, Call) and made.op is collected:
            array, value, k = made.operands
            if value in self.active:
                origin = self._named(value, ct)
                at = {"index": Subscript((Slot(0),)), "counts": (), "repeats": False}
                kept[value] = self.reverse.builder.call(gather, (ct, k), origin, **at)[0]
            made = self.graph.producer.get(array)
        if array is rows:
            kept[rows] = ct

    def _turns(
        self, loop: Loop, count: Value | int, cts: Cotangents, then: Finish, peeled: int
    ) -> Block:
        """The block that goes back through `count` whole turns, and then on."""
        facts = self.facts[loop.label]
        mine = {v: ct for v, ct in cts.items() if v in self._carried(facts)}
        if count == 0 or not facts.turns or not mine:
            return then(cts)
        turns = range(len(facts.turns))
        after = [found for turn in turns for found in self._flowing(facts, turn, mine)]
        if self._is_steady(facts, mine, after):
            return self._all_turns(facts, count, mine, after, cts, then)
        if peeled == MOST_PEELED:
            raise Unrollable("what gradients flow to differs from turn to turn")
        if isinstance(count, int):
            return self._single(facts, count, cts, then, peeled)
        return self._if_any(
            loop, count, lambda: self._single(facts, count, cts, then, peeled), lambda: then(cts)
        )

    def _if_any(
        self,
        loop: Loop,
        count: Value,
        some: Callable[[], Block],
        none: Callable[[], Block],
    ) -> Block:
        """The blocks for some whole turns, and for none."""
        if self._is_length(count):
            return some()
        origin = replace(loop.origin, section="backward")
        test = self._call(greater, count, self._number(0), origin=origin)
        blocks = []
        for write in (some, none):
            with self._writing() as builder:
                block = write()
                blocks.append(replace(block, nodes=(*builder.nodes, *block.nodes)))
        return self._ended(Branch(test, "bool", (True, False), tuple(blocks), origin))

    def _is_steady(self, facts: Facts, mine: Cotangents, after: Sequence[Cotangents]) -> bool:
        """Whether a turn leaves cotangents of what has one after it, and of outer values."""
        return all(
            mine.keys() <= found.keys() and not any(v in facts.own for v in found if v not in mine)
            for found in after
        )

    def _all_turns(
        self,
        facts: Facts,
        count: Value | int,
        mine: Cotangents,
        after: Sequence[Cotangents],
        cts: Cotangents,
        then: Finish,
    ) -> Block:
        """A loop over all turns."""

        def some() -> Block:
            begun = self._begun(mine, after)
            return self._loop_back(facts, count, begun, cts, then)

        new = any(found.keys() != mine.keys() for found in after)
        if new and not isinstance(count, int):
            return self._if_any(facts.loop, count, some, lambda: then(cts))
        return some()

    def _begun(self, mine: Cotangents, after: Sequence[Cotangents]) -> Cotangents:
        """The cotangents that the loop over the turns begins with.

        Sums over turns begin with what changes no sum: with zeros where rows are added up (as a
        tape does it), else with -0.0.
        """
        new = {v: ct for found in after for v, ct in found.items() if v not in mine}
        begun = dict(mine)
        for value, ct in new.items():
            self.reverse.stage.origin = self._named(value, ct)
            zeros = zeros_of(self.reverse.staged(value))
            if ct not in self.rows:  # -0.0 + x is x, 0.0 + -0.0 is not
                none = self.reverse.builder.constant(-0.0, replace(ct.type, shape=()))
                zeros = full_of(self.reverse.staged(none), shape=ct.type.shape, dtype=ct.type.dtype)
            else:
                self.empty.add(zeros.value)
            begun[value] = zeros.value
        return begun

    def _ended(self, node: Branch | Loop) -> Block:
        """A block that ends in a node; what was written so far stands before it."""
        return Block((node,))

    def _carried(self, facts: Facts) -> set[Value]:
        """What cotangents go from turn to turn of: the parameters, and what turns read outside."""
        found = {p for p in facts.loop.parameters if p in self.active}
        for again, path in facts.turns:
            for stretch in path:
                nodes: Iterable[Node] = stretch.nodes
                if stretch.loop is not None:
                    nodes = (*nodes, stretch.loop, *walk([stretch.loop]))
                for node in nodes:
                    found.update(v for v in node.operands if v in self.active)
            found.update(v for v in again.arguments if v in self.active)
        return {v for v in found if v not in facts.own or v in facts.loop.parameters}

    def _flowing(self, facts: Facts, turn: int, mine: Cotangents) -> list[Cotangents]:
        """What has a cotangent before a turn, of what has one after it.

        There are several answers where that depends on how often an inner loop runs.
        """
        found: list[Cotangents] = []
        carried = self._carried(facts)

        def finish(cts: Cotangents) -> Block:
            found.append({v: ct for v, ct in cts.items() if v in carried})
            self.rows.update(filter(self._is_of_rows, cts.values()))
            return Block(())

        before, self.dry = self.dry, True
        names = dict(self.reverse.names)
        with self._writing():
            self._back(facts, turn, mine, finish)
        self.dry, self.reverse.names = before, names
        return found

    def _is_of_rows(self, ct: Value) -> bool:
        """Whether a cotangent is zeros with cotangents of rows in their places."""
        made = self.reverse.builder.producer.get(ct)
        added = isinstance(made, Call) and made.op in ADDED_UP
        return added or ct in self.rows or ct in self.empty

    def _back(self, facts: Facts, turn: int, mine: Cotangents, finish: Finish) -> Block:
        """The block that goes back through one turn, over the values of the turn itself."""
        again, path = facts.turns[turn]
        cts = self._handed(facts.loop, again.arguments, mine)
        return self._sweep(path, len(path) - 1, cts, finish)

    def _loop_back(
        self, facts: Facts, count: Value | int, mine: Cotangents, cts: Cotangents, then: Finish
    ) -> Block:
        """A loop over the turns, last to first, and what follows it."""
        loop, label = facts.loop, object()
        origin = replace(loop.origin, section="backward")
        index = loop.counter.index.origin if loop.counter else Origin("turn", True)
        k = Value(INT, replace(index, section="backward"))
        keys = list(mine)
        parameters = {v: Value(mine[v].type, self._named(v, mine[v])) for v in keys}
        self.rows.update(parameters[v] for v in keys if self._is_of_rows(mine[v]))

        def finish(found: Cotangents) -> Block:
            arguments = tuple(found[v] for v in keys)
            for v, argument in zip(keys, arguments, strict=True):
                self._same_type(parameters[v], argument)
            return Block((Again(label, arguments, origin),))

        turn = self._one_turn(facts, k, parameters, finish)
        if self._counts_up(loop):
            empty = {parameters[v] for v in keys if mine[v] in self.empty}
            turn = replace(turn, nodes=self._set_once(turn.nodes, empty, label))
        one, none = self._number(1), self._number(-1)
        start = self._number(count - 1) if isinstance(count, int) else None
        if start is None:
            start = self._call(subtract, count, one)  # type: ignore[arg-type]
        with self._writing() as builder:
            after = then({**cts, **parameters})
            after = replace(after, nodes=(*builder.nodes, *after.nodes))
        arguments = tuple(mine[v] for v in keys)
        counter = Counter(k, start, none, -1)
        names = tuple(parameters[v] for v in keys)
        return self._ended(Loop(label, names, arguments, (turn, after), counter, origin))

    def _counts_up(self, loop: Loop) -> bool:
        """Whether the counter's numbers name different rows of any array."""
        counter = loop.counter
        if counter is None or counter.step < 0:
            return False
        start = self.graph.constant(counter.start)
        return start is not None and type(start.value) is int and start.value >= 0

    def _set_once(
        self, nodes: Sequence[Node], empty: set[Value], label: object
    ) -> tuple[Node, ...]:
        """The nodes of a turn, which sets rows where it would add to zeros (-0.0 stays so).

        `empty` are parameters that begin as zeros. A row that the counter names is met once; where
        one addition alone is to such a parameter, whose result goes to the next turn as it is,
        nobody else has written there.
        """

        def goes_on(value: Value) -> bool:
            users = (node for node in walk(nodes) if value in node.operands)
            return all(isinstance(node, Again) and node.label is label for node in users)

        reads = [v for node in walk(nodes) for v in node.operands]
        changed: list[Node] = []
        for node in nodes:
            if (
                isinstance(node, Call)
                and node.op in (add_at, subtract_at)
                and node.operands[0] in empty
                and reads.count(node.operands[0]) == 1
                and len(node.operands) == 3
                and node.operands[2] in self.indices
                and goes_on(node.results[0])
            ):
                x, value, index = node.operands
                if node.op is subtract_at:
                    (value,) = self._negated(value, changed)
                node = replace(node, op=set_at, operands=(x, value, index))
            changed.append(node)
        return tuple(changed)

    def _negated(self, value: Value, nodes: list[Node]) -> tuple[Value, ...]:
        builder = Builder(self.graph.sizes)
        results = builder.call(negative, (value,), value.origin)
        nodes += builder.nodes
        return results

    def _named(self, value: Value, ct: Value) -> Origin:
        """The origin of a parameter for the cotangent of a value."""
        name = value.origin.name
        return replace(ct.origin, name=name and f"{name}_bar", final=True, section="backward")

    def _same_type(self, parameter: Value, argument: Value) -> None:
        a, b = parameter.type, argument.type
        same = (a.dtype, a.weak, len(a.shape)) == (b.dtype, b.weak, len(b.shape))
        if not same or not all(map(self.graph.sizes.same, a.shape, b.shape)):
            raise Unrollable(f"a cotangent of type {a} becomes one of type {b}")

    def _single(
        self, facts: Facts, count: Value | int, cts: Cotangents, then: Finish, peeled: int
    ) -> Block:
        """One turn by itself, and the block that follows it."""
        if isinstance(count, int):
            rest: Value | int = count - 1
            k = self._number(count - 1)
        else:
            rest = k = self._call(subtract, count, self._number(1))
        held: dict[Value, Value] = {}  # what is of now, and not of the turn
        cts = {v: self._of_now(facts, ct, held) for v, ct in cts.items()}
        mine = {v: ct for v, ct in cts.items() if v in self._carried(facts)}

        def finish(found: Cotangents) -> Block:
            kept = {v: ct for v, ct in cts.items() if v not in mine}
            return self._turns(facts.loop, rest, {**kept, **found}, then, peeled + 1)

        block = self._one_turn(facts, k, mine, finish)
        return renamed(block, held)

    def _of_now(self, facts: Facts, ct: Value, held: dict[Value, Value]) -> Value:
        """A cotangent that is a value of the turn in which the loop was left, under a name."""
        if ct not in facts.own:
            return ct
        name = Value(ct.type, ct.origin)
        held[name] = ct
        return name

    def _one_turn(self, facts: Facts, k: Value, mine: Cotangents, finish: Finish) -> Block:
        """The block that goes back through turn number `k`, by the way that it went."""
        ways = []
        for turn in range(len(facts.turns)):
            with self._writing() as builder:
                block = self._back(facts, turn, mine, finish)
                block = replace(block, nodes=(*builder.nodes, *block.nodes))
            ways.append(self._restored(facts, k, turn, block))
        if len(ways) == 1:
            return ways[0]
        if facts.which is None and not self.dry:
            facts.which = facts.keeps(Value(LIST, Origin("ways", True)))
        with self._writing() as builder:
            listed = facts.which or Value(LIST)
            two = len(ways) == 2
            way = self._item(listed, k, weak("bool") if two else INT, Origin("way", True))
            outcomes = (True, False) if two else tuple(range(len(ways)))
            origin = replace(facts.loop.origin, section="backward")
            branch = Branch(way, "bool" if two else "int", outcomes, tuple(ways), origin)
            return Block((*builder.nodes, branch))

    # -- what a turn's backward reads -------------------------------------------------------------

    def _restored(self, facts: Facts, k: Value, way: int, block: Block) -> Block:
        """A turn's backward, which reads the turn's values where turn `k` left them."""
        made = {r for node in walk(block.nodes) for r in node.results}
        read = dict.fromkeys(v for v in _read_in(block) if v in facts.own and v not in made)
        new: dict[Value, Value] = {}
        with self._writing() as builder:
            for value in read:
                self._restore(facts, k, way, value, new)
            nodes = tuple(builder.nodes)
        block = renamed(block, new)
        return replace(block, nodes=(*nodes, *block.nodes))

    def _restore(
        self, facts: Facts, k: Value, way: int, value: Value, new: dict[Value, Value]
    ) -> Value:
        """A value of turn `k`: counted, computed again, or taken from the list of its values."""
        if value not in facts.own:
            return value
        if value not in new:
            made = self.graph.producer.get(value)
            counter = facts.loop.counter
            if counter is not None and value is counter.index:
                new[value] = self._index(counter, k)
            elif self._is_free(facts, value):
                new[value] = self._again(facts, k, way, made, new)
            elif (parameter := self._parameter_of(facts, way, value)) is not None:
                new[value] = self._carried_item(facts, k, parameter, value)
            else:
                if value not in facts.saved and not self.dry:
                    facts.saved[value] = facts.keeps(Value(LIST, self._list_name(value)))
                listed = facts.saved.get(value) or Value(LIST)
                new[value] = self._item(listed, k, value.type, value.origin)
        return new[value]

    def _parameter_of(self, facts: Facts, way: int, value: Value) -> Value | None:
        """The parameter that is this value, at the beginning of a turn or of the next one."""
        loop = facts.loop
        given = zip(loop.parameters, loop.arguments, strict=True)
        whole = {p for p, a in given if (a.type.dtype, a.type.weak) == (p.type.dtype, p.type.weak)}
        if value in whole:
            return value
        again = facts.turns[way][0].arguments
        for parameter, argument in zip(loop.parameters, again, strict=True):
            if argument is value and parameter in whole:
                return parameter
        return None

    def _carried_item(self, facts: Facts, k: Value, parameter: Value, value: Value) -> Value:
        """What a parameter was at the beginning of turn `k`, or at its end."""
        if parameter not in facts.carried and not self.dry:
            facts.carried[parameter] = facts.keeps(Value(LIST, self._list_name(parameter)))
        listed = facts.carried.get(parameter) or Value(LIST)
        place = k if value is parameter else self._call(add, k, self._number(1))
        return self._item(listed, place, value.type, value.origin)

    def _list_name(self, value: Value) -> Origin:
        return Origin(f"{value.origin.name or 'value'}_saved", True)

    def _is_free(self, facts: Facts, value: Value) -> bool:
        """Whether a value of a turn costs nothing to compute again."""
        if value not in facts.own or (facts.loop.counter and value is facts.loop.counter.index):
            return True
        made = self.graph.producer.get(value)
        if isinstance(made, Constant):
            return True
        if not isinstance(made, Call):
            return False
        counts = made.op in COUNTING and made.results[0].type == INT
        if not counts and made.op not in FREE:
            return False
        return all(self._is_free(facts, v) for v in made.operands)

    def _again(self, facts: Facts, k: Value, way: int, made: Any, new: dict[Value, Value]) -> Value:
        builder = self.reverse.builder
        if isinstance(made, Constant):
            result = Value(made.result.type, made.result.origin)
            builder.append(replace(made, result=result))
            return result
        operands = tuple([self._restore(facts, k, way, v, new) for v in made.operands])
        origin = replace(made.results[0].origin, section="backward")
        result = Value(made.results[0].type, origin)
        builder.append(replace(made, operands=operands, results=(result,)))
        return result

    def _index(self, counter: Counter, k: Value) -> Value:
        """The counter's number in turn `k`."""
        start = self.graph.constant(counter.start)
        value = k
        if counter.step != 1:
            value = self._call(multiply, value, self._number(counter.step))
        if start is None or start.value != 0:
            first = counter.start if start is None else self._number(start.value)
            origin = replace(counter.index.origin, section="backward")
            value = self._call(add, value, first, origin=origin)
        self.indices.add(value)
        return value

    def _count(self, loop: Loop, in_turn: bool) -> Value | int:
        """How many whole turns there were, on a path that leaves the loop so."""
        facts, counter = self.facts[loop.label], loop.counter
        if counter is not None:
            start, stop = (self.graph.constant(v) for v in (counter.start, counter.stop))
            if not in_turn and start is not None and stop is not None:
                return len(range(start.value, stop.value, counter.step))  # type: ignore[arg-type]
            turns = None if in_turn else self._turns_of(counter)
            if turns is not None:
                return turns
            if in_turn and start is not None:
                done = counter.index
                if start.value != 0:
                    done = self._call(subtract, done, self._number(start.value))
                if counter.step != 1:
                    done = self._call(floor_divide, done, self._number(counter.step))
                return done
        if facts.count is None:
            origin = replace(loop.origin, name="turns", final=True)
            facts.count = facts.keeps(Value(INT, origin))
        return facts.count

    def _turns_of(self, counter: Counter) -> Value | None:
        """The number of turns, where lengths tell it: there is one at least."""
        dims: list[Dim] = []
        for value in (counter.start, counter.stop):
            known, made = self.graph.constant(value), self.graph.producer.get(value)
            if known is not None:
                dims.append(known.value)  # type: ignore[arg-type]
            elif isinstance(made, Call) and made.op is length:
                dims.append(made.attribute("size"))
            else:
                return None
        if abs(counter.step) != 1:
            return None
        size = mul([counter.step, add_dims(dims[1], mul([-1, dims[0]]))])
        return self.reverse.builder.call(length, (), Origin(section="backward"), size=size)[0]

    def _is_length(self, count: Value) -> bool:
        made = self.reverse.builder.producer.get(count)
        return isinstance(made, Call) and made.op is length

    # -- nodes ------------------------------------------------------------------------------------

    def _call(self, op: Any, *operands: Value, origin: Origin | None = None) -> Value:
        origin = origin or Origin(section="backward")
        return self.reverse.builder.call(op, operands, origin)[0]

    def _number(self, number: Any) -> Value:
        return self.reverse.builder.constant(number, INT)

    def _item(self, listed: Value, k: Value, type: Any, origin: Origin) -> Value:
        given = {"dtype": type.dtype, "shape": type.shape, "weak": type.weak}
        origin = replace(origin, section="backward")
        return self.reverse.builder.call(item, (listed, k), origin, **given)[0]


def _giving(block: Block, end: Block) -> Block:
    """A backward whose returns give what the function returns, too."""
    last = block.nodes[-1] if block.nodes else None
    if isinstance(last, Branch | Loop):
        inner = tuple([_giving(b, end) for b in last.blocks])
        return replace(block, nodes=(*block.nodes[:-1], replace(last, blocks=inner)))
    if isinstance(last, Again):
        return block
    return replace(end, nodes=block.nodes, outputs=(*end.outputs, *block.outputs))


def _read_in(block: Block) -> Iterator[Value]:
    """What a block reads, in order."""
    for node in block.nodes:
        yield from node.operands
        for inner in inner_blocks(node):
            yield from _read_in(inner)
    yield from block.outputs
