"""Samples of the ops on shapes, indices, reductions and products; see `sampling`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from codegen.spelling import Slot, Subscript
from samples.sampling import CLOSE, GENERATORS, REFERENCES, Draw, Generator, Sample, samples_of


def _axes(draw: Draw, *shapes: tuple[int, ...]) -> Iterator[tuple[np.ndarray, Any]]:
    for shape in shapes:
        for axis in (None, *range(len(shape))):
            yield draw(*shape), axis


@samples_of("sum", "mean", "prod", "any", "all", "norm")
def _reductions(draw: Draw) -> Iterator[Sample]:
    for x, axis in _axes(draw, (4, 3), (3,), (), (0, 3), (2, 1, 3)):
        for keepdims in (False, True):
            yield Sample((x,), {"axis": axis, "keepdims": keepdims})
    yield Sample((draw(2, 3, 4),), {"axis": (0, 2), "keepdims": False})
    yield Sample((draw(2, 3, 4),), {"axis": (1, 2), "keepdims": True})


@samples_of("over_weights")
def _sums_over_weights(draw: Draw) -> Iterator[Sample]:
    for shape in ((3,), (2, 3), (), (0,)):
        weight = draw.of("nonzero", shape)
        yield Sample((draw(*shape), weight | True if weight.dtype == bool else weight), {})


REFERENCES["over_weights"] = np.divide


@samples_of("places")
def _places(draw: Draw) -> Iterator[Sample]:
    for shape in ((5,), (2, 3), (0,)):
        mask = draw.bools(*shape)
        for axis in range(len(shape)):
            yield Sample((mask,), {"axis": axis, "size": int(mask.sum())})


REFERENCES["places"] = lambda x, axis, size: np.nonzero(x)[axis]


@samples_of("sum_where", "prod_where")
def _reductions_of_chosen(draw: Draw) -> Iterator[Sample]:
    for x, axis in _axes(draw, (4, 3), (3,), (), (0, 3), (2, 1, 3)):
        yield Sample((x, draw.bools(*x.shape)), {"axis": axis, "keepdims": axis == 0})
    yield Sample((draw(2, 3, 4), draw.bools(4)), {"axis": (0, 2), "keepdims": False})


@samples_of("sum_from", "prod_from")
def _reductions_from_a_number(draw: Draw) -> Iterator[Sample]:
    for x, axis in _axes(draw, (4, 3), (3,), (), (0, 3)):
        yield Sample((x, draw(), draw.bools(*x.shape)), {"axis": axis, "keepdims": axis == 0})


for _name, _reduction in (("sum", np.sum), ("prod", np.prod)):
    REFERENCES[f"{_name}_where"] = lambda x, where, _reduction=_reduction, **how: _reduction(
        x, where=where, **how
    )
    REFERENCES[f"{_name}_from"] = lambda x, initial, where, _reduction=_reduction, **how: (
        _reduction(x, initial=initial, where=where, **how)
    )


@samples_of("nanmax", "nanmin", "logsumexp", "logaddexp_reduce")
def _reductions_of_something(draw: Draw) -> Iterator[Sample]:
    for x, axis in _axes(draw, (4, 3), (3,), (), (2, 1, 3)):
        for keepdims in (False, True):
            yield Sample((x,), {"axis": axis, "keepdims": keepdims})
    yield Sample((draw(2, 0),), {"axis": 0, "keepdims": False})
    yield Sample((draw(2, 3, 4),), {"axis": (0, 2), "keepdims": False})


@samples_of("argmax", "argmin")
def _places(draw: Draw) -> Iterator[Sample]:
    for x, axis in _axes(draw, (4, 3), (3,), (), (2, 1, 3)):
        for keepdims in (False, True):
            yield Sample((x,), {"axis": axis, "keepdims": keepdims})


@samples_of("var", "std")
def _spreads(draw: Draw) -> Iterator[Sample]:
    for x, axis in _axes(draw, (4, 3), (3,), (2, 2, 3)):
        for ddof in (0, 1):
            yield Sample((x,), {"axis": axis, "ddof": ddof, "keepdims": bool(ddof)})
    yield Sample((draw(2, 3, 4),), {"axis": (0, 2)})


@samples_of("cumsum", "cumprod")
def _running(draw: Draw) -> Iterator[Sample]:
    for shape in ((4, 3), (5,), (1,), (0, 3), (2, 1, 3)):
        for axis in range(len(shape)):
            yield Sample((draw(*shape),), {"axis": axis})


@samples_of("softmax", "log_softmax")
def _softmax(draw: Draw) -> Iterator[Sample]:
    for x, axis in _axes(draw, (4, 3), (3,), (2, 1, 3)):
        yield Sample((x,), {"axis": axis})
    yield Sample((draw(0, 3),), {"axis": 1})


@samples_of("exclusive_prod")
def _exclusive_prod(draw: Draw) -> Iterator[Sample]:
    for shape in ((4, 3), (5,), (1,), (2,), (0, 3)):
        yield Sample((draw(*shape),), {})


@samples_of("cumprod_pullback")
def _cumprod_pullback(draw: Draw) -> Iterator[Sample]:
    yield Sample((draw(3), draw(3), draw.bools(3), draw(3), draw(3)), {"axis": 0})


@samples_of("identity_mask")
def _identity_mask(draw: Draw) -> Iterator[Sample]:
    for rows, columns, offset in ((3, 3, 0), (2, 4, 1), (4, 2, -1), (0, 2, 0)):
        yield Sample((), {"rows": rows, "columns": columns, "offset": offset})


def _log_sum_exp(x: Any, axis: Any, keepdims: bool) -> Any:
    return np.log(np.sum(np.exp(x), axis=axis, keepdims=keepdims))


def _soft(x: Any, axis: Any) -> Any:
    shifted = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return shifted / np.sum(shifted, axis=axis, keepdims=True)


def _exclusive(x: Any) -> Any:
    return np.stack([np.prod(np.delete(x, i, axis=0), axis=0) for i in range(len(x))] or [x[:0]])


CLOSE["logsumexp"] = CLOSE["logaddexp_reduce"] = _log_sum_exp
CLOSE["softmax"] = _soft
CLOSE["log_softmax"] = lambda x, axis: np.log(_soft(x, axis))
CLOSE["exclusive_prod"] = lambda x: _exclusive(x) if len(x) else x
CLOSE["norm"] = lambda x, axis, keepdims: np.sqrt(
    np.sum(np.abs(x) ** 2, axis=axis, keepdims=keepdims)
)
REFERENCES["identity_mask"] = lambda rows, columns, offset: np.eye(
    rows, columns, offset, dtype=bool
)
REFERENCES["cumprod_pullback"] = lambda ct, x, first, at_first, elsewhere, axis: np.where(
    first, at_first, elsewhere
)


@samples_of("reshape")
def _reshape(draw: Draw) -> Iterator[Sample]:
    for old, new in (
        ((4, 3), (2, 6)),
        ((4, 3), (12,)),
        ((3,), (3, 1)),
        ((), (1, 1)),
        ((1,), ()),
        ((0, 3), (3, 0, 2)),
    ):
        yield Sample((draw(*old),), {"shape": new})


REFERENCES["reshape"] = lambda x, shape: np.reshape(x, shape)


@samples_of("broadcast_to", "spread")
def _broadcast_to(draw: Draw) -> Iterator[Sample]:
    for old, new in (
        ((3,), (2, 3)),
        ((2, 1), (2, 4)),
        ((), (2, 2)),
        ((1, 3), (0, 3)),
        ((3,), (3,)),
        ((2, 1, 3), (4, 2, 5, 3)),
    ):
        yield Sample((draw(*old),), {"shape": new})


@samples_of("squeeze")
def _squeeze(draw: Draw) -> Iterator[Sample]:
    yield Sample((draw(1, 3),), {"axis": 0})
    yield Sample((draw(3, 1, 2, 1),), {"axis": (1, 3)})
    yield Sample((draw(0, 1),), {"axis": 1})


@samples_of("expand_dims")
def _expand_dims(draw: Draw) -> Iterator[Sample]:
    yield Sample((draw(3),), {"axis": 0})
    yield Sample((draw(3, 2),), {"axis": (1, 3)})
    yield Sample((draw(),), {"axis": 0})
    yield Sample(
        (
            draw(
                0,
            ),
        ),
        {"axis": 1},
    )


@samples_of("transpose")
def _transpose(draw: Draw) -> Iterator[Sample]:
    yield Sample((draw(4, 3),), {"axes": None})
    yield Sample((draw(2, 3, 4),), {"axes": None})
    yield Sample((draw(2, 3, 4),), {"axes": (1, 2, 0)})
    yield Sample((draw(2, 0, 4),), {"axes": (0, 2, 1)})


@samples_of("in_order")
def _in_order(draw: Draw) -> Iterator[Sample]:
    for order in ("C", "F", "A"):
        for shape in ((4,), (4, 3), (2, 3, 4), (2, 0)):
            yield Sample((draw(*shape),), {"order": order})


REFERENCES["in_order"] = lambda x, order: np.asarray(x, order=order)


@samples_of("matmul")
def _matmul(draw: Draw) -> Iterator[Sample]:
    for a, b in (
        ((4, 3), (3, 2)),
        ((3,), (3,)),
        ((3,), (3, 2)),
        ((4, 3), (3,)),
        ((5, 4, 3), (3, 2)),
        ((5, 4, 3), (3,)),
        ((3,), (5, 3, 2)),
        ((4, 3), (5, 3, 2)),
        ((2, 1, 4, 3), (5, 3, 2)),
        ((1, 1), (1, 1)),
        ((0, 3), (3, 2)),
        ((4, 0), (0, 2)),
        ((0,), (0,)),
    ):
        yield Sample((draw(*a), draw(*b)), {})


@samples_of("extent")
def _extent(draw: Draw) -> Iterator[Sample]:
    for dtype in ("float32", "float64"):
        yield Sample((), {"size": 6, "dtype": dtype})


REFERENCES["extent"] = lambda size, dtype: np.dtype(dtype).type(size)


@samples_of("full")
def _full(draw: Draw) -> Iterator[Sample]:
    for shape in ((2, 3), (), (0,), 4):
        yield Sample((draw(),), {"shape": shape, "dtype": draw.dtype.name})
    yield Sample((draw(3),), {"shape": (2, 3), "dtype": None})


REFERENCES["full"] = lambda value, shape, dtype: np.full(shape, value, dtype=dtype)


def _index(*items: Any) -> dict[str, Any]:
    return {"index": Subscript(items), "counts": ()}


def _indices(draw: Draw) -> Iterator[tuple[np.ndarray, tuple[np.ndarray, ...], dict[str, Any]]]:
    """An array, index arrays and attributes: NumPy's indexing of every kind."""
    x, y, z = draw(4, 3), draw(3), draw(2, 3, 4)
    every = slice(None)
    yield x, (), _index(1)
    yield x, (), _index(-1, 2)
    yield x, (), _index(slice(1, 3))
    yield x, (), _index(every, slice(None, None, -1))
    yield x, (), _index(slice(3, 0, -2), 0)
    yield x, (), _index(slice(10, 20))
    yield z, (), _index(Ellipsis, 0)
    yield z, (), _index(None, 1, Ellipsis, None)
    yield y, (), _index(Ellipsis)
    yield draw(), (), _index()
    yield draw(0, 3), (), _index(every, 1)
    yield x, (np.array([0, 2, 2, -1]),), _index(Slot(0))
    yield x, (np.array([[0, 1], [1, 1]]),), _index(every, Slot(0))
    yield x, (np.array([0, 3]), np.array([1, -1])), _index(Slot(0), Slot(1))
    yield x, (np.array([[0], [3]]), np.array([1, 2])), _index(Slot(0), Slot(1))
    yield z, (np.array([0, 1, 1]),), _index(Slot(0), every, 2)
    yield z, (np.array([0, 1]), np.array([3, 3])), _index(Slot(0), every, Slot(1))
    yield z, (np.array([2, 0]), np.array([3, 3])), _index(every, Slot(0), Slot(1))
    yield x, (np.array([], dtype=np.int64),), _index(Slot(0))
    yield x, (np.array(2),), _index(Slot(0))
    yield x, (np.array(-1),), _index(every, Slot(0))
    yield x, (np.array(1), np.array(2)), _index(Slot(0), Slot(1))
    yield y, (np.array(1),), _index(Slot(0), Ellipsis)
    yield z, (np.array(1),), _index(Ellipsis, Slot(0), slice(None, None, -2))
    yield z, (np.array(1), np.array(3)), _index(Slot(0), slice(1, None), Slot(1))
    yield z, (np.array(1),), _index(1, every, Slot(0))
    yield z, (np.array(1), np.array([0, 1])), _index(Slot(0), Slot(1))
    yield x, (np.array(True),), {**_index(Slot(0)), "counts": (1,)}
    mask = np.array([True, False, True, True])
    yield x, (mask,), {**_index(Slot(0)), "counts": (3,)}
    yield x, (mask, np.array([0, 2, 2])), {**_index(Slot(0), Slot(1)), "counts": (3,)}
    yield x, (np.tile(mask[:, None], 3),), {**_index(Slot(0)), "counts": (9,)}
    yield x, (np.zeros((4, 3), dtype=bool),), {**_index(Slot(0)), "counts": (0,)}


