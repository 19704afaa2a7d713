"""Checks every invariant of a graph; a `VerifyError` says which one is broken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import TypeAlias

from codegen.errors import CodegenError, VerifyError
from codegen.ir import (
    LEADING,
    Again,
    Block,
    Branch,
    Call,
    Check,
    Constant,
    Graph,
    Join,
    Loop,
    Node,
    Op,
    Value,
    dims_of,
    walk,
)
from codegen.sizes import Settled
from codegen.types import KINDS, ArrayType, kind, weak
from codegen.verify_memory import verify_memory


@dataclass(frozen=True)
class _Whole:
    """What holds of all blocks of a graph."""

    graph: Graph
    verified: Set[Node]
    numbers: dict[int, str] = field(default_factory=dict)  # by slot, as they are written


Around: TypeAlias = "Mapping[object, Loop | Join]"
"""The loops of which a block is in the turn, and the joins in whose body it is, by label."""


def verify(graph: Graph, verified: Graph | None = None) -> Graph:
    """Checks every invariant; returns the graph.

    Of calls that a `verified` graph of the same lengths has too, the types are not checked again.

    1. Every operand and output is an input or made by an earlier node; every value is made once.
    2. A call has the attributes that its op declares, each with a value, and as many operands as
       the op names.
    3. Result types are what the op's type rule gives for the operands, with lengths as they are
       known: verifying assumes nothing.
    4. Constants are scalars; constants that share a slot are one number.
    5. Reused memory was made by a call of this graph for a value of the same type, and is not read
       later, in this turn of a loop or the next, under the name of that value or another.
    6. A look is at a single element; a branch has two outcomes or more, a block for each. Branches,
       loops, joins and what leads to either end their block. What one block makes is not read in
       another, and the index of a loop not after it.
    7. A loop has a label of its own, and as many arguments as parameters, and so has each next turn
       of it, which begins in its turn alone. Arguments have the types of their parameters; the
       first may be numbers instead that these types can stand for.
    8. So it is with a join, and what goes on behind it, which stands in its body. What the body
       makes is not read behind it.
    9. The frame reads every input.
    """
    made: set[Value] = set()
    for value in graph.inputs:
        _once(value, made)
    _verify_labels(graph)
    before = verified.nodes if verified and verified.sizes is graph.sizes else ()
    _verify_block(_Whole(graph, frozenset(walk(before))), graph.block, made, {})
    if len(graph.frame.reads) != len(graph.inputs):
        raise VerifyError(
            f"{len(graph.inputs)} inputs but the frame reads {len(graph.frame.reads)}"
        )
    verify_memory(graph)
    for node in graph.all_nodes:
        if isinstance(node, Call) and node.reuse is not None:
            _verify_reuse(graph, node, node.reuse)
    return graph


def _verify_block(whole: _Whole, block: Block, made: set[Value], around: Around) -> None:
    """Checks a block; `made` are the values before it, and again when it has been checked."""
    graph, own = whole.graph, list[Value]()
    for index, node in enumerate(block.nodes):
        for operand in node.operands:
            if operand not in made:
                raise VerifyError(f"{node_text(node)}: operand {operand!r} is not made before it")
        match node:
            case Constant():
                _verify_constant(node, whole.numbers)
            case Call():
                if node not in whole.verified:
                    _verify_call(graph, node)
            case Check() | Branch():
                _verify_look(graph, node)
            case Loop():
                _verify_loop(graph, node)
            case Join():
                _verify_join(node)
            case Again():
                _verify_again(graph, node, around)
        leads = isinstance(node, LEADING)
        if leads and (index + 1 < len(block.nodes) or block.outputs):
            raise VerifyError(f"a {node_text(node)} is not the end of its block")
        if isinstance(node, Join):
            _verify_block(whole, node.body, made, {**around, node.label: node})
        for result in node.results:
            _once(result, made)
        own += node.results
        match node:
            case Branch():
                for inner in node.blocks:
                    _verify_block(whole, inner, made, around)
            case Loop():
                _verify_block(whole, node.turn, made, {**around, node.label: node})
                made.difference_update({*node.results}.difference(node.parameters))
                if node.after:
                    _verify_block(whole, node.after, made, around)
            case Join():
                _verify_block(whole, node.after, made, around)
    for output in block.outputs:
        if output not in made:
            raise VerifyError(f"output {output!r} is not made by the graph")
    made.difference_update(own)


def _verify_labels(graph: Graph) -> None:
    labels = [node.label for node in graph.all_nodes if isinstance(node, Loop | Join)]
    if len(set(labels)) < len(labels):
        raise VerifyError("two loops or joins have the same label")


def _verify_loop(graph: Graph, loop: Loop) -> None:
    counter = loop.counter
    if not 1 <= len(loop.blocks) <= 1 + bool(counter):
        raise VerifyError(f"a loop has {len(loop.blocks)} blocks")
    _verify_count(loop.parameters, loop.arguments)
    for parameter, argument in zip(loop.parameters, loop.arguments, strict=True):
        if not (
            _same_type(graph, argument.type, parameter.type) or _may_begin(argument, parameter)
        ):
            raise VerifyError(f"loop: {argument!r} is the first {parameter!r}")
    if counter:
        if not counter.step:
            raise VerifyError("loop: the step is 0")
        for value in (counter.index, counter.start, counter.stop):
            if value.type != weak("int"):
                raise VerifyError(f"loop: {value!r} counts turns")


def _verify_join(join: Join) -> None:
    if len(join.blocks) != 2:
        raise VerifyError(f"a join has {len(join.blocks)} blocks")


def _may_begin(argument: Value, parameter: Value) -> bool:
    """Whether a parameter that is no number may be one in the first turn."""
    kinds = [KINDS.index(kind(value.type.dtype)) for value in (argument, parameter)]
    alike = kinds[0] <= kinds[1] and kind(parameter.type.dtype) != "bool"
    return argument.type.weak and not parameter.type.shape and alike


def _verify_again(graph: Graph, again: Again, around: Around) -> None:
    head = around.get(again.label)
    if head is None:
        raise VerifyError(f"again: not in the turn of a loop, or before a join, {again.label!r}")
    _verify_count(head.parameters, again.arguments)
    for parameter, argument in zip(head.parameters, again.arguments, strict=True):
        if not _same_type(graph, argument.type, parameter.type):
            raise VerifyError(f"again: {argument!r} is the next {parameter!r}")


def _verify_count(parameters: Sequence[Value], arguments: Sequence[Value]) -> None:
    if len(parameters) != len(arguments):
        raise VerifyError(f"{len(arguments)} arguments for {len(parameters)} parameters")


def _verify_look(graph: Graph, node: Check | Branch) -> None:
    operand = node.operand
    if operand.type.shape and any(d != 1 for d in dims_of(graph.sizes, operand.type)):
        raise VerifyError(f"{node_text(node)} on a value that is not a single element: {operand!r}")
    if isinstance(node, Branch):
        if len(node.outcomes) != len(node.blocks):
            raise VerifyError(f"{len(node.outcomes)} outcomes for {len(node.blocks)} blocks")
        if len(set(map(repr, node.outcomes))) < max(2, len(node.outcomes)):
            raise VerifyError(f"a branch needs different outcomes, not {node.outcomes}")


def node_text(node: Node) -> str:
    """A short name of a node for messages."""
    return node.op.name if isinstance(node, Call) else type(node).__name__.lower()


def _once(value: Value, made: set[Value]) -> None:
    if value in made:
        raise VerifyError(f"{value!r} is made twice")
    made.add(value)


def _verify_constant(node: Constant, numbers: dict[int, str]) -> None:
    if node.result.type.shape:
        raise VerifyError(f"constant {node.value!r} has a shape: {node.result.type}")
    if node.slot is not None:
        shown = f"{node.value!r}"
        if numbers.setdefault(node.slot, shown) != shown:
            raise VerifyError(f"slot {node.slot} is both {numbers[node.slot]} and {shown}")


def _verify_call(graph: Graph, call: Call) -> None:
    op = call.op
    names = tuple(name for name, _ in call.attributes)
    if names != tuple(op.attributes):
        raise VerifyError(f"{op.name}: attributes {names}, declared {tuple(op.attributes)}")
    for name, value in call.attributes:
        if value is ...:
            raise VerifyError(f"{op.name}: the attribute {name!r} has no value")
    _verify_arity(op, call.operands)
    try:
        types = op.infer(
            Settled(graph.sizes), *(v.type for v in call.operands), **dict(call.attributes)
        )
    except CodegenError as error:
        raise VerifyError(f"{op.name}: the type rule refuses the operands: {error}") from error
    several = types if isinstance(types, tuple) else (types,)
    count = len(call.results)
    if len(several) != count:
        raise VerifyError(f"{op.name}: {count} results, the type rule gives {len(several)}")
    for expected, result in zip(several, call.results, strict=True):
        if not _same_type(graph, expected, result.type):
            raise VerifyError(f"{op.name}: result is {result.type}, the type rule says {expected}")


def _verify_arity(op: Op, operands: Sequence[Value]) -> None:
    variadic = bool(op.operands) and op.operands[-1].startswith("*")
    fixed = len(op.operands) - variadic
    if len(operands) < fixed or (not variadic and len(operands) != fixed):
        raise VerifyError(f"{op.name}: {len(operands)} operands, declared {op.operands}")


def _same_type(graph: Graph, a: ArrayType, b: ArrayType) -> bool:
    if a == b:
        return True
    if (a.dtype, a.weak, a.ndim) != (b.dtype, b.weak, b.ndim):
        return False
    return all(map(graph.sizes.equal, a.shape, b.shape))


def _verify_reuse(graph: Graph, call: Call, position: int) -> None:
    operand, result = call.operands[position], call.results[0]
    if call.shown is not None or not _same_type(graph, operand.type, result.type):
        raise VerifyError(f"{call.op.name}: cannot reuse {operand!r} for {result.type}")
