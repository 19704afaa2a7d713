"""tracegrad inside traces of JAX, and JAX's arrays inside tracegrad: held against JAX itself."""

from __future__ import annotations

import collections
import inspect
import math
import re

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.errors import (
    ArgumentError,
    GradientError,
    NonScalarError,
    RecompileWarning,
    ShapeError,
)

jax = pytest.importorskip("jax")
jnp = jax.numpy
lax = jax.lax

BACKENDS = ("numpy", "jax")
X = jnp.linspace(0.1, 1.2, 12).reshape(4, 3)
W = jnp.array([0.5, -1.0, 2.0])


def curve(x):
    return np.sum(np.sin(x) * x)


def jax_curve(x):
    return jnp.sum(jnp.sin(x) * x)


def loss(params, x, y):
    h = np.tanh(x @ params["w"] + params["b"])
    return np.mean((h - y) ** 2)


def jax_loss(params, x, y):
    h = jnp.tanh(x @ params["w"] + params["b"])
    return jnp.mean((h - y) ** 2)


PARAMS = {"b": jnp.array([0.1, -0.2]), "w": jnp.linspace(-1.0, 1.0, 6).reshape(3, 2)}
Y = jnp.linspace(0.0, 1.0, 8).reshape(4, 2)


def assert_same(found, expected, rtol=2e-6):
    """Equal structure, classes, dtypes and numbers."""
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert isinstance(a, jax.Array)
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        np.testing.assert_allclose(a, b, rtol, 1e-6)


# -- transforms of JAX around those of tracegrad ------------------------------------------------

