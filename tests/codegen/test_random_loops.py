"""Random graphs with loops enter: optimizing keeps every bit, and what may not be overwritten.

Loops stand in loops and in branches, with and without a counter; paths leave them by an outcome, go
on with an outer loop, meet other paths, or return. Parameters are handed on, exchanged, given
twice, given views of each other, and filled place by place. A graph is run op by op, and what is
marked to be overwritten is overwritten.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from random import Random

import numpy as np
import pytest
import toy

from codegen import (
    Again,
    ArrayType,
    Block,
    Branch,
    Builder,
    Call,
    Counter,
    Frame,
    Graph,
    Join,
    Loop,
    Origin,
    Sizes,
    Slot,
    Subscript,
    Value,
    VerifyError,
    optimize,
    spell,
    verify,
)
from codegen.ir import inner_blocks, walk
from codegen.loop_ownership import own_parameters
from codegen.passes.lifetime import lifetime
from codegen.passes.loop_parameters import loop_parameters as parameters
from codegen.sizes import symbol
from codegen.types import weak

LENGTH = 4
VECTOR = ArrayType("float64", (symbol("n0"),))
MATRIX = ArrayType("float64", (symbol("n0"), symbol("n0")))
NUMBER = ArrayType("float64")
INDEX = weak("int")
PUT = replace(  # laid out as what it is a copy of, which may be written to itself
    toy.OPS["setitem"],
    spelling={"numpy": spell("out = np.array(x)\nout[index] = value", "x[index] = value")},
)
OPS = {**toy.OPS, "setitem": PUT}
REVERSED = Subscript((slice(None, None, -1),))


@dataclass
class Around:
    """A loop around; one without a counter counts its turns in its last parameter.

    Or a join, in whose body its parameters are not known.
    One that is `careful` is given arrays that nobody else reads, for most turns.
    """

    label: object
    parameters: tuple[Value, ...]
    counted: bool
    careful: bool
    known: bool = True


class Grower:
    """Grows one graph; `random` decides everything."""

    def __init__(self, random: Random, joins: bool = False) -> None:
        self.random = random
        self.joins = joins
        self.sizes = Sizes()
        self.budget = 30  # nodes, after which blocks end soon

    def graph(self) -> Graph:
        inputs = [Value(t, Origin(n, True)) for n, t in zip("xywvs", self.types(), strict=True)]
        names = tuple("xywvs")
        block = self.block(Builder(self.sizes), inputs, [], 0)
        frame = Frame(names, names)
        return Graph("f", tuple(inputs), block.nodes, block.outputs, frame, self.sizes)

    def types(self) -> list[ArrayType]:
        return [VECTOR, VECTOR, MATRIX, MATRIX, NUMBER]

    def one(self, values: list[Value], *types: ArrayType) -> Value:
        """One of the values of these types, rather one of the last."""
        fit = [value for value in values if value.type in types]
        return self.random.choice(fit[-4:] if self.random.random() < 0.6 else fit)

    def block(
        self, builder: Builder, before: list[Value], around: list[Around], depth: int
    ) -> Block:
        """A block after these values; the loops around are those that it stands in the turn of."""
        values = list(before)
        for _ in range(self.random.randrange(1, 5)):
            self.budget -= 1
            values += self.made(builder, values)
        short = depth > 4 or self.budget < 0
        ends = ["return", "again", "again"] if short else ["branch", "loop", "loop", "again"]
        ends += ["join"] * (self.joins and not short)
        match self.random.choice(ends):
            case "branch":
                return self.branch(builder, values, around, depth)
            case "loop" if sum(1 for _ in around) < 3:
                return self.loop(builder, values, around, depth)
            case "join":
                return self.join(builder, values, around, depth)
            case "again" if around:
                return self.again(builder, values, self.random.choice(around[-2:]))
        outputs = [self.one(values, VECTOR, MATRIX, NUMBER) for _ in range(3)]
        return Block(tuple(builder.nodes), tuple(outputs[: self.random.randrange(1, 4)]))

    def made(self, builder: Builder, values: list[Value]) -> tuple[Value, ...]:
        """What a new call makes."""
        kind = self.random.choice((VECTOR, VECTOR, MATRIX))
        one = self.one(values, kind)
        name = self.random.choice(
            [
                "neg",
                "sin",
                "add",
                "mul",
                "mul",
                "sum",
                "copy",
                "view",
                "set",
                "set",
                "zeros",
                "splat",
            ]
        )

        def call(op: str, *operands: Value, **attributes: object) -> tuple[Value, ...]:
            return builder.call(OPS[op], operands, Origin("v", True), **attributes)

        match name:
            case "neg" | "sin" | "copy":
                return call(name, one)
            case "add" | "mul":
                return call(name, one, self.one(values, kind, NUMBER))
            case "sum" if kind is MATRIX and self.random.random() < 0.5:
                return call("sum", one, axis=self.random.randrange(2))
            case "sum":
                return call("sum", one)
            case "view" if kind is MATRIX:
                return call("transpose", one)
            case "view":
                return call("getitem", one, index=REVERSED)
            case "zeros":
                return call("zeros", shape=kind.shape)
            case "splat":
                return call("splat", self.one(values, NUMBER), shape=kind.shape)
        number = self.one(values, NUMBER)
        if any(value.type == INDEX for value in values) and self.random.random() < 0.7:
            place = self.one(values, INDEX)
            return call("setitem", one, number, place, index=Subscript((Slot(0),)))
        return call("setitem", one, number, index=Subscript((1,)))

    def branch(
        self, builder: Builder, values: list[Value], around: list[Around], depth: int
    ) -> Block:
        (total,) = builder.call(toy.OPS["sum"], (self.one(values, VECTOR, MATRIX),))
        (looked,) = builder.call(toy.OPS["greater"], (total, self.one(values, NUMBER)))
        blocks = [self.block(Builder(self.sizes), values, around, depth + 1) for _ in range(2)]
        return Block((*builder.nodes, Branch(looked, "bool", (True, False), tuple(blocks))))

    def loop(
        self, builder: Builder, values: list[Value], around: list[Around], depth: int
    ) -> Block:
        types = self.random.choices((VECTOR, VECTOR, MATRIX, NUMBER), k=self.random.randrange(5))
        arguments = [self.one(values, t) for t in types]
        careful = self.random.random() < 0.6
        if careful:
            arguments = [self.changed(builder, values, a) for a in arguments]
        for i, t in enumerate(types):
            if t is NUMBER and self.random.random() < 0.3:
                arguments[i] = builder.constant(0.5, weak("float"))
        counted = self.random.random() < 0.6
        start = builder.constant(0, INDEX)
        if not counted:
            types.append(INDEX)
            arguments.append(start)
        given = tuple(Value(t, Origin("p", True)) for t in types)
        counter = None
        inside = [*values, *given]
        loop = Around(object(), given, counted, careful)
        turn = Builder(self.sizes)
        if counted:
            stop = builder.constant(self.random.randrange(4), INDEX)
            index = Value(INDEX, Origin("t", True))
            counter = Counter(index, start, stop)
            blocks = [self.block(turn, [*inside, index], [*around, loop], depth + 1)]
            blocks.append(self.block(Builder(self.sizes), inside, around, depth + 1))
        else:
            most = turn.constant(2, INDEX)
            (enough,) = turn.call(toy.OPS["greater"], (given[-1], most))
            exits = (
                self.block(Builder(self.sizes), inside, around, depth + 1),
                self.block(Builder(self.sizes), inside, [*around, loop], depth + 1),
            )
            blocks = [Block((*turn.nodes, Branch(enough, "bool", (True, False), exits)))]
        node = Loop(loop.label, given, tuple(arguments), tuple(blocks), counter)
        return Block((*builder.nodes, node))

    def join(
        self, builder: Builder, values: list[Value], around: list[Around], depth: int
    ) -> Block:
        types = self.random.choices((VECTOR, VECTOR, MATRIX, NUMBER), k=self.random.randrange(1, 4))
        given = tuple(Value(t, Origin("j", True)) for t in types)
        here = Around(object(), given, True, self.random.random() < 0.5, known=False)
        body = self.branch(Builder(self.sizes), values, [*around, here], depth)
        if not any(isinstance(n, Again) and n.label is here.label for n in walk(body.nodes)):
            return Block((*builder.nodes, *body.nodes), body.outputs)
        after = self.block(Builder(self.sizes), [*values, *given], around, depth + 1)
        return Block((*builder.nodes, Join(here.label, given, (body, after))))

    def again(self, builder: Builder, values: list[Value], loop: Around) -> Block:
        known = loop.known
        arguments = [
            p if known and self.random.random() < 0.25 else self.one(values, p.type)
            for p in loop.parameters
        ]
        if loop.careful:
            arguments = list(loop.parameters) if known else arguments
            if self.random.random() < 0.3:
                arguments = [self.exchanged(arguments, p) for p in arguments]
            arguments = [
                self.changed(builder, values, a) if self.random.random() < 0.7 else a
                for a in arguments
            ]
        if not loop.counted:
            one = builder.constant(1, INDEX)
            (arguments[-1],) = builder.call(toy.OPS["add"], (loop.parameters[-1], one))
        return Block((*builder.nodes, Again(loop.label, tuple(arguments))))

    def changed(self, builder: Builder, values: list[Value], value: Value) -> Value:
        """A value made of another, that nobody else will read."""
        if not value.type.shape:
            return value
        number = (self.one(values, NUMBER),)
        match self.random.randrange(3):
            case 0:
                index = Subscript((self.random.randrange(LENGTH),))
                return builder.call(OPS["setitem"], (value, *number), index=index)[0]
            case 1:
                return builder.call(toy.OPS["mul"], (value, *number))[0]
        return builder.call(toy.OPS["sin"], (value,))[0]

    def exchanged(self, values: list[Value], value: Value) -> Value:
        """The next value of the same type, in a circle."""
        alike = [v for v in values if v.type == value.type]
        return alike[(alike.index(value) + 1) % len(alike)]


def grown(seed: int, joins: bool = False) -> Graph:
    return verify(Grower(Random(seed), joins).graph())


def arrays(seed: int) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    shapes = [(LENGTH,), (LENGTH,), (LENGTH, LENGTH), (LENGTH, LENGTH), ()]
    made = [random.normal(size=shape) for shape in shapes]
    made[3] = np.asfortranarray(made[3])
    return made


def outcome(graph: Graph, seed: int) -> tuple[list[np.ndarray], list[np.ndarray], list]:
    """The outputs and the inputs afterwards, as bytes would show them, and the outputs as such."""
    given = arrays(seed)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outputs = toy.run(graph, given, {"np": np})
    return [np.array(output) for output in outputs], given, outputs


def same(a: list[np.ndarray], b: list[np.ndarray]) -> bool:
    return len(a) == len(b) and all(
        x.dtype == y.dtype
        and np.array_equal(x, y, equal_nan=True)
        and np.array_equal(np.signbit(x), np.signbit(y))
        for x, y in zip(a, b, strict=True)
    )


EACH = 25


@pytest.mark.parametrize("block", range(6))
@pytest.mark.parametrize("joins", [False, True])
def test_optimizing_keeps_bits_and_inputs(block, joins):
    for seed in range(block * EACH, (block + 1) * EACH):
        graph = grown(seed, joins)
        wanted, given, _ = outcome(graph, seed)
        assert same(given, arrays(seed))
        for changed in (optimize(graph, toy.CLIENT, check=True), verify(lifetime(graph))):
            assert same(outcome(changed, seed)[0], wanted), seed
            assert same(outcome(changed, seed)[1], given), seed


@pytest.mark.parametrize("block", range(2))
def test_what_is_returned_is_the_callers(block):
    for seed in range(block * EACH, (block + 1) * EACH):
        graph = optimize(grown(seed), toy.CLIENT)
        _, given, outputs = outcome(graph, seed)
        held = [a for a in (*given, *outputs) if isinstance(a, np.ndarray)]
        for i, a in enumerate(held):
            for b in held[:i]:
                mine = any(x is b for x in given) and any(x is a for x in given)
                assert mine or not np.shares_memory(a, b), seed


def marked(graph: Graph, random: Random) -> Graph:
    """The graph with some calls told to overwrite any operand of their type."""
    often = random.choice((0.05, 0.2))

    def of(block: Block) -> Block:
        nodes = []
        for node in block.nodes:
            if isinstance(node, Call) and node.shown is None and random.random() < often:
                same_type = [
                    i
                    for i, operand in enumerate(node.operands)
                    if operand.type == node.results[0].type and operand.type.shape
                ]
                if same_type:
                    node = replace(node, reuse=random.choice(same_type))
            elif inner_blocks(node):
                node = replace(node, blocks=tuple(map(of, node.blocks)))
            nodes.append(node)
        return replace(block, nodes=tuple(nodes))

    return graph.with_block(of(graph.block))


@pytest.mark.parametrize("block", range(2))
def test_what_goes_wrong_is_refused_by_the_verifier(block):
    """Marks made at random: a graph that they break is refused, and some are sound."""
    wrong = sound = 0
    for seed in range(block * 2 * EACH, (block + 1) * 2 * EACH):
        graph = grown(seed)
        changed = marked(graph, Random(seed))
        if not any(isinstance(n, Call) and n.reuse is not None for n in walk(changed.nodes)):
            continue
        try:
            verify(changed)
            sound += any(isinstance(n, Loop) for n in walk(changed.nodes))
        except VerifyError:
            wrong += 1
            continue
        wanted, given, _ = outcome(graph, seed)
        found, after, _ = outcome(changed, seed)
        assert same(after, given), seed
        assert all(np.allclose(a, b, equal_nan=True) for a, b in zip(found, wanted, strict=True)), (
            seed
        )
    assert wrong and sound


@pytest.mark.parametrize(("graph", "marks"), [(6955, 5955), (5201, 6201), (6354, 5354)])
def test_inputs_that_are_overwritten_behind_loops_are_refused(graph, marks):
    """Other marks before them break nothing on one of two ways there."""
    changed = marked(grown(graph), Random(marks))
    with pytest.raises(VerifyError, match="does not own"):
        verify(changed)


def test_the_graphs_have_what_this_is_about():
    """Loops in loops, paths that leave them, parameters that go away and that are overwritten."""
    found = dict.fromkeys(("nested", "left", "gone", "own", "in place"), 0)
    for seed in range(4 * EACH):
        graph = grown(seed)
        loops = [node for node in walk(graph.nodes) if isinstance(node, Loop)]
        inner = [n for loop in loops for b in loop.blocks for n in walk(b.nodes)]
        found["nested"] += any(isinstance(node, Loop) for node in inner)
        again = {node.label for node in inner if isinstance(node, Again)}
        found["left"] += len(again) > 1
        small = parameters(graph)
        sizes = [
            sum(len(n.parameters) for n in walk(g.nodes) if isinstance(n, Loop))
            for g in (graph, small)
        ]
        found["gone"] += sizes[1] < sizes[0]
        fast = optimize(graph, toy.CLIENT)
        own = own_parameters(fast)
        found["own"] += bool(own)
        found["in place"] += any(
            isinstance(n, Call) and n.reuse is not None and n.operands[n.reuse] in own
            for n in walk(fast.nodes)
        )
    assert min(found.values()) >= 10, found
