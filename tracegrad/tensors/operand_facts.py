"""What ops know of Tensors among their operands: their types, their lengths, and which they are."""

from __future__ import annotations

from codegen.ir import dims_of
from codegen.sizes import Dim
from codegen.types import ArrayType, weak_of
from tracegrad.ops.staging import length_in
from tracegrad.runtime.values_in_traces import in_trace
from tracegrad.tensors.tensor import Tensor
from tracegrad.values.dispatch import IDENTITIES, LENGTHS, SIZES, TYPES, array_type, is_number


def _type(x: Tensor) -> ArrayType:
    traced = in_trace(x)
    if traced is not None:
        type_: ArrayType = traced[1].type
        return type_.with_shape(dims_of(traced[0].sizes, type_)) if type_.shape else type_
    return weak_of(x._array) if is_number(x._array) else array_type(x._array)


def _length(x: Tensor) -> Dim | None:
    traced = in_trace(x)
    return None if traced is None else length_in(traced[0].builder.producer.get(traced[1]))


def install_facts() -> None:
    """Tells what of Tensors an op asks for."""
    TYPES[Tensor] = _type
    LENGTHS[Tensor] = _length
    SIZES[Tensor] = lambda x: None if (traced := in_trace(x)) is None else traced[0].sizes
    IDENTITIES[Tensor] = lambda x: x._array if (traced := in_trace(x)) is None else traced[1]
