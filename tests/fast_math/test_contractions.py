"""Under fast math sums of products become products: right for every length, order and dtype."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from checks import dot, leaves
from programs import PROGRAMS

import tracegrad as tg


@pytest.fixture(autouse=True)
def fast_math(monkeypatch):
    monkeypatch.setattr(tg.config, "fast_math", True)
    monkeypatch.setattr(tg.config, "check", True)


def normal(*shape: int, seed: int = 0, dtype: Any = "float64") -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def body(f: Any, *args: Any) -> str:
    """The statements of a program, without the functions that it calls."""
    text = f.source(*args).split("\n\n\ndef ")[1]
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))


V, W = ("n",), ("m",)
A, B, C = ("n", "m"), ("m", "k"), ("n", "m", "k")

SUMS: list[tuple[str, Any, tuple[Any, ...], str]] = [
    ("dot", lambda x, y: np.sum(x * y), (V, V), "x.dot(y)"),
    ("squares", lambda x: np.sum(x * x), (V,), "x.dot(x)"),
    ("power", lambda x: np.sum(x**2), (V,), "x.dot(x)"),
    ("mean", lambda x: np.mean(x**2), (V,), "x.dot(x) / x.size"),
    ("matrices", lambda x, y: np.sum(x * y), (A, A), "inner_product(x, y)"),
    ("made in order", lambda x, y: np.sum((x @ y) * (x @ y)), (A, B), "np.vdot("),
    ("number", lambda x: np.sum(2.5 * x), (V,), "2.5 * x.sum()"),
    ("divisor", lambda x: np.sum(x / 3.0), (V,), "x.sum()"),
    ("two terms", lambda x, y: np.sum(3.0 * x * x + y * y), (V, V), "3.0 * x.dot(x) + y.dot(y)"),
    ("factor", lambda x, y: np.sum(3.0 * x * x + x * y), (V, V), "x.dot(3.0 * x + y)"),
    ("three", lambda x, y, z: np.sum(x * y * z), (V, V, V), "(x * y).dot(z)"),
    ("sign", lambda x, y: np.sum(-(x * y)), (V, V), "-x.dot(y)"),
    ("row times", lambda a, x: np.sum(a[:, None] * x, axis=0), (V, A), "a @ x"),
    ("times column", lambda x, b: np.sum(x * b, axis=1), (A, W), "x @ b"),
    ("kept", lambda x, b: np.sum(x * b, axis=1, keepdims=True), (A, W), "(x @ b)[:, None]"),
    ("out of the sum", lambda a, x: np.sum(a[:, None] * x, axis=1), (V, A), "sum_along(x, axis=1)"),
    ("quotient", lambda a, x: np.sum(x / a[:, None], axis=1), (V, A), "sum_ / a"),
    ("one divisor", lambda a, x: np.sum(x / np.sum(a * a, keepdims=True)), (W, V), "x.sum() / a"),
    ("bilinear", lambda a, x, b: np.sum(a[:, None] * x * b), (V, A, W), "a.dot(x @ b)"),
    (
        "over all rows",
        lambda s, x: np.sum(s[:, :, None] * x, axis=(0, 1)),
        (A, C),
        ".reshape(-1) @ ",
    ),
    ("batch", lambda s, x: np.sum(s[:, :, None] * x, axis=1), (A, C), "s[:, None] @ x"),
    ("batch first", lambda s, x: np.sum(s[:, :, None] * x, axis=0), (A, C), "s.T[:, None] @ "),
    ("batch last", lambda s, x: np.sum(s[:, None, :] * x, axis=2), (("n", "k"), C), "x @ s["),
    ("rows", lambda x, y: np.sum(x * y, axis=-1), (A, A), "row_products(x, y)"),
    ("transposed", lambda x, y: np.sum(x[:, :, None] * y, axis=1), (A, B), "x @ y"),
    ("rows of a product", lambda x, y: np.sum(x @ y, axis=0), (A, B), "sum_rows(x) @ y"),
    ("of equal signs", lambda x, y, z: np.sum((-x) @ y - z, 0), (A, B, ("n", "k")), "(x) @ y"),
    ("columns of one", lambda x, y: np.sum(x @ y, axis=1), (A, B), "x @ sum_along(y, axis=1)"),
    ("first axis", lambda x: np.sum(np.tanh(x), axis=0), (A,), "sum_rows(np.tanh(x))"),
    ("first axes", lambda x: np.sum(np.tanh(x), axis=(0, 1)), (C,), "sum_around(np.tanh(x)"),
    ("around", lambda x: np.sum(np.tanh(x), axis=(0, 2)), (C,), "sum_around(np.tanh(x)"),
]

LENGTHS = [
    dict(n=4, m=3, k=2),
    dict(n=0, m=3, k=2),
    dict(n=4, m=0, k=2),
    dict(n=1, m=1, k=1),
    dict(n=1, m=5, k=40),
    dict(n=70, m=50, k=30),
    dict(n=1200, m=3, k=2),
]


def shapes_of(shapes: Any, lengths: dict[str, int]) -> list[tuple[int, ...]]:
    return [tuple(lengths[name] for name in shape) for shape in shapes]


def agree(found: Any, expected: Any, scale: Any, dtype: str) -> None:
    """Within rounding of the sum of the sizes of what is added."""
    assert np.shape(found) == np.shape(expected)
    assert np.asarray(found).dtype == dtype
    close = 64 * np.finfo(dtype).eps * (np.asarray(scale, "float64") + 1e-30)
    assert np.all(np.abs(np.asarray(found, "float64") - expected) <= close)


@pytest.mark.parametrize("f, shapes, text", [s[1:] for s in SUMS], ids=[s[0] for s in SUMS])
def test_sums_of_products_are_products(f: Any, shapes: Any, text: str) -> None:
    args = [normal(*s, seed=i) for i, s in enumerate(shapes_of(shapes, LENGTHS[0]))]
    compiled = tg.compile(f)
    compiled(*args)
    assert text in body(compiled, *args)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the mean of no elements
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("f, shapes", [s[1:3] for s in SUMS], ids=[s[0] for s in SUMS])
def test_they_are_right_for_every_length_and_order(f: Any, shapes: Any, dtype: str) -> None:
    compiled = tg.compile(f)
    for lengths in LENGTHS:
        args = [normal(*s, seed=i, dtype=dtype) for i, s in enumerate(shapes_of(shapes, lengths))]
        wide = [x.astype("float64") for x in args]
        expected, scale = f(*wide), f(*map(np.abs, wide))
        if not np.all(np.isfinite(expected)):
            continue  # the mean of no elements
        scale = np.abs(scale)
        for turn in (np.asarray, np.asfortranarray, lambda x: np.repeat(x, 2, -1)[..., ::2]):
            agree(compiled(*map(turn, args)), expected, scale, dtype)


def drawn(random: np.random.Generator) -> tuple[Any, list[tuple[int, ...]], str]:
    """A random product of factors over some of three axes, summed over some of them."""
    lengths = [int(n) for n in random.choice([0, 1, 2, 3, 5, 40], 3)]
    count = int(random.integers(1, 5))
    wanted = [tuple(random.random(3) < 0.6) for _ in range(count)]
    wanted[0] = (True, True, True)
    shapes = [tuple(n for n, has in zip(lengths, w, strict=True) if has) for w in wanted]
    axis = [0, 1, 2, (0, 1), (1, 2), (0, 2), None][random.integers(7)]
    over = random.random(count) < 0.2
    numbers = random.choice([1.0, -1.0, 0.5, 3.0], count)
    keepdims = bool(random.random() < 0.3)

    def spread(x: Any, has: tuple[bool, ...]) -> Any:
        return x[tuple(slice(None) if h else None for h in has)]

    def f(*arrays: Any) -> Any:
        product = 1.0
        for x, has, below, number in zip(arrays, wanted, over, numbers, strict=True):
            factor = spread(x, has)
            product = product / (2.0 + factor * factor) if below else product * (number * factor)
        return np.sum(product, axis=axis, keepdims=keepdims)

    return f, shapes, f"{lengths} {wanted} {axis} {over}"


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(80))
def test_random_products(seed: int) -> None:
    random = np.random.default_rng(seed)
    f, shapes, about = drawn(random)
    args = [normal(*shape, seed=seed + i) for i, shape in enumerate(shapes)]
    expected = f(*args)
    scale = np.maximum(f(*map(np.abs, args)), 0) + np.abs(expected)
    np.testing.assert_allclose(
        tg.compile(f)(*args), expected, rtol=1e-12, atol=1e-13 * (np.max(scale, initial=0) + 1)
    )
    total = lambda *a: np.sum(np.sin(f(*a)))
    positions = tuple(range(len(args)))
    fast = tg.grad(total, positions)(*args)
    tg.config.fast_math = False
    exact = tg.grad(total, positions)(*args)
    for one, other in zip(fast, exact, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12, err_msg=about)


@pytest.mark.parametrize("shape", [(1_000_001,), (1001, 999)])
def test_long_sums_of_float32_keep_their_digits(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).random(shape).astype("float32")
    for turn in (np.asarray, np.asfortranarray, lambda x: x[::2]):
        y = turn(x)
        expected = np.sum(y.astype("float64") ** 2)
        found = tg.compile(lambda x: np.sum(x * x))(y)
        assert found.dtype == "float32"
        assert abs(found - expected) < 2e-7 * expected


def test_products_close_regions_of_large_arrays() -> None:
    def f(x: Any, y: Any) -> Any:
        z = np.exp(-x * x) * np.tanh(y) + np.cos(x * y) * np.sin(y)
        return np.sum(2.0 * z * z + z * y)

    compiled = tg.value_and_grad(f, (0, 1))
    for n in (3, 9000, 200_001):
        x, y = normal(n, seed=1), normal(n, seed=2)
        value, (x_bar, _) = compiled(x, y)
        np.testing.assert_allclose(value, f(x, y), rtol=1e-12)
        step = 1e-6 * np.sign(x_bar)
        slope = (f(x + step, y) - f(x - step, y)) / 2e-6
        np.testing.assert_allclose(np.abs(x_bar).sum(), slope, rtol=1e-6)
    tiles = compiled.source(x, y).split("_tile(")[-1]
    assert ".dot(" in tiles


SECOND = [
    "linear_regression",
    "logistic_regression",
    "mlp",
    "attention",
    "layer_norm",
    "batch_norm",
    "rosenbrock",
    "n_body_energy",
    "gaussian_mixture",
    "broadcasting_rows_and_columns",
    "reductions_along_axes",
    "batched_products",
]


@pytest.mark.parametrize("name", SECOND)
def test_second_derivatives_of_programs(name: str, monkeypatch: Any) -> None:
    program = next(p for p in PROGRAMS if p.name == name)
    gradient = tg.grad(program.new(), program.positions)

    def length(*args: Any) -> Any:
        """Of the gradient, whose own gradient is the Hessian times it."""
        found = gradient(*args)
        return dot(found, found)

    found = leaves(tg.grad(length, program.positions)(*program.args))
    monkeypatch.setattr(tg.config, "fast_math", False)
    expected = leaves(tg.grad(length, program.positions)(*program.args))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-11)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the mean of no elements
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_gradients_of_empty_means_are_zeros(dtype: str) -> None:
    losses = [
        lambda w, x, y: np.mean((x @ w - y) ** 2),
        lambda w, x, y: np.mean(np.tanh(x + w) * y[:, None]),
        lambda w, x, y: np.mean(x * w * y[:, None]),
        lambda w, x, y: np.mean(x + w) + 0.0 * np.sum(y),
        lambda w, x, y: np.mean(np.mean(x * w, axis=0)) + 0.0 * np.sum(y),
    ]
    for f in losses:
        compiled = tg.grad(f)
        for n in (4, 0, 3):
            args = [normal(*s, dtype=dtype) for s in [(3,), (n, 3), (n,)]]
            found = compiled(*args)
            assert found.dtype == dtype and np.all(np.isfinite(found))
            assert n or not np.any(found)


def test_what_several_sums_read_is_made_once() -> None:
    def f(s, x, y):
        p = -(s[:, :, None] * x)
        turned = np.tanh(np.swapaxes(y, 1, 2) @ p)
        return np.sum(turned) + np.sum(np.sum(p * y, axis=1) ** 2) + np.sum(np.sum(p, axis=1) ** 2)

    args = normal(3, 20), normal(3, 20, 4, seed=1), normal(3, 20, 4, seed=2)
    compiled = tg.compile(f)
    np.testing.assert_allclose(compiled(*args), f(*args), rtol=1e-12)
    text = body(compiled, *args)
    assert text.count("s[:, :, None]") == text.count(" @ ") == text.count(".diagonal(") == 1
