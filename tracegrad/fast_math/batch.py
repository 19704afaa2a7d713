"""A graph of an unrolled loop enters; it leaves with what its turns repeat done for all at once.

Three things are found in a block of straight code, whatever the loop was:

- Work on rows of one array that no other turn decides (``xs[t] @ w + b``): it is done on the whole
  array where the first turn did its part, and the turns read rows of the result.
- Sums of products over turns, which accumulate gradients (``x_9.T @ z_9 + ... + x_0.T @ z_0``): the
  operands are put together, where they are not rows of one array already, and multiplied once.
- Elementwise work on what was so put together (``1.0 - h_t * h_t``), as the first.

Before::                                   After::

    graph f(xs: float64[3, n], w: ...) {       graph f(xs: float64[3, n], w: ...) {
      %x = getitem(%xs, index=0)                 %p = matmul(%xs, %w)
      %a = matmul(%x, %w)                        %a = getitem(%p, index=0)
      %y = getitem(%xs, index=1)                 %b = getitem(%p, index=1)
      %b = matmul(%y, %w)                        %c = getitem(%p, index=2)
      ...                                        ...

Nothing is moved before what it depends on: a batch stands where its first part stood (work on
rows), or behind the last of its operands. All walks are over lists; chains may have any length.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from codegen import sizes as sz
from codegen.errors import CodegenError
from codegen.ir import (
    Block,
    Branch,
    Builder,
    Call,
    Check,
    Graph,
    Node,
    Op,
    Origin,
    Trait,
    Value,
    attributes_key,
    dims_of,
    ends,
)
from codegen.passes.client import NO_CLIENT, Client
from codegen.passes.dce import dce
from codegen.sizes import Settled
from codegen.spelling import Subscript, spell
from tracegrad.ops.elementwise import add, multiply, negative, subtract
from tracegrad.ops.indexing import element, getitem_basic
from tracegrad.ops.joining import stacked, unstacked
from tracegrad.ops.linear import matmul, outer_of
from tracegrad.ops.record import OpRecord
from tracegrad.ops.reductions import sum_over
from tracegrad.ops.rules import axes_of
from tracegrad.ops.shape import expand_axes, reshape_to, transpose_axes

FEWEST = 3
"""So many turns at least: fewer cost more to put together than they save."""
FLOATS = ("float32", "float64")

rows_of = OpRecord(
    name="array",
    operands=("*arrays",),
    infer=lambda sizes, *arrays: stacked.infer(sizes, *arrays, axis=0),
    spelling={"numpy": spell("np.array(arrays)")},
    traits=frozenset({Trait.CONTIGUOUS}),
    doc="Arrays of one shape as the rows of a new one: what np.stack does, in half the time.",
)


def batch(graph: Graph, client: Client = NO_CLIENT) -> Graph:
    """Does at once what the turns of unrolled loops repeat."""
    for plan in (lift_rows, sum_at_once):
        changes = Changes(graph)
        block = _changed(graph.block, plan, changes)
        if changes.instead:
            graph = dce(graph.with_block(block))
    return graph


# -- changes of a block -------------------------------------------------------------------------


class Changes:
    """What is put into a block of a graph, and which values stand for others from then on."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.sizes = Settled(graph.sizes)
        self.instead: dict[Value, Value] = {}
        self.outputs = {output for end in ends(graph.block) for output in end.outputs}
        self.enter(graph.block)

    def enter(self, block: Block) -> None:
        """From here on changes are of this block."""
        self.block = block
        self.before: dict[int, list[Node]] = {}  # new nodes, by the place that they stand before
        self.place = {r: i for i, node in enumerate(block.nodes) for r in node.results}

    def now(self, value: Value) -> Value:
        """The value that stands for this one."""
        while value in self.instead:
            value = self.instead[value]
        return value

    def dims(self, value: Value) -> tuple[sz.Dim, ...]:
        return dims_of(self.sizes, value.type)

    def emit(self, at: int, op: Op, *operands: Value, origin: Origin, **attributes: Any) -> Value:
        """A new call before the node at this place."""
        builder = Builder(self.sizes)
        (result,) = builder.call(op, operands, origin, **attributes)
        self.before.setdefault(at, []).extend(builder.nodes)
        return result

    def row(self, at: int, x: Value, i: int, origin: Origin) -> Value:
        """x[i]."""
        op = element if x.type.ndim == 1 else getitem_basic
        return self.emit(at, op, x, index=Subscript((i,)), origin=origin)

    def part(self, at: int, x: Value, start: int, count: int, origin: Origin) -> Value:
        """x[start : start + count]."""
        length = self.dims(x)[0]
        if (start, count) == (0, length):
            return x
        stop = None if start + count == length else start + count
        index = Subscript((slice(start or None, stop),))
        return self.emit(at, getitem_basic, x, index=index, origin=origin)

    def reshaped(self, at: int, x: Value, shape: tuple[sz.Dim, ...], origin: Origin) -> Value:
        return self.emit(at, reshape_to, x, shape=shape, origin=origin)

    def flat(self, at: int, x: Value, origin: Origin) -> Value:
        """Matrices one below the other, as one."""
        shape = self.dims(x)
        if len(shape) < 3:
            return x
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
        """1 where the block ends in a branch, which all that is new stands before."""
        return int(bool(self.block.nodes) and isinstance(self.block.nodes[-1], Branch))