@samples_of("getitem", "getitem_copy")
def _basic_index(draw: Draw) -> Iterator[Sample]:
    for x, arrays, attributes in _indices(draw):
        if not arrays:
            yield Sample((x,), {"index": attributes["index"]})


@samples_of("element")
def _element(draw: Draw) -> Iterator[Sample]:
    yield Sample((draw(3),), {"index": Subscript((-1,))})
    yield Sample((draw(4, 3),), {"index": Subscript((2, -3))})
    yield Sample((draw(),), {"index": Subscript(())})


@samples_of("gather")
def _gather(draw: Draw) -> Iterator[Sample]:
    for x, arrays, attributes in _indices(draw):
        if arrays:
            yield Sample((x, *arrays), attributes)


def _taken(x: Any, *arrays: Any, index: Subscript, **_: Any) -> Any:
    return x[index.resolve(arrays)]


@samples_of("all_within")
def _all_within(draw: Draw) -> Iterator[Sample]:
    for shape in ((), (4,), (2, 3), (0,)):
        for length in (5, 2, 0):
            for from_end in (True, False):
                x = draw.random.integers(-3, 3, size=shape)
                yield Sample((x,), {"length": length, "from_end": from_end})


REFERENCES["all_within"] = lambda x, length, from_end: np.bool_(
    all(n in range(-length if from_end else 0, length) for n in np.ravel(x))
)


