"""Adds looks for whether NumPy would raise, for a target that would not.

JAX clamps an index that is out of range and makes NaN of a matrix that has no factor. Such a call
must not be answered by the program: the look fails, and the function runs on NumPy, which raises at
the user's line. ::

    z = gather(x, i)

    z = gather(x, i)
    inside = all_within(i, length=x.shape[0])
    check inside is True
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from codegen.ir import Block, Branch, Builder, Call, Check, Constant, Graph, Loop, Value
from codegen.sizes import Sizes
from tracegrad.ops.elementwise.ufuncs import add, not_equal, subtract
from tracegrad.ops.index_bounds import all_within
from tracegrad.ops.staging import Stage, Staged

ANY = range(-(2**62), 2**62)
"""What a whole number may be of which nothing is known."""


def with_looks(graph: Graph) -> Graph:
    """The graph with a look after every op that says when it is `sound`.

    No look asks whether a number that counts turns is an index, where the counter says so.
    """
    return graph.with_block(_with_looks(graph.block, graph.sizes, {}))


def _with_looks(block: Block, sizes: Sizes, ranges: Mapping[Value, range]) -> Block:
    """`ranges` has what whole numbers that are known, or count turns, may be."""
    builder, ranges = Builder(sizes), dict(ranges)
    for node in block.nodes:
        match node:
            case Branch(blocks=blocks):
                inner = tuple(_with_looks(b, sizes, ranges) for b in blocks)
                builder.append(replace(node, blocks=inner))
            case Loop(blocks=blocks, counter=counter):
                known = dict(ranges)
                if counter and counter.start in ranges:
                    start, stop = ranges[counter.start], ranges.get(counter.stop, ANY)
                    known[counter.index] = _between(start, stop, counter.step)
                inner = tuple(_with_looks(b, sizes, known) for b in blocks)
                builder.append(replace(node, blocks=inner))
            case Constant(number, result):
                builder.append(node)
                if type(number) is int:
                    ranges[result] = range(number, number + 1)
            case Call(op, operands, _, results):
                builder.append(node)
                if op in (add, subtract) and ranges.keys() >= {*operands}:
                    a, b = (ranges[v] for v in operands)
                    ranges[results[0]] = _sum(a, b) if op is add else _sum(a, _negative(b))
                _look_after(builder, node, ranges)
            case _:
                builder.append(node)
    return block.with_nodes(tuple(builder.nodes))


def _between(start: range, stop: range, step: int) -> range:
    """What ``range(start, stop, step)`` may give."""
    if step > 0:
        return range(start.start, max(stop.stop - 1, start.start))
    return range(stop.start + 1, start.stop)


def _sum(a: range, b: range) -> range:
    return range(a.start + b.start, max(a.stop, a.start + 1) + max(b.stop, b.start + 1) - 1)


def _negative(a: range) -> range:
    return range(-a.stop + 1, -a.start + 1)


def _is_known(node: Call, ranges: Mapping[Value, range]) -> bool:
    """Whether a look is answered already: at an index, or at a divisor that may be 0."""
    found = ranges.get(node.operands[0])
    if found is None:
        return False
    if node.op is not_equal:  # to 0
        return 0 not in found
    length = node.attribute("length") if node.op is all_within else None
    if not isinstance(length, int):
        return False
    least = -length if node.attribute("from_end") else 0
    return least <= found.start and found.stop <= length


def _look_after(builder: Builder, call: Call, ranges: Mapping[Value, range]) -> None:
    rule = call.op.sound  # type: ignore[attr-defined]
    if rule is None:
        return
    origin = replace(call.results[0].origin, name=None, final=False)
    stage = Stage(builder, origin)
    results = tuple([Staged(stage, value) for value in call.results])
    operands = [Staged(stage, value) for value in call.operands]
    y = results[0] if len(results) == 1 else results
    for held in rule(y, *operands, **dict(call.attributes)):
        look = builder.producer[held.value]
        if isinstance(look, Call) and _is_known(look, ranges):
            continue
        builder.append(Check(held.value, "bool", True, origin))