def _changed(block: Block, plan: Callable[[Changes], None], changes: Changes) -> Block:
    """The block, and the blocks inside it, with what the plan changes."""
    changes.enter(block)
    plan(changes)
    before = changes.before
    nodes: list[Node] = []

    def mapped(node: Node) -> Node:
        match node:
            case Call(operands=operands):
                now = tuple(map(changes.now, operands))
                if now == operands:
                    return node
                return Call(node.op, now, node.attributes, node.results, node.reuse)
            case Check() | Branch():
                return replace(node, operand=changes.now(node.operand))
        return node

    for index, node in enumerate(block.nodes):
        nodes += map(mapped, before.get(index, ()))
        if isinstance(node, Branch):
            inner = tuple(_changed(b, plan, changes) for b in node.blocks)
            node = replace(node, blocks=inner)
        nodes.append(mapped(node))
    nodes += map(mapped, before.get(len(block.nodes), ()))
    return replace(block, nodes=tuple(nodes), outputs=tuple(map(changes.now, block.outputs)))


# -- rows of one array --------------------------------------------------------------------------


def row_of(changes: Changes, value: Value) -> tuple[Value, int] | None:
    """The array, with a known number of rows, and which of its rows the value is."""
    node = changes.made_by(value)
    if node is None:
        return None
    if node.op is unstacked and node.attribute("axis") == 0:
        return node.operands[0], node.results.index(value)
    if node.op is not getitem_basic:
        return None
    x = node.operands[0]
    first, *rest = node.attribute("index").items
    length = changes.dims(x)[0]
    if type(first) is not int or type(length) is not int or any(i != slice(None) for i in rest):
        return None
    return x, first % length


class Run(NamedTuple):
    """The rows from `start` on, so many, as one array."""

    start: int
    count: int
    array: Value


@dataclass(eq=False)
class Family:
    """The same call in several turns (`op` None: rows themselves), by the row that the turn reads.

    `runs` are the arrays that hold rows next to each other, once they are made; only calls from
    `ready` on may read them.
    """

    op: Op | None
    operands: tuple[Value | Family, ...]
    attributes: dict[str, Any]
    members: dict[int, Value]
    name: str | None
    ready: int = 0
    runs: list[Run] = field(default_factory=list)

    def in_stretches(self) -> Iterator[int]:
        """The rows that are next to each other, where that are enough."""
        for start, count in stretches(self.members):
            yield from range(start, start + count)


def lift_rows(changes: Changes) -> None:
    """Work on rows of an array that depends on nothing else of the turn, done on the array."""
    rows: dict[Value, dict[int, Value]] = {}
    for node in changes.block.nodes:
        for result in node.results:
            found = row_of(changes, result)
            if found is not None and result.type.dtype in FLOATS:
                rows.setdefault(found[0], {}).setdefault(found[1], result)
    bases = []
    for array, members in rows.items():
        if len(members) >= FEWEST:
            family = Family(None, (), {}, members, array.origin.name)
            family.runs = [Run(0, int(changes.dims(array)[0]), array)]
            bases.append(family)
    make_at_once(changes, families(changes, bases))


