"""Each row of ``docs/from_jax.md`` enters; what it says of tracegrad, and of JAX, holds."""

from __future__ import annotations

import dataclasses
import re
import typing
from pathlib import Path

import numpy as np
import pytest

import tracegrad as tg
from tracegrad.errors import ArgumentError, FiniteError, NonScalarError

PAGE = Path(__file__).parents[2] / "docs" / "from_jax.md"
X = np.array([0.5, 2.0])
A = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


@pytest.fixture
def jax():
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        yield jax


def same(ours, theirs):
    ours, theirs = tg_leaves(ours), tg_leaves(theirs)
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs):
        assert np.shape(one) == np.shape(other)
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def tg_leaves(value):
    if isinstance(value, dict):
        return [leaf for key in sorted(value) for leaf in tg_leaves(value[key])]
    if isinstance(value, list | tuple):
        return [leaf for item in value for leaf in tg_leaves(item)]
    return [np.asarray(value)]


def test_each_row_names_a_test():
    rows = [r for r in PAGE.read_text(encoding="utf-8").splitlines() if r.startswith("| ")]
    rows = [r for r in rows if not r.startswith(("| JAX", "| ---"))]
    assert len(rows) > 25
    for row in rows:
        (test,) = re.findall(r"`(test_\w+)`", row)
        assert test in globals(), test


# -- the same -------------------------------------------------------------------------------------


def test_gradients_have_the_same_arguments(jax):
    def f(x, y):
        return (x * y * y).sum(), x + y

    arguments = {"argnums": (0, 1), "has_aux": True}
    same(tg.grad(f, **arguments)(X, X), jax.grad(f, **arguments)(X, X))
    same(tg.value_and_grad(f, **arguments)(X, X), jax.value_and_grad(f, **arguments)(X, X))


def test_products_have_the_same_arguments(jax):
    def f(x, a):
        return a @ (x * x)

    def all_of(module):
        value, pull = module.vjp(f, X, A)
        _, push = module.linearize(f, X, A)
        primals, tangents = (X, A), (np.ones(2), A)
        return value, pull(np.ones(3)), module.jvp(f, primals, tangents), push(*tangents)

    same(all_of(tg), all_of(jax))


def test_jacobians_have_the_same_shapes(jax):
    def f(p):
        return {"a": A @ p["x"], "b": p["x"] * p["y"]}

    p = {"x": X, "y": 3.0}
    for name in ("jacobian", "jacfwd", "jacrev"):
        same(getattr(tg, name)(f)(p), jax.jit(getattr(jax, name)(f))(p))

    def g(x):
        return (x**3).sum() * x[0]

    same(tg.hessian(g)(X), jax.jit(jax.hessian(g))(X))


def test_batches_have_the_same_axes(jax):
    def f(x, p):
        return x * p["s"], x.sum()

    arguments = {"in_axes": (1, {"s": None}), "out_axes": (1, 0)}
    same(tg.vmap(f, **arguments)(A, {"s": 2.0}), jax.vmap(f, **arguments)(A, {"s": 2.0}))


def test_rules_have_the_same_form(jax):
    def slope(module):
        @module.custom_vjp
        def f(x):
            return x * x

        f.defvjp(lambda x: (x * x, x), lambda x, ct: (3.0 * ct * x,))

        @module.custom_jvp
        def g(x):
            return x * x

        g.defjvp(lambda primals, tangents: (primals[0] ** 2, 5.0 * primals[0] * tangents[0]))
        return module.grad(lambda x: f(x) + g(x) + module.checkpoint(lambda x: x**3)(x))(2.0)

    assert slope(tg) == slope(jax) == 28.0


def test_stop_gradient(jax):
    assert tg.grad(lambda x: x * tg.stop_gradient(x))(3.0) == 3.0
    assert jax.grad(lambda x: x * jax.lax.stop_gradient(x))(3.0) == 3.0


def test_transforms_nest(jax):
    def f(x):
        return (x**3).sum()

    def nested(module):
        return module.vmap(module.grad(lambda x: module.jacfwd(f)(x).sum()))(A)

    same(nested(tg), nested(jax))


class Pair(typing.NamedTuple):
    a: typing.Any
    b: typing.Any


@dataclasses.dataclass
class Point:
    x: typing.Any


