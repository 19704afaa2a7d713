"""Keys of `jax.random` as arguments, typed and raw ones, and functions that take them."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import random

import tracegrad as tg
from tracegrad.errors import ArgumentError, ConversionError, NotDifferentiableError

X = jnp.arange(3.0)
KEYS = {"typed": random.key(3), "raw": random.PRNGKey(3)}
BACKENDS = ("jax", "numpy")


def two(key, x):
    a, b = random.split(key)
    return random.uniform(a, (3,)) * x + random.uniform(b, x.shape, minval=-1.0, maxval=2.0)


def turns(key, x):
    for _ in range(20):
        key, used = random.split(key)
        x = x + random.normal(used, x.shape)
    return x, key


def folded(key, x):
    for i in range(20):
        x = x + random.normal(random.fold_in(key, i), x.shape)
    return x


CALLS = [
    lambda k, x: (x * random.normal(k, (3,)), k),
    two,
    turns,
    folded,
    lambda k, x: (random.split(k), random.split(k, 4)[1:], random.split(k, (2, 2))[0, 1]),
    lambda k, x: (random.randint(k, (4,), 0, 10), random.bits(k, (2,))),
    lambda k, x: (random.permutation(k, x), random.permutation(k, 5)),
    lambda k, x: (random.categorical(k, x), random.categorical(k, x, shape=(4,))),
    lambda k, x: (random.bernoulli(k, x / 4), random.bernoulli(k, 0.3, x.shape)),
    lambda k, x: (random.choice(k, x, (2,), replace=False), random.choice(k, 7, (3,))),
    lambda k, x: (random.truncated_normal(k, -1.0, 1.0, (3,)), random.gamma(k, x + 1.0)),
    lambda k, x: random.normal(k, (3,), jnp.float16),
    lambda k, x: random.wrap_key_data(random.key_data(k), impl=random.key_impl(k)),
    lambda k, x: {"again": random.clone(k), "rows": [a for a in random.split(k, 2)]},
]


def plain(tree: Any) -> list[np.ndarray]:
    """The leaves as arrays of NumPy's, of typed keys their numbers."""

    def numbers(leaf):
        typed = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        return np.asarray(random.key_data(leaf) if typed else leaf)

    return list(map(numbers, jax.tree.leaves(tree)))