def families(changes: Changes, bases: Sequence[Family]) -> list[Family]:
    """What the block does, turn by turn, with rows of the bases and of what it makes of them."""
    of: dict[Value, tuple[Family, int]] = {}
    for family in bases:
        of.update((value, (family, i)) for i, value in family.members.items())
    known: dict[Hashable, Family] = {}
    for index, node in enumerate(changes.block.nodes):
        if not isinstance(node, Call) or not (_elementwise(node) or node.op is matmul):
            continue
        rows = [of.get(v) for v in node.operands]
        places = {row[1] for row in rows if row is not None}
        if len(places) != 1 or not _stay_rows(changes, node, rows):
            continue
        operands = tuple(
            value if row is None else row[0] for row, value in zip(rows, node.operands, strict=True)
        )
        ready = max(row[0].ready for row in rows if row is not None)
        if index < ready:
            continue
        key = (node.op, attributes_key(changes.sizes, node), operands)
        if key not in known:
            name = _name_of(node, operands)
            known[key] = Family(node.op, operands, dict(node.attributes), {}, name, ready)
        (i,) = places
        known[key].members[i] = node.results[0]
        of[node.results[0]] = known[key], i
    return list(known.values())


def _elementwise(call: Call) -> bool:
    return (
        Trait.ELEMENTWISE in call.op.traits
        and len(call.results) == 1
        and call.results[0].type.dtype in FLOATS
    )


def _stay_rows(changes: Changes, call: Call, rows: Sequence[tuple[Family, int] | None]) -> bool:
    """Whether the call does to the whole array what it does to a row."""
    result = call.results[0]
    if call.op is matmul:
        (a, b), (of_a, of_b) = call.operands, rows
        if {a.type.dtype, b.type.dtype} != {result.type.dtype} or (of_a and of_b):
            return False
        if result.type.dtype not in FLOATS or a.type.ndim > 2 or b.type.ndim > 2:
            return False
        return of_a is not None or b.type.ndim == 1
    shape = changes.dims(result)
    return all(
        v.type.ndim <= len(shape) if row is None else changes.dims(v) == shape
        for v, row in zip(call.operands, rows, strict=True)
    )


def _name_of(call: Call, operands: Sequence[Value | Family]) -> str | None:
    """What the array is called that holds the results of all turns."""
    origin = call.results[0].origin
    if origin.final and origin.name:
        return f"{origin.name}s"
    if call.op is matmul:
        names = [o.name if isinstance(o, Family) else o.origin.name for o in operands]
        return "_".join(name for name in names if name)
    return "slopes" if origin.section else None


def stretches(places: Collection[int]) -> Iterator[tuple[int, int]]:
    """Start and length of every stretch of places next to each other, where that are enough."""
    start = last = None
    for place in sorted(places):
        if last is None or place != last + 1:
            if start is not None and last - start + 1 >= FEWEST:
                yield start, last - start + 1
            start = place
        last = place
    if start is not None and last - start + 1 >= FEWEST:
        yield start, last - start + 1


def make_at_once(changes: Changes, found: Sequence[Family]) -> None:
    """The arrays of the families, and rows of them for what the turns made."""
    lifted = {family.members[i] for family in found for i in family.in_stretches()}
    rows: list[tuple[Value, Value, int]] = []
    for family in found:
        for start, count in stretches(family.members):
            values = [family.members[i] for i in range(start, start + count)]
            with suppress(CodegenError):  # lengths that nothing shows to be equal
                array = _made(changes, family, start, values, lifted)
                family.runs.append(Run(start, count, array))
                rows += [(value, array, i) for i, value in enumerate(values)]
    for value, array, i in rows:
        at = changes.place[value]
        changes.instead[value] = changes.row(at, array, i, value.origin)


def _made(
    changes: Changes, family: Family, start: int, values: Sequence[Value], lifted: Collection[Value]
) -> Value:
    """The call of a family on all rows of a stretch, where the first of the turns has its own."""
    first, count = min(values, key=changes.place.__getitem__), len(values)
    at, origin = changes.place[first], first.origin.named(family.name, family.name is not None)
    arrays = []
    for operand in family.operands:
        if isinstance(operand, Family):
            run = next(r for r in operand.runs if r.start <= start < r.start + r.count)
            part = origin.named(operand.name)
            operand = changes.part(at, run.array, start - run.start, count, part)
        arrays.append(operand)
    assert family.op is not None
    if family.op is not matmul:
        array = changes.emit(at, family.op, *arrays, origin=origin, **family.attributes)
        return _with_terms(changes, at, array, _common_terms(changes, values, lifted), origin)
    a, b = arrays
    inner = origin.named(origin.name)
    if isinstance(family.operands[1], Family):  # vectors on the right
        a, b = b, a
        if b.type.ndim == 2:
            b = changes.emit(at, transpose_axes, b, axes=None, origin=inner)
    terms = _common_terms(changes, values, lifted)
    array = changes.emit(at, matmul, changes.flat(at, a, inner), b, origin=origin)
    flat = [term for term in terms if term.type.ndim < array.type.ndim]
    array = _with_terms(changes, at, array, flat, origin)
    if a.type.ndim > 2:
        shape = (*changes.dims(a)[:-1], *changes.dims(array)[1:])
        array = changes.reshaped(at, array, shape, origin)
    return _with_terms(changes, at, array, [t for t in terms if t not in flat], origin)