def test_containers(jax):
    def f(p):
        return (p["pair"].a * p["pair"].b).sum() + p["list"][0]

    p = {"pair": Pair(X, X), "list": [2.0, None]}
    ours, theirs = tg.grad(f)(p), jax.grad(f)(p)
    assert type(ours["pair"]) is type(theirs["pair"]) is Pair
    assert ours["list"][1] is theirs["list"][1] is None
    same(ours["pair"], theirs["pair"])
    assert tg.grad(lambda p: (p.x**2).sum())(Point(X)).x.tolist() == [1.0, 4.0]


def test_only_numbers_have_gradients(jax):
    with pytest.raises(NonScalarError):
        tg.grad(lambda x: x)(X)
    with pytest.raises(TypeError):
        jax.grad(lambda x: x)(X)


# -- different ------------------------------------------------------------------------------------


def test_transforms_compile_by_themselves():
    f = tg.grad(lambda x: (x * x).sum())
    f(X), f(X)
    assert f.cache_info()[:3] == (1, 1, 1)
    g = tg.compile(lambda x: x + 1.0)
    g(X), g(X)
    assert g.cache_info().hits == 1


def test_python_may_look_at_values(jax):
    def f(x):
        if x[0] > 0.0:
            return (x * x).sum()
        return x.sum()

    compiled = tg.grad(f)
    assert compiled(X).tolist() == [1.0, 4.0]
    assert compiled(-X).tolist() == [1.0, 1.0]
    assert "if x[0] > 0.0:" in compiled.source(X)
    with pytest.raises(jax.errors.TracerBoolConversionError):
        jax.jit(f)(X)


def test_loops_stay_loops():
    def f(x):
        h = 0.0
        for row in x:
            h = np.tanh(h + row)
        return h

    compiled = tg.value_and_grad(f)
    x = np.linspace(0.0, 1.0, 30)
    assert compiled.source(x).count("for ") >= 2
    assert len(compiled.source(x)) == len(compiled.source(np.ones(300)))


def test_while_has_a_gradient(jax):
    def f(x):
        while x < 100.0:
            x = x * 3.0
        return x

    assert tg.grad(f)(2.0) == 81.0
    with pytest.raises(ValueError, match="Reverse-mode"):
        jax.grad(lambda x: jax.lax.while_loop(lambda x: x < 100.0, lambda x: 3.0 * x, x))(2.0)


def test_arrays_are_written_to(jax):
    def f(x):
        y = x.copy()
        y[0] = y[1] * 2.0
        return (y * y).sum()

    assert tg.grad(f)(X).tolist() == [0.0, 20.0]
    same(
        tg.grad(f)(X),
        jax.grad(lambda x: (x.at[0].set(x[1] * 2.0) ** 2).sum())(jax.numpy.asarray(X)),
    )


def test_lengths_compile_nothing(jax):
    compiled = tg.grad(lambda x: (x * x).sum())
    traced = []
    jitted = jax.jit(lambda x: (traced.append(x), (x * x).sum())[1])
    for n in (3, 4, 5):
        compiled(np.ones(n)), jitted(np.ones(n))
    assert compiled.cache_info().traces == 1
    assert len(traced) == 3


def test_whole_numbers_are_settings():
    f, of_jax = tg.compile(lambda x, n: x**n), tg.compile(lambda x, n: x**n, backend="jax")
    for power in range(1, 7):
        assert f(3.0, power) == of_jax(3.0, power) == 3.0**power
    assert f.cache_info().traces == 3
    assert of_jax.cache_info().traces == 6
    g = tg.compile(lambda x, rate: x * rate)
    for rate in (0.1, 0.2, 0.3):
        g(3.0, rate)
    assert g.cache_info().traces == 1


SCALE = 1.0


def test_globals_are_read_again(jax, monkeypatch):
    def f(x):
        return SCALE * x

    compiled, jitted = tg.compile(f), jax.jit(f)
    assert compiled(2.0) == jitted(2.0) == 2.0
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    assert compiled(2.0) == 6.0
    assert jitted(2.0) == 2.0


def test_effects_happen_on_every_call(jax, capsys):
    seen = []

    def f(x):
        seen.append(1)
        print("called")
        return 2.0 * x

    compiled, jitted = tg.compile(f), jax.jit(f)
    for _ in range(3):
        compiled(2.0)
    assert len(seen) == 3 and capsys.readouterr().out == "called\n" * 3
    for _ in range(3):
        jitted(2.0)
    assert len(seen) == 4


def test_generators_move_on():
    rng = tg.random.Generator(0)
    f = tg.compile(lambda x: x + rng.normal())
    reference = np.random.default_rng(0)
    assert [f(0.0) for _ in range(3)] == [reference.normal() for _ in range(3)]


