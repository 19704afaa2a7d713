"""Arrays of one number without axes, in compiled functions: the number is one of their dtype."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg

NUMBERS = (0, 1, 2, -1, 0.5, 2.7, True, np.int64(300), np.float32(2.5))
DTYPES = ("bool", "int8", "uint8", "int64", "float16", "float32", "float64", "complex64")

MADE = {
    "full_like": lambda x, v, d: np.full_like(x, v, dtype=d),
    "full_like of a comparison": lambda x, v, d: np.full_like(x > 0, v, dtype=d),
    "full": lambda x, v, d: np.full((), v, dtype=d),
    "full of its shape": lambda x, v, d: np.full(x.shape, v, dtype=d),
}


def outcome(f: Any, *args: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return f(*args)
        except (OverflowError, ValueError, TypeError) as error:
            return type(error)


def same(found: Any, expected: Any) -> None:
    if isinstance(expected, type):
        assert found is expected
    else:
        assert not isinstance(found, type), found
        assert_same_bits(np.asarray(found), np.asarray(expected))


@pytest.mark.parametrize("backend", [None, "jax", "numba"])
@pytest.mark.parametrize("number", [0, 2, -1, 2.7, 2.5])
def test_a_number_in_bools_is_a_bool(number, backend):
    if backend is not None:
        pytest.importorskip(backend)
    for f in (
        lambda x: np.full_like(x > 0, number) * x,
        lambda x: np.full_like(x > 0, number) + np.full_like(x > 0, number),
        lambda x: np.full((), number, dtype=bool) * x,
        lambda x: x + np.full_like(x, number, dtype=bool),
    ):
        compiled = tg.compile(f, backend=backend)
        for x in (np.array(2.0), np.array(3.0), np.array([2.0, 3.0])):
            same(outcome(compiled, x), outcome(f, x))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", MADE)
def test_numbers_are_of_the_dtype(name, dtype):
    def filled(number, use):
        return lambda x: use(MADE[name](x, number, dtype), x)

    for number in NUMBERS:
        for use in (lambda y, x: y, lambda y, x: y * x, lambda y, x: y + y):
            f = filled(number, use)
            for x in (np.array(2.0), np.array(3, np.int8), np.array(True)):
                same(outcome(tg.compile(f), x), outcome(f, x))


@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_complex_numbers_lose_their_imaginary_part(dtype):
    f = lambda x: np.full_like(x, 1 + 2j, dtype=dtype)
    for x in (np.array(2.0), np.array([2.0])):
        same(outcome(tg.compile(f), x), outcome(f, x))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_numbers_that_do_not_fit_are_refused_as_by_numpy(dtype):
    def filled(number):
        return lambda x: np.full_like(x, number)

    for number in (2**15, -(2**15) - 1, np.int64(2**15), np.int64(-1)):
        f = filled(number)
        for shape in ((), (2,)):
            x = np.ones(shape, dtype)
            same(outcome(tg.compile(f), x), outcome(f, x))


@pytest.mark.parametrize("shape", [(), (2,), (1, 2)])
def test_arrays_like_those_of_bfloat16(shape):
    jnp = pytest.importorskip("jax").numpy
    x = np.full(shape, 1.5, jnp.bfloat16)
    for f in (
        np.zeros_like,
        np.ones_like,
        lambda x: np.ones_like(x) * x,
        lambda x: np.zeros_like(x) + x,
        lambda x: np.full_like(x, 2.5),
        lambda x: np.empty_like(x) * 0,
        lambda x: np.ones_like(x, dtype="float32") * x,
    ):
        found = tg.compile(f, backend="jax")(x)
        assert found.dtype == f(x).dtype and found.shape == shape
        assert np.array_equal(np.asarray(found, np.float32), np.asarray(f(x), np.float32))
    slope = tg.grad(lambda x: (np.ones_like(x) * x).sum(), backend="jax")(x)
    assert slope.dtype == jnp.bfloat16 and np.all(np.asarray(slope, np.float32) == 1.0)
