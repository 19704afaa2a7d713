"""Answers early what a later section asks of an array, so that the array need not be kept.

The backward of a choice reads of an array only where it is above or below a number. Kept are then
the truth values, a byte each, and not the array: they are computed before the forward reads it for
the last time, which may overwrite it.

Before::                                   After::

    graph f(x: float64[n0]) {                  graph f(x: float64[n0]) {
      %c = constant(2.0)                         %c = constant(2.0)
      %a = exp(%x)                               %a = exp(%x)
      %y = sin(%a)                               %a~ = greater(%a, %c)
      %m = greater(%a, %c)  # backward:          %y = sin(%a)
      %b = where(%m, %x, %y)  # backward:        %b = where(%a~, %x, %y)  # backward:
      return %y, %b                              return %y, %b
    }                                          }
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from codegen.ir import Branch, Call, Graph, Join, Loop, Node, Trait, Value, kept_by, with_operands
from codegen.passes.client import NO_CLIENT, Client
from codegen.types import bits


def hoist_comparisons(graph: Graph, client: Client = NO_CLIENT) -> Graph:
    """Moves comparisons with numbers to where their array is read last before the section."""
    place = {node: i for i, node in enumerate(graph.nodes)}
    if any(isinstance(node, Branch | Loop | Join) for node in graph.nodes):
        return graph
    family: dict[Value, list[Value]] = {}  # the values that show the memory of each
    for node in graph.nodes:
        for result in node.results:
            family.setdefault(graph.owner[result], []).append(result)
    kept = {*graph.outputs, *kept_by(graph.nodes)}
    before: dict[Node, list[Call]] = {}  # what is moved, by the node that it is moved before
    for value, shown in family.items():
        if kept.isdisjoint(shown):
            later = _asked_later(graph, value, shown)
            section = value.origin.section
            readers = [node for v in shown for node in graph.users.get(v, ()) if node not in later]
            if later and readers and all(_section(node) == section for node in readers):
                last = max(readers, key=place.__getitem__)
                if place[last] < min(place[call] for call in later):
                    before[last] = later
    return _moved(graph, before) if before else graph


def _section(node: Node) -> str:
    return node.results[0].origin.section if isinstance(node, Call) else ""


def _asked_later(graph: Graph, value: Value, shown: list[Value]) -> list[Call]:
    """The comparisons of an array with numbers in later sections, where they are all it is kept for
    and take less memory."""
    if not (value.type.shape and isinstance(graph.producer.get(value), Call)):
        return []
    section = value.origin.section
    later: dict[Call, None] = {}
    for node in graph.users.get(value, ()):
        if isinstance(node, Call) and _section(node) != section:
            others = (operand for operand in node.operands if operand is not value)
            numbers = all(graph.constant(other) is not None for other in others)
            asks = Trait.ELEMENTWISE in node.op.traits and len(node.results) == 1
            if not (asks and numbers and node.results[0].type.dtype == "bool"):
                return []
            later[node] = None
    return list(later) if 8 * len(later) <= bits(value.type.dtype) else []


def _moved(graph: Graph, before: Mapping[Node, list[Call]]) -> Graph:
    """The graph with calls, and the numbers that they read, before other nodes."""
    new: dict[Value, Value] = {}
    moved = {call for calls in before.values() for call in calls}
    nodes: dict[Node, None] = {}
    for node in graph.nodes:
        for call in before.get(node, ()):
            nodes.update((made, None) for v in call.operands if (made := graph.constant(v)))
            nodes[_earlier(graph, call, new)] = None
        if node not in moved:
            nodes[with_operands(node, lambda v: new.get(v, v))] = None
    return graph.replace(nodes=tuple(nodes))


def _earlier(graph: Graph, call: Call, new: dict[Value, Value]) -> Call:
    """A comparison as part of the section of what it compares, called after what its line makes."""
    (result,) = call.results
    value = next(v for v in call.operands if v.type.shape)
    made = [value, *(r for node in graph.users[value] for r in node.results)]
    line, section = result.origin.line, value.origin.section
    same = (v.origin for v in made if v.origin.line == line and v.origin.section == section)
    origin = result.origin.named(next((o.name for o in same if o.name), None))
    new[result] = Value(result.type, replace(origin, section=section))
    return replace(call, results=(new[result],))
