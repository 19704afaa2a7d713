"""Reverse mode through graphs with loops: gradients at each of their returns.

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

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from codegen.ir import (
    Again,
    Block,
    Branch,
    Builder,
    Call,
    Counter,
    Graph,
    Join,
    Loop,
    Node,
    Origin,
    Value,
    ends,
    renamed,
    walk,
)
from codegen.types import LIST, weak
from tracegrad.differentiation.joined_cotangents import Flow, JoinFacts, Path, Stretch
from tracegrad.differentiation.loops.arms_in_turns import InTurns, read_by_elements
from tracegrad.differentiation.loops.arms_that_end_turns import with_meeting_arms
from tracegrad.differentiation.loops.cotangent_flow import active_values
from tracegrad.differentiation.loops.last_items import with_last_items
from tracegrad.differentiation.loops.list_reads import (
    Cotangents,
    Listing,
    lists_in,
    through_lists,
    without_repeats,
)
from tracegrad.differentiation.loops.negative_zeros import Unchanged
from tracegrad.differentiation.loops.optional_cotangents import Finish, States, Telling
from tracegrad.differentiation.loops.recomputation import made_again, released
from tracegrad.differentiation.loops.residual_reads import Number, Reading
from tracegrad.differentiation.loops.residuals import (
    INT,
    Facts,
    FirstTurn,
    Tapes,
    Unrollable,
    giving,
    made_by,
)
from tracegrad.differentiation.loops.row_cotangents import Turns
from tracegrad.differentiation.loops.rows_of_turns import RowsOfTurns
from tracegrad.differentiation.loops.segments import Segments, has_budgets, times_looked_at
from tracegrad.differentiation.loops.shared_arrays import with_flags, without_joins
from tracegrad.differentiation.reverse_mode import Reverse
from tracegrad.differentiation.ways_back import BOOL, Unjoined, with_shared
from tracegrad.ops.elementwise.ufuncs import add, greater
from tracegrad.ops.python_lists import as_recorded
from tracegrad.ops.shape.indexing import add_at, scattered, set_at, subtract_at
from tracegrad.ops.shape.selection import increased_along, place_along
from tracegrad.ops.staging import Stage

ADDED_UP = frozenset({scattered, add_at, subtract_at, set_at, place_along, increased_along})
"""Ops that put a cotangent together of those of rows."""
MOST_AROUND = 20  # times that a path goes back through each loop, in arms that do not meet
FEW_AROUND = 24  # times that it may do so besides
MOST_PEELED = 4  # turns that stand by themselves before the loop over the rest

NONE = Number(None, 0)

Seeds: TypeAlias = "Callable[[Stage, int, Sequence[Value]], Cotangents]"


def numbered_gradients(
    graph: Graph, wanted: Sequence[Value], seeds: Seeds | None = None, zeros: bool = True
) -> tuple[Graph, list[int]]:
    """The graph whose every return gives the cotangents of `wanted` besides.

    With it, for each of its returns the number of that in the old graph: where whole turns may have
    been made or none, the backward of a return goes two ways. `seeds` writes the cotangents of what
    a return gives, by its number in the order of the graph and by its outputs, which may be other
    values than in the graph; without it that of the first output is 1. Where no cotangent flows
    stand `zeros`, else what is `unset`. Raises `Unrollable` where a loop has no such form.
    """
    graph = with_last_items(through_lists(as_recorded(graph)), wanted)
    graph, labels = with_flags(without_repeats(graph), wanted)
    if labels:
        whole, numbers = _of_each(graph, wanted, seeds, zeros)
        return without_joins(whole, labels), numbers
    return _of_each(graph, wanted, seeds, zeros)


def _of_each(
    graph: Graph, wanted: Sequence[Value], seeds: Seeds | None, zeros: bool
) -> tuple[Graph, list[int]]:
    """`numbered_gradients` of a graph whose loops have an array for each variable."""
    met = with_meeting_arms(graph)
    if met is not graph:
        with suppress(Unrollable):  # else they are gone back through one by one
            return with_shared(lambda shared: _numbered(met, wanted, seeds, zeros, shared))
    return with_shared(lambda shared: _numbered(graph, wanted, seeds, zeros, shared))


def _numbered(
    graph: Graph, wanted: Sequence[Value], seeds: Seeds | None, zeros: bool, shared: Set[Value]
) -> tuple[Graph, list[int]]:
    """`numbered_gradients` of a graph whose lists are gone through."""
    writer = _Writer(graph, wanted, seeds, zeros, shared)
    try:
        whole = writer.whole()
    except (Unjoined, FirstTurn):
        raise
    except Unrollable as error:
        if writer.joins:
            raise Unjoined(None, str(error)) from error
        raise
    if has_budgets(graph):  # now it is known what turns keep
        for parts in (True, False):  # where neither has gradients, loops keep all their turns
            cut = Segments(graph, writer.facts, parts)
            in_segments = _Writer(cut.graph, wanted, seeds, zeros, shared, cut.again, cut.over)
            with suppress(Unrollable):
                whole, writer = in_segments.whole(), in_segments
                break
    several = [len(list(ends(block))) for block in writer.ends.values()]
    return whole, [i for i, count in enumerate(several) for _ in range(count)]


class _Writer(Reading, Telling, Listing, InTurns, RowsOfTurns):
    def __init__(
        self,
        graph: Graph,
        wanted: Sequence[Value],
        seeds: Seeds | None = None,
        zeros: bool = True,
        shared: Set[Value] = frozenset(),
        again: Set[object] = frozenset(),
        over: Set[object] = frozenset(),
    ) -> None:
        self.graph = graph
        self.again = again  # the loops whose turns are made once more
        self.segments = over  # the loops over their segments
        self.seeds = seeds
        self.zeros = zeros
        self.wanted = tuple(wanted)
        self.reverse = Reverse(graph)
        self.facts: dict[object, Facts] = {}
        self.ends: dict[Block, Block] = {}  # the backward behind each return
        self.rows: set[Value] = set()  # cotangents that were put together of rows
        self.empty: set[Value] = set()  # cotangents that are zeros throughout
        self.segmented, self.places = set(), {}
        self.dry = False  # nothing is kept that a look at a turn's backward asks for
        self.around = 0  # how often loops may be gone back through still, below 0
        self.counted, self.teller, self.tells = {}, {}, {}
        self.joins, self.known, self.shared = {}, {}, shared
        self._learn(graph.block, (), ())
        self._learn_lists()
        self.of_elements = set(read_by_elements(graph))
        self.active = active_values(graph, self.wanted)

    def whole(self) -> Graph:
        paths: list[tuple[Block, Path]] = []
        self._collect(self.graph.block, (), [], {}, paths)
        looks = times_looked_at(self.facts.values(), self.segments)
        self.around = -(FEW_AROUND + MOST_AROUND * looks) * len(paths)
        for number, (end, path) in enumerate(paths):
            with self.reverse.stage.apart(self.graph.sizes) as builder:
                if self.seeds is None:
                    cts = {end.outputs[0]: self.reverse.one(end.outputs[0])}
                else:
                    cts = self.seeds(self.reverse.stage, number, end.outputs)
                block = self._from_end(path, Flow(cts), self._each(self._returned))
                block = block.with_nodes((*builder.nodes, *block.nodes))
                self.ends[end] = giving(block, end)
        kept = {label: self._kept(facts) for label, facts in self.facts.items()}
        block = Tapes(self.graph, kept, self.ends, self).rebuilt(self.graph.block, {})
        names = self.reverse.names.items()
        block = renamed(block, {v: Value(v.type, origin) for v, origin in names})
        return self.graph.with_block(block)

    def _learn(self, block: Block, around: tuple[Facts, ...], arms: tuple[JoinFacts, ...]) -> None:
        """Finds the loops and joins of a block, which stands in others."""
        for node in block.nodes:
            if isinstance(node, Loop):
                if arms:
                    raise Unjoined(arms[-1].join.label, "a loop stands in an arm")
                facts = Facts(node, set(made_by(node)), around=around)
                self.facts[node.label] = facts
                self._learn(node.turn, (*around, facts), ())
                if node.after:
                    self._learn(node.after, around, ())
            elif isinstance(node, Join):
                if not around:
                    raise Unjoined(node.label, "arms meet outside of loops")
                made = {r for inner in walk(node.body.nodes) for r in inner.results}
                inside = self.joins[node.label] = JoinFacts(node, arms, made, around)
                self._learn(node.body, around, (*arms, inside))
                self._learn(node.after, around, arms)
            elif isinstance(node, Branch):
                for inner in node.blocks:
                    self._learn(inner, around, arms)

    # -- what there is ----------------------------------------------------------------------------

    def _collect(
        self,
        block: Block,
        before: Path,
        nodes: list[Node],
        heads: dict[object, int],
        paths: list[tuple[Block, Path]],
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
            case Join():
                here = tuple([*nodes, *block.nodes[:-1]])
                inside = (*before, Stretch(here, join=last, in_body=True))
                known = {**heads, last.label: len(inside)}
                self._collect(last.body, inside, [], known, paths)
                self._collect(last.after, (*before, Stretch(here, join=last)), [], heads, paths)
            case Again():
                path = (*before, Stretch((*nodes, *block.nodes[:-1])))
                begun = path[heads[last.label] :]
                if last.label in self.joins:
                    self.joins[last.label].ways[last] = begun
                else:
                    self.facts[last.label].turns.append((last, begun))
            case _:
                paths.append((block, (*before, Stretch((*nodes, *block.nodes)))))

    # -- going back -------------------------------------------------------------------------------

    def _sweep(self, path: Path, at: int, cts: Cotangents, finish: Finish) -> Block:
        """The block that goes back from the end of a stretch to the beginning of the path."""
        return self._go_back(path, at, Flow(cts), self._each(finish))

    def _around(
        self, path: Path, at: int, cts: Cotangents, finish: Finish, maybe: Sequence[Value]
    ) -> Block:
        """Goes back through the loop before a stretch, and what stands before that.

        Of parameters that are `maybe` there is told whether they have a cotangent.
        """
        loop, in_turn = path[at - 1].loop, path[at - 1].in_turn
        assert loop is not None
        self.around += 1
        if self.around > 0:
            raise Unrollable("what gradients flow to depends on many loops")

        def before_the_loop(cts: Cotangents) -> Block:
            return self._sweep(path, at - 1, self._entered(loop, cts), finish)

        again = loop.label in self.again
        count = self._count(loop, self.facts[loop.label], in_turn, again)
        if not again or self.dry:
            return self._turns(loop, count, cts, before_the_loop, 0, maybe)
        counter = loop.counter
        assert counter is not None
        with self.reverse.stage.apart(self.graph.sizes) as builder:
            block = self._turns(loop, count, cts, before_the_loop, 0, maybe)
        block = block.with_nodes((*builder.nodes, *block.nodes))
        stop = counter.index if in_turn else counter.stop
        return made_again(self.graph, self.facts, self, loop, stop, block)

    def _kept(self, facts: Facts) -> Facts:
        """What the forward keeps of a loop: nothing of turns that are made once more."""
        labels = (facts.loop.label, *(other.loop.label for other in facts.around))
        if self.again.isdisjoint(labels):
            return facts
        return replace(facts, saved={}, carried={}, which=None)

    def _through(self, nodes: Sequence[Node], cts: Cotangents) -> Cotangents:
        """Cotangents before straight code, of those after it."""
        listed = lists_in(nodes)
        if listed:
            at = next(i for i, node in enumerate(nodes) if node is listed[-1])
            cts = self._unlisted(listed[-1], self._through(nodes[at + 1 :], cts))
            return self._through(nodes[:at], cts)
        grown = self._listed(nodes)
        if grown is not None:
            cts = self._through(nodes[grown[0] + 1 :], cts)
            before = nodes[: grown[0]]
            return self._through(before, self._as_listed(grown[1], before, cts))
        items = self._items(nodes)
        if whole := self._read_whole(nodes, items, cts):
            at, behind = whole
            cts = self._through([*behind, *nodes[at + 1 :]], cts)
            return self._through(nodes[:at], self._through(nodes[at : at + 1], cts))
        nodes = [node for node in nodes if not any(node is item for item in items)]
        made = {result for node in nodes for result in node.results}
        calls = [node for node in nodes if isinstance(node, Call)]
        read = [self.reverse.array_of(v) for call in calls for v in call.operands]
        asked = [v for v in dict.fromkeys((*cts, *read)) if v not in made and v in self.active]
        plain = {v: ct for v, ct in cts.items() if v not in self.tells}

        run = partial(self._straight_through, nodes, asked)
        begun = self._loaded(items, plain, nodes, lambda: run(plain))
        return self._told(cts, self._stored(items, run({**plain, **begun}), begun))

    def _entered(self, loop: Loop, cts: Cotangents) -> Cotangents:
        """Cotangents of parameters go to the first arguments.

        Raises `FirstTurn` where one of these has a cotangent from elsewhere.
        """
        known = {v for v in cts if v not in loop.parameters}
        self._require_one_begin(loop, cts)
        for parameter, argument in zip(loop.parameters, loop.arguments, strict=True):
            if parameter in cts and argument in self.active and not self._is_collected(argument):
                if argument in known:
                    raise FirstTurn(loop.label)
                known.add(argument)
        return self._handed(loop, loop.arguments, cts)

    def _handed(self, loop: Loop, arguments: Sequence[Value], cts: Cotangents) -> Cotangents:
        """Cotangents of a loop's parameters as those of what they were given."""
        kept = {
            v: ct
            for v, ct in cts.items()
            if v not in loop.parameters and self.tells.get(v) not in loop.parameters
        }
        before = dict(kept)
        begun, entered = self.begun.get(loop.label, ()), arguments is loop.arguments
        given = dict(zip(loop.parameters, arguments, strict=True))
        for parameter, argument in given.items():
            if parameter in cts and self._is_collected(argument):
                known = {
                    given[p]
                    for b in begun
                    if b.rows is parameter
                    for p in (b.parameters[: b.before] if entered else b.parameters)
                    if p in cts
                }
                self._uncollect(parameter, argument, cts[parameter], kept, known)
        for parameter, argument in zip(loop.parameters, arguments, strict=True):
            ct = cts.get(parameter)
            if ct is None or argument not in self.active or self._is_collected(argument):
                continue
            teller = self.teller.get(parameter)
            if argument in kept:
                ct = self._call(add, kept[argument], ct, origin=kept[argument].origin)
                kept.pop(self._teller(argument), None)
            elif teller in cts:  # it has one where the parameter has
                kept[self._teller(argument)] = cts[teller]
            kept[argument] = ct
        return {**kept, **self._told(before, {v: kept[v] for v in before if v in kept})}

    def _turns(
        self,
        loop: Loop,
        count: Number,
        cts: Cotangents,
        then: Finish,
        peeled: int,
        maybe: Sequence[Value] = (),
    ) -> Block:
        """The block that goes back through `count` whole turns, and then on."""
        facts = self.facts[loop.label]
        mine = {v: ct for v, ct in cts.items() if v in self._carried(facts)}
        if count == NONE or not facts.turns or not mine:
            return then(cts)
        if not peeled or loop.label not in self.begun:
            cts = self._begin_with_rows(facts, count, cts)
            mine = {v: ct for v, ct in cts.items() if v in self._carried(facts)}
        told = {**mine, **self._telling(mine, cts)}
        if maybe:
            unsure = self._unsure(facts, mine, maybe)
            if unsure is not None:
                return self._some_turns(facts, count, *unsure, cts, then)
            return self._in_each(
                self._as_told(cts, maybe),
                lambda cts: self._turns(loop, count, cts, then, peeled),
            )
        if not self._lacking(facts, (self._dim(count + -1), self._dim(count)), told):
            turns = range(len(facts.turns))
            after = [found for turn in turns for found in self._flowing(facts, turn, mine)]
            if self._is_steady(facts, mine, after):
                return self._all_turns(facts, count, mine, after, cts, then)
            found = self._from_nothing(facts, mine)
            if found is not None:
                return self._all_turns(facts, count, mine, found, cts, then)
            unsure = self._unsure(facts, mine)
            if unsure is not None:
                return self._some_turns(facts, count, *unsure, cts, then)
        if peeled == MOST_PEELED:
            raise Unrollable("what gradients flow to differs from turn to turn")
        if count.value is None:
            return self._single(facts, count, cts, then, peeled)
        return self._if_any(
            loop, count, lambda: self._single(facts, count, cts, then, peeled), lambda: then(cts)
        )

    def _if_any(
        self,
        loop: Loop,
        count: Number,
        some: Callable[[], Block],
        none: Callable[[], Block],
    ) -> Block:
        """The blocks for some whole turns, and for none."""
        if self._least(count) > 0:
            return some()
        origin = replace(loop.origin, section="backward")
        assert count.value is not None
        test = self._call(greater, count.value, self._number(-count.plus), origin=origin)
        blocks = []
        for write in (some, none):
            with self.reverse.stage.apart(self.graph.sizes) as builder:
                block = write()
                blocks.append(block.with_nodes((*builder.nodes, *block.nodes)))
        return self._ended(Branch(test, "bool", (True, False), tuple(blocks), origin))

    def _is_steady(self, facts: Facts, mine: Cotangents, after: Sequence[Cotangents]) -> bool:
        """Whether a turn leaves cotangents of what has one after it, and of outer values."""
        return all(
            mine.keys() <= found.keys() and not any(v in facts.own for v in found if v not in mine)
            for found in after
        )

    def _from_nothing(self, facts: Facts, mine: Cotangents) -> list[Cotangents] | None:
        """What has a cotangent before a turn where those that are missing behind it are -0.0.

        None where that changes more than sums.
        """
        turns, begun = range(len(facts.turns)), dict(mine)
        for _ in range(MOST_PEELED):
            after = [found for turn in turns for found in self._flowing(facts, turn, begun)]
            if self._is_steady(facts, begun, after):
                new = {v: ct for v, ct in begun.items() if v not in mine}
                if facts.loop.label in self.segments:
                    return after if self._is_nothing_in_turns(facts, mine) else None
                if all(self._is_unchanged(facts, turn, mine, new) for turn in turns):
                    return after
                return None
            for found in after:
                for value, ct in found.items():
                    if value in facts.own:
                        begun.setdefault(value, Value(ct.type, ct.origin))
        return None

    def _is_nothing_in_turns(self, facts: Facts, mine: Cotangents) -> bool:
        """Whether that is so of the loop in segments, in the last of which all begin."""
        (again, path), *_ = facts.turns
        loop = path[0].loop
        assert loop is not None
        cts = self._handed(facts.loop, again.arguments, mine)
        inner = self.facts[loop.label]
        begun = {v: ct for v, ct in cts.items() if v in self._carried(inner)}
        return self._from_nothing(inner, begun) is not None

    def _is_unchanged(self, facts: Facts, turn: int, mine: Cotangents, new: Cotangents) -> bool:
        """Whether a turn's backward computes the same with some cotangents as without them."""
        with_them = self._looked_at(facts, turn, {**mine, **new})
        without = self._looked_at(facts, turn, mine)
        same = Unchanged(self.graph.sizes, {*new.values()})
        return with_them[1] == without[1] and same.by(with_them[0], without[0])

    def _looked_at(
        self, facts: Facts, turn: int, mine: Cotangents, without: Value | None = None
    ) -> tuple[Block, list[Value]]:
        """A turn's backward, of which nothing is kept, and to what it has cotangents flow.

        That of the one it is `without` is not looked at, but what tells of the others is.
        """
        flows: list[Value] = []
        carried = [v for v in self._carried(facts) if v is not without]

        def finish(cts: Cotangents) -> Block:
            here = [v for v in carried if v in cts]
            if without is not None:
                here += self._telling(dict.fromkeys(here, without), cts)
            flows.extend(here)
            return Block((), tuple([cts[v] for v in here]))

        with self._dry() as builder:
            block = self._back(facts, turn, mine, finish)
        return block.with_nodes((*builder.nodes, *block.nodes)), flows

    @contextmanager
    def _dry(self) -> Iterator[Builder]:
        """What is written is only looked at."""
        before, self.dry = self.dry, True
        names = dict(self.reverse.names)
        try:
            with self.reverse.stage.apart(self.graph.sizes) as builder:
                yield builder
        finally:
            self.dry, self.reverse.names = before, names

    def _all_turns(
        self,
        facts: Facts,
        count: Number,
        mine: Cotangents,
        after: Sequence[Cotangents],
        cts: Cotangents,
        then: Finish,
    ) -> Block:
        """A loop over all turns."""

        def some() -> Block:
            begun = self._begun(facts, mine, after)
            maybe = self._maybe(facts, mine, begun)
            states = self._after(facts, {v: ct for v, ct in begun.items() if v not in maybe}, maybe)
            begun.update((self._teller(value), self._holding(False)) for value in maybe)
            begun.update(self._telling(mine, cts))
            self._require_rows(facts, count, begun)
            met = self._where_met(facts, maybe, states, then)
            return self._loop_back(facts, count, begun, cts, met)

        new = any(found.keys() != mine.keys() for found in after)
        if new and count.value is not None:
            return self._if_any(facts.loop, count, some, lambda: then(cts))
        return some()

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
                if stretch.join is not None and not stretch.in_body:
                    nodes = (*nodes, *walk(stretch.join.body.nodes))
                for node in nodes:
                    found.update(v for v in node.operands if v in self.active)
            found.update(v for v in again.arguments if v in self.active)
        return {v for v in found if v not in facts.own or v in facts.loop.parameters}

    def _flowing(
        self, facts: Facts, turn: int, mine: Cotangents, sure: bool = False
    ) -> list[Cotangents]:
        """What has a cotangent before a turn, of what has one after it.

        There are several answers where that depends on how often an inner loop runs. What may have
        one is left out where only what is sure is asked for.
        """
        found: list[Cotangents] = []
        carried = self._carried(facts)

        def finish(cts: Cotangents) -> Block:
            self.rows.update(filter(self._is_of_rows, cts.values()))
            unsure = {v for v, key in self.teller.items() if sure and key in cts}
            found.append({v: ct for v, ct in cts.items() if v in carried and v not in unsure})
            return Block(())

        with self._dry():
            self._back(facts, turn, mine, finish)
        return found

    def _is_of_rows(self, ct: Value) -> bool:
        """Whether a cotangent is zeros with cotangents of rows in their places."""
        made = self.reverse.builder.producer.get(ct)
        added = isinstance(made, Call) and made.op in ADDED_UP
        return added or ct in self.rows or ct in self.empty

    def _back(
        self,
        facts: Facts,
        turn: int,
        mine: Cotangents,
        finish: Finish,
        unsure: Sequence[Value] = (),
    ) -> Block:
        """The block that goes back through one turn, over the values of the turn itself.

        Of parameters that are `unsure` it is told whether they have a cotangent.
        """
        again, path = facts.turns[turn]
        loop = facts.loop
        cts = self._handed(loop, again.arguments, mine)
        self._begin_turn_with_rows(loop, again.arguments, mine, cts)
        if not unsure:
            return self._from_end(path, Flow(cts), self._each(finish))
        given = zip(loop.parameters, again.arguments, strict=True)
        flow = self._as_told(cts, [argument for p, argument in given if p in unsure])
        return self._from_end(
            path,
            flow,
            lambda flow: self._with_tellers(flow, unsure, lambda cts, _: finish(cts)),
        )

    def _loop_back(
        self,
        facts: Facts,
        count: Number,
        mine: Cotangents,
        cts: Cotangents,
        then: Finish,
        unsure: Sequence[Value] = (),
        states: States = frozenset(),
    ) -> Block:
        """A loop over the turns, last to first, and what follows it.

        Parameters that are `unsure` may have no cotangent in a turn, in one of `states`.
        """
        loop, label = facts.loop, object()
        origin = replace(loop.origin, section="backward")
        named = loop.counter.index.origin if loop.counter else Origin("turn", True)
        index = Value(INT, replace(named, section="backward"))
        begin = self._first_number(loop)
        k = Number(index, -begin, count.minus)
        keys = list(mine)
        parameters = {v: Value(mine[v].type, self._named(v, mine[v])) for v in keys}
        parameters.update((v, Value(BOOL, v.origin)) for v in keys if v in self.tells)
        self.rows.update(parameters[v] for v in keys if self._is_of_rows(mine[v]))
        if loop.label in self.segments:  # whose turns meet other rows than those of others
            begun = [parameters[v] for v in keys if mine[v] in self.empty]
            self.empty.update(begun)
            self.segmented.update(begun)

        lists = [v for v in keys if v in self.lists]
        for v in lists:
            self._enter_rows(loop, v, mine[v], parameters[v])
        met: list[Cotangents] = []

        def finish(found: Cotangents) -> Block:
            for v in unsure:  # what is not there is not read
                found = {self.teller[v]: self._holding(v in found), v: parameters[v], **found}
            for v in keys:
                if v in self.tells and v not in found:  # it has one for sure
                    found = {v: self._holding(True), **found}
            arguments = tuple(found[v] for v in keys)
            met.append(found)
            for v, argument in zip(keys, arguments, strict=True):
                self._same_type(parameters[v], argument)
                if self._is_of_rows(argument):
                    self.rows.add(parameters[v])
            return Block((Again(label, arguments, origin),))

        with self.reverse.stage.apart(self.graph.sizes) as builder:
            turn = self._turn_of_some(facts, k, parameters, finish, unsure, states)
        turn = turn.with_nodes((*builder.nodes, *turn.nodes))
        for v in lists:
            after_turns = [found[v] for found in met]
            self._leave_rows(loop, self._dim(count), mine[v], parameters[v], after_turns)
        self.empty.difference_update(parameters.values())
        counted = Turns(turn.nodes, label, index, begin, self._least(count))
        if loop.counter:
            self.places.update(self._met_in_turns(counted, parameters, mine))
        with self.reverse.stage.apart(self.graph.sizes) as builder:
            after = then({**cts, **parameters})
            after = after.with_nodes((*builder.nodes, *after.nodes))
        if loop.counter:
            turn = turn.with_nodes(self._by_rows(counted, count, parameters, mine, after))
        first, before = self._written(count + (begin - 1)), self._number(begin - 1)
        if count.minus is not None:  # the user's numbers
            first = self._written(Number(count.value, count.plus - 1))
            before = self._written(Number(count.minus, -1))
        arguments = tuple(mine[v] for v in keys)
        counter = Counter(index, first, before, -1, self._told_backward(loop, k))
        names = tuple(parameters[v] for v in keys)
        back = Loop(label, names, arguments, (turn, after), counter, origin)
        if loop.label in self.segments and not self.dry:
            back = released(self.graph, facts, back, index)
        return self._ended(back)

    def _first_number(self, loop: Loop) -> int:
        """The number that a loop that goes back ends with: the user's, where they are known."""
        if loop.counter is None or loop.counter.step != 1:
            return 0
        start = self.graph.constant(loop.counter.start)
        return 0 if start is None else start.value  # type: ignore[return-value]

    def _require_rows(self, facts: Facts, count: Number, begun: Cotangents) -> None:
        """Raises `Unrollable` where turns need items that may have no cotangent."""
        if self._lacking(facts, (0, self._dim(count)), begun):
            raise Unrollable("gradients flow to some items of a list alone")

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
        self, facts: Facts, count: Number, cts: Cotangents, then: Finish, peeled: int
    ) -> Block:
        """One turn by itself, and the block that follows it."""
        k = count + -1
        held: dict[Value, Value] = {}  # what is of now, and not of the turn
        rest = k if k.value is None else replace(k, value=self._of_now(facts, k.value, held))
        cts = {v: self._of_now(facts, ct, held) for v, ct in cts.items()}
        mine = {v: ct for v, ct in cts.items() if v in self._carried(facts)}
        told = {**mine, **self._telling(mine, cts)}
        turn = self._dim(rest), self._dim(count)
        for rows in self._lacking(facts, turn, told):
            self._require_none(facts.loop, rows, turn, mine[rows])
            del mine[rows]
            if any(begun.rows is rows for begun in self.begun.get(facts.loop.label, ())):
                raise Unrollable("gradients flow to some items of a list alone")
        mine.update(self._telling(mine, cts))

        def finish(found: Cotangents) -> Block:
            found = {**{v: ct for v, ct in cts.items() if v not in mine}, **found}
            turns = self._turns(facts.loop, rest, found, then, peeled + 1)
            return self._of_other_turns(facts.loop, found, turns)

        block = self._one_turn(facts, k, mine, finish)
        return renamed(block, held)

    def _of_now(self, facts: Facts, value: Value, held: dict[Value, Value]) -> Value:
        """What is a value of the turn in which the loop was left, its number too, under a name."""
        if value not in facts.own:
            return value
        name = Value(value.type, value.origin)
        held[name] = value
        return name

    def _one_turn(
        self,
        facts: Facts,
        k: Number,
        mine: Cotangents,
        finish: Finish,
        unsure: Sequence[Value] = (),
    ) -> Block:
        """The block that goes back through turn number `k`, by the way that it went."""
        ways = []
        for turn in range(len(facts.turns)):
            with self.reverse.stage.apart(self.graph.sizes) as builder:
                block = self._back(facts, turn, mine, finish, unsure)
                block = block.with_nodes((*builder.nodes, *block.nodes))
            ways.append(self._restored(facts, k, turn, block))
        if len(ways) == 1:
            return ways[0]
        if facts.which is None and not self.dry:
            facts.which = facts.keeps(Value(LIST, Origin("ways", True)))
        with self.reverse.stage.apart(self.graph.sizes) as builder:
            listed = facts.which or Value(LIST)
            two = len(ways) == 2
            way = self._item(
                listed, self._written(k), weak("bool") if two else INT, Origin("way", True)
            )
            outcomes = (True, False) if two else tuple(range(len(ways)))
            origin = replace(facts.loop.origin, section="backward")
            branch = Branch(way, "bool" if two else "int", outcomes, tuple(ways), origin)
            return Block((*builder.nodes, branch))
