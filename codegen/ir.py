"""Graphs: immutable SSA in blocks, which prints, parses back and is verified.

Structural nodes are a closed set, matched exhaustively: `Constant` (a number), `Call` (an op on
values), `Check` (Python looked at a value: the program is left unless the outcome is the same),
`Branch` (Python looked, and several outcomes are known: each goes on in a `Block` of its own),
`Loop` (a block that runs again and again), `Join` (paths of a block that go on as one behind it)
and `Again` (the next turn of a loop around, or what is behind a join around). The last four end
their block: blocks are a tree of dominators with edges to loops and joins around. What is made
before a block is read in it as it is; what differs from turn to turn, or from path to path, is a
parameter. Ops are an open set that the client supplies; codegen asks for traits, never for names.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import Any, Self, TypeAlias, TypeVar

from codegen.errors import CodegenError
from codegen.sizes import CountedLength, Dim, Sizes
from codegen.spelling import Spelling, SpellingOf
from codegen.types import LIST, ArrayType, bounded, either_of

Number: TypeAlias = "bool | int | float | complex"
Attributes: TypeAlias = "tuple[tuple[str, Any], ...]"


class Trait(Enum):
    """What passes and emitters may ask of an op."""

    ELEMENTWISE = "elementwise"  # out[i] depends on the operands' [i] only
    COMMUTATIVE = "commutative"
    COMPLEX_IN_ORDER = "complex_in_order"  # but of complex operands the order decides the last bit
    INVOLUTION = "involution"  # f(f(x)) is x
    IDEMPOTENT = "idempotent"  # f(f(x)) is f(x)
    VIEW = "view"  # may share memory with its first operand
    SPLAT = "splat"  # repeats its operand over the attribute `shape`; readonly
    WRITTEN_OUT = "written_out"  # is an array, and a splat where no bit depends on how it lies
    LOOSE = "loose"  # makes new arrays, whose elements may lie apart or backwards in memory
    UPDATE = "update"  # like its first operand but for some elements; has an in-place form
    EXTENT = "extent"  # a number of elements, known from types alone; a Python int at run time
    OUT = "out"  # elementwise, and can write into one of its operands (infix, or takes out=)
    COPY = "copy"  # same values in fresh memory
    PLACES = "places"  # puts elements of its operands into a new array, wherever they lie in memory
    TOTAL = "total"  # adds its operand's elements over the attribute `axis`, None for all
    CONVERTS = "converts"  # a number of Python's, which a target of arrays alone gives a dtype
    NUMERIC = "numeric"  # bools among its operands are numbers, 0 and 1, and no masks
    DOT = "dot"  # adds the products of the elements of two operands of one shape, in no fixed order
    C_ORDER = "c_order"  # a matrix that it makes is in C order whatever the operands are
    CONTIGUOUS = "contiguous"  # whatever it makes is in C order, of any number of axes
    KEEPS_ORDER = "keeps_order"  # what it makes or shows of operands in C order is in C order
    LIES_LIKE = "lies_like"  # its axes lie in memory as those of its last operand, if in C order
    HOLDS = "holds"  # what it makes is a list, which holds the arrays that it is given
    UNSET = "unset"  # what it gives stands where a path has no value, and is never read
    MAYBE_UNSET = "maybe_unset"  # but by ops with this trait, and where it is returned
    EFFECT = "effect"  # runs unknown code: always called, never twice; may keep what it is given

    __hash__ = object.__hash__  # members are single; Enum's own hashes the name anew each time


@dataclass(frozen=True, eq=False)
class Op:
    """One operation: its type rule, how each target writes it, and its traits.

    `operands` are the names used in the spellings; a last name with a star takes any number.
    `attributes` maps each attribute to its default (`...` for none). `identities` are ``(position,
    number)``: the operand at `position` may be dropped when it is that number. `results` are what
    variables are called that hold several results. `memory` stands for VIEW and LOOSE in `traits`
    where the call decides: it gives the one that holds, or None, for the types of the operands and
    the attributes, ``memory(*types, **attributes)``. `needs` says, by target, what the names in its
    spelling stand for that the target's source does not have anyway: an import, or the source of a
    function. `scratch` is the memory that its source takes besides the result, in arrays as large
    as the largest operand or result. None: nobody knows it; an expression of one call has 0.
    """

    name: str
    operands: tuple[str, ...]
    infer: Callable[..., ArrayType | tuple[ArrayType, ...]]
    spelling: Mapping[str, SpellingOf]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    traits: frozenset[Trait] = frozenset()
    identities: tuple[tuple[int, Number], ...] = ()
    results: tuple[str, ...] = ()
    memory: Callable[..., Trait | None] | None = None
    needs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    scratch: float | None = None

    def spelled(self, target: str, attributes: Mapping[str, Any]) -> Spelling:
        """The spelling in `target` for these attributes."""
        if target not in self.spelling:
            raise CodegenError(f"{self.name} has no spelling for the target {target!r}")
        spelling = self.spelling[target]
        return spelling if isinstance(spelling, Spelling) else spelling(attributes)

    @cached_property
    def calls_methods(self) -> bool:
        """Whether a spelling may call methods of an operand: a Python number has none of them."""
        texts = self.spelling.values()
        operands = {name.lstrip("*") for name in self.operands}
        return any(not isinstance(s, Spelling) or s.attributed & operands for s in texts)

    def memory_of(self, types: Sequence[ArrayType], attributes: Mapping[str, Any]) -> Trait | None:
        """What the results of a call are in: memory of the first operand, or new memory.

        VIEW or SPLAT where they may share memory with the first operand; else nobody else has
        theirs. LOOSE where they may lie there as no new array does; None where they are dense, the
        axes in whatever order. This is the one place that says so.
        """
        if self.memory is not None:
            return self.memory(*types, **attributes)
        return next((trait for trait in MEMORY if trait in self.traits), None)

    def __repr__(self) -> str:
        return f"<op {self.name}>"


MEMORY = (Trait.VIEW, Trait.SPLAT, Trait.LOOSE)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value comes from: the user's variable and line, and the program point.

    `final` tells that the value itself is stored in the variable (else it is an inner value of the
    statement). `section` separates forward from backward in the source. `within` is the context
    manager, as Python, that the statement runs in. `raises` tells that the program has to raise
    what the call raises, although nothing may read its results.
    """

    name: str | None = None
    final: bool = False
    file: str = ""
    line: int = 0
    text: str = ""
    point: Hashable = None
    section: str = ""
    within: str = ""
    raises: bool = False

    def named(self, name: str | None, final: bool = False) -> Origin:
        """The same place, of another value, which is called otherwise."""
        return Origin(
            *(name, final, self.file, self.line, self.text, self.point, self.section, self.within)
        )


