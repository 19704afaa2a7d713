"""Calls of `jax.tree.map`, `jax.tree.leaves` and functions with a `jax.named_scope` in traced ones.

The machine executes the functions that they call back, and what they read of containers from
outside is guarded. Containers that JAX alone can take apart are left to JAX.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import FunctionType, MethodType
from typing import Any, NamedTuple

from tracegrad.machine.calls import call
from tracegrad.runtime.provided import Provided
from tracegrad.values.pytree import (
    Attr,
    TreeSpec,
    children,
    is_leaf_of_jax,
    one_level,
    unflatten,
)
from tracegrad.world.native_reads import items_alone
from tracegrad.world.world import World

_MODULES = ("jax.tree", "jax.tree_util", "jax._src.tree", "jax._src.tree_util")


class Part(NamedTuple):
    """A container with its parts, or a leaf with what stands in its place in other trees."""

    spec: TreeSpec | None
    parts: Sequence[Any]


class _Unknown(Exception):
    """A container that nobody but JAX can take apart."""


def tree_function(callee: Any) -> Any:
    """What is called in the place of a function of JAX's, with the world before its arguments."""
    if getattr(callee, "__module__", None) not in _MODULES:
        return _vmap if callee is getattr(sys.modules.get("jax"), "vmap", _vmap) else None
    return _BY_NAME.get(getattr(callee, "__name__", ""))


def function_under_a_name(callee: Any) -> Any:
    """The function around which `jax.named_scope` stands, with `self`; None of any other callee.

    Names of parts of programs say nothing of what is computed.
    """
    itself = type(callee) in (FunctionType, MethodType)
    found: Any = callee if itself else type(callee).__call__
    function = getattr(found, "__func__", found)
    if type(function) is not FunctionType or function.__globals__.get("__name__") != _NAMING:
        return None
    inner = getattr(function, "__wrapped__", None)
    if inner is None or (itself and found is function):
        return inner
    return MethodType(inner, callee if found is function else found.__self__)


_NAMING = "jax._src.source_info_util"


def mapped(
    world: World, f: Any, tree: Any, *rest: Any, is_leaf: Any = None
) -> Callable[[], Any] | None:
    """`jax.tree.map`; None where JAX has to do it."""
    try:
        part = _taken_apart(world, (tree, *rest), is_leaf)
    except _Unknown:
        return None
    return lambda: _built(part, lambda leaves: call(world.machine, f, leaves, {}))


def leaves_of(world: World, tree: Any, is_leaf: Any = None) -> Callable[[], Any] | None:
    """`jax.tree.leaves`; None where JAX has to do it."""
    found: list[Any] = []
    try:
        part = _taken_apart(world, (tree,), is_leaf)
    except _Unknown:
        return None
    _built(part, lambda leaves: found.extend(leaves))
    return lambda: found


over_batches = Provided("tg.vmap")


def _vmap(
    world: World, fun: Any, in_axes: Any = 0, out_axes: Any = 0, **named: Any
) -> Callable[[], Any] | None:
    """`jax.vmap`; None where JAX has to do it, for names and numbers of axes."""
    if any(value is not None for value in named.values()):
        return None
    return lambda: over_batches.call(fun, in_axes, out_axes)


_BY_NAME = {"map": mapped, "tree_map": mapped, "leaves": leaves_of, "tree_leaves": leaves_of}


def _taken_apart(world: World, trees: Sequence[Any], is_leaf: Any) -> Part:
    """The structure of the first tree, with what stands in each place of all."""
    if is_leaf is not None and call(world.machine, is_leaf, (trees[0],), {}):
        return Part(None, tuple(trees))
    specs = [one_level(tree) for tree in trees]
    spec = specs[0]
    if spec.type is None or is_leaf_of_jax(trees[0]):
        return Part(None, tuple(trees))
    if any(other != spec for other in specs):
        raise ValueError(f"the trees differ: {', '.join(map(repr, specs))}")
    columns = zip(*[_children(world, tree, spec) for tree in trees], strict=True)
    return Part(spec, [_taken_apart(world, column, is_leaf) for column in columns])


def _children(world: World, tree: Any, spec: TreeSpec) -> list[Any]:
    """What stands in a container, as the function has it."""
    if isinstance(tree, dict | list | tuple):
        return children(items_alone(world, tree))
    if not all(isinstance(step, Attr) for step in spec.steps):
        raise _Unknown
    for name in spec.fixed:
        world.numbers.look(world.own_attribute(tree, name))
    return [world.own_attribute(tree, step.name) for step in spec.steps if isinstance(step, Attr)]


def _built(part: Part, of: Callable[[Any], Any]) -> Any:
    if part.spec is None:
        return of(part.parts)
    return unflatten(part.spec, [_built(inner, of) for inner in part.parts])