def test_numbers_are_float64():
    assert tg.grad(lambda x: x * 2.0)(1.0) == 2.0
    assert tg.zeros(2).dtype == np.float64
    assert tg.grad(lambda x: (x * x).sum())(X).dtype == np.float64
    assert tg.grad(lambda x: (x * x).sum())(X.astype(np.float32)).dtype == np.float32


def test_an_index_out_of_range_raises(jax):
    with pytest.raises(IndexError):
        tg.grad(lambda x: x[5])(X)
    assert jax.numpy.asarray(X)[np.array([5])] == X[-1]


def test_integers_are_refused(jax):
    with pytest.raises((ArgumentError, TypeError), match="x"):
        tg.grad(lambda x: x * 1.0)(3)
    with pytest.raises(TypeError):
        jax.grad(lambda x: x * 1.0)(3)


def test_an_arm_not_taken_adds_nothing(jax):
    assert tg.grad(lambda x: np.where(x > 0.0, np.sqrt(x), 0.0))(0.0) == 0.0
    jnp = jax.numpy
    assert np.isnan(jax.grad(lambda x: jnp.where(x > 0.0, jnp.sqrt(x), 0.0))(0.0))


def test_programs_can_be_read():
    f = tg.grad(lambda x: np.sin(x).sum())
    assert "np.cos(x)" in f.source(X)
    assert "cos" in str(f.graph(X))


def test_an_export_is_python(tmp_path, monkeypatch):
    def slope(x):
        return (x * x).sum()

    tg.grad(slope).export(tmp_path / "exported_slope.py", X)
    monkeypatch.syspath_prepend(tmp_path)
    import exported_slope

    assert exported_slope.slope(X).tolist() == [1.0, 4.0]


def test_the_line_of_a_nan_is_named(monkeypatch):
    monkeypatch.setattr(tg.config, "check_finite", True)
    with np.errstate(all="ignore"), pytest.raises(FiniteError, match=r"test_from_jax\.py:\d+"):
        tg.grad(lambda x: np.sqrt(x).sum())(-X)


def test_rules_are_called_for_each_example():
    calls = []

    @tg.custom_vjp
    def f(x):
        return x * x

    def backward(x, ct):
        calls.append(np.shape(x))
        return (2.0 * ct * x,)

    f.defvjp(lambda x: (x * x, x), backward)
    with pytest.warns(tg.errors.RecompileWarning):
        assert tg.vmap(tg.grad(f))(np.arange(3.0)).tolist() == [0.0, 2.0, 4.0]
    assert set(calls) == {()}


def test_holomorphic_functions(jax):
    def f(z):
        return z**3

    z = 1.0 + 2.0j
    same(tg.holomorphic_grad(f)(z), jax.grad(f, holomorphic=True)(z))


def test_sparse_derivatives_are_built_in():
    pytest.importorskip("scipy")
    matrix = tg.jacobian(lambda x: x[1:] * x[:-1], sparse=True)(np.arange(5.0))
    np.testing.assert_array_equal(
        matrix.toarray(), tg.jacobian(lambda x: x[1:] * x[:-1])(np.arange(5.0))
    )


def test_counts_in_a_state_are_traced():
    def step(state):
        return {"w": state["w"] / (1 + state["step"]), "step": state["step"] + 1}

    for start, versions in ((np.int64(0), 1), (0, 3)):
        made = tg.compile(step)
        state = {"w": X, "step": start}
        for _ in range(5):
            state = made(state)
        assert state["step"] == 5 and made.cache_info().versions == versions


def test_pytrees_are_updated(jax):
    def loss(params):
        return np.sum(params["a"] ** 2) + np.sum(params["b"] ** 3)

    @tg.compile
    def by_map(params):
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, tg.grad(loss)(params))

    @tg.compile
    def by_hand(params):
        grads = tg.grad(loss)(params)
        return {name: params[name] - 0.1 * grads[name] for name in params}

    init, update = tg.optim.sgd(lr=0.1)
    params = {"a": X, "b": X + 1.0}
    same(by_map(params), by_hand(params))
    same(update(params, tg.grad(loss)(params), init(params))[0], by_hand(params))


def test_settings_of_rules_need_no_mark(jax):
    @tg.custom_vjp
    def power(n, x):
        return x**n

    power.defvjp(lambda n, x: (x**n, (n, x)), lambda kept, ct: (None, ct * kept[0] * kept[1]))
    same(tg.grad(lambda x: np.sum(power(2, x)))(X), 2.0 * X)
    with pytest.raises(ArgumentError, match="nondiff_argnums"):
        tg.custom_vjp(power, nondiff_argnums=(0,))