@samples_of("unravel_index")
def _unravel_index(draw: Draw) -> Iterator[Sample]:
    for shape in ((), (4,), (2, 3), (0,)):
        for lengths in ((6,), (2, 3), (3, 1, 2)):
            yield Sample((draw.random.integers(0, 6, size=shape),), {"shape": lengths})


REFERENCES["unravel_index"] = lambda x, shape: (
    np.unravel_index(x, shape) if len(shape) > 1 else np.unravel_index(x, shape)[0]
)


@samples_of("ravel_multi_index")
def _ravel_multi_index(draw: Draw) -> Iterator[Sample]:
    for shapes in (((), ()), ((4,), (4,)), ((2, 3), (3,)), ((0,), ())):
        for mode, beyond in (("raise", 0), ("wrap", 3), ("clip", 3)):
            places = [draw.random.integers(-beyond, 2 + beyond, size=shape) for shape in shapes]
            yield Sample(tuple(places), {"dims": (2, 3), "mode": mode})


REFERENCES["ravel_multi_index"] = lambda *places, dims, mode: np.ravel_multi_index(
    places, dims, mode=mode
)
for _name in ("getitem", "getitem_copy", "element", "gather"):
    REFERENCES[_name] = _taken


@samples_of("index_set")
def _index_set(draw: Draw) -> Iterator[Sample]:
    for x, arrays, attributes in _indices(draw):
        if any(a.dtype != bool and len(np.unique(a)) < a.size for a in arrays):
            continue  # which of two values at one place wins is nobody's promise
        shape = np.shape(_taken(x, *arrays, **attributes))
        yield Sample((x, draw(*shape), *arrays), attributes)
        yield Sample((x, draw(), *arrays), attributes)


