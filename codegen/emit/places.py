"""Where the elements of small arrays lie: in which array, and at which of its places.

``x.T``, ``x[:, None]``, ``saved[t]`` and ``x[:, k]`` make nothing in a kernel: their elements are
read where they lie, ``saved[t, i]``.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from codegen.emit.elements import UnspokenError
from codegen.ir import Call, Constant, Graph, Value
from codegen.spelling import Slot, Subscript
from codegen.types import kind


@dataclass(frozen=True)
class Axis:
    """Along an axis of what is shown, from `start` on; `whole` where nothing is left out."""

    axis: int
    start: int = 0
    whole: bool = True


Item: TypeAlias = "Axis | int | Value"


@dataclass(frozen=True)
class Place:
    """An array with `ndim` axes whose elements lie in `root`, with an item for each axis of that.

    A number is a place of its own: an int, or the value of an index.
    """

    root: Value
    items: tuple[Item, ...]
    ndim: int

    @staticmethod
    def of(root: Value) -> Place:
        """A whole array."""
        ndim = root.type.ndim
        return Place(root, tuple(Axis(axis) for axis in range(ndim)), ndim)

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes, in the order in which they lie in the root."""
        return tuple(item for item in self.items if isinstance(item, Axis))

    @property
    def is_all(self) -> bool:
        """Whether it shows all of the root, as that lies."""
        return self == Place.of(self.root)

    @property
    def order(self) -> tuple[int, ...]:
        """The axes of what is shown in the order in which they lie in memory.

        `UnspokenError` where some show nothing of the root, or show a part.
        """
        order = tuple(axis.axis for axis in self.axes)
        if not all(axis.whole for axis in self.axes) or sorted(order) != [*range(self.ndim)]:
            raise UnspokenError("a part of an array")
        return order

    def turned(self) -> Place:
        """With its axes in reverse."""
        last = self.ndim - 1
        return self._moved({axis: last - axis for axis in range(self.ndim)}, self.ndim)

    def _moved(self, where: dict[int, int], ndim: int) -> Place:
        items = tuple(
            replace(item, axis=where[item.axis]) if isinstance(item, Axis) else item
            for item in self.items
        )
        return Place(self.root, items, ndim)

    def at(self, index: Sequence[object], operands: Sequence[Item]) -> Place:
        """What ``x[index]`` shows; `operands` are what the slots of the index stand for."""
        items = list(index)
        if Ellipsis in items:
            at = items.index(Ellipsis)
            missing = self.ndim - sum(item is not None for item in items) + 1
            items[at : at + 1] = [slice(None)] * missing
        items += [slice(None)] * (self.ndim - sum(item is not None for item in items))
        new: dict[int, Item] = {}
        axis = ndim = 0
        for item in items:
            if item is None:
                ndim += 1
                continue
            match item:
                case Slot(position):
                    new[axis] = operands[position]
                case int():
                    new[axis] = item
                case slice(start=start, stop=stop, step=None | 1) if (start or 0) >= 0:
                    new[axis] = Axis(ndim, start or 0, not start and stop is None)
                    ndim += 1
                case _:
                    raise UnspokenError("an index")
            axis += 1
        return Place(self.root, tuple(self._through(item, new) for item in self.items), ndim)

    def _through(self, item: Item, new: dict[int, Item]) -> Item:
        """Where an axis of the root is when what is shown is indexed."""
        if not isinstance(item, Axis):
            return item
        shown = new[item.axis]
        if isinstance(shown, Axis):
            whole = item.whole and shown.whole
            return Axis(shown.axis, item.start + shown.start, whole)
        if item.whole:
            return shown
        if isinstance(shown, int) and shown >= 0:
            return item.start + shown
        raise UnspokenError("an index that may be negative into a part of an array")


def index_of(call: Call, graph: Graph) -> tuple[tuple[object, ...], tuple[Item, ...]] | None:
    """The index of a call that reads ``x[...]``, and what its slots are; None for other calls.

    It may copy that.
    """
    spelling = call.op.spelled("numpy", dict(call.attributes))
    tree = spelling.expression
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Attribute):
        tree = tree.func.value if tree.func.attr == "copy" and not tree.args else tree
    if not (isinstance(tree, ast.Subscript) and isinstance(tree.value, ast.Name)):
        return None
    if tree.value.id != call.op.operands[0]:
        return None
    index = dict(call.attributes).get("index")
    if isinstance(index, Subscript) and spelling.text.startswith("x[index]"):
        if dict(call.attributes).get("repeats"):
            return None
        slots = call.operands[1:]
        if any(kind(v.type.dtype) != "int" or v.type.shape for v in slots):
            return None
        return index.items, tuple(_item(graph, v) for v in slots)
    if len(call.operands) != 1:
        return None
    try:
        return tuple(_literal(item) for item in _parts(tree.slice)), ()
    except ValueError:
        return None


def _item(graph: Graph, value: Value) -> Item:
    constant = graph.producer.get(value)
    if isinstance(constant, Constant) and type(constant.value) is int:
        return constant.value
    return value


def _parts(node: ast.expr) -> Sequence[ast.expr]:
    return node.elts if isinstance(node, ast.Tuple) else [node]


def _literal(node: ast.expr) -> object:
    """An item of an index that is written in a spelling."""
    if isinstance(node, ast.Slice):
        parts = (node.lower, node.upper, node.step)
        return slice(*(None if part is None else ast.literal_eval(part) for part in parts))
    return ast.literal_eval(node)


def turns_axes(call: Call) -> bool:
    """Whether a call is ``x.T``."""
    text = call.op.spelled("numpy", dict(call.attributes)).text
    return text == "x.T" or (text == "x.mT" and call.operands[0].type.ndim == 2)