AROUND = {
    "jit": jax.jit,
    "vmap": jax.vmap,
    "jit of vmap": lambda f: jax.jit(jax.vmap(f)),
    "jacfwd": jax.jacfwd,
    "jacrev": jax.jacrev,
    "checkpoint": lambda f: jax.jit(jax.checkpoint(f)),
    "linearize": lambda f: lambda x: jax.linearize(f, x)[1](jnp.ones_like(x)),
    "jvp": lambda f: lambda x: jax.jvp(f, (x,), (jnp.cos(x),)),
    "vjp": lambda f: lambda x: jax.vjp(f, x)[0],
    "map": lambda f: lambda x: lax.map(f, x),
    "cond": lambda f: jax.jit(lambda x: lax.cond(x[0, 0] > 0, f, jnp.zeros_like, x)),
    "switch": lambda f: lambda x: lax.switch(jnp.int32(1), [jnp.zeros_like, f], x),
    "scan": lambda f: lambda x: lax.scan(lambda last, row: (f(row), f(last)), x[0], x),
    "fori_loop": lambda f: lambda x: lax.fori_loop(0, 2, lambda i, x: f(x) * 0.1, x),
    "associative_scan": lambda f: lambda x: lax.associative_scan(lambda a, b: f(a * b), x),
    "closure_convert": lambda f: lambda x: jax.closure_convert(f, x)[0](x),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("around", AROUND)
def test_gradients_inside_transforms(around, backend):
    ours, theirs = tg.grad(curve, backend=backend), jax.grad(jax_curve)
    assert_same(AROUND[around](ours)(X), jax.jit(AROUND[around](theirs))(X))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("around", [jax.grad, jax.value_and_grad, jax.hessian, jax.jit])
def test_compiled_functions_inside_transforms(around, backend):
    ours = tg.compile(curve, backend=backend)
    assert_same(around(ours)(W), jax.jit(around(jax_curve))(W))
    assert_same(jax.vmap(around(ours))(X), jax.jit(jax.vmap(around(jax_curve)))(X))


def test_transforms_nest_in_any_order():
    ours = tg.grad(lambda x: np.sum(np.sin(x) ** 3))
    theirs = jax.grad(lambda x: jnp.sum(jnp.sin(x) ** 3))

    def twice(f):
        return jax.jit(jax.grad(lambda x: jnp.sum(jax.vmap(jax.jit(f))(x) ** 2)))

    assert_same(twice(ours)(X), twice(theirs)(X))
    inner = tg.grad(lambda x: np.sum(x**3))
    outer = jax.jit(tg.grad(lambda x: np.sum(inner(x) * x)))
    assert_same(outer(W), 9 * W**2)


def bent(x):
    return np.sin(x) * x[0]


def jax_bent(x):
    return jnp.sin(x) * x[0]


OURS = {
    "vmap": (tg.vmap(curve), jax.vmap(jax_curve)),
    "vmap of grad": (tg.vmap(tg.grad(curve)), jax.vmap(jax.grad(jax_curve))),
    "jacobian": (tg.vmap(tg.jacobian(bent)), jax.vmap(jax.jacobian(jax_bent))),
    "hessian": (lambda x: tg.hessian(curve)(x[0]), lambda x: jax.hessian(jax_curve)(x[0])),
    "jvp": (
        lambda x: tg.jvp(bent, (x[0],), (x[1],)),
        lambda x: jax.jvp(jax_bent, (x[0],), (x[1],)),
    ),
    "hvp": (
        lambda x: tg.hvp(curve, (x[0],), (x[1],)),
        lambda x: jax.jvp(jax.grad(jax_curve), (x[0],), (x[1],))[1],
    ),
    "linearize": (
        lambda x: tg.linearize(bent, x[0])[1](x[1]),
        lambda x: jax.linearize(jax_bent, x[0])[1](x[1]),
    ),
}


@pytest.mark.parametrize("name", OURS)
def test_every_transform_of_ours(name):
    ours, theirs = OURS[name]
    assert_same(jax.jit(ours)(X), jax.jit(theirs)(X))
    twice = jnp.stack([X, 2 * X])
    assert_same(jax.vmap(ours)(twice), jax.jit(jax.vmap(theirs))(twice))


def ranged(x):
    s = 0.0
    for i in range(10):
        s = s * 0.5 + np.sin(x[0] * i)
    return s


def listed(x):
    s = 0.0
    for v in x:
        s = s + v * v
    return s


def awaited(x):
    k = 0
    while k < 12:
        x = x * 0.9 + k
        k += 1
    return x.sum()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("f", [ranged, listed, awaited])
def test_vmap_of_loops(f, backend):
    x = np.linspace(0.1, 1.2, 24).reshape(2, 12)
    for of in (f, tg.grad(f)):
        expected = jnp.array(tg.vmap(of)(x))
        assert_same(tg.vmap(of, backend=backend)(jnp.array(x)), expected)
        assert_same(jax.jit(tg.vmap(of, backend=backend))(x), expected)
        assert_same(tg.vmap(of, backend=backend)(jnp.array(x)), expected)


def test_vmap_of_effects_on_arrays_of_jax_runs_for_one_example_after_the_other():
    seen = []

    def noted(x):
        seen.append(x[0])
        return x.sum()

    ours = tg.vmap(noted, backend="jax")
    with pytest.warns(RecompileWarning, match="one example after the other"):
        assert_same(ours(X), X.sum(axis=1))
    assert_same(jnp.array(seen), X[:, 0])


def test_shapes_without_values():
    ours = tg.value_and_grad(loss)
    shapes = jax.eval_shape(ours, PARAMS, X, Y)
    assert shapes[0].shape == () and shapes[1]["w"].shape == (3, 2)
    assert "tanh" in str(jax.make_jaxpr(ours)(PARAMS, X, Y))


def test_the_program_is_made_once_and_serves_calls_outside():
    ours = tg.grad(curve, backend="jax")
    jax.jit(ours)(W)
    jax.vmap(ours)(X)  # rows are vectors of the same dtype
    assert ours.cache_info().traces == 1
    assert_same(ours(W), jax.grad(jax_curve)(W))
    assert ours.cache_info().traces == 1


def test_a_version_that_is_there_is_applied():
    ours = tg.grad(curve, backend="jax")
    ours(np.ones(3, np.float32))
    assert_same(jax.jit(ours)(W), jax.grad(jax_curve)(W))
    assert ours.cache_info().traces == 1


def test_shard_map():
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("i",))
    spec = jax.sharding.PartitionSpec("i")
    ours = jax.shard_map(tg.grad(curve), mesh=mesh, in_specs=spec, out_specs=spec)
    assert_same(jax.jit(ours)(W), jax.grad(jax_curve)(W))


