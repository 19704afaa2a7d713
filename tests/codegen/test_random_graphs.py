"""Random graphs and random inputs enter: optimizing and emitting keep every bit.

Graphs are grown node by node over the toy ops and over tracegrad's, from inputs of any rank, with
lengths 0, 1 and more, in C order, Fortran order or backwards, holding nan, infinities, -0.0 and
subnormals. A graph is run op by op, optimized and run op by op, and emitted and run.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
import toy
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from codegen import (
    ArrayType,
    Builder,
    CodegenError,
    Frame,
    Graph,
    Op,
    Origin,
    Sizes,
    Subscript,
    Value,
    emit,
    load,
    optimize,
    parse,
    verify,
)
from codegen.ir import Block, Branch, Check, Constant
from codegen.passes import fuse
from codegen.passes.fuse import LARGE
from codegen.sizes import mul
from codegen.types import DTYPES, kind, weak
from tracegrad.execution import pipeline
from tracegrad.execution.graph_interpreter import interpret
from tracegrad.ops.record import TABLE

NUMBERS = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 3.7, -1e300, 5e-324, np.nan, np.inf, -np.inf]
LENGTHS = [0, 1, 2, 3, 5]


@dataclass(frozen=True)
class Ops:
    """The ops that a graph is grown from, by what their operands must be."""

    unary: dict[str, list[dict[str, Any]]]
    binary: list[str]
    named: dict[str, str]
    table: dict[str, Op] = field(repr=False)


TOY = Ops(
    unary={
        **{name: [{}] for name in ("neg", "abs", "exp", "sin", "square")},
        "pow": [{"exponent": 2}, {"exponent": 3}],
        "clip": [{"low": 0.0, "high": 1.0}, {"low": -0.0, "high": 1.0}],
    },
    binary=["add", "sub", "mul", "div", "rsub"],
    named={
        **{name: name for name in ("sum", "matmul", "transpose", "splat", "where", "greater")},
        **{name: name for name in ("getitem", "setitem", "divmod", "concat", "extent")},
    },
    table=toy.OPS,
)
TRACEGRAD = Ops(
    unary={
        **{name: [{}] for name in ("negative", "absolute", "exp", "sin", "tanh", "square")},
        "number_power": [{"exponent": 2}, {"exponent": 3}, {"exponent": 1}],
    },
    binary=["add", "subtract", "multiply", "divide", "maximum"],
    named={
        **{name: name for name in ("sum", "mean", "matmul", "transpose", "where", "greater")},
        **{name: name for name in ("getitem", "extent")},
        "splat": "broadcast_to",
    },
    table=TABLE,
)


@dataclass
class Grown:
    """A graph with the inputs that it was grown for."""

    graph: Graph
    inputs: list[Any]


@st.composite
def arrays(draw, shape, dtype):
    """An array of special and ordinary numbers in any memory layout."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    values = random.normal(size=shape)
    if draw(st.booleans()):
        special = random.choice(NUMBERS, size=shape)
        values = np.where(random.random(shape) < 0.3, special, values)
    with np.errstate(all="ignore"):
        if dtype == "int64":
            values = np.nan_to_num(values, posinf=7, neginf=-7).clip(-9, 9)
        array = values.astype(dtype)
    if not shape:
        return array[()]
    match draw(st.sampled_from(["C", "C", "F", "backwards", "every other"])):
        case "F":
            return np.asfortranarray(array)
        case "backwards":
            return np.flip(np.flip(array).copy())
        case "every other":
            return np.repeat(array, 2, axis=-1)[..., ::2]
    return array


