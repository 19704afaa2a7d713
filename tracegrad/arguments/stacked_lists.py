"""Lists of equal arrays as arguments of any length: a program reads such a list as one array.

A list or tuple of arrays of one dtype and shape, all in C order, is a single leaf, whose value is
the array of them. Its rows have the bits and the layout of the list's arrays. So what holds of an
array of any length holds of a list of any length.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from tracegrad.arguments.signature import Arguments, Leaf
from tracegrad.values.pytree import LEAF, Item, Path, TreeSpec, children

Place: TypeAlias = "tuple[int, Path]"
"""Where a list stands: the parameter, and the path from it."""

NOWHERE: Place = (-1, ())


def lists_in(arguments: Arguments) -> Iterator[tuple[Place, tuple[Leaf, ...]]]:
    """The lists and tuples of leaves among the arguments, with these."""
    by_place = {(leaf.parameter, leaf.path): leaf for leaf in arguments.leaves}
    for parameter, spec in enumerate(arguments.specs):
        for path, flat in _flat(spec, ()):
            places = [(parameter, (*path, step)) for step in flat.steps]
            yield (parameter, path), tuple([by_place[place] for place in places])


def _flat(spec: TreeSpec, path: Path) -> Iterator[tuple[Path, TreeSpec]]:
    """The lists and tuples of leaves alone within a structure, each with its path."""
    if spec.type in (list, tuple) and spec.children and set(spec.children) == {LEAF}:
        yield path, spec
        return
    for step, child in zip(spec.steps, spec.children, strict=True):
        yield from _flat(child, (*path, step))


def stacked(arguments: Arguments, places: Collection[Place], fewest: int = 1) -> Arguments:
    """The arguments with the lists at these places as arrays, or as they are.

    They are as they are where arrays of a list differ, where it has fewer than `fewest`, and where
    one list stands at two places.
    """
    found = {place: leaves for place, leaves in lists_in(arguments) if place in places}
    if not found:
        return arguments
    lists = {place: _at(arguments, place) for place in found}
    if len({id(items) for items in lists.values()}) < len(lists):
        return arguments
    for place, items in found.items():
        arrays = [leaf.value for leaf in items]
        kinds = {leaf.kind for leaf in items}
        if len(arrays) < fewest or len(kinds) > 1 or not _stand_together(arrays, lists[place]):
            return arguments
    leaves: list[Leaf] = []
    place_of = {id(leaf): place for place, items in found.items() for leaf in items}
    for leaf in arguments.leaves:
        place = place_of.get(id(leaf), NOWHERE)
        if place is NOWHERE:
            leaves.append(leaf)
        elif leaf is found[place][0]:
            array = np.stack([item.value for item in found[place]])
            leaves.append(
                Leaf(*place, array, ("array", array.dtype.name, array.ndim), lists[place])
            )
    specs = [*arguments.specs]
    for parameter, path in found:
        specs[parameter] = _with(specs[parameter], path, LEAF)
    return replace(arguments, specs=tuple(specs), leaves=tuple(leaves))


def as_in(arguments: Arguments, like: Arguments) -> Arguments:
    """The arguments with those lists as arrays that are arrays in others."""
    if like.stacked == arguments.stacked:
        return arguments
    return stacked(as_given(arguments) if arguments.stacked else arguments, like.stacked)


def length_text(leaf: Leaf | None, text: str, axis: int | None) -> str:
    """Python that reads the length of an axis of a leaf, or of an array from outside.

    Without an axis it is a whole number, and the length.
    """
    if axis is None:
        return text
    if leaf is None or leaf.rows is None:
        return f"{text}.shape[{axis}]"
    return f"{text}[0].shape[{axis - 1}]" if axis else f"len({text})"


def as_given(arguments: Arguments) -> Arguments:
    """The arguments with their lists as they are."""
    specs, leaves = [*arguments.specs], []
    for leaf in arguments.leaves:
        if leaf.rows is None:
            leaves.append(leaf)
            continue
        kind = ("array", leaf.value.dtype.name, leaf.value.ndim - 1)
        steps = tuple([Item(i) for i in range(len(leaf.rows))])
        pairs = zip(steps, leaf.rows, strict=True)
        leaves += [Leaf(leaf.parameter, (*leaf.path, step), row, kind) for step, row in pairs]
        spec = TreeSpec(type(leaf.rows), steps, (LEAF,) * len(steps))
        specs[leaf.parameter] = _with(specs[leaf.parameter], leaf.path, spec)
    return replace(arguments, specs=tuple(specs), leaves=tuple(leaves))


def _with(spec: TreeSpec, path: Path, inner: TreeSpec) -> TreeSpec:
    """The structure with another one at a path."""
    if not path:
        return inner
    children = [
        _with(child, path[1:], inner) if step == path[0] else child
        for step, child in zip(spec.steps, spec.children, strict=True)
    ]
    return replace(spec, children=tuple(children))


def _stand_together(arrays: Sequence[Any], items: Any) -> bool:
    """Whether arrays with axes are of one type and in C order."""
    if type(arrays[0]) is not np.ndarray or not arrays[0].ndim:
        return False
    return shape_of_rows(items, type(items), arrays[0].dtype, arrays[0].ndim + 1) is not None


def shape_of_rows(rows: Any, kind: type, dtype: np.dtype[Any], ndim: int) -> tuple[int, ...] | None:
    """The shape of the array of a list's arrays; None where it is no such list of such arrays."""
    given = type(rows)
    if given is not kind or not rows:
        return None
    shape: Any = getattr(rows[0], "shape", None)
    for row in rows:
        if type(row) is not np.ndarray or row.dtype is not dtype or row.shape != shape:
            return None
        if not row.flags.c_contiguous:
            return None
    return (len(rows), *shape) if len(shape) == ndim - 1 else None


def _at(arguments: Arguments, place: Place) -> Any:
    """What stands at a place."""
    parameter, path = place
    value, spec = arguments.values[parameter], arguments.specs[parameter]
    for step in path:
        at = spec.steps.index(step)
        value, spec = children(value)[at], spec.children[at]
    return value
