"""Functions whose values the backward computes again: the same bits, with less kept."""

from __future__ import annotations

import numpy as np
import pytest
from checks import assert_close, assert_same_bits

import tracegrad as tg

RANDOM = np.random.default_rng(3)
W, X = RANDOM.normal(size=(3, 4, 4)), RANDOM.normal(size=(5, 4))


def layer(x, w):
    h = np.tanh(x @ w)
    h = np.sin(h) * h
    return np.exp(-h)


def loss_of(layer):
    def loss(w, x):
        for k in range(3):
            x = layer(x, w[k])
        return np.sum(x**2)

    return loss


def looped(layer):
    def loss(w, x):
        for _ in range(20):
            x = layer(x, w)
        return np.sum(x**2)

    return loss


@pytest.fixture
def eagerly():
    tg.config.compile = False
    yield
    tg.config.compile = True


PLAIN, AGAIN = loss_of(layer), loss_of(tg.checkpoint(layer))


def test_the_same_bits_compiled():
    plain, again = (tg.value_and_grad(f, argnums=(0, 1)) for f in (PLAIN, AGAIN))
    for _ in range(2):
        assert_same_bits(again(W, X), plain(W, X))


def test_the_same_bits_eagerly(eagerly):
    plain, again = (tg.value_and_grad(f, argnums=(0, 1)) for f in (PLAIN, AGAIN))
    for _ in range(3):
        assert_same_bits(again(W, X), plain(W, X))


def test_on_tensors_with_a_history():
    found = []
    for f in (PLAIN, AGAIN):
        w = tg.tensor(W, requires_grad=True)
        f(w, tg.tensor(X)).backward()
        found.append(w.grad.numpy())
    assert_same_bits(found[1], found[0])


def test_the_backward_computes_again_in_the_source():
    source = tg.grad(lambda x, w: np.sum(tg.checkpoint(layer)(x, w) ** 2)).source(X, W[0])
    forward, backward = source.split("# backward")
    assert forward.count("np.tanh(h, out=h)") == backward.count("np.tanh(h, out=h)") > 0
    assert "tanh" not in forward.split("Saves for the backward")[1].partition("import")[0]


def test_a_loop_stays_a_loop_and_keeps_one_array_a_turn():
    plain, again = tg.grad(looped(layer)), tg.grad(looped(tg.checkpoint(layer)))
    assert_same_bits(again(W[0], X), plain(W[0], X))
    assert again.source(W[0], X).count("_saved = [") == 1
    assert "h_saved" in plain.source(W[0], X)
    assert "h_saved" not in again.source(W[0], X)


def test_less_memory_is_taken():
    import tracemalloc

    x, w = RANDOM.normal(size=(400, 200)), RANDOM.normal(size=(200, 200)) * 0.05
    peaks = []
    for f in (looped(layer), looped(tg.checkpoint(layer))):
        gradient = tg.grad(f)
        gradient(w, x)
        tracemalloc.start()
        gradient(w, x)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 0.6 * peaks[0], peaks


def test_a_compiled_function_on_the_tape_keeps_the_arguments():
    kept = []
    for f in (layer, tg.checkpoint(layer)):
        compiled = tg.compile(lambda x, w, f=f: np.sum(f(x, w)))
        w = tg.tensor(W[0], requires_grad=True)
        out = compiled(tg.tensor(X), w)
        out.backward()
        kept.append(w.grad.numpy())
    assert_same_bits(kept[1], kept[0])


def test_jax():
    pytest.importorskip("jax")
    found = tg.grad(AGAIN, backend="jax")(W, X)
    assert_close(found, tg.grad(PLAIN)(W, X), rtol=1e-10)
    assert "optimization_barrier" in tg.grad(AGAIN, backend="jax").source(W, X)


def test_second_derivatives():
    def squared(f):
        return tg.grad(lambda w: np.sum(tg.grad(f)(w, X) ** 2))

    assert_close(squared(AGAIN)(W), squared(PLAIN)(W), rtol=1e-10)