class Grower:
    """Grows one graph; `draw` decides everything."""

    def __init__(self, draw, ops):
        self.draw, self.ops = draw, ops
        self.sizes = Sizes()
        self.builder = Builder(self.sizes)
        self.values: list[Value] = []
        self.inputs: list[Value] = []
        self.arrays: list[Any] = []
        self.section = ""
        self.line = 1

    def one(self, options):
        return self.draw(st.sampled_from(options))

    def origin(self):
        """A name or none, on this line or the next; once in the backward part always there."""
        self.line += self.one([0, 0, 1])
        self.section = self.section or self.one(["", "", "", "", "", "backward"])
        name = self.one([None, "a", "a", "h", "h"])
        final = name is not None and self.draw(st.booleans())
        line = self.one([0, self.line])
        return Origin(name, final, "model.py", line, f"line {line}", None, self.section)

    def input(self, position, lengths):
        origin = Origin(f"x{position}", True)
        if self.one([False] * 5 + [True]):
            number = self.one([2, 0.5, -0.0, 3.7])
            type_, array = weak(type(number).__name__), number
        else:
            shape = tuple(self.draw(st.lists(st.sampled_from(lengths), max_size=2)))
            dtype = self.one(["float64"] * 4 + ["float32", "int64"])
            dims = tuple(self.sizes.new(n) for n in shape)
            type_, array = ArrayType(dtype, dims), self.draw(arrays(shape, dtype))
        value = Value(type_, origin)
        self.inputs.append(value)
        self.values.append(value)
        self.arrays.append(array)

    def call(self, name, *operands, **attributes):
        if None in operands:
            return  # there is no such operand yet
        op = self.ops.table[self.ops.named.get(name, name)]
        try:
            self.values += self.builder.call(op, operands, self.origin(), **attributes)
        except (CodegenError, ValueError):
            return  # the operands do not go together

    def some(self, *kinds, ndim=None, strong=False):
        """A value of one of these kinds, if there is any."""
        fit = [
            value
            for value in self.values
            if kind(value.type.dtype) in kinds
            and (ndim is None or value.type.ndim in ndim)
            and not (strong and value.type.weak)
        ]
        if not fit:
            return None
        return self.one(fit[-6:] if self.draw(st.booleans()) else fit)

    def step(self):
        numeric = ("float", "int")
        choice = self.one(["unary"] * 4 + ["binary"] * 6 + ["number"] + list(self.ops.named))
        x = self.some(*numeric, strong=True)
        if x is None and choice not in ("binary", "number"):
            return
        match choice:
            case "unary":
                name = self.one(list(self.ops.unary))
                self.call(name, x, **self.one(self.ops.unary[name]))
            case "binary":
                self.call(self.one(self.ops.binary), self.some(*numeric), self.some(*numeric))
            case "number":
                number = self.one([1.0, 1, -0.0, 0.0, 0, 2.0, -1.0, 0.1, np.inf, np.nan, 7])
                types = [weak(type(number).__name__), ArrayType("float64"), ArrayType("float32")]
                exact = isinstance(number, float) and number != 0.1  # also as a float32
                type_ = self.one(types if exact else types[:1])
                slot = self.one([None, None, self.numbered()])
                self.values.append(self.builder.constant(number, type_, slot, self.origin()))
            case "sum" | "mean":
                axis = self.one([None, *range(x.type.ndim)])
                self.call(choice, x, axis=axis, keepdims=self.draw(st.booleans()))
            case "matmul":
                self.call(choice, self.some("float", ndim=[2]), self.some("float", ndim=[2]))
            case "transpose":
                axes = {} if self.ops is TOY else {"axes": None}
                self.call(choice, self.some("float", ndim=[2]), **axes)
            case "splat":
                small = self.some(*numeric)
                if self.lengths(small, x) == self.lengths(x):
                    self.call(choice, small, shape=x.type.shape)
            case "greater":
                self.call(choice, x, self.some(*numeric))
            case "where":
                self.call(choice, self.some("bool"), x, self.some(*numeric))
            case "extent":
                self.call(choice, size=mul(x.type.shape), dtype="float64")
            case "divmod" | "concat":
                more = {"axis": 0} if choice == "concat" else {}
                like = [v for v in self.values if v.type == x.type and v.type.ndim]
                if like:
                    self.call(choice, x, self.one(like), **more)
            case "getitem":
                self.getitem(self.some("float", ndim=[1, 2]))
            case "setitem":
                index = Subscript((self.one([slice(None), slice(None, None, -1)]),))
                x = self.some("float", ndim=[1, 2])
                self.call(choice, x, self.one([x, self.some("float", ndim=[0])]), index=index)

    def lengths(self, *values):
        """The shape that these broadcast to, with the lengths as they are; None for none."""
        shapes = [tuple(map(self.sizes.value, value.type.shape)) for value in values]
        try:
            return np.broadcast_shapes(*shapes)
        except ValueError:
            return None

    def getitem(self, x):
        if x is None:
            return
        slices = [slice(None, None, -1), slice(1, None), slice(None, -1), slice(None, None, 2)]
        index = tuple(self.one(slices) for _ in range(self.one([1, x.type.ndim])))
        more = {} if self.ops is TOY else {"counts": ()}
        self.call("getitem", x, index=Subscript(index), **more)

    def numbered(self):
        return sum(getattr(node, "slot", None) is not None for node in self.builder.nodes)

    def grown(self, outputs):
        names = tuple(str(value.origin.name) for value in self.inputs)
        wish = tuple(f"out_{i}" for i in range(len(outputs)))
        frame = Frame(names, names, (), None, wish[: self.one([0, len(outputs)])])
        nodes = tuple(self.builder.nodes)
        graph = Graph("f", tuple(self.inputs), nodes, tuple(outputs), frame, self.sizes)
        return Grown(verify(graph), self.arrays)


