"""The parts of a block of a kernel, and the order in which they are written.

Elementwise operations of one shape stand in one loop where what they read is there: calls that
stand alone (functions of arrays, sums, products, numbers) come as early as they can.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from codegen.emit.elements import Operand, Step
from codegen.emit.places import Place
from codegen.ir import Again, Block, Branch, Join, Loop, Node, Origin, Value
from codegen.sizes import Dim

Shape: TypeAlias = "tuple[Dim, ...]"


@dataclass(eq=False)
class Nest:
    """Loops over the elements of arrays of one shape, and what stands in the innermost."""

    shape: Shape
    indices: tuple[Value, ...]
    nodes: tuple[Node, ...]
    origin: Origin


Entry: TypeAlias = "Node | Nest"


@dataclass(eq=False)
class Unit:
    """A part of a block: it has a `shape` where it stands in loops over elements.

    `reads` are the keys of what it waits for, and whether it reads that element by element; by its
    own `keys` others wait for it. It computes a `step` of a call's `result`, whose last one makes
    the array `value`; copies an array to a `row`; or stands alone, and is written by `entries`. One
    that stands alone may make the array `value`, or write over what has the keys `over`.
    """

    keys: tuple[object, ...]
    reads: dict[object, bool]
    origin: Origin
    shape: Shape | None = None
    result: Value | None = None
    step: Step | None = None
    value: Value | None = None
    row: tuple[Place, Operand] | None = None
    entries: Callable[[], list[Entry]] | None = None
    over: tuple[object, ...] = ()

    @property
    def makes_array(self) -> bool:
        """Whether it makes an array, and none of what stands in a loop."""
        return self.step is not None or self.value is not None


class Straight:
    """The nodes of a block but for the one that goes on elsewhere, as units."""

    def __init__(self, block: Block) -> None:
        last = block.nodes[-1] if block.nodes else None
        self.end = last if isinstance(last, Branch | Loop | Join | Again) else None
        self.nodes = block.nodes[:-1] if self.end else block.nodes
        self.steps: dict[Value, Step] = {}
        self.units: list[Unit] = []
        self.maker: dict[object, Unit] = {}
        self.groups: list[list[Unit]] = []
        self.group: dict[Unit, int] = {}
        self.order: dict[Unit, int] = {}

    def add(self, unit: Unit) -> None:
        """One more unit."""
        self.units.append(unit)
        self.maker.update((key, unit) for key in unit.keys)

    def varies(self, value: Value) -> bool:
        """Whether the elements of an array differ, as far as is known here."""
        return value not in self.steps or self.steps[value].varies

    def arrange(self) -> None:
        """Puts units into groups: what stands alone first, then all that one loop can do."""
        waiting = list(self.units)
        done: set[object] = set()

        def is_there(unit: Unit, inside: Iterable[object] = ()) -> bool:
            return all(
                key not in self.maker or key in done or (each and key in inside)
                for key, each in unit.reads.items()
            )

        while waiting:
            there = [unit for unit in waiting if is_there(unit)]
            alone = next((unit for unit in there if unit.shape is None), None)
            group = [alone] if alone else []
            if alone is None:
                inside: set[object] = set()
                for unit in waiting:
                    if unit.shape == there[0].shape and is_there(unit, inside):
                        group.append(unit)
                        inside.update(unit.keys)
            for unit in group:
                self.order[unit] = len(self.order)
                self.group[unit] = len(self.groups)
                done.update(unit.keys)
            self.groups.append(group)
            waiting = [unit for unit in waiting if unit not in self.order]