# -- training -----------------------------------------------------------------------------------


def adam(gradients, state, params):
    """A step of Adam in JAX, of the form that optax has: updates and the next state."""
    count = state["count"] + 1
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state["m"], gradients)
    v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, state["v"], gradients)
    scale = jnp.sqrt(1 - 0.999**count) / (1 - 0.9**count)
    updates = jax.tree.map(lambda m, v: -0.01 * scale * m / (jnp.sqrt(v) + 1e-8), m, v)
    return updates, {"count": count, "m": m, "v": v}


def trained(value_and_grad):
    @jax.jit
    def step(carry, batch):
        params, state = carry
        value, gradients = value_and_grad(params, *batch)
        updates, state = adam(gradients, state, params)
        return (jax.tree.map(jnp.add, params, updates), state), value

    zeros = jax.tree.map(jnp.zeros_like, PARAMS)
    state = {"count": jnp.zeros((), jnp.int32), "m": zeros, "v": zeros}
    carry, _ = step((PARAMS, state), (X, Y))
    batches = (jnp.stack([X] * 5), jnp.stack([Y] * 5))
    return jax.jit(lambda carry: lax.scan(step, carry, batches))(carry)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_training_step_in_one_jit_and_in_scan(backend):
    ours = tg.value_and_grad(loss, backend=backend)
    assert_same(trained(ours), trained(jax.value_and_grad(jax_loss)), 1e-5)
    assert ours.cache_info().traces == 1


def test_a_while_loop_of_jax():
    def search(slope):
        def turn(x):
            return x - 0.1 * slope(x)

        return jax.jit(lambda x: lax.while_loop(lambda x: jnp.sum(x * x) > 0.1, turn, x))

    assert_same(
        search(tg.grad(lambda x: np.sum(x * x)))(W), search(jax.grad(lambda x: jnp.sum(x * x)))(W)
    )


# -- arguments ----------------------------------------------------------------------------------


def powered(p, *, y, rate=0.1, mode="square"):
    z = p["a"] * y + p["b"][0]
    return np.sum(z**2) * rate if mode == "square" else np.sum(z) / rate


@pytest.mark.parametrize("mode", ["square", "sum"])
def test_pytrees_keywords_and_static_arguments(mode):
    ours = tg.value_and_grad(powered, static_argnames=("mode",))
    p = {"a": W, "b": [W[::-1], 2.0]}
    given = jax.tree.map(jnp.asarray, p)

    def theirs(p, y):
        z = p["a"] * y + p["b"][0]
        return jnp.sum(z**2) * 0.1 if mode == "square" else jnp.sum(z) / 0.1

    found = jax.jit(lambda p, y: ours(p, y=y, mode=mode))(p, W)
    assert_same(found, jax.value_and_grad(theirs)(given, W))


def test_named_tuples_and_whole_numbers():
    Pair = collections.namedtuple("Pair", "a b")
    ours = tg.grad(lambda pair, n: sum(np.sum(pair.a * pair.b) ** i for i in range(1, n)))
    found = jax.jit(ours, static_argnums=1)(Pair(W, 2 * W), 3)
    theirs = jax.grad(lambda p: jnp.sum(p.a * p.b) + jnp.sum(p.a * p.b) ** 2)
    assert_same(found, theirs(Pair(W, 2 * W)))


