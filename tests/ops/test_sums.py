"""Sums along short axes: by products with ones where that is faster, the same bits everywhere."""

from __future__ import annotations

import numpy as np
import pytest
from checks import assert_close, assert_same_bits

import tracegrad as tg
from tracegrad.ops.reductions.sums_and_extremes import mean_over, sum_along, sum_slices

SHAPES = [(40, 50, 3), (5, 400, 10), (3000, 1), (1, 3000), (2, 3, 400), (50, 5, 2, 4), (2000, 64)]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "bool", "complex128"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_sums_are_those_of_numpy(shape, dtype) -> None:
    x = np.random.default_rng(0).normal(size=shape).astype(dtype)
    tolerance = 1e-5 if dtype == "float32" else 1e-12
    for array in (x, x[::-1], x.T, np.broadcast_to(x[:1], shape), x[:0]):
        for axis in range(array.ndim):
            for keepdims in (False, True):
                found, expected = (
                    function(array, axis=axis, keepdims=keepdims)
                    for function in (sum_along, np.sum)
                )
                assert found.shape == expected.shape and found.dtype == expected.dtype
                np.testing.assert_allclose(found, expected, rtol=tolerance, atol=100 * tolerance)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "complex64"])
@pytest.mark.parametrize("axis", [(3, 5), (5, 3), (1, 2), (0, 3), (4,), (3, 4, 5)], ids=str)
def test_sums_over_several_short_axes(axis, dtype) -> None:
    x = (10.0 * np.random.default_rng(4).normal(size=(4, 3, 7, 2, 7, 4))).astype(dtype)
    coarse = np.dtype(dtype).itemsize < 4 or dtype == "complex64"
    tolerance = 2e-2 if coarse else 1e-5 if dtype == "float32" else 1e-12
    for array in (x, x[:, ::-1], x.T, x[:0], x[:, :, :1]):
        for keepdims in (False, True):
            for ours, theirs in ((sum_slices, np.sum), (mean_over, np.mean)):
                if 0 in [array.shape[a] for a in axis]:
                    continue
                found = ours(array, axis=axis, keepdims=keepdims)
                expected = theirs(array, axis=axis, keepdims=keepdims)
                assert found.shape == expected.shape and found.dtype == expected.dtype
                assert not np.shares_memory(found, array)
                np.testing.assert_allclose(found, expected, rtol=tolerance, atol=100 * tolerance)


def test_what_is_not_finite_stays_in_its_row() -> None:
    x = np.ones((500, 6))
    x[3, 2], x[5, 1], x[7, :2] = np.nan, np.inf, (np.inf, -np.inf)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(sum_along(x, 1), x.sum(axis=1))


def energies(x, w):
    apart = x[:, None, :] - w
    mean = np.mean(apart**2, axis=-1) + np.mean(apart, axis=1, keepdims=True)[:, :, 0]
    pooled = np.mean(np.tanh(x).reshape(-1, 1, 3, 1)[:, :, :2] * w[:2, 0] ** 2, axis=(2, 3))
    cubes = np.sum(np.sum(apart**3, axis=1) * x)
    return np.sum(tg.softmax(mean, axis=1)[:, 0]) + cubes + np.sum(pooled**2)


@pytest.mark.parametrize("n", [0, 1, 300])
def test_compiled_and_eager_sums_have_the_same_bits(n) -> None:
    random = np.random.default_rng(1)
    arrays = [random.normal(size=(n, 3)), random.normal(size=(7, 3))]
    value, gradients = tg.value_and_grad(energies, argnums=(0, 1))(*arrays)
    for _ in range(3):  # interpreted, compiled, recognised
        tensors = [tg.tensor(a, requires_grad=True) for a in arrays]
        out = energies(*tensors)
        out.backward()
        assert_same_bits(value, out.detach().numpy()[()])
        for found, tensor in zip(gradients, tensors, strict=True):
            assert_same_bits(found, tensor.grad.numpy())


def looked_up(table, places, rows, columns):
    several = table[places]
    return np.sum(several**2) + np.sum(table[rows, columns] ** 3) + np.sum(table[:, 0][places])