def assert_as_jax(found: Any, expected: Any) -> None:
    kinds = [[leaf.dtype for leaf in jax.tree.leaves(tree)] for tree in (found, expected)]
    assert kinds[0] == kinds[1]
    for a, b in zip(plain(found), plain(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


@pytest.mark.sampled(17)
@pytest.mark.parametrize("number", range(len(CALLS)))
@pytest.mark.parametrize("kind", ["typed", "raw"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_numbers_are_those_of_jax(number, kind, backend):
    f, key = CALLS[number], KEYS[kind]
    compiled = tg.compile(f, backend=backend)
    if kind == "raw" and number == 12:
        key = random.key(3)  # an array of numbers does not say what it is for
    for _ in range(2):
        assert_as_jax(compiled(key, X), f(key, X))
    assert compiled.cache_info()[::3] == (1, 1)
    assert_as_jax(jax.jit(compiled)(key, X), f(key, X))
    with jax.enable_x64(True):
        assert_as_jax(tg.compile(f, backend=backend)(key, X), f(key, X))


@pytest.mark.parametrize("backend", BACKENDS)
def test_without_a_program(backend, monkeypatch, few):
    monkeypatch.setattr(tg.config, "compile", False)
    for f in few(CALLS, 5):
        assert_as_jax(tg.compile(f, backend=backend)(KEYS["typed"], X), f(KEYS["typed"], X))


def dropped(key, x):
    return jnp.sum(jnp.where(random.bernoulli(key, 0.5, x.shape), x, 0.0) ** 2)


def test_gradients_under_the_transforms_of_jax():
    key, keys = random.key(0), random.split(random.key(0), 4)
    ours = tg.value_and_grad(dropped, 1, backend="jax")
    theirs = jax.value_and_grad(dropped, 1)

    def steps(slope):
        def step(carry, _):
            key, used = random.split(carry[0])
            value, x_bar = slope(used, carry[1])
            return (key, carry[1] - 0.1 * x_bar), value

        return jax.lax.scan(step, (key, X), None, length=5)

    assert_as_jax(ours(key, X), theirs(key, X))
    assert_as_jax(jax.vmap(ours, (0, None))(keys, X), jax.vmap(theirs, (0, None))(keys, X))
    assert_as_jax(steps(ours), steps(theirs))
    assert_as_jax(ours.lower(key, X).compile()(key, X), theirs(key, X))
    rows = tg.compile(lambda keys, x: jax.vmap(dropped, (0, None))(keys, x), backend="jax")
    assert_as_jax(rows(keys, X), jax.vmap(dropped, (0, None))(keys, X))


def test_a_key_from_outside_is_a_constant():
    held = {"key": random.key(0)}
    f = tg.compile(lambda x: x * random.normal(held["key"], (3,)), backend="jax")
    for seed in (0, 0, 1):
        held["key"] = random.key(seed)
        assert_as_jax(f(X), X * random.normal(held["key"], (3,)))
    assert_as_jax(jax.jit(f)(X), X * random.normal(held["key"], (3,)))


def test_another_generator():
    key = random.key(3, impl="rbg")
    assert_as_jax(tg.compile(two, backend="jax")(key, X), two(key, X))


@pytest.mark.parametrize("backend", BACKENDS)
def test_key_generators_take_typed_keys(backend):
    f = tg.compile(lambda k: tg.random.KeyGenerator(k).random(3), backend=backend)
    np.testing.assert_array_equal(f(random.key(3)), f(random.PRNGKey(3)))


def test_what_is_refused():
    key, compiled = random.key(0), lambda f: tg.compile(f, backend="jax")
    with pytest.raises(ArgumentError, match=r"argument p\['k'\] .* is a key of a random generator"):
        tg.grad(lambda p: dropped(p["k"], p["x"]))({"k": key, "x": X})
    with pytest.raises(ConversionError, match=r"(?s)jnp\.sin.*test_jax_keys.py:\d+"):
        compiled(lambda k: jnp.sin(k))(key)
    with pytest.raises(ConversionError, match=r"(?s)jax\.random\.key .*test_jax_keys.py:\d+"):
        compiled(lambda n: random.key(n[0]))(jnp.arange(2))
    with pytest.raises(NotDifferentiableError, match=r"jax\.random\.uniform: .* minval"):
        tg.grad(lambda x: random.uniform(key, (3,), minval=x).sum())(X)
    with pytest.raises(TypeError, match="unsupported operand"):
        compiled(lambda k: k * 2)(key)
    with pytest.raises(TypeError, match="no axes"):
        compiled(lambda k: len(k))(key)


def test_keys_that_are_folded_stay_a_loop():
    def f(key, x):
        for i in range(40):
            x = x + random.normal(random.fold_in(key, i), x.shape)
        return x

    compiled = tg.compile(f, backend="jax")
    assert_as_jax(compiled(random.key(0), X), f(random.key(0), X))
    assert "fori_loop" in compiled.source(random.key(0), X)


def walk(x, key, n):
    for _ in range(n):
        key, used = random.split(key)
        x = x + 0.1 * random.normal(used, x.shape) * np.sin(x)
    return np.sum(x * x), key


def branching_walk(x, key, n):
    states = []
    for _ in range(n):
        key, a, b = random.split(key, 3)
        if random.uniform(a) < 0.5:
            x = x * 1.1 + random.normal(b, x.shape)
        else:
            x = np.sin(x)
        states.append(x)
    return np.sum(np.stack(states) ** 2), key


@pytest.mark.parametrize("function", [walk, branching_walk])
@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_loop_that_splits_a_key_stays_a_loop(function, kind, backend):
    start = np.array([0.3, -0.5, 1.0])
    f = tg.value_and_grad(function, has_aux=True, backend=backend, static_argnames="n")
    lines = set()
    for seed in range(3):
        key = random.fold_in(KEYS[kind], seed)
        (value, left), slope = f(start, key, 12)
        names = {"np": jnp, "random": random}
        plain = type(function)(function.__code__, names)
        (expected, other), wanted = jax.value_and_grad(plain, has_aux=True)(start, key, 12)
        assert np.allclose(value, expected, rtol=1e-5) and np.allclose(slope, wanted, rtol=1e-4)
        assert np.array_equal(*[k if kind == "raw" else random.key_data(k) for k in (left, other)])
        lines.add(len(f.source(start, key, 12).splitlines()))
    f(start, KEYS[kind], 40)
    lines.add(len(f.source(start, KEYS[kind], 40).splitlines()))
    assert max(lines) < 120