def _with_terms(
    changes: Changes, at: int, array: Value, terms: Sequence[Value], origin: Origin
) -> Value:
    for term in terms:
        array = changes.emit(at, add, array, term, origin=origin)
    return array


def _common_terms(
    changes: Changes, values: Sequence[Value], lifted: Collection[Value]
) -> list[Value]:
    """What every turn adds to its row: b in ``x_t @ w + h_t @ u + b``. They do so no more."""
    first = min(changes.place[value] for value in values)
    sums = [list(_sums_of(changes, value)) for value in values]
    for found in sums:
        for call, _, _ in found:
            if call.results[0] in changes.instead or call.results[0] in lifted:
                return []
    shared = set.intersection(*({term for _, term, _ in found} for found in sums))
    terms = [term for _, term, _ in sums[0] if term in shared]
    terms = [term for term in terms if changes.place.get(term, -1) < first]
    for found in sums:
        for call, term, rest in found:
            if term in terms:
                changes.instead[call.results[0]] = rest
    return terms


def _sums_of(changes: Changes, value: Value) -> Iterator[tuple[Call, Value, Value]]:
    """The additions that a value goes through unread: each with what is added, and to what."""
    shape = changes.dims(value)
    while (call := changes.only_reader(value)) is not None and call.op is add:
        result = call.results[0]
        other = call.operands[1 - call.operands.index(value)]
        if changes.dims(result) != shape or result.type.dtype != value.type.dtype:
            return
        yield call, other, value
        value = result


# -- sums of products ---------------------------------------------------------------------------


class Member(NamedTuple):
    """An operand of a product: a matrix (`turned`: its transpose) or a vector."""

    value: Value
    turned: bool = False


class Term(NamedTuple):
    """A term of a sum. A product is over the first axes of both operands; an outer one over none.

    A total is a sum over an axis of `left`, and what is nothing special is `left` itself.
    """

    kind: str
    negative: bool
    leaf: Value
    left: Member
    right: Member | None = None
    axis: Any = None


@dataclass(eq=False)
class Stack:
    """Operands of several turns that are to be the rows of one array.

    They can be from `ready` on; the array is made before the node at `at`, and must be by `latest`.
    """

    members: list[Member]
    ready: int
    at: int
    latest: int
    array: Value | None = None


class Part(NamedTuple):
    """Rows, next to each other, of a stack or of an array that is there."""

    whole: Stack | Value
    start: int
    count: int


@dataclass(eq=False)
class Total:
    """A sum, the values that take the place of some of its terms, and the terms that are left."""

    result: Value
    at: int
    latest: int
    terms: list[Term]
    batches: list[tuple[Term, Part, Part | None]] = field(default_factory=list)


class Stacks:
    """The stacks of a block, and which values are in one."""

    def __init__(self, changes: Changes) -> None:
        self.changes = changes
        self.all: list[Stack] = []
        self.where: dict[Member, tuple[Stack, int]] = {}

    def find(self, member: Member) -> tuple[Stack | Value, int] | None:
        """The stack or array that the member is a row of, and which one."""
        if member in self.where:
            return self.where[member]
        return None if member.turned else row_of(self.changes, member.value)

    def order(self, members: Sequence[Member]) -> list[int] | None:
        """The order in which members are rows next to each other of one thing, if they are."""
        found = [self.find(member) for member in members]
        rows = [row for row in found if row is not None]
        if len(rows) < len(found) or len({whole for whole, _ in rows}) > 1:
            return None
        places = [place for _, place in rows]
        order = sorted(range(len(places)), key=places.__getitem__)
        lowest = places[order[0]]
        if [places[i] for i in order] != list(range(lowest, lowest + len(order))):
            return None
        return order

    def part(self, members: Sequence[Member], total: Total) -> Part:
        """The members in order as rows of one array: one that there is, or a new one."""
        first = self.find(members[0])
        if first is not None and self.order(members) == list(range(len(members))):
            whole, start = first
            if not isinstance(whole, Stack):
                return Part(whole, start, len(members))
            if whole.ready <= total.latest:
                total.at = max(total.at, whole.ready)
                whole.at, whole.latest = min(whole.at, total.at), min(whole.latest, total.latest)
                return Part(whole, start, len(members))
        place = self.changes.place
        ready = max(place.get(member.value, -1) for member in members) + 1
        stack = Stack(list(members), ready, total.at, total.latest)
        self.all.append(stack)
        for i, member in enumerate(members):
            self.where.setdefault(member, (stack, i))
        return Part(stack, 0, len(members))