@st.composite
def graphs(draw, ops):
    grower = Grower(draw, ops)
    lengths = draw(st.lists(st.sampled_from(LENGTHS), min_size=1, max_size=2))
    for position in range(draw(st.integers(1, 3))):
        grower.input(position, lengths)
    for _ in range(draw(st.integers(1, 14))):
        grower.step()
    last = grower.values[-4:] if draw(st.booleans()) else grower.values
    outputs = draw(st.lists(st.sampled_from(last), min_size=1, max_size=3))
    return grower.grown(outputs)


def quietly(function, *arguments):
    """The result, or None where Python itself refuses: 1.0 / 0.0 of two Python numbers."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the mean of nothing
        try:
            return function(*arguments)
        except ZeroDivisionError:
            return None


def same_bits(ours, theirs, what):
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert (a.dtype, a.shape) == (b.dtype, b.shape), what
        equal = (a == b) & (np.signbit(a) == np.signbit(b)) if a.dtype != bool else a == b
        assert np.all(equal | ((a != a) & (b != b))), f"{a} is not {b}:\n{what}"


def with_checks(grown, run, draw):
    """The graph with looks at some of its numbers, which have the outcomes that they have."""
    graph = grown.graph
    scalars = [
        value
        for node in graph.nodes
        for value in node.results
        if not value.type.shape and value.type.dtype in DTYPES
    ]
    if not scalars:
        return graph
    looked = draw(st.lists(st.sampled_from(scalars), max_size=2, unique=True))
    whole = graph.replace(outputs=tuple(looked))
    nodes = list(graph.nodes)
    for value, seen in zip(looked, quietly(run, whole, grown.inputs) or (), strict=False):
        look, outcome = draw(st.sampled_from([("bool", bool(seen)), ("float", float(seen))]))
        made = next(i for i, node in enumerate(nodes) if value in node.results)
        place = draw(st.integers(made + 1, len(nodes)))
        nodes.insert(place, Check(value, look, outcome, replace(value.origin, name=None)))
    return verify(graph.replace(nodes=tuple(nodes)))


def branched(graph, before, block, run, inputs, draw, depth=2):
    """The block with what follows one of its numbers once for each outcome of looking at it.

    `before` are the nodes on the way to the block. The path that is taken returns the same, the
    other what it computes last.
    """
    scalars = [
        (i, value)
        for i, node in enumerate(block.nodes)
        for value in node.results
        if not value.type.shape and value.type.dtype in DTYPES
    ]
    if not depth or not scalars or not draw(st.booleans()):
        return block
    made, value = draw(st.sampled_from(scalars))
    start = draw(st.integers(made + 1, len(block.nodes)))
    common = block.nodes[:start]
    looked = graph.replace(nodes=(*before, *common), outputs=(value,))
    seen = quietly(run, looked, inputs)
    if seen is None:
        return block
    arms = {}
    for outcome in (bool(seen[0]), not seen[0]):
        new = {}
        nodes = tuple(renewed(node, new) for node in block.nodes[start:])
        outputs = tuple(new.get(output, output) for output in block.outputs)
        arm = Block(nodes, outputs)
        if outcome == bool(seen[0]):
            arm = branched(graph, (*before, *common), arm, run, inputs, draw, depth - 1)
        else:
            arm = replace(arm, outputs=(*list(new.values())[-1:], outputs[0]))
        arms[outcome] = arm
    outcomes = tuple(draw(st.permutations([True, False])))
    blocks = tuple(arms[outcome] for outcome in outcomes)
    origin = replace(value.origin, name=None)
    return Block((*common, Branch(value, "bool", outcomes, blocks, origin)))


def renewed(node, new):
    """The node with results of its own; `new` are those that stand for others."""
    results = tuple(Value(value.type, value.origin) for value in node.results)
    operands = tuple(new.get(value, value) for value in node.operands)
    new.update(zip(node.results, results, strict=True))
    match node:
        case Constant():
            return replace(node, result=results[0])
        case Check():
            return replace(node, operand=operands[0])
    return replace(node, operands=operands, results=results)


def keeps_bits(grown, run, optimized_by, data):
    expected = quietly(run, grown.graph, grown.inputs)
    assume(expected is not None)
    graph = with_checks(grown, run, data.draw)
    block = branched(graph, (), graph.block, run, grown.inputs, data.draw)
    graph = verify(graph.with_block(block))
    kept = [np.array(x) for x in grown.inputs]
    optimized = optimized_by(graph)
    same_bits(quietly(run, optimized, grown.inputs), expected, f"{graph}\n{optimized}")
    source = emit(optimized, "numpy")
    what = f"{graph}\n{optimized}\n{source.text}"
    result = quietly(load(source.text, source.name, {"np": np}), *grown.inputs)
    same_bits(result, expected, what)
    tiles = in_tiles(optimized)
    same_bits(quietly(load(tiles, source.name, {"np": np}), *grown.inputs), expected, tiles)
    for before, after in zip(kept, grown.inputs, strict=True):
        same_bits([after], [before], what)
    for position, output in enumerate(result):
        others = [*grown.inputs, *result[:position]]
        assert not any(np.may_share_memory(output, other) for other in others), what
    return optimized


def in_tiles(graph):
    """The source that takes all arrays for large ones; the least regions are worth while."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fuse, "WORTH", 1)
        verify_tiles(graph)
        text = emit(graph, "numpy", whole=True).text
    text = text.replace(f">= {LARGE}", ">= 0").replace(f"< {fuse.SPLIT}", "< 0")
    return text.replace(f"most = {fuse.TILE}", "most = 2048")


