"""Functions that read and write slices enter: their gradients, and what is written for them."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest
from checks import assert_same_bits, forget_eager_backwards, run_eagerly, split

import tracegrad as tg
from codegen.spelling import Subscript
from tracegrad.ops.index_bounds import apart

ENDS = (None, 0, 1, 2, 4, -1, -2, -4)
ITEMS = (0, 1, 3, -1, -3, *(slice(a, b, s) for a in ENDS for b in ENDS for s in (None, 2, -1)))


def named(item: Any, length: int) -> set[int]:
    """The places that an item names; none where there is no such index."""
    places = np.arange(length)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return set(np.atleast_1d(places[item]).tolist())
        except IndexError:
            return set()


def test_indices_that_are_apart_have_no_place_in_common() -> None:
    found = 0
    where = {item_text(i): [named(i, n) for n in range(8)] for i in ITEMS}
    for one, other in itertools.product(ITEMS, repeat=2):
        if apart(Subscript((one,)), Subscript((other,))):
            found += 1
            for a, b in zip(where[item_text(one)], where[item_text(other)], strict=True):
                assert not a & b, (one, other)
    assert found > 500
    whole = slice(None)
    assert apart(Subscript((whole, 0)), Subscript((whole, slice(1, None))))
    assert not apart(Subscript((..., 0)), Subscript((..., 1, 0)))
    assert not apart(Subscript((None, 0)), Subscript((0, 1)))


def item_text(item: Any) -> str:
    return repr(item)


def apart_in_parts(x, m):
    a, b = x[:3], x[3:]
    even, odd = m[:, ::2], m[:, 1::2]
    return np.sum(a * 2.0) * np.sum(b**2) + np.sum(even[:, :1] * odd[:, :1]) - m[0, 1] * m[1, 0]


def parameters(x, m):
    a, b, c = x[0], x[1], x[2]
    return np.sum((a * np.exp(-b * m) - c) ** 2)


def stencil(x, m):
    lap = m[2:, 1:-1] + m[:-2, 1:-1] + m[1:-1, 2:] + m[1:-1, :-2] - 4.0 * m[1:-1, 1:-1]
    d = x[2:] - 2.0 * x[1:-1] + x[:-2]
    return np.sum(lap**2) * np.sum(d * x[1:-1])


def diffusion(x, m):
    u, w = x * 1.0, m * 2.0
    for _ in range(3):
        u[1:-1] += 0.1 * (u[2:] - 2.0 * u[1:-1] + u[:-2])
        w[1:] -= w[:-1] * 0.3
        w[0] += w[1]
        w[1, 2] -= w[0, 0] * 0.5
        u[-1] += u[0]
    return np.sum(u**2) * np.sum(w**3)


def broadcast_and_shadowed(x, m):
    w = m * 2.0
    w[1:] += x[0]
    part = w[:1]
    w[1:, :2] -= x[:2]
    w[2:] += w[:1] + part
    w[::2] += 1
    return np.sum(w**2 * m)


def written_elsewhere(x, m):
    u, w = x * 1.0, x * 2.0
    t = u[1:]
    t = t + w[1:]
    w[1:] = t  # not where it was read
    u[:-1] = u[1:] + 1.0
    rows = [m[0] * 1.0, m[1] * 2.0]
    rows[0] += x[: m.shape[1]]
    return np.sum(u * w) + np.sum(rows[0] * rows[1])


FUNCTIONS = [
    apart_in_parts,
    parameters,
    stencil,
    diffusion,
    broadcast_and_shadowed,
    written_elsewhere,
]


def arguments(n: int, rows: int = 5, columns: int = 6) -> list[np.ndarray]:
    random = np.random.default_rng(n)
    return [random.normal(size=n), random.normal(size=(rows, columns))]


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_gradients_of_slices_are_the_same_in_every_mode(f: Any) -> None:
    compiled = tg.value_and_grad(f, (0, 1))
    for args in (arguments(9), arguments(6, 4, 6), arguments(300)):
        forget_eager_backwards()
        first = run_eagerly(f, args, (0, 1))
        for how in ({}, {}, {"create_graph": True}):
            assert_same_bits(run_eagerly(f, args, (0, 1), **how), first)
        for _ in range(2):
            assert_same_bits(split(compiled(*args)), first)
    assert tg.autograd.gradcheck(
        lambda *a: f(*a), [tg.tensor(a, requires_grad=True) for a in arguments(8)]
    )
    assert tg.autograd.gradgradcheck(
        lambda *a: f(*a), [tg.tensor(a, requires_grad=True) for a in arguments(6, 4, 4)]
    )


@pytest.mark.parametrize("f", FUNCTIONS[:4], ids=lambda f: f.__name__)
def test_zeros_of_both_signs_are_the_same_in_every_mode(f: Any) -> None:
    args = [np.zeros(7), -np.zeros((4, 5))]
    forget_eager_backwards()
    first = run_eagerly(f, args, (0, 1))
    assert_same_bits(run_eagerly(f, args, (0, 1)), first)
    assert_same_bits(split(tg.value_and_grad(f, (0, 1))(*args)), first)


def body(f: Any, *args: Any) -> str:
    text = tg.grad(f).source(*args)
    return text[text.index("# backward") :]


def test_what_is_apart_is_written_and_not_added() -> None:
    text = body(parameters, *arguments(4))
    assert "x_bar[2] = " in text and "x_bar[0] = " in text and "+=" not in text.split("x_bar =")[1]
    text = body(lambda x: np.sum(x[:4] ** 2) * np.sum(x[4:]), np.ones(9))
    assert "x_bar[4:] = " in text and "x_bar[:4] = " in text


def test_adding_to_a_slice_takes_nothing_out_and_puts_nothing_back() -> None:
    def f(x, v):
        y = x * 2.0
        y[1:] += v
        return np.sum(y**2)

    text = tg.grad(f, (0, 1)).source(np.ones(4), np.ones(3))
    assert ".copy()" not in text and "= 0.0" not in text
    assert "    y_2 = y[1:]\n    y_2 += v\n" in text


def test_a_variable_of_the_users_keeps_its_name_beside_the_emitters() -> None:
    def f(x):
        part = np.exp(x)
        y = x * part
        y[1:] += part[:-1] * x[0]
        return np.sum(y * part)

    x = np.linspace(-1.0, 1.0, 6)
    assert "part = np.exp(x)" in tg.grad(f).source(x)
    assert_same_bits(split(tg.value_and_grad(f)(x)), run_eagerly(f, (x,)))


def test_lengths_are_not_asked_of_a_variable_that_has_become_a_part() -> None:
    def f(x, z):
        a = np.stack([x, x * 2.0])
        for row in a[::-1]:
            row += a[0]
            a[-1:1:1, :-1:1, -1::-1] += z * 2.0
        return np.sum(np.sin(x)), (row, np.zeros_like(a))

    x, z = np.ones((2, 3, 3)), np.ones((3, 3))
    found, expected = tg.compile(f)(x, z), f(x, z)
    assert found[1][1].shape == expected[1][1].shape == (2, 2, 3, 3)
    np.testing.assert_allclose(found[1][0], expected[1][0], rtol=1e-14)


def test_a_pull_asks_no_lengths_of_a_part() -> None:
    def f(x):
        y = np.cumsum(x)
        v = np.moveaxis(y, 0, -1)[1:]
        v += -1.5
        np.atleast_2d(v)[...] += v
        return np.sum(np.sin(v)) + np.sum(y)

    x = np.array([0.1, 0.5, 0.9])
    expected = tg.grad(f)(x)
    for _ in range(3):  # interpreted, then compiled
        _, pull = tg.vjp(f, x)
        np.testing.assert_allclose(pull(1.0)[0], expected, rtol=1e-12)