@pytest.mark.parametrize("n", [3, 2000])
def test_gradients_of_rows_are_added_in_order(n) -> None:
    random = np.random.default_rng(2)
    table = random.normal(size=(20, 6))
    places = (
        random.integers(-20, 20, size=n),
        random.integers(20, size=n),
        random.integers(6, size=n),
    )
    found = tg.grad(looked_up)(table, *places)
    expected = np.zeros((20, 6))
    np.add.at(expected[:, 0], places[0], 1.0)
    np.add.at(expected, places[1:], 3.0 * table[places[1:]] ** 2)
    np.add.at(expected, places[0], 2.0 * table[places[0]])
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    for _ in range(3):
        tensor = tg.tensor(table, requires_grad=True)
        looked_up(tensor, *places).backward()
        assert_same_bits(found, tensor.grad.numpy())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(900,), (300, 3)])
def test_numbers_are_added_at_places_named_twice(shape, dtype) -> None:
    random = np.random.default_rng(3)
    x = random.normal(size=(7, 4)).astype(dtype)
    places = random.integers(7, size=(2, *shape))
    found = tg.grad(lambda x, i, j: np.sum(x[i, j % 4]) + np.sum(x[i] * 2.0))(x, *places)
    expected = np.full((7, 4), 2.0) * np.bincount(places[0].ravel(), minlength=7)[:, None]
    np.add.at(expected, (places[0], places[1] % 4), 1.0)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expected, rtol=1e-6)


OF_NUMPY = """
np.sum(x, initial=3.0); np.sum(x, axis=0, initial=3.0); np.sum(x, axis=1, initial=x[0, 0])
np.prod(x, initial=3.0); np.prod(x, axis=0, initial=3.0); np.prod(x, axis=1, initial=x[0, 0])
np.sum(x, where=x > 0); np.sum(x, axis=1, where=x > 0); np.sum(x, axis=0, where=x[0] > 0)
np.sum(x.T, where=x.T > 0); np.sum(x, where=x > 0, initial=2.0); np.prod(x, where=x > 0)
np.prod(x, axis=0, where=x > 0, initial=2.0); np.mean(x, where=x > 0); np.var(x, where=x > 0)
np.std(x, where=x > 0, ddof=1); np.mean(x, axis=1, where=x[:, :1] > -9.0); x.sum(initial=3.0)
x.mean(where=x > 0); np.nansum(x, where=x > 0); np.nanmean(x, where=x > 0)
np.nanvar(x, where=x > 0); np.add.reduce(x, axis=(0, 1), initial=1.0)
np.logaddexp.reduce(x); np.logaddexp.reduce(x, axis=1); np.logaddexp.reduce(x, axis=None)
np.logaddexp.reduce(x[:, 0]); np.logaddexp.reduce(x, axis=(0, 1), keepdims=True)
np.add.reduceat(x[:, 0], [0, 2]); np.add.reduceat(x, [0, 2], axis=0)
np.add.reduceat(x, [1, 3], axis=1); np.add.reduceat(x, [0, 3, 1], axis=0)
np.logaddexp.reduceat(x, [0, 2]); np.i0(x); np.i0(x[0, 0])
"""


@pytest.mark.parametrize(
    "text", [c.strip() for c in OF_NUMPY.replace("\n", ";").split(";") if c.strip()]
)
def test_reductions_in_parts_have_the_bits_of_numpy(text: str) -> None:
    f = eval(f"lambda x: {text}", {"np": np})
    compiled, gradient = tg.compile(f), tg.grad(lambda x: np.sum(f(x) ** 2))
    for seed, n in enumerate([5, 40, 131]):
        x = np.random.default_rng(seed).normal(size=(n, 5))
        expected = f(x)
        for each in (compiled(x), f(tg.tensor(x)).numpy(), f(tg.tensor(x, requires_grad=True))):
            assert_same_bits(np.asarray(getattr(each, "_array", each)), np.asarray(expected))
        tensor = tg.tensor(x, requires_grad=True)
        np.sum(f(tensor) ** 2).backward()
        assert_close(gradient(x), tensor.grad.numpy(), 1e-12)
