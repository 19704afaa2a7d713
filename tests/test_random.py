"""Random Tensors: shapes, dtypes, ranges, the same numbers after the same seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracegrad as tg

DRAWS: dict[str, Callable[[], Any]] = {
    "rand": lambda: tg.rand(3, 4),
    "randn": lambda: tg.randn(3, 4),
    "rand_like": lambda: tg.rand_like(tg.ones(3, 4)),
    "randn_like": lambda: tg.randn_like(tg.ones(3, 4)),
    "randint": lambda: tg.randint(0, 1000, (3, 4)),
    "randperm": lambda: tg.randperm(50),
    "normal": lambda: tg.normal(1.0, 2.0, (3, 4)),
}
draws = pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS.keys())


@draws
def test_same_seed_same_numbers(draw: Callable[[], Any]) -> None:
    tg.manual_seed(3)
    first, second = draw().tolist(), draw().tolist()
    tg.manual_seed(3)
    assert draw().tolist() == first
    assert first != second
    tg.manual_seed(4)
    assert draw().tolist() != first


@draws
def test_result_is_a_leaf_without_history(draw: Callable[[], Any]) -> None:
    x = draw()
    assert isinstance(x, tg.Tensor)
    assert x.is_leaf
    assert not x.requires_grad


@draws
def test_drawing_while_tracing_is_refused(draw: Callable[[], Any]) -> None:
    with pytest.raises(tg.errors.TraceError, match="draw once"):
        tg.compile(lambda x: x + draw().sum())(np.ones(2))


@pytest.mark.parametrize("draw", [tg.rand, tg.randn])
def test_shapes_as_numbers_or_as_one_sequence(draw: Callable[..., Any]) -> None:
    assert draw(2, 3).shape == draw((2, 3)).shape == draw([2, 3]).shape == (2, 3)
    assert draw(3).shape == draw([3]).shape == (3,)
    assert draw().shape == draw(()).shape == ()
    assert draw(0, 2).shape == (0, 2)


@pytest.mark.parametrize("draw", [tg.rand, tg.randn])
def test_dtypes_of_floating_draws(draw: Callable[..., Any]) -> None:
    assert draw(2).dtype == np.float64
    assert draw(2, dtype=tg.float32).dtype == np.float32
    with pytest.raises(tg.errors.DTypeError, match="int64"):
        draw(2, dtype=tg.int64)


def test_requires_grad() -> None:
    for x in (tg.rand(2, requires_grad=True), tg.normal(0.0, 1.0, 2, requires_grad=True)):
        x.sum().backward()
        assert x.grad.tolist() == [1.0, 1.0]


def test_like_takes_dtype_and_shape() -> None:
    x = tg.ones(2, 5, dtype=tg.float32, requires_grad=True)
    for y in (tg.rand_like(x), tg.randn_like(x)):
        assert (y.shape, y.dtype) == ((2, 5), np.float32)
    assert tg.randn_like(x, dtype=tg.float64).dtype == np.float64
    assert tg.rand_like(np.ones((2, 3))).shape == (2, 3)


def test_distributions() -> None:
    tg.manual_seed(0)
    even, bell = tg.rand(40_000), tg.randn(40_000)
    assert 0.0 <= even.min().item() < even.max().item() < 1.0
    assert even.mean().item() == pytest.approx(0.5, abs=0.01)
    assert bell.mean().item() == pytest.approx(0.0, abs=0.02)
    assert bell.std().item() == pytest.approx(1.0, abs=0.02)
    moved = tg.normal(3.0, 0.5, (40_000,))
    assert moved.mean().item() == pytest.approx(3.0, abs=0.02)
    assert moved.std().item() == pytest.approx(0.5, abs=0.02)


def test_randint_bounds() -> None:
    assert sorted(set(tg.randint(2, 5, (200,)).tolist())) == [2, 3, 4]
    assert sorted(set(tg.randint(3, (200,)).tolist())) == [0, 1, 2]
    assert sorted(set(tg.randint(3, size=(200,)).tolist())) == [0, 1, 2]
    assert tg.randint(3, (2, 2)).dtype == np.int64
    assert tg.randint(3, (2, 2), dtype=tg.float32).dtype == np.float32
    with pytest.raises(TypeError, match="shape"):
        tg.randint(3)


def test_randperm() -> None:
    found = tg.randperm(10)
    assert sorted(found.tolist()) == list(range(10))
    assert found.dtype == np.int64


def test_normal_broadcasts_and_differentiates() -> None:
    mean = tg.zeros(3, 1, requires_grad=True)
    std = tg.tensor([1.0, 2.0], requires_grad=True)
    tg.manual_seed(0)
    x = tg.normal(mean, std)
    tg.manual_seed(0)
    noise = tg.randn(3, 2)
    assert x.shape == (3, 2)
    x.sum().backward()
    assert mean.grad.tolist() == [[2.0], [2.0], [2.0]]
    np.testing.assert_allclose(std.grad.numpy(), noise.sum(axis=0).numpy())