def test_paths_inside():
    def turn(x):
        if x[0] > 0:
            return np.sin(x) * x
        return np.cos(x) * np.exp(x)

    again = tg.grad(lambda x: np.sum(tg.checkpoint(turn)(x) ** 2))
    plain = tg.grad(lambda x: np.sum(turn(x) ** 2))
    for scale in (1.0, -1.0, 2.0, -2.0):
        x = scale * np.arange(1.0, 4.0)
        assert_same_bits(again(x), plain(x))


def test_a_loop_inside():
    def turns(x):
        for _ in range(12):
            x = np.sin(x) * x
        return x

    again, plain = (
        tg.grad(lambda x: np.sum(tg.checkpoint(turns)(x))),
        tg.grad(lambda x: np.sum(turns(x))),
    )
    assert_same_bits(again(X), plain(X))


def test_checkpoints_in_checkpoints():
    inner = tg.checkpoint(layer)
    outer = tg.checkpoint(lambda x, w: inner(inner(x, w), w) * x)
    plain = tg.grad(lambda w: np.sum(layer(layer(X, w), w) * X))
    assert_same_bits(tg.grad(lambda w: np.sum(outer(X, w)))(W[0]), plain(W[0]))


def test_a_closure_keeps_its_gradient(eagerly):
    def loss(w):
        return np.sum(tg.checkpoint(lambda x: np.tanh(x @ w) * x)(X))

    def plain(w):
        return np.sum(np.tanh(X @ w) * X)

    assert_close(tg.grad(loss)(W[0]), tg.grad(plain)(W[0]), rtol=1e-12)
    w = tg.tensor(W[0], requires_grad=True)
    tg.checkpoint(lambda x: np.tanh(x @ w) * x)(tg.tensor(X, requires_grad=True)).sum().backward()
    assert_close(w.grad.numpy(), tg.grad(plain)(W[0]), rtol=1e-12)


@pytest.mark.parametrize("compiled", [True, False])
def test_numbers_are_drawn_once(compiled):
    ours, same = tg.random.Generator(0), np.random.default_rng(0)
    noisy = tg.checkpoint(lambda x: np.sin(x * ours.normal(size=3)) * x)
    x = np.arange(1.0, 4.0)
    tg.config.compile = compiled
    try:
        gradient = tg.grad(lambda x: np.sum(noisy(x)))
        for _ in range(3):
            found, n = gradient(x), same.normal(size=3)
            assert_close(found, np.sin(x * n) + x * n * np.cos(x * n), rtol=1e-12)
    finally:
        tg.config.compile = True


def test_pytrees_numbers_and_keywords():
    def f(p, *, power):
        return {"y": p["a"] ** power * p["b"], "n": 3}

    again = tg.checkpoint(f)
    assert again({"a": 2.0, "b": 3.0}, power=2) == {"y": 12.0, "n": 3}
    gradient = tg.grad(lambda p: again(p, power=2)["y"])({"a": 2.0, "b": 3.0})
    assert gradient == {"a": 12.0, "b": 4.0}
    p = {"a": tg.tensor(2.0, requires_grad=True), "b": 3.0}
    again(p, power=2)["y"].backward()
    assert p["a"].grad.item() == 12.0


def test_complex_numbers():
    def f(z):
        return np.exp(1j * z) * z

    gradients = [tg.grad(lambda z, g=g: np.sum(np.real(g(z)))) for g in (f, tg.checkpoint(f))]
    z = np.array([1 + 2j, 0.5 - 1j])
    assert_same_bits(gradients[1](z), gradients[0](z))
    found = []
    for g in (f, tg.checkpoint(f)):
        t = tg.tensor(z, requires_grad=True)
        g(t).real.sum().backward()
        found.append(t.grad.numpy())
    assert_close(found[1], found[0], rtol=1e-12)


def test_what_it_is_given():
    assert tg.checkpoint(layer).__name__ == "layer"
    assert type(tg.checkpoint(layer)(X, W[0])) is np.ndarray
    with pytest.raises(tg.errors.ArgumentError, match="max_bytes"):
        tg.checkpoint(layer, max_bytes="100")
    with pytest.raises(tg.errors.ArgumentError, match="function"):
        tg.checkpoint(3.0)


