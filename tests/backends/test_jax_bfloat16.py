"""Arrays of bfloat16: computed in it by programs for JAX, with JAX's dtypes."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from checks import leaves
from samples.sampling import samples
from test_ops import as_function, every_op, on_numpy, separated, takes

import tracegrad as tg
from tracegrad.errors import ArgumentError, DTypeError, RecompileWarning
from tracegrad.ops.record import NOT_OF_BFLOAT16

BF = jnp.bfloat16
X = jnp.linspace(0.2, 1.4, 6).astype(BF)
M, W = X.reshape(3, 2), jnp.linspace(-1.0, 1.0, 8).reshape(2, 4).astype(BF)
WIDER = {
    name: jnp.arange(1, 7).astype(name)
    for name in ("float16", "float32", "int8", "int32", "uint8", "bool")
}

CALLS = [
    (lambda x: jnp.sin(x) * x + jnp.exp(-x), (X,)),
    (lambda x: 2.0 * x + 1 - x**2 + x**0.5, (X,)),
    (lambda x: jnp.mean(x * x) + jnp.sum(x) - jnp.max(x), (X,)),
    (lambda m, w: jnp.tanh(m @ w), (M, W)),
    (lambda m, w: jnp.einsum("ij,jk->k", m, w), (M, W)),
    (lambda x: jnp.where(x > 0.5, x, 0.0) + (x > 1) * x, (X,)),
    (lambda x: jnp.minimum(x, 1.0) + jnp.maximum(x, 1) + jnp.clip(x, 0.3, 0.8), (X,)),
    (lambda x: jnp.concatenate([x[1:3], x[::-1]]) / 3, (X,)),
    (lambda x: x.astype(jnp.float32) * 2, (X,)),
    (lambda x: x.astype(jnp.bfloat16) * jnp.zeros_like(x, dtype=jnp.bfloat16), (WIDER["float32"],)),
    (lambda x: jax.nn.softmax(x) + jax.nn.relu(x - 0.5) + jax.nn.gelu(x), (X,)),
    (lambda x: jnp.cumsum(x) + jnp.sort(-x) + jnp.abs(x - 1), (X,)),
    (lambda x: x.at[0].set(2.0).at[jnp.array([1, 1])].add(x[2]), (X,)),
    (lambda x: (x > 0.5, jnp.argmax(x).astype(jnp.int32), jnp.isfinite(x)), (X,)),
    (lambda x: jnp.std(x) + jnp.var(x) + jnp.linalg.norm(x), (X,)),
    (lambda t: {"y": [t["a"] * t["b"], t["a"]]}, ({"a": X, "b": WIDER["float32"]},)),
    (lambda x: x * np.float32(2.0) + np.asarray([0.5], np.float32), (X,)),
    *[(lambda x, y: (x * y, y - x, x / y), (X, wider)) for wider in list(WIDER.values())[:5]],
    (lambda x, y: (x * y, jnp.where(y, x, 0)), (X, WIDER["bool"])),
]


def loop(x):
    h = x * 0
    for _ in range(20):
        h = jnp.tanh(h + x)
    return h


def rows(m):
    total = m[0] * 0
    for row in m:
        total = total + jnp.sin(row)
    return total


CALLS += [(loop, (X,)), (rows, (jnp.tile(M, (4, 1)),))]


def assert_near(found, expected):
    """Equal dtypes, and numbers within a few roundings."""
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert a.dtype == b.dtype
        assert isinstance(a, jax.Array)
        np.testing.assert_allclose(np.asarray(a, "f4"), np.asarray(b, "f4"), rtol=3e-2, atol=2e-2)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("number", range(len(CALLS)))
def test_dtypes_are_those_of_jax(number):
    f, args = CALLS[number]
    with jax.enable_x64(True):
        expected = f(*args)
        compiled = tg.compile(f, backend="jax")
        for _ in range(2):
            assert_near(compiled(*args), expected)
        assert compiled.cache_info()[2:] == (1, 1)
        assert_near(jax.jit(compiled)(*args), expected)
    assert_near(compiled(*args), expected)  # whatever the process has


@pytest.mark.sampled(3)
@pytest.mark.parametrize("number", [0, 1, 2, 3, 5, 8, 10, 12, len(CALLS) - 2, len(CALLS) - 1])
def test_gradients(number, monkeypatch):
    f, args = CALLS[number]

    def total(*args):
        return jnp.sum(f(*args).astype(jnp.float32) ** 2)

    every = tuple(range(len(args)))
    expected = jax.grad(total, every)(*args)
    slope = tg.grad(total, every, backend="jax")
    for _ in range(2):
        assert_near(slope(*args), expected)
    assert_near(jax.jit(slope)(*args), expected)
    monkeypatch.setattr(tg.config, "compile", False)
    assert_near(slope(*args), expected)


def test_mixed_precision_trains():
    def loss(w, x, y):
        h = np.tanh(x.astype(jnp.bfloat16) @ w.astype(jnp.bfloat16))
        return np.mean((h.astype(np.float32).sum(axis=1) - y) ** 2)

    w, x = jnp.full((3, 2), 0.1), jnp.linspace(0, 1, 24).reshape(8, 3)
    y = jnp.tanh(x @ jnp.linspace(-1, 1, 6).reshape(3, 2)).sum(axis=1)
    step = jax.jit(lambda w: w - 0.5 * tg.grad(loss)(w, x, y))
    assert "bf16[8,2]" in str(jax.make_jaxpr(step)(w))
    before = loss_of(w, x, y)
    for _ in range(20):
        w = step(w)
    assert w.dtype == jnp.float32
    assert loss_of(w, x, y) < 0.5 * before


def loss_of(w, x, y):
    return jnp.mean((jnp.tanh(x @ w).sum(axis=1) - y) ** 2)


def test_a_look_and_numbers_of_python():
    f = tg.compile(lambda x: x * 2 if x[0] > 0.1 else x * float(x[1]), backend="jax")
    assert_near(f(X), X * 2)
    assert_near(f(-X), -X * float(-X[1]))


def test_arrays_of_numpy_come_back_as_such():
    x = np.asarray(X)
    found = tg.value_and_grad(lambda x: np.sum(x * x), backend="jax")(x)
    assert type(found[1]) is np.ndarray
    assert found[0].dtype == found[1].dtype == ml_dtypes.bfloat16


def test_transforms_of_jax_and_meshes_of_types():
    f = tg.compile(lambda x: np.sin(x) * 2.0, backend="jax")
    assert_near(jax.vmap(f)(M), jnp.sin(M) * 2.0)
    assert_near(jax.jvp(f, (X,), (X,))[1], jnp.cos(X) * 2.0 * X)
    assert "bf16" in f.stablehlo(jax.ShapeDtypeStruct((3,), BF))


@pytest.mark.parametrize("given", [X, np.asarray(X)])
def test_programs_for_numpy_have_no_bfloat16(given):
    with pytest.raises(ArgumentError, match=r'write backend="jax", or .*astype\(np.float32\)'):
        tg.compile(lambda x: x * 2)(given)
    with pytest.raises(DTypeError, match="bfloat16"):
        tg.compile(lambda x: x.astype(jnp.bfloat16))(np.ones(3))


def test_what_jax_has_not_is_refused_by_its_line():
    for f in (lambda m: np.linalg.inv(m @ m.T), lambda m: np.fft.rfft(m)):
        with pytest.raises(DTypeError, match=r"(?s)astype\(np.float32\).*bfloat16\.py:\d+"):
            tg.compile(f, backend="jax")(M)


def as_bfloat16(x):
    return x.astype(BF) if getattr(x, "dtype", None) == np.float32 else x


@pytest.mark.sampled(12)
@every_op
def test_ops_have_the_numbers_of_float32(op):
    """Within what rounding does, and in the dtype that stands for it."""
    if op.name in NOT_OF_BFLOAT16:
        return
    for sample in [s for s in samples(op, "float32") if takes(op, s)][:2]:
        asked = [x.dtype for x in leaves(sample.attributes.values()) if hasattr(x, "dtype")]
        if "float32" in map(str, (*asked, *sample.attributes.values())):
            continue  # a dtype that is asked for
        given = jax.tree.map(as_bfloat16, separated(sample))
        if not any(getattr(x, "dtype", None) == BF for x in jax.tree.leaves(given)):
            continue
        with np.errstate(all="ignore"):
            found = tg.compile(as_function(op, sample), backend="jax")(*given)
            expected = on_numpy(op, sample)
        for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
            a, b = np.asarray(a), np.asarray(b)
            assert a.dtype == (BF if b.dtype == np.float32 else b.dtype), sample
            if b.dtype == np.float32:
                np.testing.assert_allclose(
                    a.astype("f4"), b, rtol=0.1, atol=0.1, err_msg=str(sample)
                )


def test_a_gradient_that_is_stopped():
    def f(x):
        return np.sum(x * tg.stop_gradient(x * x))

    x = jnp.array([0.5, 1.5], jnp.bfloat16)
    found = jax.grad(tg.compile(f, backend="jax"))(x)
    assert found.dtype == jnp.bfloat16
    assert found.tolist() == [0.25, 2.25]


OUTSIDE = jnp.array([0.5, 2.0, 1.5], BF)


@pytest.mark.parametrize("transform", [tg.compile, tg.grad, tg.value_and_grad])
@pytest.mark.parametrize(
    "x", [jnp.ones(3), np.ones(3, np.float32), np.float32(2.0), 2.0, OUTSIDE], ids=repr
)
@pytest.mark.parametrize("f", [lambda x: np.sum(OUTSIDE * x), lambda x: np.sum(x * OUTSIDE)])
def test_arrays_from_outside_once_no_more_versions_are_made(transform, x, f, monkeypatch):
    monkeypatch.setattr(tg.config, "versions", 1)
    g = transform(lambda x, name: f(x) * len(name), backend="jax")
    one = g(x, "a")
    with pytest.warns(RecompileWarning, match="1 versions were compiled"):
        found = [g(x, "a" * n) for n in range(2, 6)]
    for n, result in enumerate(found, 2):
        for a, b in zip(jax.tree.leaves(result), jax.tree.leaves(one), strict=True):
            assert (type(a), a.dtype) == (type(b), b.dtype)
            np.testing.assert_allclose(np.asarray(a, "f4"), np.asarray(b, "f4") * n, rtol=1e-2)
