"""Pads arrays at the ends of their axes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import index as as_int
from typing import Any

import numpy as np

from codegen import sizes as sz
from codegen.sizes import Sizes
from codegen.spelling import Slot, Spelling, Subscript, spell
from codegen.types import ArrayType, is_inexact
from tracegrad.errors import ArgumentValueError, ShapeError
from tracegrad.ops import batching_rules
from tracegrad.ops.elementwise.ufuncs import alias, astype, rint, where
from tracegrad.ops.record import define
from tracegrad.ops.reductions.sums_and_extremes import amax, amin, mean
from tracegrad.ops.shape.creation import arange_in, bare, linspace, ones_of_shape
from tracegrad.ops.shape.indexing import getitem, scatter_into
from tracegrad.ops.shape.joining import concatenate, repeat
from tracegrad.ops.shape.memory_order import lies_as
from tracegrad.ops.shape.reshaping import (
    VIEW,
    apart_from,
    brackets,
    flip,
    length_of,
    one_axis,
)
from tracegrad.ops.shape.selection import take
from tracegrad.ops.statistics.quantiles import median
from tracegrad.values.dispatch import apply_in, dtype_of, is_number, ndim_of, shape_of

OF_LINES: dict[str, Callable[..., Any]] = {
    "mean": mean,
    "median": median,
    "maximum": amax,
    "minimum": amin,
}
MODES = ("constant", "edge", "reflect", "symmetric", "wrap")


def _width_text(pad_width: tuple[tuple[int, int], ...]) -> str:
    """The widths as one writes them: ``1`` or ``(1, 2)`` when all axes have the same."""
    before, after = pad_width[0]
    if any(pair != (before, after) for pair in pad_width):
        return repr(pad_width)
    return repr(before) if before == after else repr((before, after))


def _pad_text(attributes: Mapping[str, Any]) -> Spelling:
    width, mode = _width_text(attributes["pad_width"]), attributes["mode"]
    how = "constant_values=value" if mode == "constant" else "mode=mode"
    return spell(f"np.pad(x, {width}, {how})")


def _padded(sizes: Sizes, x: ArrayType, pad_width: Any, **_: Any) -> ArrayType:
    return ArrayType(
        x.dtype, tuple(sz.add(dim, a, b) for dim, (a, b) in zip(x.shape, pad_width, strict=True))
    )


def _pad_vjp(ct: Any, y: Any, x: Any, pad_width: Any, mode: str, value: Any) -> tuple[Any]:
    """What was copied into the margins adds up where it came from, axis by axis."""
    if mode == "constant":
        return (inner_of(ct, pad_width=pad_width),)
    shape = list(shape_of(ct))
    for axis, (pair, length) in enumerate(zip(pad_width, shape_of(x), strict=True)):
        if pair == (0, 0):
            continue
        shape[axis] = length
        source = pad_with(arange_in(ct, length), pad_width=(pair,), mode=mode, value=0)
        index = Subscript((*[slice(None)] * axis, Slot(0)))
        ct = scatter_into(
            ct, source, index=index, repeats=True, shape=tuple(shape), dtype=dtype_of(ct)
        )
    return (ct,)


pad_with = define(
    "pad",
    _pad_text,
    infer=_padded,
    vjp=_pad_vjp,
    attributes={"pad_width": ..., "mode": "constant", "value": 0},
    batch=batching_rules.per_axis("pad_width", (0, 0)),
    doc="x with margins: ``(before, after)`` for each axis.",
)


def _inner_brackets(attributes: Mapping[str, Any]) -> str:
    return brackets(
        {
            axis: f"{before or ''}:{-after or ''}"
            for axis, (before, after) in enumerate(attributes["pad_width"])
            if before or after
        }
    )


def _inner_type(sizes: Sizes, x: ArrayType, pad_width: Any) -> ArrayType:
    dims = (sz.add(dim, -a, -b) for dim, (a, b) in zip(x.shape, pad_width, strict=True))
    return ArrayType(x.dtype, tuple(dims))


inner_of = define(
    "inner_part",
    lambda attributes: spell(f"x[{_inner_brackets(attributes)}]"),
    infer=_inner_type,
    vjp=lambda ct, y, x, pad_width: (pad_with(ct, pad_width=pad_width, mode="constant", value=0),),
    attributes={"pad_width": ...},
    traits=VIEW,
    batch=batching_rules.per_axis("pad_width", (0, 0)),
    doc="x without the margins that a `pad` gave it.",
)


def _pairs(width: Any, ndim: int, name: str) -> tuple[tuple[Any, Any], ...]:
    """A number, a pair, or a pair for each axis, as a pair for each axis."""
    if isinstance(width, dict):
        given = {one_axis(axis, ndim): pair for axis, pair in width.items()}
        pairs: Any = [given.get(axis, 0) for axis in range(ndim)]
        return tuple(p if isinstance(p, tuple) else (p, p) for p in pairs)
    try:
        pairs = np.broadcast_to(np.asarray(width), (ndim, 2)).tolist()
    except ValueError:
        raise ShapeError(f"pad: {name}={width} is no pair for each of {ndim} axes") from None
    return tuple((a, b) for a, b in pairs)


def pad(
    x: Any,
    pad_width: Any,
    mode: str = "constant",
    constant_values: Any = 0,
    *,
    end_values: Any = 0,
    stat_length: Any = None,
    reflect_type: str = "even",
) -> Any:
    """`x` with margins.

    Parameters
    ----------
    pad_width
        How much, as ``np.pad`` takes it: a number, ``(before, after)``, or such a pair for each
        axis.
    mode
        What stands in the margins: "constant", "edge", "reflect", "symmetric" or "wrap"; "mean",
        "median", "maximum" or "minimum" of each line; a "linear_ramp" to the end; or anything
        ("empty": zeros).
    constant_values, end_values
        For "constant" and "linear_ramp": a number (or Tensor without axes), or ``(before, after)``
        numbers, also for each axis.
    stat_length
        How many elements, from either end, the mean and its like are of: a number or such pairs.
    reflect_type
        ``"odd"``: what is reflected is subtracted from twice the edge.
    """
    ndim = ndim_of(x)
    widths = tuple((as_int(a), as_int(b)) for a, b in _pairs(pad_width, ndim, "pad_width"))
    if any(n < 0 for pair in widths for n in pair):
        raise ShapeError(f"pad: margins cannot be negative: {pad_width}")
    if mode == "empty":
        mode, constant_values = "constant", 0
    if mode not in (*MODES, *OF_LINES, "linear_ramp"):
        known = ", ".join(map(repr, (*MODES, *OF_LINES, "linear_ramp")))
        raise ArgumentValueError(f"pad: mode={mode!r} is not one of {known}")
    if not any(n for pair in widths for n in pair):
        return apart_from(alias(x))
    if mode in OF_LINES:
        lengths = _pairs(stat_length, ndim, "stat_length")
        return lies_as(_pad_lines(x, widths, lengths, OF_LINES[mode]), x)
    if mode == "linear_ramp":
        return lies_as(_pad_ramps(x, widths, _pairs(end_values, ndim, "end_values")), x)
    if reflect_type == "odd" and mode in ("reflect", "symmetric"):
        return _pad_odd(x, widths, mode)
    if mode != "constant":
        return pad_with(x, pad_width=widths, mode=mode, value=0)
    if is_number(constant_values):
        return pad_with(x, pad_width=widths, mode=mode, value=constant_values)
    if np.ndim(getattr(constant_values, "_array", constant_values)):
        return _pad_each(x, widths, _pairs(constant_values, ndim, "constant_values"))
    inside = apply_in(x, ones_of_shape, {"shape": bare(shape_of(x)), "dtype": "bool"})
    inside, middle = (pad_with(a, pad_width=widths, mode=mode, value=0) for a in (inside, x))
    return where(inside, middle, astype(constant_values, dtype=dtype_of(x)))


def _sides(x: Any, axis: int, before: Any, after: Any) -> Any:
    """`x` with what stands before and after it along an axis (None for nothing)."""
    return concatenate([part for part in (before, x, after) if part is not None], axis)


def _line(x: Any, axis: int, start: int | None, stop: int | None) -> Any:
    return getitem(x, (*[slice(None)] * axis, slice(start, stop)))


def _pad_lines(x: Any, widths: Any, lengths: Any, of_line: Callable[..., Any]) -> Any:
    """Margins of a number of each line, or of so many elements at either end of it."""
    whole = dtype_of(x)
    for axis, (pair, counts) in enumerate(zip(widths, lengths, strict=True)):
        ends = (slice(None, counts[0]), slice(-counts[1] if counts[1] else None, None))
        margins = []
        for width, part in zip(pair, ends, strict=True):
            found = of_line(getitem(x, (*[slice(None)] * axis, part)), axis, keepdims=True)
            found = found if is_inexact(whole) else astype(rint(found), dtype=whole)
            margins.append(repeat(found, width, axis) if width else None)
        x = _sides(x, axis, *margins)
    return x


def _pad_ramps(x: Any, widths: Any, ends: Any) -> Any:
    """Margins that rise or fall evenly from an end value to the edge, which is not repeated."""
    whole = dtype_of(x)
    for axis, (pair, numbers) in enumerate(zip(widths, ends, strict=True)):
        margins = []
        for i, (width, end) in enumerate(zip(pair, numbers, strict=True)):
            edge = take(x, -1 if i else 0, axis)
            ramp = linspace(end, edge, width, endpoint=False, axis=axis)
            ramp = flip(ramp, axis) if i else ramp
            margins.append(astype(ramp, dtype=whole) if width else None)
        x = _sides(x, axis, *margins)
    return x


def _pad_odd(x: Any, widths: Any, mode: str) -> Any:
    """Margins of twice the edge less what is reflected in it."""
    for axis, (before, after) in enumerate(widths):
        least = 1 if mode == "reflect" else 0  # whether the edge is reflected itself
        most = length_of(x, axis) - least
        if max(before, after) > most:
            raise ShapeError(
                f'pad: reflect_type="odd" reflects at most {most} of {length_of(x, axis)} elements'
            )
        first, last = _line(x, axis, None, 1), _line(x, axis, -1, None)
        start, end = _line(x, axis, least, least + before), flip(x, axis)
        x = _sides(
            x,
            axis,
            2 * first - flip(start, axis) if before else None,
            2 * last - _line(end, axis, least, least + after) if after else None,
        )
    return x


def _pad_each(x: Any, widths: Any, values: Any) -> Any:
    """Margins of another number on each side of each axis; later axes fill the corners."""
    for axis, (margins, numbers) in enumerate(zip(widths, values, strict=True)):
        for pair, number in zip(((margins[0], 0), (0, margins[1])), numbers, strict=True):
            x = pad(x, {axis: pair}, constant_values=number)
    return x


__all__ = [
    "pad",
]
