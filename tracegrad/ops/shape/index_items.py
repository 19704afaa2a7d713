"""Items of an index: its arrays, its masks, and how many places these pick."""

from __future__ import annotations

from typing import Any

import numpy as np

from codegen.sizes import Dim
from tracegrad.ops.shape.creation import LITERAL, array_of, nested, new
from tracegrad.ops.shape.reshaping import expand_axes, one_or_many
from tracegrad.runtime.thread_state import STATE
from tracegrad.values.dispatch import HANDLERS, dtype_of, ndim_of
from tracegrad.values.pandas_columns import numbers_of


def array_of_item(item: Any) -> Any:
    """An array of ints or a mask that is an item of an index."""
    if isinstance(item, list | tuple):
        parts = [int(part) if hasattr(part, "_traced") else part for part in item]
        item = _literal(np.asarray(parts))
    elif isinstance(item, bool | np.bool_):
        item = np.asarray(item)
    try:
        dtype = dtype_of(item)
    except (TypeError, ValueError):
        dtype = type(item).__name__
    if dtype != "bool" and "int" not in dtype:
        raise IndexError(
            "only ints, slices, ..., None and arrays of ints or bool are indices, not "
            f"{dtype}{': take .astype(int) of it' if 'float' in dtype else ''}"
        )
    return item


def _literal(array: np.ndarray) -> Any:
    """A list that stands in an index: written into the program when short."""
    if array.size == 0 and array.dtype == np.float64:
        array = array.astype(np.intp)
    if STATE.trace is None or array.size > LITERAL or array.dtype.kind not in "bi":
        return array
    return new(array_of, values=nested(array.tolist()), dtype=array.dtype.name)


def count_true(mask: Any, x: Any = None, is_length: bool = True) -> Dim:
    """How many elements of `mask` are not 0: a length, while tracing one of each call.

    `x` is what the mask selects from; where neither is a Tensor nothing is being traced.
    """
    array = getattr(mask, "_array", mask)
    if not (_is_recorded(mask) or (_is_recorded(x) and np.ndim(array))):
        return int(np.count_nonzero(array))
    trace, mask = STATE.trace, mask if dtype_of(mask) == "bool" else mask != 0
    size: Dim = trace.count_true(trace.lift(mask, trace.origin()), array, is_length)
    return size


def _is_recorded(*operands: Any) -> bool:
    """Whether an op on these goes into the trace in progress."""
    return STATE.trace is not None and any(hasattr(x, "_traced") for x in operands)


def has_static_lengths(*operands: Any) -> bool:
    """Whether these are recorded for a target that must know every length beforehand."""
    return _is_recorded(*operands) and STATE.trace.static_lengths


def with_axes_for_masks(x: Any, key: Any) -> tuple[Any, Any, list[int]]:
    """An array and an index, where masks without axes are the place 0 of a new axis, or none.

    A target that must know every length beforehand takes no such mask; the new axes are told.
    """
    items = key if isinstance(key, tuple) else (key,)
    if not has_static_lengths(x, *items) or not any(map(_is_without_axes, items)):
        return x, key, []
    widths = [_axes_of_item(item) for item in items]
    rest = ndim_of(x) - sum(widths)
    shown: list[Any] = []
    axes: list[int] = []
    at = 0
    for item, taken in zip(items, widths, strict=True):
        if _is_without_axes(item):
            count: Any = count_true(array_of_item(item), x)
            axes.append(at)
            shown.append([0] * count)
            at += 1
        else:
            shown.append(item)
            at += rest if item is Ellipsis else taken
    return expand_axes(x, axis=one_or_many(tuple(axes))), tuple(shown), axes


def _is_without_axes(item: Any) -> bool:
    """Whether an item of an index is a mask without axes."""
    array = type(item) in HANDLERS or isinstance(item, np.ndarray | np.generic)
    return type(item) is bool or (array and dtype_of(item) == "bool" and ndim_of(item) == 0)


def _axes_of_item(item: Any) -> int:
    """How many axes an item of an index takes; an Ellipsis takes the rest."""
    if item is None or item is Ellipsis or _is_without_axes(item):
        return 0
    if isinstance(item, slice | int | np.integer):
        return 1
    array = array_of_item(numbers_of(item))
    return ndim_of(array) if dtype_of(array) == "bool" else 1
