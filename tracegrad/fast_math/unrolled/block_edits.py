"""Puts calls into a block and replaces values, by a plan."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from codegen import sizes as sz
from codegen.ir import (
    Again,
    Block,
    Branch,
    Builder,
    Call,
    Check,
    Constant,
    Graph,
    Join,
    Loop,
    Node,
    Op,
    Origin,
    Trait,
    Value,
    dims_of,
    ends,
    with_operands,
)
from codegen.sizes import Settled
from codegen.spelling import Subscript
from tracegrad.fast_math.unrolled.row_ops import rows_between
from tracegrad.ops.elementwise.ufuncs import add
from tracegrad.ops.shape.indexing import element, getitem_basic
from tracegrad.ops.shape.joining import part_of
from tracegrad.ops.shape.reshaping import reshape_to

FEWEST = 3
"""So many turns at least: fewer cost more to put together than they save."""
FLOATS = ("float32", "float64")
GOES_ON = (Branch, Loop, Again)
"""What a block can end in."""


class Changes:
    """What is put into a block of a graph, and which values stand for others from then on."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.sizes = Settled(graph.sizes)
        self.instead: dict[Value, Value] = {}
        self.named: dict[Value, Origin] = {}  # what values are called that were inner ones
        self.outputs = {output for end in ends(graph.block) for output in end.outputs}
        self.enter(graph.block)

    def enter(self, block: Block, strict: bool = False) -> None:
        """From here on changes are of this block; `strict` ones leave its calls in their order."""
        self.block = block
        self.strict = strict
        self.made: dict[Value, Call] = {}  # new calls by their results
        self.before: dict[int, list[Node]] = {}  # new nodes, by the place that they stand before
        self.place = {r: i for i, node in enumerate(block.nodes) for r in node.results}

    def now(self, value: Value) -> Value:
        """The value that stands for this one."""
        while value in self.instead:
            value = self.instead[value]
        return value

    def leave_out(self, value: Value, rest: Value) -> None:
        """The rest stands for a value that was one step more; it takes over the user's name."""
        rest = self.now(rest)
        self.instead[value] = rest
        if not value.origin.final or rest.origin.final:
            return
        call = self.made_by(rest)
        self.named[rest] = value.origin
        if call is not None and call.op is add:
            at, attributes = self.place[rest], dict(call.attributes)
            self.instead[rest] = self.emit(
                at, call.op, *call.operands, origin=value.origin, **attributes
            )

    def dims(self, value: Value) -> tuple[sz.Dim, ...]:
        return dims_of(self.sizes, value.type)

    def emit(self, at: int, op: Op, *operands: Value, origin: Origin, **attributes: Any) -> Value:
        """A new call before the node at this place."""
        builder = Builder(self.sizes)
        (result,) = builder.call(op, operands, origin, **attributes)
        self.before.setdefault(at, []).extend(builder.nodes)
        self.made.update((result, node) for node in builder.nodes if isinstance(node, Call))
        return result

    def row(self, at: int, x: Value, i: int, origin: Origin) -> Value:
        """x[i]."""
        op = element if x.type.ndim == 1 else getitem_basic
        return self.emit(at, op, x, index=Subscript((i,)), origin=origin)

    def part(self, at: int, x: Value, start: int, count: int, origin: Origin) -> Value:
        """x[start : start + count]."""
        length, stop = self.dims(x)[0], start + count
        if (start, count) == (0, length):
            return x
        if not isinstance(length, int):
            bounds = {"start": start, "stop": stop, "ndim": x.type.ndim}
            return self.emit(at, rows_between, x, **bounds, origin=origin)
        index = Subscript((slice(start or None, None if stop == length else stop),))
        return self.emit(at, getitem_basic, x, index=index, origin=origin)

    def reshaped(self, at: int, x: Value, shape: tuple[sz.Dim, ...], origin: Origin) -> Value:
        return self.emit(at, reshape_to, x, shape=shape, origin=origin)

    def flat(self, at: int, x: Value, origin: Origin) -> Value:
        """Matrices one below the other, as one."""
        shape = x.type.shape
        if len(shape) < 3:
            return x
        made = self.made.get(x)
        if made is not None and made.op is rows_between:  # this checks how many there are as well
            known = {name: made.attribute(name) for name in ("start", "stop")}
            length = known["stop"] - known["start"]
            x = self.emit(
                at, part_of, *made.operands, axis=0, **known, length=length, origin=origin
            )
        return self.reshaped(at, x, (sz.mul(shape[:-1]), shape[-1]), origin)

    def made_by(self, value: Value) -> Call | None:
        node = self.graph.producer.get(value)
        return node if isinstance(node, Call) else None

    def readers(self, value: Value) -> Sequence[Node]:
        return self.graph.users.get(value, ())

    def only_reader(self, value: Value) -> Call | None:
        """The call that alone reads the value, in this block and once."""
        readers = self.readers(value)
        if len(readers) != 1 or value in self.outputs:
            return None
        node = readers[0]
        return node if isinstance(node, Call) and node.results[0] in self.place else None

    def behind(self, values: Iterable[Value]) -> set[Value]:
        """The values and all that they depend on in this block."""
        found = set(values)
        for node in reversed(self.block.nodes):
            if any(result in found for result in node.results):
                found.update(node.operands)
        return found

    def first_reader(self, value: Value) -> int:
        """The place in this block where the value is first needed."""
        places = [
            self.place[node.results[0]]
            for node in self.readers(value)
            if isinstance(node, Call) and node.results[0] in self.place
        ]
        return min(places, default=len(self.block.nodes) - self._looks)

    @property
    def _looks(self) -> int:
        """1 where the block goes on elsewhere: all that is new stands before that."""
        return int(bool(self.block.nodes) and isinstance(self.block.nodes[-1], GOES_ON))