def test_it_decorates_with_a_budget():
    @tg.checkpoint(max_bytes=400)
    def decayed(x):
        for _ in range(50):
            x = x - 0.1 * np.sin(x)
        return np.sum(x)

    f = tg.grad(decayed)
    assert_same_bits(f(X[0]), tg.grad(decayed.__wrapped__)(X[0]))
    assert "keeps what each of" in f.source(X[0])
    with pytest.raises(tg.errors.ArgumentError, match="max_bytes"):
        tg.checkpoint(max_bytes=-1)


@pytest.mark.parametrize("max_bytes", [None, 1000])
def test_arguments_keep_their_names(max_bytes):
    def simulated(rate, start, steps=3):
        x = start
        for _ in range(steps):
            x = x + rate * np.sin(x)
        return np.sum(x)

    f = tg.value_and_grad(tg.checkpoint(simulated, max_bytes=max_bytes))
    assert_same_bits(f(0.1, start=np.ones(2))[1], tg.grad(simulated)(0.1, np.ones(2)))
    source = f.source(0.1, np.ones(2))
    at = f"test_checkpoint.py:{simulated.__code__.co_firstlineno}"
    assert "value and gradient in rate of simulated" in source and f"({at})" in source
    assert "rate_bar" in source and "args" not in source
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'start'"):
        f(0.1)


def twice(x):
    return x + np.sin(x)


def squashed(x):
    return np.exp(x) / (1 + np.exp(x))


def several(x):
    return x * np.sin(x), x + x * x


def product_and_sum(x, y):
    return x * np.sin(y) + y * x * x


BODIES = {
    "inside and outside": lambda again: lambda x: np.sum(again(twice)(x) * x),
    "one after another": lambda again: lambda x: np.sum(again(np.tanh)(again(np.tanh)(x))),
    "several": lambda again: lambda x: np.sum(again(several)(x)[0] * again(several)(x)[1] + x),
    "two arguments": lambda again: lambda x: np.sum(again(product_and_sum)(x, 2 * x) * x),
    "one argument twice": lambda again: lambda x: np.sum(again(product_and_sum)(x, x) * x),
    "divided": lambda again: lambda x: np.sum(again(np.cos)(again(squashed)(x)) * x),
    "within another": lambda again: (
        lambda x: np.sum(again(lambda y: again(twice)(y) * y + y)(x) * x)
    ),
    "closure": lambda again: lambda x: np.sum(again(lambda y: np.sin(y) * x + y * x)(x) * x),
    "closure alone": lambda again: lambda x: np.sum(again(lambda: twice(x) * x)() * x),
    "what it is given": lambda again: lambda x: np.sum(again(lambda y: (y, y * x[0]))(x)[0] * x),
    "one value twice": lambda again: (
        lambda x: (lambda pair: np.sum(pair[0] * pair[1] * np.cos(pair[0]) * x))(
            again(lambda y: (np.sin(y),) * 2)(x)
        )
    ),
    "elements": lambda again: (
        lambda x: np.sum(again(lambda y: y[0] * y[1] + y[:3] * y[2])(x) * x[:3])
    ),
    "a choice": lambda again: lambda x: np.sum(again(lambda y: np.where(y > 0, y * y, y))(x) * x),
    "broadcast": lambda again: lambda x: np.sum(again(lambda y: y[:, None] * y + y)(x) * x),
    "dict": lambda again: (
        lambda x: np.sum(again(lambda d: d["a"] * d["b"] + d["a"])({"a": x, "b": x}) * x)
    ),
}


@pytest.mark.parametrize("tensors", [False, True])
@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("name", BODIES)
def test_the_order_of_sums_is_that_of_the_function_itself(name, compiled, tensors, monkeypatch):
    monkeypatch.setattr(tg.config, "compile", compiled)

    def derived(f, x):
        if not tensors:
            return tg.value_and_grad(f)(x)
        x = tg.tensor(x, requires_grad=True)
        value = (tg.compile(f) if compiled else f)(x)
        value.backward()
        return value.detach().numpy(), x.grad.numpy()

    plain, again = BODIES[name](lambda f: f), BODIES[name](tg.checkpoint)
    for seed in range(5):
        x = np.random.default_rng(seed).normal(size=6)
        assert_same_bits(derived(again, x), derived(plain, x))
