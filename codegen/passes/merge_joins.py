"""Makes one ``if`` of two that ask for the same value, one right after the other.

Derivatives are written for one value after the other, so that the backward of an ``if`` is often
several: what the first one makes, the second one reads. An arm of the second goes into that of the
first for the same outcome, where it reads what is made there.

Before::                                    After::

    graph f(x: float64[n0], c: bool[]) {        graph f(x: float64[n0], c: bool[]) {
      join %a: float64[n0] as J1                  join %b: float64[n0] as J1
        body                                        body
          branch %c bool                              branch %c bool
            case True                                   case True
              again J1 %x                                 %e = sin(%x)
            case False                                    again J1 %e
              %n = exp(%x)                              case False
              again J1 %n                                 %n = exp(%x)
        after                                             %s = sin(%n)
          join %b: float64[n0] as J2                      again J1 %s
            body                                    after
              branch %c bool                          return %b
                case True                       }
                  %e = sin(%a)
                  again J2 %e
                case False
                  %s = sin(%a)
                  again J2 %s
            after
              return %b
    }
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from codegen.ir import (
    Again,
    Block,
    Branch,
    Constant,
    Graph,
    Join,
    Loop,
    Value,
    with_blocks,
)
from codegen.passes.client import NO_CLIENT, Client
from codegen.rewrite import substituted


def merge_joins(graph: Graph, client: Client = NO_CLIENT) -> Graph:
    """Merges pairs of joins until none is left to merge."""
    if not any(isinstance(head, Join) for head in graph.heads.values()):
        return graph
    return graph.with_block(_merged(graph, graph.block))


def _merged(graph: Graph, block: Block) -> Block:
    """The block, with the blocks in it, without pairs."""
    last = block.nodes[-1] if block.nodes else None
    if isinstance(last, Branch | Loop | Join):
        last = with_blocks(last, tuple([_merged(graph, b) for b in last.blocks]))
        block = block.with_nodes((*block.nodes[:-1], last))
    if isinstance(last, Join) and (second := _second(last)) is not None:
        *numbers, _ = last.after.nodes
        return block.with_nodes((*block.nodes[:-1], *numbers, _one(graph, last, second)))
    return block


def _second(first: Join) -> Join | None:
    """The join that follows at once, where both branch on one value alone and arms are straight."""
    if not first.after.nodes:
        return None
    *between, second = first.after.nodes
    if not isinstance(second, Join) or not all(isinstance(node, Constant) for node in between):
        return None
    one, other = _choice(first), _choice(second)
    if one is None or other is None or len(second.body.nodes) > 1:
        return None
    alike = (one.operand, one.look, one.outcomes) == (other.operand, other.look, other.outcomes)
    straight = all(_leads_to(arm, first) for arm in one.blocks)
    return second if alike and one.complete and straight else None


def _choice(join: Join) -> Branch | None:
    last = join.body.nodes[-1]
    return last if isinstance(last, Branch) else None


def _leads_to(arm: Block, join: Join) -> bool:
    """Whether an arm goes on behind a join, in any case."""
    last = arm.nodes[-1] if arm.nodes else None
    return isinstance(last, Again) and last.label == join.label


def _one(graph: Graph, first: Join, second: Join) -> Join:
    """Both joins: what the first one hands on, and is read behind both, is handed on as well."""
    one, other = _choice(first), _choice(second)
    assert one is not None and other is not None
    read = set(graph.reads_in(second.after))
    places = [i for i, parameter in enumerate(first.parameters) if parameter in read]
    pairs = zip(one.blocks, other.blocks, strict=True)
    arms = tuple(_arm(first, second, places, *pair) for pair in pairs)
    body = first.body.with_nodes((*first.body.nodes[:-1], replace(one, blocks=arms)))
    parameters = (*second.parameters, *(first.parameters[i] for i in places))
    return replace(second, parameters=parameters, blocks=(body, second.after))


def _arm(first: Join, second: Join, places: Sequence[int], before: Block, after: Block) -> Block:
    """An arm of the first join, then that of the second, which reads what the first has made."""
    *nodes, last = before.nodes
    assert isinstance(last, Again)
    made = dict(zip(first.parameters, last.arguments, strict=True))

    def now(value: Value) -> Value:
        return made.get(value, value)

    given = tuple(last.arguments[i] for i in places)
    rest = _handing_on(substituted(after, now), second.label, given)
    return rest.with_nodes((*nodes, *rest.nodes))


def _handing_on(block: Block, label: object, arguments: tuple[Value, ...]) -> Block:
    """The block in which each way to a join gives it these arguments besides."""
    if not block.nodes:
        return block
    last = block.nodes[-1]
    if isinstance(last, Again):
        if last.label != label:
            return block
        last = replace(last, arguments=(*last.arguments, *arguments))
    elif isinstance(last, Branch | Loop | Join):
        last = replace(last, blocks=tuple(_handing_on(b, label, arguments) for b in last.blocks))
    return block.with_nodes((*block.nodes[:-1], last))
