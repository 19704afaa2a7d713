"""Calls with arrays of JAX that go to the jitted function at once."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from checks import assert_close

import tracegrad as tg
from tracegrad.backends.jax import OtherTypes

X = np.linspace(0.2, 1.4, 6)


@pytest.mark.parametrize("wide", [False, True])
def test_arrays_of_other_types_are_asked_again(wide):
    f = tg.compile(lambda a, b: a * b + a.sum(), backend="jax")
    given = [
        *(X, X.astype("float32"), X[:3].astype("float32"), X.reshape(2, 3).astype("float32")),
        *(np.arange(6, dtype="int32"), X.astype("float16")),
    ]
    with jax.enable_x64(wide):
        for turn in range(3):
            for a in given[:: 1 if turn % 2 else -1]:
                for b in (a, a * 2, a[:1]):
                    for place in (jnp.asarray, np.asarray):
                        x, y = place(a), place(b)
                        found, expected = (
                            f(x, y),
                            np.asarray(x) * np.asarray(y) + np.asarray(x).sum(),
                        )
                        assert isinstance(found, jax.Array) is (place is jnp.asarray)
                        assert found.dtype == expected.dtype
                        assert_close(np.asarray(found), expected, 1e-3)
            assert isinstance(f(jnp.asarray(X, "float32"), X.astype("float32")), jax.Array)
            with pytest.raises(ValueError, match=r"shapes|broadcast"):
                f(jnp.ones(3, "float32"), jnp.ones(4, "float32"))


def test_what_is_read_from_outside_is_asked():
    held = {"w": jnp.ones(6), "rate": 2.0, "n": 3}
    f = tg.compile(lambda x: x * held["w"] * held["rate"] ** held["n"], backend="jax")
    x = jnp.asarray(X, "float32")

    def right():
        expected = np.asarray(x) * np.asarray(held["w"]) * held["rate"] ** held["n"]
        assert_close(np.asarray(f(x)), expected, 1e-5)

    for name, value in (
        *(("w", jnp.full(6, 2.0)), ("rate", 3.0), ("n", 2), ("rate", 2), ("w", np.full(6, 0.5))),
        *(("w", jnp.ones(1)), ("w", jnp.arange(6)), ("rate", np.float32(2.0)), ("w", jnp.ones(6))),
    ):
        right()
        right()
        held[name] = value
        right()


def test_names_in_any_order():
    f = tg.compile(lambda a, b, c=2.0, *, d=1.0: a - b * c + d, backend="jax")
    a, b = jnp.ones(3), jnp.full(3, 2.0)
    for _ in range(3):
        for found in (f(a, b=b), f(b=b, a=a), f(a=a, b=b), f(a, b)):
            assert_close(np.asarray(found), np.full(3, -2.0), 0)
        assert_close(np.asarray(f(a, c=1.0, b=b)), np.full(3, 0.0), 0)
        assert_close(np.asarray(f(b, d=0.0, b=a)), np.full(3, 0.0), 0)
        with pytest.raises(TypeError, match="multiple values"):
            f(a, a=b)
        with pytest.raises(TypeError, match="unexpected keyword"):
            f(a, b, e=b)
    assert f.cache_info().versions <= 3


@pytest.mark.parametrize("order", ["sorted", "as given"])
def test_dictionaries_have_the_order_of_the_argument(order):
    names = [f"p{i}" for i in range(12)]
    p = {name: jnp.full(3, float(i)) for i, name in enumerate(names)}
    p = p if order == "as given" else dict(sorted(p.items()))
    f = tg.value_and_grad(lambda p: sum(np.sum(x * x) for x in p.values()), backend="jax")
    for _ in range(2):
        slopes = f(p)[1]
        assert [*slopes] == [*p]
        for name in names:
            assert_close(np.asarray(slopes[name]), 2 * np.asarray(p[name]), 1e-6)


def test_programs_without_wide_types_run_in_those_of_the_process():
    narrow = tg.value_and_grad(lambda x: np.mean(np.tanh(x) ** 2 * 0.3 / x.size), backend="jax")
    wide = tg.compile(lambda x: (x * np.float64(2.0), np.argmax(x), x.sum() * 0.5), backend="jax")
    counted = tg.compile(lambda x: np.argsort(x)[0] + 2**40, backend="jax")
    x = jnp.asarray(X, "float32")
    for switch in (False, True, False):
        with jax.enable_x64(switch):
            for _ in range(2):
                found = [narrow(x), wide(x), counted(x)]
            assert [leaf.dtype.name for leaf in jax.tree.leaves(found)] == [
                *("float32", "float32", "float64", "int64", "float32", "int64")
            ]
            assert int(found[2]) == 2**40
    assert narrow.cache_info().versions == 1


def test_checks_and_profiles_see_these_calls(monkeypatch):
    f = tg.compile(lambda x: np.log(x), backend="jax")
    x = jnp.asarray([1.0, 0.0])
    for _ in range(2):
        f(x)
    monkeypatch.setattr(tg.config, "check_finite", True)
    with pytest.raises(tg.errors.FiniteError, match=r"test_jax_entries\.py"):
        f(x)
    monkeypatch.setattr(tg.config, "check_finite", False)
    assert np.isinf(f(x)[1])


def test_tracers_do_not_enter():
    f = tg.compile(lambda x: x * 2.0, backend="jax")
    x = jnp.ones(3)
    f(x), f(x)
    for _ in range(2):
        assert_close(np.asarray(jax.jit(f)(x)), np.full(3, 2.0), 0)
        assert_close(np.asarray(jax.grad(lambda x: f(x).sum())(x)), np.full(3, 2.0), 0)
    assert f.cache_info().versions == 1


def test_arrays_that_were_numbers_of_python_have_their_dtype():
    held = {"w": jnp.asarray(2.0)}
    f = tg.compile(lambda a, b: a * b * held["w"], backend="jax")
    x = jnp.ones(3, "float16")
    for a in (jnp.asarray(2.0), jnp.float32(2.0), jnp.asarray(2.0)):
        for _ in range(2):
            found = f(a, x)
            assert found.dtype == jax.jit(f)(a, x).dtype == np.float32
    held["w"] = jnp.float16(2.0)
    assert f(jnp.float16(1.0), x).dtype == np.float16
    assert f(jnp.asarray(1.0), x).dtype == np.float32


def test_constants_that_a_function_makes_are_on_the_device_once():
    def scaled(x):
        return np.eye(6, dtype=np.float32)[0] + x * np.arange(6, dtype=np.float32)

    x = jnp.asarray(X, "float32")
    f, inside = tg.compile(scaled, backend="jax"), tg.compile(scaled)
    assert_close(np.asarray(jax.jit(inside)(x)), scaled(np.asarray(x)), 1e-6)  # JAX traces first
    for g in (f, inside):
        for _ in range(2):
            assert_close(np.asarray(g(x)), scaled(np.asarray(x)), 1e-6)
            assert_close(np.asarray(jax.jit(g)(x)), scaled(np.asarray(x)), 1e-6)
    with jax.transfer_guard("disallow"):
        found = f(x)
    assert_close(np.asarray(found), scaled(np.asarray(x)), 1e-6)
    assert type(f(np.asarray(x))) is np.ndarray


def write_to_a_view_of_zeros(x):
    y = np.zeros_like(x)
    y.reshape(-1)[1] = x[0, 0]
    return y[0, 1] * 2.0


def write_to_a_view_of_a_copy(x):
    y = x.copy()
    y.ravel()[0] = 5.0
    return (y * x).sum()


def write_to_a_view_of_a_transpose(x):
    y = (x + 1.0).T.reshape(-1)
    y[1] = 2.5
    return (y * x.ravel()).sum()


VIEWS = [write_to_a_view_of_zeros, write_to_a_view_of_a_copy, write_to_a_view_of_a_transpose]


@pytest.mark.parametrize("f", VIEWS, ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore::tracegrad.errors.RecompileWarning")
def test_arrays_of_jax_lie_in_the_order_of_their_axes(f):
    """Where a program stands for arrays in C order alone, it stands for those of JAX."""
    x = np.array([[0.3, -0.4], [0.1, 0.5]])
    with jax.enable_x64(True):
        for given in (x, [x]):
            compiled = tg.compile(f if given is x else lambda xs: f(xs[0]), backend="jax")
            for place in (np.array, jnp.array, np.asfortranarray, jnp.array, np.array):
                placed = place(x)
                found = compiled(placed if given is x else [placed])
                expected = f(placed if isinstance(placed, np.ndarray) else x)
                assert_close(np.asarray(found), expected, 1e-12)


def test_programs_say_once_which_arrays_they_are_not_for(monkeypatch):
    said = []
    monkeypatch.setattr(OtherTypes, "__init__", lambda self, *told: said.append(told))

    made = tg.compile(lambda x: np.tanh(x).sum() * 2.0, backend="jax")
    arrays = [X, X[:5], X[:1], X.reshape(2, 3), X.reshape(3, 2)]
    given = [jnp.asarray(x, kind) for x in arrays for kind in ("float32", "float16")]
    for turn in range(6):
        for x in given[:: 1 if turn % 2 else -1]:
            assert_close(np.asarray(made(x)), np.tanh(np.asarray(x)).sum() * 2.0, 1e-2)
    info = made.cache_info()
    assert info.versions == 4 and 0 < len(said) <= 8  # to an entry, and to what is in the slot
    assert info.hits + info.traces == 60


def test_arrays_that_were_numbers_of_python_are_not_converted_by_each_call(monkeypatch):
    f = tg.grad(lambda p, w: sum((x * w).sum() for x in p.values()), backend="jax")
    p = {f"p{i}": jnp.full(3, float(i)) for i in range(4)}  # which JAX calls weak
    w = jnp.ones(3, "float16")
    first = f(p, w)
    for _ in range(3):
        f(p, w)
    monkeypatch.setattr(jnp, "asarray", None)
    found = f(p, w)
    for name in p:
        assert found[name].dtype == first[name].dtype == np.float32
        assert_close(np.asarray(found[name]), np.ones(3), 0)
