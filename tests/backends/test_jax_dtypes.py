"""What ops of whole numbers and Python's numbers give has a dtype in JAX, as in NumPy.

JAX takes ``k ** 0.5`` of int64 for a number of Python's, which is float32 beside float32. Each op
is followed by one with a narrower array, with a program and without one.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import tracegrad as tg
from tracegrad.values.jax_library import wide_types

jnp = pytest.importorskip("jax.numpy")

K = np.array([3, 1, 2])

POWERS = {
    "k ** 1.0": lambda k: k**1.0,
    "k ** 0.5": lambda k: k**0.5,
    "k ** -1.0": lambda k: k**-1.0,
    "power(k, 2.0)": lambda k: np.power(k, 2.0),
    "2.0 ** k": lambda k: 2.0**k,
    "2.0 ** k[0]": lambda k: 2.0 ** k[0],
    "sum(k) ** 0.5": lambda k: np.sum(k) ** 0.5,
    "count_nonzero(k) ** 0.5": lambda k: np.count_nonzero(k) ** 0.5,
    "argmax(k) ** 2.0": lambda k: np.argmax(k) ** 2.0,
    "(k > 1) ** 0.5": lambda k: (k > 1) ** 0.5,
    "int(k[0]) ** 0.5 * k": lambda k: int(k[0]) ** 0.5 * k,
    "int(k[0]) * 0.5 * k": lambda k: int(k[0]) * 0.5 * k,
    "2.0 ** int(k[0]) * k": lambda k: 2.0 ** int(k[0]) * k,
}
BINARY = {
    "k + 2.5": lambda k: k + 2.5,
    "2.5 - k": lambda k: 2.5 - k,
    "k * 2.5": lambda k: k * 2.5,
    "k / 2": lambda k: k / 2,
    "2.5 / k": lambda k: 2.5 / k,
    "k // 2.5": lambda k: k // 2.5,
    "k % 2.5": lambda k: k % 2.5,
    "k + 2": lambda k: k + 2,
    "k ** 2": lambda k: k**2,
    "(k > 1) + 1": lambda k: (k > 1) + 1,
    "(k > 1) * 2.5": lambda k: (k > 1) * 2.5,
    "sum(k) * 2.5": lambda k: np.sum(k) * 2.5,
    "maximum": lambda k: np.maximum(k, 2.5),
    "arctan2": lambda k: np.arctan2(k, 2),
    "hypot": lambda k: np.hypot(k, 2.5),
    "copysign": lambda k: np.copysign(k, -2.5),
    "fmod": lambda k: np.fmod(k, 2.5),
    "heaviside": lambda k: np.heaviside(k, 0.5),
    "where": lambda k: np.where(k > 1, k, 2.5),
    "where of numbers": lambda k: np.where(k > 1, 2, 1.5),
    "clip": lambda k: np.clip(k, 0.5, 2.5),
    "float_power": lambda k: np.float_power(k, 2),
}
JOINED = {
    "full": lambda k: np.full(3, 2.5) + k,
    "full_like": lambda k: np.full_like(k, 2),
    "array": lambda k: np.array(2.5) * k,
    "append": lambda k: np.append(k, 2.5)[1:],
    "append a whole number": lambda k: np.append(k, 2)[1:],
    "diff": lambda k: np.diff(k, append=2.5),
    "stack": lambda k: np.stack([k[0], 2.5, 1.0]),
    "stack of whole numbers": lambda k: np.stack([k[0], 300, 1]),
    "select": lambda k: np.select([k > 1], [k], 2.5),
}
OPS = {**POWERS, **BINARY, **JOINED}


def followed(op):
    def f(k, y):
        r = op(k)
        return r, r + y, y * r, np.maximum(r, y), np.where(y > 0, r, y)

    return f


@pytest.fixture(params=[True, False], ids=["a program", "no program"])
def compiles(request, monkeypatch):
    monkeypatch.setattr(tg.config, "compile", request.param)


@pytest.mark.parametrize("op", OPS.values(), ids=OPS)
@pytest.mark.parametrize("dtypes", ["int64 float32", "uint8 float16", "bool float32"])
def test_what_follows_has_numpys_dtype(op, dtypes, compiles):
    k, y = (x.astype(dtype) for x, dtype in zip((K, np.ones(3)), dtypes.split(), strict=True))
    expected = followed(op)(k, y)
    with wide_types(True):
        given = jnp.array(k), jnp.array(y)
    found = tg.compile(followed(op), backend="jax")(*given)
    assert [x.dtype for x in found] == [x.dtype for x in expected]
    assert not any(x.weak_type for x in found)
    for x, exact in zip(found, expected, strict=True):
        assert_allclose(x, exact, rtol=1e-2 if exact.dtype == np.float16 else 1e-6)


@pytest.mark.parametrize("op", POWERS.values(), ids=POWERS)
def test_what_follows_in_bfloat16(op, compiles):
    k, y = jnp.array(K), jnp.ones(3, jnp.bfloat16)
    first, *others = tg.compile(followed(op), backend="jax")(k, y)
    assert not first.weak_type
    assert {x.dtype for x in others} == {np.dtype("float64")}


@pytest.mark.parametrize("exponent", [1.0, 2.0, 0.5])
def test_no_digit_is_lost(exponent):
    k, y = np.array([16777217, 3]), np.zeros(2, np.float32)
    f = tg.compile(lambda k, y: k**exponent + y, backend="jax")
    for _ in range(2):
        assert f(k, y).dtype == np.float64
        assert f(k, y)[0] == 16777217.0**exponent


@pytest.mark.parametrize(
    "f",
    [
        lambda y, k: np.sum(k**0.5 * y),
        lambda y, k: np.sum(np.sum(k) ** 0.5 + y),
        lambda y, k: np.sum(2.0 ** k[1] * y),
        lambda y, k: np.sum(np.append(k, 2.5)[1:] * y),
    ],
)
def test_values_beside_gradients(f):
    y = np.ones(3, np.float32)
    value, gradient = tg.value_and_grad(f, backend="jax")(y, K)
    exact, slope = tg.value_and_grad(f, backend="numpy")(y, K)
    assert (value.dtype, gradient.dtype) == (exact.dtype, slope.dtype)
    assert_allclose(value, exact)
    assert_allclose(gradient, slope, rtol=1e-6)
