"""Indices in programs for JAX, which has no slices between numbers that are not known yet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from codegen.spelling import Spelling, Subscript, spell
from tracegrad.ops.index_bounds import may_be_whole
from tracegrad.ops.program_functions import apart_in_xla, needs


def part_at_jax(x, firsts, spans, axes):
    """The part of x that begins at these places along axes, and spans so many there."""
    for first, span, axis in zip(firsts, spans, axes):
        x = jax.lax.dynamic_slice_in_dim(x, first, span, axis)  # noqa: F821
    return x


def with_part_jax(x, value, firsts, spans, axes):
    """x with a value in that part."""
    at, shape = [0] * x.ndim, list(x.shape)
    for first, span, axis in zip(firsts, spans, axes):
        at[axis], shape[axis] = first, span
    value = jnp.asarray(value, dtype=x.dtype)  # noqa: F821
    value = jnp.broadcast_to(value.reshape(value.shape[-x.ndim :]), shape)  # noqa: F821
    return jax.lax.dynamic_update_slice(x, value, at)  # noqa: F821


FUNCTIONS = (part_at_jax, with_part_jax)
READING, WRITING = needs(jax=FUNCTIONS[:1]), needs(jax=FUNCTIONS)


def read(attributes: Mapping[str, Any]) -> Spelling:
    """How ``x[index]`` is spelled."""
    index = attributes["index"]
    if not index.windows:
        return spell("x[index]")
    text = f"part_at(x, index_firsts, counts, {index.window_axes})"
    return spell(text if _is_plain(index) else f"{text}[index_within]")


def written(x: str, put: str) -> Callable[[Mapping[str, Any]], Spelling]:
    """How something is put into `x` at an index, which may be the whole array."""

    def text(attributes: Mapping[str, Any]) -> Spelling:
        index = attributes["index"]
        if not index.windows:
            changed = f"{x}.at[index].{put}"
            return spell(apart_in_xla(changed) if may_be_whole(index) else changed)
        where = f"index_firsts, counts, {index.window_axes}"
        value = f"part_at({x}, {where}).at[index_within].{put}"
        if _is_plain(index) and put.startswith("set("):
            value = put.removeprefix("set(").removesuffix(")")
        return spell(f"with_part({x}, {value}, {where})")

    return text


def _is_plain(index: Subscript) -> bool:
    """Whether all that lies in the windows is taken as it is."""
    return all(item is Ellipsis or item == slice(None) for item in index.within_windows.items)
