"""Which values of a graph tell lengths, and which lengths its source shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from codegen.ir import Call, Graph, Loop, Node, Trait, Value, dims_of
from codegen.sizes import Dim, Size, Sizes, symbols


def lengths_told(graph: Graph, value: Value) -> Iterator[str]:
    """The symbols that a value tells as they are: by its shape, or as a number."""
    if value in graph.whole_numbers:
        yield graph.whole_numbers[value]
    for dim in dims_of(graph.sizes, value.type):
        name = dim.symbol() if isinstance(dim, Size) else None
        if name is not None:
            yield name


def told_by_turns(node: Node) -> str | None:
    """The symbol of the length that the number of a turn tells; None where it tells none."""
    counter = node.counter if isinstance(node, Loop) else None
    return None if counter is None or counter.length is None else counter.length.symbol


def symbols_printed(node: Node, sizes: Sizes) -> set[str]:
    """The symbols in the attributes that a call's source shows."""
    if not isinstance(node, Call) or not node.attributes:
        return set()
    used = node.op.spelled("numpy", dict(node.attributes)).uses
    shown = [v for name, v in node.attributes if name in used or Trait.EXTENT in node.op.traits]
    dims = [sizes.resolve(dim) for value in shown for dim in _dims_in(value)]
    return {name for dim in dims for name in symbols(dim)}


def symbols_of_attributes(call: Call, sizes: Sizes) -> set[str]:
    """The symbols in all attributes of a call."""
    dims = [sizes.resolve(dim) for _, value in call.attributes for dim in _dims_in(value)]
    return {name for dim in dims for name in symbols(dim)}


def _dims_in(value: Any) -> list[Dim]:
    if isinstance(value, tuple):
        return [dim for item in value for dim in _dims_in(item)]
    return [value] if isinstance(value, Size) else []