@samples_of("index_add", "index_subtract")
def _index_add(draw: Draw) -> Iterator[Sample]:
    if draw.dtype.kind == "b":
        return
    for x, arrays, attributes in _indices(draw):
        repeats = any(a.dtype != bool and a.ndim > 0 for a in arrays)
        value = draw(*np.shape(_taken(x, *arrays, **attributes)))
        yield Sample((x, value, *arrays), {**attributes, "repeats": repeats})


@samples_of("scatter")
def _scatter(draw: Draw) -> Iterator[Sample]:
    for x, arrays, attributes in _indices(draw):
        repeats = any(a.dtype != bool and a.ndim > 0 for a in arrays)
        ct = draw(*np.shape(_taken(x, *arrays, **attributes)))
        place = {"shape": x.shape, "dtype": draw.dtype.name, "repeats": repeats}
        yield Sample((ct, *arrays), {**attributes, **place})


def _written(x: Any, value: Any, *arrays: Any, index: Subscript, **_: Any) -> Any:
    out = x.copy()
    out[index.resolve(arrays)] = value
    return out


def _added(ct: Any, *arrays: Any, index: Subscript, shape: Any, dtype: Any, **_: Any) -> Any:
    out = np.zeros(shape, dtype)
    np.add.at(out, index.resolve(arrays), ct)
    return out