def sum_at_once(changes: Changes) -> None:
    """Sums of products as products of stacked operands, and what can be done with the stacks."""
    stacks = Stacks(changes)
    totals = [total for total in _totals(changes) if len(total.terms) >= FEWEST]
    grouped = [(total, group) for total in totals for group in _products_in(changes, total)]
    for total, group in sorted(grouped, key=lambda pair: -len(pair[1])):
        _stack_products(changes, stacks, total, group)
    for total in totals:
        for group in _others_in(changes, total):
            order = stacks.order([term.left for term in group])
            if order is not None:
                part = stacks.part([group[i].left for i in order], total)
                _take(total, group, part, None)
    totals = [total for total in totals if total.batches]
    if not totals:
        return
    bases = []
    for stack in stacks.all:
        _extend(changes, stacks, stack)
        members = {i: m.value for i, m in enumerate(stack.members) if not m.turned}
        bases.append(Family(None, (), {}, members, None, stack.ready))
    found = families(changes, bases)
    for stack, base in zip(stacks.all, bases, strict=True):
        readers = [
            changes.place[v] for f in found if base in f.operands for v in f.members.values()
        ]
        stack.at = min([stack.at, *readers])
        stack.array = _put_together(changes, stack)
        base.runs = [Run(0, len(stack.members), stack.array)]
        base.name = stack.array.origin.name
    make_at_once(changes, found)
    for total in totals:
        _sum(changes, total)


def _is_sum(changes: Changes, value: Value) -> bool:
    call = changes.made_by(value)
    return call is not None and call.op in (add, subtract) and value.type.dtype in FLOATS


def _totals(changes: Changes) -> Iterator[Total]:
    """The sums of the block, however they are put together, with all their terms."""
    inner: set[Value] = set()
    for node in reversed(changes.block.nodes):
        if not isinstance(node, Call) or not _is_sum(changes, node.results[0]):
            continue
        result = node.results[0]
        if result in inner:
            continue
        terms = []
        shape, waiting = changes.dims(result), [(result, False)]
        while waiting:
            value, negative = waiting.pop()
            call = changes.made_by(value)
            part_of_it = value is result or (
                value in changes.place
                and _is_sum(changes, value)
                and changes.only_reader(value) is not None
                and changes.dims(value) == shape
                and value.type.dtype == result.type.dtype
            )
            if part_of_it and call is not None:
                inner.add(value)
                first, second = call.operands
                waiting += [(second, negative != (call.op is subtract)), (first, negative)]
            else:
                terms.append(_term(changes, value, negative, shape))
        latest = changes.first_reader(result)
        yield Total(result, changes.place[result], latest, terms)


def _term(changes: Changes, leaf: Value, negative: bool, shape: tuple[sz.Dim, ...]) -> Term:
    """What a term of a sum of this shape is."""
    plain = Term("value", negative, leaf, Member(leaf))
    call = changes.made_by(leaf)
    if call is None or leaf.type.dtype not in FLOATS or changes.dims(leaf) != shape:
        return plain
    if len(changes.readers(leaf)) > 1 or leaf in changes.outputs:
        return plain  # it is computed anyway
    if call.op is sum_over and not call.attribute("keepdims"):
        axis = call.attribute("axis")
        return Term("total", negative, leaf, Member(call.operands[0]), axis=axis)
    if call.op is outer_of or call.op is multiply:
        pair = call.operands if call.op is outer_of else _outer(changes, call)
        if pair is None or any(v.type.dtype != leaf.type.dtype for v in pair):
            return plain
        return Term("outer", negative, leaf, Member(pair[0]), Member(pair[1]))
    turned = _turned(changes, leaf)
    if turned is not None:
        call = changes.made_by(turned)
        if call is None or len(changes.readers(turned)) > 1 or turned in changes.outputs:
            return plain
    if call.op is not matmul or any(v.type.dtype != leaf.type.dtype for v in call.operands):
        return plain
    a, b = call.operands
    if a.type.ndim > 2 or b.type.ndim > 2:
        return plain
    if turned is None:
        return Term("product", negative, leaf, _over_first(changes, a), Member(b))
    right = _over_first(changes, a)
    if right.turned or b.type.ndim < 2:
        return plain
    return Term("product", negative, leaf, Member(b), right)


