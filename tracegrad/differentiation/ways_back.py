"""Goes back through the ifs of a graph whose arms meet.

A path goes through joins, each by one of several ways. Its backward goes the same way back: the
code behind a join, then the same ``if`` with a way in each of its arms, then what was before; so
what stands once in the forward stands once in the backward. What a way back reads that an arm has
made is a further parameter of the join.

"No cotangent" is not zero, and of the elements of an array those that nobody has met yet are set,
not added to. Where some ways back give a value a cotangent (or meet an element) and others do not,
a number of the program tells whether they did; what comes to it next is written for both, in the
arms of an ``if``.

What an arm hands on may be read behind the join under its own name, too (``y = max(a, b)``, then
``a - y``). It is one array: what flows to both names is added up in the order of the readers. So
the way back through the readers of the parameter stands in arms by itself, in each of which it adds
to the cotangent of what the parameter is there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias, TypeVar

from codegen.ir import (
    Again,
    Block,
    Branch,
    Builder,
    Call,
    Graph,
    Join,
    Node,
    Origin,
    Value,
    ends,
    renamed,
    walk,
    with_blocks,
)
from codegen.spelling import Subscript
from codegen.types import weak
from tracegrad.differentiation.joined_cotangents import (
    Flow,
    Given,
    JoinFacts,
    Path,
    Told,
    Zeros,
)
from tracegrad.differentiation.loops.residuals import Unrollable
from tracegrad.differentiation.reverse_mode import Reverse
from tracegrad.differentiation.scattered_places import (
    ALL,
    WHOLE,
    Element,
    Mixed,
    Places,
    index_of,
    is_single,
    name_of,
)
from tracegrad.differentiation.steps import moves
from tracegrad.ops.elementwise.ufuncs import logical_not
from tracegrad.ops.index_bounds import apart
from tracegrad.ops.python_lists import unset_like
from tracegrad.ops.shape.creation import zeros_of
from tracegrad.ops.shape.indexing import READING, Scattered
from tracegrad.ops.staging import Stage, Staged

MOST_TOLD = 3  # of what a step of the backward depends on
MOST_PARTS = 16  # slices and the like, of one array, that paths have met
MOST_KNOWN = 4  # joins one of whose ways a step of the backward stands for
BOOL = weak("bool")


class Unjoined(Unrollable):
    """A join whose backward cannot be written; `label` is its label."""

    def __init__(self, label: object, why: str) -> None:
        super().__init__(why)
        self.label = label


class ReadTwice(Unjoined):
    """Arms hand on to these `parameters` what is read behind them under another name too."""

    def __init__(self, label: object, parameters: Set[Value]) -> None:
        super().__init__(label, "what arms hand on is read behind them under another name too")
        self.parameters = parameters


Written = TypeVar("Written")


def with_shared(write: Callable[[Set[Value]], Written]) -> Written:
    """What is written of the parameters that turn out to be read under other names too.

    Where that fails for no join in particular, the first one with such a parameter is told, so that
    its arms alone stay apart.
    """
    shared: Set[Value] = frozenset()
    first: ReadTwice | None = None
    while True:
        try:
            return write(shared)
        except ReadTwice as error:
            if error.parameters <= shared:
                raise
            shared |= error.parameters
            first = first or (error if error.label is not None else None)
        except (Mixed, Unjoined) as error:
            if first is None or getattr(error, "label", None) is not None:
                raise
            raise first from error


@dataclass(frozen=True)
class Apart:
    """A forward that keeps what its backwards read, and for each of its returns the backward.

    A backward goes from `cotangents` of the outputs that have one to those of what was wanted, with
    nothing (`unset`) where none has flowed. `absent` are parameters of the forward that have no
    value on some path.
    """

    forward: Graph
    backwards: tuple[Block, ...]
    cotangents: tuple[Mapping[Value, Value], ...]
    absent: Set[Value] = frozenset()


def cotangents_of(
    graph: Graph, active: Set[Value], some: Mapping[int, Collection[Value]]
) -> tuple[dict[Value, Value], ...]:
    """For each return, what stands for cotangents of those of its outputs that are `active`.

    Of returns in `some` that is so of these outputs alone; of inputs among these it is what they
    have had before.
    """
    inputs = set(graph.inputs)
    outputs = [
        dict.fromkeys([*end.outputs, *filter(inputs.__contains__, some.get(i, ()))])
        for i, end in enumerate(ends(graph.block))
    ]
    found = [
        [v for v in values if v in active and moves(v) and v in some.get(i, values)]
        for i, values in enumerate(outputs)
    ]
    return tuple(
        {v: Value(v.type, Origin(f"ct{k}", True)) for k, v in enumerate(values)} for values in found
    )


Then: TypeAlias = "Callable[[Flow], Block]"
Looks: TypeAlias = "tuple[tuple[Value, object], ...]"
"""What a way through a body has looked at, and the outcomes."""
Way: TypeAlias = "Callable[[Again, Looks], Block]"


class WaysBack:
    """What goes back through joins, on the way of a path.

    `shared` are parameters of joins that are read behind them under another name, too. `known` are
    the joins of which one way is gone back through, before their bodies are.
    """

    graph: Graph
    reverse: Reverse
    active: set[Value]
    joins: dict[object, JoinFacts]
    shared: Set[Value]
    known: dict[object, Again]

    def _run(self, nodes: Sequence[Node], flow: Flow) -> Flow:
        """Cotangents before straight code, of those after it; nothing in it depends on numbers."""
        raise NotImplementedError

    def _before_loop(self, path: Path, at: int, flow: Flow, finish: Then) -> Block:
        """Goes back through a loop that stands before a stretch."""
        raise NotImplementedError

    def _in_arm(self, facts: JoinFacts, path: Path, block: Block) -> Block:
        """The way back through an arm."""
        return block

    def _absent(self, builder: Builder, parameter: Value) -> Value:
        """What stands for a value of a body on ways that do not make it."""
        return unset_like(builder, parameter, parameter.origin)

    def _leaves(self, flow: Flow) -> None:
        """A path has come to where it meets others."""

    def _meets(self, flow: Flow, met: Met) -> None:
        """Paths have met: what is known of the cotangents that they handed on."""

    def _go_back(self, path: Path, at: int, flow: Flow, finish: Then) -> Block:
        """The block that goes back from the end of a stretch to the beginning of the path."""

        def rest(flow: Flow) -> Block:
            if at == 0:
                return finish(flow)
            join = path[at - 1].join
            if join is None:
                return self._before_loop(path, at, flow, finish)
            if path[at - 1].in_body:
                return self._go_back(path, at - 1, flow, finish)
            facts = self.joins[join.label]
            return self._ways_back(
                facts, flow, lambda flow: self._go_back(path, at - 1, flow, finish)
            )

        return self._straight(path[at].nodes, flow, rest)

    def _straight(self, nodes: Sequence[Node], flow: Flow, then: Then) -> Block:
        """Goes back through straight code, where numbers tell what there is in arms of its own.

        So is where what is read may be an array that others read, too.
        """
        if shared := self._shared_in(nodes):
            facts, begin, end = shared
            return self._straight(
                nodes[end:],
                flow,
                lambda flow: self._in_each_way(
                    facts,
                    flow,
                    lambda flow, leave: self._straight(nodes[begin:end], flow, leave),
                    lambda flow: self._straight(nodes[:begin], flow, then),
                ),
            )
        steps = [n for n in nodes if isinstance(n, Call) and self._flows(n)]
        asked = self._asked(steps, flow)
        last = next((i for i in reversed(range(len(steps))) if asked[i]), None)
        if last is None:
            return then(self._run(nodes, flow))
        end = nodes.index(steps[last]) + 1
        flow = self._run(nodes[end:], flow)
        first = last
        while first and self._goes_with(steps, first, asked, asked[last], flow):
            first -= 1
        begin = nodes.index(steps[first])
        part = nodes[begin:end]
        return self._split(
            asked[last],
            flow,
            lambda flow: self._run(part, flow),
            lambda flow: self._straight(nodes[:begin], flow, then),
        )

    def _flows(self, call: Call) -> bool:
        return call.op.differentiable and any(v in self.active for v in call.operands)  # type: ignore[attr-defined]

    def _asked(self, steps: Sequence[Call], flow: Flow) -> list[list[Value]]:
        """The numbers that tell what the backward of each step depends on."""
        reached, found = set(flow.cts), list[list[Value]]()
        for step in reversed(steps):
            told: dict[Value, None] = {}
            if not reached.isdisjoint(step.results):
                told.update((flow.told[v].number, None) for v in step.results if v in flow.told)
                for value in map(self.reverse.array_of, step.operands):
                    if value not in self.active:
                        continue
                    reached.add(value)
                    if value in flow.told and not (self._reads_at(step) and flow.is_of_rows(value)):
                        told[flow.told[value].number] = None
                    if flow.maybe.get(value):
                        told.update((x, None) for x in self._elements(step, value, flow))
            found.append([*told])
        return found[::-1]

    def _goes_with(
        self,
        steps: Sequence[Call],
        first: int,
        asked: Sequence[Sequence[Value]],
        told: Sequence[Value],
        flow: Flow,
    ) -> bool:
        """Whether the step before some others goes back in the same arms as they do."""
        if asked[first - 1]:
            return all(number in told for number in asked[first - 1])
        depending = [step for step in steps[first:] if any(v in flow.told for v in step.results)]
        read = {v for step in depending for v in step.operands}
        return any(v in read and v not in flow.cts for v in steps[first - 1].results)

    def _reads_at(self, call: Call) -> Subscript | None:
        """Where a call reads, as lengths and numbers tell; what other calls give is added."""
        x, *arrays = map(self.reverse.staged, call.operands)
        read = Scattered(None, x, tuple(arrays), dict(call.attributes))
        return read.index() if call.op in READING else None

    def _elements(self, call: Call, value: Value, flow: Flow) -> Iterator[Value]:
        """The numbers that tell whether elements were met before that a call reads."""
        index = self._reads_at(call)
        if index is None or not flow.places[value].known:
            return  # what it gives is added, whatever was met
        for element, told in flow.maybe[value].items():
            if not apart(index_of(element), index, lambda: self.graph.sizes):
                yield told.number

    # -- ways back --------------------------------------------------------------------------------

    def _ways_back(self, facts: JoinFacts, flow: Flow, then: Then) -> Block:
        """Goes back through the body of a join, by the way that was taken."""
        join = facts.join
        if not any(p in flow.cts for p in join.parameters):
            return then(flow)

        def way(again: Again, looks: Looks, leave: Then) -> Block:
            path = facts.ways[again]
            with self.reverse.stage.apart(self.graph.sizes) as builder:
                handed = self._handed_on(facts, again, self._as_seen(facts, looks, flow))
                block = self._go_back(path, len(path) - 1, handed, leave)
            return self._in_arm(facts, path, behind(builder, block))

        with self.reverse.stage.apart(self.graph.sizes) as builder:
            block = self._met(
                replace(join.origin, section="backward"),
                lambda leave: self._by_ways(facts, join.body, partial(way, leave=leave)),
                lambda flow: then(self._seen_behind(facts, flow)),
            )
        return self._with_kept(facts, behind(builder, block))

    def _by_ways(self, facts: JoinFacts, block: Block, way: Way, looks: Looks = ()) -> Block:
        """The looks of a body once more, with a way back in each arm."""
        last = block.nodes[-1]
        if isinstance(last, Again):
            return way(last, looks)
        if isinstance(last, Join):
            return self._by_ways(facts, last.after, way, looks)
        assert isinstance(last, Branch)
        label = facts.join.label
        arms = [
            (outcome, inner)
            for outcome, inner in zip(last.outcomes, last.blocks, strict=True)
            if label in self.graph.leads[inner]
        ]
        blocks = [
            self._by_ways(facts, inner, way, (*looks, (last.operand, outcome)))
            for outcome, inner in arms
        ]
        if len(arms) == 1:
            return blocks[0]
        origin = replace(last.origin, section="backward")
        outcomes = tuple([outcome for outcome, _ in arms])
        return Block((Branch(last.operand, last.look, outcomes, tuple(blocks), origin),))

    def _handed_on(self, facts: JoinFacts, again: Again, flow: Flow) -> Flow:
        """Cotangents of a join's parameters as those of what they are on one way."""
        before = flow
        for parameter in facts.join.parameters:
            flow = flow.without(parameter)
        for parameter, argument in zip(facts.join.parameters, again.arguments, strict=True):
            if parameter not in before.cts or argument not in self.active:
                continue
            if self._is_other_name(facts, parameter, argument):
                continue  # on this way it is read as what it is
            if argument in self.shared and self._join_of(argument) not in self.known:
                raise Unjoined(facts.join.label, "an arm hands on what arms in it hand on")
            if argument in flow.cts:
                raise ReadTwice(facts.join.label, self._handing(parameter))
            tables = ("cts", "told", "places", "maybe")
            new: dict[str, Any] = {}
            for name in tables:
                table = getattr(before, name)
                if parameter in table:
                    new[name] = {**getattr(flow, name), argument: table[parameter]}
            flow = replace(flow, **new)
        return flow

    # -- other names ------------------------------------------------------------------------------

    def _handing(self, parameter: Value) -> Set[Value]:
        """A parameter of a join, with those of others that it is handed on to."""
        found, left = {parameter}, [parameter]
        while left:
            value = left.pop()
            for facts in self.joins.values():
                for again in facts.ways:
                    given = zip(facts.join.parameters, again.arguments, strict=True)
                    new = {p for p, x in given if x is value and p not in found}
                    found |= new
                    left += new
        return found

    def _join_of(self, parameter: Value) -> object:
        """The label of the join whose parameter it is."""
        return next(x for x, facts in self.joins.items() if parameter in facts.join.parameters)

    def _is_other_name(self, facts: JoinFacts, parameter: Value, argument: Value) -> bool:
        """Whether a shared parameter is on a way what was there before the join."""
        return parameter in self.shared and argument not in facts.made

    def _shared_in(self, nodes: Sequence[Node]) -> tuple[JoinFacts, int, int] | None:
        """The last join of which code reads shared parameters, and where it does, first to last."""
        for facts in reversed([*self.joins.values()] if self.shared else []):
            mine = self.shared.intersection(facts.join.parameters)
            if not mine or facts.join.label in self.known:
                continue
            at = [
                i
                for i, node in enumerate(nodes)
                if isinstance(node, Call)
                and self._flows(node)
                and not mine.isdisjoint(map(self.reverse.array_of, node.operands))
            ]
            if at:
                return facts, at[0], at[-1] + 1
        return None

    def _in_each_way(
        self,
        facts: JoinFacts,
        flow: Flow,
        run: Callable[[Flow, Then], Block],
        then: Then,
        moved: bool = False,
    ) -> Block:
        """Goes on for each way through a join by itself, as what its parameters are there.

        What shared parameters have by then stays theirs, or is `moved` to what they are.
        """
        join = facts.join
        if len(self.known) == MOST_KNOWN:
            raise Unjoined(join.label, "what arms hand on may be one of many")

        def way(again: Again, looks: Looks, leave: Then) -> Block:
            given = zip(join.parameters, again.arguments, strict=True)
            names = {p: x for p, x in given if self._is_other_name(facts, p, x)}
            here = self._as_seen(facts, looks, flow)
            for parameter, argument in names.items():
                if moved and parameter in here.cts:
                    if argument in here.cts:
                        raise Unjoined(join.label, "two names of an array are handed on")
                    here = here.renamed(parameter, argument)
                here = here.without(parameter)
            known, arrays = self.known, self.reverse.arrays
            self.known = {**known, join.label: again}
            self.reverse.arrays = {**arrays, **names}
            try:
                with self.reverse.stage.apart(self.graph.sizes) as builder:
                    block = run(here, leave)
            finally:
                self.known, self.reverse.arrays = known, arrays
            return behind(builder, block)

        with self.reverse.stage.apart(self.graph.sizes) as builder:
            block = self._met(
                replace(join.origin, section="backward"),
                lambda leave: self._by_ways(facts, join.body, partial(way, leave=leave)),
                lambda flow: then(self._seen_behind(facts, flow)),
            )
        return self._with_kept(facts, behind(builder, block))

    def _from_end(self, path: Path, flow: Flow, finish: Then) -> Block:
        """The block that goes back from the end of a path.

        Cotangents that shared parameters have there become those of what they are.
        """
        for facts in reversed([*self.joins.values()] if self.shared else []):
            if any(p in self.shared and p in flow.cts for p in facts.join.parameters):
                return self._in_each_way(
                    facts,
                    flow,
                    lambda flow, leave: leave(flow),
                    lambda flow: self._from_end(path, flow, finish),
                    moved=True,
                )
        return self._go_back(path, len(path) - 1, flow, finish)

    def _as_seen(self, facts: JoinFacts, looks: Looks, flow: Flow) -> Flow:
        """The cotangents of shared parameters, where looks of a body have these outcomes."""
        for value in self.shared.intersection(facts.join.parameters):
            told = flow.told.get(value)
            for number, outcome in looks:
                same = told and told.number in (number, facts.kept.get(number))
                if told and same and type(outcome) is bool:
                    flow = flow.sure(value) if told.where is outcome else flow.without(value)
                    break
        return flow

    def _require_told(self, before: Flow, after: Flow) -> None:
        """Raises `Unjoined` where something flows to a shared parameter under its own name.

        It may on ways that have made what it is.
        """
        for value in self.shared:
            if after.cts.get(value) is before.cts.get(value):
                continue
            label = self._join_of(value)
            if label not in self.known or value in self.reverse.arrays:
                raise ReadTwice(label, {value})

    # -- arms of the backward ---------------------------------------------------------------------

    def _split(
        self, told: Sequence[Value], flow: Flow, run: Callable[[Flow], Flow], then: Then
    ) -> Block:
        """Goes on where each of some numbers is true, and where it is not, and then as one."""
        if len(told) > MOST_TOLD:
            raise Unjoined(None, "what gradients flow to depends on many looks")
        if not any(map(flow.depends_on, told)):
            return then(run(flow))

        def arms(left: Sequence[Value], flow: Flow, leave: Then) -> Block:
            left = [number for number in left if flow.depends_on(number)]
            if not left:
                with self.reverse.stage.apart(self.graph.sizes) as builder:
                    block = leave(run(flow))
                return behind(builder, block)
            number, *rest = left
            blocks = [arms(rest, flow.knowing(number, holds), leave) for holds in (True, False)]
            return Block((Branch(number, "bool", (True, False), tuple(blocks), origin),))

        origin = replace(told[0].origin, name=None, final=False, section="backward")
        return self._met(origin, lambda leave: arms(told, flow, leave), then)

    def _met(self, origin: Origin, body: Callable[[Then], Block], then: Then) -> Block:
        """A body whose paths leave with cotangents, and what goes on with those of all."""
        label, left = object(), dict[object, Flow]()

        def leave(flow: Flow) -> Block:
            self._leaves(flow)
            path = object()  # until all are known
            left[path] = flow
            return Block((Again(path, (), origin),))

        block = body(leave)
        met = Met(self, [*left.values()], _condition(block))
        flow = met.flow()
        self._meets(flow, met)
        arguments = dict(zip(left, met.arguments, strict=True))
        block = self._given(block, label, arguments, met.parameters, {})
        with self.reverse.stage.apart(self.graph.sizes) as builder:
            after = then(flow)
        after = behind(builder, after)
        parameters = tuple(met.parameters)
        return Block((Join(label, parameters, (block, after), origin),))

    def _given(
        self,
        block: Block,
        label: object,
        arguments: Mapping[object, Sequence[Given]],
        parameters: Sequence[Value],
        looks: Mapping[tuple[str | None, bool], Value],
    ) -> Block:
        """The block whose paths hand on what they have.

        `looks` are the numbers that were looked at on the way, by name and outcome.
        """
        last = block.nodes[-1]
        if isinstance(last, Again) and last.label in arguments:
            builder = Builder(self.graph.sizes)
            given = [
                (isinstance(x, bool) and looks.get((p.origin.name, x)))
                or self._argument(builder, x, p)
                for x, p in zip(arguments[last.label], parameters, strict=True)
            ]
            nodes = (*block.nodes[:-1], *builder.nodes, Again(label, tuple(given), last.origin))
            return block.with_nodes(nodes)
        if not isinstance(last, Branch | Join):
            return block
        inner = []
        for i, within in enumerate(last.blocks):
            known = looks
            if isinstance(last, Branch) and last.look == "bool" and last.operand.type == BOOL:
                key = last.operand.origin.name, bool(last.outcomes[i])
                known = {**looks, key: last.operand}
            inner.append(self._given(within, label, arguments, parameters, known))
        return block.with_nodes((*block.nodes[:-1], with_blocks(last, tuple(inner))))

    def _argument(self, builder: Builder, x: Given, parameter: Value) -> Value:
        if isinstance(x, Value):
            return x
        if isinstance(x, Told):
            if x.where:
                return x.number
            origin = Origin(section="backward")
            return builder.call(logical_not, (x.number,), origin)[0]
        if isinstance(x, Zeros):
            stage = Stage(builder, self._bar(x.of))
            return zeros_of(Staged(stage, x.of)).value  # type: ignore[no-any-return]
        if x is None:
            return unset_like(builder, parameter, parameter.origin)
        return builder.constant(x, BOOL)

    # -- what is kept -----------------------------------------------------------------------------

    def _with_kept(self, facts: JoinFacts, block: Block) -> Block:
        """A block behind a join, which reads what the body made as parameters.

        It ends in a join of the ways back. What stands behind that was written with what can be
        read there (`_seen_behind`).
        """
        *before, met = block.nodes
        assert isinstance(met, Join)
        ways = met.body.with_nodes((*before, *met.body.nodes))
        read = dict.fromkeys(v for n in walk(ways.nodes) for v in n.operands if v in facts.made)
        if not read:
            return block
        with self.reverse.stage.apart(self.graph.sizes) as builder:
            new = {value: self._kept_behind(facts, value) for value in read}
        ways, at = renamed(ways, new), len(before)
        met = with_blocks(met, (ways.with_nodes(ways.nodes[at:]), met.after))
        return behind(builder, block.with_nodes((*ways.nodes[:at], met)))

    def _kept_behind(self, facts: JoinFacts, value: Value) -> Value:
        """What stands behind a join for a value that its body made."""
        constant = self.graph.constant(value)
        if constant is not None:
            again = replace(constant, result=Value(value.type, value.origin))
            self.reverse.builder.append(again)
            return again.result
        if value not in facts.kept:
            known = self._same_parameter(facts, value)
            kept = facts.kept[value] = known or Value(value.type, value.origin)
            for other in facts.around:
                other.made.add(kept)
            for turn in facts.turns:
                turn.own.add(kept)
        return facts.kept[value]

    def _same_parameter(self, facts: JoinFacts, value: Value) -> Value | None:
        """The parameter that is a value of the body wherever there is that value."""
        ways = [again for again, path in facts.ways.items() if value in self._made_on(path)]
        for i, parameter in enumerate(facts.join.parameters):
            if all(again.arguments[i] is value for again in ways):
                return parameter
        return None

    def _seen_behind(self, facts: JoinFacts, flow: Flow) -> Flow:
        """Cotangents as what is behind a join can read them."""

        def of(value: Value) -> Value:
            return self._kept_behind(facts, value) if value in facts.made else value

        cts = {v: of(ct) for v, ct in flow.cts.items()}
        told = {v: Told(of(x.number), x.where) for v, x in flow.told.items()}
        maybe = {
            v: {e: Told(of(x.number), x.where) for e, x in table.items()}
            for v, table in flow.maybe.items()
        }
        return replace(flow, cts=cts, told=told, maybe=maybe)

    def _bar(self, value: Value) -> Origin:
        """The origin of a parameter for the cotangent of a value."""
        name = value.origin.name
        return replace(value.origin, name=name and f"{name}_bar", final=True, section="backward")

    def _made_on(self, path: Path) -> set[Value]:
        """What a way through a body makes."""
        found: set[Value] = set()
        for stretch in path:
            found.update(r for node in stretch.nodes for r in node.results)
            if stretch.join is not None and not stretch.in_body:
                facts = self.joins[stretch.join.label]
                found.update(stretch.join.parameters, facts.kept.values())
        return found

    # -- the forward ------------------------------------------------------------------------------

    def keeping(self, join: Join, blocks: tuple[Block, ...]) -> Join:
        """A join that keeps what is read behind it, with the blocks that it has by now."""
        further = self.joins[join.label].further.values()
        return Join(join.label, (*join.parameters, *further), blocks, join.origin)

    def leaving(self, again: Again) -> list[Node]:
        """The end of a way through a body, which leaves what is kept."""
        facts, builder = self.joins[again.label], Builder(self.graph.sizes)
        there = self._made_on(facts.ways[again])
        kept = [v if v in there else self._absent(builder, p) for v, p in facts.further.items()]
        return [*builder.nodes, Again(again.label, (*again.arguments, *kept), again.origin)]