def test_aux_may_hold_what_is_no_array():
    ours = tg.value_and_grad(lambda x: (np.sum(x * x), {"y": 2 * x, "name": "aux"}), has_aux=True)

    @jax.jit
    def inside(x):
        (value, aux), gradient = ours(x)
        assert aux["name"] == "aux"
        return value, aux["y"], gradient

    assert_same(inside(W), (jnp.sum(W * W), 2 * W, 2 * W))


def test_python_numbers_are_known_inside_jax():
    ours = tg.grad(lambda x, rate: np.sum(x * x) * rate if rate > 0 else np.sum(x))
    assert_same(jax.jit(lambda x: ours(x, 0.5))(W), W)
    assert_same(jax.jit(lambda x: ours(x, -0.5))(W), jnp.ones(3))
    assert_same(jax.jit(lambda x: ours(x, 0.25))(W), 0.5 * W)


def test_numbers_that_jax_makes_arrays_have_their_dtype():
    ours = tg.grad(lambda x: x**2 * np.sin(x) * 0.5)
    assert_same(jax.jit(ours)(2.0), jax.grad(lambda x: x**2 * jnp.sin(x) * 0.5)(2.0))


def test_what_is_written_to_an_argument_is_the_functions_own():
    def scaled(x):
        x *= 2
        x[0] = 1.0
        return x

    assert_same(jax.jit(tg.compile(scaled))(W), (2 * W).at[0].set(1.0))
    with pytest.raises(GradientError):
        jax.jit(tg.grad(lambda x: np.sum(scaled(x))))(W)


def test_dtypes_that_numpy_has_not():
    with pytest.raises(ArgumentError, match="argument x has dtype"):
        jax.jit(tg.compile(lambda x: x))(jnp.ones(3, jnp.float8_e4m3fn))


def test_errors_are_those_of_calls_outside():
    with pytest.raises(NonScalarError, match="one number"):
        jax.jit(tg.grad(lambda x: x))(W)
    with pytest.raises(ArgumentError, match="int32"):
        jax.jit(tg.grad(lambda x: np.sum(x)))(jnp.arange(3))
    with pytest.raises(ShapeError, match=r"\(3,\).*\(4, 2\)"):
        jax.jit(tg.compile(lambda x: x @ np.ones((4, 2))))(W)


# -- dtypes -------------------------------------------------------------------------------------


def test_dtypes_are_jax_own_where_it_has_no_64_bits():
    weights = np.arange(3.0)
    ours = tg.compile(lambda x: (np.sum(x * weights), np.argmax(x)))
    with pytest.warns(UserWarning, match=r"float64, weights \(test_jax_tracers.py:\d+\)"):
        found = jax.jit(ours)(W)
    assert_same(found, (jnp.sum(W * weights), jnp.argmax(W)))


def test_float32_needs_no_64_bits(recwarn):
    weights = np.arange(3, dtype=np.float32)
    ours = tg.value_and_grad(lambda x: np.mean(x * weights / 2 + x.shape[0]) ** 2)
    theirs = jax.value_and_grad(lambda x: jnp.mean(x * weights / 2 + x.shape[0]) ** 2)
    assert_same(jax.jit(ours)(W), theirs(W))
    assert not [w for w in recwarn if "64" in str(w.message)]


def test_dtypes_are_numpys_where_jax_has_64_bits():
    def mixed(x, k):
        return x * k, x + np.float64(1.0), np.sqrt(k), x * 0.5, np.argmax(x), np.mean(k)

    x, k = np.arange(3, dtype=np.float32), np.arange(3, dtype=np.int32)
    with jax.enable_x64(True):
        found = jax.jit(tg.compile(mixed))(jnp.asarray(x), jnp.asarray(k))
        slopes = jax.jit(jax.grad(lambda x: tg.compile(mixed)(x, k)[0].sum()))(x)
        expected = mixed(x, k)
    assert [a.dtype for a in found] == [b.dtype for b in expected]
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, 1e-6)
    assert slopes.dtype == np.float32 and slopes.tolist() == k.tolist()


