"""Samples of windows, convolution and the ops of layers and losses; see `sampling`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import special

from samples.sampling import CLOSE, NOT_IN_JAX, REFERENCES, Draw, Sample, samples_of

CLOSE["normal_cdf"] = special.ndtr
CLOSE["logistic_loss"] = lambda x, target: (
    -(target * special.log_expit(x) + (1 - target) * special.log_expit(-x))
)
REFERENCES["first_max"] = lambda x: np.max(x, axis=0)


@samples_of("first_max")
def _first_max(draw: Draw) -> Iterator[Sample]:
    if draw.dtype.kind != "c":  # which have no order
        for shape in ((4,), (3, 2, 5), (1, 2), (2, 0)):
            yield Sample((draw(*shape),), {})


@samples_of("first_of_largest")
def _first_of_largest(draw: Draw) -> Iterator[Sample]:
    if draw.dtype.kind != "c":
        for shape in ((4,), (3, 2, 5), (1, 2), (2, 0)):
            x = draw(*shape)
            x = np.round(x) if x.dtype.kind == "f" else x  # with ties
            yield Sample((x, x.max(axis=0)), {})
    if draw.dtype.kind == "f":
        x = np.array([[1.0, np.nan], [1.0, np.nan], [0.0, 2.0]], draw.dtype)
        yield Sample((x, x.max(axis=0)), {})


def _first_place(x: Any, y: Any) -> Any:
    places = np.zeros(x.shape, bool)
    np.put_along_axis(places, x.argmax(axis=0)[None], True, 0)
    return places


REFERENCES["first_of_largest"] = _first_place


WINDOWS: tuple[dict[str, Any], ...] = (
    {"span": (2,), "stride": (1,), "dilation": (1,)},
    {"span": (3,), "stride": (2,), "dilation": (2,)},
    {"span": (2, 3), "stride": (1, 2), "dilation": (1, 1)},
    {"span": (3, 2), "stride": (2, 1), "dilation": (2, 1)},
)
"""Windows over axes of lengths 5 and 6."""


def _naive_windows(x: Any, span: Any, stride: Any, dilation: Any, ndim: int) -> Any:
    """Element by element."""
    n = len(span)
    kernel = [-(-s // d) for s, d in zip(span, dilation)]
    places = [(m - s) // step + 1 for m, s, step in zip(x.shape[-n:], span, stride)]
    out = np.empty((*kernel, *x.shape[:-n], *places), x.dtype)
    for k in np.ndindex(*kernel):
        for p in np.ndindex(*places):
            at = tuple(i * d + j * s for i, d, j, s in zip(k, dilation, p, stride))
            out[(*k, ..., *p)] = x[(..., *at)]
    return out


def _naive_sum(x: Any, lengths: Any, span: Any, stride: Any, dilation: Any) -> Any:
    n = len(span)
    out = np.zeros((*x.shape[n:-n], *lengths), x.dtype)
    for k in np.ndindex(*x.shape[:n]):
        for p in np.ndindex(*x.shape[-n:]):
            at = tuple(i * d + j * s for i, d, j, s in zip(k, dilation, p, stride))
            out[(..., *at)] += x[(*k, ..., *p)]
    return out


REFERENCES["windows"] = _naive_windows
CLOSE["overlap_add"] = _naive_sum


@samples_of("windows")
def _windows(draw: Draw) -> Iterator[Sample]:
    for how in WINDOWS:
        for lead in ((), (2,), (0,)):
            x = draw(*lead, *(5, 6)[: len(how["span"])])
            yield Sample((x,), {**how, "ndim": x.ndim})


@samples_of("overlap_add")
def _overlap_add(draw: Draw) -> Iterator[Sample]:
    for how in WINDOWS if draw.dtype.kind != "b" else ():
        for lead in ((), (2,), (0,)):
            lengths = (5, 6)[: len(how["span"])]
            x = np.zeros((*lead, *lengths))
            shape = _naive_windows(x, **how, ndim=x.ndim).shape
            yield Sample((draw(*shape),), {**how, "lengths": lengths})


def _geometry(draw: Draw) -> Iterator[tuple[Any, Any, dict[str, Any]]]:
    """An input, a weight and the attributes of their convolution."""
    for lengths, kernel, stride, padding, dilation, groups in (
        ((5,), (3,), (1,), ((1, 1),), (1,), 1),
        ((6,), (2,), (2,), ((0, 1),), (3,), 2),
        ((4, 5), (3, 2), (1, 1), ((0, 0), (0, 0)), (1, 1), 1),
        ((5, 4), (2, 2), (2, 1), ((1, 0), (2, 1)), (1, 2), 2),
        ((3, 2, 4), (2, 1, 3), (1, 1, 2), ((0, 0), (1, 1), (1, 1)), (1, 1, 1), 1),
    ):
        span = tuple(d * (k - 1) + 1 for k, d in zip(kernel, dilation))
        how = {"span": span, "stride": stride, "padding": padding, "dilation": dilation}
        x, w = draw(2, 2 * groups, *lengths), draw(2 * groups, 2, *kernel)
        yield x, w, {**how, "groups": groups}
        if groups == 1 and len(lengths) < 3:
            yield draw(0, 2, *lengths), w, {**how, "groups": 1}


def _naive_conv(x: Any, w: Any, span: Any, stride: Any, padding: Any, dilation: Any, groups: int):
    """Element by element, from the definition."""
    x = np.pad(x, ((0, 0), (0, 0), *padding))
    places = [(m - s) // step + 1 for m, s, step in zip(x.shape[2:], span, stride)]
    out = np.zeros((x.shape[0], w.shape[0], *places), np.result_type(x, w))
    of_group, into_group = w.shape[1], w.shape[0] // groups
    for o in range(w.shape[0]):
        first = o // into_group * of_group
        for p in np.ndindex(*places):
            for k in np.ndindex(*w.shape[2:]):
                at = tuple(j * s + i * d for j, s, i, d in zip(p, stride, k, dilation))
                values = x[(slice(None), slice(first, first + of_group), *at)]
                out[(slice(None), o, *p)] += values @ w[(o, slice(None), *k)]
    return out


def _transpose_in(which: int, shape: Any, other: Any, ct: Any, how: dict[str, Any]) -> Any:
    """A transpose of the definition, one unit vector after the other."""
    found = np.zeros(shape, np.result_type(ct, other))
    for place in np.ndindex(*shape):
        unit = np.zeros(shape)
        unit[place] = 1.0
        x, w = (unit, other) if which == 0 else (other, unit)
        found[place] = np.sum(_naive_conv(x, w, **how) * ct)
    return found


def _naive_conv_input(ct: Any, w: Any, lengths: Any, **how: Any) -> Any:
    inner = [n - a - b for n, (a, b) in zip(lengths, how["padding"])]
    return _transpose_in(0, (len(ct), how["groups"] * w.shape[1], *inner), w, ct, how)


def _naive_conv_weight(x: Any, ct: Any, **how: Any) -> Any:
    kernel = [-(-s // d) for s, d in zip(how["span"], how["dilation"])]
    return _transpose_in(1, (ct.shape[1], x.shape[1] // how["groups"], *kernel), x, ct, how)


CLOSE["conv"] = _naive_conv
CLOSE["conv_input"] = _naive_conv_input
CLOSE["conv_weight"] = _naive_conv_weight


@samples_of("conv")
def _conv(draw: Draw) -> Iterator[Sample]:
    if draw.dtype.kind in "fc":
        for x, w, how in _geometry(draw):
            yield Sample((x, w), how)


@samples_of("conv_input")
def _conv_input(draw: Draw) -> Iterator[Sample]:
    if draw.dtype.kind in "fc":
        for x, w, how in _geometry(draw):
            ct = draw(*_naive_conv(x, w, **how).shape)
            lengths = tuple(n + a + b for n, (a, b) in zip(x.shape[2:], how["padding"]))
            yield Sample((ct, w), {**how, "lengths": lengths})


@samples_of("conv_weight")
def _conv_weight(draw: Draw) -> Iterator[Sample]:
    if draw.dtype.kind in "fc":
        for x, w, how in _geometry(draw):
            yield Sample((x, draw(*_naive_conv(x, w, **how).shape)), how)


for _name in ("conv", "conv_input", "conv_weight"):
    NOT_IN_JAX[_name, "complex128"] = "XLA's convolutions of complex numbers are not exact enough"
