"""Finds the batch axis of every leaf of the arguments from what ``in_axes`` says.

``in_axes`` and ``out_axes`` mean what they mean in JAX: an int or None for everything, or a tree of
them that begins as the arguments' (the result's) does, each of which stands for all below it.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tracegrad.arguments.signature import Arguments, Leaf
from tracegrad.errors import ArgumentError
from tracegrad.values.pytree import TreeSpec, flatten

Axis = int | None


class _Given:
    """An argument that a call gave, with the tree of its axes."""

    def __init__(self, axes: Any, named: bool = False) -> None:
        self.axes = axes
        self.whole = named or isinstance(axes, int)  # one for all that the argument holds


def with_axes(
    arguments: Arguments,
    signature: inspect.Signature,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    in_axes: Any,
    name: str,
) -> Arguments:
    """The arguments with the axis along which each leaf holds examples, None where there is none.

    Arguments that are passed by name have it first. Settings among arrays (strings, objects) are
    the same for all examples.
    """
    positional = _positional(in_axes, len(args), name)
    bound = signature.bind(
        *map(_Given, positional), **{key: _Given(0, named=True) for key in kwargs}
    )
    given: list[_Given] = []
    for key, value in bound.arguments.items():
        match signature.parameters[key].kind:
            case inspect.Parameter.VAR_POSITIONAL:
                given += value
            case inspect.Parameter.VAR_KEYWORD:
                given += value.values()
            case _:
                given.append(value)
    axes: list[Axis] = []
    for i, (one, spec) in enumerate(zip(given, arguments.specs, strict=True)):
        leaves = [leaf for leaf in arguments.leaves if leaf.parameter == i]
        text = arguments.parameters[i]
        found = spread(one.axes, spec, f"in_axes for {text}", text)
        for leaf, axis in zip(leaves, found, strict=True):
            carried = one.whole and _is_setting(leaf)
            axes.append(None if carried else _checked(axis, leaf, arguments.text_of(leaf)))
    if all(axis is None for axis in axes):
        raise ArgumentError(
            f"vmap of {name}: no argument is mapped: in_axes must name an axis of one at least"
        )
    return replace(arguments, axes=tuple(axes))


def _positional(in_axes: Any, count: int, name: str) -> list[Any]:
    """What is said of each argument that is passed by position."""
    if in_axes is None or isinstance(in_axes, int):
        return [in_axes] * count
    if not isinstance(in_axes, tuple | list):
        raise ArgumentError(
            f"vmap of {name}: in_axes={in_axes!r} must be an int, None, or a tuple with an entry "
            "for each positional argument"
        )
    if len(in_axes) != count:
        raise ArgumentError(
            f"vmap of {name}: in_axes has {len(in_axes)} entries, but {count} positional "
            f"argument{'s were' if count != 1 else ' was'} passed"
        )
    return list(in_axes)


def spread(axes: Any, spec: TreeSpec, what: str, text: str) -> list[Axis]:
    """An axis for each leaf of a structure, from a tree of axes that may end before it does."""
    found = each(axes, spec, what, text)
    for axis in found:
        if isinstance(axis, bool) or not isinstance(axis, int | np.integer | None):
            raise ArgumentError(f"{what}: {axis!r} is no axis: give an int or None")
    return [None if axis is None else int(axis) for axis in found]


def each(tree: Any, spec: TreeSpec, what: str, text: str) -> list[Any]:
    """What a tree, which may end before a structure does, says of each leaf of that."""
    leaves, of = flatten(tree)
    return _each(iter(leaves), of, spec, what, text)


def _each(rest: Any, of: TreeSpec, spec: TreeSpec, what: str, text: str) -> list[Any]:
    if of.type is type(None):
        return [None] * _count(spec)
    if of.type is None:
        return [next(rest)] * _count(spec)
    if of.type is not spec.type or of.steps != spec.steps or of.aux != spec.aux:
        raise ArgumentError(
            f"{what} is {_shown(of)}, but {text} is {_shown(spec)}: they must begin alike"
        )
    found: list[Any] = []
    for inner, child in zip(of.children, spec.children, strict=True):
        found += _each(rest, inner, child, what, text)
    return found


def _shown(spec: TreeSpec) -> str:
    return repr(spec).removeprefix("TreeSpec(").removesuffix(")")


def _count(spec: TreeSpec) -> int:
    return 1 if spec.type is None else sum(map(_count, spec.children))


def _is_setting(leaf: Leaf) -> bool:
    """What is neither an array nor a number."""
    return not leaf.traced and not isinstance(leaf.value, int)


def _checked(axis: Axis, leaf: Leaf, text: str) -> Axis:
    """The axis as a non-negative number."""
    if axis is None:
        return None
    ndim = np.ndim(leaf.value) if leaf.traced or isinstance(leaf.value, int) else 0
    if not -ndim <= axis < ndim:
        shown = f"has {ndim} {'axis' if ndim == 1 else 'axes'}" if ndim else "has no axes"
        raise ArgumentError(
            f"vmap: in_axes says axis {axis} for {text}, which {shown}: None says that it is the "
            "same for all examples"
        )
    return axis % ndim
