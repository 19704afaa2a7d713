"""Scaled dot-product attention: what queries attend to."""

from __future__ import annotations

from typing import Any

from tracegrad.errors import ArgumentError
from tracegrad.nn.layers import dropout
from tracegrad.ops.arguments import as_array
from tracegrad.ops.elementwise.activations import as_inexact
from tracegrad.ops.elementwise.ufuncs import where
from tracegrad.ops.linear_algebra.contractions import matmul
from tracegrad.ops.reductions.softmax import softmax
from tracegrad.ops.shape.creation import tri_of
from tracegrad.ops.shape.reshaping import length_of, matrix_transpose
from tracegrad.values.dispatch import apply_in, dtype_of, shape_of


def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    *,
    generator: Any = None,
) -> Any:
    """``softmax(query @ key.mT * scale) @ value`` (Vaswani and others, 2017).

    Parameters
    ----------
    query
        Shape ``(..., targets, features)``.
    key
        Shape ``(..., sources, features)``.
    value
        Shape ``(..., sources, value_features)``.
    attn_mask
        Shape that broadcasts to ``(..., targets, sources)``: bool, True where a target may attend,
        or numbers that are added to the scores.
    dropout_p
        The probability with which a weight is set to 0; 0 when not training.
    is_causal
        Whether each target attends only to sources at its own place and before.
    scale
        ``1 / sqrt(features)`` by default.
    generator
        As for `dropout`.

    Returns
    -------
    Shape ``(..., targets, value_features)``.
    """
    q, k, v = as_inexact(query), as_inexact(key), as_inexact(value)
    if scale is None:
        scale = length_of(q, -1) ** -0.5
    scores = matmul(q * scale, matrix_transpose(k))
    if is_causal:
        if attn_mask is not None:
            raise ArgumentError("scaled_dot_product_attention: is_causal=True has its own mask")
        targets, sources = shape_of(scores)[-2:]
        square = {"rows": targets, "columns": sources, "k": 0, "dtype": "bool"}
        scores = where(apply_in(scores, tri_of, square), scores, float("-inf"))
    elif attn_mask is not None:
        mask = as_array(attn_mask)
        bool_mask = dtype_of(mask) == "bool"
        scores = where(mask, scores, float("-inf")) if bool_mask else scores + mask
    weights = softmax(scores, axis=-1)
    return matmul(dropout(weights, dropout_p, generator=generator) if dropout_p else weights, v)
