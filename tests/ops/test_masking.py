"""Choices between a number and zero: by bits for many elements, with the bits of ``np.where``."""

from __future__ import annotations

import re

import numpy as np
import pytest
from checks import assert_same_bits

import tracegrad as tg
from tracegrad.ops.elementwise.ufuncs import halve_where
from tracegrad.ops.masking import keep_where, zero_where

SPECIAL = (np.nan, np.inf, -np.inf, -0.0, 0.0, 5e-324)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shapes", [((6,), (6,)), ((6000,), (6000,)), ((5000, 1), (5000, 3))])
def test_the_bits_are_those_of_where(dtype, shapes) -> None:
    random = np.random.default_rng(0)
    mask, x = random.random(shapes[0]) < 0.5, random.normal(size=shapes[1]).astype(dtype)
    x.reshape(-1)[: len(SPECIAL)] = SPECIAL
    assert_same_bits(keep_where(mask, x), np.where(mask, x, np.zeros((), dtype)))
    assert_same_bits(zero_where(mask, x), np.where(mask, np.zeros((), dtype), x))
    assert_same_bits(keep_where(mask.T, x.T), np.where(mask.T, x.T, np.zeros((), dtype)))
    assert_same_bits(
        zero_where(mask[::2], x[::2]), np.where(mask[::2], np.zeros((), dtype), x[::2])
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("turn", [lambda x: x, lambda x: x.T, lambda x: x[::2], lambda x: x[:, :1]])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("n", [0, 5, 6000])
def test_ties_are_halved_and_losers_are_zero(dtype, turn, ties, n) -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(n, 4)).astype(dtype)
    x.reshape(-1)[: len(SPECIAL)] = SPECIAL[: x.size]
    lost, tied = random.random((2, n, 4)) < 0.3
    tied = tied & ties
    x, lost, tied = turn(x), turn(lost), turn(tied)
    zero, half = (np.asarray(number, dtype) for number in (0.0, 0.5))
    expected = np.where(lost, zero, np.where(tied, half * x, x))
    found = halve_where(x, lost, tied)
    assert_same_bits(found, expected)
    assert found.strides == expected.strides and not np.shares_memory(found, x)


def choices(x, w):
    h = np.maximum(x @ w, 0.0)
    h = np.where(h > 0.5, h * h, np.sqrt(tg.relu(h - 0.2) + 1.0))
    return np.sum(np.clip(h, 0.2, 3.0) * x[:, :1])


@pytest.mark.parametrize("n", [0, 3, 5000])
def test_masked_gradients_are_the_same_compiled_and_eagerly(n) -> None:
    random = np.random.default_rng(1)
    arrays = [random.normal(size=(n, 4)), random.normal(size=(4, 3))]
    compiled = tg.grad(choices, argnums=(0, 1))(*arrays)
    for _ in range(3):  # interpreted, compiled, recognised
        tensors = [tg.tensor(a, requires_grad=True) for a in arrays]
        choices(*tensors).backward()
        for found, tensor in zip(compiled, tensors, strict=True):
            assert_same_bits(found, tensor.grad.numpy())


def test_a_mask_of_one_number_needs_no_bits() -> None:
    source = tg.grad(lambda x, y: np.sum(np.maximum(x, y)) * 2.0)
    text = str(source.source(np.float64(1.0), np.float64(2.0)))
    assert "zero_inside" not in text


def of_untaken_roots(x):
    inner = np.where(x > 1.0, np.log(x - 1.0), x)
    return np.sum(np.where(x > 0.0, np.sqrt(x) * inner, x * x))


def slope_of(f):
    return lambda x: np.sum(tg.grad(f)(x) * x)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(
    "derivative",
    [
        lambda f: tg.grad(slope_of(f)),
        lambda f: tg.grad(slope_of(slope_of(f))),
        lambda f: tg.grad(lambda x: np.sum(tg.jacfwd(f)(x) * x)),
        lambda f: tg.jacrev(lambda x: tg.hvp(f, (x,), (x,))),
        lambda f: tg.jacrev(tg.jacfwd(f)),
        lambda f: tg.jacfwd(tg.hessian(f)),
        lambda f: tg.hessian(lambda x: np.sum(tg.vjp(f, x)[1](1.0)[0] * x)),
    ],
    ids=["gg", "ggg", "gF", "R-hvp", "RF", "FH", "H-vjp"],
)
def test_what_was_not_taken_is_zero_in_derivatives_of_any_order(compiled, derivative, monkeypatch):
    monkeypatch.setattr(tg.config, "compile", compiled)
    x = np.array([0.7, -2.0, 1.5])
    with np.errstate(all="ignore"):
        found = derivative(of_untaken_roots)(x)
        assert np.all(np.isfinite(found))
        for i, value in enumerate(x):
            single = derivative(of_untaken_roots)(np.array([value]))
            np.testing.assert_allclose(found[(i,) * found.ndim], single.ravel()[0], rtol=1e-12)


def test_a_choice_of_one_value_is_that_value():
    """What is left of a derivative where both branches hand on the same cotangent."""

    def stepped(x, taken):
        return np.sum(np.where(taken, x + np.tanh(x), x) * x)

    def chosen(x, taken):
        return np.where(taken, x, x)

    x, taken = np.array([0.5, -0.0, np.nan]), np.array([True, False, True])
    assert "np.where(taken, x, x)" not in str(tg.compile(chosen).source(x, taken))
    found = tg.compile(chosen)(x, taken)
    assert found.tobytes() == x.tobytes() and not np.shares_memory(found, x)
    source = str(tg.grad(stepped).source(x, taken))
    assert not re.search(r"np\.where\(taken, (\w+), \1\)", source)
    wide = tg.compile(chosen)(1.0, taken)  # a number beside a mask is spread
    assert wide.shape == taken.shape
