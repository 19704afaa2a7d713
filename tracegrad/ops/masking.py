"""An array and a mask enter, the array with zeros where the mask is False leaves.

`np.where` decides element by element, and a processor that cannot foresee the signs of activations
waits at each: 4 ns an element, against 0.2 ns for a product. A product with 0 is not 0 for infinity
and NaN; a product of the bits, as an integer, is.
"""

from __future__ import annotations

from typing import Any

from codegen.sizes import Sizes
from codegen.types import ArrayType, broadcast
from tracegrad.ops.record import OpRecord, define
from tracegrad.ops.windows import needs


def masked(x, mask):
    """x where the mask is True, else 0.0; in integers, so that nothing waits for the mask."""
    return (x.view(f"u{x.itemsize}") * mask).view(x.dtype)


def _masked_type(sizes: Sizes, mask: ArrayType, x: ArrayType) -> ArrayType:
    return ArrayType(x.dtype, broadcast(sizes, [x.shape, mask.shape]))


def _masked_vjp(ct: Any, y: Any, mask: Any, x: Any) -> tuple[None, Any]:
    return None, masked_by(mask, ct)


masked_by: OpRecord = define(
    "masked",
    "masked(x, mask)",
    jax="jnp.where(mask, x, 0.0)",
    operands="mask x",
    infer=_masked_type,
    vjp=_masked_vjp,
    needs=needs((masked,)),
    doc="x where the mask is True, else exactly 0, of arrays of real floating dtype.",
)
