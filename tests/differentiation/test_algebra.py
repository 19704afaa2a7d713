"""A function enters, the backward that one would write by hand leaves: what algebra has to find."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from checks import assert_close, assert_same_bits

import tracegrad as tg


def array(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape)


def slices(x):
    return np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def pairs(x):
    apart = x[:, None] - x[None]
    return np.sum(np.tanh(apart))


def shifted(x):
    return np.sum(np.exp(x - x.max(axis=1, keepdims=True)))


def shared(w, x):
    return np.sum((x @ w) ** 2)


def batches(a, x):
    return np.sum(np.einsum("kij,nkj->nki", a, x) ** 2)


def rows(table, places):
    return np.sum(table[places] ** 2)


def clipped(x):
    return np.sum(tg.relu(x) ** 2)


CASES: list[tuple[Callable[..., Any], tuple[Any, ...], str]] = [
    (
        slices,
        (array(5),),
        """
        value_bar = 200.0 * value_2
        x_bar = np.zeros(x.size)
        x_bar[:-1] = -2.0 * value_3 - value_bar * 2.0 * value_1
        x_bar_2 = x_bar[1:]
        x_bar_2 += value_bar
        """,
    ),
    (
        pairs,
        (array(3, 2),),
        """
        apart_bar = 1.0 - value_1 * value_1
        x_bar = sum_along(apart_bar, axis=1) - apart_bar.sum(axis=0)
        """,
    ),
    (
        shifted,
        (array(3, 2),),
        """
        increase_along(
            x_bar,
            x.argmax(axis=1, keepdims=True),
            -sum_along(x_bar, axis=1, keepdims=True),
            1,
        )
        """,
    ),
    (
        shared,
        (array(4, 5), array(2, 3, 4)),
        """
        w_bar = x.reshape((x.shape[0] * x.shape[1], w.shape[0])).T @ (
            2.0 * value_1
        ).reshape((x.shape[0] * x.shape[1], w.shape[1]))
        """,
    ),
    (
        batches,
        (array(2, 3, 4), array(5, 2, 4)),
        """
        a_bar = (value_1.mT @ (2.0 * value_2).transpose((1, 0, 2))).mT
        """,
    ),
    (
        rows,
        (array(4, 2), np.array([1, 1, 3])),
        "table_bar = added_at(places, 2.0 * value_1, table.shape)",
    ),
    (clipped, (array(4),), "x_bar = zero_outside(value_1 > 0, 2.0 * value_1)"),
]


@pytest.mark.parametrize(("f", "args", "expected"), CASES, ids=lambda c: getattr(c, "__name__", ""))
def test_the_backward_is_what_one_would_write(f, args, expected) -> None:
    text = str(tg.grad(f).source(*args))
    backward = text.split("# backward\n")[1].split("    return")[0]
    lines = [line.strip() for line in backward.splitlines() if not line.strip().startswith("#")]
    assert lines == [line.strip() for line in expected.strip().splitlines()]


def offset(m, x):
    return np.sum(x + m)


def logistic(z, t):
    return np.sum(np.logaddexp(0, z) - t * z)


def nearest(x):
    return x.min(axis=1).mean()


def sizes_of_sizes(x):
    return np.abs(np.abs(np.floor(np.floor(x))))


def two_arrays(x):
    """Each is written to, so each is a new one."""
    y, z = np.zeros_like(x), np.zeros_like(x)
    y[1:] = x[1:] ** 2
    z[:-1] = y[1:] * x[:-1]
    return y, z


def mean_of_blocks(x):
    n, height, width = x.shape
    blocks = np.reshape(x, (n, height // 2, 2, width // 3, 3))
    return np.sum(np.mean(blocks, axis=(2, 4)) ** 2)


def mean_of_neighbours(x):
    return np.sum(np.mean(np.reshape(x, (4, 3)), axis=1) ** 2)


def test_blocks_of_one_number_are_repeated_along_their_axes() -> None:
    for f, x, line in [
        (
            mean_of_blocks,
            array(2, 4, 6),
            "np.repeat(np.repeat(2.0 * value_1 / 6.0, 3, axis=2), 2, axis=1)",
        ),
        (mean_of_neighbours, array(12), "x_bar = np.repeat(2.0 * value_1 / 3.0, 3)"),
    ]:
        assert line in str(tg.grad(f).source(x))
        plain = tg.tensor(x, requires_grad=True)
        f(plain).backward()
        assert_same_bits(tg.grad(f)(x), plain.grad.numpy())


def test_what_is_known_without_a_loop_has_none() -> None:
    for f, args, line in [
        (offset, (np.array(1.5), array(4)), "m_bar = x.size"),
        (
            nearest,
            (array(4, 3),),
            "x_bar, x.argmin(axis=1, keepdims=True), np.float64(1.0) / x.shape[0], axis=1",
        ),
        (logistic, (array(4), array(4)), "z_bar = np.exp(np.minimum(z, 0.0)) / (1.0 + np.exp("),
    ]:
        assert line in str(tg.grad(f).source(*args))
        assert_close(tg.grad(f)(*args), tg.grad(f, backend="jax")(*args), 1e-12)
    assert "    value = np.abs(np.floor(x))" in str(tg.compile(sizes_of_sizes).source(array(4)))
    assert "copy" not in str(tg.compile(two_arrays).source(array(4)))