def _increased(x: Any, value: Any, *arrays: Any, index: Subscript, **_: Any) -> Any:
    out = x.copy()
    np.add.at(out, index.resolve(arrays), value)
    return out


def _decreased(x: Any, value: Any, *arrays: Any, index: Subscript, **_: Any) -> Any:
    out = x.copy()
    np.subtract.at(out, index.resolve(arrays), value)
    return out


REFERENCES["index_set"] = _written
REFERENCES["scatter"] = _added
REFERENCES["index_add"] = _increased
REFERENCES["index_subtract"] = _decreased


@samples_of("take_along_axis")
def _take_along_axis(draw: Draw) -> Iterator[Sample]:
    yield Sample((draw(5), draw.below(5, 7)), {"axis": 0})
    yield Sample((draw(4, 3), draw.below(4, 2, 3)), {"axis": 0})
    yield Sample((draw(4, 3), draw.below(3, 4, 1)), {"axis": 1})
    yield Sample((draw(4, 3), draw.below(3, 1, 5)), {"axis": 1})
    yield Sample((draw(0, 3), draw.below(3, 0, 2)), {"axis": 1})


@samples_of("nonzero", "argwhere")
def _places(draw: Draw) -> Iterator[Sample]:
    for shape in ((5,), (2, 3), (0,), (2, 0, 3)):
        mask = draw.bools(*shape)
        yield Sample((mask,), {"ndim": len(shape), "count": int(mask.sum())})


def _only(*names: str) -> Callable[[Generator], Generator]:
    """The generator with these attributes alone."""

    def of(generator: Generator) -> Generator:
        return lambda draw: (
            Sample(s.operands, {n: s.attributes[n] for n in names}) for s in generator(draw)
        )

    return of


GENERATORS["argwhere"] = _only("count")(_places)
REFERENCES["nonzero"] = lambda x, ndim, count: np.nonzero(x) if ndim > 1 else np.flatnonzero(x)
REFERENCES["argwhere"] = lambda x, count: np.argwhere(x)


@samples_of("tril_indices", "triu_indices")
def _triangles(draw: Draw) -> Iterator[Sample]:
    for rows, k, columns in ((3, 0, 3), (2, 1, 4), (4, -1, 2), (0, 0, 0)):
        yield Sample((), {"rows": rows, "k": k, "columns": columns})


REFERENCES["tril_indices"] = lambda rows, k, columns: np.tril_indices(rows, k, columns)
REFERENCES["triu_indices"] = lambda rows, k, columns: np.triu_indices(rows, k, columns)


# -- order along axes, joining and parting ------------------------------------------------------


@samples_of("flip")
def _flip(draw: Draw) -> Iterator[Sample]:
    for shape, axes in (((3,), (0,)), ((4, 3), (1,)), ((2, 3, 4), (0, 2)), ((0, 3), (0, 1))):
        yield Sample((draw(*shape),), {"axes": axes})


REFERENCES["flip"] = lambda x, axes: np.flip(x, axes)


@samples_of("roll")
def _roll(draw: Draw) -> Iterator[Sample]:
    yield Sample((draw(4, 3),), {"shift": 2, "axis": None})
    yield Sample((draw(4, 3),), {"shift": -1, "axis": 1})
    yield Sample((draw(2, 3, 4),), {"shift": (1, -5), "axis": (0, 2)})
    yield Sample((draw(0, 3),), {"shift": 7, "axis": 0})


@samples_of("concatenate")
def _concatenate(draw: Draw) -> Iterator[Sample]:
    yield Sample((draw(4), draw(0), draw(2)), {"axis": 0})
    yield Sample((draw(4, 3), draw(4, 2)), {"axis": 1})
    yield Sample((draw(2, 3, 1),), {"axis": 2})


REFERENCES["concatenate"] = lambda *xs, axis, length: np.concatenate(xs, axis)


@samples_of("stack")
def _stack(draw: Draw) -> Iterator[Sample]:
    yield Sample((draw(), draw(), draw()), {"axis": 0})
    yield Sample((draw(4, 3), draw(4, 3)), {"axis": 1})
    yield Sample((draw(2, 0), draw(2, 0)), {"axis": 2})


REFERENCES["stack"] = lambda *xs, axis: np.stack(xs, axis)