NOWHERE = Origin()


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """One SSA value; identity is what distinguishes values."""

    type: ArrayType
    origin: Origin = NOWHERE

    def __repr__(self) -> str:
        return f"<{self.origin.name or 'value'}: {self.type}>"


@dataclass(frozen=True, slots=True, eq=False)
class Constant:
    """A number. With a `slot` it is a parameter of the graph: not part of its structural key."""

    value: Number
    result: Value
    slot: int | None = None

    @property
    def operands(self) -> tuple[Value, ...]:
        return ()

    @property
    def results(self) -> tuple[Value, ...]:
        return (self.result,)


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """An op on values. `reuse` is the operand whose memory the result may take over."""

    op: Op
    operands: tuple[Value, ...]
    attributes: Attributes
    results: tuple[Value, ...]
    reuse: int | None = None

    def attribute(self, name: str) -> Any:
        return dict(self.attributes)[name]

    @property
    def says_dtype(self) -> bool:
        """Whether an attribute is the dtype; one that is None leaves it to the operands."""
        return dict(self.attributes).get("dtype") is not None

    @property
    def raises(self) -> bool:
        """Whether the program has to raise what this may raise; a backward has nothing to raise."""
        origin = self.results[0].origin
        return origin.raises and not origin.section

    @property
    def commutes(self) -> bool:
        """Whether its operands may change places, to the bit."""
        if Trait.COMMUTATIVE not in self.op.traits:
            return False
        is_complex = self.results[0].type.dtype.startswith("complex")
        return not (is_complex and Trait.COMPLEX_IN_ORDER in self.op.traits)

    @property
    def memory(self) -> Trait | None:
        """What the results are in: see `Op.memory_of`."""
        if self.op.memory is None and self.op.traits.isdisjoint(MEMORY):
            return None
        return self.op.memory_of([v.type for v in self.operands], dict(self.attributes))

    @property
    def shown(self) -> Value | None:
        """The operand whose memory the results may show; None where theirs is new."""
        return self.operands[0] if self.memory in (Trait.VIEW, Trait.SPLAT) else None