def _over_first(changes: Changes, a: Value) -> Member:
    """The left operand of a product with what is contracted as the first axis."""
    if a.type.ndim == 1:
        return Member(a)
    turned = _turned(changes, a)
    return Member(a, True) if turned is None else Member(turned)


def _turned(changes: Changes, value: Value) -> Value | None:
    """The matrix that the value is the transpose of."""
    call = changes.made_by(value)
    if call is None or call.op is not transpose_axes or value.type.ndim != 2:
        return None
    return call.operands[0] if call.attribute("axes") in (None, (1, 0)) else None


def _outer(changes: Changes, call: Call) -> tuple[Value, Value] | None:
    """The vectors of ``a[:, None] * b``."""
    for x, y in (call.operands, call.operands[::-1]):
        a, b = _expanded(changes, x, 1), _expanded(changes, y, 0)
        b = y if y.type.ndim == 1 else b
        if a is None or b is None:
            continue
        if changes.dims(call.results[0]) == (*changes.dims(a), *changes.dims(b)):
            return a, b
    return None


def _expanded(changes: Changes, value: Value, axis: int) -> Value | None:
    """The vector that the value is, with a new axis."""
    call = changes.made_by(value)
    if call is None or call.op is not expand_axes or call.attribute("axis") != axis:
        return None
    return call.operands[0] if call.operands[0].type.ndim == 1 else None


def _products_in(changes: Changes, total: Total) -> Iterator[list[Term]]:
    """Products of equal shapes that a sum has enough of, of different operands."""
    groups: dict[Hashable, list[Term]] = {}
    for term in total.terms:
        if term.right is not None:
            left, right = changes.dims(term.left.value), changes.dims(term.right.value)
            key = (term.kind, term.negative, term.left.turned, left, right)
            groups.setdefault(key, []).append(term)
    for group in groups.values():
        lefts, rights = {term.left for term in group}, {term.right for term in group}
        if 2 * min(len(lefts), len(rights)) > len(group) >= FEWEST:
            yield group


def _others_in(changes: Changes, total: Total) -> Iterator[list[Term]]:
    """Totals and bare values of equal shapes that a sum has enough of."""
    groups: dict[Hashable, list[Term]] = {}
    for term in total.terms:
        if term.right is None:
            key = (term.kind, term.negative, term.axis, changes.dims(term.left.value))
            groups.setdefault(key, []).append(term)
    yield from (group for group in groups.values() if len(group) >= FEWEST)


def _stack_products(changes: Changes, stacks: Stacks, total: Total, group: list[Term]) -> None:
    """Takes products out of a sum: their operands become rows of two arrays."""
    lefts = [term.left for term in group]
    rights = [term.right for term in group if term.right is not None]
    order = stacks.order(lefts) or stacks.order(rights)
    if order is None:
        order = list(range(len(group)))
        if total.result.origin.section:
            order.reverse()  # the first turn is the last to be derived
    left = stacks.part([lefts[i] for i in order], total)
    right = stacks.part([rights[i] for i in order], total)
    _take(total, group, left, right)


def _take(total: Total, group: list[Term], left: Part, right: Part | None) -> None:
    """The terms are summed at once."""
    gone = {id(term) for term in group}
    total.terms = [term for term in total.terms if id(term) not in gone]
    total.batches.append((group[0], left, right))


