"""Numbers of subclasses of int, float and complex: beside arrays NumPy takes them as its own."""

from __future__ import annotations

import enum

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.errors import DTypeError


class Order(enum.IntEnum):
    CUBE = 3


class Rate(float, enum.Enum):
    HALF = 0.5


class Degrees(float):
    pass


class Whole(int):
    pass


class Phase(complex):
    pass


def written(x, v):
    x = x.copy()
    x[0] = v
    return x


def added(x, v):
    x = x.copy()
    x += v
    return x


def loop(x, v):
    s = x[0] * 0
    for i in range(len(x)):
        s = s * 0.5 + x[i] * v
    return s


FUNCTIONS = {
    "power": lambda x, v: x**v,
    "base": lambda x, v: v**x,
    "np.power": lambda x, v: np.power(x, v),
    "power of an element": lambda x, v: x[0] ** v,
    "product": lambda x, v: x * v,
    "quotient": lambda x, v: v / x,
    "of an element": lambda x, v: x[0] * v,
    "where": lambda x, v: np.where(x > 1, x, v),
    "written": written,
    "maximum": lambda x, v: np.maximum(x, v),
    "stack": lambda x, v: np.array([v, x[0]]),
    "loop": loop,
    "of Python": lambda x, v: x * (v + 1) * (2.0 * v),
}
VALUES = [Order.CUBE, Rate.HALF, Degrees(0.3), Whole(2), Whole(-1)]


def outcome(f, *args):
    try:
        found = f(*args)
    except (TypeError, ValueError) as error:
        return ValueError if isinstance(error, ValueError) else TypeError
    return type(found), found.dtype, found.tolist()


@pytest.mark.parametrize("compiles", [True, False], ids=["compiled", "eager"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
@pytest.mark.parametrize("value", VALUES, ids=repr)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_beside_arrays(name, value, dtype, compiles, monkeypatch):
    monkeypatch.setattr(tg.config, "compile", compiles)
    f = FUNCTIONS[name]
    x = np.arange(1, 12).astype(dtype)
    held, given = tg.compile(lambda x: f(x, value)), tg.compile(f)
    for v in (x, x + 1, x):
        expected = outcome(f, v, value)
        assert outcome(held, v) == expected
        assert outcome(given, v, value) == expected


def test_added_in_place():
    x = np.ones(3, np.float32)
    for value in (Order.CUBE, Degrees(0.25)):
        assert outcome(tg.compile(added), x, value) == outcome(added, x, value)


def test_complex_numbers():
    x = np.ones(2, np.float32)
    found = tg.compile(lambda x: x * Phase(1j))
    assert outcome(found, x) == outcome(found, x) == outcome(lambda x: x * Phase(1j), x)


def test_versions_tell_the_classes_apart():
    f = tg.compile(lambda x, v: x * v)
    x = np.ones(2, np.float32)
    for v in (Degrees(0.5), 0.5, Degrees(0.25), np.float64(0.5), Whole(2), 2) * 2:
        assert outcome(f, x, v) == outcome(lambda x, v: x * v, x, v)


def test_beside_numbers_of_python():
    product = tg.compile(lambda v: v * Degrees(0.5))
    assert repr(product(2.0)) == repr(product(2.0)) == "1.0"
    assert tg.grad(lambda v: v**Order.CUBE)(2.0) == 12.0


def test_gradients():
    x = np.array([1.0, 2.0])
    value, slope = tg.value_and_grad(lambda x: np.sum(x**Order.CUBE * Rate.HALF))(x)
    assert value == 4.5
    assert slope.tolist() == [1.5, 6.0]


@pytest.mark.parametrize("compiles", [True, False], ids=["compiled", "eager"])
def test_what_no_dtype_holds_is_refused(compiles, monkeypatch):
    monkeypatch.setattr(tg.config, "compile", compiles)
    with pytest.raises(DTypeError, match="of class Whole: no dtype of NumPy's holds it"):
        tg.value_and_grad(lambda x: np.sum(x * Whole(2**80)))(np.ones(2))
