"""Functions of `jax.random` that are called with a key that is traced.

Programs call them by their names, on the numbers of the key; in programs for NumPy they run in JAX
as well. No public function is one of these ops.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from codegen.sizes import Sizes
from codegen.spelling import Spelling, spell
from codegen.types import ArrayType, is_inexact
from tracegrad.ops.program_functions import needs
from tracegrad.ops.record import OpRecord
from tracegrad.ops.special_cotangents import Undefined
from tracegrad.values.dispatch import type_of


def drawn_from_key(function, impl, given, names, shape, key, *arrays):
    """What a function of `jax.random` gives for a key, as an array of NumPy's."""
    named = {**dict(given), **dict(zip(names, arrays))}
    named |= {} if shape is None else {"shape": shape}
    with jax.ensure_compile_time_eval():  # noqa: F821
        key = jax.random.wrap_key_data(key, impl=impl)  # noqa: F821
        found = getattr(jax.random, function)(key, **named)  # noqa: F821
        if jax.dtypes.issubdtype(found.dtype, jax.dtypes.prng_key):  # noqa: F821
            found = jax.random.key_data(found)  # noqa: F821
    return np.array(found)[()]


def in_32_bits_jax(function, *operands, **named):
    """A function of JAX's that chooses a dtype by itself, as it does without 64-bit types."""
    with jax.enable_x64(False):  # noqa: F821
        return function(*operands, **named)


SLOTS = ("a", "b", "c", "d")
"""What arrays beside the key are called, as many as a call may have."""


def _in_numpy(attributes: Mapping[str, Any]) -> Spelling:
    arrays = "".join([f", {slot}" for slot in SLOTS[: len(attributes["names"])]])
    return spell(f"drawn_from_key(function, impl, given, names, shape, key{arrays})")


def _in_jax(attributes: Mapping[str, Any]) -> Spelling:
    names, given = attributes["names"], attributes["given"]
    shown = [f"jax.random.wrap_key_data(key, impl={attributes['impl']!r})"]
    shown += [f"{name}={value!r}" for name, value in given]
    shown += [f"{name}={slot}" for name, slot in zip(names, SLOTS, strict=False)]
    shown += [] if attributes["shape"] is None else ["shape=shape"]
    called = f"jax.random.{attributes['function']}"
    if attributes["narrow"]:
        return spell(f"in_32_bits({called}, {', '.join(shown)})")
    text = f"{called}({', '.join(shown)})"
    return spell(f"jax.random.key_data({text})" if attributes["keys"] else text)


def _type(
    sizes: Sizes, *operands: ArrayType, shape: Any, lengths: Any, dtype: str, **_: Any
) -> ArrayType:
    return ArrayType(dtype, shape if lengths is None else lengths)


def _vjp(
    ct: Any, y: Any, *operands: Any, function: str, names: tuple[str, ...], dtype: str, **_: Any
) -> tuple[Any, ...]:
    if not (names and is_inexact(dtype)):
        return (None,) * len(operands)
    refused = Undefined(
        f"jax.random.{function}: numbers drawn have no derivative in {', '.join(names)} here: draw "
        "with constants, and shift and scale the numbers, or pass tg.stop_gradient(...)"
    )
    return (None, *[refused if is_inexact(type_of(x).dtype) else None for x in operands[1:]])


@cache
def record(count: int) -> OpRecord:
    """The op of a key and so many arrays."""
    names = ("function", "impl", "given", "names", "shape", "lengths", "keys", "dtype", "narrow")
    return OpRecord(
        name="jax_random",
        operands=("key", *SLOTS[:count]),
        infer=_type,
        spelling={"numpy": _in_numpy, "jax": _in_jax},
        attributes=dict.fromkeys(names, ...),
        needs=needs(("import jax", drawn_from_key), (in_32_bits_jax,)),
        vjp=_vjp,
        doc="What a function of `jax.random` gives for a key.",
    )
