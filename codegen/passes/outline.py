"""Makes loops over numbers, and over small arrays, calls of kernels.

A kernel is a graph of its own: loops, with what follows them as far as it may contain that as well,
forward and backward. It makes arrays and lists, and changes nothing that was made outside of it, so
that it can run again from the start. What it may contain, the target says call by call (`Kind`).

Before::                                      After::

    graph f(x: float64[n0], a: float64[]) {     graph f(x: float64[n0], a: float64[]) {
      %s = loop(%a) turn {                        %s_2 = kernel(%x, %a, body=f_loop)
        ...                                       return %s_2
      } after { return %s }                     }
    }                                           graph f_loop(x: float64[n0], a: float64[]) {
                                                  %s = loop(%a) turn { ...
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeGuard

from codegen.ir import (
    Again,
    Block,
    Branch,
    Call,
    Frame,
    Graph,
    Join,
    Loop,
    Node,
    Op,
    Trait,
    Value,
    dims_of,
    ends,
    walk,
)
from codegen.loop_ownership import own_parameters
from codegen.names import parameter_names
from codegen.rewrite import substituted
from codegen.sizes import symbols
from codegen.spelling import Spelling, spell
from codegen.told_lengths import symbols_printed
from codegen.types import LIST, ArrayType

Speaks: TypeAlias = "Callable[[Graph, Node], bool]"
"""Whether a kernel may contain a node; blocks in it are asked for themselves."""


@dataclass(frozen=True)
class Kind:
    """Kernels of one kind: what they may contain, and how the graph of one is written.

    That is None where it cannot be one after all. A kernel that `chooses` has a body of its own for
    calls that are not for it, and copies what it changes.
    """

    speaks: Speaks
    written: Callable[[Graph], Graph | None]
    chooses: bool = False


@dataclass(frozen=True)
class Outlined:
    """A kernel: the part of the program as it was, and as it is written."""

    kind: Kind
    body: Graph
    kernel: Graph


def _types_of_body(
    sizes: object, *operands: ArrayType, body: Graph
) -> ArrayType | tuple[ArrayType, ...]:
    types = tuple(output.type for end in ends(body.block) for output in end.outputs)
    count = len(next(ends(body.block)).outputs)
    return types[:count] if count > 1 else types[0]


def _spelled(attributes: Mapping[str, object]) -> Spelling:
    return spell("body(*arrays)")


OWN = Op(
    "own",
    ("x",),
    lambda sizes, x: x,
    {"numpy": spell("np.array(x)")},
    traits=frozenset({Trait.COPY}),
)
"""A copy, in the order of memory that it is of."""

KERNEL = Op(
    "kernel",
    ("*arrays",),
    _types_of_body,
    {"numpy": _spelled},
    attributes={"body": ...},
)


def outline(graph: Graph, kinds: Sequence[Kind]) -> tuple[Graph, tuple[Outlined, ...]]:
    """The graph with calls of kernels, and these: of the first of the `kinds` that a loop is of."""
    finder = _Finder(graph, kinds)
    block = finder.block(graph.block)
    if not finder.kernels:
        return graph, ()
    frame = replace(graph.frame, returns=block.returns, names=block.names, origin=block.origin)
    return graph.replace(frame=frame).with_block(block), tuple(finder.kernels)


class _Finder:
    """Finds the loops of a graph that become kernels."""

    def __init__(self, graph: Graph, kinds: Sequence[Kind]) -> None:
        self.graph = graph
        self.kinds = kinds
        self.kind = kinds[0]  # that is looked for
        self.kernels: list[Outlined] = []
        self.told: dict[tuple[Kind, Node], bool] = {}
        self.lengths: dict[str, Value] = {}
        for value in graph.inputs:
            for dim in dims_of(graph.sizes, value.type):
                for name in symbols(dim):
                    self.lengths.setdefault(name, value)

    def block(self, block: Block) -> Block:
        """The block, and those in it, with kernels in the place of loops."""
        last = block.nodes[-1] if block.nodes else None
        if isinstance(last, Loop):
            for kind in self.kinds:
                self.kind = kind
                begin = self._begin(block)
                found = self._whole(block, begin) or self._part(block, begin)
                if found is not None:
                    return found
        if isinstance(last, Branch | Loop | Join):
            inner = tuple(map(self.block, last.blocks))
            if any(new is not old for new, old in zip(inner, last.blocks, strict=True)):
                return block.with_nodes((*block.nodes[:-1], replace(last, blocks=inner)))
        return block

    def _may_contain(self, node: Node) -> bool:
        """Whether a kernel may contain a node."""
        key = self.kind, node
        if key not in self.told:
            self.told[key] = self.kind.speaks(self.graph, node)
        return self.told[key]

    def _begin(self, block: Block) -> int:
        """From which node on a block may belong to the kernel of the loop at its end."""
        at = len(block.nodes) - 1
        while at and self._may_contain(block.nodes[at - 1]):
            at -= 1
        return at

    def _whole(self, block: Block, begin: int) -> Block | None:
        """The block with all that follows the loop in the kernel: it returns what the block does.

        Where several paths return, they return the same number of values of the same types.
        """
        inside = block.with_nodes(block.nodes[begin:])
        if not all(map(self._may_contain, walk(inside.nodes))):
            return None
        made = {result for node in walk(inside.nodes) for result in node.results}
        returning = list(ends(inside))
        faces = {
            (end.returns, end.names, *(_face(self.graph, v) for v in end.outputs))
            for end in returning
        }
        leads = self._leads(block)
        if len(faces) != 1 or leads or not returning[0].outputs:
            return None
        outputs = [v for end in returning for v in end.outputs]
        if any(v not in made and self.graph.constant(v) is None for v in outputs):
            return None
        if any(map(self._is_nothing, outputs)):
            return None  # a kernel gives arrays and numbers
        face = returning[0]
        results = tuple(
            Value(v.type, v.origin if v.origin.name else v.origin.named(_wish(face, i)))
            for i, v in enumerate(face.outputs)
        )
        body = _with_ends(inside, lambda end: replace(end, returns=_tuple_of(end), names=()))
        call = self._kernel(body, results)
        if call is None:
            return None
        nodes = (*block.nodes[:begin], call)
        return face.with_nodes(nodes, results)

    def _is_nothing(self, value: Value) -> bool:
        """Whether a value stands where there is none."""
        made = self.graph.producer.get(value)
        return isinstance(made, Call) and Trait.UNSET in made.op.traits

    def _part(self, block: Block, begin: int) -> Block | None:
        """The block with its loop, and loops that follow it, in a kernel; the rest stays outside.

        There must be one way on behind each of these loops. What stands between them and is not
        for kernels is computed before the kernel or after it, where its operands allow that.
        """
        followers = list(self._followers(block))
        inside = block.with_nodes(block.nodes[begin:])
        for count in range(len(followers), 0, -1):
            sorted_out = self._sorted_out(inside, followers[:count])
            if sorted_out is None:
                continue
            body, kept, before, rest = sorted_out
            made = {result for node in walk(body.nodes) for result in node.results}
            read = {value: None for value in self.graph.reads_in(rest) if value in made}
            literals = [node for value in read if (node := self.graph.constant(value))]
            results = tuple(value for value in read if self.graph.constant(value) is None)
            if not results or any(value.type == LIST for value in results):
                continue
            returned = Block((), results)
            returned = replace(returned, returns=_tuple_of(returned))
            call = self._kernel(_with_block(body, kept, returned), results, True)
            if call is not None:
                after = self.block(rest)
                start = (*block.nodes[:begin], *before, *literals, call)
                return after.with_nodes((*start, *after.nodes))
        return None

    def _sorted_out(
        self, inside: Block, followers: Sequence[Block]
    ) -> tuple[Block, Block, list[Node], Block] | None:
        """The kernel's block, its end, what comes before the kernel, and what comes after it."""
        kept = Block(())
        begun = _with_block(inside, followers[-1], kept)
        made = {result for node in walk(begun.nodes) for result in node.results}
        body = inside
        before: list[Node] = []
        after: list[Node] = []
        late: set[Value] = set()
        for block in followers[:-1]:
            stay: list[Node] = []
            for node in block.nodes[:-1]:
                reads = made.intersection(node.operands)
                if not reads & late and self._may_contain(node):
                    stay.append(node)
                elif not _may_move(node):
                    return None
                elif not reads:
                    before.append(replace(node, reuse=None))
                    made -= {*node.results}
                elif any(value.type.shape and value not in late for value in reads):
                    return None  # turns that follow may write to it
                else:
                    after.append(replace(node, reuse=None))
                    late.update(node.results)
            body = _with_block(body, block, block.with_nodes((*stay, block.nodes[-1])))
        body = _with_block(body, followers[-1], kept)
        nodes = list(walk(body.nodes))
        if not all(map(self._may_contain, nodes)):
            return None
        if any(late.intersection(node.operands) for node in nodes):
            return None
        rest = followers[-1]
        return body, kept, before, rest.with_nodes((*after, *rest.nodes))

    def _followers(self, block: Block) -> Iterator[Block]:
        """What follows the loop at the end of a block, what follows one at the end of that, ..."""
        while block.nodes and isinstance(last := block.nodes[-1], Loop):
            leaving = list(self._left(last.turn, frozenset({last.label})))
            following = [*leaving, *([last.after] if last.after else [])]
            if len(following) != 1:
                return
            block = following[0]
            yield block

    def _left(self, block: Block, labels: frozenset[object]) -> Iterator[Block]:
        """The blocks in a turn from which no path begins another turn of these loops."""
        if not self._leads(block) & labels:
            yield block
            return
        last = block.nodes[-1]
        if isinstance(last, Branch | Join):
            for inner in last.blocks:
                yield from self._left(inner, labels)
        elif isinstance(last, Loop):
            yield from self._left(last.turn, labels | {last.label})
            if last.after:
                yield from self._left(last.after, labels)

    def _leads(self, block: Block) -> frozenset[object]:
        """The loops around a block, of the graph or one made here, whose next turn it begins."""
        known = self.graph.leads.get(block)
        if known is not None:
            return known
        last = block.nodes[-1] if block.nodes else None
        found = frozenset({last.label}) if isinstance(last, Again) else frozenset[object]()
        if isinstance(last, Branch | Loop | Join):
            found = found.union(*map(self._leads, last.blocks))
        return found - {last.label} if isinstance(last, Loop | Join) else found

    def _kernel(
        self, body: Block, results: tuple[Value, ...], is_part: bool = False
    ) -> Call | None:
        """The call of a new kernel, where it is told all lengths that its source names.

        What follows a part of the program may overwrite what that gives: arrays of their own.
        """
        graph = self.graph
        made: set[Value] = set()
        given: dict[Value, None] = {}
        constants: dict[Node, None] = {}
        for node in walk(body.nodes):
            made.update(node.results)
        for value in graph.reads_in(body):
            constant = graph.constant(value)
            if value in made:
                continue
            if constant is not None:
                constants[constant] = None
            else:
                given[value] = None
        named = {name for node in walk(body.nodes) for name in symbols_printed(node, graph.sizes)}
        for name in sorted(named):
            if not any(_tells(graph, value, name) for value in given):
                if name not in self.lengths:
                    return None
                given[self.lengths[name]] = None
        if any(value.type == LIST for value in given):
            return None
        if any(value.type.dtype == "bool" for value in results):
            return None  # Python's, or NumPy's: the type does not tell
        changed = {v: None for node in walk(body.nodes) for v in self._changed(node, made)}
        if not self.kind.chooses and changed:
            return None
        operands = tuple(dict.fromkeys([*(v for v in graph.inputs if v in given), *given]))
        number = f"_{len(self.kernels) + 1}" if self.kernels else ""
        names = parameter_names(operands)
        outlined = Graph(
            f"{graph.name}_loop{number}",
            operands,
            (*constants, *body.nodes),
            body.outputs,
            Frame(names, names, returns=body.returns, origin=body.origin),
            graph.sizes,
        )
        kernel = self.kind.written(outlined)
        plain = _of_copies(outlined, changed)
        plain = _with_own(plain) if is_part else plain
        if kernel is None or not (plain is outlined or self.kind.chooses):
            return None
        self.kernels.append(Outlined(self.kind, plain, kernel))
        shown = plain if self.kind.chooses else kernel
        return Call(KERNEL, operands, (("body", shown),), results)

    def _changed(self, node: Node, made: set[Value]) -> Iterator[Value]:
        """The arrays from outside of the kernel that a node may write into."""
        if not isinstance(node, Call) or node.reuse is None:
            return
        waiting, seen = [node.operands[node.reuse]], set[Value]()
        while waiting:
            value = waiting.pop()
            if value in seen:
                continue
            seen.add(value)
            if value not in made:
                yield value
                continue
            waiting += self.graph.given.get(value, ())
            maker = self.graph.producer.get(value)
            if isinstance(maker, Call) and maker.reuse is not None:
                waiting.append(maker.operands[maker.reuse])