@samples_of("split")
def _split(draw: Draw) -> Iterator[Sample]:
    yield Sample((draw(6),), {"at": 3, "axis": 0})
    yield Sample((draw(2, 5),), {"at": (1, 3), "axis": 1})
    yield Sample((draw(2, 5),), {"at": (0, 0, 9), "axis": 0})
    yield Sample((draw(0, 2),), {"at": 2, "axis": 0})


REFERENCES["split"] = lambda x, at, axis: np.split(x, at, axis)


@samples_of("unstack")
def _unstack(draw: Draw) -> Iterator[Sample]:
    yield Sample((draw(3),), {"axis": 0, "count": 3})
    yield Sample((draw(2, 3, 4),), {"axis": 1, "count": 3})
    yield Sample((draw(0, 2),), {"axis": 1, "count": 2})


REFERENCES["unstack"] = lambda x, axis, count: tuple(np.moveaxis(x, axis, 0))


@samples_of("part")
def _part(draw: Draw) -> Iterator[Sample]:
    yield Sample((draw(5),), {"axis": 0, "start": 1, "stop": 3, "length": 2})
    yield Sample((draw(2, 5),), {"axis": 1, "stop": 3, "length": 3})
    yield Sample((draw(2, 5, 2),), {"axis": 1, "start": 5, "length": 0})


def _axis_slice(axis: int, start: int, stop: int | None) -> tuple[slice, ...]:
    return (*[slice(None)] * axis, slice(start, stop))


REFERENCES["part"] = lambda x, axis, start, stop, length: x[_axis_slice(axis, start, stop)]


@samples_of("place")
def _place(draw: Draw) -> Iterator[Sample]:
    dtype = draw.dtype.name
    yield Sample((draw(2),), {"axis": 0, "start": 1, "stop": 3, "shape": 5, "dtype": dtype})
    yield Sample((draw(2, 3),), {"axis": 1, "stop": 3, "shape": (2, 5), "dtype": dtype})
    yield Sample((draw(2, 0),), {"axis": 1, "start": 5, "shape": (2, 5), "dtype": dtype})


def _placed(ct: Any, axis: int, start: int, stop: Any, shape: Any, dtype: Any) -> Any:
    out = np.zeros(shape, dtype)
    out[_axis_slice(axis, start, stop)] = ct
    return out


REFERENCES["place"] = _placed


@samples_of("repeat")
def _repeat(draw: Draw) -> Iterator[Sample]:
    yield Sample((draw(3),), {"repeats": 2, "axis": None})
    yield Sample((draw(3),), {"repeats": 0, "axis": None})
    yield Sample((draw(4, 3),), {"repeats": 3, "axis": 1})
    yield Sample((draw(4, 3),), {"repeats": (1, 2, 4), "axis": 1})
    yield Sample((draw(0, 3),), {"repeats": 2, "axis": 0})


@samples_of("segment_sums")
def _segment_sums(draw: Draw) -> Iterator[Sample]:
    if draw.dtype.kind not in "fc":
        return
    yield Sample((draw(6),), {"lengths": (1, 3, 2), "axis": 0})
    yield Sample((draw(4, 3),), {"lengths": (1, 2), "axis": 1})


CLOSE["segment_sums"] = lambda x, lengths, axis: np.concatenate(
    [
        part.sum(axis=axis, keepdims=True)
        for part in np.split(x, np.cumsum(lengths)[:-1], axis=axis)
    ],
    axis=axis,
)


@samples_of("tile")
def _tile(draw: Draw) -> Iterator[Sample]:
    yield Sample((draw(3),), {"reps": (2,)})
    yield Sample((draw(3),), {"reps": (2, 3)})
    yield Sample((draw(4, 3),), {"reps": (1, 2)})
    yield Sample((draw(4, 3),), {"reps": (2, 0)})
    yield Sample((draw(0, 3),), {"reps": (2, 1, 2)})


@samples_of("pad")
def _pad(draw: Draw) -> Iterator[Sample]:
    yield Sample((draw(3),), {"pad_width": ((1, 2),)})
    yield Sample((draw(0, 3),), {"pad_width": ((0, 0), (2, 0))})
    yield Sample((draw(4, 3),), {"pad_width": ((1, 1), (1, 1)), "value": 3})
    for mode in ("edge", "reflect", "symmetric", "wrap"):
        yield Sample((draw(2, 3),), {"pad_width": ((3, 0), (1, 2)), "mode": mode})


REFERENCES["pad"] = lambda x, pad_width, mode, value: np.pad(
    x, pad_width, mode, **({"constant_values": value} if mode == "constant" else {})
)