# -- looks: no value is known -------------------------------------------------------------------


def branching(x):
    if x[0] > 0:
        return np.sum(x)
    return np.sum(x * x)


def in_arms(x):
    return x if np.max(x) > 1 else -x


def turning(x):
    while np.sum(x) < 10:
        x = 2 * x
    return x


def as_text(x):
    return float(f"{x[0]}") * x  # the look


def counted(x):
    return sum(x[i] for i in range(int(x[0])))  # the look


def picked(x):
    return x * [1.0, 2.0, 3.0][np.argmax(x)]  # the look


def masked(x):
    return np.sum(x[x > 0])  # the look


def listed(x):
    return x.tolist()[0] * x  # the look


def shown(x):
    return x, len(f"{x}")  # the look


def larger(x):
    return max(x[0], x[1])


def asserted(x):
    if not np.all(x < 5):  # the look
        raise ValueError
    return x


def swallowed(x):
    try:
        if x[0] > 0:
            return x
    except Exception:
        pass
    return 2 * x


def caught(x):
    try:
        return math.acosh(x[0])  # the look
    except ValueError:
        return x[0]


def factored(x):
    try:
        return np.linalg.cholesky(np.outer(x, x) - np.eye(3))  # the look
    except np.linalg.LinAlgError:
        return x


def unique(x):
    return np.unique(x)  # the look


def same(x):
    return x * (id(x) % 2)  # the look


LOOKS = [
    *(as_text, counted, picked, masked, listed, shown),
    *(asserted, caught, factored, unique, same),
]
DECIDED = [branching, in_arms, turning, larger, swallowed]


def line_of_look(f):
    lines, first = inspect.getsourcelines(f)
    (offset,) = [i for i, line in enumerate(lines) if "# the look" in line]
    return rf"at test_jax_tracers\.py:{first + offset} "


