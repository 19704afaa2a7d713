"""Chains of matrices that end in a vector are vectors all the way, forward and backward."""

import re
from itertools import pairwise

import numpy as np
import pytest

import tracegrad as tg

RANDOM = np.random.default_rng(5)


@pytest.fixture(autouse=True)
def fast_math(monkeypatch):
    monkeypatch.setattr(tg.config, "fast_math", True)
    monkeypatch.setattr(tg.config, "check", True)


def matrices(*lengths, dtype="float64"):
    """One matrix for each pair of neighbours."""
    made = [RANDOM.normal(size=pair) for pair in pairwise(lengths)]
    if dtype.startswith("complex"):
        made = [m + 1j * RANDOM.normal(size=m.shape) for m in made]
    return [m.astype(dtype) for m in made]


def exactly(transform, *args):
    tg.config.fast_math = False
    try:
        return transform()(*args)
    finally:
        tg.config.fast_math = True


def agrees(f, args, argnums):
    """The source, after the gradient was compared with that of the exact mode."""
    made = tg.value_and_grad(f, argnums)
    value, gradients = made(*args)
    expected, wanted = exactly(lambda: tg.value_and_grad(f, argnums), *args)
    tolerance = 1e-4 if args[0].dtype in ("float32", "complex64") else 1e-12
    np.testing.assert_allclose(value, expected, rtol=tolerance)
    for a, b in zip(gradients, wanted, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * np.abs(b).max(initial=0))
    return made.source(*args)


def products(source):
    return [line.strip() for line in source.splitlines() if "@" in line and "# " not in line]


def chain(a, b, c, x):
    return np.sum(np.tanh(a @ b @ c @ x))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("lengths", [(3, 4, 5, 6), (1, 2, 1, 3), (0, 2, 3, 4), (2, 0, 3, 1)])
def test_a_chain_has_no_matrix_but_its_gradients(dtype, lengths):
    args = (*matrices(*lengths, dtype=dtype), RANDOM.normal(size=lengths[-1]).astype(dtype))
    found = products(agrees(chain, args, (0, 1, 2, 3)))
    assert len(found) == 6
    if min(lengths) > 1:
        assert not any(re.search(r"[abc](\.T)? @ [abc]\b", line) for line in found)


@pytest.mark.parametrize(
    "f",
    [
        lambda a, x: x @ (a.T @ a) @ x,
        lambda a, x: np.sum(np.sin((a.T @ a).T @ x)),
        lambda a, x: np.sum(((a @ a.T) @ (a @ x)) ** 2),
        lambda a, x: np.sum(np.tanh(x @ (a.T @ a @ a.T @ a)) @ (a.T @ a)),
        lambda a, x: np.linalg.norm((x[:, None] * x) @ a.T @ np.ones(3)),
        lambda a, x: np.sum(np.outer(x, x) @ (a.T @ a)),
    ],
)
def test_transposes_and_outer_products(f):
    a, x = RANDOM.normal(size=(3, 4)), RANDOM.normal(size=4)
    agrees(f, (a, x), (0, 1))


def test_a_quadratic_form_takes_one_product_with_the_matrix():
    a, x = RANDOM.normal(size=(3, 4)), RANDOM.normal(size=4)
    f = tg.grad(lambda a, x: x @ (a.T @ a) @ x)
    f(a, x)
    assert products(f.source(a, x)) == ["a_bar = (a @ x)[:, None] * x"]


def test_a_matrix_that_is_needed_as_a_whole_stays():
    """It is there: to multiply by it is cheaper than by its factors."""
    a, b = matrices(3, 4, 5)
    x = RANDOM.normal(size=5)
    source = agrees(
        lambda a, b, x: np.sum(np.exp(a @ b)) + np.sum((a @ b) @ x), (a, b, x), (0, 1, 2)
    )
    assert any("a @ b" in line for line in products(source))