def changed(block: Block, plan: Callable[[Changes], None], changes: Changes) -> Block:
    """The block, and the blocks inside it, with what the plan changes.

    Calls that read what is now made later wait for it. Where two batches would wait for each other
    the plan is made again, of changes for which nothing has to wait.
    """
    instead, named = dict(changes.instead), dict(changes.named)
    for strict in (False, True):
        changes.instead, changes.named = dict(instead), dict(named)
        changes.enter(block, strict)
        plan(changes)
        nodes = _in_order(_with_changes(changes)) if changes.instead else list(block.nodes)
        if nodes is not None:
            break
    assert nodes is not None
    outputs = tuple(map(changes.now, block.outputs))
    if nodes and isinstance(last := nodes[-1], Branch | Loop | Join):
        inner = tuple(changed(b, plan, changes) for b in last.blocks)
        nodes[-1] = replace(last, blocks=inner)
    return replace(block, nodes=tuple(nodes), outputs=outputs)


def _with_changes(changes: Changes) -> Iterator[Node]:
    """The nodes of the block and the new ones, reading what now stands for what they read."""
    for index, node in enumerate((*changes.block.nodes, None)):
        for each in (*changes.before.get(index, ()), node):
            match each:
                case Call(operands=operands):
                    now = tuple(map(changes.now, operands))
                    same = now == operands
                    yield each if same else replace(each, operands=now)
                case Constant():
                    yield each
                case Check() | Branch() | Loop() | Join() | Again():
                    yield with_operands(each, changes.now)


def _in_order(nodes: Iterable[Node]) -> list[Node] | None:
    """The nodes, each behind what it reads and otherwise in their order, if there is such an order.

    Looks and calls with effects keep theirs among each other, and a branch stays the last.
    """
    given = list(nodes)
    unmade: set[Hashable] = {result for node in given for result in node.results}
    waiting: dict[Hashable, list[int]] = {}
    missing: list[int] = []
    makes: list[tuple[Hashable, ...]] = []
    effects = 0
    ordered: list[Node] = []
    for index, node in enumerate(given):
        reads: set[Hashable] = set(node.operands)
        made: tuple[Hashable, ...] = node.results
        if isinstance(node, Check) or (isinstance(node, Call) and Trait.EFFECT in node.op.traits):
            reads.add(effects)
            effects += 1
            made = (*made, effects)
            unmade.add(effects)
        makes.append(made)
        needs = [value for value in reads if value in unmade]
        missing.append(len(needs))
        for value in needs:
            waiting.setdefault(value, []).append(index)
        ready = [] if needs or isinstance(node, GOES_ON) else [index]
        while ready:
            at = ready.pop()
            ordered.append(given[at])
            freed = []
            for result in makes[at]:
                unmade.discard(result)
                for reader in waiting.pop(result, ()):
                    missing[reader] -= 1
                    if not missing[reader] and not isinstance(given[reader], GOES_ON):
                        freed.append(reader)
            ready += sorted(freed, reverse=True)
    ordered += [node for node in given[-1:] if isinstance(node, GOES_ON)]
    return ordered if len(ordered) == len(given) else None


def elementwise(call: Call) -> bool:
    return (
        Trait.ELEMENTWISE in call.op.traits
        and len(call.results) == 1
        and call.results[0].type.dtype in FLOATS
    )
