"""Arrays that the function made and fills with recorded values, wherever it has them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from checks import assert_close

import tracegrad as tg

X = np.arange(3.0) + 1.5
HELD: dict = {}
ITEMS: list = []
PROGRAMS = []


class Model:
    buffer = None


MODEL = Model()


def program(f):
    PROGRAMS.append(f)
    return f


@program
def item_of_a_dict_outside(x):
    HELD["a"] = np.zeros(3)
    HELD["a"][0] = x[0]
    return HELD["a"] * 2


@program
def item_under_another_name(x):
    HELD["a"] = np.zeros(3)
    a = HELD["a"]
    a[0] = x[0]
    HELD["a"][1] = x[1]
    return HELD["a"] * 2 + a


@program
def default_of_a_dict(x):
    y = HELD.setdefault(x.shape[0], [np.zeros(3)])
    y[0] = np.zeros(3)
    y[0][:] = x
    return HELD[3][0] * 2


@program
def attribute_outside(x):
    MODEL.buffer = np.zeros((2, 3))
    MODEL.buffer[1] = x * 2
    return MODEL.buffer.sum(axis=0)


@program
def last_of_a_list_outside(x):
    ITEMS.append(np.zeros(3))
    ITEMS[-1][0] = x[0]
    return ITEMS[-1] * 3


@program
def global_name(x):
    global MADE
    MADE = np.zeros(3)
    MADE[0] = x[0]
    return MADE * 2


@program
def rows_by_a_loop(x):
    b = np.zeros((2, 3))
    for row in b:
        row[:] = x
    return (b * 2).sum(axis=0)


@program
def rows_by_enumerate(x):
    b = np.zeros((2, 3))
    for i, row in enumerate(b, start=1):
        row[i] = x[i]
    return b.sum(axis=0)


@program
def rows_by_zip(x):
    b, other = np.zeros((2, 3)), np.zeros((2, 3))
    for row, same, apart in zip(b, b, other, strict=True):
        row[0] = x[0]
        same[1] = x[1] * 2
        apart[2] = x[2]
    return (b + other).sum(axis=0)


@program
def rows_in_a_list(x):
    b = np.zeros((2, 3))
    rows = list(b)
    rows[0][0] = x[0]
    rows[1][:] = x * 2
    return b.sum(axis=0) + rows[1]


@program
def values_of_a_dict(x):
    d = {name: np.zeros(3) for name in "ab"}
    for name, value in d.items():
        value[0] = x[0] if name == "a" else x[1]
    return d["a"] + d["b"]


@program
def tuple_of_two(x):
    b = np.zeros((2, 3))
    pair = (b, b[1], (b[0],))
    pair[2][0][0] = x[0]
    pair[1][1] = x[1]
    pair[0][0, 2] = x[2]
    return b.sum(axis=0) + pair[1]


@program
def reshaped(x):
    b = np.zeros(6)
    m = b.reshape(2, 3)
    m[1] = x
    return b[3:] + m[0]


@program
def made_reshaped(x):
    m = np.zeros(6).reshape(2, 3)
    m[0] = x
    return m.sum(axis=0)


@program
def made_transposed(x):
    m = np.zeros((3, 2)).T
    m[0] = x
    return m.sum(axis=0)


@program
def places_twice(x):
    b = np.ones((2, 3))
    np.multiply.at(b, ([0, 0, 1], [1, 1, 2]), x)
    np.maximum.at(b, ([0, 0, -1], [0, 0, 2]), -x)
    np.add.at(b, ([0, 0, 1], [1, 1, 2]), x)
    np.minimum.at(b, [], b[:0] * x)
    return b.sum(axis=0)


@program
def places_of_several_kinds(x):
    b = np.ones((2, 3, 3))
    mask = np.array([True, False, True])
    np.add.at(b, (0, [1, 1, 2]), x)
    np.add.at(b, (slice(None), mask, [0, 2]), x[0])
    np.subtract.at(b, (slice(None), [0, 2, 0]), x)
    np.subtract.at(b, (0, slice(None), np.array([0, 2, 0])), x)
    np.add.at(b, (None, slice(None), None, [0, 0, -1]), x[1])
    np.subtract.at(b, np.ix_([1, 0, 1], [2, 1]), x)
    np.add.at(b, ([[0], [1]], [0, 2]), x)
    np.add.at(b, (PLACES, slice(0, 2)), x)
    return b.sum(axis=0)[1]


PLACES = np.array([0, 1, 1])


@program
def places_of_several_kinds_one_by_one(x):
    b = np.ones((2, 3, 3))
    np.multiply.at(b, (0, [1, 1, 2]), x)
    np.multiply.at(b, (slice(None), [0, 2, 0]), x)
    np.maximum.at(b, (slice(None), 1, [0, 2, 0]), x[1])
    np.multiply.at(b, ([0, 0], slice(None), [1, 1]), x[0])
    np.minimum.at(b, (Ellipsis, True, [1, 1]), x[2])
    return b.sum(axis=0)[1]


@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
def test_places_that_each_call_has_anew(monkeypatch):
    """No program multiplies at places that may be others in each call, and may be named twice."""
    places = np.array([0, 2, 0])

    def f(x, at):
        y = np.stack([x, x])
        np.multiply.at(y, (0, places), x)
        np.maximum.at(y, (at, slice(None)), x)
        return np.sum(y * y)

    slope = tg.grad(f)
    for at in (np.array([0, 0]), np.array([1, 0, 1])):
        for _ in range(2):
            monkeypatch.setattr(tg.config, "compile", True)
            compiled = slope(X, at)
            monkeypatch.setattr(tg.config, "compile", False)
            assert_close(compiled, slope(X, at), 0.0)
        y = tg.tensor(X, requires_grad=True)
        f(y, at).backward()
        assert_close(y.grad.numpy(), compiled, 0.0)
        places[:] = [1, 1, 1]


@program
def of_other_dtypes(x):
    return np.int64(x[0]) * x + np.int32(x) * x + np.float32(x) + np.bool_(x[1]) * x[np.intp(x[0])]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("how", ["compile", "gradient", "eager"])
def test_filled(f, how, monkeypatch):
    def called(function):
        HELD.clear(), ITEMS.clear()
        MODEL.buffer = None
        found = [function(x) for x in (X, X + 1, X)]
        return found, repr((HELD, ITEMS, MODEL.buffer))

    monkeypatch.setattr(tg.config, "compile", how != "eager")
    plain, left = called(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if how == "compile":
            ours = tg.compile(f)
            found, also_left = called(ours)
            assert ours.cache_info().hits >= 1
        else:
            found, also_left = called(tg.value_and_grad(lambda x: f(x).sum()))
    assert left == also_left
    for x, expected, got in zip((X, X + 1, X), plain, found, strict=True):
        if how == "compile":
            assert np.array_equal(got, expected)
            continue
        assert got[0] == expected.sum()
        if f is not of_other_dtypes:
            steps = 1e-6 * np.eye(3)
            slopes = [(f(x + s).sum() - f(x - s).sum()) / 2e-6 for s in steps]
            np.testing.assert_allclose(got[1], slopes, atol=1e-5)


def test_a_gradient_of_zero_is_a_number_where_others_are():
    def f(x, y):
        return (y * 1.0).sum()

    for given in (2.0, np.float64(2.0), np.array(2.0), np.float32(2.0)):
        assert isinstance(tg.grad(f)(given, X), np.floating)
    assert isinstance(tg.vjp(f, 2.0, X)[1](1.0)[0], np.floating)


# -- what the function leaves outside, and what cannot be written ---------------------------------


LEFT: list = []


@pytest.mark.parametrize("make", [np.empty, np.zeros, lambda n: np.array([1.0, 2.0, 3.0])])
def test_what_is_left_outside_is_an_array(make) -> None:
    def f(x):
        y = make(3)
        LEFT.append(y)
        y[...] = x
        y[0] = 5.0
        return (y * x).sum(), y, isinstance(y, np.ndarray)

    compiled, differentiated = tg.compile(f), tg.value_and_grad(lambda x: f(x)[0])
    for n in range(3):
        x = np.arange(3.0) + n
        for transformed in (compiled, differentiated, tg.compile(f)):
            LEFT.clear()
            transformed(x)
            assert [type(y) for y in LEFT] == [np.ndarray]
            assert LEFT[0].tolist() == [5.0, *x[1:]]
    assert compiled(x)[1:] == (pytest.approx([5.0, *x[1:]]), True)
    assert compiled.cache_info().traces == 1


def _locked(x):
    y = np.zeros(3)
    y.flags.writeable = False
    return y


READ_ONLY = {
    "locked": _locked,
    "repeated": lambda x: np.broadcast_to(np.zeros(1), (3,)),
    "of bytes": lambda x: np.frombuffer(b"\0" * 24),
    "a diagonal": lambda x: np.eye(3).diagonal(),
}


@pytest.mark.parametrize("make", READ_ONLY.values(), ids=READ_ONLY)
@pytest.mark.parametrize("write", [lambda y, x: y.__setitem__(0, x[0]), lambda y, x: y.__iadd__(x)])
def test_what_numpy_does_not_write_to_is_not_written(make, write) -> None:
    def f(x):
        y = make(x)
        try:
            write(y, x)
        except ValueError:
            return x.sum() * 7.0
        return y.sum()

    for transformed in (tg.compile(f), lambda x: tg.value_and_grad(f)(x)[0]):
        for _ in range(2):
            assert transformed(np.ones(3)) == 21.0


def test_a_view_that_is_locked_stays_so() -> None:
    def f(x):
        y = np.zeros(3)
        v = y[1:]
        v.flags.writeable = False
        y[1] = x[0]
        v[0] = x[1]
        return y.sum()

    for transform in (tg.compile, tg.grad):
        with (
            pytest.warns(tg.errors.RecompileWarning, match="which others may hold"),
            pytest.raises(ValueError, match="read-only"),
        ):
            transform(f)(np.ones(3))