@dataclass(frozen=True, slots=True, eq=False)
class Check:
    """Python looked at `operand`; the program holds only while `look` of it gives `outcome`."""

    operand: Value
    look: str  # "bool", "int", "float", "complex", "item"
    outcome: Number
    origin: Origin = NOWHERE

    @property
    def operands(self) -> tuple[Value, ...]:
        return (self.operand,)

    @property
    def results(self) -> tuple[Value, ...]:
        return ()


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Nodes, and what is returned after them; where the last node goes on elsewhere, nothing is.

    `returns` is a Python expression over ``{0}``, ``{1}``, ... (the outputs); `names` are what
    outputs are called that the user gave no name; `origin` is the user's line that returns.
    """

    nodes: tuple[Node, ...]
    outputs: tuple[Value, ...] = ()
    returns: str | None = None
    names: tuple[str, ...] = ()
    origin: Origin = NOWHERE

    def with_nodes(self, nodes: tuple[Node, ...], outputs: tuple[Value, ...] | None = None) -> Self:
        """The block with other nodes, and other outputs where some are given.

        It is the block itself where they are the same: what is known of a graph stays known.
        """
        outputs = self.outputs if outputs is None else outputs
        if nodes == self.nodes and outputs == self.outputs:
            return self
        return type(self)(nodes, outputs, self.returns, self.names, self.origin)


@dataclass(frozen=True, slots=True, eq=False)
class Branch:
    """Python looked at `operand`; for each of the `outcomes` it went on as its block says.

    Always the last node of its block; the program is left at any other outcome. Paths do not meet
    again, but behind a `Join` around: else what follows an ``if`` stands in both blocks.
    """

    operand: Value
    look: str
    outcomes: tuple[Number, ...]
    blocks: tuple[Block, ...]
    origin: Origin = NOWHERE

    @property
    def operands(self) -> tuple[Value, ...]:
        return (self.operand,)

    @property
    def results(self) -> tuple[Value, ...]:
        return ()

    @property
    def complete(self) -> bool:
        """True when no other outcome is possible."""
        return self.look == "bool" and len(self.outcomes) == 2


@dataclass(frozen=True, slots=True)
class Counter:
    """What counts the turns of a loop: `index` is each of ``range(start, stop, step)`` in turn.

    `index`, `start` and `stop` are numbers of Python (their type is weak); `step` is not 0. Where
    arrays of a turn have a length that its number decides (``x[:i]``), `length` says which.
    """

    index: Value
    start: Value
    stop: Value
    step: int = 1
    length: CountedLength | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Loop:
    """A block that runs again and again, always the last node of the block that it stands in.

    The first turn has the `arguments` for its `parameters`; an `Again` with this `label` begins the
    next turn with arguments of its own. Where a `counter` counts the turns, ``blocks[1]`` is what
    follows when the numbers are used up: it reads the parameters as they are then (and not the
    index). Where there is ``blocks[0]``, the turn, alone, the loop is left by the branches in it;
    one with a counter, that has always been left so, leaves the program when they are used up.
    What the turn makes is not read after it, except by the paths that leave it.
    """

    label: object
    parameters: tuple[Value, ...]
    arguments: tuple[Value, ...]
    blocks: tuple[Block, ...]
    counter: Counter | None = None
    origin: Origin = NOWHERE

    @property
    def turn(self) -> Block:
        return self.blocks[0]

    @property
    def after(self) -> Block | None:
        """What follows when the counter is used up."""
        return self.blocks[1] if len(self.blocks) > 1 else None

    @property
    def operands(self) -> tuple[Value, ...]:
        if self.counter is None:
            return self.arguments
        return (*self.arguments, self.counter.start, self.counter.stop)

    @property
    def results(self) -> tuple[Value, ...]:
        """What its blocks read: the parameters, and in a turn the index."""
        if self.counter is None:
            return self.parameters
        return (*self.parameters, self.counter.index)


@dataclass(frozen=True, slots=True, eq=False)
class Join:
    """Paths that part in the `body` and meet `after` it; always the last node of its block.

    An `Again` in the body with this `label` is where a path goes on behind it, with what the
    `parameters` are on that path. Other paths of the body return. What the body makes is read
    behind it as a parameter alone, and the body reads no parameter.
    """

    label: object
    parameters: tuple[Value, ...]
    blocks: tuple[Block, ...]
    origin: Origin = NOWHERE

    @property
    def body(self) -> Block:
        return self.blocks[0]

    @property
    def after(self) -> Block:
        return self.blocks[1]

    @property
    def operands(self) -> tuple[Value, ...]:
        return ()

    @property
    def results(self) -> tuple[Value, ...]:
        return self.parameters


@dataclass(frozen=True, slots=True, eq=False)
class Again:
    """The next turn of the loop around that has this `label`, or what is behind the join around
    that has it; always the last node of its block."""

    label: object
    arguments: tuple[Value, ...]
    origin: Origin = NOWHERE

    @property
    def operands(self) -> tuple[Value, ...]:
        return self.arguments

    @property
    def results(self) -> tuple[Value, ...]:
        return ()


Node: TypeAlias = "Constant | Call | Check | Branch | Loop | Join | Again"
_WITH_BLOCKS = (Branch, Loop, Join)
LEADING = (*_WITH_BLOCKS, Again)
AnyNode = TypeVar("AnyNode", bound="Node")
Structure = TypeVar("Structure", bound="Branch | Loop | Join")


def inner_blocks(node: Node) -> tuple[Block, ...]:
    """The blocks that a node goes on in."""
    return node.blocks if isinstance(node, _WITH_BLOCKS) else ()


def with_operands(node: AnyNode, now: Callable[[Value], Value]) -> AnyNode:
    """The node reading other values; its blocks are as they were."""
    for operand in node.operands:
        if now(operand) is not operand:
            break
    else:
        return node
    changed: Any = node
    match node:
        case Call(op, operands, attributes, results, reuse):
            changed = Call(op, tuple(map(now, operands)), attributes, results, reuse)
        case Check() | Branch():
            changed = replace(node, operand=now(node.operand))
        case Again():
            changed = replace(node, arguments=tuple(map(now, node.arguments)))
        case Loop(counter=counter):
            if counter:
                counter = replace(counter, start=now(counter.start), stop=now(counter.stop))
            changed = replace(node, arguments=tuple(map(now, node.arguments)), counter=counter)
    return changed  # type: ignore[no-any-return]


def with_blocks(node: Structure, blocks: tuple[Block, ...]) -> Structure:
    """The node going on in other blocks; itself where these are the same."""
    if blocks == node.blocks:
        return node
    changed: Any
    match node:
        case Branch(operand, look, outcomes, _, origin):
            changed = Branch(operand, look, outcomes, blocks, origin)
        case Loop(label, parameters, arguments, _, counter, origin):
            changed = Loop(label, parameters, arguments, blocks, counter, origin)
        case Join(label, parameters, _, origin):
            changed = Join(label, parameters, blocks, origin)
    return changed  # type: ignore[no-any-return]


def walk(nodes: Iterable[Node]) -> Iterator[Node]:
    """The nodes and those in the blocks of branches and loops, in the order of the graph."""
    waiting = [tuple(nodes)]  # generators in one another would take time for each level
    while waiting:
        straight = waiting.pop()
        yield from straight
        if straight:  # the last one alone can have blocks
            waiting += [block.nodes for block in reversed(inner_blocks(straight[-1]))]


def ends(block: Block) -> Iterator[Block]:
    """The blocks in which paths return, in the order of the graph."""
    waiting = [block]
    while waiting:
        block = waiting.pop()
        last = block.nodes[-1] if block.nodes else None
        if isinstance(last, _WITH_BLOCKS):
            waiting += reversed(last.blocks)
        elif not isinstance(last, Again):
            yield block


def renamed(block: Block, new: Mapping[Value, Value]) -> Block:
    """The block with other values in the place of some, where they are made and where read."""
    stays = new.keys().isdisjoint

    def of(values: tuple[Value, ...]) -> tuple[Value, ...]:
        return values if stays(values) else tuple([new.get(v, v) for v in values])

    nodes: list[Node] = []
    for node in block.nodes:
        match node:
            case Call(op, operands, attributes, results, reuse):
                if not (stays(operands) and stays(results)):
                    node = Call(op, of(operands), attributes, of(results), reuse)
            case Constant(value, result, slot):
                if result in new:
                    node = Constant(value, new[result], slot)
            case Check(operand):
                if operand in new:
                    node = replace(node, operand=new[operand])
            case Branch(operand, look, outcomes, blocks, origin):
                node = with_blocks(node, tuple([renamed(b, new) for b in blocks]))
                if operand in new:
                    node = Branch(new[operand], look, outcomes, node.blocks, origin)
            case Loop(_, parameters, arguments, blocks, counter):
                inner = tuple([renamed(b, new) for b in blocks])
                if counter is not None:
                    index, start, stop = of((counter.index, counter.start, counter.stop))
                    counter = replace(counter, index=index, start=start, stop=stop)
                node = replace(
                    node,
                    parameters=of(parameters),
                    arguments=of(arguments),
                    blocks=inner,
                    counter=counter,
                )
            case Join(label, parameters, blocks, origin):
                node = with_blocks(node, tuple([renamed(b, new) for b in blocks]))
                if not stays(parameters):
                    node = Join(label, of(parameters), node.blocks, origin)
            case Again(label, arguments, origin):
                if not stays(arguments):
                    node = Again(label, of(arguments), origin)
        nodes.append(node)
    return block.with_nodes(tuple(nodes), of(block.outputs))


@dataclass(frozen=True)
class Frame:
    """The generated function's face: parameters, how inputs are read from them, what it returns.

    `reads` has one Python expression an input; `captures` are inputs that are not arguments but
    are passed by keyword; `returns`, `names` and `origin` are the `Block`'s. `alike` are pairs of
    an output, in the structure `shape` (as in `returns`, of every end), and an input that it is a
    gradient in: it is to lie where that lies. `donated` are parameters whose memory a caller
    gives away: a call may overwrite it. `absent` are inputs, by position, that have no shape: None,
    or lists. `axeless` tells of outputs without axes, in the structure `shape`, which are returned
    as arrays, and which as Python's numbers: once, or for each end, where a return has a number.
    `remedy` ends what is raised where a look, or a loop, goes a way that the graph does not have.
    `lengths` are inputs, by position, that are whole numbers, and the symbols that they are. Where
    it is `lying`, outputs that are copies have the strides of what they copy.
    """

    parameters: tuple[str, ...]
    reads: tuple[str, ...]
    captures: tuple[str, ...] = ()
    returns: str | None = None
    names: tuple[str, ...] = ()
    origin: Origin = NOWHERE
    shape: str = ""
    alike: tuple[tuple[int, int], ...] = ()
    donated: tuple[str, ...] = ()
    absent: frozenset[int] = frozenset()
    axeless: tuple[tuple[frozenset[int], frozenset[int]], ...] = ()
    remedy: str = ""
    lengths: tuple[tuple[int, str], ...] = ()
    lying: bool = False


@dataclass(frozen=True)
class Room:
    """A length that is given to a program, the same for all loops of unknown numbers of turns.

    What the program returns holds where none of the `counts`, parameters of these loops that count
    turns, is larger at the end than the symbol `length`.
    """

    length: str
    counts: frozenset[Value]


@dataclass(frozen=True, eq=False)
class Graph:
    """A program: inputs, nodes in an order that works, outputs (none where it ends in a branch).

    With `fast_math` passes may regroup its sums and products. `spent` are inputs that nobody else
    reads: it may overwrite them. `room` is about arrays whose length nobody knows before it runs.
    """

    name: str
    inputs: tuple[Value, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[Value, ...]
    frame: Frame
    sizes: Sizes = field(default_factory=Sizes)
    about: str = ""
    fast_math: bool = False
    spent: frozenset[Value] = frozenset()
    room: Room | None = None

    @cached_property
    def block(self) -> Block:
        """The body."""
        frame = self.frame
        return Block(self.nodes, self.outputs, frame.returns, frame.names, frame.origin)

    def with_block(self, block: Block) -> Graph:
        """The graph with other nodes and outputs; what it returns is called as before."""
        if block.nodes == self.nodes and block.outputs == self.outputs:
            return self
        more = self.frame, self.sizes, self.about, self.fast_math, self.spent, self.room
        return Graph(self.name, self.inputs, block.nodes, block.outputs, *more)

    @cached_property
    def whole_numbers(self) -> Mapping[Value, str]:
        """The inputs that are lengths, and the symbols that they are."""
        return {self.inputs[at]: name for at, name in self.frame.lengths}

    @cached_property
    def all_nodes(self) -> tuple[Node, ...]:
        """Those of its block and of the blocks in it, as `walk` has them."""
        return tuple(walk(self.nodes))

    @cached_property
    def leading(self) -> tuple[Node, ...]:
        """Those of all nodes that lead from block to block."""
        return tuple([node for node in self.all_nodes if isinstance(node, LEADING)])

    @cached_property
    def producer(self) -> Mapping[Value, Node]:
        """The node that makes each value that is not an input."""
        return {result: node for node in self.all_nodes for result in node.results}

    @cached_property
    def users(self) -> Mapping[Value, tuple[Node, ...]]:
        """The nodes that read each value, in order (one entry per reading operand)."""
        table: dict[Value, list[Node]] = {}
        for node in self.all_nodes:
            for operand in node.operands:
                table.setdefault(operand, []).append(node)
        return {value: tuple(nodes) for value, nodes in table.items()}

    @cached_property
    def owner(self) -> Mapping[Value, Value]:
        """The value whose memory each value shows: a view's or splat's is its first operand's."""
        table = {value: value for value in self.inputs}
        for node in self.all_nodes:
            shown = node.shown if isinstance(node, Call) else None
            for result in node.results:
                table[result] = result if shown is None else table[shown]
        return table

    @cached_property
    def leads(self) -> Mapping[Block, frozenset[object]]:
        """The loops around each block whose next turn a path in it begins.

        And the joins around that a path in it goes on behind.
        """
        table: dict[Block, frozenset[object]] = {}
        behind: dict[object, frozenset[object]] = {}  # where what is behind a join leads

        def lead(block: Block) -> frozenset[object]:
            last = block.nodes[-1] if block.nodes else None
            found = frozenset[object]()
            if isinstance(last, Again):
                found = behind.get(last.label, found) | {last.label}
            if isinstance(last, Join):
                behind[last.label] = lead(last.after)
                found = behind[last.label] | lead(last.body)
            elif last is not None:
                found = found.union(*map(lead, inner_blocks(last)))
            if isinstance(last, Loop | Join):
                found -= {last.label}
            table[block] = found
            return found

        lead(self.block)
        return table

    @cached_property
    def heads(self) -> Mapping[object, Loop | Join]:
        """The loop or join of each label."""
        return {node.label: node for node in self.leading if isinstance(node, Loop | Join)}

    @cached_property
    def given(self) -> Mapping[Value, Sequence[Value]]:
        """What each parameter is given: its first argument, then one for each next turn.

        That of a join has one for each path that goes on behind it.
        """
        table: dict[Value, list[Value]] = {}
        for node in self.leading:
            if isinstance(node, Loop | Again):
                parameters = self.heads[node.label].parameters
                for parameter, argument in zip(parameters, node.arguments, strict=True):
                    table.setdefault(parameter, []).append(argument)
        return table

    def reads(self, node: Node) -> Iterator[Value]:
        """What a node reads; a branch or loop reads what its blocks read."""
        yield from node.operands
        for block in inner_blocks(node):
            yield from self.reads_in(block)

    def reads_in(self, block: Block) -> Collection[Value]:
        """What the nodes of a block read, and what it returns, each value once."""
        if (found := self._reads_in.get(block)) is None:
            values = [value for node in block.nodes for value in self.reads(node)]
            found = self._reads_in[block] = tuple(dict.fromkeys([*values, *block.outputs]))
        return found

    @cached_property
    def _reads_in(self) -> dict[Block, tuple[Value, ...]]:
        return {}

    def constant(self, value: Value) -> Constant | None:
        """The constant behind a value, or None."""
        node = self.producer.get(value)
        return node if isinstance(node, Constant) else None

    @cached_property
    def numbers(self) -> tuple[Number, ...]:
        """The parameters: the values of the constants that have a slot, by slot.

        0 stands at the slots whose constants are not in this part of a larger graph.
        """
        constants = [node for node in self.all_nodes if isinstance(node, Constant)]
        slots = {node.slot: node.value for node in constants if node.slot is not None}
        return tuple(slots.get(i, 0) for i in range(max(slots, default=-1) + 1))

    def replace(self, **changes: Any) -> Graph:
        return replace(self, **changes)

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    def __str__(self) -> str:
        return _PRINTERS[-1](self)