def _shown(graph: Graph) -> list[Value]:
    """The outputs that may show memory of something else: of an input, or another output."""
    taken = {*graph.inputs}
    shown = []
    for output in next(ends(graph.block)).outputs:
        owner, made = graph.owner[output], graph.producer.get(output)
        if not output.type.shape:
            continue
        source = graph.producer.get(owner)
        if isinstance(source, Loop | Join):
            own = owner in own_parameters(graph)
        else:
            own = isinstance(source, Call) and not (
                isinstance(made, Call) and made.memory is Trait.SPLAT
            )
        if owner in taken or not own:
            shown.append(output)
        taken.add(owner)
    return shown


def _with_own(graph: Graph) -> Graph:
    """The graph of a kernel that gives copies where others may have the arrays."""
    copies = {v: Value(v.type, v.origin) for v in _shown(graph)}
    if not copies:
        return graph
    calls = [Call(OWN, (v,), (), (copy,)) for v, copy in copies.items()]

    def owned(end: Block) -> Block:
        outputs = tuple(copies.get(v, v) for v in end.outputs)
        return end.with_nodes((*end.nodes, *calls), outputs)

    return graph.with_block(_with_ends(graph.block, owned))


def _of_copies(graph: Graph, changed: Iterable[Value]) -> Graph:
    """The graph that writes into copies of some inputs: what is around it may read these."""
    copies = {v: Value(v.type, v.origin) for v in changed}
    if not copies:
        return graph
    block = substituted(graph.block, lambda value: copies.get(value, value))
    calls = [Call(OWN, (v,), (), (copy,)) for v, copy in copies.items()]
    return graph.with_block(block.with_nodes((*calls, *block.nodes)))


