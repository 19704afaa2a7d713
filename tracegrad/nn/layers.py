"""Linear maps, embeddings and dropout."""

from __future__ import annotations

from operator import index as as_int
from typing import Any

from codegen.types import is_inexact, kind
from tracegrad.errors import ArgumentError
from tracegrad.ops.arguments import as_array
from tracegrad.ops.elementwise.activations import as_inexact
from tracegrad.ops.elementwise.ufuncs import alias, astype, equal, stop_gradient, where
from tracegrad.ops.linear_algebra.contractions import matmul
from tracegrad.ops.shape.creation import arange_of, zeros_in
from tracegrad.ops.shape.indexing import getitem
from tracegrad.ops.shape.reshaping import expand_axes, transpose
from tracegrad.random import Generator, keep_mask
from tracegrad.values.dispatch import apply_in, dtype_of, ndim_of, shape_of


def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """``input @ weight.T + bias``.

    Shapes: input ``(..., in_features)``, weight ``(out_features, in_features)``, bias
    ``(out_features,)`` or None.
    """
    y = matmul(as_array(input), transpose(as_array(weight)))
    return y if bias is None else y + as_array(bias)


def embedding(input: Any, weight: Any, padding_idx: int | None = None) -> Any:
    """The rows of `weight` at the integers in `input`.

    Shapes: input ``(...)``, weight ``(entries, features)``, result ``(..., features)``. The row
    `padding_idx` gets no gradient.
    """
    index, table = as_array(input), as_array(weight)
    if kind(dtype_of(index)) != "int":
        raise ArgumentError(f"embedding: the input has dtype {dtype_of(index)} and needs integers")
    rows = getitem(table, index)
    if padding_idx is None:
        return rows
    fixed = stop_gradient(getitem(table, as_int(padding_idx)))
    return where(expand_axes(index == padding_idx, axis=ndim_of(index)), fixed, rows)


def one_hot(tensor: Any, num_classes: int = -1) -> Any:
    """For each integer k a row of zeros with 1 at place k, as integers.

    Shapes: tensor ``(...)``, result ``(..., num_classes)``; without `num_classes` as many as the
    largest integer needs.
    """
    index = as_array(tensor)
    if kind(dtype_of(index)) != "int":
        raise ArgumentError(f"one_hot: dtype {dtype_of(index)}: classes are integers")
    if num_classes == -1:
        num_classes = int(index.max()) + 1
    spacing = {"start": 0, "stop": as_int(num_classes), "step": 1, "dtype": None}
    classes = apply_in(index, arange_of, spacing)
    return astype(equal(expand_axes(index, axis=ndim_of(index)), classes), dtype="int64")


def dropout(
    input: Any, p: float = 0.5, training: bool = True, generator: Generator | None = None
) -> Any:
    """`input` with each element set to 0 with probability `p`, the others over ``1 - p``.

    Parameters
    ----------
    generator
        Where the noise comes from: a `tg.random.Generator`; by default the one of `tg.rand`.
        Compiled functions draw anew on every call, as eager ones do.
    """
    x = as_inexact(input)
    if not 0 <= p <= 1:
        raise ArgumentError(f"dropout: p={p} is no probability")
    if not training or p == 0:
        return alias(x)
    if p == 1:
        return x * zeros_in(x, shape_of(x), dtype_of(x))
    assert is_inexact(dtype_of(x))
    kept = keep_mask(x, p, generator)
    return where(kept, x * (1.0 / (1.0 - p)), 0.0)
