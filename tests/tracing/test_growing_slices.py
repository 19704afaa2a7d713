"""Slices whose width turns count stay slices in loops: ``x[:i]``, ``A[i, i + 1 :]``, ``L[i, :j]``.

One program is for all lengths. Bits are those of eager runs, signs of zeros too where a slice has
an end of its axis. What cannot be a loop is unrolled, and right.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from checks import assert_same_bits
from programs import PROGRAMS

import tracegrad as tg


def named(name):
    (program,) = (p for p in PROGRAMS if p.name == name)
    return program.make(np)


def sums(x):
    total = 0.0
    for i in range(1, len(x)):
        total = total + np.sum(x[:i] * 2.0) ** 2
    return total


def deviations(x):
    total = 0.0
    for i in range(1, len(x)):
        total = total + (x[i] - np.mean(x[:i])) ** 2
    return total


def extremes(x):
    y = np.zeros(len(x))
    for i in range(len(x)):
        y[i] = np.max(x[: i + 1]) - np.min(x[i:])
    return np.sum(y**2)


def pairs(x):
    energy = 0.0
    for i in range(len(x) - 1):
        d = x[i] - x[i + 1 :]
        energy = energy + np.sum(np.exp(-d * d))
    return energy


def both_ends(x):
    total = 0.0
    for i in range(1, len(x)):
        total = total + x[:i] @ x[:i][::-1] + np.sum(x[len(x) - i :] * x[:i])
    return total


def middle(x):
    total = 0.0
    for i in range(1, len(x) - 3):
        total = total + np.sum(x[1 : i + 1] * x[:i]) * np.prod(x[i : i + 2])
    return total


def cumulated(x):
    total = 0.0
    for i in range(1, len(x)):
        y = np.cumsum(x[:i])
        total = total + y[-1] * y[0] + np.sum(np.diff(x[: i + 1]) ** 2)
    return total


def joined(x):
    total = 0.0
    for i in range(1, len(x)):
        total = total + np.concatenate([x[:i] * 2.0, x[i:]]) @ x
    return total


def beside_one(x):
    total = 0.0
    for i in range(1, len(x)):
        total = total + np.sum(x[:i] * x[0:1] + x[:i][-1])
    return total


def softmaxes(x):
    total = 0.0
    for i in range(1, len(x)):
        e = np.exp(x[:i] - np.max(x[:i]))
        total = total + (e / e.sum()) @ x[:i]
    return total


def products(x):
    total = 0.0
    for i in range(1, len(x)):
        total = total + np.sum(x[:i, None] * x[None, i:])
    return total


def in_helper(x):
    def part(i):
        return np.sum(x[:i] * 3.0) ** 2

    return sum(part(i) for i in range(1, len(x)))


def gathered(x):
    return np.sum(np.stack([np.sum(x[:i]) for i in range(1, len(x))]) ** 2)


def written(x):
    y = np.zeros(len(x))
    for i in range(len(x)):
        y[i:] = y[i:] + x[i]
        y[:i] *= 0.9
    return np.sum(y**2)


def levinson(x):
    n, e = len(x) - 1, x[0] * x[0] + 30.0
    a = np.zeros(n)
    for k in range(n):
        reflection = (x[k + 1] - a[:k] @ x[1 : k + 1][::-1]) / e
        a[:k] = a[:k] - reflection * a[:k][::-1]
        a[k] = reflection
        e = e * (1.0 - reflection * reflection)
    return e + np.sum(a)


def left_early(x):
    total = 0.0
    for i in range(len(x)):
        total = total + np.sum(x[: i + 1] ** 2)
        if total > 40.0:
            break
    return total + np.sum(x[:i])


def in_arms(x):
    total = 0.0
    for i in range(len(x)):
        if x[i] > 0:
            total = total + np.sum(x[:i]) ** 2
        else:
            total = total - np.sum(np.sin(x[i:]))
    return total


def nested(x):
    table, total = np.outer(x, x), 0.0
    for i in range(len(x)):
        for j in range(i):
            total = total + table[i, j:i] @ table[j, j:i]
        for j in range(i + 1, len(x)):
            total = total + np.sum(x[i:j]) * x[j]
    return total


def squares(x):
    table, total = np.outer(x, np.cos(x)), 0.0
    for i in range(1, len(x)):
        part = table[:i, :i]
        total = total + np.trace(part @ part.T)
    return total


def made_alike(x):
    total = 0.0
    for i in range(1, len(x)):
        total = total + np.sum(np.full_like(x[:i], 2.0)) * x[i]
        if total > 40.0:
            total = total * np.sum(np.ones_like(x[i:])) * 0.01
    return total


LOOPS = [
    *(sums, deviations, extremes, pairs, both_ends, middle, cumulated, joined, beside_one),
    *(softmaxes, products, in_helper, gathered, written, levinson, left_early, in_arms, nested),
    *(squares, made_alike),
]
SOLVERS = [
    *("back_substitution", "cholesky_of_rows", "gauss_elimination", "gram_schmidt"),
    "causal_attention",
]


def given(length):
    x = np.random.default_rng(length).normal(size=length)
    x[length // 2] = 0.0
    return x


def eagerly(function, *args):
    tg.config.compile = False
    try:
        return function(*args)
    finally:
        tg.config.compile = True


def assert_same_as_eager(function, lengths, **options):
    compiled = tg.value_and_grad(function, **options)
    for length in lengths:
        x = given(length)
        assert_same_bits(compiled(x), eagerly(compiled, x))
    return compiled


@pytest.mark.parametrize("function", LOOPS, ids=lambda f: f.__name__)
def test_one_program_is_for_all_lengths(function):
    compiled = assert_same_as_eager(function, [12, 13, 40, 31])
    assert "unrolled" not in compiled.explain()
    assert len(compiled.source(given(12)).splitlines()) == len(
        compiled.source(given(60)).splitlines()
    )
    before = compiled.cache_info().traces
    compiled(given(25))
    assert compiled.cache_info().traces == before <= 3


@pytest.mark.parametrize("function", LOOPS, ids=lambda f: f.__name__)
def test_few_turns_are_right(function):
    assert_same_as_eager(function, [7, 5, 4])


@pytest.mark.usefixtures("fresh_loops")
@pytest.mark.parametrize("name", SOLVERS)
def test_linear_algebra_by_hand(name):
    compiled = tg.value_and_grad(named(name))
    for n in (12, 14, 30):
        args = arguments(name, n)
        assert_same_bits(compiled(*args), eagerly(compiled, *args))
    assert "unrolled" not in compiled.explain()
    assert len(compiled.source(*arguments(name, 12)).splitlines()) < 130


def arguments(name, n):
    draw = np.random.default_rng(n).normal
    if name == "causal_attention":
        return draw(size=(n, 3)), draw(size=(n, 3)), draw(size=(n, 2))
    if name in ("back_substitution", "gauss_elimination"):
        return draw(size=(n, n)), draw(size=n)
    return (draw(size=(n, n)),)


@pytest.mark.parametrize("function", [sums, pairs, written, nested], ids=lambda f: f.__name__)
@pytest.mark.parametrize("fast_math", [False, True])
def test_other_transforms(function, fast_math):
    x, v = given(12), given(13)[:12]
    tg.config.fast_math = fast_math
    try:
        found = [
            tg.jvp(function, (x,), (v,)),
            tg.hvp(function, (x,), (v,)),
            tg.vmap(tg.grad(function))(np.stack([x, v])),
            tg.value_and_grad(tg.checkpoint(function, max_bytes=2000))(x),
        ]
    finally:
        tg.config.fast_math = False
    expected = [
        eagerly(tg.jvp, function, (x,), (v,)),
        eagerly(tg.hvp, function, (x,), (v,)),
        np.stack([eagerly(tg.grad(function), y) for y in (x, v)]),
        eagerly(tg.value_and_grad(function), x),
    ]
    for one, other in zip(found, expected, strict=True):
        pairs_of = zip(one, other, strict=True) if isinstance(one, tuple) else [(one, other)]
        for a, b in pairs_of:
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("function", [sums, deviations, levinson], ids=lambda f: f.__name__)
def test_numba_and_float32(function):
    pytest.importorskip("numba")
    compiled = tg.value_and_grad(function, backend="numba")
    single = tg.value_and_grad(function)
    for length in (12, 20, 12):
        x = given(length)
        assert_same_bits(compiled(x), eagerly(compiled, x))
        x = x.astype(np.float32)
        assert_same_bits(single(x), eagerly(single, x))


@pytest.mark.parametrize("function", [sums, pairs, extremes, nested], ids=lambda f: f.__name__)
def test_jax_unrolls_them(function):
    pytest.importorskip("jax")
    compiled = tg.value_and_grad(function, backend="jax")
    x = given(9)
    value, gradient = compiled(x)
    expected = eagerly(tg.value_and_grad(function), x)
    np.testing.assert_allclose(value, expected[0], rtol=1e-12)
    np.testing.assert_allclose(gradient, expected[1], rtol=1e-10, atol=1e-13)


def of_length(x):
    total = 0.0
    for i in range(1, len(x)):
        y = x[:i]
        total = total + np.sum(y) / len(y) + y.shape[0]
    return total


def made(x):
    total = 0.0
    for i in range(1, len(x)):
        z = np.zeros(i)
        z[:] = x[:i]
        total = total + np.sum(z * np.arange(i))
    return total


def carried(x):
    total, before = 0.0, x[:0]
    for i in range(1, len(x)):
        total = total + np.sum(before) * x[i]
        before = x[:i]
    return total


def kept(x):
    parts = []
    for i in range(1, len(x)):
        parts.append(x[:i] * x[i])
    return sum(np.sum(part**2) for part in parts)


def handed_out(x):
    for i in range(len(x)):
        y = x[: i + 1] * 2.0
        if np.sum(y) > 3.0:
            break
    return np.sum(y * y)


def left_between(x):
    total = 0.0
    for i in range(1, len(x) - 2):
        total = total + np.sum(x[i + 1 :] ** 2)
        if total > 20.0:
            break
        total = total + np.mean(x[: i + 1])
    return total


def cut_off(x):
    total = 0.0
    for i in range(len(x)):
        total = total + np.sum(x[: i + 3] ** 2) + np.sum(x[max(0, i - 2) : i + 1])
    return total


@pytest.mark.parametrize(
    "function",
    [of_length, made, carried, kept, handed_out, left_between, cut_off],
    ids=lambda f: f.__name__,
)
def test_what_is_no_loop_is_right(function):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert_same_as_eager(function, [12, 9, 20, 12, 2])
