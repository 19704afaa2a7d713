"""Samples of windows, convolution and the ops of layers and losses; see `sampling`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import special

from samples.sampling import CLOSE, REFERENCES, Draw, Sample, samples_of

CLOSE["normal_cdf"] = special.ndtr
CLOSE["logistic_loss"] = lambda x, target: (
    -(target * special.log_expit(x) + (1 - target) * special.log_expit(-x))
)


CLOSE["row_dot"] = lambda a, b: (a * b).sum(axis=-1)


@samples_of("row_dot")
def _row_dot(draw: Draw) -> Iterator[Sample]:
    if draw.dtype.kind == "f":
        for a, b in (((4,), (4,)), ((3, 5), (3, 5)), ((2, 1, 3), (4, 3)), ((2, 0), (2, 0))):
            yield Sample((draw(*a), draw(*b)), {})


def _naive_standardize(x: Any, eps: float) -> Any:
    scale = 1.0 / np.sqrt(x.var(axis=-1, keepdims=True) + eps)
    return (x - x.mean(axis=-1, keepdims=True)) * scale, scale


CLOSE["standardize"] = _naive_standardize


@samples_of("standardize")
def _standardize(draw: Draw) -> Iterator[Sample]:
    if draw.dtype.kind == "f":
        for shape in ((5,), (3, 4), (2, 3, 6), (0, 3)):
            yield Sample((draw(*shape),), {"eps": 0.01})


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


POOLS: tuple[dict[str, Any], ...] = (
    {"kernel": (2,), "stride": (1,), "dilation": (1,)},
    {"kernel": (2,), "stride": (2,), "dilation": (2,)},
    {"kernel": (2, 3), "stride": (2, 3), "dilation": (1, 1)},
    {"kernel": (2, 2), "stride": (1, 2), "dilation": (3, 1)},
)
"""Windows over axes of lengths 5 and 6."""


def _parts(x: Any, kernel: Any, stride: Any, dilation: Any) -> Any:
    """The elements of windows on one axis in front."""
    span = tuple(d * (k - 1) + 1 for k, d in zip(kernel, dilation))
    parts = _naive_windows(x, span, stride, dilation, x.ndim)
    return parts.reshape(int(np.prod(kernel)), *parts.shape[len(kernel) :])


def _numbered(x: Any, at: Any, how: dict[str, Any]) -> Any:
    """The places in the flat x of the elements of windows that have the numbers `at`."""
    places = _parts(np.arange(x.size).reshape(x.shape), **how)
    return np.take_along_axis(places, at[None].astype(int), 0)[0]


def _naive_to_largest(ct: Any, at: Any, lengths: Any, **how: Any) -> Any:
    out = np.zeros((*ct.shape[: -len(lengths)], *lengths), ct.dtype)
    np.add.at(out.reshape(-1), _numbered(out, at, how).ravel(), ct.ravel())
    return out


def _naive_to_windows(ct: Any, lengths: Any, **how: Any) -> Any:
    x = np.arange(int(np.prod((*ct.shape[: -len(lengths)], *lengths))))
    x = x.reshape(*ct.shape[: -len(lengths)], *lengths)
    out = np.zeros(x.size, ct.dtype)
    places = _parts(x, **how)
    np.add.at(out, places.ravel(), np.broadcast_to(ct, places.shape).ravel())
    return out.reshape(x.shape)


REFERENCES["max_of_windows"] = lambda x, **how: _parts(x, **how).max(axis=0)
CLOSE["to_largest"] = _naive_to_largest
REFERENCES["of_largest"] = lambda x, at, **how: x.ravel()[_numbered(x, at, how)]
REFERENCES["largest_at"] = lambda x, y, **how: _parts(x, **how).argmax(axis=0).astype("uint8")
CLOSE["sum_of_windows"] = lambda x, **how: _parts(x, **how).sum(axis=0)
CLOSE["to_windows"] = _naive_to_windows


def _images(draw: Draw) -> Iterator[tuple[Any, dict[str, Any]]]:
    for how in POOLS:
        for lead in ((), (2,), (0,)):
            yield draw(*lead, *(5, 6)[: len(how["kernel"])]), how


def _ordered(draw: Draw) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Images of numbers with an order, some with ties and with nan."""
    if draw.dtype.kind != "f":
        return
    for x, how in _images(draw):
        yield x, how
        yield np.round(x), how
    x = np.array([1.0, 2.0, np.nan, np.nan, 0.0], draw.dtype)
    yield x, POOLS[0]


@samples_of("max_of_windows")
def _max_of_windows(draw: Draw) -> Iterator[Sample]:
    if draw.dtype.kind == "f":
        for x, how in _images(draw):
            yield Sample((x,), how)


@samples_of("largest_at")
def _largest_at(draw: Draw) -> Iterator[Sample]:
    for x, how in _ordered(draw):
        yield Sample((x, _parts(x, **how).max(axis=0)), how)


@samples_of("to_largest")
def _to_largest(draw: Draw) -> Iterator[Sample]:
    for x, how in _ordered(draw):
        at = _parts(x, **how).argmax(axis=0).astype("uint8")
        lengths = x.shape[-len(how["kernel"]) :]
        yield Sample((draw(*at.shape), at), {**how, "lengths": lengths})


@samples_of("of_largest")
def _of_largest(draw: Draw) -> Iterator[Sample]:
    for x, how in _ordered(draw):
        at = _parts(x, **how).argmax(axis=0).astype("uint8")
        yield Sample((draw(*x.shape), at), how)


@samples_of("sum_of_windows")
def _sum_of_windows(draw: Draw) -> Iterator[Sample]:
    if draw.dtype.kind in "fc":
        for x, how in _images(draw):
            yield Sample((x,), how)


@samples_of("to_windows")
def _to_windows(draw: Draw) -> Iterator[Sample]:
    if draw.dtype.kind in "fc":
        for x, how in _images(draw):
            lengths = x.shape[-len(how["kernel"]) :]
            yield Sample((draw(*_parts(x, **how).shape[1:]),), {**how, "lengths": lengths})


def _geometry(draw: Draw) -> Iterator[tuple[Any, Any, dict[str, Any]]]:
    """An input, a weight and the attributes of their convolution."""
    for lengths, kernel, stride, padding, dilation, groups in (
        ((5,), (3,), (1,), ((1, 1),), (1,), 1),
        ((6,), (2,), (2,), ((0, 1),), (3,), 2),
        ((3,), (2,), (1,), ((2, 3),), (1,), 1),
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