def test_a_matrix_that_is_returned_stays():
    def f(a, b, x):
        p = a @ b
        return p, p @ x

    a, b = matrices(3, 4, 5)
    x = RANDOM.normal(size=5)
    p, y = tg.compile(f)(a, b, x)
    np.testing.assert_allclose(p, a @ b)
    np.testing.assert_allclose(y, a @ b @ x)
    assert "p @ x" in tg.compile(f).source(a, b, x)


def test_either_way_of_a_branch():
    def f(a, b, x):
        p = a @ b
        if x[0] > 0:
            return np.sum(p @ x)
        return np.sum(np.exp(p))

    a, b = matrices(3, 4, 5)
    made = tg.value_and_grad(f, (0, 1, 2))
    for sign in (1.0, -1.0, 1.0, -1.0):
        x = sign * np.abs(RANDOM.normal(size=5))
        value, gradients = made(a, b, x)
        expected, wanted = exactly(lambda: tg.value_and_grad(f, (0, 1, 2)), a, b, x)
        np.testing.assert_allclose(value, expected)
        for g, w in zip(gradients, wanted, strict=True):
            np.testing.assert_allclose(g, w)


def test_complex_chains():
    a, b, c = matrices(3, 4, 5, 3, dtype="complex128")
    x = RANDOM.normal(size=3) + 1j
    f = tg.value_and_grad(lambda a, b, c, x: np.sum(np.abs(a @ b @ c @ x) ** 2), (0, 1, 2, 3))
    value, gradients = f(a, b, c, x)
    exact = tg.value_and_grad(lambda a, b, c, x: np.sum(np.abs(a @ b @ c @ x) ** 2), (0, 1, 2, 3))
    expected, wanted = exactly(lambda: exact, a, b, c, x)
    np.testing.assert_allclose(value, expected)
    for g, w in zip(gradients, wanted, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-12, atol=1e-12 * np.abs(w).max())


def test_integers_batches_and_mixed_dtypes_are_left():
    i = np.arange(6).reshape(2, 3)
    assert "i @ i.T" in tg.compile(lambda i, x: (i @ i.T) @ x).source(i, np.arange(2))
    batch = RANDOM.normal(size=(2, 3, 3))
    x = RANDOM.normal(size=3)
    f = tg.compile(lambda m, x: (m @ m) @ x)
    np.testing.assert_allclose(f(batch, x), batch @ batch @ x)
    a, b = matrices(3, 4, 5)
    g = tg.compile(lambda a, b, x: (a @ b) @ x)
    y = g(a.astype("float32"), b.astype("float32"), x := RANDOM.normal(size=5))
    assert y.dtype == "float64"
    np.testing.assert_allclose(y, a @ b @ x, rtol=1e-5)


def test_second_derivatives():
    args = (*matrices(3, 3, 3, 3), RANDOM.normal(size=3))

    def twice():
        slope = tg.grad(chain, 3)
        return tg.grad(lambda a, b, c, x: np.sum(slope(a, b, c, x) ** 2), (0, 3))

    found = twice()(*args)
    for a, b in zip(found, exactly(twice, *args), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(30))
def test_random_chains(seed):
    """Of matrices, transposes, vectors and outer products, with some of them read twice."""
    random = np.random.default_rng(seed)
    n = int(random.integers(1, 5))
    a, b = random.normal(size=(2, n, n))
    x = random.normal(size=n)
    steps = random.integers(0, 9, size=8)

    def f(a, b, x):
        m, v, total = a, x, 0.0
        for step in steps:
            match step:
                case 0:
                    m = m @ b
                case 1:
                    m = m.T
                case 2:
                    v = m @ v
                case 3:
                    v = v @ m
                case 4:
                    m = np.outer(v, x) @ m
                case 5:
                    m = m @ (x[:, None] * v)
                case 6:
                    total = total + np.sum(np.tanh(m))
                case 7:
                    v = np.sin(v)
                case 8:
                    m = b
        return total + np.sum(v) + np.sum((m @ b) @ x)

    agrees(f, (a, b, x), (0, 1, 2))
