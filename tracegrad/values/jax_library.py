"""JAX itself, for those who ask for it: its module, its switch for 64-bit types, its containers.

This file is imported where a program for JAX is made or an array of JAX comes in, and never before.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tracegrad.errors import TracegradError, how_to_install


class MissingBackendError(TracegradError, ImportError):
    """The library that a backend runs on is not installed; the message says how to get it."""


try:
    import jax
except ImportError as error:
    raise MissingBackendError(
        f'backend="jax" runs on JAX, which is not installed: {how_to_install("jax")}'
    ) from error


class _Switch:
    """JAX's switch before 0.8, as it is since."""

    def __call__(self, wide: bool) -> Any:
        from jax.experimental import enable_x64

        return enable_x64(wide)

    @property
    def value(self) -> bool:
        return bool(jax.config.jax_enable_x64)


wide_types: Any = getattr(jax, "enable_x64", _Switch())
"""``with wide_types(True):`` gives the calling thread 64-bit types, in 0.4 microseconds.

``wide_types.value`` tells whether it has them, in a quarter of the time that `jax.config` takes.
"""


@contextmanager
def own_types() -> Iterator[None]:
    """JAX's types as they are; where 64-bit ones are asked for and not there, nobody is told."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Explicitly requested dtype")
        yield


class Structure:
    """What JAX says of an object besides its children, the first time as any other."""

    __slots__ = ("of",)

    def __init__(self, of: Any) -> None:
        self.of = of

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Structure) and bool(self.of == other.of)

    def __hash__(self) -> int:
        return hash(self.of)

    def unflatten(self, children: Sequence[Any]) -> Any:
        return self.of.unflatten(children)


def fields_of_jax(tree: Any) -> frozenset[str] | None:
    """The attributes that are the children of an object that JAX takes apart; None of a leaf.

    Where the children are no attributes, there is an empty name.
    """
    pairs, structure = jax.tree_util.tree_flatten_with_path(tree, is_leaf=lambda x: x is not tree)
    if jax.tree_util.treedef_is_leaf(structure):
        return None
    return frozenset([_attribute(tree, path[0], child) for path, child in pairs])


def _attribute(tree: Any, key: Any, child: Any) -> str:
    name = key.name if isinstance(key, jax.tree_util.GetAttrKey) else ""
    return name if name and getattr(tree, name, None) is child else ""


def split_by_jax(tree: Any) -> tuple[list[Any], Structure]:
    """The children of an object that JAX takes apart, and what it is besides."""
    children, structure = jax.tree.flatten(tree, is_leaf=lambda x: x is not tree)
    return children, Structure(structure)
