"""Functions of JAX in functions that tracegrad traces: of `jax.numpy`, `jax.nn`, `jax.lax`."""

from __future__ import annotations

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from checks import assert_close
from numpy_cases import OPERANDS, calls, flat, function_of, used

import tracegrad as tg
from tracegrad.errors import ConversionError, MemoryAccessError, TracegradError

X = np.linspace(0.2, 1.4, 6).reshape(2, 3)
REFUSED = ("apply_along_axis", "apply_over_axes", "piecewise")  # they call functions


@pytest.mark.sampled(24)
@pytest.mark.parametrize(
    "call", [call for call in calls() if hasattr(jnp, call[3:].partition("(")[0]) and used(call)]
)
def test_functions_of_jax_numpy_are_those_of_numpy(call):
    f, operands = function_of(call), {name: OPERANDS[name] for name in used(call)}
    with warnings.catch_warnings(), jax.enable_x64(True), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        compiled = tg.compile(lambda x: f(jnp, **x))
        if any(name in call for name in REFUSED):
            with pytest.raises(ConversionError, match=r"jnp\.[a-z_]+ has"):
                compiled(operands)
            return
        try:
            expected = f(jnp, **{name: jnp.asarray(x) for name, x in operands.items()})
        except (TypeError, ValueError, NotImplementedError):  # NumPy takes more
            return
        found = compiled(operands)
    for a, b in zip(flat(found), flat(expected), strict=True):
        assert_close(np.asarray(a), np.asarray(b), 1e-6, atol=1e-9)