def _extend(changes: Changes, stacks: Stacks, stack: Stack) -> None:
    """Takes in the state of the last turn, with which the block does what it does with the others.

    Sums of products have the states before each turn; slopes are of those after.
    """
    last = stack.members[-1]
    readers = [node for node in changes.readers(last.value) if isinstance(node, Call)]
    ops = {node.op for node in readers if _elementwise(node)}
    origin, shape = last.value.origin, changes.dims(last.value)
    if last.turned or not origin.final or not ops:
        return
    for node in changes.block.nodes[stack.ready : stack.latest]:
        if not isinstance(node, Call) or node.op not in ops:
            continue
        for value in node.operands:
            here = changes.place.get(value, -1)
            alike = _variable(value.origin) == _variable(origin)
            if (
                alike
                and here > changes.place.get(last.value, -1)
                and Member(value) not in stacks.where
                and value.type.dtype == last.value.type.dtype
                and changes.dims(value) == shape
            ):
                stacks.where[Member(value)] = stack, len(stack.members)
                stack.members.append(Member(value))
                stack.ready = max(stack.ready, here + 1)
                return


def _variable(origin: Origin) -> tuple[Hashable, ...]:
    """The statement and the variable that a value is of."""
    return origin.name, origin.final, origin.section, origin.file, origin.line


def _put_together(changes: Changes, stack: Stack) -> Value:
    """The array of a stack."""
    node = changes.block.nodes[stack.at]
    results = node.results
    origin = results[0].origin if results else stack.members[0].value.origin
    names = {member.value.origin.name for member in stack.members}
    name = names.pop() if len(names) == 1 else None
    at = stack.at
    values = [
        changes.emit(
            at, transpose_axes, m.value, axes=None, origin=origin.named(m.value.origin.name)
        )
        if m.turned
        else m.value
        for m in stack.members
    ]
    named = origin.named(f"{name}s" if name else "stack", True)
    return changes.emit(at, rows_of, *values, origin=named)


def _sum(changes: Changes, total: Total) -> None:
    """The sum with the batches in place of what they hold."""
    at, origin = total.at, total.result.origin
    inner = origin.named(origin.name)
    alone = not total.terms and len(total.batches) == 1 and not total.batches[0][0].negative
    pieces = [
        (term.negative, _batched(changes, at, term, left, right, origin if alone else inner))
        for term, left, right in total.batches
    ]
    pieces += [(term.negative, term.leaf) for term in total.terms]
    pieces.sort(key=lambda piece: piece[0])
    negated, value = pieces[0]
    if negated:
        value = changes.emit(at, negative, value, origin=inner)
    for i, (minus, piece) in enumerate(pieces[1:], 2):
        op = subtract if minus else add
        here = origin if i == len(pieces) else inner
        value = changes.emit(at, op, value, piece, origin=here)
    changes.instead[total.result] = value


def _batched(
    changes: Changes, at: int, term: Term, left: Part, right: Part | None, origin: Origin
) -> Value:
    """What the terms of a batch add up to."""
    inner = origin.named(origin.name)
    a = _array_of(changes, at, left, inner)
    if right is None:
        return _added_up(changes, at, term, a, origin)
    b = _array_of(changes, at, right, inner)
    if term.kind == "product":
        a, b = (_joined_rows(changes, at, x, inner) for x in (a, b))
    if a.type.ndim == 2:
        a = changes.emit(at, transpose_axes, a, axes=None, origin=inner)
    return changes.emit(at, matmul, a, b, origin=origin)


def _array_of(changes: Changes, at: int, part: Part, origin: Origin) -> Value:
    whole = part.whole.array if isinstance(part.whole, Stack) else part.whole
    assert whole is not None
    return changes.part(at, whole, part.start, part.count, origin)


def _joined_rows(changes: Changes, at: int, x: Value, origin: Origin) -> Value:
    """Matrices one below the other, vectors one behind the other."""
    if x.type.ndim > 2:
        return changes.flat(at, x, origin)
    return changes.reshaped(at, x, (sz.mul(changes.dims(x)),), origin)


def _added_up(changes: Changes, at: int, term: Term, x: Value, origin: Origin) -> Value:
    """The sum over turns of the members, or of what each adds up to."""
    axis: Any = 0
    if term.kind == "total":
        ndim = x.type.ndim - 1
        if ndim > 1 and term.axis == 0:
            x = changes.reshaped(at, x, _first_two_in_one(changes.dims(x)), origin)
        else:
            axes = (0, *(a + 1 for a in axes_of(term.axis, ndim)))
            axis = None if len(axes) == ndim + 1 else axes
    return changes.emit(at, sum_over, x, axis=axis, keepdims=False, origin=origin)


def _first_two_in_one(shape: tuple[sz.Dim, ...]) -> tuple[sz.Dim, ...]:
    return (sz.mul(shape[:2]), *shape[2:])
