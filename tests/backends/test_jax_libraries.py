"""optax, equinox and flax's nnx: gradients of ours train their models inside one `jax.jit`."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.errors import ArgumentError, RecompileWarning, TracegradError

jax = pytest.importorskip("jax")
jnp = jax.numpy

DRAWN = np.random.default_rng(0).standard_normal
X, Y = DRAWN((16, 4)).astype(np.float32), DRAWN((16, 1)).astype(np.float32)
W1, B1, W2 = (DRAWN(shape).astype(np.float32) for shape in ((4, 8), (8,), (8, 1)))
TURNS = 5


def assert_trees(found: Any, expected: Any, rtol: float = 2e-5) -> None:
    """The same structure for JAX, and the same numbers."""
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        if hasattr(b, "shape"):
            np.testing.assert_allclose(a, b, rtol, 1e-6)
        else:
            assert a is b


def trained(step: Any, *state: Any) -> Any:
    """What is left after some steps, each of which gives the next state and the loss."""
    values = []
    for _ in range(TURNS):
        *state, value = step(*state, X, Y)  # type: ignore[assignment]
        values.append(float(value))
    assert values[-1] < values[0]
    return state[0]


# -- optax --------------------------------------------------------------------------------------


def loss(p, x, y):
    return np.mean((np.tanh(x @ p["w1"] + p["b1"]) @ p["w2"] - y) ** 2)


def jax_loss(p, x, y):
    return jnp.mean((jnp.tanh(x @ p["w1"] + p["b1"]) @ p["w2"] - y) ** 2)


@pytest.mark.parametrize("backend", ["numpy", "jax"])
def test_losses_of_optax(backend):
    optax = pytest.importorskip("optax")
    labels, y = jnp.array([0, 2, 1]), jnp.linspace(0.2, 0.9, 9).reshape(3, 3)
    for f in (
        lambda x: optax.softmax_cross_entropy_with_integer_labels(x, labels).mean(),
        lambda x: optax.softmax_cross_entropy(x, y).mean() + optax.huber_loss(x, y).mean(),
        lambda x: optax.sigmoid_binary_cross_entropy(x, y).mean() + optax.l2_loss(x, y).sum(),
    ):
        x = jnp.linspace(-1.0, 2.0, 9).reshape(3, 3)
        for slope in (tg.grad(f, backend=backend), jax.jit(tg.grad(f, backend=backend))):
            np.testing.assert_allclose(slope(x), jax.grad(f)(x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("chain", ["adam", "adamw", "clipped"])
def test_optax(chain):
    optax = pytest.importorskip("optax")
    made = {
        "adam": lambda: optax.adam(1e-2),
        "adamw": lambda: optax.adamw(optax.cosine_decay_schedule(1e-2, 100)),
        "clipped": lambda: optax.chain(optax.clip_by_global_norm(0.1), optax.sgd(1e-2, 0.9)),
    }
    optimizer = made[chain]()

    def stepped(value_and_grad):
        @jax.jit
        def step(p, state, x, y):
            value, slopes = value_and_grad(p, x, y)
            updates, state = optimizer.update(slopes, state, p)
            return optax.apply_updates(p, updates), state, value

        p = {"w1": jnp.array(W1), "b1": jnp.array(B1), "w2": jnp.array(W2)}
        return trained(step, p, optimizer.init(p))

    assert_trees(stepped(tg.value_and_grad(loss)), stepped(jax.value_and_grad(jax_loss)))


# -- classes that JAX knows ---------------------------------------------------------------------


@dataclasses.dataclass
class Layer:
    w: Any
    rate: float
    name: str
    shape: tuple[int, ...] = (3,)


jax.tree_util.register_dataclass(Layer, ["w"], ["rate", "name", "shape"])


def layered(p, x):
    assert type(p.rate) is float and p.shape == (3,)
    return np.sum(np.sin(x * p.w) * p.rate) if p.name == "sin" else np.sum(x * p.w)


@pytest.mark.parametrize("backend", ["numpy", "jax"])
def test_static_fields_stay_in_gradients(backend):
    slope = tg.grad(layered, backend=backend)
    x = np.arange(3.0)
    for layer in (Layer(x + 1, 0.5, "sin"), Layer(x, 0.5, "sin"), Layer(x, 2.0, "sin")):
        for _ in range(2):
            found = slope(layer, x)
            assert type(found) is Layer
            assert (found.rate, found.name, found.shape) == (layer.rate, "sin", (3,))
            np.testing.assert_allclose(found.w, np.cos(x * layer.w) * x * layer.rate, 1e-6)
    assert (slope(Layer(x, 2.0, "no"), x).w == x).all()
    assert slope.cache_info().versions == 3  # a rate, or a name, is part of the program
    assert slope.cache_info().hits == 4


def test_static_fields_inside_jax():
    x = jnp.arange(3.0)
    layer = Layer(x + 1, 0.5, "sin")

    def theirs(p, x):
        return jnp.sum(jnp.sin(x * p.w) * p.rate)

    assert_trees(jax.jit(tg.grad(layered))(layer, x), jax.grad(theirs)(layer, x))


def test_a_static_field_without_a_key_is_by_identity():
    @dataclasses.dataclass
    class Held:
        w: Any
        table: Any = dataclasses.field(metadata={"static": True})

    jax.tree_util.register_dataclass(Held)
    one, other = [2.0], [3.0]
    slope = tg.grad(lambda p: np.sum(p.w * p.table[0]))
    for table in (one, one, other):
        found = slope(Held(np.ones(2), table))
        assert found.table is table and (found.w == table[0]).all()
    one[0] = 5.0
    assert (slope(Held(np.ones(2), one)).w == 5.0).all()


class Pair:
    """Registered without names for its children."""

    def __init__(self, a, b, power):
        self.a, self.b, self.power = a, b, power


jax.tree_util.register_pytree_node(
    Pair, lambda p: ((p.a, p.b), p.power), lambda power, children: Pair(*children, power)
)


@pytest.mark.parametrize("backend", ["numpy", "jax"])
def test_registered_classes(backend):
    slope = tg.grad(lambda p: np.sum(p.a**p.power * p.b), backend=backend)
    for power in (2, 2, 3, 2):
        found = slope(Pair(np.array([1.0, 2.0]), 3.0, power))
        assert type(found) is Pair and found.power == power
        np.testing.assert_allclose(found.a, [3.0 * power, 3.0 * power * 2.0 ** (power - 1)])
    assert slope.cache_info().versions == 2

    def changed(p):
        p.a = p.a * 2
        return np.sum(p.a)

    with pytest.raises(ArgumentError, match="changes what its argument of type Pair holds"):
        tg.grad(changed)(Pair(np.ones(2), 3.0, 1))


def test_one_container_at_two_places():
    """Whether two arguments are one object is no part of the program, so it is not asked."""

    class Same:
        def __init__(self, w):
            self.w = w

        def of(self, other):
            return np.sum(self.w * (2.0 if other is self else 1.0))

    jax.tree_util.register_pytree_node(Same, lambda s: ((s.w,), None), lambda _, c: Same(*c))
    slope = tg.grad(lambda a, b: a.of(b))
    one, other = Same(np.ones(2)), Same(np.ones(2))
    for a, b, expected in ((one, other, 1.0), (one, one, 2.0), (one, other, 1.0)):
        assert (slope(a, b).w == expected).all()
    itself = tg.grad(lambda a: a.of(a))
    for _ in range(3):
        assert (itself(one).w == 2.0).all()
    assert itself.cache_info().hits == 2


def test_maps_over_trees_in_a_function():
    held = {"a": np.ones(2), "b": [None, np.full(2, 3.0)]}

    def regularized(p, x):
        scaled = jax.tree.map(lambda w, h: w * h, p, held)
        return sum(np.sum(w * w) for w in jax.tree.leaves(scaled)) + np.sum(p["a"] * x)

    slope = tg.grad(regularized)
    p, x = {"a": np.arange(2.0), "b": [None, np.ones(2)]}, np.ones(2)
    for scale in (1.0, 1.0, 4.0):
        held["a"] = np.full(2, scale)
        found = slope(p, x)
        np.testing.assert_allclose(found["a"], 2 * p["a"] * scale**2 + 1)
        np.testing.assert_allclose(found["b"][1], [18.0, 18.0])
    assert slope.cache_info().versions == 1
    with pytest.raises(ValueError, match="the trees differ"):
        slope({"a": np.ones(2), "b": [None, None]}, x)


# -- equinox ------------------------------------------------------------------------------------


def equinox_net() -> Any:
    eqx = pytest.importorskip("equinox")

    class Net(eqx.Module):
        first: eqx.nn.Linear
        w: jax.Array
        act: Any
        width: int = eqx.field(static=True)

        def hidden(self, x):
            return self.act(x @ self.first.weight.T + self.first.bias) / self.width

        def __call__(self, x):
            return self.hidden(x) @ self.w

    return Net(eqx.nn.Linear(4, 8, key=jax.random.PRNGKey(0)), jnp.array(W2), np.tanh, 8)


def squared(net, x, y):
    return np.mean((net(x) - y) ** 2)


def jax_squared(net, x, y):
    h = jnp.tanh(x @ net.first.weight.T + net.first.bias) / net.width
    return jnp.mean((h @ net.w - y) ** 2)


def test_equinox_gradients_are_modules():
    net = equinox_net()
    import equinox as eqx

    expected = eqx.filter_grad(jax_squared)(net, X, Y)
    for slope in (tg.grad(squared), eqx.filter_jit(tg.grad(squared))):
        for _ in range(2):
            found = slope(net, jnp.array(X), jnp.array(Y))
            assert_trees(found, expected)
            assert found.width == 8 and found.act is None


def test_layers_of_equinox_are_called_as_they_are():
    """`eqx.nn.Linear` under `tg.vmap` and `jax.vmap`; it computes with ``@``, in a named scope."""
    eqx = pytest.importorskip("equinox")
    layer = eqx.nn.Linear(4, 8, key=jax.random.PRNGKey(0))
    expected = jax.grad(lambda m, x: jnp.sum(jnp.tanh(jax.vmap(m)(x)) ** 2))(layer, X)
    for vmap in (tg.vmap, jax.vmap):
        slope = tg.grad(lambda m, x, vmap=vmap: np.sum(np.tanh(vmap(m)(x)) ** 2))
        for _ in range(2):
            assert_trees(slope(layer, jnp.array(X)), expected)
        assert slope.cache_info().hits == 1
        assert_trees(eqx.filter_jit(slope)(layer, jnp.array(X)), expected)


def test_an_mlp_of_equinox():
    """It maps its activation over units, by weak references: inside `jax.jit` it is refused."""
    eqx = pytest.importorskip("equinox")
    net = eqx.nn.MLP(4, 2, 3, 1, key=jax.random.PRNGKey(0))
    expected = eqx.filter_grad(lambda m, x: jnp.sum(m(x) ** 2))(net, X[0])
    slope = tg.grad(lambda m, x: np.sum(m(x) ** 2))
    with pytest.warns(RecompileWarning, match="one example after the other"):
        found = slope(net, jnp.array(X[0]))
    with pytest.warns(RecompileWarning, match="Each call is traced"):
        again = [slope(net, jnp.array(X[0])) for _ in range(3)]
    for each in (found, *again):
        for mine, layer in zip(each.layers, expected.layers, strict=True):
            np.testing.assert_allclose(mine.weight, layer.weight, 1e-5, 1e-6)
    with pytest.raises(ArgumentError, match="reads or changes a weak reference"):
        eqx.filter_jit(slope)(net, jnp.array(X[0]))


def test_what_jax_takes_for_a_leaf_is_one():
    @dataclasses.dataclass
    class Unknown:
        w: Any

    class Under(dict):
        pass

    def counted(x):
        given = [Unknown(x), Under(x=x), {"x": x}]
        return np.sum(x) * len([n for n in jax.tree.leaves(given)] + jax.tree.leaves((x, None)))

    for _ in range(2):
        assert tg.compile(counted)(np.ones(2)) == counted(np.ones(2)) == 8.0


@pytest.mark.parametrize("partitioned", [False, True])
def test_equinox(partitioned):
    optax, net = pytest.importorskip("optax"), equinox_net()
    import equinox as eqx

    optimizer = optax.adam(1e-2)
    params, static = eqx.partition(net, eqx.is_inexact_array)

    def stepped(value_and_grad):
        @eqx.filter_jit
        def step(net, state, x, y):
            value, slopes = value_and_grad(net, x, y)
            updates, state = optimizer.update(slopes, state)
            return eqx.apply_updates(net, updates), state, value

        return trained(step, params if partitioned else net, optimizer.init(params))

    def combined(params, x, y):
        return squared(eqx.combine(params, static), x, y)

    def jax_combined(params, x, y):
        return jax_squared(eqx.combine(params, static), x, y)

    ours, theirs = (combined, jax_combined) if partitioned else (squared, jax_squared)
    assert_trees(stepped(tg.value_and_grad(ours)), stepped(eqx.filter_value_and_grad(theirs)))


# -- flax ---------------------------------------------------------------------------------------


def nnx_model() -> Any:
    nnx = pytest.importorskip("flax.nnx")

    class Model(nnx.Module):
        def __init__(self):
            self.w1, self.b1 = nnx.Param(jnp.array(W1)), nnx.Param(jnp.array(B1))
            self.w2 = nnx.Param(jnp.array(W2))
            self.seen = nnx.Variable(jnp.zeros(()))

        def __call__(self, x):
            return np.tanh(x @ self.w1[...] + self.b1[...]) @ self.w2[...]

    return Model()


def test_nnx():
    optax, model = pytest.importorskip("optax"), nnx_model()
    from flax import nnx

    def stepped(value_and_grad, model):
        optimizer = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)

        @nnx.jit
        def step(model, optimizer, x, y):
            value, slopes = value_and_grad(model, x, y)
            optimizer.update(model, nnx.state(slopes, nnx.Param))
            return value

        values = [float(step(model, optimizer, X, Y)) for _ in range(TURNS)]
        assert values[-1] < values[0]
        return nnx.to_pure_dict(nnx.state(model, nnx.Param))

    def theirs(model, x, y):
        h = jnp.tanh(x @ model.w1[...] + model.b1[...])
        return jnp.mean((h @ model.w2[...] - y) ** 2)

    found = stepped(tg.value_and_grad(squared), model)
    assert_trees(found, stepped(nnx.value_and_grad(theirs), nnx_model()))


def test_nnx_states_in_one_jit():
    optax, model = pytest.importorskip("optax"), nnx_model()
    from flax import nnx

    graph, state = nnx.split(model)
    optimizer, value_and_grad = optax.sgd(1e-2), tg.value_and_grad(squared)

    @jax.jit
    def step(state, moments, x, y):
        value, slopes = value_and_grad(nnx.merge(graph, state), x, y)
        updates, moments = optimizer.update(nnx.state(slopes), moments)
        return optax.apply_updates(state, updates), moments, value

    trained(step, state, optimizer.init(state))


def test_what_a_model_keeps_is_refused():
    model = nnx_model()

    def counting(model, x, y):
        model.seen[...] = model.seen[...] + 1
        return squared(model, x, y)

    with pytest.raises(TracegradError):
        tg.grad(counting)(model, X, Y)
    assert float(model.seen[...]) == 0


@pytest.mark.parametrize("backend", ["numpy", "jax"])
def test_nnx_modules_with_generators(backend):
    """Their counts and keys have no gradient, as in nnx."""
    nnx = pytest.importorskip("flax.nnx")

    class Noisy(nnx.Module):
        def __init__(self, rngs):
            self.w = nnx.Param(jnp.linspace(-1.0, 1.0, 12).reshape(4, 3))
            self.rngs = rngs

        def __call__(self, x, key):
            return jnp.where(jax.random.bernoulli(key, 0.5, (8, 3)), x @ self.w[...], 0.0)

    def loss(model, x, key):
        return jnp.sum(model(x, key) ** 2)

    model, x, key = Noisy(nnx.Rngs(0)), jnp.linspace(0.0, 1.0, 32).reshape(8, 4), jax.random.key(1)
    value, slopes = nnx.value_and_grad(loss)(model, x, key)

    @nnx.jit
    def step(model, x, key):
        value, slopes = tg.value_and_grad(loss, backend=backend)(model, x, key)
        return value, nnx.state(slopes, nnx.Param)

    for found, found_slopes in (step(model, x, key), tg.value_and_grad(loss)(model, x, key)):
        np.testing.assert_allclose(found, value, rtol=1e-5)
        (w_bar,) = jax.tree.leaves(nnx.state(found_slopes, nnx.Param))
        np.testing.assert_allclose(w_bar, jax.tree.leaves(slopes)[0], rtol=1e-5)
