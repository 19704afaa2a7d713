"""Typed keys of JAX's (``jax.random.key(0)``) in functions that are traced.

To JAX a typed key is an array whose elements are keys. Here it is a container of one array, the
numbers of these keys (`jax.random.key_data`), and the name of their generator is part of its
structure. JAX is never imported here: without it there are no typed keys. Methods of `Key` are
interpreted like the user's own.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterator
from typing import Any


class Key:
    """A typed key, or an array of such: what traced functions have in the place of one of JAX's."""

    __slots__ = ("data", "impl")

    def __init__(self, data: Any, impl: Hashable) -> None:
        self.data = data
        self.impl = impl

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.data.shape[:-1])

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def dtype(self) -> Any:
        return sys.modules["jax"].random.key_dtype(self.impl)

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of one key, which has no axes")
        return len(self.data)

    def __getitem__(self, index: Any) -> Key:
        items = index if type(index) is tuple else (index,)
        return Key(self.data[(*items, slice(None))], self.impl)

    def __iter__(self) -> Iterator[Key]:
        return iter([self[i] for i in range(len(self))])


def is_key(x: Any) -> bool:
    """Whether an object is a typed key of JAX's, or a tracer of one."""
    if not type(x).__module__.startswith("jax."):
        return False
    jax = sys.modules["jax"]
    return isinstance(x, jax.Array) and jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key)


def split_key_array(x: Any) -> tuple[tuple[Any, ...], Hashable]:
    """The numbers of a key and the name of its generator; nothing of anything else."""
    if type(x) is Key:
        return (x.data,), x.impl
    if not is_key(x):
        return (), None
    random = sys.modules["jax"].random
    impl = random.key_impl(x)
    return (random.key_data(x),), sys.intern(impl) if type(impl) is str else impl


def joined_key(impl: Hashable, data: Any) -> Any:
    """The key of these numbers: one of JAX's if they are an array of JAX's."""
    if type(data).__module__.partition(".")[0] not in ("jax", "jaxlib"):
        return Key(data, impl)
    return sys.modules["jax"].random.wrap_key_data(data, impl=impl)


def of_jax(data: Any) -> Any:
    """The numbers of a key as an array of JAX's."""
    return sys.modules["jax"].numpy.asarray(data)
