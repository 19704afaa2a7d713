"""Calls of `jax.random` with keys that are traced.

Which arguments are arrays, and what comes out, JAX is asked (`jax.eval_shape`); the op
(`tracegrad.ops.jax_random_calls`) has the rest as constants.
"""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from tracegrad.ops.arguments import as_array
from tracegrad.ops.jax_random_calls import SLOTS, record
from tracegrad.values.dispatch import dtype_of
from tracegrad.values.prng_keys import Key, is_key

Function = Callable[..., Any]


def counterpart(name: str, callee: Function, arguments: tuple[Any, ...], named: Any) -> Any:
    """What a function of `jax.random` gives for traced arguments; None where it is not known."""
    if name in _OF_KEYS:
        return _OF_KEYS[name](*arguments, **named)
    bound = dict(inspect.signature(callee).bind(*arguments, **named).arguments)
    if "key" not in bound or name in ("key", "PRNGKey"):
        return None
    data, impl, typed = _numbers(bound.pop("key"))
    if dtype_of(data) != "uint32":
        return None
    arrays, given, shape = dict[str, Any](), dict[str, Any](), bound.pop("shape", None)
    for argument, value in bound.items():
        if argument == "dtype" and value is not None:
            given[argument] = sys.modules["jax"].dtypes.canonicalize_dtype(value).name
        elif _is_literal(value):
            given[argument] = value
        else:
            arrays[argument] = as_array(value)
    if len(arrays) > len(SLOTS):
        return None
    if shape is not None:
        shape = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    result, keys = _result(callee, data, impl, arrays, given, shape)
    chooses = not keys and "dtype" not in _parameters(callee)  # of what dtype it computes
    if given.get("dtype") is None and not (chooses or keys):
        given["dtype"] = result.dtype.name
    lengths = None if shape is not None and tuple(map(int, shape)) == result.shape else result.shape
    drawn = record(len(arrays))(
        data,
        *arrays.values(),
        function=name,
        impl=impl,
        given=tuple([(k, v) for k, v in given.items() if v is not None]),
        names=tuple(arrays),
        shape=shape,
        lengths=lengths,
        keys=keys,
        dtype=result.dtype.name,
        narrow=chooses and not _has_wide_types([data, *arrays.values()]),
    )
    return Key(drawn, impl) if keys and typed else drawn


def _is_literal(value: Any) -> bool:
    """Whether a constant can stand in the source of a program."""
    if type(value) is tuple:
        return all(map(_is_literal, value))
    return type(value) in (int, bool, str, type(None)) or (
        type(value) is float and math.isfinite(value)
    )


def _numbers(key: Any) -> tuple[Any, str, bool]:
    """The numbers of a key, what makes numbers of them, and whether it is a typed key."""
    jax = sys.modules["jax"]
    if type(key) is Key:
        return key.data, sys.intern(str(key.impl)), True
    if is_key(key):
        impl = sys.intern(str(jax.random.key_impl(key)))
        return as_array(np.asarray(jax.random.key_data(key))), impl, True
    return as_array(key), str(jax.config.jax_default_prng_impl), False


def _result(
    callee: Function,
    data: Any,
    impl: str,
    arrays: Mapping[str, Any],
    given: Mapping[str, Any],
    shape: Any,
) -> tuple[Any, bool]:
    """The shape and dtype of a result, and whether it is of keys, whose numbers these are then."""
    jax = sys.modules["jax"]
    lengths = {} if shape is None else {"shape": tuple(map(int, shape))}

    def called(numbers: Any, named: Mapping[str, Any]) -> Any:
        return callee(jax.random.wrap_key_data(numbers, impl=impl), **named, **given, **lengths)

    def like(x: Any) -> Any:
        array = np.asarray(getattr(x, "_array", x))
        return jax.ShapeDtypeStruct(array.shape, array.dtype)

    shapes = (like(data), {name: like(x) for name, x in arrays.items()})
    found = jax.eval_shape(called, *shapes)
    if not jax.dtypes.issubdtype(found.dtype, jax.dtypes.prng_key):
        return found, False
    return jax.eval_shape(lambda *x: jax.random.key_data(called(*x)), *shapes), True


def _has_wide_types(operands: Sequence[Any]) -> bool:
    """Whether JAX has 64-bit types, or is given some."""
    jax = sys.modules["jax"]
    wide = jax.dtypes.canonicalize_dtype(np.float64) == np.float64
    return wide or any([dtype_of(x) in ("float64", "complex128") for x in operands])


@cache
def _parameters(callee: Function) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(callee).parameters


def _key_data(keys: Any) -> Any:
    return keys.data if type(keys) is Key else keys


def _wrap_key_data(key_bits_array: Any, *, impl: Any = None, dtype: Any = None) -> Any:
    jax = sys.modules["jax"]
    if dtype is not None:
        return None
    return Key(as_array(key_bits_array), str(impl or jax.config.jax_default_prng_impl))


def _key_impl(keys: Any) -> Any:
    return keys.impl if type(keys) is Key else None


_OF_KEYS: Mapping[str, Function] = {
    "key_data": _key_data,
    "wrap_key_data": _wrap_key_data,
    "key_impl": _key_impl,
    "clone": lambda key: key,
}
"""What is known of keys without a computation."""


def is_key_within(x: Any) -> bool:
    """Whether an argument is, or holds, a key that is traced."""
    if type(x) in (list, tuple):
        return any(map(is_key_within, x))
    return type(x) is Key