@samples_of("inner_part")
def _inner_part(draw: Draw) -> Iterator[Sample]:
    yield Sample((draw(5),), {"pad_width": ((1, 2),)})
    yield Sample((draw(4, 3),), {"pad_width": ((0, 0), (2, 1))})


REFERENCES["inner_part"] = lambda x, pad_width: x[
    tuple(slice(a, n - b) for n, (a, b) in zip(x.shape, pad_width, strict=True))
]


# -- creation -----------------------------------------------------------------------------------


@samples_of("zeros", "ones")
def _filled(draw: Draw) -> Iterator[Sample]:
    for shape in (3, (2, 3), (), (0, 2)):
        yield Sample((), {"shape": shape, "dtype": draw.dtype.name})


@samples_of("zeros_like", "ones_like")
def _made_like(draw: Draw) -> Iterator[Sample]:
    for x in (draw(2, 3), draw(2, 3, 4), draw(0, 2)):
        yield Sample((x,), {})
    yield Sample((draw(2, 3),), {"shape": (4, 2), "dtype": draw.dtype.name})
    yield Sample((draw(2, 3),), {"dtype": "float32", "order": "F"})


@samples_of("full_like")
def _filled_like(draw: Draw) -> Iterator[Sample]:
    yield Sample((draw(2, 3), draw()), {})
    yield Sample((draw(2, 3, 4), draw(4)), {"dtype": draw.dtype.name})


@samples_of("in_rows")
def _in_rows(draw: Draw) -> Iterator[Sample]:
    for x in (draw(3, 4), draw(2, 3, 4)):
        yield Sample((x,), {})


@samples_of("in_place_of")
def _in_place_of(draw: Draw) -> Iterator[Sample]:
    yield Sample((draw(3, 4), draw(3, 4)), {})
    yield Sample((draw(2, 3, 4), draw(2, 3, 4)), {})


@samples_of("lying_like")
def _lying_like(draw: Draw) -> Iterator[Sample]:
    yield Sample((draw(3, 4), draw(2, 3)), {})
    yield Sample((draw(2, 3, 4), draw(2, 3, 4)), {})


@samples_of("arange")
def _arange(draw: Draw) -> Iterator[Sample]:
    whole = ((0, 5, 1), (2, 7, 2), (5, 0, -2), (3, 1, 1))
    for start, stop, step in (*whole, (0.5, 2.0, 0.25), (0.0, 3, 1), (0, 3, 1.0)):
        yield Sample((), {"start": start, "stop": stop, "step": step})
    yield Sample((), {"stop": 3, "dtype": "float32"})


REFERENCES["arange"] = lambda start, stop, step, dtype: np.arange(start, stop, step, dtype)


@samples_of("eye", "tri")
def _rectangles(draw: Draw) -> Iterator[Sample]:
    for rows, columns, k in ((3, 3, 0), (2, 4, 1), (4, 2, -1), (0, 0, 0)):
        attributes = {"rows": rows, "columns": columns, "k": k}
        yield Sample((), {**attributes, "dtype": draw.dtype.name})


REFERENCES["eye"] = lambda rows, columns, k, dtype: np.eye(rows, columns, k, dtype)
REFERENCES["tri"] = lambda rows, columns, k, dtype: np.tri(rows, columns, k, dtype)


@samples_of("linspace")
def _linspace(draw: Draw) -> Iterator[Sample]:
    if draw.dtype.kind in "fc":
        yield Sample((draw(), draw()), {"num": 5})
        yield Sample((draw(3), draw(2, 1)), {"num": 4, "endpoint": False})
        yield Sample((draw(3), draw()), {"num": 1})
        yield Sample((draw(), draw()), {"num": 0})


@samples_of("array")
def _array(draw: Draw) -> Iterator[Sample]:
    yield Sample((), {"values": (1, 2, -3), "dtype": "int64"})
    yield Sample((), {"values": ((1.5, 2.0), (0.0, 1.0)), "dtype": "float32"})
    yield Sample((), {"values": (True, False), "dtype": "bool"})


REFERENCES["array"] = lambda values, dtype: np.array(values, dtype)


@samples_of("outer")
def _outer(draw: Draw) -> Iterator[Sample]:
    for n, m in ((3, 4), (1, 1), (0, 3), (3, 0)):
        yield Sample((draw(n), draw(m)), {})


@samples_of("cross")
def _cross(draw: Draw) -> Iterator[Sample]:
    for a, b in (((3,), (3,)), ((4, 3), (3,)), ((2, 1, 3), (4, 3)), ((0, 3), (3,))):
        yield Sample((draw(*a), draw(*b)), {})


