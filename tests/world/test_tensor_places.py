"""What a run without a program leaves in containers is what plain Python leaves, moved or not."""

from __future__ import annotations

import time
import warnings
from collections import OrderedDict, deque
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest
from checks import function_of

import tracegrad as tg

X = np.array([1.0, 2.0, 3.0])


def slice_set(s, x):
    s.items[:] = [v * 2.0 for v in s.items]


def slice_of_iterator(s, x):
    s.items[1:] = (v + x for v in list(s.items))
    s.items[:0] = map(np.sin, [x, s.items[0]])


def slice_with_step(s, x):
    s.items[::-1] = [v * x for v in s.items]


def slice_by_method(s, x):
    s.items.__setitem__(slice(0, 1), [x * 4.0, (x, {"a": x * 5.0})])


def slice_that_removes(s, x):
    s.items[0] = x * 2.0
    s.items[1:] = []


def slice_that_grows(s, x):
    s.items[:] = [v * x for v in s.items]
    s.items[1:1] = [x * 2.0, s.items[0]]


def set_and_moved(s, x):
    s.items[-1] = x * 2.0
    s.items.append(x * 3.0)
    s.items.insert(0, x * 4.0)
    s.items.reverse()


def set_and_first_removed(s, x):
    s.items[1] = x * 2.0
    del s.items[0]


def set_and_sorted(s, x):
    s.items[0] = x * 2.0
    s.items[1] = -x
    s.items.sort(key=lambda v: v[0])


def set_by_numbers_of_numpy(s, x):
    s.items[np.int64(0)] = x * 2.0
    s.items.insert(0, s.items.pop())


def deque_rotated(s, x):
    s.ring.append(x * 2.0)
    s.ring[0] = x * 3.0
    s.ring.rotate(1)


def array_of_objects(s, x):
    s.objects[0] = x * 2.0
    s.objects[1:] = [x * 3.0]


def dictionaries(s, x):
    s.table["a"] = x * 2.0
    s.table["b"] = s.table.pop("a")
    s.table.move_to_end("c")


def one_tuple_in_two_places(s, x):
    s.items[0] = (x * 2.0, [x * 3.0])
    s.items[1] = s.items[0]
    s.pair = s.items[0]


PROGRAMS = [slice_set, slice_of_iterator, slice_with_step, slice_by_method, slice_that_removes]
PROGRAMS += [slice_that_grows, set_and_moved, set_and_first_removed, set_and_sorted]
PROGRAMS += [set_by_numbers_of_numpy, deque_rotated, array_of_objects, dictionaries]
PROGRAMS += [one_tuple_in_two_places]


def shape_of(x, seen):
    """What a caller finds, with who is who."""
    if isinstance(x, str | type(None)):
        return x
    if id(x) in seen:
        return f"object {seen[id(x)]}"
    seen[id(x)] = len(seen)
    if isinstance(x, np.ndarray) and x.dtype != object:
        return type(x).__name__, x.tolist()
    items = x.items() if isinstance(x, dict) else x
    return type(x).__name__, [
        [shape_of(y, seen) for y in item] if isinstance(x, dict) else shape_of(item, seen)
        for item in items
    ]


def left_by(change, transform, clock):
    state = SimpleNamespace(
        items=[np.ones(3), np.zeros(3)],
        ring=deque([np.ones(3)], maxlen=3),
        objects=np.array([None, None]),
        table=OrderedDict(c=np.ones(3)),
        pair=None,
    )

    def loss(x):
        if clock:
            time.time()  # which no program reads: the run answers its call
        change(state, x)
        return np.sum(x)

    f, found = transform(loss), []
    for i in range(3):
        f(X + i)
        found.append(shape_of(vars(state), {}))
        state.items[2:], state.pair = [], None
        state.items[:] = [*state.items, np.ones(3)][:2]
        state.items[0] = np.full(3, 0.5)
        state.items[1] = np.full(3, 1.5)
    return found


@pytest.mark.parametrize("change", PROGRAMS)
@pytest.mark.parametrize("transform", [tg.compile, tg.grad])
@pytest.mark.parametrize("how", ["program", "answers itself", "eager"])
def test_arrays_stand_where_tensors_were_put(change, transform, how, monkeypatch):
    if change is array_of_objects and transform is tg.grad:
        with pytest.raises(tg.errors.ConversionError, match="make the array with"):
            left_by(change, transform, False)
        return
    expected = left_by(change, lambda plain: plain, False)
    monkeypatch.setattr(tg.config, "compile", how != "eager")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tg.errors.RecompileWarning)
        assert left_by(change, transform, how == "answers itself") == expected


@pytest.mark.parametrize("how", ["program", "answers itself", "eager"])
def test_a_tensor_stands_where_one_stood(how, monkeypatch):
    """Also where it is moved afterwards."""
    monkeypatch.setattr(tg.config, "compile", how != "eager")
    items = [tg.ones(3), np.ones(3)]

    def step(x):
        if how == "answers itself":
            time.time()
        items[0] = items[0] * x
        items[1] = x * 3.0
        items.reverse()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tg.errors.RecompileWarning)
        tg.compile(step)(X)
    assert [type(x) for x in items] == [np.ndarray, tg.Tensor]


LAZILY_MADE = (
    "np.arange(6.0).reshape(3, 2)",
    "np.eye(3)[:, :2]",
    "np.arange(6.0)[::2]",
    "np.array([[1.0, 2.0], [3.0, 4.0]]).T",
    "np.random.default_rng(0).normal(size=4).reshape(2, 2)",
    "np.zeros((2, 3)).T",
)
WRITES = ("o.c[0] = x[0]", "c = o.c; c -= x[0]", "o.c[1:] *= x[1]")


@pytest.mark.parametrize("transform", [tg.compile, tg.value_and_grad])
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("made", LAZILY_MADE)
def test_an_array_stands_where_a_view_was_made_and_written(made, write, transform):
    text = f"def f(x):\n    if o.c is None: o.c = {made}\n    {write}\n    return x.sum()\n"
    f, g = function_of(text, "plain"), function_of(text, "transformed")
    f.__globals__["o"], g.__globals__["o"] = a, b = SimpleNamespace(c=None), SimpleNamespace(c=None)
    transformed = transform(g)
    for i in range(3):
        f(np.array([1.0, 2.0]) * (i + 1))
        transformed(np.array([1.0, 2.0]) * (i + 1))
        assert type(b.c) is np.ndarray
        assert b.c.tobytes() == a.c.tobytes()


@dataclass
class State:
    h: np.ndarray
    rate: float = 0.0


@pytest.mark.parametrize("transform", [tg.compile, tg.value_and_grad])
@pytest.mark.usefixtures("fresh_loops")
def test_arrays_stand_in_objects_that_are_made_again_where_a_loop_goes_on(transform):
    o = SimpleNamespace(state=State(np.ones(2)), calls=0, warm=2, bias=np.array([0.3, 0.4]))

    def f(x):
        o.calls += 1
        w = 0
        while w < o.warm:
            w += 1
            x = x * 0.5 + o.bias
        o.state = replace(o.state, rate=0.4)
        for _ in range(9):
            x = np.tanh(x + 0.2)
        return np.sum(x)

    transformed, h = transform(f), o.state.h
    for i in range(4):
        transformed(np.ones(2) * i)
        assert o.state.h is h
        assert o.state.rate == 0.4