@pytest.mark.parametrize("f", LOOKS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("around", [jax.jit, jax.vmap], ids=["jit", "vmap"])
def test_looks_are_refused_with_their_line(f, around):
    x = X if around is jax.vmap else W
    with pytest.raises(ArgumentError, match=line_of_look(f)):
        around(tg.compile(f))(x)


@pytest.mark.parametrize("around", [jax.jit, jax.vmap])
def test_numbers_that_are_computed_with_are_no_looks(around):
    def f(x):
        return x * float(x[0]) + x[1].item() * int(x[2] * 3.0) + int(np.argmax(x))

    x = X if around is jax.vmap else W
    assert_same(around(tg.compile(f))(x), f(x) if around is jax.jit else np.stack([*map(f, x)]))


@pytest.mark.parametrize("f", DECIDED, ids=lambda f: f.__name__)
def test_looks_that_decide_have_both_ways(f):
    given = np.stack([W, 1.0 - W, W + 2.0])
    assert_same(jax.vmap(tg.compile(f))(given), np.stack([f(x) for x in given]))


def test_a_branch_is_one_cond():
    ours = tg.value_and_grad(branching, backend="jax")

    def theirs(x):
        return lax.cond(x[0] > 0, lambda: jnp.sum(x), lambda: jnp.sum(x * x))

    for x in (W, -W):
        assert_same(jax.jit(ours)(x), jax.value_and_grad(theirs)(x))
    assert_same(jax.vmap(ours)(X - 0.5), jax.vmap(jax.value_and_grad(theirs))(X - 0.5))


def test_a_refused_call_leaves_calls_outside_as_they_were():
    ours = tg.compile(asserted)
    with pytest.raises(ArgumentError):
        jax.jit(ours)(W)
    assert_same(ours(W), W)
    with pytest.raises(ValueError):
        ours(np.array([-1.0, 8.0]))


def test_lengths_and_outside_numbers_may_decide():
    flag = True

    def f(x):
        if flag and x.shape[0] > 2:
            return np.sum(x)
        return np.sum(x * x)

    ours = tg.grad(f)
    assert_same(jax.jit(ours)(W), jnp.ones(3))
    assert_same(jax.jit(ours)(W[:2]), 2 * W[:2])
    flag = False
    assert_same(jax.vmap(ours)(X), 2 * X)


# -- effects ------------------------------------------------------------------------------------


class Holder:
    def __init__(self):
        self.count = 0
        self.mean = np.zeros(3, np.float32)
        self.history = []
        self.cache = None

    def counts(self, x):
        self.count += 1
        return x

    def stores(self, x):
        self.mean = 0.9 * self.mean + x
        return x

    def writes(self, x):
        self.mean[0] = x[0]
        return x

    def appends(self, x):
        self.history.append(x)
        return x

    def fills_a_cache(self, x):
        if self.cache is None:
            self.cache = np.ones(3, np.float32)
        return x * self.cache

    def prints(self, x):
        print("x is", x)
        return x

    def draws(self, x):
        return x * np.random.rand()

    def draws_ours(self, x):
        return x * GENERATOR.normal(size=3)


GENERATOR = tg.random.Generator(0)
EFFECTS = {
    "counts": r"self\.count",
    "stores": r"self\.mean",
    "writes": "mean",
    "appends": r"history\.append",
    "fills_a_cache": r"self\.cache",
    "prints": "print",
    "draws": "random",
    "draws_ours": "draws random numbers",
}


@pytest.mark.parametrize("name", EFFECTS)
def test_effects_are_refused_by_name_and_left_undone(name, capsys):
    holder, state = Holder(), repr(GENERATOR.state)
    with pytest.raises(ArgumentError, match=EFFECTS[name]):
        jax.jit(tg.compile(getattr(holder, name)))(W)
    assert repr(vars(holder)) == repr(vars(Holder()))
    assert capsys.readouterr().out == ""
    assert repr(GENERATOR.state) == state


# -- where NumPy would raise --------------------------------------------------------------------


def test_what_numpy_refuses_is_nan():
    matrix = jnp.eye(3) * 2 + 0.1
    ours = tg.value_and_grad(lambda a: np.sum(np.linalg.cholesky(a)))
    theirs = jax.value_and_grad(lambda a: jnp.sum(jnp.linalg.cholesky(a, symmetrize_input=False)))
    assert_same(jax.jit(ours)(matrix)[0], theirs(matrix)[0])
    value, slope = jax.jit(ours)(-matrix)
    assert np.isnan(value) and np.isnan(slope).all()
    slope = jax.grad(tg.compile(lambda a: np.sum(np.linalg.inv(a))))(jnp.zeros((3, 3)))
    assert np.isnan(slope).all()
    picked = jax.jit(tg.compile(lambda x, i: x[i]))
    assert_same(picked(W, jnp.array([0, 2])), W[jnp.array([0, 2])])
    assert np.isnan(picked(W, jnp.array([0, 5]))).all()


# -- arrays of JAX from outside -----------------------------------------------------------------

WEIGHTS = jnp.array([1.0, 2.0, 3.0])


@pytest.mark.parametrize("backend", BACKENDS)
def test_arrays_of_jax_from_outside_are_read_again(backend, monkeypatch):
    ours = tg.grad(lambda x: np.sum(WEIGHTS * x), backend=backend)
    x = np.ones(3)
    for factor in (1.0, 2.0, 3.0):
        monkeypatch.setitem(globals(), "WEIGHTS", factor * jnp.array([1.0, 2.0, 3.0]))
        assert type(ours(x)) is np.ndarray
        assert ours(x).tolist() == [factor, 2 * factor, 3 * factor]
    assert ours.cache_info().traces == 1
    monkeypatch.setitem(globals(), "WEIGHTS", np.array([4.0, 5.0, 6.0]))
    assert ours(x).tolist() == [4.0, 5.0, 6.0]
    assert_same(ours(W), jnp.array([4.0, 5.0, 6.0]))
    monkeypatch.setitem(globals(), "WEIGHTS", jnp.float32(2.0))
    assert ours(x).tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize("backend", BACKENDS)
def test_attributes_items_and_cells_hold_arrays_of_jax(backend):
    class Model:
        pass

    model, items, cell = Model(), [W, 2 * W], 3 * W
    model.w = W
    ours = tg.value_and_grad(lambda x: np.sum(model.w * x * items[1] + cell), backend=backend)
    x = np.arange(3.0)

    def expected():
        return np.sum(np.asarray(model.w) * x * np.asarray(items[1]) + np.asarray(cell))

    np.testing.assert_allclose(ours(x)[0], expected(), 1e-6)
    model.w, items[1], cell = 5 * W, W, W
    np.testing.assert_allclose(ours(x)[0], expected(), 1e-6)
    assert ours.cache_info().traces == 1


@pytest.mark.parametrize("backend", BACKENDS)
def test_looks_at_arrays_of_jax_from_outside(backend, monkeypatch):
    ours = tg.grad(lambda x: np.sum(WEIGHTS * x) if WEIGHTS[0] > 0 else np.sum(x), backend=backend)
    for sign in (1.0, -1.0, 1.0):
        monkeypatch.setitem(globals(), "WEIGHTS", sign * jnp.array([1.0, 2.0, 3.0]))
        assert ours(np.ones(3)).tolist() == ([1.0, 2.0, 3.0] if sign > 0 else [1.0, 1.0, 1.0])


ASKING = {
    "isinstance": lambda x: np.sum(x) * (2 if isinstance(WEIGHTS, jax.Array) else 3),
    "isinstance of NumPy's": lambda x: np.sum(x) * (3 if isinstance(WEIGHTS, np.ndarray) else 2),
    "type": lambda x: np.sum(x) * (2 if type(WEIGHTS) is type(W) else 3),
    "a function of JAX": lambda x: np.sum(x * np.asarray(jnp.ones_like(WEIGHTS) + 1)),
    "at": lambda x: np.sum(x * np.asarray(WEIGHTS.at[:].set(2.0))),
    "devices": lambda x: 2 * np.sum(x) * len(WEIGHTS.devices()),
    "methods": lambda x: np.sum(x * (WEIGHTS.astype("float64") * 0 + WEIGHTS.min() * 2)),
}


@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
@pytest.mark.parametrize("name", ASKING)
def test_arrays_of_jax_are_themselves_for_who_asks(name):
    ours = tg.grad(ASKING[name])
    for _ in range(3):
        assert ours(np.ones(3)).tolist() == [2.0, 2.0, 2.0]


def test_arrays_of_jax_cannot_be_written_to():
    def writes(x):
        WEIGHTS[0] = x[0]
        return np.sum(x)

    with pytest.raises(ArgumentError, match="WEIGHTS is an array of JAX"):
        tg.grad(writes)(np.ones(3))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("backend", BACKENDS)
def test_tracers_from_outside(backend):
    def ours(w, x):
        return tg.value_and_grad(lambda x: np.sum(w * x * x), backend=backend)(x)

    def theirs(w, x):
        return jax.jit(jax.value_and_grad(lambda x: jnp.sum(w * x * x)))(x)

    ones = jnp.ones(3)
    with jax.checking_leaks():
        assert_same(jax.jit(ours)(W, W), theirs(W, W))
        assert_same(jax.jit(lambda w: ours(w, np.ones(3, np.float32)))(W), theirs(W, ones))
        assert_same(jax.vmap(lambda w: ours(w, ones))(X), jax.vmap(lambda w: theirs(w, ones))(X))
    slope = jax.grad(lambda w: ours(w, w)[0])
    assert_same(slope(W), jax.grad(lambda w: theirs(w, w)[0])(W))


# -- operations on arrays of JAX ----------------------------------------------------------------


def test_operations_on_arrays_of_jax_stay_there():
    assert_same(tg.sin(W), jnp.sin(W))
    assert_same(tg.sum(W * W), jnp.sum(W * W))
    assert_same(tg.matmul(X, X.T), X @ X.T)
    assert_same(tg.stack([W, W]), jnp.stack([W, W]))
    assert_same(tg.add(W, np.ones(3, np.float32)), W + 1)
    assert_same(tg.nn.softmax(W, axis=0), jax.nn.softmax(W))
    assert_same(jax.jit(lambda x: tg.exp(tg.sum(x)))(W), jnp.exp(jnp.sum(W)))


OPERATORS = {
    "mul": lambda a, b: a * b,
    "sub": lambda a, b: a - b,
    "matmul": lambda a, b: a @ b,
    "div": lambda a, b: a / b,
    "less": lambda a, b: a < b,
    "multiply": np.multiply,
}


@pytest.mark.parametrize("name", OPERATORS)
def test_tensors_beside_arrays_of_jax(name):
    operator, values = OPERATORS[name], np.array([1.0, 2.0, 3.0])
    t = tg.tensor(values)
    for found, expected in (
        (operator(t, W), operator(values, np.asarray(W))),
        (operator(W, t), operator(np.asarray(W), values)),
    ):
        assert type(found) is tg.Tensor and found.device == "jax"
        np.testing.assert_allclose(found.cpu().numpy(), expected, 1e-12)


def test_gradients_come_back_from_the_device():
    t = tg.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (tg.sin(t) * W).sum().backward()
    assert t.grad.device == "cpu"
    np.testing.assert_allclose(t.grad.numpy(), np.cos([1.0, 2.0, 3.0]) * np.asarray(W), 1e-12)


def test_as_tensor_keeps_the_device():
    for made in (tg.as_tensor(W), tg.tensor(W), tg.asarray(W), tg.zeros_like(W)):
        assert made.device == "jax" and made.dtype == np.float32
    assert tg.as_tensor(W, device="cpu").device == "cpu"
    assert tg.as_tensor(W, dtype="float64").dtype == np.float64


def test_vjp_of_arrays_of_jax():
    def f(p, y):
        return {"a": np.sin(p["k"]) * y}

    def pulled(vjp):
        return lambda x: (lambda out, pull: (out, pull({"a": x})))(*vjp(f, {"k": x}, 2 * x))

    def theirs(p, y):
        return {"a": jnp.sin(p["k"]) * y}

    expected = pulled(lambda _, *primals: jax.vjp(theirs, *primals))(W)
    assert_same(pulled(tg.vjp)(W), expected)
    assert_same(jax.jit(pulled(tg.vjp))(W), expected)


def test_a_tensor_and_a_tracer_are_refused():
    ours = tg.compile(lambda x, y: x * y)
    with pytest.raises(ArgumentError, match="Tensor and a JAX tracer"):
        jax.jit(lambda x: ours(x, tg.ones(3)))(W)
    assert type(ours(tg.as_tensor(W), W)) is tg.Tensor


# -- settings -----------------------------------------------------------------------------------


def test_without_compiling_tracers_have_a_program_all_the_same(monkeypatch):
    monkeypatch.setattr(tg.config, "compile", False)
    assert_same(jax.jit(tg.grad(curve))(W), jax.grad(jax_curve)(W))
    assert_same(jax.jit(tg.compile(curve))(W), jax_curve(W))


def test_what_has_no_program_is_refused():
    async def waits(x):
        return x

    with pytest.raises(ArgumentError, match="asynchronous"):
        jax.jit(tg.compile(waits))(W)


def test_the_message_is_one_sentence_on_one_line():
    with pytest.raises(ArgumentError) as error:
        jax.jit(tg.compile(as_text))(W)
    assert re.search(r"test_jax_tracers\.py:\d+ \(return float\(", str(error.value))
    assert "\n" not in str(error.value)
