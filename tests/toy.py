"""A client of codegen that is not tracegrad: a dozen ops, and a way to run graphs of them.

The ops are enough for every pass and every part of the emitters. Nothing here imports tracegrad or
NumPy: who runs a graph brings the namespace of the kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from codegen import (
    ArrayType,
    Client,
    Graph,
    Op,
    ShapeError,
    Spelling,
    Subscript,
    Trait,
    parse,
    spell,
)
from codegen import sizes as sz
from codegen.ir import Again, Block, Branch, Call, Constant, Join, Loop, Value
from codegen.load import kernel
from codegen.sizes import Dim, Sizes
from codegen.spelling import SpellingOf
from codegen.types import broadcast, inexact_of, is_inexact, promote

OPS: dict[str, Op] = {}


def op(
    name: str,
    operands: str,
    text: str | Callable[[Mapping[str, Any]], Spelling],
    infer: Callable[..., Any],
    *traits: Trait,
    inplace: str | None = None,
    jax: str | None = None,
    attributes: Mapping[str, Any] | None = None,
    identities: tuple[tuple[int, float], ...] = (),
    memory: Callable[..., Trait | None] | None = None,
) -> Op:
    """Makes an op and enters it in `OPS`; JAX spells it with ``jnp`` for ``np``."""
    spelling: Mapping[str, SpellingOf]
    if isinstance(text, str):
        spelling = {"numpy": spell(text, inplace), "jax": spell(jax or text.replace("np.", "jnp."))}
    else:
        spelling = {"numpy": text, "jax": text}
    made = Op(
        name,
        tuple(operands.split()),
        infer,
        spelling,
        dict(attributes or {}),
        frozenset(traits),
        identities,
        memory=memory,
    )
    OPS[name] = made
    return made


# -- type rules ---------------------------------------------------------------------------------


def arithmetic(sizes: Sizes, *types: ArrayType) -> ArrayType:
    dtype, weak = promote(types)
    return ArrayType(dtype, broadcast(sizes, [t.shape for t in types]), weak)


def divided(sizes: Sizes, *types: ArrayType) -> ArrayType:
    result = arithmetic(sizes, *types)
    return result if is_inexact(result.dtype) else ArrayType("float64", result.shape, result.weak)


def strong(sizes: Sizes, *types: ArrayType, **_: Any) -> ArrayType:
    result = arithmetic(sizes, *types)
    return ArrayType(result.dtype, result.shape)


def inexact(sizes: Sizes, *types: ArrayType) -> ArrayType:
    result = arithmetic(sizes, *types)
    return ArrayType(inexact_of(result.dtype), result.shape)


def boolean(sizes: Sizes, *types: ArrayType) -> ArrayType:
    return ArrayType("bool", broadcast(sizes, [t.shape for t in types]))


def choice(sizes: Sizes, condition: ArrayType, *types: ArrayType) -> ArrayType:
    shape = broadcast(sizes, [condition.shape, *(t.shape for t in types)])
    return ArrayType(promote(types)[0], shape)


def two(sizes: Sizes, x: ArrayType, y: ArrayType) -> tuple[ArrayType, ArrayType]:
    both = strong(sizes, x, y)
    return both, both


def reduced(
    sizes: Sizes, x: ArrayType, axis: int | None = None, keepdims: bool = False
) -> ArrayType:
    axes = range(x.ndim) if axis is None else (axis,)
    if keepdims:
        return x.with_shape([1 if i in axes else d for i, d in enumerate(x.shape)])
    return x.with_shape([d for i, d in enumerate(x.shape) if i not in axes])


def contracted(sizes: Sizes, x: ArrayType, y: ArrayType) -> ArrayType:
    if x.ndim != 2 or y.ndim != 2 or not sizes.same(x.shape[1], y.shape[0]):
        raise ShapeError(f"matmul: cannot contract {x} with {y}")
    return ArrayType(promote([x, y])[0], (x.shape[0], y.shape[1]))


def reversed_axes(sizes: Sizes, x: ArrayType) -> ArrayType:
    return x.with_shape(x.shape[::-1])


def same(sizes: Sizes, x: ArrayType) -> ArrayType:
    return ArrayType(x.dtype, x.shape)


def repeated(sizes: Sizes, x: ArrayType, shape: tuple[Dim, ...]) -> ArrayType:
    whole = broadcast(sizes, [x.shape, shape])
    if len(whole) != len(shape) or not all(map(sizes.same, whole, shape)):
        raise ShapeError(f"splat: cannot repeat {x} to {shape}")
    return ArrayType(x.dtype, tuple(shape))


def filled(sizes: Sizes, value: ArrayType, shape: tuple[Dim, ...], dtype: str) -> ArrayType:
    return ArrayType(dtype, tuple(shape))


def number_of(sizes: Sizes, size: Dim, dtype: str) -> ArrayType:
    return ArrayType(dtype)


def joined(sizes: Sizes, *types: ArrayType, axis: int) -> ArrayType:
    shape = list(types[0].shape)
    shape[axis] = sz.add(*(t.shape[axis] for t in types))
    return ArrayType(promote(types)[0], tuple(shape))


def row(sizes: Sizes, x: ArrayType, *arrays: ArrayType, index: Subscript) -> ArrayType:
    """For subscripts of ints and slices, and of one integer array on the first axis."""
    if len(index.items) > x.ndim:
        raise ShapeError(f"getitem: {x} has no {len(index.items)} axes")
    if arrays:
        return x.with_shape([*arrays[0].shape, *x.shape[1:]])
    shape: list[Dim] = []
    for item, dim in zip(index.items, x.shape, strict=False):
        shape += [sz.slice_length(dim, item)] if isinstance(item, slice) else []
    return x.with_shape([*shape, *x.shape[len(index.items) :]])


def updated(
    sizes: Sizes, x: ArrayType, value: ArrayType, *arrays: ArrayType, index: Subscript
) -> ArrayType:
    return x


def power_text(attributes: Mapping[str, Any]) -> Spelling:
    return spell("x * x") if attributes["exponent"] == 2 else spell("x ** exponent")


# -- ops ----------------------------------------------------------------------------------------

ELEMENTWISE = (Trait.ELEMENTWISE, Trait.OUT)
COMMUTATIVE = (*ELEMENTWISE, Trait.COMMUTATIVE)

op("add", "x y", "x + y", arithmetic, *COMMUTATIVE, identities=((0, -0.0), (1, -0.0)))
op("sub", "x y", "x - y", arithmetic, *ELEMENTWISE, identities=((1, 0.0),))
op("mul", "x y", "x * y", arithmetic, *COMMUTATIVE, identities=((0, 1), (1, 1)))
op("div", "x y", "x / y", divided, *ELEMENTWISE, identities=((1, 1),))
op("rsub", "x y", "y - x", arithmetic, *ELEMENTWISE)
op("neg", "x", "-x", arithmetic, *ELEMENTWISE, Trait.INVOLUTION)
op("abs", "x", "np.abs(x)", strong, *ELEMENTWISE, Trait.IDEMPOTENT)
op("at_least", "x low", "np.maximum(x, low)", arithmetic, *ELEMENTWISE, Trait.IDEMPOTENT)
op("exp", "x", "np.exp(x)", inexact, *ELEMENTWISE)
op("sin", "x", "np.sin(x)", inexact, *ELEMENTWISE)
op("square", "x", "x * x", strong, Trait.ELEMENTWISE)
op("pow", "x", power_text, strong, Trait.ELEMENTWISE, attributes={"exponent": ...})
op(
    "clip",
    "x",
    "np.clip(x, low, high)",
    strong,
    Trait.ELEMENTWISE,
    Trait.IDEMPOTENT,
    attributes={"low": ..., "high": ...},
)
op("greater", "x y", "x > y", boolean, Trait.ELEMENTWISE)
op("where", "condition x y", "np.where(condition, x, y)", choice, Trait.ELEMENTWISE)
op("divmod", "x y", "np.divmod(x, y)", two, Trait.ELEMENTWISE)
op(
    "sum",
    "x",
    "x.sum(axis=axis, keepdims=keepdims)",
    reduced,
    Trait.TOTAL,
    attributes={"axis": None, "keepdims": False},
)
op("matmul", "x y", "x @ y", contracted, Trait.C_ORDER)
op("transpose", "x", "x.T", reversed_axes, Trait.VIEW)
op("copy", "x", "np.array(x)", same, Trait.COPY)
op("told", "x", "told(x)", same, Trait.EFFECT)
op("splat", "x", "np.broadcast_to(x, shape)", repeated, Trait.SPLAT, attributes={"shape": ...})
op(
    "spread",
    "x",
    "np.full(shape, x)",
    repeated,
    Trait.SPLAT,
    Trait.WRITTEN_OUT,
    attributes={"shape": ...},
    memory=lambda x, shape: None,
)
op(
    "full",
    "value",
    "np.full(shape, value, dtype=dtype)",
    filled,
    Trait.C_ORDER,
    attributes={"shape": ..., "dtype": ...},
)
op(
    "zeros",
    "",
    "np.zeros(shape)",
    lambda sizes, shape: ArrayType("float64", shape),
    Trait.C_ORDER,
    attributes={"shape": ...},
)
op(
    "extent",
    "",
    "np.dtype(dtype).type(size)",
    number_of,
    Trait.EXTENT,
    attributes={"size": ..., "dtype": ...},
)
op(
    "sort",
    "x",
    lambda attributes: spell("np.sort(x)[::-1]" if attributes["falling"] else "np.sort(x)"),
    lambda sizes, x, falling: x,
    attributes={"falling": False},
    memory=lambda x, falling: Trait.LOOSE if falling else None,
)
op(
    "take",
    "x index",
    "x[index]",
    lambda sizes, x, index: ArrayType(x.dtype, (*index.shape, *x.shape[1:])),
    memory=lambda x, index: None if index.shape else Trait.VIEW,
)
op("concat", "*arrays", "np.concatenate(arrays, axis=axis)", joined, attributes={"axis": 0})
op("getitem", "x *arrays", "x[index]", row, Trait.VIEW, attributes={"index": ...})
op(
    "setitem",
    "x value *arrays",
    "out = x.copy()\nout[index] = value",
    updated,
    Trait.UPDATE,
    inplace="x[index] = value",
    jax="x.at[index].set(value)",
    attributes={"index": ...},
)

CLIENT = Client(copy=OPS["copy"], full=OPS["full"], splat=OPS["splat"])


# -- running ------------------------------------------------------------------------------------


def graph(text: str) -> Graph:
    """The graph of toy ops that the text says."""
    return parse(text, OPS)


def run(graph: Graph, inputs: Sequence[Any], namespace: Mapping[str, Any]) -> list[Any]:
    """The outputs, op by op: what emitted code must give.

    What a call is said to overwrite is overwritten.
    """
    known: dict[str, Dim] = {}
    for value, array in zip(graph.inputs, inputs, strict=True):
        for dim, length in zip(value.type.shape, getattr(array, "shape", ()), strict=True):
            for name in sz.symbols(dim):
                known[name] = length
    runner = Runner(dict(zip(graph.inputs, inputs, strict=True)), known, namespace)
    block = graph.block
    while (following := runner.block(block)) is not None:
        block = following
    return [runner.values[output] for output in block.outputs]


LOOKS: Mapping[str, Callable[[Any], Any]] = {"bool": bool, "int": int, "float": float}


class Runner:
    """Runs blocks; `values` are those that are made so far."""

    def __init__(
        self, values: dict[Value, Any], known: Mapping[str, Dim], namespace: Mapping[str, Any]
    ) -> None:
        self.values, self.known, self.namespace = values, known, namespace
        self.loops: dict[object, tuple[Loop, Iterator[int]]] = {}
        self.joins: dict[object, Join] = {}

    def block(self, block: Block) -> Block | None:
        """Runs a block; the block that follows, or None where it returns."""
        for node in block.nodes:
            match node:
                case Constant(number, result):
                    dtype = self.namespace["np"].dtype(result.type.dtype)
                    self.values[result] = number if result.type.weak else dtype.type(number)
                case Call():
                    self.call(node)
                case Branch(operand, look, outcomes, blocks):
                    return blocks[outcomes.index(LOOKS[look](self.values[operand]))]
                case Loop(label, counter=counter):
                    ends = (
                        [self.values[v] for v in (counter.start, counter.stop)] if counter else []
                    )
                    self.loops[label] = node, iter(range(*ends, counter.step) if counter else [])
                    return self.turn(node, node.arguments)
                case Join(label, blocks=(body, _)):
                    self.joins[label] = node
                    return body
                case Again(label, arguments) if label in self.joins:
                    self.give(self.joins[label].parameters, arguments)
                    return self.joins[label].after
                case Again(label, arguments):
                    return self.turn(self.loops[label][0], arguments)
        return None

    def give(self, parameters: tuple[Value, ...], arguments: tuple[Value, ...]) -> None:
        """Parameters get arguments, all at once."""
        given = [self.values[argument] for argument in arguments]
        for parameter, value in zip(parameters, given, strict=True):
            if isinstance(value, int | float) and not parameter.type.weak:
                value = self.namespace["np"].dtype(parameter.type.dtype).type(value)
            self.values[parameter] = value

    def turn(self, loop: Loop, arguments: tuple[Value, ...]) -> Block:
        """The turn of a loop, or what follows the last."""
        self.give(loop.parameters, arguments)
        if loop.counter is None:
            return loop.turn
        for index in self.loops[loop.label][1]:
            self.values[loop.counter.index] = index
            return loop.turn
        assert loop.after is not None
        return loop.after

    def call(self, call: Call) -> None:
        given = {name: self.concrete(value) for name, value in call.attributes}
        spelling = call.op.spelled("numpy", given)
        function = kernel(spelling, call.op.operands, tuple(call.op.attributes), self.namespace)
        operands = [self.values[operand] for operand in call.operands]
        out = function(*operands, **given)
        if call.reuse is not None:
            memory = operands[call.reuse]
            memory[...] = out
            out = memory
        results = out if len(call.results) > 1 else (out,)
        self.values.update(zip(call.results, results, strict=True))

    def concrete(self, attribute: Any) -> Any:
        if isinstance(attribute, tuple):
            return tuple(map(self.concrete, attribute))
        return sz.substitute(attribute, self.known) if isinstance(attribute, sz.Size) else attribute
