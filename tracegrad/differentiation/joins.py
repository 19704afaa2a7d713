"""Differentiates a graph with joins: the gradient at each of its returns.

A path to a return goes through joins, each by one of several ways. Its backward goes the same way
back: the code behind a join, then the same ``if`` with a way in each of its arms, then what was
before; so what stands once in the forward stands once in the backward. What a way back reads that
an arm has made is a further parameter of the join (unset where another arm was taken).

"No cotangent" is not zero, and of the elements of an array those that nobody has met yet are set,
not added to. Where some ways back give a value a cotangent (or meet an element) and others do not,
a number of the program tells whether they did; what comes to it next is written for both, in the
arms of an ``if``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
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
    Node,
    Origin,
    Value,
    ends,
    renamed,
    walk,
)
from codegen.spelling import Subscript
from codegen.types import is_inexact, weak
from tracegrad.differentiation.joined_cotangents import Element, Flow, Given, Told, Zeros
from tracegrad.differentiation.loops.gradients import Seeds, giving
from tracegrad.differentiation.loops.list_reads import Unrollable
from tracegrad.differentiation.reverse_mode import Mixed, Places, Reverse, moves
from tracegrad.ops.checkpoint_markers import regions_of
from tracegrad.ops.elementwise.ufuncs import logical_not
from tracegrad.ops.index_bounds import apart
from tracegrad.ops.python_calls import hooked
from tracegrad.ops.python_lists import unset_like
from tracegrad.ops.shape.creation import zeros_of
from tracegrad.ops.shape.indexing import INDEXED
from tracegrad.ops.staging import Stage, Staged

MOST_TOLD = 3  # of what a step of the backward depends on
BOOL = weak("bool")


class Unjoined(Unrollable):
    """A join whose backward cannot be written; `label` is its label."""

    def __init__(self, label: object, why: str) -> None:
        super().__init__(why)
        self.label = label


Then: TypeAlias = "Callable[[Flow], Block]"


@dataclass(frozen=True)
class Stretch:
    """Straight code on a path, then a join: its body is entered, or what is behind it."""

    nodes: tuple[Node, ...]
    join: Join | None = None
    in_body: bool = False


Path: TypeAlias = "tuple[Stretch, ...]"


@dataclass
class Facts:
    """What is known of one join."""

    join: Join
    around: tuple[Facts, ...]  # the joins in whose body it stands
    made: set[Value]  # what its body makes
    ways: dict[Again, Path] = field(default_factory=dict)  # through its body
    kept: dict[Value, Value] = field(default_factory=dict)  # parameters for what ways back read


def joined_gradients(graph: Graph, wanted: Sequence[Value], seeds: Seeds | None = None) -> Graph:
    """The graph whose every return gives the cotangents of `wanted` besides.

    `seeds` writes the cotangents of what a return gives, by its number in the order of the text;
    without it that of the first output is 1.
    Raises `Unjoined` for a join whose backward has no such form.
    """
    _require_plain(graph)
    try:
        return _Writer(graph, wanted, seeds).whole()
    except Mixed as error:
        raise Unjoined(None, str(error)) from error


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
    absent: Set[Value]


def backwards_apart(graph: Graph, wanted: Sequence[Value]) -> Apart:
    """As `joined_gradients`, of all outputs; forward and backwards are no one graph."""
    _require_plain(graph)
    try:
        return _Writer(graph, wanted, zeros=False).apart()
    except Mixed as error:
        raise Unjoined(None, str(error)) from error


def _require_plain(graph: Graph) -> None:
    calls = [node for node in walk(graph.nodes) if isinstance(node, Call)]
    if any(call.op is hooked for call in calls) or regions_of(calls):
        raise Unjoined(None, "hooks and checkpoints are of one path")


class _Writer:
    def __init__(
        self,
        graph: Graph,
        wanted: Sequence[Value],
        seeds: Seeds | None = None,
        zeros: bool = True,
    ) -> None:
        self.graph = graph
        self.seeds = seeds
        self.zeros = zeros  # what stands where no cotangent has flowed; else nothing
        self.wanted = tuple(wanted)
        self.reverse = Reverse(graph)
        self.facts: dict[object, Facts] = {}
        self._learn(graph.block, ())
        self.active = self._active()

    def whole(self) -> Graph:
        found = self._backwards()
        given = {end: giving(block, end) for end, block in found.items()}
        block = renamed(self._rebuilt(self.graph.block, given), self._renamed())
        return self.graph.with_block(block)

    def apart(self) -> Apart:
        outputs = [self._with_cotangents(end) for end in ends(self.graph.block)]
        cts = [
            {v: Value(v.type, Origin(f"ct{k}", True)) for k, v in enumerate(values)}
            for values in outputs
        ]
        self.seeds = lambda _, number: cts[number]
        found = self._backwards()
        names = self._renamed()
        backwards = [
            renamed(giving(block, replace(end, outputs=())), names) for end, block in found.items()
        ]
        plain = {end: replace(end, nodes=()) for end in found}
        forward = self.graph.with_block(self._rebuilt(self.graph.block, plain))
        absent = {p for facts in self.facts.values() for p in self._further(facts).values()}
        return Apart(forward, tuple(backwards), tuple(cts), absent)

    def _with_cotangents(self, end: Block) -> list[Value]:
        """What a return gives that depends on what is wanted."""
        return [v for v in dict.fromkeys(end.outputs) if v in self.active and moves(v)]

    def _backwards(self) -> dict[Block, Block]:
        """The backward behind each return."""
        paths: list[tuple[Block, Path]] = []
        self._collect(self.graph.block, (), (), {}, paths)
        found = {}
        for number, (end, path) in enumerate(paths):
            with self.reverse.stage.apart(self.graph.sizes) as builder:
                if self.seeds is None:
                    cts = {end.outputs[0]: self.reverse.one(end.outputs[0])}
                else:
                    cts = self.seeds(self.reverse.stage, number)
                block = self._sweep(path, len(path) - 1, Flow(cts), self._returned)
            found[end] = _after(builder, block)
        return found

    def _renamed(self) -> dict[Value, Value]:
        return {v: Value(v.type, origin) for v, origin in self.reverse.names.items()}

    # -- what there is ----------------------------------------------------------------------------

    def _learn(self, block: Block, around: tuple[Facts, ...]) -> None:
        """Finds the joins of a block, which stands in the bodies of those around."""
        for node in block.nodes:
            if isinstance(node, Join):
                made = {r for inner in walk(node.body.nodes) for r in inner.results}
                facts = self.facts[node.label] = Facts(node, around, made)
                self._learn(node.body, (*around, facts))
                self._learn(node.after, around)
            elif isinstance(node, Branch):
                for inner in node.blocks:
                    self._learn(inner, around)

    def _collect(
        self,
        block: Block,
        before: Path,
        nodes: tuple[Node, ...],
        begun: Mapping[object, int],
        paths: list[tuple[Block, Path]],
    ) -> None:
        """Finds the paths to all returns, and through the body of each join."""
        last = block.nodes[-1] if block.nodes else None
        match last:
            case Branch():
                for inner in last.blocks:
                    self._collect(inner, before, (*nodes, *block.nodes[:-1]), begun, paths)
            case Join():
                here = (*nodes, *block.nodes[:-1])
                inside = (*before, Stretch(here, last, True))
                known = {**begun, last.label: len(inside)}
                self._collect(last.body, inside, (), known, paths)
                self._collect(last.after, (*before, Stretch(here, last)), (), begun, paths)
            case Again():
                path = (*before, Stretch((*nodes, *block.nodes[:-1])))
                self.facts[last.label].ways[last] = path[begun[last.label] :]
            case _:
                paths.append((block, (*before, Stretch((*nodes, *block.nodes)))))

    def _active(self) -> set[Value]:
        """The values that depend on what is wanted by a differentiable path."""
        active, size = set(self.wanted), -1
        while size != len(active):
            size = len(active)
            for node in walk(self.graph.nodes):
                if isinstance(node, Call) and node.op.differentiable:  # type: ignore[attr-defined]
                    if not active.isdisjoint(node.operands):
                        active.update(node.results)
                elif isinstance(node, Again):
                    parameters = self.facts[node.label].join.parameters
                    for p, a in zip(parameters, node.arguments, strict=True):
                        if a in active and is_inexact(p.type.dtype):
                            active.add(p)
        return active

    # -- going back -------------------------------------------------------------------------------

    def _returned(self, flow: Flow) -> Block:
        """The end of the backward: gradients, and what stands where nothing has flowed."""
        told = [v for v in self.wanted if v in flow.told]
        unsure = [v for v in told if not (self.zeros and v in flow.places)]
        if unsure:
            number = flow.told[unsure[0]].number
            return self._split([number], flow, self._with_others, self._returned)
        gradients = [self._gradient(value, flow) for value in self.wanted]
        return Block((), tuple(gradients))

    def _with_others(self, flow: Flow) -> Flow:
        cts = {v: self._gradient(v, flow) for v in self.wanted}
        return replace(flow, cts={**flow.cts, **cts})

    def _gradient(self, value: Value, flow: Flow) -> Value:
        if value in flow.cts:
            return flow.cts[value]
        self.reverse.stage.origin = self._named(value)
        if self.zeros:
            return zeros_of(self.reverse.staged(value)).value  # type: ignore[no-any-return]
        like = Value(replace(value.type, weak=False))
        return unset_like(self.reverse.builder, like, self._named(value))

    def _sweep(self, path: Path, at: int, flow: Flow, finish: Then) -> Block:
        """The block that goes back from the end of a stretch to the beginning of the path."""

        def rest(flow: Flow) -> Block:
            if at == 0:
                return finish(flow)
            join = path[at - 1].join
            assert join is not None
            if path[at - 1].in_body:
                return self._sweep(path, at - 1, flow, finish)
            facts = self.facts[join.label]
            return self._ways_back(
                facts, flow, lambda flow: self._sweep(path, at - 1, flow, finish)
            )

        return self._through(path[at].nodes, flow, rest)

    def _through(self, nodes: Sequence[Node], flow: Flow, then: Then) -> Block:
        """Goes back through straight code, where numbers tell what there is in arms of its own."""
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
            lambda flow: self._through(nodes[:begin], flow, then),
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
                for value in step.operands:
                    if value not in self.active:
                        continue
                    reached.add(value)
                    if value in flow.told and not (step.op in INDEXED and value in flow.places):
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

    def _elements(self, call: Call, value: Value, flow: Flow) -> Iterator[Value]:
        """The numbers that tell whether elements were met before that a call reads."""
        if call.op not in INDEXED or len(call.operands) > 1 or not flow.places[value].known:
            return  # what it gives is added, whatever was met
        index = call.attribute("index")
        for element, told in flow.maybe[value].items():
            if not apart(Subscript(element), index):
                yield told.number

    def _run(self, nodes: Sequence[Node], flow: Flow) -> Flow:
        """Cotangents before straight code, of those after it; nothing in it depends on numbers."""
        made = {result for node in nodes for result in node.results}
        read = [v for node in nodes if isinstance(node, Call) for v in node.operands]
        kept = dict.fromkeys(v for v in (*flow.cts, *read) if v not in made and v in self.active)
        here = {v: ct for v, ct in flow.cts.items() if v in made or v in read}
        asked = [v for v in kept if v in read]
        seeds = {value: self.reverse.staged(ct) for value, ct in here.items()}
        places = {v: known.copy() for v, known in flow.places.items() if v in here}
        found = self.reverse.run(nodes, seeds, asked, places)
        cts = {v: ct for v, ct in flow.cts.items() if v not in here}
        cts.update((value, ct.value) for value, ct in found.items())
        cts = {v: cts[v] for v in dict.fromkeys((*flow.cts, *cts)) if v in cts}
        rows = {v: known for v, known in flow.places.items() if v not in here}
        rows.update((v, known) for v, known in places.items() if v in cts)
        maybe = {v: table for v, table in flow.maybe.items() if v in rows}
        told = {v: x for v, x in flow.told.items() if cts.get(v) is flow.cts[v]}
        return Flow(cts, told, rows, maybe)

    def _named(self, value: Value) -> Origin:
        """The origin of a parameter for the cotangent of a value."""
        name = value.origin.name
        return replace(value.origin, name=name and f"{name}_bar", final=True, section="backward")

    # -- ways back --------------------------------------------------------------------------------

    def _ways_back(self, facts: Facts, flow: Flow, then: Then) -> Block:
        """Goes back through the body of a join, by the way that was taken."""
        join = facts.join
        if not any(p in flow.cts for p in join.parameters):
            return then(flow)

        def way(again: Again, leave: Then) -> Block:
            path = facts.ways[again]
            with self.reverse.stage.apart(self.graph.sizes) as builder:
                handed = self._handed(facts, again, flow)
                block = self._sweep(path, len(path) - 1, handed, leave)
            return _after(builder, block)

        with self.reverse.stage.apart(self.graph.sizes) as builder:
            block = self._met(
                replace(join.origin, section="backward"),
                lambda leave: self._by_ways(facts, join.body, lambda again: way(again, leave)),
                lambda flow: then(self._seen_behind(facts, flow)),
            )
        return self._with_kept(facts, _after(builder, block))

    def _by_ways(self, facts: Facts, block: Block, way: Callable[[Again], Block]) -> Block:
        """The looks of a body once more, with a way back in each arm."""
        last = block.nodes[-1]
        if isinstance(last, Again):
            return way(last)
        if isinstance(last, Join):
            return self._by_ways(facts, last.after, way)
        assert isinstance(last, Branch)
        label = facts.join.label
        arms = [
            (outcome, inner)
            for outcome, inner in zip(last.outcomes, last.blocks, strict=True)
            if label in self.graph.leads[inner]
        ]
        blocks = [self._by_ways(facts, inner, way) for _, inner in arms]
        if len(arms) == 1:
            return blocks[0]
        origin = replace(last.origin, section="backward")
        outcomes = tuple([outcome for outcome, _ in arms])
        return Block((Branch(last.operand, last.look, outcomes, tuple(blocks), origin),))

    def _handed(self, facts: Facts, again: Again, flow: Flow) -> Flow:
        """Cotangents of a join's parameters as those of what they are on one way."""
        before = flow
        for parameter in facts.join.parameters:
            flow = flow.without(parameter)
        for parameter, argument in zip(facts.join.parameters, again.arguments, strict=True):
            if parameter not in before.cts or argument not in self.active:
                continue
            if argument in flow.cts:
                why = "what arms hand on is read behind them under another name too"
                raise Unjoined(facts.join.label, why)
            tables = ("cts", "told", "places", "maybe")
            new: dict[str, Any] = {}
            for name in tables:
                table = getattr(before, name)
                if parameter in table:
                    new[name] = {**getattr(flow, name), argument: table[parameter]}
            flow = replace(flow, **new)
        return flow

    # -- arms of the backward ---------------------------------------------------------------------

    def _split(
        self, told: Sequence[Value], flow: Flow, run: Callable[[Flow], Flow], then: Then
    ) -> Block:
        """Goes on where each of some numbers is true, and where it is not, and then as one."""
        if len(told) > MOST_TOLD:
            raise Unjoined(None, "what gradients flow to depends on many looks")

        def arms(left: Sequence[Value], flow: Flow, leave: Then) -> Block:
            if not left:
                with self.reverse.stage.apart(self.graph.sizes) as builder:
                    block = leave(run(flow))
                return _after(builder, block)
            number, *rest = left
            blocks = [arms(rest, flow.knowing(number, holds), leave) for holds in (True, False)]
            return Block((Branch(number, "bool", (True, False), tuple(blocks), origin),))

        origin = replace(told[0].origin, name=None, final=False, section="backward")
        return self._met(origin, lambda leave: arms(told, flow, leave), then)

    def _met(self, origin: Origin, body: Callable[[Then], Block], then: Then) -> Block:
        """A body whose paths leave with cotangents, and what goes on with those of all."""
        label, left = object(), dict[object, Flow]()

        def leave(flow: Flow) -> Block:
            path = object()  # until all are known
            left[path] = flow
            return Block((Again(path, (), origin),))

        block = body(leave)
        met = _Met(self, [*left.values()], _condition(block))
        flow = met.flow()
        arguments = dict(zip(left, met.arguments, strict=True))
        block = self._given(block, label, arguments, met.parameters)
        with self.reverse.stage.apart(self.graph.sizes) as builder:
            after = then(flow)
        after = _after(builder, after)
        parameters = tuple(met.parameters)
        return Block((Join(label, parameters, (block, after), origin),))

    def _given(
        self,
        block: Block,
        label: object,
        arguments: Mapping[object, Sequence[Given]],
        parameters: Sequence[Value],
    ) -> Block:
        """The block whose paths hand on what they have."""
        last = block.nodes[-1]
        if isinstance(last, Again) and last.label in arguments:
            builder = Builder(self.graph.sizes)
            given = [
                self._argument(builder, x, p)
                for x, p in zip(arguments[last.label], parameters, strict=True)
            ]
            nodes = (*block.nodes[:-1], *builder.nodes, Again(label, tuple(given), last.origin))
            return replace(block, nodes=nodes)
        if not isinstance(last, Branch | Join):
            return block
        inner = [self._given(b, label, arguments, parameters) for b in last.blocks]
        return replace(block, nodes=(*block.nodes[:-1], replace(last, blocks=tuple(inner))))

    def _argument(self, builder: Builder, x: Given, parameter: Value) -> Value:
        if isinstance(x, Value):
            return x
        if isinstance(x, Told):
            if x.where:
                return x.number
            origin = Origin(section="backward")
            return builder.call(logical_not, (x.number,), origin)[0]
        if isinstance(x, Zeros):
            stage = Stage(builder, self._named(x.of))
            return zeros_of(Staged(stage, x.of)).value  # type: ignore[no-any-return]
        if x is None:
            return unset_like(builder, parameter, parameter.origin)
        return builder.constant(x, BOOL)

    # -- what is kept -----------------------------------------------------------------------------

    def _with_kept(self, facts: Facts, block: Block) -> Block:
        """A block behind a join, which reads what the body made as parameters."""
        read = [v for node in walk(block.nodes) for v in node.operands if v in facts.made]
        with self.reverse.stage.apart(self.graph.sizes) as builder:
            known = dict.fromkeys((*read, *_outputs(block, facts.made)))
            block = renamed(block, {value: self._kept(facts, value) for value in known})
        return _after(builder, block)

    def _kept(self, facts: Facts, value: Value) -> Value:
        """What stands behind a join for a value that its body made."""
        constant = self.graph.constant(value)
        if constant is not None:
            again = replace(constant, result=Value(value.type, value.origin))
            self.reverse.builder.append(again)
            return again.result
        if value not in facts.kept:
            facts.kept[value] = self._parameter(facts, value) or Value(value.type, value.origin)
            for other in facts.around:
                other.made.add(facts.kept[value])
        return facts.kept[value]

    def _parameter(self, facts: Facts, value: Value) -> Value | None:
        """The parameter that is a value of the body wherever there is that value."""
        ways = [again for again, path in facts.ways.items() if value in self._there(path)]
        for i, parameter in enumerate(facts.join.parameters):
            if all(again.arguments[i] is value for again in ways):
                return parameter
        return None

    def _seen_behind(self, facts: Facts, flow: Flow) -> Flow:
        """Cotangents as what is behind a join can read them."""

        def of(value: Value) -> Value:
            return self._kept(facts, value) if value in facts.made else value

        cts = {v: of(ct) for v, ct in flow.cts.items()}
        told = {v: Told(of(x.number), x.where) for v, x in flow.told.items()}
        maybe = {
            v: {e: Told(of(x.number), x.where) for e, x in table.items()}
            for v, table in flow.maybe.items()
        }
        return replace(flow, cts=cts, told=told, maybe=maybe)

    def _rebuilt(self, block: Block, ends: Mapping[Block, Block]) -> Block:
        """The forward, whose joins keep what is read behind them, with the backwards."""
        last = block.nodes[-1] if block.nodes else None
        nodes = block.nodes[:-1]
        match last:
            case Branch():
                inner = tuple([self._rebuilt(b, ends) for b in last.blocks])
                return replace(block, nodes=(*nodes, replace(last, blocks=inner)))
            case Join():
                inner = tuple([self._rebuilt(b, ends) for b in last.blocks])
                kept = self._further(self.facts[last.label]).values()
                join = replace(last, parameters=(*last.parameters, *kept), blocks=inner)
                return replace(block, nodes=(*nodes, join))
            case Again():
                facts, builder = self.facts[last.label], Builder(self.graph.sizes)
                there = self._there(facts.ways[last])
                kept_here = [
                    v if v in there else unset_like(builder, p, p.origin)
                    for v, p in self._further(facts).items()
                ]
                again = replace(last, arguments=(*last.arguments, *kept_here))
                return replace(block, nodes=(*nodes, *builder.nodes, again))
        return replace(ends[block], nodes=(*block.nodes, *ends[block].nodes))

    def _further(self, facts: Facts) -> dict[Value, Value]:
        """What is kept of a body in parameters that the join did not have."""
        known = facts.join.parameters
        return {v: p for v, p in facts.kept.items() if p not in known}

    def _there(self, path: Path) -> set[Value]:
        """What a way through a body makes."""
        found: set[Value] = set()
        for stretch in path:
            found.update(r for node in stretch.nodes for r in node.results)
            if stretch.join is not None and not stretch.in_body:
                facts = self.facts[stretch.join.label]
                found.update(stretch.join.parameters, facts.kept.values())
        return found


