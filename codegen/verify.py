"""A graph enters; nothing leaves when it is sound, else a `VerifyError` that says what is broken."""

from __future__ import annotations

from codegen.errors import CodegenError
from codegen.ir import Call, Check, Constant, Graph, Trait, Value, dims_of


class VerifyError(CodegenError):
    """An invariant of graphs does not hold."""


def verify(graph: Graph) -> Graph:
    """Checks every invariant; returns the graph.

    1. Every operand and output is an input or made by an earlier node; every value is made once.
    2. A call has the attributes that its op declares and as many operands as it names.
    3. Result types are what the op's type rule gives for the operands (lengths as assumed).
    4. Constants are scalars, slots are 0, 1, 2, ...
    5. Reused memory belongs to a call of this graph whose result has the same type.
    """
    made: set[Value] = set()
    for value in graph.inputs:
        _once(value, made)
    for node in graph.nodes:
        for operand in node.operands:
            if operand not in made:
                raise VerifyError(f"{node_text(node)}: operand {operand!r} is not made before it")
        match node:
            case Constant(result=result):
                if result.type.shape:
                    raise VerifyError(f"constant {node.value!r} has a shape: {result.type}")
            case Call():
                _verify_call(graph, node)
            case Check(operand=operand):
                if operand.type.shape and any(d != 1 for d in dims_of(graph.sizes, operand.type)):
                    raise VerifyError(f"check on a value that is not a single element: {operand!r}")
        for result in node.results:
            _once(result, made)
    for output in graph.outputs:
        if output not in made:
            raise VerifyError(f"output {output!r} is not made by the graph")
    if len(graph.frame.reads) != len(graph.inputs):
        raise VerifyError(
            f"{len(graph.inputs)} inputs but the frame reads {len(graph.frame.reads)}"
        )
    return graph


def node_text(node: object) -> str:
    """A short name of a node for messages."""
    return node.op.name if isinstance(node, Call) else type(node).__name__.lower()


def _once(value: Value, made: set[Value]) -> None:
    if value in made:
        raise VerifyError(f"{value!r} is made twice")
    made.add(value)


def _verify_call(graph: Graph, call: Call) -> None:
    op = call.op
    names = tuple(name for name, _ in call.attributes)
    if names != tuple(op.attributes):
        raise VerifyError(f"{op.name}: attributes {names}, declared {tuple(op.attributes)}")
    variadic = bool(op.operands) and op.operands[-1].startswith("*")
    fixed = len(op.operands) - variadic
    if len(call.operands) < fixed or (not variadic and len(call.operands) != fixed):
        raise VerifyError(f"{op.name}: {len(call.operands)} operands, declared {op.operands}")
    types = op.infer(graph.sizes, *(v.type for v in call.operands), **dict(call.attributes))
    several = types if isinstance(types, tuple) else (types,)
    for expected, result in zip(several, call.results, strict=True):
        same_shape = len(expected.shape) == result.type.ndim and all(
            graph.sizes.same(a, b) for a, b in zip(expected.shape, result.type.shape, strict=True)
        )
        if expected.dtype != result.type.dtype or not same_shape:
            raise VerifyError(f"{op.name}: result is {result.type}, the type rule says {expected}")
    if call.reuse is not None:
        operand = call.operands[call.reuse]
        if not isinstance(graph.producer.get(operand), Call):
            raise VerifyError(f"{op.name}: reuses memory that the graph does not own: {operand!r}")
        if Trait.VIEW in op.traits or operand.type.dtype != call.results[0].type.dtype:
            raise VerifyError(f"{op.name}: cannot reuse {operand!r}")
