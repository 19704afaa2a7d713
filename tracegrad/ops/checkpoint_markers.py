"""Ops that say which part of a graph the backward computes again instead of keeping its values."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from codegen.ir import Builder, Call, Constant, Node, Origin, Trait, Value
from codegen.sizes import Sizes
from codegen.spelling import spell
from codegen.types import ArrayType
from tracegrad.ops.record import OpRecord


def _marker(name: str, doc: str) -> OpRecord:
    """An op that stands between others and computes nothing."""
    return OpRecord(
        name=name,
        operands=(),
        infer=lambda sizes: ArrayType("bool"),
        spelling={"numpy": spell("True"), "jax": spell("True")},
        attributes={},
        differentiable=False,
        doc=doc,
    )


region_start = _marker("checkpoint", "What follows is computed again by the backward.")
region_end = _marker("checkpoint_end", "The end of what is computed again.")


def _type(sizes: Sizes, x: ArrayType, ct: ArrayType) -> ArrayType:
    return x


recomputed = OpRecord(
    name="recomputed",
    operands=("x", "ct"),
    infer=_type,
    spelling={"numpy": spell("x"), "jax": spell("jax.lax.optimization_barrier((x, ct))[0]")},
    attributes={},
    traits=frozenset({Trait.VIEW}),
    vjp=lambda ct, y, x, after: (ct, None),
    doc="`x` once a cotangent is there: what is computed of it is not what the forward computed.",
)


class Region:
    """Calls that the backward computes again when it first asks for one of their results."""

    def __init__(self) -> None:
        self.nodes: list[Call] = []
        self.again: dict[Value, Value] | None = None  # by result of the forward

    def compute(self, builder: Builder, ct: Value, constants: Container[Value]) -> None:
        """Appends the calls once more; what they read from before is read through `recomputed`."""
        self.again = {}
        read: dict[Value, Value] = {}
        for node in self.nodes:
            operands = []
            for x in node.operands:
                if x in self.again:
                    x = self.again[x]
                elif x not in constants:
                    if x not in read:
                        origin = replace(node.results[0].origin, name=x.origin.name, final=False)
                        origin = replace(origin, section="backward")
                        (read[x],) = builder.call(recomputed, (x, ct), origin)
                    x = read[x]
                operands.append(x)
            new = tuple([Value(v.type, _of_backward(v.origin)) for v in node.results])
            self.again.update(zip(node.results, new, strict=True))
            builder.append(replace(node, operands=tuple(operands), results=new))


def _of_backward(origin: Origin) -> Origin:
    return replace(origin, section="backward", final=False)


def regions_of(nodes: Iterable[Node]) -> dict[Value, Region]:
    """The region of each result of a call between markers; of regions within others the outer one.

    A region may begin before these nodes, or end after them. Calls with effects (draws, the user's
    own Python) run once.
    """
    calls: Sequence[Node] = tuple(nodes)
    starts = [n for n in calls if isinstance(n, Call) and n.op is region_start]
    ends = [n for n in calls if isinstance(n, Call) and n.op is region_end]
    if not starts and not ends:
        return {}
    depth = _begun_before(calls)
    region, found = Region(), dict[Value, Region]()
    for node in calls:
        if not isinstance(node, Call):
            continue
        if node.op is region_start:
            region = Region() if depth == 0 else region
            depth += 1
        elif node.op is region_end:
            depth -= 1
        elif depth and not (Trait.EFFECT in node.op.traits or node.op.opaque):  # type: ignore[attr-defined]
            region.nodes.append(node)
            found.update(dict.fromkeys(node.results, region))
    return found


def _begun_before(nodes: Sequence[Node]) -> int:
    """How many regions end among nodes that did not begin there."""
    depth = least = 0
    for node in nodes:
        if isinstance(node, Call):
            depth += (node.op is region_start) - (node.op is region_end)
            least = min(least, depth)
    return -least


def constants_of(nodes: Iterable[Node]) -> set[Any]:
    """The values that are constants."""
    return {node.result for node in nodes if isinstance(node, Constant)}


def _budget_type(sizes: Sizes, *, max_bytes: int) -> ArrayType:
    return ArrayType("bool")


budget_start = OpRecord(
    name="budget",
    operands=(),
    infer=_budget_type,
    spelling={"numpy": spell("True"), "jax": spell("True")},
    attributes={"max_bytes": ...},
    differentiable=False,
    doc="Loops that follow keep no more than so many bytes for the backward.",
)
budget_end = _marker("budget_end", "The end of where loops have a budget.")


@contextmanager
def budget(trace: Any, max_bytes: int | None) -> Iterator[None]:
    """Loops that are recorded inside keep no more than so many bytes for the backward."""
    if max_bytes is None:
        yield
        return
    trace.builder.call(budget_start, (), trace.origin(), max_bytes=max_bytes)
    trace.budgets += 1
    try:
        yield
    finally:
        trace.budgets -= 1
        trace.builder.call(budget_end, (), trace.origin())
