"""Turns that need no tape run as straight code over arrays: one function for each limb of a way.

A run of which a program is made needs values alone. What comes of such turns has a node (`PENDING`)
where a gradient would flow to it, so that a number which Python reads of it is known to lose one; a
run that is to be differentiated all the same is made again, with a tape (`Taped`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from codegen.ir import Call, Trait, Value
from codegen.sizes import Size, Sizes, symbols
from tracegrad.ops.elementwise.ufuncs import alias
from tracegrad.ops.python_lists import FILLING
from tracegrad.tape.tape import Node, record
from tracegrad.tensors.tensor import Tensor
from tracegrad.tracing.path_tree import Cycle, Entry, Meet


class Taped(BaseException):
    """A run needs a tape through the turns of its loops: it is made again, with one."""


def _pending(*_: Any, **__: Any) -> Any:
    raise AssertionError("a tape through turns that were run without one")


PENDING = replace(alias, vjp=_pending)


def pending(x: Any, of: Tensor) -> Node:
    """The node of a value to which a gradient would flow."""
    node = record(alias, (of,), {}, x, None)
    node.op = PENDING
    return node


def is_plain(cycles: Iterable[Cycle]) -> bool:
    """Whether all that turns do is to compute arrays."""
    return all(
        node.op in FILLING or not (node.op.opaque or Trait.EFFECT in node.op.traits)  # type: ignore[attr-defined]
        for cycle in cycles
        for way in cycle.ways
        for node in way.nodes
        if isinstance(node, Call)
    )


def varies(sizes: Sizes, attribute: Any) -> bool:
    """Whether an attribute has a length that is the number of a turn, or that a mask tells."""
    if isinstance(attribute, tuple):
        return any(varies(sizes, x) for x in attribute)
    if not isinstance(attribute, Size):
        return False
    length = sizes.resolve(attribute)
    return sizes.counts(length) or not symbols(length).isdisjoint(sizes.data)


def tellers_of(trace: Any) -> dict[Value, list[str]]:
    """The lengths that data tell, by the values that tell them."""
    found: dict[Value, list[str]] = {}
    for name, teller in trace.masks.items():
        found.setdefault(teller, []).append(name)
    return found


def tell(sizes: Sizes, name: str, x: Any) -> None:
    """A mask, or how many there are, tells how long something is in this turn."""
    array = getattr(x, "_array", x)
    sizes.seen[name] = int(np.count_nonzero(array) if array.dtype == bool else array)


def active(cycles: Sequence[Cycle], before: Mapping[Value, Any]) -> set[Value]:
    """The values to which a gradient flows, in turns; `before` are those from before the loops."""
    found = {v for v, x in before.items() if getattr(x, "_node", None) is not None}
    while True:
        known = len(found)
        for cycle in cycles:
            _hand(cycle.parameters, cycle.arguments, found)
            for way in cycle.ways:
                for node in way.nodes:
                    if isinstance(node, Entry):
                        _hand(node.cycle.parameters, node.cycle.arguments, found)
                    elif isinstance(node, Meet):
                        _hand(node.joint.parameters, node.arguments, found)
                    elif isinstance(node, Call) and not found.isdisjoint(node.operands):
                        found.update(node.results if node.op.differentiable else ())  # type: ignore[attr-defined]
                _hand(cycle.parameters, way.arguments or (), found)
        if len(found) == known:
            return found


def _hand(parameters: Sequence[Value], arguments: Sequence[Value], found: set[Value]) -> None:
    found.update(p for p, a in zip(parameters, arguments, strict=False) if a in found)


def function_of(
    calls: Sequence[Call],
    moves: Sequence[tuple[Value, Value]],
    rows: Sequence[Value],
    values: Mapping[Value, Any],
    of: Callable[[Value], Any],
    trace: Any,
) -> Callable[[dict[Value, Any]], tuple[Any, ...]]:
    """A function that does what the calls do; it reads and writes a table of values.

    Last it gives parameters what they are in the next turn (`moves`), and returns what `rows` were.
    What is not in `values` by now stays the same, and is what `of` gives.
    """
    held: dict[str, Any] = {}
    names: dict[Value, str] = {}
    lines: list[str] = []

    def hold(x: Any, stem: str) -> str:
        name = f"{stem}{len(held)}"
        held[name] = x
        return name

    def read(value: Value) -> str:
        if value not in names:
            if value in values:
                names[value] = f"v{len(names)}"
                lines.append(f"    {names[value]} = table[{hold(value, 'k')}]")
            else:
                x = of(value)
                names[value] = hold(getattr(x, "_array", x), "c")
        return names[value]

    tellers = tellers_of(trace)
    for call in calls:
        given = {name: trace.concrete(x) for name, x in call.attributes}
        turned = {name for name, x in call.attributes if varies(trace.sizes, x)}
        kernel_of: Any = call.op.kernel_of_values  # type: ignore[attr-defined]
        kernel = hold(kernel_of(given, call.operands, call.results), "f")
        operands = [read(v) for v in call.operands]
        attributes = []
        for name, x in call.attributes:
            now = given[name] if name not in turned else partial(trace.concrete, x)
            attributes.append(f"{name}={hold(now, 'a')}{'()' * (name in turned)}")
        results = []
        for value in call.results:
            names[value] = f"v{len(names)}"
            results.append(f"{names[value]}")
        lines.append(f"    {', '.join(results)} = {kernel}({', '.join([*operands, *attributes])})")
        for value in call.results:
            lines.append(f"    table[{hold(value, 'k')}] = {names[value]}")
            for name in tellers.get(value, ()):
                lines.append(f"    {hold(partial(tell, trace.sizes, name), 't')}({names[value]})")
    kept = "".join([f"{read(value)}, " for value in rows])
    given_on = [(hold(p, "k"), _handed(p, read(v), hold)) for p, v in moves]
    if given_on:
        places = [f"table[{place}]" for place, _ in given_on]
        lines.append(f"    {', '.join(places)} = {', '.join([text for _, text in given_on])}")
    text = "\n".join([f"def turn(table, {', '.join(held)}):", *lines, f"    return ({kept})"])
    scope: dict[str, Any] = {"PLAIN": (bool, int, float, complex)}
    exec(compile(text, "<turn>", "exec"), scope)
    scope["turn"].__defaults__ = tuple(held.values())
    return scope["turn"]  # type: ignore[no-any-return]


def _handed(parameter: Value, text: str, hold: Callable[[Any, str], str]) -> str:
    """An argument as its parameter: a number of Python may be one of NumPy's."""
    if parameter.type.may_be_python or parameter.type.shape:
        return text
    kind = hold(np.dtype(parameter.type.dtype).type, "d")
    return f"{kind}({text}) if type({text}) in PLAIN else {text}"