class Met:
    """Brings together the cotangents of several paths.

    `arguments` are those of each path for the `parameters`.
    """

    def __init__(self, writer: WaysBack, flows: Sequence[Flow], condition: Value | None) -> None:
        self.writer = writer
        self.flows = flows
        self.condition = condition  # that alone decides: the first path is where it is true
        self.parameters: list[Value] = []
        self.arguments: list[list[Given]] = [[] for _ in flows]
        self.numbers: dict[
            tuple[Told | bool, ...], Value
        ] = {}  # the parameters that tell something

    def flow(self) -> Flow:
        """The cotangents behind the paths."""
        cts, told = dict[Value, Value](), dict[Value, Told]()
        places, maybe = dict[Value, Places](), dict[Value, Mapping[Element, Told]]()
        for value in dict.fromkeys(v for flow in self.flows for v in flow.cts):
            found = self._places(value)
            if found is not None:
                places[value], maybe[value] = found
            rows = found is not None and found[0].are_known and found[0].zeros
            cts[value] = self._cotangent(value, Zeros(value) if rows else None)
            number = self._number(
                value, "has", [value in f.cts and f.told.get(value, True) for f in self.flows]
            )
            if isinstance(number, Told):
                told[value] = number
        return Flow(cts, told, places, maybe)

    def _cotangent(self, value: Value, absent: Given) -> Value:
        found = [flow.cts[value] for flow in self.flows if value in flow.cts]
        first = found[0]
        for ct in found:
            self._same_type(first, ct)
        given = [flow.cts.get(value, absent) for flow in self.flows]
        if all(ct is first for ct in given):
            return first
        parameter = Value(first.type, self.writer._bar(value))
        self._hand(parameter, given)
        return parameter

    def _same_type(self, one: Value, other: Value) -> None:
        a, b = one.type, other.type
        same = (a.dtype, a.weak, len(a.shape)) == (b.dtype, b.weak, len(b.shape))
        if not same or not all(map(self.writer.graph.sizes.are_same, a.shape, b.shape)):
            raise Unjoined(None, f"a cotangent is of type {a} on one way and {b} on another")

    def _hand(self, parameter: Value, found: Sequence[Given]) -> None:
        self.parameters.append(parameter)
        for arguments, x in zip(self.arguments, found, strict=True):
            arguments.append(x)

    def _number(self, value: Value, what: str, found: Sequence[Told | bool]) -> Told | bool:
        """What tells on which paths something is so; whether it is, where that is one thing."""
        if all(x == found[0] and type(x) is type(found[0]) for x in found):
            return found[0]
        if self.condition is not None and all(isinstance(x, bool) for x in found):
            return Told(self.condition, found[0] is True)
        if tuple(found) not in self.numbers:
            name = f"{what}_{value.origin.name or 'value'}_bar"
            parameter = Value(BOOL, replace(self.writer._bar(value), name=name))
            self.numbers[tuple(found)] = parameter
            self._hand(parameter, found)
        return Told(self.numbers[tuple(found)], True)

    def _places(self, value: Value) -> tuple[Places, Mapping[Element, Told]] | None:
        """What was met on all paths, and what tells of the rest; None for an array of all else."""
        having = [flow for flow in self.flows if value in flow.cts]
        known = [flow.places.get(value) for flow in having]
        if not any(known):
            return None
        if not any(p and (p.known or p.mixed) for p in known):
            return Places(known=False), {}  # what comes next is added
        every = dict.fromkeys(
            e
            for flow, places in zip(having, known, strict=True)
            for e in (*(places or ALL).met, *flow.maybe.get(value, {}))
        )
        mixed = any(places and places.mixed for places in known)
        if mixed or sum(not is_single(e) for e in every) > MOST_PARTS:
            return Places(mixed=True), {}
        zeros = all(value not in flow.told or flow.is_of_rows(value) for flow in having)
        met, maybe = Places(zeros=zeros), dict[Element, Told]()
        for element in sorted(every, key=lambda e: (e != WHOLE, repr(e))):
            number = self._number(
                value,
                f"met_{name_of(element)}_of",
                [self._is_met(flow, value, element) for flow in self.flows],
            )
            if number is True:
                met.meet(element)
            elif isinstance(number, Told):
                maybe[element] = number
        return met, maybe

    def _is_met(self, flow: Flow, value: Value, element: Element) -> Told | bool:
        if value not in flow.cts:
            return False
        if flow.places.get(value, ALL).has_met(element):
            return True
        return flow.maybe.get(value, {}).get(element, False)


def _condition(block: Block) -> Value | None:
    """What alone decides which of two paths a body takes."""
    last = block.nodes[-1]
    if len(block.nodes) > 1 or not isinstance(last, Branch) or not last.complete:
        return None
    if last.operand.type != BOOL:
        return None  # a number that is not 0
    straight = all(isinstance(b.nodes[-1], Again) for b in last.blocks)
    return last.operand if straight and last.outcomes == (True, False) else None


def behind(builder: Builder, block: Block) -> Block:
    """A block behind the nodes of a builder."""
    return block.with_nodes((*builder.nodes, *block.nodes))
