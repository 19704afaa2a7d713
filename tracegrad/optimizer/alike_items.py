"""Reads a value itself where the items of a list are that one value.

A backward reads what turns have made from lists, an item for each turn. What no turn changes is
found late, once equal calls have been merged: then all items are what was there before the loop. ::

    %a = max(%c)                               %a = max(%c)
    loop i (saved = new_list()):               loop i ():
      saved.1 = append(saved, %a)
    loop i ():                                 loop i ():
      %b = item(saved, i)
      %d = equal(%c, %b)                         %d = equal(%c, %a)
"""

from __future__ import annotations

from collections.abc import Iterator

from codegen.ir import Block, Call, Graph, Loop, Value, inner_blocks
from codegen.keys import type_key
from codegen.loop_ownership import turns_of
from codegen.passes.client import NO_CLIENT, Client
from codegen.passes.dce import dce
from codegen.rewrite import substituted
from tracegrad.ops.python_lists import appended, item, new_list


def alike_items(graph: Graph, client: Client = NO_CLIENT) -> Graph:
    """The graph without reads of lists whose items are one value that is known where they are."""
    stands = dict(_standing(graph, graph.block, {*graph.inputs}))
    if not stands:
        return graph
    return dce(graph.with_block(substituted(graph.block, lambda v: stands.get(v, v))))


def _standing(graph: Graph, block: Block, known: set[Value]) -> Iterator[tuple[Value, Value]]:
    """What stands for the items that a block reads; `known` are the values from before it."""
    known = {*known}
    for node in block.nodes:
        if isinstance(node, Call) and node.op is item:
            (result,), value = node.results, _only_item(graph, node.operands[0])
            if value is not None and value in known and _is_alike(graph, value, result):
                yield result, value
        known.update(node.results)
        for inner in inner_blocks(node):
            yield from _standing(graph, inner, known)


def _only_item(graph: Graph, items: Value) -> Value | None:
    """The value that all items of a list are, which no turn that hands the list on makes anew."""
    found, lists, turns = set[Value](), set[Value](), set[object]()
    waiting = [items]
    while waiting:
        value = waiting.pop()
        if value in lists:
            continue
        lists.add(value)
        made = graph.producer.get(value)
        if isinstance(made, Loop):
            turns.add(made.label)
        if value in graph.given:
            waiting += graph.given[value]
        elif isinstance(made, Call) and made.op is appended:
            waiting.append(made.operands[0])
            found.add(made.operands[1])
        elif isinstance(made, Call) and made.op is new_list:
            found.update(made.operands)
        else:
            return None
    (one, *others) = found or (None,)
    if one is None or others or not turns.isdisjoint(turns_of(graph)[one]):
        return None
    return one


def _is_alike(graph: Graph, value: Value, read: Value) -> bool:
    return type_key(graph.sizes, value.type) == type_key(graph.sizes, read.type)
