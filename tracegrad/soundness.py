"""A graph enters, one leaves that looks whether NumPy would raise: for a target that would not.

JAX clamps an index that is out of range and makes NaN of a matrix that has no factor. Such a call
must not be answered by the program: the look fails, and the function runs on NumPy, which raises at
the user's line. ::

    z = gather(x, i)

    z = gather(x, i)
    inside = all_within(i, length=x.shape[0])
    check inside is True
"""

from __future__ import annotations

from dataclasses import replace

from codegen.ir import Block, Branch, Builder, Call, Check, Graph
from codegen.sizes import Sizes
from tracegrad.staging import Stage, Staged


def with_looks(graph: Graph) -> Graph:
    """The graph with a look after every op that says when it is `sound`."""
    return graph.with_block(_with_looks(graph.block, graph.sizes))


def _with_looks(block: Block, sizes: Sizes) -> Block:
    builder = Builder(sizes)
    for node in block.nodes:
        match node:
            case Branch(blocks=blocks):
                node = replace(node, blocks=tuple(_with_looks(b, sizes) for b in blocks))
                builder.append(node)
            case Call():
                builder.append(node)
                _look_after(builder, node)
            case _:
                builder.append(node)
    return replace(block, nodes=tuple(builder.nodes))


def _look_after(builder: Builder, call: Call) -> None:
    rule = call.op.sound  # type: ignore[attr-defined]
    if rule is None:
        return
    origin = replace(call.results[0].origin, name=None, final=False)
    stage = Stage(builder, origin)
    results = tuple([Staged(stage, value) for value in call.results])
    operands = [Staged(stage, value) for value in call.operands]
    y = results[0] if len(results) == 1 else results
    for held in rule(y, *operands, **dict(call.attributes)):
        builder.append(Check(held.value, "bool", True, origin))
