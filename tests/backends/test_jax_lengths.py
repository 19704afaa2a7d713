"""Lengths that Python reads stay free in programs for JAX."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from checks import assert_close, run_eagerly, split, wide_jax

import tracegrad as tg

jax = pytest.importorskip("jax")
jnp = jax.numpy


# -- what functions do with lengths ---------------------------------------------------------------


def at_least(x):
    return x.sum() * 2.0 if len(x) > 3 else x.sum()


def empty(x):
    if x.shape[0] == 0:
        return x.sum() + np.zeros(())
    return (x * x).mean()


def true(x):
    return (x * x).sum() if len(x) else x.sum()


def at_most(x):
    return x.sum() / max(len(x), 4)


def equal(x):
    y = x * 2
    assert len(x) == len(y) and x.shape == y.shape
    return (x * y).sum()


def quotient(x):
    return x.sum() / len(x)


def in_sums(x):
    return x.sum() * (x.size + 2 * len(x) - 1)


def powers(x):
    return (x**2).sum() / (len(x) ** 2 + 1)


def in_floats(x):
    return (x / math.sqrt(len(x) + 1)).sum() * float(len(x)) + (1 / (len(x) + 1)) * x.sum()


def made(x):
    return (np.zeros(len(x), dtype=x.dtype) + x * np.ones(x.shape, dtype=x.dtype) * x).sum()


def counted(x):
    return (np.arange(len(x)) * x).sum()


def column(x):
    return (x.reshape(len(x), 1) * x).sum()


def cut(x):
    return (x[: len(x) - 1] * x[1:]).sum()


def last(x):
    return x[len(x) - 1] ** 2 if len(x) else x.sum()


def repeated(x):
    return (np.broadcast_to(x[:, None], (len(x), 3)) * x[:, None]).sum()


def identity(x):
    return (np.eye(len(x), dtype=x.dtype) @ (x * x)).sum()


PROGRAMS = {
    at_least: 2,
    empty: 2,
    true: 2,
    at_most: 2,
    equal: 1,
    quotient: 1,
    in_sums: 1,
    powers: 1,
    in_floats: 1,
    made: 1,
    counted: 1,
    column: 1,
    cut: 2,
    last: 2,
    repeated: 1,
    identity: 1,
}
LENGTHS = (6, 5, 0, 1, 2, 7, 4, 12)


def numbers(n, dtype="float64"):
    return np.linspace(-0.5, 1.5, n).astype(dtype)


@pytest.mark.parametrize(
    "transform, dtype, given",
    [
        (tg.value_and_grad, "float64", np.asarray),
        (tg.value_and_grad, "float32", jnp.asarray),
        (tg.compile, "float32", np.asarray),
    ],
)
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_one_program_is_for_all_lengths(f, transform, dtype, given):
    program = transform(f, backend="jax")
    close = (1e-12, 1e-12) if dtype == "float64" else (1e-5, 1e-6)
    for n in LENGTHS[:: 1 if dtype == "float64" else 2]:
        x = numbers(n, dtype)
        with np.errstate(all="ignore"):
            found, expected = program(given(x)), run_eagerly(f, (x,))
        values, slopes = split(found) if transform is tg.value_and_grad else ([found], [])
        for a, b in zip([*values, *slopes], [*expected[0], *expected[1]], strict=False):
            assert np.asarray(a).dtype == np.asarray(b).dtype
            assert_close(np.asarray(a), b, *close)
    assert program.cache_info().versions <= PROGRAMS[f]


def test_no_number_of_lengths_is_too_many():
    program = tg.compile(lambda x: x * len(x) if len(x) > 3 else x, backend="jax")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in range(40):
            assert_close(program(np.ones(n)), np.full(n, max(n, 1) if n > 3 else 1.0), 0.0)
    assert program.cache_info().versions == 2


@pytest.mark.parametrize(
    "f", [lambda x: x.sum() / len(x), lambda x: x * float(len(x)), lambda x: len(x) - x]
)
@pytest.mark.parametrize("dtype", ["float16", "int32", "int64", "bool", "complex64"])
def test_lengths_take_the_dtype_of_what_they_meet(f, dtype):
    program = tg.compile(f, backend="jax")
    for n in (6, 3, 9, 1):
        x = (np.arange(n) % 3).astype(dtype)
        if dtype == "bool" and f(x).dtype == "bool":
            continue
        found, expected = program(x), f(x)
        assert found.dtype == expected.dtype
        assert_close(found, expected, 1e-3)
    assert program.cache_info().versions == 1


def test_lengths_that_no_number_of_a_dtype_is():
    program = tg.compile(lambda x: x + len(x), backend="jax")
    assert program(np.zeros(6, np.uint8)).dtype == np.uint8
    with pytest.raises(OverflowError, match="300"):
        program(np.zeros(300, np.uint8))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x.sum() * (len(x) * len(x)),
        lambda x: x.sum() * (len(x) * 1_000_000),
        lambda x: x.sum() * (1 << 40),
    ],
)
def test_numbers_beyond_32_bits(f):
    program = tg.compile(f, backend="jax")
    for n in (10, 100_000):
        x = np.ones(n, np.float32)
        for _ in range(2):
            found = program(jnp.asarray(x))
            assert found.dtype == np.float32 and found == f(x)
    assert program.cache_info().versions == 1


def test_what_python_prints_is_looked_at():
    program = tg.compile(lambda x: (x.sum(), len(x), f"{len(x)} rows"), backend="jax")
    for n in (4, 5, 4):
        value, count, text = program(np.ones(n))
        assert (value, count, text) == (n, n, f"{n} rows") and type(count) is int


# -- inside JAX -----------------------------------------------------------------------------------


TRANSFORMS = {
    "jit": jax.jit,
    "grad": lambda f: lambda x: jax.value_and_grad(f)(x)[0],
    "vmap": lambda f: lambda x: jax.vmap(f)(jnp.stack([x, x]))[0],
    "all": lambda f: jax.jit(lambda x: jax.vmap(jax.value_and_grad(f))(x[None])[0][0]),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("f", [at_least, quotient, empty, column])
def test_inside_transforms_of_jax(f, transform):
    program = tg.compile(f)
    with wide_jax():
        inside = TRANSFORMS[transform](program)
        for n in (0, 1, 4, 20):
            with np.errstate(all="ignore"):
                found, expected = inside(jnp.asarray(numbers(n))), f(numbers(n))
            assert found.dtype == np.float64
            assert_close(np.asarray(found), expected, 1e-12)
    assert program.cache_info().versions <= PROGRAMS[f]


def test_arrays_of_jax_of_new_lengths_are_asked():
    program = tg.value_and_grad(lambda x, y: (x[:2] * y).sum() if len(x) > len(y) else x.sum())
    with wide_jax():
        for n, m in ((3, 2), (4, 2), (3, 2), (2, 2), (40, 2), (1, 2), (5, 2)):
            x, y = jnp.asarray(numbers(n)), jnp.asarray(numbers(m))
            expected = (numbers(n)[:2] * numbers(m)).sum() if n > m else numbers(n).sum()
            assert_close(np.asarray(program(x, y)[0]), expected, 1e-12)


# -- loops ----------------------------------------------------------------------------------------


def rows(w, x):
    h = w
    for row in x:
        h = np.tanh(h * w + row)
    return h.sum()


def pairs(w, x):
    total, n = w.sum(), len(x)
    for i in range(n):
        for j in range(i + 1, n):
            total = total + np.sin(x[i].sum() * x[j].sum() * total)
    return total


def backwards(w, x):
    h = w
    for i in range(len(x) - 1, -1, -1):
        h = np.tanh(h + x[i]) / len(x)
    return h.sum()


def neighbours(w, x):
    h = w
    for a, b in zip(x, x[1:]):  # noqa: RUF007
        h = np.tanh(h * a + b)
    return h.sum()


def mirrored(w, x):
    total, n = w.sum(), len(x)
    for i in range(1, n - 1):
        total = np.tanh(total + x[n - 1 - i].sum() * x[i + 1].sum() - x[i - 1].sum())
    return total


def strided(w, x):
    total, n = w.sum(), len(x)
    for i in range(n):
        for j in range(2 * i, 2 * n):
            total = np.tanh(total + x[i].sum() * j)
    return total


def columns(w, x):
    total, (n, m) = w.sum(), x.shape
    for i in range(n):
        for j in range(m):
            total = np.tanh(total + x[i, j])
    return total


def filled(w, x):
    y = np.zeros(len(x))
    for i in range(1, len(x)):
        y[i] = 0.5 * y[i - 1] + (x[i] * w).sum()
    return (y * y).sum()


def collected(w, x):
    states, h = [], w
    for i in range(len(x)):
        h = np.tanh(h + x[i])
        states.append(h)
    return (np.stack(states) ** 2).sum()


def windows(w, x):
    total, k = w.sum(), len(w)
    for i in range(len(x) - k + 1):
        total = total + np.sin((x[i : i + k].T @ w).sum())
    return total


LOOPS = [
    rows, pairs, backwards, neighbours, mirrored, strided, columns, filled, collected, windows,
]  # fmt: skip


@pytest.mark.usefixtures("fresh_loops")
@pytest.mark.parametrize("f", LOOPS, ids=lambda f: f.__name__)
def test_one_loop_is_for_all_lengths(f):
    program = tg.value_and_grad(f, argnums=(0, 1), backend="jax")
    on_numpy = tg.value_and_grad(f, argnums=(0, 1))
    w = np.linspace(0.3, 0.8, 3)
    for n in (12, 20, 14, 3, 1):
        x = np.cos(np.arange(3.0 * n).reshape(n, 3))
        assert_close(program(w, x), on_numpy(w, x), 1e-9, 1e-12)
        if n > 3:
            assert program.cache_info().versions == 1, n
    source = program.source(w, np.cos(np.arange(60.0).reshape(20, 3)))
    assert "fori_loop" in source
    if f is not backwards:  # a counter that goes down to 0
        assert "look" not in source  # every index lies within its axis
