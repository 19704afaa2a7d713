"""What functions do inside JAX's transforms: comparisons with arrays of their own, and `tg.vjp`."""

from __future__ import annotations

import numpy as np
import pytest
from checks import assert_close

import tracegrad as tg

jax = pytest.importorskip("jax")
jnp = jax.numpy

X = np.array([1.0, -2.0, 0.5], np.float32)

COMPARISONS = (
    lambda x: np.where(np.arange(3) < x.sum(), x, 0.0),
    lambda x: np.where(x.sum() > np.arange(3), x, 0.0),
    lambda x: np.arange(3) == x[0],
    lambda x: np.array([1.0, 2.0, 3.0]) >= x.max(),
    lambda x: x[1] != np.ones((2, 2)),
    lambda x: np.logical_and(np.ones(3) < x[0], x > 0.0),
)


@pytest.mark.filterwarnings("ignore:.*JAX has no 64-bit types:UserWarning")
@pytest.mark.parametrize("f", COMPARISONS)
def test_arrays_of_the_function_are_compared_with_numbers(f):
    for x in (X, -X):
        assert np.array_equal(jax.jit(tg.compile(f))(x), f(x))
        assert np.array_equal(tg.compile(f, backend="jax")(x), f(x))


def test_which_nan_a_container_holds_is_refused():
    with pytest.raises(tg.errors.ArgumentError, match="which of several NaN"):
        jax.jit(tg.compile(lambda x: x * float((x[0],) == (x[1],))))(X)


def pulled(x):
    y, pull = tg.vjp(lambda x: np.sin(x) * x, x, backend="jax")
    return pull(y)[0]


def of_jax(x):
    y, pull = jax.vjp(lambda x: jnp.sin(x) * x, x)
    return pull(y)[0]


def pulled_through_a_tree(x):
    _, pull, aux = tg.vjp(
        lambda d, c: (np.sum(d["a"] * c), x * 2.0), {"a": x}, 3.0, has_aux=True, backend="jax"
    )
    return pull(1.0)[0]["a"] + aux


@pytest.mark.parametrize(
    "transform",
    [
        jax.jit,
        lambda f: lambda x: jax.vmap(f)(x[None])[0],
        lambda f: jax.grad(lambda x: f(x).sum()),
        lambda f: lambda x: jax.lax.scan(lambda c, x: (c, f(x)), 0.0, x[None])[1][0],
    ],
)
def test_vjp_for_jax_inside_jax(transform):
    x = jnp.asarray(X)
    assert_close(transform(pulled)(x), transform(of_jax)(x), rtol=1e-5)
    wanted = transform(lambda x: 3.0 * jnp.ones_like(x) + 2.0 * x)(x)
    assert_close(transform(pulled_through_a_tree)(x), wanted, rtol=1e-5)
