"""Random numbers, and further keys, that a key alone decides.

A key is two uint32. Numbers are those of `jax.random` for the same key (its generator
``threefry2x32``, partitionable, JAX's default since 0.5), in NumPy as in JAX, to the last bit where
they are spread evenly. The cipher is Threefry-2x32 of 20 rounds (Salmon et al., Parallel random
numbers: as easy as 1, 2, 3, SC 2011). No public function is one of these ops.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from codegen.sizes import Sizes
from codegen.spelling import spell
from codegen.types import ArrayType
from tracegrad.ops.program_functions import needs
from tracegrad.ops.record import OpRecord


def threefry(key, count):
    """Two arrays of 32 random bits for each 64-bit number."""
    keys = [key[:1], key[1:], key[:1] ^ key[1:] ^ np.uint32(0x1BD11BDA)]
    a, b = (count >> np.uint64(32)).astype(np.uint32), count.astype(np.uint32)
    a, b = a + keys[0], b + keys[1]
    for i in range(5):
        for turn in ((13, 15, 26, 6), (17, 29, 16, 24))[i % 2]:
            a = a + b
            b = a ^ ((b << np.uint32(turn)) | (b >> np.uint32(32 - turn)))
        a = a + keys[(i + 1) % 3]
        b = b + keys[(i + 2) % 3] + np.full(1, i + 1, np.uint32)
    return a, b


def spread_evenly(key, shape, dtype):
    """Numbers in [0, 1), from the upper bits of random ones."""
    a, b = threefry(key, np.arange(np.prod(shape, dtype=int), dtype=np.uint64))
    if np.dtype(dtype) == "float64":
        bits = (a.astype(np.uint64) << np.uint64(32)) | b
        bits = (bits >> np.uint64(12)) | np.uint64(0x3FF0000000000000)
    else:
        bits = ((a ^ b) >> np.uint32(9)) | np.uint32(0x3F800000)
    return (bits.view(dtype) - np.ones(1, dtype)).reshape(shape)[()]


def split_key(key):
    """Two keys of one."""
    return np.stack(threefry(key, np.arange(2, dtype=np.uint64)), axis=-1)


def spread_evenly_jax(key, shape, dtype):
    """Numbers in [0, 1)."""
    key = jax.random.wrap_key_data(key, impl="threefry2x32")  # noqa: F821
    return jax.random.uniform(key, shape, dtype)  # noqa: F821


def split_key_jax(key):
    """Two keys of one."""
    key = jax.random.wrap_key_data(key, impl="threefry2x32")  # noqa: F821
    return jax.random.key_data(jax.random.split(key))  # noqa: F821


def _spread_type(sizes: Sizes, key: ArrayType, *, shape: Any, dtype: str) -> ArrayType:
    return ArrayType(dtype, shape)


split = OpRecord(
    name="split_key",
    operands=("key",),
    infer=lambda sizes, key: ArrayType("uint32", (2, 2)),
    spelling={target: spell("split_key(key)") for target in ("numpy", "jax")},
    needs=needs((threefry, split_key), (split_key_jax,)),
    differentiable=False,
    doc="Two keys, of which numbers have nothing to do with each other.",
)
spread = OpRecord(
    name="spread_evenly",
    operands=("key",),
    infer=_spread_type,
    spelling={target: spell("spread_evenly(key, shape, dtype)") for target in ("numpy", "jax")},
    attributes={"shape": ..., "dtype": ...},
    needs=needs((threefry, spread_evenly), (spread_evenly_jax,)),
    differentiable=False,
    doc="Numbers spread evenly over [0, 1) that a key stands for.",
)
