"""Removes parameters of loops that other values can stand for.

A parameter that every turn hands on as it is is its first argument. Two parameters of a loop are
one where they begin equal and every next turn is given equal values: supposed of all that begin
equal, until it is seen not to hold.

Before::                                    After::

    graph f(x: float64[n0], c: bool[]) {        graph f(x: float64[n0], c: bool[]) {
      loop %w = %x, %h = %x, %k = %x as L1        loop %h = %x as L1
        turn                                        turn
          branch %c bool                              branch %c bool
            case True                                   case True
              return %h, %k                               return %h, %h
            case False                                  case False
              %a = mul(%h, %w)                            %a = mul(%h, %x)
              %b = mul(%k, %w)                            again L1 %a
              again L1 %w, %a, %b               }
    }
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from codegen.ir import Call, Constant, Graph, Join, Loop, Trait, Value, ends, walk
from codegen.keys import type_key
from codegen.passes.client import NO_CLIENT, Client
from codegen.passes.cse import call_key, made_to_be_written, number_key
from codegen.passes.dce import dce
from codegen.passes.simplify import simplify
from codegen.rewrite import substituted
from codegen.unset import is_unset


def loop_parameters(graph: Graph, client: Client = NO_CLIENT) -> Graph:
    """Replaces parameters until none is left to replace; turns are simplified that meet numbers."""
    numbers = False
    while True:
        stands = _handed_on(graph) or _equal(graph)
        if not stands:
            return simplify(graph, client) if numbers else graph
        numbers = numbers or any(graph.constant(value) for value in stands.values())
        graph = dce(_replaced(graph, stands))


def _replaced(graph: Graph, stands: Mapping[Value, Value]) -> Graph:
    return graph.with_block(substituted(graph.block, lambda value: stands.get(value, value)))


def _handed_on(graph: Graph) -> dict[Value, Value]:
    """What stands for the parameters that are their first arguments in all turns.

    And for those of joins that are one value or unset, unless the caller is told so.
    """
    stands: dict[Value, Value] = {}
    inside, returned = _made_in_bodies(graph), _returned(graph)
    for parameter, given in graph.given.items():
        some = given if parameter in returned else [v for v in given if not is_unset(graph, v)]
        first, *others = some or given
        if first in inside.get(parameter, ()):
            continue
        same = type_key(graph.sizes, parameter.type) == type_key(graph.sizes, first.type)
        if same and all(other in (parameter, first) for other in others):
            stands[parameter] = stands.get(first, first)
    return stands


def _returned(graph: Graph) -> set[Value]:
    """What is returned on some path, itself or handed on."""
    found: set[Value] = set()
    new = [value for block in ends(graph.block) for value in block.outputs]
    while new:
        value = new.pop()
        if value not in found:
            found.add(value)
            new += graph.given.get(value, ())
    return found


def _made_in_bodies(graph: Graph) -> dict[Value, set[Value]]:
    """By the parameters of joins, what is made in the body: behind the join it is not known."""
    found: dict[Value, set[Value]] = {}
    for join in graph.all_nodes:
        if isinstance(join, Join):
            made = {result for node in walk(join.body.nodes) for result in node.results}
            found.update((parameter, made) for parameter in join.parameters)
    return found


def _equal(graph: Graph) -> dict[Value, Value]:
    """What stands for the parameters that are equal to others of their loop."""
    heads = [node for node in graph.all_nodes if isinstance(node, Loop | Join)]
    kinds = {
        p: (place, type_key(graph.sizes, p.type))
        for place, head in enumerate(heads)
        for p in head.parameters
    }
    classes, before = _numbered(kinds), 0
    while len(set(classes.values())) > before:
        before = len(set(classes.values()))
        numbers = _numbers(graph, classes)
        classes = _numbered(
            {p: (classes[p], *(numbers[a] for a in given)) for p, given in graph.given.items()}
        )
    first: dict[int, Value] = {}
    stands = {p: first.setdefault(of, p) for p, of in classes.items()}
    return {p: other for p, other in stands.items() if other is not p}


def _numbered(keys: Mapping[Value, Hashable]) -> dict[Value, int]:
    """A number for each value, equal for equal keys."""
    table: dict[Hashable, int] = {}
    return {value: table.setdefault(key, len(table)) for value, key in keys.items()}


def _numbers(graph: Graph, classes: Mapping[Value, int]) -> dict[Value, int]:
    """A number for each value of the graph, equal for equal values, if parameters of a class are
    equal."""
    table: dict[Hashable, int] = {}
    numbers: dict[Value, int] = {}
    written = set(made_to_be_written(graph))

    def number(value: Value, key: Hashable) -> None:
        numbers[value] = table.setdefault(key, len(table))

    for value in graph.inputs:
        number(value, value)
    for node in graph.all_nodes:
        pure = isinstance(node, Call) and Trait.EFFECT not in node.op.traits
        for place, result in enumerate(node.results):
            if isinstance(node, Constant):
                number(result, number_key(graph, node))
            elif isinstance(node, Call) and pure and result not in written:
                number(result, (place, *call_key(graph, node, [numbers[v] for v in node.operands])))
            else:
                number(result, classes.get(result, result))
    return numbers
