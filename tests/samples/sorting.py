"""Samples of the ops on order, sets, counts and quantiles; see `sampling`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from samples.sampling import NOT_IN_JAX, REFERENCES, Draw, Sample, samples_of

SHAPES = ((5,), (4, 3), (1,), (0,), (2, 0), (2, 1, 3))


@samples_of("cummax", "cummin")
def _along_an_axis(draw: Draw) -> Iterator[Sample]:
    for shape in SHAPES:
        for axis in range(len(shape)):
            yield Sample((draw(*shape),), {"axis": axis})


@samples_of("sort", "argsort")
def _orders(draw: Draw) -> Iterator[Sample]:
    for sample in _along_an_axis(draw):
        yield sample
        yield Sample(sample.operands, {**sample.attributes, "descending": True})


def _rank(x, axis, descending):
    """The order by comparing every element with every other: ties keep their places."""
    line = np.moveaxis(x, axis, -1)
    before, after = line[..., :, None], line[..., None, :]
    earlier = np.arange(line.shape[-1])[:, None] < np.arange(line.shape[-1])[None, :]
    first = (before > after) if descending else (before < after)
    place = (first | ((before == after) & earlier)).sum(axis=-2)
    order = np.empty_like(place)
    np.put_along_axis(order, place, np.broadcast_to(np.arange(line.shape[-1]), place.shape), -1)
    return np.moveaxis(order, -1, axis)


REFERENCES["argsort"] = _rank
REFERENCES["sort"] = lambda x, axis, descending: np.take_along_axis(
    x, _rank(x, axis, descending), axis
)
REFERENCES["cummax"] = lambda x, axis: np.maximum.accumulate(x, axis=axis)
REFERENCES["cummin"] = lambda x, axis: np.minimum.accumulate(x, axis=axis)


@samples_of("place_along_axis")
def _place_along_axis(draw: Draw) -> Iterator[Sample]:
    for shape, count, axis in (((5,), 3, 0), ((4, 3), 4, 0), ((2, 3), 1, 1), ((0, 3), 2, 1)):
        many = (*shape[:axis], count, *shape[axis + 1 :])
        order = np.argsort(draw.random.random(shape), axis=axis)
        places = np.take(order, range(count), axis=axis)
        attributes = {"axis": axis, "shape": shape if len(shape) > 1 else shape[0]}
        yield Sample((draw(*many), places), {**attributes, "dtype": draw.dtype.name})


def _placed(ct, indices, axis, shape, dtype):
    out = np.zeros(shape, dtype)
    np.put_along_axis(out, indices, ct, axis)
    return out


REFERENCES["place_along_axis"] = _placed


@samples_of("increase_along")
def _increase_along(draw: Draw) -> Iterator[Sample]:
    if draw.dtype.kind == "b":
        return
    for sample in _place_along_axis(draw):
        ct, places = sample.operands
        shape = sample.attributes["shape"]
        axis = {"axis": sample.attributes["axis"]}
        yield Sample((draw(*np.atleast_1d(shape)), ct, places), axis)


def _increased(x, ct, indices, axis):
    added = np.take_along_axis(x, indices, axis) + ct
    out = x.copy()
    np.put_along_axis(out, indices, added, axis)
    return out


REFERENCES["increase_along"] = _increased


@samples_of("max", "min")
def _extremes(draw: Draw) -> Iterator[Sample]:
    for shape in ((4, 3), (3,), (), (2, 1, 3)):
        for axis in (None, *range(len(shape))):
            for keepdims in (False, True):
                yield Sample((draw(*shape),), {"axis": axis, "keepdims": keepdims})
    for axis, keepdims in ((0, False), (1, True)):
        yield Sample((draw(4, 3),), {"axis": axis, "keepdims": keepdims, "first": True})
    yield Sample((draw(2, 0),), {"axis": 0, "keepdims": False})
    yield Sample((draw(2, 3, 4),), {"axis": (0, 2), "keepdims": False})


for _name in ("max", "min"):
    REFERENCES[_name] = lambda x, axis, keepdims, initial, first, _name=_name: getattr(np, _name)(
        x, axis=axis, keepdims=keepdims, **({} if initial is None else {"initial": initial})
    )


@samples_of("nanargmax", "nanargmin")
def _places_beside_nan(draw: Draw) -> Iterator[Sample]:
    for shape in ((4, 3), (3,), (), (2, 1, 3)):
        for axis in (None, *range(len(shape))):
            for keepdims in (False, True):
                yield Sample((draw(*shape),), {"axis": axis, "keepdims": keepdims})


for _name in ("nanargmax", "nanargmin"):
    NOT_IN_JAX[_name, "complex128"] = "JAX finds no place of a complex number"


def _rising(draw: Draw, n: int) -> np.ndarray:
    return np.sort(draw(n))


@samples_of("searchsorted")
def _searchsorted(draw: Draw) -> Iterator[Sample]:
    for n, shape in ((5, (3,)), (4, (2, 3)), (3, ()), (0, (2,)), (2, (0,))):
        for side in ("left", "right"):
            yield Sample((_rising(draw, n), draw(*shape)), {"side": side})


@samples_of("digitize")
def _digitize(draw: Draw) -> Iterator[Sample]:
    if draw.dtype.kind in "bc":
        return
    for n, shape in ((5, (3,)), (4, (2, 3)), (3, ()), (2, (0,))):
        for right in (False, True):
            yield Sample((draw(*shape), _rising(draw, n)), {"right": right})
            yield Sample((draw(*shape), _rising(draw, n)[::-1].copy()), {"right": right})


@samples_of("isin")
def _isin(draw: Draw) -> Iterator[Sample]:
    for shape, n in (((5,), 3), ((2, 3), 4), ((), 2), ((0,), 2), ((3,), 0)):
        x = draw(*shape)
        values = np.concatenate([x.reshape(-1)[:1], draw(n)])
        for invert in (False, True):
            yield Sample((x, values), {"invert": invert})


@samples_of("firsts")
def _firsts(draw: Draw) -> Iterator[Sample]:
    for n in (5, 1, 0):
        x = np.sort(np.repeat(draw(n), 2))
        yield Sample((x,), {})
        yield Sample((x,), {"equal_nan": True})
        yield Sample((np.repeat(np.sort(draw(n))[:, None], 2, axis=1),), {"rows": True})
    if draw.dtype.kind == "f":
        x = np.array([1.0, 1.0, 2.0, np.nan, np.nan], draw.dtype)
        yield Sample((x,), {"equal_nan": True})
        yield Sample((x,), {})


def _first_of_each(x, rows, equal_nan):
    seen, found = [], []
    for element in x.tolist():
        key = ["nan" if equal_nan and v != v else v for v in (element if rows else [element])]
        found.append(key not in seen or key != key)
        seen.append(key)
    return np.array(found, bool)


REFERENCES["firsts"] = _first_of_each


@samples_of("bincount")
def _bincount(draw: Draw) -> Iterator[Sample]:
    if draw.dtype.kind not in "iu":
        return
    for n, length in ((7, 5), (3, 9), (0, 4)):
        yield Sample((draw.below(4, n).astype(draw.dtype),), {"length": length})


REFERENCES["bincount"] = lambda x, length: np.bincount(x, minlength=length)


@samples_of("histogram_bin_edges")
def _edges(draw: Draw) -> Iterator[Sample]:
    if draw.dtype.kind in "bc":
        return
    for shape in ((9,), (3, 4), (1,)):
        yield Sample((draw(*shape),), {"bins": 4})
    yield Sample((draw(9),), {"bins": 3, "range": (-1.0, 2.0)})


@samples_of("histogram")
def _histogram(draw: Draw) -> Iterator[Sample]:
    if draw.dtype.kind in "bc":
        return
    for shape, n in (((9,), 4), ((3, 4), 3), ((0,), 3)):
        yield Sample((draw(*shape), _rising(draw, n)), {})


REFERENCES["histogram"] = lambda x, edges: np.histogram(x, edges)[0]


@samples_of("median", "nanmedian")
def _medians(draw: Draw) -> Iterator[Sample]:
    if draw.dtype.kind != "f":
        return
    for shape in ((5,), (4,), (4, 3), (1,)):
        for axis in (None, *range(len(shape))):
            yield Sample((draw(*shape),), {"axis": axis, "keepdims": axis == 0})
    yield Sample((draw(2, 3, 4),), {"axis": (0, 2)})
    yield Sample((draw(0, 3),), {"axis": 1})


@samples_of("quantile", "nanquantile")
def _quantiles(draw: Draw) -> Iterator[Sample]:
    if draw.dtype.kind != "f":
        return
    part, parts = np.asarray(0.3, draw.dtype), np.asarray([0.3, 0.55], draw.dtype)
    for shape in ((5,), (4, 3), (1,)):
        for axis in (None, len(shape) - 1):
            yield Sample((draw(*shape), part), {"axis": axis, "keepdims": axis is None})
            yield Sample((draw(*shape), parts), {"axis": axis, "keepdims": axis is not None})
    for method in ("lower", "higher", "midpoint", "nearest"):
        yield Sample((draw(4, 3), parts), {"axis": 0, "method": method})
    yield Sample((draw(2, 3, 4), parts), {"axis": (0, 2)})
    yield Sample((draw(2, 3), parts), {"axis": 1})