@samples_of("tensordot")
def _tensordot(draw: Draw) -> Iterator[Sample]:
    for a, b, axes in (
        ((2, 3), (3, 4), ((1,), (0,))),
        ((2, 3, 4), (4, 5, 3), ((1, 2), (2, 0))),
        ((2, 3), (2, 3), ((0, 1), (0, 1))),
        ((2,), (3,), ((), ())),
        ((0, 3), (3, 2), ((1,), (0,))),
        ((2, 0), (0, 2), ((1,), (0,))),
    ):
        yield Sample((draw(*a), draw(*b)), {"axes": axes})


@samples_of("einsum")
def _einsum(draw: Draw) -> Iterator[Sample]:
    for subscripts, *shapes in (
        ("ijk,j->ik", (2, 3, 4), (3,)),
        ("ij,ij->i", (2, 3), (2, 3)),
        ("ijk,ljk->il", (2, 3, 4), (5, 3, 4)),
        ("i,j->ij", (2,), (3,)),
        ("bij,bj->bi", (2, 3, 4), (2, 4)),
        ("ijk,j->ik", (2, 0, 4), (0,)),
        ("i,i->", (3,), (3,)),
    ):
        yield Sample(tuple(draw(*shape) for shape in shapes), {"subscripts": subscripts})


@samples_of("einsum_3")
def _einsum_3(draw: Draw) -> Iterator[Sample]:
    for subscripts, *shapes in (
        ("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)),
        ("i,j,k->ijk", (2,), (3,), (4,)),
        ("ij,jk,ki->", (2, 3), (3, 4), (4, 2)),
        ("ij,jk,kl->il", (2, 0), (0, 4), (4, 2)),
    ):
        yield Sample(tuple(draw(*shape) for shape in shapes), {"subscripts": subscripts})


@samples_of("einsum_4")
def _einsum_4(draw: Draw) -> Iterator[Sample]:
    for subscripts, *shapes in (
        ("ij,jk,kl,lm->im", (2, 3), (3, 4), (4, 2), (2, 3)),
        ("i,ij,j,k->k", (2,), (2, 3), (3,), (4,)),
    ):
        yield Sample(tuple(draw(*shape) for shape in shapes), {"subscripts": subscripts})


def _einsum_of(count: int) -> Callable[[Draw], Iterator[Sample]]:
    """A chain of so many matrices, and vectors of one label."""

    def generator(draw: Draw) -> Iterator[Sample]:
        labels = "abcdefg"[: count + 1]
        chain = ",".join(labels[i : i + 2] for i in range(count))
        matrices = tuple(draw(2 + i % 2, 2 + (i + 1) % 2) for i in range(count))
        yield Sample(matrices, {"subscripts": f"{chain}->{labels[0]}{labels[-1]}"})
        yield Sample(
            tuple(draw(3) for _ in range(count)), {"subscripts": ",".join("i" * count) + "->"}
        )

    return generator


for _count in range(5, 7):
    GENERATORS[f"einsum_{_count}"] = _einsum_of(_count)
for _count in range(2, 7):
    CLOSE["einsum" if _count == 2 else f"einsum_{_count}"] = lambda *operands, subscripts: (
        np.einsum(subscripts, *operands, optimize=False)
    )


@samples_of("diagonal", "trace")
def _diagonals(draw: Draw) -> Iterator[Sample]:
    for shape in ((3, 3), (2, 4), (4, 2), (1, 1), (0, 3)):
        for offset in (0, 1, -1):
            yield Sample((draw(*shape),), {"offset": offset, "axis1": 0, "axis2": 1})
    yield Sample((draw(2, 3, 4),), {"offset": 1, "axis1": 2, "axis2": 0})
    yield Sample((draw(3, 2, 3),), {"offset": 0, "axis1": 0, "axis2": 2})
    yield Sample((draw(2, 3, 3),), {"offset": -1, "axis1": 1, "axis2": 2})


@samples_of("diag")
def _diag(draw: Draw) -> Iterator[Sample]:
    for n in (3, 1, 0):
        for k in (0, 1, -2):
            yield Sample((draw(n),), {"k": k})


@samples_of("tril", "triu")
def _triangles(draw: Draw) -> Iterator[Sample]:
    for shape in ((3, 3), (2, 4), (2, 3, 3), (0, 3)):
        for k in (0, 1, -1):
            yield Sample((draw(*shape),), {"k": k})
