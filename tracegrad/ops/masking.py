"""Elements of an array at one side of a mask, exact zeros at the other.

Where cotangents flow into the branches of a choice, one of the two values is 0. ``np.where`` asks
for every element which it is, and a processor guesses the answer: masks without a pattern cost ten
times what an addition costs. The sign bits of a mask are ones or zeros throughout, and "and" with
them keeps a number or makes it 0.0, with nothing to guess and to the same bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from codegen.ir import Trait
from codegen.sizes import Sizes
from codegen.types import ArrayType, broadcast, promote, weak
from tracegrad.ops.program_functions import needs
from tracegrad.ops.record import OpRecord, define
from tracegrad.ops.special_cotangents import Masked

# Run here for its own kernel, read as source for programs, where `np` is known.


def zero_outside(mask, x):
    """``np.where(mask, x, 0.0)`` for many elements: their bits, and all ones or all zeros."""
    if np.size(mask) < 4096:
        return np.where(mask, x, 0.0)
    ones = (-mask.view("i1")).astype(f"i{x.itemsize}")
    out = ones if ones.strides == x.strides and ones.shape == x.shape else None
    return np.bitwise_and(ones, x.view(ones.dtype), out=out).view(x.dtype)


def zero_inside(mask, x):
    """``np.where(mask, 0.0, x)`` for many elements: their bits, and all ones or all zeros."""
    if np.size(mask) < 4096:
        return np.where(mask, 0.0, x)
    ones = (mask.view("i1") - 1).astype(f"i{x.itemsize}")
    out = ones if ones.strides == x.strides and ones.shape == x.shape else None
    return np.bitwise_and(ones, x.view(ones.dtype), out=out).view(x.dtype)


def zero_and_halve(x, zero, half):
    """x, but 0.0 where `zero` is true, and half of it where `half` is, which is rarely."""
    if half.any() or half.shape != x.shape:
        x = np.where(half, 0.5 * x, x)
    return zero_inside(zero, x)


def _masked_type(sizes: Sizes, mask: ArrayType, x: ArrayType) -> ArrayType:
    dtype, _ = promote((x, weak("float")))
    return ArrayType(dtype, broadcast(sizes, [mask.shape, x.shape]))


def _zeroing(name: str, function: Any, jax: str, keep: bool) -> OpRecord:
    return define(
        name,
        f"{function.__name__}(mask, x)",
        jax=jax,
        operands="mask x",
        infer=_masked_type,
        vjp=lambda ct, y, mask, x: (None, Masked(ct, mask, keep)),
        traits=(Trait.ELEMENTWISE,),
        needs=needs((function,)),
        scratch=0,
        domain="masked",
        doc=f"{'x' if keep else '0'} where a mask is true, else {'0' if keep else 'x'}.",
    )


keep_where = _zeroing("keep_where", zero_outside, "jnp.where(mask, x, 0.0)", True)
zero_where = _zeroing("zero_where", zero_inside, "jnp.where(mask, 0.0, x)", False)
