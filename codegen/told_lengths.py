"""Which values of a graph tell lengths, and which lengths its source shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from codegen.ir import Call, Constant, Graph, Loop, Node, Trait, Value, dims_of
from codegen.sizes import Dim, Size, Sizes, add, minus, symbols

SUMS: dict[str, Callable[[Dim, Dim], Dim]] = {"a + b": add, "a - b": minus}
"""What calls that are spelled so compute of lengths."""


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


def number_in_lengths(graph: Graph, value: Value) -> Dim | None:
    """What a whole number is, where that is a sum of lengths and constants; None for others."""
    made = graph.producer.get(value)
    if isinstance(made, Constant):
        return made.value if type(made.value) is int and made.slot is None else None
    if not isinstance(made, Call):
        return None
    if Trait.EXTENT in made.op.traits:
        return graph.sizes.resolve(made.attribute("size"))
    combine = SUMS.get(numpy_text(made))
    parts = [number_in_lengths(graph, v) for v in made.operands] if combine else [None]
    return None if combine is None or None in parts else combine(*parts)


def numpy_text(call: Call) -> str:
    """The NumPy spelling of a call."""
    return call.op.spelled("numpy", dict(call.attributes)).text


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