def _may_move(node: Node) -> TypeGuard[Call]:
    """Whether a node may run earlier or later, where its operands are there."""
    if not isinstance(node, Call) or Trait.EFFECT in node.op.traits:
        return False
    return all(value.type != LIST for value in (*node.operands, *node.results))


def _face(graph: Graph, value: Value) -> object:
    return value.type.dtype, value.type.weak, dims_of(graph.sizes, value.type)


def _wish(face: Block, place: int) -> str | None:
    return face.names[place] if place < len(face.names) else None


def _tuple_of(block: Block) -> str:
    """What a kernel returns: a value, or several as a tuple."""
    return ", ".join(f"{{{i}}}" for i in range(len(block.outputs)))


def _tells(graph: Graph, value: Value, name: str) -> bool:
    """Whether an array has this symbol as the length of an axis."""
    dims = dims_of(graph.sizes, value.type)
    return any(not isinstance(dim, int) and dim.symbol() == name for dim in dims)


def _with_ends(block: Block, new: Callable[[Block], Block]) -> Block:
    """The block with other ends of the paths that return."""
    last = block.nodes[-1] if block.nodes else None
    if isinstance(last, Branch | Loop | Join):
        inner = tuple(_with_ends(each, new) for each in last.blocks)
        return block.with_nodes((*block.nodes[:-1], replace(last, blocks=inner)))
    return block if isinstance(last, Again) else new(block)


def _with_block(block: Block, old: Block, new: Block) -> Block:
    """The block with `new` in the place of a block in it."""
    if block is old:
        return new
    last = block.nodes[-1] if block.nodes else None
    if not isinstance(last, Branch | Loop | Join):
        return block
    inner = tuple(_with_block(each, old, new) for each in last.blocks)
    if all(one is two for one, two in zip(inner, last.blocks, strict=True)):
        return block
    return block.with_nodes((*block.nodes[:-1], replace(last, blocks=inner)))
