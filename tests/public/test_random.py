"""Random Tensors: shapes, dtypes, ranges, the same numbers after the same seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
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
def test_compiled_functions_draw_anew_and_like_eager_ones(draw: Callable[[], Any]) -> None:
    compiled = tg.compile(lambda x: x + draw())
    tg.manual_seed(3)
    expected = [draw().numpy() for _ in range(3)]
    tg.manual_seed(3)
    for drawn in expected:
        np.testing.assert_array_equal(compiled(np.zeros(())), drawn)
    assert compiled.cache_info().traces == 1


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


# -- generators ---------------------------------------------------------------------------------

METHODS: dict[str, Callable[[Any], Any]] = {
    "random": lambda g: g.random((3, 2)),
    "random_32": lambda g: g.random(4, dtype=np.float32),
    "uniform": lambda g: g.uniform(-1.0, 3.0, 5),
    "uniform_broadcast": lambda g: g.uniform(np.zeros((2, 1)), np.ones(3)),
    "integers": lambda g: g.integers(2, 9, (2, 3)),
    "integers_below": lambda g: g.integers(7, size=4),
    "integers_endpoint": lambda g: g.integers(1, 6, 20, endpoint=True, dtype=np.int32),
    "standard_normal": lambda g: g.standard_normal(4),
    "normal": lambda g: g.normal(1.0, 2.0, (2, 2)),
    "normal_broadcast": lambda g: g.normal(np.arange(3.0), 0.5),
    "standard_exponential": lambda g: g.standard_exponential(3),
    "exponential": lambda g: g.exponential(2.0, 3),
    "standard_gamma": lambda g: g.standard_gamma(np.array([0.5, 3.0])),
    "gamma": lambda g: g.gamma(2.0, 3.0, 4),
    "beta": lambda g: g.beta(2.0, np.array([1.0, 4.0])),
    "binomial": lambda g: g.binomial(10, 0.3, 6),
    "poisson": lambda g: g.poisson(np.array([1.0, 20.0])),
    "permutation": lambda g: g.permutation(8),
    "permutation_of": lambda g: g.permutation(np.arange(12.0).reshape(3, 4), axis=1),
    "choice": lambda g: g.choice(10, 4, replace=False),
    "choice_of": lambda g: g.choice(np.array([2.0, 4.0, 8.0]), (2, 3), p=np.array([0.5, 0.3, 0.2])),
    "scalar": lambda g: g.normal(),
    "twice": lambda g: g.random(2) - g.random(2),
}
methods = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS.keys())


@methods
def test_generators_give_numpys_numbers(method: Callable[[Any], Any]) -> None:
    """Eager, compiled and on JAX, call after call."""
    pytest.importorskip("jax")
    functions = [
        lambda g: method(g),
        tg.compile(lambda g: method(g)),
        tg.compile(lambda g: method(g), backend="jax"),
    ]
    for function in functions:
        ours, numpys = tg.random.Generator(5), np.random.default_rng(5)
        for _ in range(3):
            found, expected = np.asarray(function(ours)), method(numpys)
            assert found.dtype == np.asarray(expected).dtype
            np.testing.assert_array_equal(found, expected)
        assert ours.state == numpys.bit_generator.state


def test_bernoulli() -> None:
    ours, numpys = tg.random.Generator(1), np.random.default_rng(1)
    assert ours.bernoulli(0.3, 5).tolist() == (numpys.random(5) < 0.3).tolist()
    counted = ours.bernoulli(np.array([0.0, 1.0]), dtype=np.float32)
    assert (counted.tolist(), counted.dtype) == ([0.0, 1.0], np.float32)


def test_draws_are_differentiable_where_they_shift_and_scale() -> None:
    def loss(g: Any, low: Any, high: Any, mean: Any, std: Any, scale: Any) -> Any:
        drawn = g.uniform(low, high, 4).sum() + g.normal(mean, std, 4).sum()
        return drawn + g.exponential(scale, 4).sum() + g.gamma(2.0, scale, 4).sum()

    found = tg.grad(loss, argnums=(1, 2, 3, 4, 5))(tg.random.Generator(2), 1.0, 2.0, 0.5, 3.0, 2.0)
    g = np.random.default_rng(2)
    even, bell = g.random(4).sum(), g.standard_normal(4).sum()
    rest = g.standard_exponential(4).sum() + g.standard_gamma(2.0, 4).sum()
    np.testing.assert_allclose(found, [4 - even, even, 4.0, bell, rest], rtol=1e-12)


@pytest.mark.parametrize("draw", [lambda g, a: g.gamma(a, 1.0, 3), lambda g, a: g.beta(a, a, 3)])
def test_what_has_no_known_derivative_is_refused(draw: Callable[..., Any]) -> None:
    g = tg.random.Generator(0)
    with pytest.raises(tg.errors.NotDifferentiableError, match="stop_gradient"):
        tg.grad(lambda a: draw(g, a).sum())(2.0)
    constant = tg.grad(lambda a: draw(g, tg.stop_gradient(a)).sum() * a)(2.0)
    assert constant > 0


def test_every_path_of_a_function_draws_as_eager_does() -> None:
    """A look that ends otherwise than traced gives back what was drawn before it."""
    ours, numpys = tg.random.Generator(7), np.random.default_rng(7)

    @tg.compile
    def walk(x: Any) -> Any:
        step = ours.normal(size=2)
        if step[0] > 0:
            return x + step + ours.random(2)
        return x - step

    for _ in range(12):
        step = numpys.normal(size=2)
        expected = step + numpys.random(2) if step[0] > 0 else -step
        np.testing.assert_array_equal(walk(np.zeros(2)), expected)
    info = walk.cache_info()
    assert (info.versions, info.traces) == (1, 2)


def test_looking_at_a_function_draws_nothing() -> None:
    g = tg.random.Generator(7)
    noisy = tg.value_and_grad(lambda x: (x * g.normal(size=3)).sum())
    before = g.state
    for _ in range(2):
        assert "draw_standard_normal" in noisy.source(np.ones(3))
        assert g.state == before
    noisy(np.ones(3))
    assert g.state != before
    after = g.state
    noisy.graph(np.ones(3))
    assert g.state == after


def test_a_function_that_raises_while_traced_has_drawn() -> None:
    g, plain = tg.random.Generator(3), tg.random.Generator(3)
    plain.normal(size=3)

    @tg.compile
    def wrong(x: Any) -> Any:
        return x @ g.normal(size=3)

    with pytest.raises(ValueError):
        wrong(np.ones((2, 4)))
    assert g.state == plain.state


def test_generators_as_arguments_have_programs_of_their_own() -> None:
    draw = tg.compile(lambda g: g.random(2))
    for seed in (1, 2, 1):
        expected = np.random.default_rng(seed).random(2)
        np.testing.assert_array_equal(draw(tg.random.Generator(seed)), expected)


def test_backwards_use_the_numbers_that_were_drawn() -> None:
    g, numpys = tg.random.Generator(4), np.random.default_rng(4)

    def loss(x: Any) -> Any:
        return (x * g.normal(size=3)).sum()

    for run in (
        lambda: tg.grad(loss)(np.ones(3)),
        lambda: tg.vjp(loss, np.ones(3))[1](1.0)[0],
    ):
        np.testing.assert_array_equal(run(), numpys.normal(size=3))
    x = tg.ones(3, requires_grad=True)
    loss(x).backward()
    np.testing.assert_array_equal(x.grad.numpy(), numpys.normal(size=3))


# -- keys -----------------------------------------------------------------------------------------


def test_numbers_of_a_key_are_those_of_jax():
    generator, key = tg.random.KeyGenerator(5), jax.random.key(5)
    with jax.enable_x64(True):
        for draw, reference in (
            (lambda: generator.random((3, 5)), lambda key: jax.random.uniform(key, (3, 5))),
            (
                lambda: generator.random(4, dtype=np.float32),
                lambda key: jax.random.uniform(key, (4,), "float32"),
            ),
            (lambda: generator.standard_normal(7), lambda key: jax.random.normal(key, (7,))),
        ):
            key, used = jax.random.split(key)
            found = np.asarray(draw())
            np.testing.assert_allclose(found, reference(used), rtol=1e-12)
            assert found.dtype == reference(used).dtype
    assert generator.key.tolist() == jax.random.key_data(key).tolist()


@pytest.mark.parametrize("backend", ["numpy", "jax"])
def test_compiled_calls_advance_a_key_as_eager_ones_do(backend):
    def noisy(x, generator):
        return np.sum(x * generator.normal(1.0, 2.0, 3)) + generator.uniform(size=())

    eager, compiled = tg.random.KeyGenerator(1), tg.random.KeyGenerator(1)
    f = tg.value_and_grad(noisy, backend=backend)
    for _ in range(3):
        value, slope = f(np.ones(3), compiled)
        drawn = np.asarray(eager.normal(1.0, 2.0, 3))
        np.testing.assert_allclose(slope, drawn, rtol=1e-12)
        np.testing.assert_allclose(value, drawn.sum() + float(eager.uniform()), rtol=1e-12)
        assert np.asarray(compiled.key).tolist() == np.asarray(eager.key).tolist()
    assert f.cache_info().versions == 1
    if backend == "jax":
        assert "callback" not in f.source(np.ones(3), compiled)


def test_a_key_may_be_an_argument():
    def noisy(x, key):
        return np.sum(x * tg.random.KeyGenerator(key).random(3))

    key, f = jax.random.PRNGKey(4), tg.grad(noisy, backend="jax")
    _, used = jax.random.split(jax.random.wrap_key_data(key))
    with jax.enable_x64(True):
        expected = jax.random.uniform(used, (3,))
        np.testing.assert_allclose(f(np.ones(3), key), expected)
        np.testing.assert_allclose(jax.jit(f)(np.ones(3), key), expected)
    assert "custom_call" not in f.stablehlo(np.ones(3), key, platforms=("cuda",))