_PRINTERS: list[Callable[[Graph], str]] = [object.__repr__]


def printed_by(printer: Callable[[Graph], str]) -> None:
    """Makes a function say what ``str(graph)`` is: `codegen.text`, which reads that text too."""
    _PRINTERS.append(printer)


def kept_by(nodes: Iterable[Node]) -> Iterator[Value]:
    """What foreign functions among the nodes were given or have returned: they may keep it.

    So do lists, of arrays that they hold.
    """
    for node in nodes:
        if not isinstance(node, Call):
            continue
        if Trait.EFFECT in node.op.traits:
            yield from node.operands
            yield from node.results
        elif Trait.HOLDS in node.op.traits:
            yield from [value for value in node.operands if value.type != LIST]


class Builder:
    """Grows a graph node by node; types are inferred as nodes are added."""

    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes
        self.nodes: list[Node] = []
        self.producer: dict[Value, Node] = {}

    def append(self, node: Node) -> None:
        self.nodes.append(node)
        for result in node.results:
            self.producer[result] = node

    def constant(
        self,
        value: Number,
        type: ArrayType,
        slot: int | None = None,
        origin: Origin = NOWHERE,
    ) -> Value:
        """A number as a value."""
        result = Value(type, origin)
        self.append(Constant(value, result, slot))
        return result

    def call(
        self, op: Op, operands: tuple[Value, ...], origin: Origin = NOWHERE, **attributes: Any
    ) -> tuple[Value, ...]:
        """The results of an op; raises what its type rule raises."""
        if attributes.keys() != op.attributes.keys():
            if unknown := attributes.keys() - op.attributes.keys():
                raise CodegenError(f"{op.name} has no attribute {min(unknown)!r}")
            missing = [n for n, d in op.attributes.items() if d is ... and n not in attributes]
            if missing:
                raise CodegenError(f"{op.name} needs the attribute {missing[0]!r}")
        given = [value.type for value in operands]
        types = op.infer(self.sizes, *given, **attributes)
        several = types if isinstance(types, tuple) else (types,)
        if any(type.either for type in given):
            spelling = op.spelled(next(iter(op.spelling)), attributes)
            several = either_of(several, given) if spelling.is_operator else several
        results = tuple([Value(bounded(self.sizes, type), origin) for type in several])
        ordered = tuple((name, attributes.get(name, d)) for name, d in op.attributes.items())
        self.append(Call(op, operands, ordered, results))
        return results

    def constant_of(self, value: Value) -> Constant | None:
        node = self.producer.get(value)
        return node if isinstance(node, Constant) else None


def dims_of(sizes: Sizes, type: ArrayType) -> tuple[Dim, ...]:
    """The shape with every length resolved."""
    return tuple([sizes.resolve(dim) for dim in type.shape]) if type.shape else ()
