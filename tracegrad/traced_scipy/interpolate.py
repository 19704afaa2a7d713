"""Splines of SciPy on Tensors: evaluated at traced places, and made of traced values.

A piecewise polynomial (`CubicSpline`, `PchipInterpolator`, `Akima1DInterpolator`, `PPoly`) is
evaluated by Horner's rule on the piece that a place is in, as a table of coefficients has it.

Reference: de Boor, A Practical Guide to Splines, 2001, chapter IV.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracegrad import linalg
from tracegrad.errors import ArgumentError
from tracegrad.runtime.thread_state import call
from tracegrad.tensors import array_functions as tg
from tracegrad.traced_scipy.refusals import refused

PIECEWISE = frozenset({"PPoly", "CubicSpline", "CubicHermiteSpline", "PchipInterpolator"}) | {
    "Akima1DInterpolator"
}
"""Classes of `scipy.interpolate` whose objects are tables of coefficients."""


class Spline:
    """A piecewise polynomial of traced coefficients: ``c[j]`` are those of one power.

    They have the axes ``(piece, *curves)``; the places at which it is evaluated stand at `axis`.
    """

    def __init__(self, c: Any, x: Any, extrapolate: Any = True, axis: int = 0) -> None:
        self.c = c
        self.x = x
        self.extrapolate = extrapolate
        self.axis = axis

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        return evaluated(self, x, nu, extrapolate)

    def derivative(self, nu: int = 1) -> Spline:
        """The spline of the derivative of order `nu`."""
        order = np.shape(self.c)[0] - 1
        rows = [_factor(order - j, nu) * self.c[j] for j in range(order + 1 - nu)]
        c = tg.stack(rows or [self.c[0] * 0.0])
        return Spline(c, self.x, self.extrapolate, self.axis)

    def antiderivative(self, nu: int = 1) -> Spline:
        """The spline of the integral from the first knot, taken `nu` times."""
        return self if nu == 0 else antiderivative(self).antiderivative(nu - 1)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """The integral from `a` to `b`."""
        return integral(self, a, b, extrapolate)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise refused(f"scipy.interpolate.CubicSpline.{name}")


def _factor(power: int, nu: int) -> float:
    """What differentiating a power so many times puts before it."""
    return float(np.prod(np.arange(power - nu + 1, power + 1))) if nu else 1.0


def evaluated(spline: Any, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
    """``spline(x, nu)``: the spline at x, or its derivative of order `nu`."""
    beyond = spline.extrapolate if extrapolate is None else extrapolate
    c, knots, x = tg.asarray(spline.c), tg.asarray(spline.x), tg.asarray(x)
    curves = c.ndim - 2
    wide = (..., *[None] * curves)
    first, last = knots[0], knots[-1]
    inside = None
    if isinstance(beyond, str) and beyond == "periodic":
        x = first + (x - first) % (last - first)
    elif not beyond:
        inside = (x >= first) & (x <= last)
    pieces = c.shape[1]
    piece = tg.clip(tg.searchsorted(knots, x, side="right") - 1, 0, pieces - 1)
    step = x - knots[piece]
    step = step[wide] if curves else step
    order = c.shape[0] - 1
    found: Any = None
    for j in range(order + 1 - nu):
        factor = _factor(order - j, nu)
        term = c[j][piece] if factor == 1.0 else factor * c[j][piece]
        found = term if found is None else found * step + term
    if found is None:
        found = step * 0.0 * c[0][piece] if curves else step * 0.0
    if inside is not None:
        found = tg.where(inside[wide] if curves else inside, found, np.nan)
    if spline.axis == 0:
        return found
    places = list(range(x.ndim, found.ndim))
    places[spline.axis : spline.axis] = range(x.ndim)
    return tg.permute_dims(found, places)


def _column(x: Any, like: Any) -> Any:
    """An array of one axis beside one that may have more behind it."""
    return x[(slice(None), *[None] * (like.ndim - 1))] if like.ndim > 1 else x


def antiderivative(spline: Any) -> Spline:
    """The spline of the integral from the first knot."""
    c, knots = tg.asarray(spline.c), tg.asarray(spline.x)
    order = c.shape[0] - 1
    rows = [c[j] / float(order - j + 1) for j in range(order + 1)]
    h = _column(knots[1:] - knots[:-1], c[0])
    whole: Any = rows[0]
    for row in rows[1:]:
        whole = whole * h + row
    sums = tg.cumsum(whole * h, axis=0)
    before = tg.concat([sums[:1] * 0.0, sums[:-1]])
    periodic = isinstance(spline.extrapolate, str)
    beyond = False if periodic else spline.extrapolate
    return Spline(tg.stack([*rows, before]), knots, beyond, spline.axis)


def integral(spline: Any, a: Any, b: Any, extrapolate: Any = None) -> Any:
    """``spline.integrate(a, b)``"""
    beyond = spline.extrapolate if extrapolate is None else extrapolate
    sums, a, b = antiderivative(spline), tg.asarray(a), tg.asarray(b)
    sums.axis = 0
    first, last = sums.x[0], sums.x[-1]
    if not isinstance(beyond, str):
        return evaluated(sums, b, 0, beyond) - evaluated(sums, a, 0, beyond)
    turns = [tg.floor((t - first) / (last - first)) for t in (a, b)]
    parts = [
        evaluated(sums, t - turn * (last - first), 0, True)
        for t, turn in zip((a, b), turns, strict=True)
    ]
    return parts[1] - parts[0] + (turns[1] - turns[0]) * evaluated(sums, last, 0, True)


def cubic_spline(
    x: Any, y: Any, axis: int = 0, bc_type: Any = "not-a-knot", extrapolate: Any = None
) -> Spline:
    """`scipy.interpolate.CubicSpline` of traced values, with ends "not-a-knot", "natural" or
    "clamped"."""
    if not isinstance(bc_type, str) or bc_type not in ("not-a-knot", "natural", "clamped"):
        raise refused(f"scipy.interpolate.CubicSpline with bc_type={bc_type!r}")
    x, y = tg.asarray(x), tg.asarray(y)
    n, axis = int(x.shape[0]), axis % y.ndim
    y = tg.moveaxis(y, axis, 0) if axis else y
    if n < 4:
        raise ArgumentError("CubicSpline of traced values takes four points or more")
    if n != int(y.shape[0]):
        raise ValueError(f"x has {n} points, and y has {int(y.shape[0])} along its axis {axis}")
    if bool(tg.any(x[1:] <= x[:-1])):
        raise ValueError("`x` must be strictly increasing sequence.")
    curves = y.shape[1:]
    y = tg.reshape(y, (n, -1)) if len(curves) > 1 else y
    h = x[1:] - x[:-1]
    wide = _column(h, y)
    slope = (y[1:] - y[:-1]) / wide
    matrix, right = _equations(n, h, slope, bc_type)
    d = linalg.solve(matrix, right)  # the derivatives at the knots
    extrapolate = True if extrapolate is None else extrapolate
    bend = (d[:-1] + d[1:] - 2.0 * slope) / wide
    c = tg.stack([bend / wide, (slope - d[:-1]) / wide - bend, d[:-1], y[:-1]])
    c = tg.reshape(c, (4, n - 1, *curves)) if len(curves) > 1 else c
    return Spline(c, x, extrapolate, axis)


def _equations(n: int, h: Any, slope: Any, ends: str) -> tuple[Any, Any]:
    """The linear equations of the derivatives at the knots: equal curvature on both sides."""
    wide = _column(h, slope)
    inner = 3.0 * (wide[1:] * slope[:-1] + wide[:-1] * slope[1:])
    rows = [
        _row(n, {i - 1: h[i], i: 2.0 * (h[i - 1] + h[i]), i + 1: h[i - 1]}) for i in range(1, n - 1)
    ]
    if ends == "clamped":
        first, last, low = _row(n, {0: 1.0}), _row(n, {n - 1: 1.0}), tg.zeros_like(slope[0])
        high = low
    elif ends == "natural":
        first, last = _row(n, {0: 2.0, 1: 1.0}), _row(n, {n - 2: 1.0, n - 1: 2.0})
        low, high = 3.0 * slope[0], 3.0 * slope[-1]
    else:
        both, end = h[0] + h[1], h[-1] + h[-2]
        first, last = _row(n, {0: h[1], 1: both}), _row(n, {n - 2: end, n - 1: h[-2]})
        low = ((h[0] + 2.0 * both) * h[1] * slope[0] + h[0] ** 2 * slope[1]) / both
        high = (h[-1] ** 2 * slope[-2] + (2.0 * end + h[-1]) * h[-2] * slope[-1]) / end
    right = tg.concat([tg.asarray(low)[None], inner, tg.asarray(high)[None]])
    return tg.stack([first, *rows, last]), right


def _row(n: int, entries: dict[int, Any]) -> Any:
    """A row of a matrix with these entries."""
    return tg.stack([tg.asarray(entries.get(i, 0.0)) for i in range(n)])


def linear(table: Any, x: Any) -> Any:
    """``table(x)`` of a `scipy.interpolate.interp1d` of the kind "linear"."""
    if table._kind != "linear" or np.ndim(table.y) != 1:
        raise refused("scipy.interpolate.interp1d but of the kind linear and one curve")
    knots, y, x = tg.asarray(table.x), tg.asarray(table.y), tg.asarray(x)
    below, above = x < knots[0], x > knots[-1]
    if table._extrapolate:
        piece = tg.clip(tg.searchsorted(knots, x) - 1, 0, knots.shape[0] - 2)
        low, high = knots[piece], knots[piece + 1]
        return y[piece] + (x - low) * ((y[piece + 1] - y[piece]) / (high - low))
    if table.bounds_error and (bool(tg.any(below)) or bool(tg.any(above))):
        raise ValueError("a value in x_new is outside of the interpolation range")
    found = tg.interp(x, knots, y)
    if table.bounds_error:
        return found
    low, high = table._fill_value_below, table._fill_value_above
    return tg.where(below, low, tg.where(above, high, found))


def of_object(callee: Any) -> Callable[..., Any] | None:
    """What evaluates an object of `scipy.interpolate`; None where there is nothing."""
    kind = type(callee).__name__
    if not (type(callee).__module__ or "").startswith("scipy.interpolate"):
        return None
    if kind not in PIECEWISE and kind != "interp1d":
        return None
    function = linear if kind == "interp1d" else evaluated
    return lambda *args, **kwargs: call(function, (callee, *args), kwargs)


def of_method(owner: Any, name: str) -> Callable[..., Any] | None:
    """What computes a method of such an object, which takes the object first; or None."""
    of_scipy = (type(owner).__module__ or "").startswith("scipy.interpolate")
    if not of_scipy or type(owner).__name__ not in PIECEWISE or name != "integrate":
        return None
    return lambda *args, **kwargs: call(integral, args, kwargs)


TABLE: dict[str, Callable[..., Any]] = {
    "CubicSpline": lambda *args, **kwargs: call(cubic_spline, args, kwargs)
}