class _Met:
    """Brings together the cotangents of several paths.

    `arguments` are those of each path for the `parameters`.
    """

    def __init__(self, writer: _Writer, flows: Sequence[Flow], condition: Value | None) -> None:
        self.writer = writer
        self.flows = flows
        self.condition = condition  # that alone decides: the first path is where it is true
        self.parameters: list[Value] = []
        self.arguments: list[list[Given]] = [[] for _ in flows]

    def flow(self) -> Flow:
        """The cotangents behind the paths."""
        cts, told = dict[Value, Value](), dict[Value, Told]()
        places, maybe = dict[Value, Places](), dict[Value, Mapping[Element, Told]]()
        for value in dict.fromkeys(v for flow in self.flows for v in flow.cts):
            having = [flow for flow in self.flows if value in flow.cts]
            rows = all(_is_of_rows(flow, value) for flow in having)
            cts[value] = self._cotangent(value, Zeros(value) if rows else None)
            number = self._number(
                value, "has", [value in f.cts and f.told.get(value, True) for f in self.flows]
            )
            if isinstance(number, Told):
                told[value] = number
            known = [flow.places.get(value) for flow in having]
            if all(known):
                places[value], maybe[value] = self._places(value, having)
            elif any(known):
                places[value], maybe[value] = Places(mixed=True), {}
        return Flow(cts, told, places, maybe)

    def _cotangent(self, value: Value, absent: Given) -> Value:
        found = [flow.cts[value] for flow in self.flows if value in flow.cts]
        first = found[0]
        for ct in found:
            self._same_type(first, ct)
        given = [flow.cts.get(value, absent) for flow in self.flows]
        if all(ct is first for ct in given):
            return first
        parameter = Value(first.type, self.writer._named(value))
        self._hand(parameter, given)
        return parameter

    def _same_type(self, one: Value, other: Value) -> None:
        a, b = one.type, other.type
        same = (a.dtype, a.weak, len(a.shape)) == (b.dtype, b.weak, len(b.shape))
        if not same or not all(map(self.writer.graph.sizes.same, a.shape, b.shape)):
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
        name = f"{what}_{value.origin.name or 'value'}_bar"
        parameter = Value(BOOL, replace(self.writer._named(value), name=name))
        self._hand(parameter, found)
        return Told(parameter, True)

    def _places(
        self, value: Value, having: Sequence[Flow]
    ) -> tuple[Places, Mapping[Element, Told]]:
        """The elements met on all paths, and the numbers that tell of those met on some."""
        known = [flow.places[value] for flow in having]
        first = known[0]
        if any(not p.is_like(first) for p in known):
            return Places(mixed=True), {}
        every = dict.fromkeys(
            e for flow in having for e in (*flow.places[value].elements, *flow.maybe.get(value, {}))
        )
        met, maybe = first.copy(), dict[Element, Told]()
        met.elements.clear()
        for element in sorted(every, key=repr):
            number = self._number(
                value,
                "met_" + "_".join(map(str, element)) + "_of",
                [self._is_met(flow, value, element) for flow in self.flows],
            )
            if number is True:
                met.elements.add(element)
            elif isinstance(number, Told):
                maybe[element] = number
        return met, maybe

    def _is_met(self, flow: Flow, value: Value, element: Element) -> Told | bool:
        if value not in flow.cts:
            return False
        if element in flow.places[value].elements:
            return True
        return flow.maybe.get(value, {}).get(element, False)


def _is_of_rows(flow: Flow, value: Value) -> bool:
    """Whether a cotangent is an array of elements met so far, which are known."""
    known = flow.places.get(value)
    return known is not None and known.known and not known.mixed and not known.others


def _condition(block: Block) -> Value | None:
    """What alone decides which of two paths a body takes."""
    last = block.nodes[-1]
    if len(block.nodes) > 1 or not isinstance(last, Branch) or not last.complete:
        return None
    straight = all(isinstance(b.nodes[-1], Again) for b in last.blocks)
    return last.operand if straight and last.outcomes == (True, False) else None


def _after(builder: Builder, block: Block) -> Block:
    """A block behind the nodes of a builder."""
    return replace(block, nodes=(*builder.nodes, *block.nodes))


def _outputs(block: Block, among: Collection[Value]) -> Iterator[Value]:
    """What the returns of a block give of some values."""
    last = block.nodes[-1] if block.nodes else None
    if isinstance(last, Branch | Join):
        for inner in last.blocks:
            yield from _outputs(inner, among)
    yield from [v for v in block.outputs if v in among]