Y = jnp.arange(3)
LOSSES = [
    lambda x: jnp.sum(jnp.sin(x) ** 2 + jnp.where(x > 0.5, x, 0.0)),
    lambda x: jnp.mean(jax.nn.relu(x - 0.7) + jax.nn.gelu(x) * jax.nn.sigmoid(x)),
    lambda x: jnp.sum(jax.nn.softplus(x) + jax.nn.silu(x) + jax.nn.elu(x - 1)),
    lambda x: jnp.sum(jax.nn.log_softmax(x, axis=0) * jax.nn.softmax(x)),
    lambda x: jnp.sum(jax.lax.stop_gradient(x) * jax.lax.rsqrt(x) * jax.lax.mul(x, x)),
    lambda x: jax.scipy.special.logsumexp(x, axis=1).sum() + jax.scipy.special.erf(x).sum(),
    lambda x: jnp.sum(jnp.linalg.cholesky(x @ x.T + jnp.array([[0.0, 0.3], [0.0, 1.0]]))),
    lambda x: jnp.sum(jnp.linalg.eigh(x[:, :2])[0]) + jnp.linalg.norm(x),
    lambda x: jnp.einsum("ij,kj->", x, x, precision="highest"),
    lambda x: jnp.sum(jnp.stack([x, jnp.array([x[0], x[1]])]) * jnp.arange(3.0)),
    lambda x: jnp.clip(x, min=0.4, max=1.0).sum() + jnp.sort(x, axis=None)[2],
    lambda x: jnp.sum(jax.nn.log_sigmoid(x) * jax.nn.mish(x) + jax.nn.celu(x - 0.8, 1.5)),
    lambda x: jnp.sum(jax.nn.selu(x - 0.8) + jax.nn.relu6(9 * x - 3) + jax.nn.hard_tanh(2 * x - 1)),
    lambda x: jnp.sum(jax.nn.hard_sigmoid(x) * jax.nn.hard_silu(x) + jax.nn.standardize(x) ** 3),
    lambda x: jnp.sum(jax.nn.glu(jnp.concatenate([x, 2 * x], axis=1)) ** 2),
    lambda x: jnp.polyval(jnp.array([1.0, 2.0, 3.0]), x).sum(),
    lambda x: jnp.take_along_axis(x, jnp.array([[0], [2]]), axis=1).sum() * x[0, 0],
    lambda x: jnp.sum(x.astype(jax.dtypes.result_type(x, Y.dtype, Y)) * Y),
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("number", range(len(LOSSES)))
def test_gradients_are_those_of_jax(number, monkeypatch):
    f = LOSSES[number]
    with jax.enable_x64(True):
        expected = jax.grad(f)(X)
        assert_close(np.asarray(jax.jit(tg.grad(f))(X)), np.asarray(expected), 1e-9)
    for backend in ("numpy", "jax"):
        assert_close(tg.grad(f, backend=backend)(X), np.asarray(expected), 1e-6)
    monkeypatch.setattr(tg.config, "compile", False)
    assert_close(tg.grad(f)(X), np.asarray(expected), 1e-6)


@pytest.mark.parametrize("wide", [False, True])
def test_inside_the_transforms_of_jax(wide):
    slope = tg.grad(lambda x: jnp.sum(jnp.tanh(x) * jnp.cumsum(x)))

    def of_jax(x):
        return jax.grad(lambda x: jnp.sum(jnp.tanh(x) * jnp.cumsum(x)))(x)

    def steps(slope):
        return lambda x: jax.lax.scan(lambda x, _: (x - 0.1 * slope(x), None), x, None, length=3)[0]

    with jax.enable_x64(wide):
        x = jnp.asarray(X[0], jnp.float32)
        for around in (jax.jit, jax.vmap, jax.jacfwd, jax.jacrev, steps, jax.checkpoint):
            given = jnp.stack([x, 2 * x]) if around is jax.vmap else x
            assert_close(np.asarray(around(slope)(given)), np.asarray(around(of_jax)(given)), 1e-5)
        assert slope(x).dtype == jnp.float32


def test_an_array_of_jax_from_outside_is_an_input():
    weights = {"w": jnp.ones(3)}
    f = tg.grad(lambda x: jnp.sum(jnp.multiply(weights["w"], x)), backend="jax")
    assert_close(f(X[0]), np.ones(3), 1e-9)
    weights["w"] = jnp.full(3, 2.0)
    assert_close(f(X[0]), np.full(3, 2.0), 1e-9)
    assert f.cache_info().versions == 1


@pytest.mark.parametrize(
    "f, told",
    [
        (lambda x: jnp.put(x, 0, 1.0, inplace=False), r"jnp\.put .*x\[i\] = v"),
        (lambda x: jnp.nonzero(x, size=2)[0], r"jnp\.nonzero with size="),
        (lambda x: jax.lax.cond(True, jnp.sin, jnp.cos, x), r"jax\.lax\.cond .*write if"),
        (lambda x: jax.lax.scan(lambda c, r: (c, r), 0.0, x)[1], r"jax\.lax\.scan .*write for"),
        (lambda x: jax.random.normal(x, (3,)), r"jax\.random\.normal .*KeyGenerator"),
        (lambda x: jax.jit(lambda y: y)(x), "<lambda> under jax.jit"),
        (lambda x: jax.checkpoint(jnp.sin)(x), "without jax.jit and JAX's other transforms"),
        (lambda x: jax.nn.squareplus(x), r"jax\.nn\.squareplus .*NumPy's functions"),
    ],
)
@pytest.mark.parametrize("backend", ["numpy", "jax"])
def test_what_has_no_counterpart_is_refused_by_its_name(f, told, backend):
    with pytest.raises(ConversionError, match=rf"(?s){told}.*test_jax_functions.py:\d+"):
        tg.compile(f, backend=backend)(X)


def test_vmap_of_jax_is_ours():
    def loss(w, x, vmap):
        rows = vmap(lambda row, w: {"y": jnp.tanh(row @ w), "row": row}, (0, None))(x, w)
        return np.sum(rows["y"] ** 2) + np.sum(rows["row"])

    w = np.ones(3)
    expected = jax.grad(lambda w, x: loss_of_jax(w, x))(jnp.asarray(w), jnp.asarray(X))
    for backend in ("numpy", "jax"):
        slope = tg.grad(lambda w, x: loss(w, x, jax.vmap), backend=backend)
        for _ in range(2):
            assert_close(slope(w, X), np.asarray(expected), 1e-5)
        assert slope.cache_info().hits == 1
        assert_close(np.asarray(jax.jit(slope)(w, X)), np.asarray(expected), 1e-5)
    with pytest.raises(ConversionError, match=r"without jax\.jit and JAX's other transforms"):
        tg.compile(lambda x: jax.vmap(jnp.sin, axis_name="rows")(x))(X)


def loss_of_jax(w, x):
    return jnp.sum(jax.vmap(lambda row: jnp.tanh(row @ w))(x) ** 2)


@pytest.mark.parametrize("on", ["cpu", "jax"])
@pytest.mark.parametrize("needs_grad", [False, True])
def test_functions_of_jax_refuse_tensors_and_say_what_to_write(on, needs_grad):
    x = tg.tensor(np.ones(3), requires_grad=needs_grad).to(on)
    given = jnp.ones(3)
    for f in (
        *(jnp.sin, jnp.sum, jax.jit(lambda x: x), lambda x: jnp.multiply(given, x)),
        *(lambda x: jnp.where(True, x, x), lambda x: jnp.einsum("i,i", x, x)),
        *(jax.vmap(jnp.sin), lambda x: jax.lax.cond(True, jnp.sin, jnp.cos, x)),
        *(jax.nn.relu, jax.lax.sin, lambda x: jax.lax.add(x, x), jax.nn.softmax),
    ):
        with pytest.raises(TracegradError, match=r"write NumPy's, np\.sin\(x\) for jnp\.sin\(x\)"):
            f(x)
    for transform in (jax.grad, jax.value_and_grad, jax.jacrev, jax.jacfwd, jax.hessian):
        with pytest.raises(TracegradError, match=r"tg\.grad\(f\)\(x\) for jax\.grad"):
            transform(lambda x: (x * x).sum())(x)
    with pytest.raises(TracegradError, match=r"tg\.grad\(f\)\(x\) for jax\.grad"):
        jax.vjp(lambda x: x * x, x)
    assert type(given * x) is type(x * given) is tg.Tensor  # operators are the Tensor's


W = jnp.linspace(0.5, 1.5, 3)
UPDATES = [
    lambda x: x.at[0].set(2.0),
    lambda x: x.at[1:].set(x[0]) * x,
    lambda x: (2.0 * x).at[jnp.array([0, 0, 2])].add(x),
    lambda x: x.at[jnp.array([0, 1])].subtract(x[2]),
    lambda x: x.at[np.array([0, 2])].multiply(x[1], unique_indices=True),
    lambda x: x.at[0].mul(3.0).at[1].divide(x[2]).at[-1].power(2.0),
    lambda x: x.at[:2].min(0.5) + x.at[...].max(x[::-1]),
    lambda x: x.at[1].get() * x,
    lambda x: jnp.where(x > 1, x, x.at[x > 1].set(0.0)),
    lambda x: W.at[0].add(x[0], unique_indices=True) * x,
    lambda x: W.at[0].set(2.0) * x + jnp.zeros(3).at[1].set(x[0]),
    lambda x: jnp.zeros(3).at[1].set(2.0) * x,
    lambda x: jnp.zeros((3, 3)).at[jnp.arange(3), jnp.arange(3)].set(x) @ x,
]


MADE = [
    lambda x: jnp.sin(W) * x,
    lambda x: x * jnp.sin(W) + jnp.cos(W).sum() * W[0],
    lambda x: jnp.eye(3) @ x + jnp.arange(3.0) * x,
    lambda x: -(jnp.sin(W) ** x) + (jnp.ones(3) * 2 > x),
    lambda x: jax.random.normal(jax.random.key(1), (3,)) * x,
    lambda x: (jnp.linspace(0.0, 1.0, 3) + 1) / x,
    lambda x: jnp.full((2, 3), 2.0)[0] * x + W[1],
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("f", [*UPDATES, *MADE])
@pytest.mark.parametrize("backend", ["numpy", "jax"])
def test_arrays_of_jax_meet_traced_ones(f, backend, monkeypatch):
    """``x.at[i].set(v)``, and arrays that functions of JAX's make of constants."""

    def total(x):
        return jnp.sum(f(x) ** 2)

    x = jnp.array([0.7, 1.2, 0.4])
    compiled, slope = tg.compile(f, backend=backend), tg.grad(total, backend=backend)
    expected, expected_slope = f(x), jax.grad(total)(x)
    for _ in range(2):
        assert isinstance(compiled(x), jax.Array)
        assert_close(np.asarray(compiled(x)), np.asarray(expected), 1e-6)
        assert_close(np.asarray(slope(x)), np.asarray(expected_slope), 1e-5)
    assert compiled.cache_info()[2:] == (1, 1)
    assert_close(np.asarray(jax.jit(compiled)(x)), np.asarray(expected), 1e-6)
    assert_close(np.asarray(jax.jit(slope)(x)), np.asarray(expected_slope), 1e-5)
    monkeypatch.setattr(tg.config, "compile", False)
    assert_close(np.asarray(slope(x)), np.asarray(expected_slope), 1e-5)


def test_an_array_of_jax_that_another_trace_makes():
    def of(scale):
        return tg.compile(lambda x: (jnp.ones(3) * scale) * x + W.at[0].set(scale))

    step = jax.jit(lambda x, scale: of(scale)(x))
    for scale in (2.0, 3.0):
        found = step(jnp.ones(3), scale)
        assert_close(np.asarray(found), np.asarray(scale * jnp.ones(3) + W.at[0].set(scale)), 1e-6)


@pytest.mark.parametrize("backend", ["numpy", "jax"])
def test_updates_that_are_refused_say_what_to_write(backend):
    f = tg.compile(lambda x: x.at[0].set(1.0), backend=backend)
    told = r"(?s)x\[i\] = v, and np\.add\.at.*test_jax_functions.py:\d+"
    with pytest.raises(MemoryAccessError, match=told):  # NumPy's arrays have no such attribute
        f(np.ones(3))
    for f in (lambda x: x.at[5].set(1.0, mode="drop"), lambda x: x.at[5].get(fill_value=0.0)):
        with pytest.raises(ConversionError, match=r"(?s)IndexError here.*functions.py:\d+"):
            tg.compile(f, backend=backend)(jnp.ones(3))
    with pytest.raises(IndexError):
        tg.compile(lambda x: x.at[5].set(1.0), backend=backend)(jnp.ones(3))
    applied = tg.compile(lambda x: x.at[1].apply(jnp.sin), backend=backend)
    assert_close(np.asarray(applied(W)), np.asarray(W.at[1].apply(jnp.sin)), 1e-6)
    asked = tg.compile(lambda x: x if hasattr(x, "at") else 2.0 * x, backend=backend)
    assert_close(asked(np.ones(3)), np.full(3, 2.0), 0)


def _straight_through(x):
    return np.sum((x + tg.stop_gradient(np.round(x) - x)) ** 2)


def _in_turns(x):
    y = x
    for _ in range(9):
        y = y + x * tg.stop_gradient(np.sin(x + y))
    return np.sum(y)


def _not_recorded(x):
    with tg.no_grad():
        scale = np.sum(x**2)
    return np.sum(x * scale)


def _detached(x):
    return np.sum(x * tg.as_tensor(x * x).detach())


@pytest.mark.parametrize("f", [_straight_through, _in_turns, _not_recorded, _detached])
def test_gradients_that_are_stopped_are_stopped_for_jax_too(f):
    with jax.enable_x64(True):
        x = jnp.array([0.3, 1.7])
        expected = np.asarray(tg.grad(f)(np.asarray(x)))
        for compiled in (tg.compile(f), tg.compile(f, backend="jax")):
            assert_close(jax.grad(compiled)(x), expected, 1e-12)
            assert_close(jax.jit(jax.grad(compiled))(x), expected, 1e-12)
        second = tg.hessian(f)(np.asarray(x))
        assert_close(jax.jacfwd(tg.grad(f))(x), second, 1e-12)
        assert_close(jax.hessian(tg.compile(f))(x), second, 1e-12)


def test_which_arm_a_turn_took_is_kept_for_the_way_back():
    def steps(x):
        y, n = x[0], 0
        while y < 100.0:
            n += 1
            y = y * 1.5
            if n % 3 == 0:
                y = y - 0.25 * x[1]
        return y

    with jax.enable_x64(True):
        x = np.array([0.9, 0.2])
        value, slope = tg.value_and_grad(steps, backend="jax")(x)
        expected = tg.value_and_grad(steps)(x)
        assert_close(value, expected[0], 1e-12)
        assert_close(slope, expected[1], 1e-12)