def verify_tiles(graph):
    tiled = fuse.fuse(graph)
    for part in tiled.functions if tiled else ():
        verify(part)


def run_toys(graph, inputs):
    return toy.run(graph, inputs, {"np": np})


def describe(node):
    """A node without its operands."""
    return f"{getattr(node, 'op', '')} {[value.type for value in node.results]}"


TWICE = 2 * settings.default.max_examples
LONG = settings(max_examples=TWICE, suppress_health_check=list(HealthCheck))


@LONG
@given(graphs(TOY), st.data())
def test_toy_graphs_keep_their_bits(grown, data):
    def optimized_by(graph):
        return optimize(graph, toy.CLIENT, check=True)

    optimized = keeps_bits(grown, run_toys, optimized_by, data)
    again = optimized_by(optimized)  # at most the order of copies of one output changes
    assert sorted(map(describe, again)) == sorted(map(describe, optimized))
    assert str(optimized_by(again)) == str(again)
    text = str(optimized)
    assert str(parse(text, toy.OPS)) == text


@LONG
@given(graphs(TRACEGRAD), st.data())
def test_tracegrads_graphs_keep_their_bits(grown, data):
    keeps_bits(grown, interpret, lambda graph: pipeline.optimize(graph, "numpy"), data)


@LONG
@given(graphs(TOY), st.data())
def test_a_program_is_right_for_every_size_that_its_guards_allow(grown, data):
    """The source is made for the lengths of one trace and run on others."""
    sizes = grown.graph.sizes
    lengths = {name: data.draw(st.sampled_from(LENGTHS)) for name in sizes.seen}
    there = Sizes(lengths)
    assume(all(there.value(a) == there.value(b) for a, b in sizes.guards))
    inputs = [
        array
        if value.type.weak
        else data.draw(arrays(tuple(map(there.value, value.type.shape)), value.type.dtype))
        for value, array in zip(grown.graph.inputs, grown.inputs, strict=True)
    ]
    expected = quietly(run_toys, grown.graph, inputs)
    assume(expected is not None)
    source = emit(optimize(grown.graph, toy.CLIENT), "numpy")
    result = quietly(load(source.text, source.name), *inputs)
    same_bits(result, expected, f"{grown.graph}\n{source.text}")
