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

from collections.abc import Hashable, Mapping, Set

from codegen.ir import Call, Constant, Graph, Join, Trait, Value, ends, walk
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
    returned = _returned(graph)
    for parameter, given in graph.given.items():
        some = given if parameter in returned else [v for v in given if not is_unset(graph, v)]
        first, *others = some or given
        if any(other is not parameter and other is not first for other in others):
            continue
        same = type_key(graph.sizes, parameter.type) == type_key(graph.sizes, first.type)
        if same and not _is_made_in_body(graph, first, parameter):
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


def _is_made_in_body(graph: Graph, value: Value, parameter: Value) -> bool:
    """Whether the body of the parameter's join makes a value: behind the join it is not known."""
    head = graph.producer[parameter]
    made = graph.producer.get(value)
    return isinstance(head, Join) and any(node is made for node in walk(head.body.nodes))


def _equal(graph: Graph) -> dict[Value, Value]:
    """What stands for the parameters that are equal to others of their loop."""
    kinds = {
        p: (place, type_key(graph.sizes, p.type))
        for place, head in enumerate(graph.heads.values())
        for p in head.parameters
    }
    written = made_to_be_written(graph)
    classes = _numbered(
        {
            p: (kinds[p], *(kinds.get(a) or _made_by(graph, a, written) for a in given))
            for p, given in graph.given.items()
        }
    )
    before = 0
    while before < len(set(classes.values())) < len(classes):
        before = len(set(classes.values()))
        numbers = _numbers(graph, classes, written)
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


def _made_by(graph: Graph, value: Value, written: Set[Value]) -> Hashable:
    """What makes a value that is no parameter: alike for equal values."""
    made = graph.producer.get(value)
    if isinstance(made, Constant):
        return number_key(graph, made)
    if isinstance(made, Call) and _is_pure(made) and value not in written:
        return (made.results.index(value), *call_key(graph, made, []))
    return value


def _is_pure(call: Call) -> bool:
    return Trait.EFFECT not in call.op.traits


def _numbers(graph: Graph, classes: Mapping[Value, int], written: Set[Value]) -> dict[Value, int]:
    """A number for each value of the graph, equal for equal values, if parameters of a class are
    equal."""
    table: dict[Hashable, int] = {}
    numbers: dict[Value, int] = {}

    def number(value: Value, key: Hashable) -> None:
        numbers[value] = table.setdefault(key, len(table))

    for value in graph.inputs:
        number(value, value)
    for node in graph.all_nodes:
        for place, result in enumerate(node.results):
            if isinstance(node, Constant):
                number(result, number_key(graph, node))
            elif isinstance(node, Call) and _is_pure(node) and result not in written:
                number(result, (place, *call_key(graph, node, [numbers[v] for v in node.operands])))
            else:
                number(result, classes.get(result, result))
    return numbers
