"""The cotangent of a sum, which an eager backward does not write out.

In a program the cotangent of a sum is a number until it meets an array (``2.0 * x``, never an array
of 2.0), and the array alone decides how the result lies in memory. Sums add in the order of memory,
so an eager backward must do the same to get the same bits: what a rule repeats (`repeated`) stays
small through elementwise rules, as the optimizer has it, and is an array where another op asks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from codegen.ir import Trait
from codegen.sizes import Dim
from codegen.types import ArrayType, ShapeError, broadcast
from tracegrad.ops.shape.creation import full_of
from tracegrad.ops.shape.reshaping import (
    expand_axes,
    reshape_to,
    sizes_of,
    spread,
    squeeze_axes,
    transpose_axes,
)
from tracegrad.ops.staging import Staged
from tracegrad.values.dispatch import (
    HANDLERS,
    SIZES,
    TYPES,
    Repeated,
    apply,
    apply_in,
    is_number,
    shape_of,
    small_of,
    type_of,
)

_RESHAPING = (reshape_to, expand_axes, squeeze_axes, transpose_axes)


def repeated(x: Any, shape: tuple[Dim, ...]) -> Any:
    """`x` repeated to a shape; in a graph under construction that is a splat."""
    if type(x) is Staged:
        return spread(x, shape=shape)
    x = small_of(x)
    return _repeated(np.asarray(x)[()] if is_number(x) else x, shape)


def _repeated(small: Any, shape: tuple[Dim, ...]) -> Any:
    own = shape_of(small)
    if own == shape:
        return small
    sizes = sizes_of([small])
    if len(own) == len(shape) and all(map(sizes.equal, own, shape)):
        return small
    return Repeated(small, shape)


def written_out(x: Any) -> Any:
    """The value itself, of one that is only repeated: an array in C order, as in programs."""
    return full_of(x.small, shape=x.shape, dtype=None) if type(x) is Repeated else x


def _apply(like: Any, op: Any, operands: Sequence[Any], attributes: Mapping[str, Any]) -> Any:
    """One op on operands of which some are repeated: on the small ones where that is the same."""
    if Repeated not in map(type, operands):  # an op of numbers or of nothing, beside `like`
        return apply_in(like.small, op, attributes, *operands)
    shape = _whole_shape(operands) if Trait.ELEMENTWISE in op.traits else None
    if shape is not None:
        return _repeated(apply(op, list(map(small_of, operands)), attributes), shape)
    first = operands[0]
    if op in _RESHAPING and type(first) is Repeated and not shape_of(first.small):
        of = op.infer(sizes_of([first.small]), type_of(first), **attributes)
        return _repeated(first.small, of.shape)
    return apply(op, [written_out(x) for x in operands], attributes)


def _whole_shape(operands: Sequence[Any]) -> tuple[Dim, ...] | None:
    """The shape to which the operands broadcast together.

    None where an array of known lengths, that a trace has not met yet, is beside free ones.
    """
    shapes = [shape_of(x) for x in operands if not is_number(x)]
    try:
        return broadcast(sizes_of(list(map(small_of, operands))), shapes)
    except ShapeError:
        return None


HANDLERS[Repeated] = _apply
TYPES[Repeated] = lambda x: ArrayType(type_of(x.small).dtype, tuple(x.shape))
SIZES[Repeated] = lambda x: sizes_of([x.small])
